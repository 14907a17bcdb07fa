package projections

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/article"
	"assent/domain/page"
	"assent/domain/place"
	"assent/domain/site"
)

// Site is a site's settings as they stand in the draft.
type Site struct {
	ID        string         `json:"id"`
	Title     string         `json:"title"`
	Tagline   string         `json:"tagline"`
	Locale    string         `json:"locale"`
	Menu      []site.Link    `json:"menu"`
	Theme     map[string]any `json:"theme,omitempty"`
	Rev       domain.Version `json:"rev"`
	Live      domain.Version `json:"live"`
	Status    string         `json:"status"`
	Address   string         `json:"address"`
	Updated   time.Time      `json:"updated"`
	Published string         `json:"published,omitempty"` // the publish that is live: p12
	Pending   int            `json:"pending"`             // how many things a publish would change
}

// Page is a page as it stands in the draft. Lists leave the body out.
type Page struct {
	ID      string         `json:"id"`
	Site    string         `json:"site"`
	Locale  string         `json:"locale"`
	Path    string         `json:"path"`
	Title   string         `json:"title"`
	Body    string         `json:"body,omitempty"`
	Meta    map[string]any `json:"meta,omitempty"`
	Rev     domain.Version `json:"rev"`
	Live    domain.Version `json:"live"`
	Status  string         `json:"status"`
	Address string         `json:"address"`
	Updated time.Time      `json:"updated"`
}

// Article is an article as it stands in the draft. Lists leave the body out.
type Article struct {
	ID         string         `json:"id"`
	Site       string         `json:"site"`
	Collection string         `json:"collection"`
	Locale     string         `json:"locale"`
	Slug       string         `json:"slug"`
	Title      string         `json:"title"`
	Summary    string         `json:"summary"`
	Body       string         `json:"body,omitempty"`
	Tags       []string       `json:"tags"`
	Authors    []string       `json:"authors"`
	Date       string         `json:"date,omitempty"`
	Meta       map[string]any `json:"meta,omitempty"`
	Rev        domain.Version `json:"rev"`
	Live       domain.Version `json:"live"`
	Status     string         `json:"status"`
	Address    string         `json:"address"`
	Updated    time.Time      `json:"updated"`
}

// Sites lists a workspace's sites, oldest first, without those closed again.
func (s *Store) Sites(ctx context.Context, workspace string, p action.Page) (list []Site, next string, err error) {
	c, err := cursorOf(workspace, "sites", p)
	if err != nil {
		return nil, "", err
	}
	list = []Site{}
	err = s.ask(ctx, "sites", func(a asking) error {
		f := query(`SELECT `+siteColumns+` FROM {items} i WHERE i.workspace = ? AND i.kind = 'site' AND i.status <> 'removed'`, workspace)
		f.up("i.created", c)
		var last domain.Version
		var pending int
		rows, more, err := pageOf(a, f, c, p, createdAt, func(r itemRow) bool {
			list = append(list, siteFrom(r, last, pending))
			return true
		}, &last, &pending)
		list, next = list[:len(rows)], more // without the one that shows that there are more
		return err
	})
	return list, next, err
}

func createdAt(r itemRow) int64 { return int64(r.Created) }

// Site gives one site's settings, or is refused not-found.
func (s *Store) Site(ctx context.Context, workspace, handle string) (v Site, err error) {
	err = s.glance(ctx, "a site", func(a asking) error {
		var last domain.Version
		var pending int
		f := query(`SELECT `+siteColumns+` FROM {items} i WHERE i.workspace = ? AND i.key = ?`, workspace, key(workspace, handle))
		r, found, err := one[itemRow](a, f, &last, &pending)
		if err != nil {
			return err
		}
		if !found || !r.isSite() {
			return noSite(handle)
		}
		v = siteFrom(r, last, pending)
		return nil
	})
	return v, err
}

// open is the row of a site that exists, or a refusal.
func (a asking) open(workspace, handle string) (itemRow, error) {
	r, found, err := byKey[itemRow](a, "items", workspace, handle)
	if err == nil && (!found || !r.isSite()) {
		err = noSite(handle)
	}
	return r, err
}

func (r itemRow) isSite() bool { return r.Exists && r.Kind == site.Kind.Category }

