package projections

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"assent/domain"
	"assent/domain/article"
	"assent/domain/live"
	"assent/domain/page"
	"assent/domain/place"
	"assent/domain/proposal"
	"assent/domain/site"
)

// View is a site as it was, is or would be: which version of what is at which
// address. It names a publish and what differs from it, so it stays as it is
// whatever is published meanwhile; only a view of the latest draft moves on.
// Views come from SiteAt.
type View struct {
	Workspace, Site string
	Settings        Settings

	latest  bool
	publish domain.Version
	instead map[string]Item // by id, in place of what that publish shows; Version 0: not there
}

// Name is the view's version when it has a name: latest, or a publish such as
// p12, which never changes again; empty when nothing was published, or when it
// is put together from items or a proposal.
func (v View) Name() string {
	switch {
	case v.latest:
		return "latest"
	case v.publish == 0 || len(v.instead) > 0:
		return ""
	}
	return publishName(v.publish)
}

// Settings are a site's settings at the version a view shows; Version 0 when
// the view has none, because they were never published.
type Settings struct {
	Version domain.Version
	site.Site
}

// Item is one version of a page, an article or a site's settings.
type Item struct {
	Kind       string         `json:"kind"`
	ID         string         `json:"id"`
	Version    domain.Version `json:"version"`
	Site       string         `json:"site"`
	Exists     bool           `json:"exists"` // false at the version that removed it
	Address    string         `json:"address,omitempty"`
	Collection string         `json:"collection,omitempty"`
	Locale     string         `json:"locale,omitempty"` // empty for the site's own
	Title      string         `json:"title"`
	Summary    string         `json:"summary,omitempty"`
	Body       string         `json:"body,omitempty"`
	Tags       []string       `json:"tags,omitempty"`
	Authors    []string       `json:"authors,omitempty"`
	Date       string         `json:"date,omitempty"`
	Meta       map[string]any `json:"meta,omitempty"`
	At         time.Time      `json:"at"` // when the version was made

	state domain.State
}

func itemFrom(r versionRow, body string) Item {
	it := Item{Kind: r.Kind, ID: r.ID, Version: r.Version, Site: r.Site, Exists: r.Exists, Address: r.Address, Body: body, At: r.Author.At, state: r.Content.state(body)}
	switch s := it.state.(type) {
	case article.Article:
		it.Collection, it.Locale, it.Title, it.Summary = s.Collection, s.Locale, s.Title, s.Summary
		it.Tags, it.Authors, it.Date, it.Meta = s.Tags, s.Authors, s.Date, s.Meta
	case page.Page:
		it.Locale, it.Title, it.Meta = s.Locale, s.Title, s.Meta
	case site.Site:
		it.Locale, it.Title = s.Locale, s.Title
	}
	return it
}

// Item gives an item at a version, or is refused not-found.
func (s *Store) Item(ctx context.Context, workspace, id string, version domain.Version) (it Item, err error) {
	err = s.glance(ctx, "a version", func(a asking) error {
		it, err = a.version(workspace, id, version)
		return err
	})
	return it, err
}

func (a asking) version(workspace, id string, version domain.Version) (Item, error) {
	var body string
	f := query(`SELECT doc, body FROM {versions} WHERE workspace = ? AND key = ?`, workspace, versionKey(workspace, id, version))
	r, found, err := one[versionRow](a, f, &body)
	if err == nil && !found {
		err = domain.Refuse("not-found", "There is no version %d of %s. List its versions to see which there are.", version, place.Clip(id))
	}
	return itemFrom(r, body), err
}

// SiteAt gives a site as the arguments of a preview name it: a version (latest
// when left out, live, or a publish such as p12), or what is live with some
// items at named versions, or what is live with a proposal carried out. A site
// that was never published is there when it is live, with nothing on it.
func (s *Store) SiteAt(ctx context.Context, workspace string, which site.PreviewArgs) (v View, err error) {
	err = s.ask(ctx, "a site's version", func(a asking) error {
		v, err = a.view(workspace, which)
		return err
	})
	return v, err
}

func (a asking) view(workspace string, which site.PreviewArgs) (View, error) {
	v := View{Workspace: workspace, Site: which.Site, instead: map[string]Item{}}
	if _, err := a.open(workspace, which.Site); err != nil {
		return v, err
	}
	last, err := a.lastPublish(workspace, which.Site)
	if err != nil {
		return v, err
	}
	v.publish = last
	asked := 0
	for _, is := range []bool{which.Version != "", len(which.Items) > 0, which.Proposal != ""} {
		if is {
			asked++
		}
	}
	switch {
	case asked > 1:
		return v, domain.Refuse("invalid", "Name one of version, items and proposal, not several.")
	case len(which.Items) > 0:
		err = a.withItems(&v, which.Items)
	case which.Proposal != "":
		err = a.withProposal(&v, which.Proposal)
	case which.Version == "" || which.Version == "latest":
		v.latest = true
	case which.Version != "live":
		v.publish = live.PublishVersion(which.Version)
		if v.publish == 0 || v.publish > last {
			err = noVersion(which.Version)
		}
	}
	if err != nil {
		return v, err
	}
	v.Settings, err = a.settings(v)
	return v, err
}

