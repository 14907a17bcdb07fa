package projections

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"assent/domain"
	"assent/domain/article"
	"assent/domain/live"
	"assent/domain/page"
	"assent/domain/site"
)

// itemRow is an item as lists show it: its draft without the body, and which
// version of it is public. The bodies are in versions.
type itemRow struct {
	Kind    string
	ID      string
	Site    string
	Exists  bool // in the draft
	Rev     domain.Version
	Live    domain.Version // 0: not public
	Address string         // in the draft
	LiveAt  string         // the public address
	Created domain.Position
	Updated time.Time
	Content content
}

// status is the contract's word for how draft and public state differ.
func (r itemRow) status() string {
	switch {
	case !r.Exists:
		return "removed"
	case r.Live == 0:
		return "new"
	case r.Live == r.Rev:
		return "live"
	}
	return "changed"
}

// pending says that publishing now would change what the public sees of it.
func (r itemRow) pending() int {
	if r.Exists && r.Live != r.Rev || !r.Exists && r.Live != 0 {
		return 1
	}
	return 0
}

// items is the draft of every site, page and article, beside what is live.
var items = Projection[itemRow]{
	Name: "items", Version: 1,
	Keys: func(f Fact) []string {
		if _, _, ok := contentOf(f.After); ok {
			return []string{key(f.Stream.Workspace, f.Stream.ID)}
		}
		var keys []string
		for _, id := range moved(f) {
			keys = append(keys, key(f.Stream.Workspace, id))
		}
		return keys
	},
	Fold: func(k string, r itemRow, f Fact) (itemRow, bool) {
		if l, ok := f.After.(live.Live); ok {
			id := strings.TrimPrefix(k, f.Stream.Workspace+"/")
			if r.ID == "" { // published before it was made: only another program could
				r.Kind, r.ID, r.Site, r.Created = live.KindOf(id), id, f.Stream.ID, f.Position
			}
			r.Live, r.LiveAt = l.Items[id].Version, l.Items[id].Address
			return r, true
		}
		if r.Rev == 0 {
			r.Kind, r.ID, r.Created = f.Stream.Category, f.Stream.ID, f.Position
		}
		r.Content, _, _ = contentOf(f.After)
		r.Site, r.Exists, r.Address = placeOf(f.Stream.ID, f.After)
		r.Rev, r.Updated = f.Version, f.At
		return r, true
	},
	Columns: []Column[itemRow]{
		text("id", func(r itemRow) string { return r.ID }),
		text("kind", func(r itemRow) string { return r.Kind }),
		text("site", func(r itemRow) string { return r.Site }),
		text("status", itemRow.status),
		number("pending", itemRow.pending),
		text("collection", func(r itemRow) string { return r.Content.collection() }),
		text("slug", func(r itemRow) string { return r.Content.slug() }),
		text("locale", func(r itemRow) string { return r.Content.locale() }),
		text("address", func(r itemRow) string { return r.Address }),
		number("rev", func(r itemRow) domain.Version { return r.Rev }),
		number("live", func(r itemRow) domain.Version { return r.Live }),
		number("created", func(r itemRow) domain.Position { return r.Created }),
	},
	Indexes: []string{"workspace, site, kind, created", "workspace, kind, created", "workspace, site, address", "workspace, site, pending, created", "workspace, site, slug"},
}

// versionRow is one version of an item, for ever.
type versionRow struct {
	Kind    string
	ID      string
	Site    string
	Version domain.Version
	Exists  bool
	Address string
	Content content
	Body    string `json:"-"`
	Made    Moment
	Author  author
}

// author is who made a version, as its list shows it.
type author struct {
	At        time.Time
	ID        domain.ID
	Action    string
	Principal domain.Principal
	Person    string
	Skill     string
	Reason    *domain.Sealed
}

func authorOf(f Fact) author {
	e := f.Envelope
	return author{f.At, e.Action, e.Name, e.Principal, e.Person, e.Skill, e.Reason}
}

// versions is every version of every item.
var versions = Projection[versionRow]{
	Name: "versions", Version: 2, Once: true,
	Keys: func(f Fact) []string {
		if _, _, ok := contentOf(f.After); !ok {
			return nil
		}
		return []string{versionKey(f.Stream.Workspace, f.Stream.ID, f.Version)}
	},
	Fold: func(_ string, r versionRow, f Fact) (versionRow, bool) {
		r.Kind, r.ID, r.Version, r.Made, r.Author = f.Stream.Category, f.Stream.ID, f.Version, momentOf(f), authorOf(f)
		r.Content, r.Body, _ = contentOf(f.After)
		r.Site, r.Exists, r.Address = placeOf(f.Stream.ID, f.After)
		return r, true
	},
	Columns: []Column[versionRow]{
		text("item", func(r versionRow) string { return r.ID }),
		number("version", func(r versionRow) domain.Version { return r.Version }),
		text("kind", func(r versionRow) string { return r.Kind }),
		text("collection", func(r versionRow) string { return r.Content.collection() }),
		text("dated", func(r versionRow) string { return r.Content.date() }),
		number("position", func(r versionRow) domain.Position { return r.Made.Position }),
		number("at", func(r versionRow) int64 { return r.Made.Time.UnixMicro() }),
	},
	Aside:   func(r *versionRow) *string { return &r.Body },
	Indexes: []string{"workspace, item, version, kind, collection, dated"}, // all that a listing looks at
}

func versionKey(workspace, id string, v domain.Version) string {
	return key(workspace, id+"@"+strconv.FormatInt(int64(v), 10))
}