func noSite(handle string) error {
	return domain.Refuse("not-found", "There is no site %q. List the sites to find its handle.", place.Clip(handle))
}

// siteColumns are a site's row, its last publish and how many things are
// pending on it.
const siteColumns = `i.doc,
	(SELECT COALESCE(MAX(p.publish), 0) FROM {publishes} p WHERE p.workspace = i.workspace AND p.site = i.id),
	(SELECT COUNT(*) FROM {items} n WHERE n.workspace = i.workspace AND n.site = i.id AND n.pending = 1)`

func siteFrom(r itemRow, last domain.Version, pending int) Site {
	st := *r.Content.Site
	v := Site{
		ID: r.ID, Title: st.Title, Tagline: st.Tagline, Locale: st.Locale, Menu: some(st.Menu), Theme: st.Theme,
		Rev: r.Rev, Live: r.Live, Status: r.status(), Address: "/", Updated: r.Updated, Pending: pending,
	}
	if last > 0 {
		v.Published = publishName(last)
	}
	return v
}

// Pages lists a site's pages in the draft, oldest first.
func (s *Store) Pages(ctx context.Context, workspace string, args page.ListArgs) (list []Page, next string, err error) {
	c, err := cursorOf(workspace, "pages", args.Page)
	if err != nil {
		return nil, "", err
	}
	list = []Page{}
	err = s.ask(ctx, "pages", func(a asking) error {
		on, err := a.open(workspace, args.Site)
		if err != nil {
			return err
		}
		f := query(`SELECT doc FROM {items} WHERE workspace = ? AND site = ? AND kind = 'page' AND status <> 'removed'`, workspace, args.Site)
		f.up("created", c)
		rows, more, err := pageOf(a, f, c, args.Page, createdAt, func(r itemRow) bool {
			return strings.HasPrefix(r.Content.Page.Path, args.Prefix)
		})
		for _, r := range rows {
			list = append(list, pageFrom(r, on.Content.locale(), ""))
		}
		next = more
		return err
	})
	return list, next, err
}

// Page gives one page with its body, by id or by site and path, or is refused
// not-found. By id it is found after its removal, too.
func (s *Store) Page(ctx context.Context, workspace string, args page.GetArgs) (v Page, err error) {
	var which filter
	switch {
	case args.Page != "":
		which = query(` AND i.key = ?`, key(workspace, args.Page))
	case args.Site != "" && args.Path != "":
		path, _ := place.Clean(args.Path)
		// its path, or where it is served: /de/about is what people copy
		which = query(` AND i.site = ? AND i.status <> 'removed' AND i.address = ??`, args.Site, path, holds(args.Site, path))
	default:
		return v, domain.Refuse("invalid", "Name the page: its id, or its site and path.")
	}
	err = s.glance(ctx, "a page", func(a asking) error {
		r, locale, body, err := a.item(workspace, page.Kind.Category, which)
		if err == nil {
			v = pageFrom(r, locale, body)
		}
		return err
	})
	return v, err
}

// pageFrom is a page as it is shown; locale is its site's.
func pageFrom(r itemRow, locale, body string) Page {
	p := *r.Content.Page
	return Page{
		ID: r.ID, Site: p.Site, Locale: cmp.Or(p.Locale, locale), Path: p.Path, Title: p.Title, Body: body, Meta: p.Meta,
		Rev: r.Rev, Live: r.Live, Status: r.status(), Address: servedAt(r), Updated: r.Updated,
	}
}

// Articles lists a site's articles in the draft, newest first. Removed ones are
// listed only when asked for. Words are looked for without regard to case, and
// all of them must be there.
func (s *Store) Articles(ctx context.Context, workspace string, args article.ListArgs) (list []Article, next string, err error) {
	c, err := cursorOf(workspace, "articles", args.Page)
	if err != nil {
		return nil, "", err
	}
	list = []Article{}
	err = s.ask(ctx, "articles", func(a asking) error {
		on, err := a.open(workspace, args.Site)
		if err != nil {
			return err
		}
		var body string
		keep := wanted(args, &body)
		rows, more, err := pageOf(a, articlesLike(workspace, args, c), c, args.Page, createdAt, keep, &body)
		for _, r := range rows {
			list = append(list, articleFrom(r, on.Content.locale(), ""))
		}
		next = more
		return err
	})
	return list, next, err
}