func noVersion(name string) error {
	return domain.Refuse("not-found", "There is no version %q. It is live, latest, or one of the versions that are listed.", place.Clip(name))
}

// lastPublish is the version of what is live; 0 when nothing ever was.
func (a asking) lastPublish(workspace, handle string) (domain.Version, error) {
	last, err := rowsOf[domain.Version](a.ctx, a.tx, a.rows.sql(`SELECT COALESCE(MAX(publish), 0) FROM {publishes} WHERE workspace = $1 AND site = $2`), workspace, handle)
	if err != nil {
		return 0, err
	}
	return last[0], nil
}

// withItems puts items at versions, the latest when left out.
func (a asking) withItems(v *View, items []site.PreviewItem) error {
	for _, w := range items {
		version := domain.Version(w.Version)
		if version == 0 {
			r, found, err := byKey[itemRow](a, "items", v.Workspace, w.ID)
			if err != nil {
				return err
			}
			if found {
				version = r.Rev
			}
		}
		it, err := a.version(v.Workspace, w.ID, version)
		if err != nil {
			return err
		}
		if it.Site != v.Site {
			return domain.Refuse("not-found", "%s is not on the site %q.", place.Clip(w.ID), v.Site)
		}
		v.put(it)
	}
	return nil
}

// put shows an item in place of what the publish shows of it; one that is
// removed at that version is not shown.
func (v *View) put(it Item) {
	if !it.Exists {
		it.Version = 0
	}
	v.instead[it.ID] = it
}

