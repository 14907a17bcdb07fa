package projections

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/article"
	"assent/domain/page"
	"assent/domain/place"
)

// Moment is where in the log something is looked at: with everything up to a
// position, that one included, or everything that was recorded by a time. One
// of the two is set.
type Moment struct {
	Position domain.Position `json:",omitempty"`
	Time     time.Time       `json:",omitzero"`
}

// momentOf is where a fact is, by both.
func momentOf(f Fact) Moment { return Moment{f.Position, f.At} }

// upTo is the condition that a row of a table was made by then.
func (m Moment) upTo(table string) filter {
	if m.Position > 0 {
		return query(table+`.position <= ?`, int64(m.Position))
	}
	return query(table+`.at <= ?`, m.Time.UnixMicro())
}

// Past answers as the read models did at a moment: what it gives is what they
// would give if the log ended there. It needs nothing but the versions that are
// kept anyhow, so any moment costs the same.
type Past struct {
	store  *Store
	moment Moment
}

// AsOf is the past at a moment, which the read models must have seen.
func (s *Store) AsOf(m Moment) Past { return Past{s, m} }

// Sites is Store.Sites, then.
func (p Past) Sites(ctx context.Context, workspace string, pg action.Page) (list []Site, next string, err error) {
	c, err := cursorOf(workspace, "sites", pg)
	if err != nil {
		return nil, "", err
	}
	err = p.store.ask(ctx, "sites", func(a asking) error {
		f := query(` AND i.kind = 'site'`)
		f.up("i.created", c)
		rows, more, err := p.page(a, workspace, f, c, pg, func(r itemRow) bool { return r.isSite() })
		for _, r := range rows {
			v, err := p.site(a, workspace, r)
			if err != nil {
				return err
			}
			list = append(list, v)
		}
		next = more
		return err
	})
	return some(list), next, err
}

// Site is Store.Site, then.
func (p Past) Site(ctx context.Context, workspace, handle string) (v Site, err error) {
	err = p.store.ask(ctx, "a site", func(a asking) error {
		r, err := p.open(a, workspace, handle)
		if err == nil {
			v, err = p.site(a, workspace, r)
		}
		return err
	})
	return v, err
}

// Pages is Store.Pages, then.
func (p Past) Pages(ctx context.Context, workspace string, args page.ListArgs) (list []Page, next string, err error) {
	c, err := cursorOf(workspace, "pages", args.Page)
	if err != nil {
		return nil, "", err
	}
	err = p.store.ask(ctx, "pages", func(a asking) error {
		on, err := p.open(a, workspace, args.Site)
		if err != nil {
			return err
		}
		f := query(` AND i.kind = 'page' AND i.site = ?`, args.Site)
		f.up("i.created", c)
		rows, more, err := p.page(a, workspace, f, c, args.Page, func(r itemRow) bool {
			return r.Exists && strings.HasPrefix(r.Content.Page.Path, args.Prefix)
		})
		for _, r := range rows {
			list = append(list, pageFrom(r, on.Content.locale(), ""))
		}
		next = more
		return err
	})
	return some(list), next, err
}

// Articles is Store.Articles, then.
func (p Past) Articles(ctx context.Context, workspace string, args article.ListArgs) (list []Article, next string, err error) {
	c, err := cursorOf(workspace, "articles", args.Page)
	if err != nil {
		return nil, "", err
	}
	err = p.store.ask(ctx, "articles", func(a asking) error {
		on, err := p.open(a, workspace, args.Site)
		if err != nil {
			return err
		}
		f := query(` AND i.kind = 'article' AND i.site = ?`, args.Site)
		f.down("i.created", c)
		var body string
		words := wanted(args, &body)
		rows, more, err := p.pageWith(a, workspace, f, c, args.Page, &body, func(r itemRow) bool {
			listed := args.Status == "" && r.Exists || args.Status != "" && r.status() == args.Status
			return listed && (args.Collection == "" || r.Content.collection() == args.Collection) && words(r)
		})
		for _, r := range rows {
			list = append(list, articleFrom(r, on.Content.locale(), ""))
		}
		next = more
		return err
	})
	return some(list), next, err
}