// pointerRow says that from one publish on, until a later one says otherwise,
// a version of an item is public at an address. Kept as they are, they give
// the public state after any publish without storing one of them whole.
type pointerRow struct {
	Site    string
	Publish domain.Version
	Item    string
	Version domain.Version // 0: taken off
	Address string
	Made    Moment
}

// pointers is what each publish moved.
var pointers = Projection[pointerRow]{
	Name: "pointers", Version: 2, Once: true,
	Keys: func(f Fact) []string {
		var keys []string
		for _, id := range moved(f) {
			keys = append(keys, key(f.Stream.Workspace, pointerPrefix(f)+id))
		}
		return keys
	},
	Fold: func(k string, r pointerRow, f Fact) (pointerRow, bool) {
		r.Item = strings.TrimPrefix(k, key(f.Stream.Workspace, pointerPrefix(f)))
		at := f.After.(live.Live).Items[r.Item]
		r.Site, r.Publish, r.Version, r.Address, r.Made = f.Stream.ID, f.Version, at.Version, at.Address, momentOf(f)
		return r, true
	},
	Columns: []Column[pointerRow]{
		text("site", func(r pointerRow) string { return r.Site }),
		number("publish", func(r pointerRow) domain.Version { return r.Publish }),
		text("item", func(r pointerRow) string { return r.Item }),
		number("version", func(r pointerRow) domain.Version { return r.Version }),
		text("address", func(r pointerRow) string { return r.Address }),
		number("position", func(r pointerRow) domain.Position { return r.Made.Position }),
		number("at", func(r pointerRow) int64 { return r.Made.Time.UnixMicro() }),
	},
	Indexes: []string{"workspace, site, item, publish, version, address", "workspace, site, address, publish"},
}

func pointerPrefix(f Fact) string { return fmt.Sprintf("%s/p%d/", f.Stream.ID, f.Version) }

// publishRow is one publish of a site.
type publishRow struct {
	Site    string
	Publish domain.Version
	Moved   int
	Made    Moment
	Author  author
}

// publishes is every publish of every site.
var publishes = Projection[publishRow]{
	Name: "publishes", Version: 2, Once: true,
	Keys: func(f Fact) []string {
		if _, ok := f.After.(live.Live); !ok {
			return nil
		}
		return []string{key(f.Stream.Workspace, fmt.Sprintf("%s/p%d", f.Stream.ID, f.Version))}
	},
	Fold: func(_ string, _ publishRow, f Fact) (publishRow, bool) {
		return publishRow{f.Stream.ID, f.Version, len(moved(f)), momentOf(f), authorOf(f)}, true
	},
	Columns: []Column[publishRow]{
		text("site", func(r publishRow) string { return r.Site }),
		number("publish", func(r publishRow) domain.Version { return r.Publish }),
		text("action", func(r publishRow) domain.ID { return r.Author.ID }),
		number("position", func(r publishRow) domain.Position { return r.Made.Position }),
		number("at", func(r publishRow) int64 { return r.Made.Time.UnixMicro() }),
	},
	Indexes: []string{"workspace, site, publish", "workspace, site, action, publish"},
}

// moved lists the items whose public version or address a fact changes, by id.
func moved(f Fact) []string {
	after, ok := f.After.(live.Live)
	if !ok {
		return nil
	}
	before := f.Before.(live.Live)
	var ids []string
	for id, at := range after.Items {
		if before.Items[id] != at {
			ids = append(ids, id)
		}
	}
	for id := range maps.Keys(before.Items) {
		if _, still := after.Items[id]; !still {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// placeOf is the site an item is on, whether it is in the draft, and where.
func placeOf(id string, s domain.State) (on string, exists bool, address string) {
	switch s := s.(type) {
	case article.Article:
		_, address = s.Place()
		return s.Site, s.Exists, address
	case page.Page:
		_, address = s.Place()
		return s.Site, s.Exists, address
	case site.Site:
		return id, s.Exists, ""
	}
	return "", false, ""
}

// content is the state of an item without its body: one of the three.
type content struct {
	Article *article.Article `json:",omitempty"`
	Page    *page.Page       `json:",omitempty"`
	Site    *site.Site       `json:",omitempty"`
}

func contentOf(s domain.State) (c content, body string, ok bool) {
	switch s := s.(type) {
	case article.Article:
		body, s.Body = s.Body, ""
		return content{Article: &s}, body, true
	case page.Page:
		body, s.Body = s.Body, ""
		return content{Page: &s}, body, true
	case site.Site:
		return content{Site: &s}, "", true
	}
	return content{}, "", false
}

// state is the state again.
func (c content) state(body string) domain.State {
	switch {
	case c.Article != nil:
		a := *c.Article
		a.Body = body
		return a
	case c.Page != nil:
		p := *c.Page
		p.Body = body
		return p
	case c.Site != nil:
		return *c.Site
	}
	return site.Site{}
}

func (c content) collection() string {
	if c.Article == nil {
		return ""
	}
	return c.Article.Collection
}

// locale is the language that was given; empty for the site's own.
func (c content) locale() string {
	switch {
	case c.Article != nil:
		return c.Article.Locale
	case c.Page != nil:
		return c.Page.Locale
	case c.Site != nil:
		return c.Site.Locale
	}
	return ""
}

func (c content) slug() string {
	if c.Article == nil {
		return ""
	}
	return c.Article.Slug
}

func (c content) date() string {
	if c.Article == nil {
		return ""
	}
	return c.Article.Date
}