// withProposal carries out a proposal's publishes and rollbacks.
func (a asking) withProposal(v *View, id string) error {
	p, found, err := byKey[inboxRow](a, "inbox", v.Workspace, id)
	if err != nil {
		return err
	}
	if !found {
		return domain.Refuse("not-found", "There is no such proposal. List the proposals to find its id.")
	}
	for _, c := range p.Calls {
		switch {
		case c.Target != (domain.Stream{Category: live.Kind.Category, Workspace: v.Workspace, ID: v.Site}).String():
			err = domain.Refuse("unsupported", "This proposal is not about what is public on %q. Look at the proposal itself to see what it would change.", v.Site)
		case c.Action == live.Publish.Name:
			err = a.withPublish(v, c.Args, p.Reads)
		case c.Action == live.Rollback.Name:
			err = a.withRollback(v, c.Args)
		default:
			err = domain.Refuse("unsupported", "This proposal cannot be shown as a site. Look at the proposal itself to see what it would change.")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (a asking) withPublish(v *View, args json.RawMessage, reads []proposal.Read) error {
	var p live.PublishArgs
	if err := json.Unmarshal(args, &p); err != nil {
		return fmt.Errorf("arguments of the proposal: %w", err)
	}
	var items []site.PreviewItem
	for _, w := range p.Items {
		if w.Version == 0 { // the latest then, not the latest now
			w.Version = int64(readAt(reads, v.Workspace, w.ID))
		}
		items = append(items, site.PreviewItem{ID: w.ID, Version: w.Version})
	}
	return a.withItems(v, items)
}

func readAt(reads []proposal.Read, workspace, id string) domain.Version {
	for _, r := range reads {
		if s, err := domain.ParseStream(r.Stream); err == nil && s.Workspace == workspace && s.ID == id && s.Category == live.KindOf(id) {
			return r.Version
		}
	}
	return 0
}

func (a asking) withRollback(v *View, args json.RawMessage) error {
	var r live.RollbackArgs
	if err := json.Unmarshal(args, &r); err != nil {
		return fmt.Errorf("arguments of the proposal: %w", err)
	}
	to := live.PublishVersion(r.To)
	if to == 0 || to > v.publish {
		return noVersion(r.To)
	}
	v.publish, v.instead = to, map[string]Item{}
	return nil
}

// settings are the site's own settings in a view.
func (a asking) settings(v View) (Settings, error) {
	it, ok := v.instead[v.Site]
	if !ok {
		f := showing(v, "v.doc, v.body")
		f.add(` AND m.item = ?`, v.Site)
		r, found, err := one[versionRow](a, f, new(string))
		if err != nil || !found {
			return Settings{}, err
		}
		it = itemFrom(r, "")
	}
	settings, _ := it.state.(site.Site)
	return Settings{it.Version, settings}, nil
}

// members is the query of what a view's base shows: item, version, address.
func members(v View) filter {
	if v.latest {
		return query(`SELECT id AS item, rev AS version, address FROM {items} WHERE workspace = ? AND site = ? AND status <> 'removed'`, v.Workspace, v.Site)
	}
	// The last word on each item, up to that publish.
	return query(`SELECT p.item, p.version, p.address FROM {pointers} p
		WHERE p.workspace = ? AND p.site = ? AND p.publish <= ? AND p.version > 0 AND NOT EXISTS (
			SELECT 1 FROM {pointers} q WHERE q.workspace = p.workspace AND q.site = p.site AND q.item = p.item AND q.publish > p.publish AND q.publish <= ?)`,
		v.Workspace, v.Site, int64(v.publish), int64(v.publish))
}

// showing is a query over the versions that a view's base shows. CROSS JOIN is
// for SQLite: it begins with the members then, not with all of history.
func showing(v View, columns string) filter {
	return query(`SELECT `+columns+` FROM (?) m CROSS JOIN {versions} v WHERE v.workspace = ? AND v.item = m.item AND v.version = m.version`, members(v), v.Workspace)
}

// Resolve gives what a view shows at an address, as it is served (/posts/hello),
// with its body, or is refused not-found.
func (s *Store) Resolve(ctx context.Context, v View, path string) (it Item, err error) {
	missing := domain.Refuse("not-found", "There is nothing at %s.", place.Clip(path))
	if path == "" {
		return it, missing
	}
	for _, it := range v.instead {
		if it.Version > 0 && it.Address == path {
			return it, nil
		}
	}
	err = s.ask(ctx, "an address", func(a asking) error {
		var body string
		f := showing(v, "v.doc, v.body")
		f.add(` AND m.address = ?`, path)
		r, found, err := one[versionRow](a, f, &body)
		if err != nil {
			return err
		}
		if _, elsewhere := v.instead[r.ID]; !found || elsewhere {
			return missing
		}
		it = itemFrom(r, body)
		return nil
	})
	return it, err
}

// Listing gives the articles of a collection (all when it is empty) in a view,
// without their bodies: the latest date first, then the newest id. It skips
// offset and gives at most limit, all when that is 0; total is how many there
// are.
func (s *Store) Listing(ctx context.Context, v View, collection string, offset, limit int) (list []Item, total int, err error) {
	err = s.ask(ctx, "a collection", func(a asking) error {
		found, err := a.dated(v, collection)
		if err != nil {
			return err
		}
		total = len(found)
		found = found[min(max(offset, 0), total):]
		if limit > 0 {
			found = found[:min(limit, len(found))]
		}
		for _, d := range found {
			it, ok := v.instead[d.id]
			if !ok {
				if it, err = a.version(v.Workspace, d.id, d.version); err != nil {
					return err
				}
			}
			it.Body = ""
			list = append(list, it)
		}
		return nil
	})
	return some(list), total, err
}

// dated is an article by what listings are sorted by.
type dated struct {
	id      string
	version domain.Version
	date    string
}

// dated is every article of a collection that a view shows, in the order of
// listings. Only what is then listed is read whole.
func (a asking) dated(v View, collection string) ([]dated, error) {
	f := showing(v, "m.item, m.version, v.dated")
	f.add(` AND v.kind = 'article'`)
	f.equal("v.collection", collection)
	rows, err := a.query(f.text, f.args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var list []dated
	for rows.Next() {
		var d dated
		if err := rows.Scan(&d.id, &d.version, &d.date); err != nil {
			return nil, err
		}
		if _, elsewhere := v.instead[d.id]; !elsewhere {
			list = append(list, d)
		}
	}
	for _, it := range v.instead {
		if it.Version > 0 && it.Kind == article.Kind.Category && (collection == "" || it.Collection == collection) {
			list = append(list, dated{it.ID, it.Version, it.Date})
		}
	}
	slices.SortFunc(list, func(a, b dated) int {
		return cmp.Or(cmp.Compare(b.date, a.date), cmp.Compare(b.id, a.id))
	})
	return list, rows.Err()
}

// Place is an item's version at an address of a view.
type Place struct {
	ID      string
	Version domain.Version
}

// Addresses gives everything a view shows, by address. The settings, which
// have none, are in the view itself.
func (s *Store) Addresses(ctx context.Context, v View) (map[string]Place, error) {
	found := map[string]Place{}
	err := s.ask(ctx, "a site's addresses", func(a asking) error {
		all, err := a.everything(v)
		for id, m := range all {
			if m.address != "" {
				found[m.address] = Place{id, m.version}
			}
		}
		return err
	})
	return found, err
}

// member is one thing a view shows.
type member struct {
	version domain.Version
	address string
}

// everything is all a view shows, the settings too, by id.
func (a asking) everything(v View) (map[string]member, error) {
	f := members(v)
	rows, err := a.query(f.text, f.args...)
	if err != nil {
		return nil, err
	}
	list := map[string]member{}
	for rows.Next() {
		var id string
		var m member
		if err := rows.Scan(&id, &m.version, &m.address); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		list[id] = m
	}
	for id, it := range maps.All(v.instead) {
		list[id] = member{it.Version, it.Address}
		if it.Version == 0 {
			delete(list, id)
		}
	}
	return list, errors.Join(rows.Err(), rows.Close())
}