// Page is Store.Page, then.
func (p Past) Page(ctx context.Context, workspace string, args page.GetArgs) (v Page, err error) {
	var which filter
	var found func(itemRow) bool
	switch {
	case args.Page != "":
		which, found = query(` AND i.key = ?`, key(workspace, args.Page)), all[itemRow]
	case args.Site != "" && args.Path != "":
		path, _ := place.Clean(args.Path)
		which = query(` AND i.site = ??`, args.Site, holds(args.Site, path, p.moment.upTo("c")))
		found = func(r itemRow) bool { return r.Exists && r.Address == path }
	default:
		return v, domain.Refuse("invalid", "Name the page: its id, or its site and path.")
	}
	err = p.store.ask(ctx, "a page", func(a asking) error {
		r, locale, body, err := p.item(a, workspace, page.Kind.Category, which, found)
		if err == nil {
			v = pageFrom(r, locale, body)
		}
		return err
	})
	return v, err
}

// Article is Store.Article, then.
func (p Past) Article(ctx context.Context, workspace string, args article.GetArgs) (v Article, err error) {
	var which filter
	var found func(itemRow) bool
	switch {
	case args.Article != "":
		which, found = query(` AND i.key = ?`, key(workspace, args.Article)), all[itemRow]
	case args.Site != "" && args.Slug != "":
		collection := cmp.Or(args.Collection, "posts")
		which = query(` AND i.site = ?`, args.Site)
		found = func(r itemRow) bool {
			return r.Exists && r.Content.slug() == args.Slug && r.Content.collection() == collection
		}
	default:
		return v, domain.Refuse("invalid", "Name the article: its id, or its site and slug.")
	}
	err = p.store.ask(ctx, "an article", func(a asking) error {
		r, locale, body, err := p.item(a, workspace, article.Kind.Category, which, found)
		if err == nil {
			v = articleFrom(r, locale, body)
		}
		return err
	})
	return v, err
}

// Live is the site as the public saw it then: what Store.SiteAt gave for live.
func (p Past) Live(ctx context.Context, workspace, handle string) (v View, err error) {
	v = View{Workspace: workspace, Site: handle, instead: map[string]Item{}}
	err = p.store.ask(ctx, "a site's version", func(a asking) error {
		if _, err := p.open(a, workspace, handle); err != nil {
			return err
		}
		if v.publish, err = p.lastPublish(a, workspace, handle); err != nil {
			return err
		}
		v.Settings, err = a.settings(v)
		return err
	})
	return v, err
}

// open is the row of a site that existed then, or a refusal.
func (p Past) open(a asking, workspace, handle string) (itemRow, error) {
	rows, err := p.rows(a, workspace, query(` AND i.key = ?`, key(workspace, handle)))
	if err == nil && (len(rows) == 0 || !rows[0].isSite()) {
		err = noSite(handle)
	}
	if err != nil {
		return itemRow{}, err
	}
	return rows[0], nil
}

// site is a site's row with what is counted over all of the site.
func (p Past) site(a asking, workspace string, r itemRow) (Site, error) {
	last, err := p.lastPublish(a, workspace, r.ID)
	if err != nil {
		return Site{}, err
	}
	pending := 0
	members, err := p.rows(a, workspace, query(` AND i.site = ?`, r.ID))
	for _, m := range members {
		pending += m.pending()
	}
	return siteFrom(r, last, pending), err
}

func (p Past) lastPublish(a asking, workspace, handle string) (domain.Version, error) {
	f := query(`SELECT COALESCE(MAX(p.publish), 0) FROM {publishes} p WHERE p.workspace = ? AND p.site = ? AND ?`, workspace, handle, p.moment.upTo("p"))
	last, err := rowsOf[domain.Version](a.ctx, a.tx, a.rows.sql(f.text), f.args...)
	if err != nil {
		return 0, err
	}
	return last[0], nil
}