func articlesLike(workspace string, args article.ListArgs, c cursor) filter {
	f := query(`SELECT i.doc, '' FROM {items} i`)
	if args.Query != "" { // only a search looks into the bodies
		f = query(`SELECT i.doc, v.body FROM {items} i JOIN {versions} v ON v.workspace = i.workspace AND v.item = i.id AND v.version = i.rev`)
	}
	f.add(` WHERE i.workspace = ? AND i.site = ? AND i.kind = 'article'`, workspace, args.Site)
	if args.Status == "" {
		f.add(` AND i.status <> 'removed'`)
	}
	f.equal("i.status", args.Status)
	f.equal("i.collection", args.Collection)
	f.down("i.created", c)
	return f
}

// wanted looks at what SQL would not do alike on every database: lists, and
// letters of every script. The body is that of the row just read.
func wanted(args article.ListArgs, body *string) func(itemRow) bool {
	words := strings.Fields(strings.ToLower(args.Query))
	return func(r itemRow) bool {
		a := r.Content.Article
		if a == nil { // published and never made: only another program could
			return false
		}
		if args.Tag != "" && !slices.ContainsFunc(a.Tags, func(t string) bool { return strings.EqualFold(t, args.Tag) }) {
			return false
		}
		if len(words) == 0 {
			return true
		}
		text := strings.ToLower(a.Title + "\n" + a.Summary + "\n" + *body)
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
	}
}

// Article gives one article with its body, by id or by site, slug and
// collection (posts when left out), or is refused not-found. By id it is found
// after its removal, too.
func (s *Store) Article(ctx context.Context, workspace string, args article.GetArgs) (v Article, err error) {
	var which filter
	switch {
	case args.Article != "":
		which = query(` AND i.key = ?`, key(workspace, args.Article))
	case args.Site != "" && args.Slug != "":
		if args.Collection == "" {
			args.Collection = "posts"
		}
		// the same slug may be there in several languages: the site's own first, which is the shortest address
		which = query(` AND i.site = ? AND i.status <> 'removed' AND i.slug = ? AND i.collection = ? ORDER BY LENGTH(i.address), i.created`, args.Site, args.Slug, args.Collection)
	default:
		return v, domain.Refuse("invalid", "Name the article: its id, or its site and slug.")
	}
	err = s.glance(ctx, "an article", func(a asking) error {
		r, locale, body, err := a.item(workspace, article.Kind.Category, which)
		if err == nil {
			v = articleFrom(r, locale, body)
		}
		return err
	})
	return v, err
}

// item is one row of a kind with its site's language and its body, or a
// refusal.
func (a asking) item(workspace, kind string, which filter) (r itemRow, locale, body string, err error) {
	f := query(`SELECT i.doc, v.body, COALESCE(s.locale, '') FROM {items} i
		JOIN {versions} v ON v.workspace = i.workspace AND v.item = i.id AND v.version = i.rev
		LEFT JOIN {items} s ON s.key = i.workspace || '/' || i.site
		WHERE i.workspace = ? AND i.kind = ??`, workspace, kind, which)
	r, found, err := one[itemRow](a, f, &body, &locale)
	if err == nil && !found {
		err = domain.Refuse("not-found", "There is no such %s. List them to find its id.", kind)
	}
	return r, locale, body, err
}

// articleFrom is an article as it is shown; locale is its site's.
func articleFrom(r itemRow, locale, body string) Article {
	a := *r.Content.Article
	return Article{
		ID: r.ID, Site: a.Site, Collection: a.Collection, Locale: cmp.Or(a.Locale, locale), Slug: a.Slug,
		Title: a.Title, Summary: a.Summary, Body: body, Tags: some(a.Tags), Authors: some(a.Authors), Date: a.Date, Meta: a.Meta,
		Rev: r.Rev, Live: r.Live, Status: r.status(), Address: servedAt(r), Updated: r.Updated,
	}
}

// servedAt is where an item would be served; where it still is, when it was
// removed.
func servedAt(r itemRow) string {
	if r.Address == "" {
		return r.LiveAt
	}
	return r.Address
}

// some is a list that is never null in JSON.
func some[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