// item is one row of a kind with its site's language and its body, or a
// refusal. Of several that are found it is the one that Store gives: the
// shortest address, then the oldest.
func (p Past) item(a asking, workspace, kind string, which filter, found func(itemRow) bool) (r itemRow, locale, body string, err error) {
	f := query(` AND i.kind = ??`, kind, which)
	rows, err := p.rows(a, workspace, f)
	if err != nil {
		return r, "", "", err
	}
	rows = slices.DeleteFunc(rows, func(r itemRow) bool { return !found(r) })
	if len(rows) == 0 {
		return r, "", "", domain.Refuse("not-found", "There is no such %s. List them to find its id.", kind)
	}
	r = slices.MinFunc(rows, func(a, b itemRow) int {
		return cmp.Or(cmp.Compare(utf8.RuneCountInString(a.Address), utf8.RuneCountInString(b.Address)), cmp.Compare(a.Created, b.Created))
	})
	it, err := a.version(workspace, r.ID, r.Rev)
	if err != nil {
		return r, "", "", err
	}
	on, err := p.rows(a, workspace, query(` AND i.key = ?`, key(workspace, r.Site)))
	if len(on) > 0 {
		locale = on[0].Content.locale()
	}
	return r, locale, it.Body, err
}

// page is one page of rows as they were then.
func (p Past) page(a asking, workspace string, which filter, c cursor, pg action.Page, keep func(itemRow) bool) ([]itemRow, string, error) {
	return p.pageWith(a, workspace, which, c, pg, nil, keep)
}

// pageWith is page, with the body of the row that keep looks at.
func (p Past) pageWith(a asking, workspace string, which filter, c cursor, pg action.Page, body *string, keep func(itemRow) bool) (rows []itemRow, next string, err error) {
	err = p.each(a, workspace, which, body, func(r itemRow) bool {
		if !keep(r) {
			return true
		}
		if len(rows) == pg.Size() {
			next = c.next(createdAt(rows[len(rows)-1]))
			return false
		}
		rows = append(rows, r)
		return true
	})
	return rows, next, err
}

func (p Past) rows(a asking, workspace string, which filter) (rows []itemRow, err error) {
	err = p.each(a, workspace, which, nil, func(r itemRow) bool {
		rows = append(rows, r)
		return true
	})
	return rows, err
}

// each gives the rows of items as they were then, until keep has enough: the
// last version of each by then, and what the last publish by then showed of it.
func (p Past) each(a asking, workspace string, which filter, body *string, keep func(itemRow) bool) error {
	var created domain.Position
	var live domain.Version
	var liveAt, unread string
	bodies := `''`
	if body != nil {
		bodies = `v.body`
	} else {
		body = &unread
	}
	shown := func(column, none string) filter {
		return query(`COALESCE((SELECT p.`+column+` FROM {pointers} p
			WHERE p.workspace = i.workspace AND p.site = i.site AND p.item = i.id AND ? ORDER BY p.publish DESC LIMIT 1), `+none+`)`, p.moment.upTo("p"))
	}
	f := query(`SELECT v.doc, i.created, ?, ?, `+bodies+` FROM {items} i JOIN {versions} v ON v.workspace = i.workspace AND v.item = i.id
		AND v.version = (SELECT MAX(w.version) FROM {versions} w WHERE w.workspace = i.workspace AND w.item = i.id AND ?)
		WHERE i.workspace = ??`, shown("version", "0"), shown("address", "''"), p.moment.upTo("w"), workspace, which)
	return docs(a, f, func(v versionRow) bool {
		return keep(itemRow{
			Kind: v.Kind, ID: v.ID, Site: v.Site, Exists: v.Exists, Rev: v.Version, Live: live, Address: v.Address, LiveAt: liveAt,
			Created: created, Updated: v.Author.At, Content: v.Content,
		})
	}, &created, &live, &liveAt, body)
}
