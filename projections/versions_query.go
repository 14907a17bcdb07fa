package projections

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"assent/domain"
	"assent/domain/live"
	"assent/domain/place"
	"assent/domain/policy"
	"assent/domain/site"
	"assent/domain/workspace"

	"assent/domain/action"
)

// Version is one line of a history: a version of an item (its number), or a
// publish of a site (p1, p2, …).
type Version struct {
	Version   any              `json:"version"` // domain.Version of an item, string of a publish
	At        time.Time        `json:"at"`
	ID        domain.ID        `json:"id"`     // of the action that made it
	Action    string           `json:"action"` // its name
	Principal domain.Principal `json:"principal"`
	Person    string           `json:"person,omitempty"` // behind an agent
	Skill     string           `json:"skill,omitempty"`
	Reason    string           `json:"reason,omitempty"` // for the caller to open from Sealed
	Sealed    *domain.Sealed   `json:"-"`
	Live      bool             `json:"live"`
	Items     int              `json:"items,omitempty"` // of a publish: how many it moved
}

func (w author) version(number any, live bool) Version {
	return Version{Version: number, At: w.At, ID: w.ID, Action: w.Action, Principal: w.Principal, Person: w.Person, Skill: w.Skill, Sealed: w.Reason, Live: live}
}

func publishName(v domain.Version) string { return "p" + strconv.FormatInt(int64(v), 10) }

// Versions lists a site's publishes or every version of one item, newest first.
func (s *Store) Versions(ctx context.Context, workspace string, args site.VersionsArgs) (list []Version, next string, err error) {
	list = []Version{}
	if (args.Site == "") == (args.Item == "") {
		return list, "", domain.Refuse("invalid", "Name a site, for its publishes, or an item, for its versions.")
	}
	c, err := cursorOf(workspace, "versions/"+args.Site+args.Item, args.Page)
	if err != nil {
		return list, "", err
	}
	err = s.ask(ctx, "versions", func(a asking) error {
		if args.Site != "" {
			list, next, err = a.publishes(workspace, args.Site, c, args.Page)
		} else {
			list, next, err = a.versions(workspace, args.Item, c, args.Page)
		}
		return err
	})
	return some(list), next, err
}

func (a asking) publishes(workspace, handle string, c cursor, p action.Page) (list []Version, next string, err error) {
	if _, err := a.open(workspace, handle); err != nil {
		return nil, "", err
	}
	last, err := a.lastPublish(workspace, handle)
	if err != nil {
		return nil, "", err
	}
	// A publish of thousands is several events of one action: only where it
	// ends was it ever seen.
	f := query(`SELECT p.doc FROM {publishes} p WHERE p.workspace = ? AND p.site = ? AND NOT EXISTS (
		SELECT 1 FROM {publishes} q WHERE q.workspace = p.workspace AND q.site = p.site AND q.action = p.action AND q.publish > p.publish)`, workspace, handle)
	f.down("p.publish", c)
	rows, next, err := pageOf(a, f, c, p, func(r publishRow) int64 { return int64(r.Publish) }, all)
	for _, r := range rows {
		v := r.Author.version(publishName(r.Publish), r.Publish == last)
		v.Items = r.Moved
		list = append(list, v)
	}
	return list, next, err
}

func (a asking) versions(workspace, id string, c cursor, p action.Page) (list []Version, next string, err error) {
	now, err := a.thing(workspace, id)
	if err != nil {
		return nil, "", err
	}
	f := query(`SELECT doc FROM {versions} WHERE workspace = ? AND item = ?`, workspace, id)
	f.down("version", c)
	rows, next, err := pageOf(a, f, c, p, func(r versionRow) int64 { return int64(r.Version) }, all)
	for _, r := range rows {
		list = append(list, r.Author.version(r.Version, r.Version == now.Live))
	}
	return list, next, err
}

// thing is the row of an item that was ever made, or a refusal.
func (a asking) thing(workspace, id string) (itemRow, error) {
	r, found, err := byKey[itemRow](a, "items", workspace, id)
	if err == nil && !found {
		err = domain.Refuse("not-found", "There is nothing called %s. List the pages or articles to find its id.", place.Clip(id))
	}
	return r, err
}

// Diff is what differs between two versions.
type Diff struct {
	Changes []domain.Change `json:"changes"`
}

// Compare shows what leads from one version to another, of a site or of one
// item: from live when left out, to latest when left out. Not being there is
// version 0.
func (s *Store) Compare(ctx context.Context, workspace string, args site.CompareArgs) (d Diff, err error) {
	from, to := cmp.Or(args.From, "live"), cmp.Or(args.To, "latest")
	if (args.Site == "") == (args.Item == "") {
		return d, domain.Refuse("invalid", "Name a site, to compare whole sites, or an item, to compare its versions.")
	}
	err = s.ask(ctx, "what differs", func(a asking) error {
		if args.Item != "" {
			d.Changes, err = a.compareItem(workspace, args.Item, from, to)
		} else {
			d.Changes, err = a.compareSites(workspace, args.Site, from, to)
		}
		return err
	})
	d.Changes = some(d.Changes)
	return d, err
}

func (a asking) compareItem(workspace, id, from, to string) ([]domain.Change, error) {
	r, err := a.thing(workspace, id)
	if err != nil {
		return nil, err
	}
	was, err := a.versionCalled(workspace, r, from)
	if err != nil {
		return nil, err
	}
	is, err := a.versionCalled(workspace, r, to)
	if err != nil || was == is {
		return nil, err
	}
	c, err := a.between(workspace, id, was, is)
	return []domain.Change{c}, err
}

// versionCalled is an item's version by any name it can be asked for by; 0
// when it is not there at that.
func (a asking) versionCalled(workspace string, r itemRow, name string) (domain.Version, error) {
	if n, err := strconv.ParseInt(name, 10, 64); err == nil {
		it, err := a.version(workspace, r.ID, domain.Version(n))
		if err != nil || !it.Exists {
			return 0, err
		}
		return it.Version, nil
	}
	switch {
	case name == "live":
		return r.Live, nil
	case name == "latest" && r.Exists:
		return r.Rev, nil
	case name == "latest":
		return 0, nil
	}
	v, err := a.view(workspace, viewArgs(r.Site, name))
	if err != nil {
		return 0, err
	}
	shows, err := a.everything(v)
	return shows[r.ID].version, err
}

// viewArgs reads a site's version by any name it can be asked for by.
func viewArgs(handle, name string) site.PreviewArgs {
	if strings.HasPrefix(name, "prop_") {
		return site.PreviewArgs{Site: handle, Proposal: name}
	}
	return site.PreviewArgs{Site: handle, Version: name}
}

func (a asking) compareSites(workspace, handle, from, to string) ([]domain.Change, error) {
	var shows [2]map[string]member
	for i, name := range []string{from, to} {
		v, err := a.view(workspace, viewArgs(handle, name))
		if err != nil {
			return nil, err
		}
		if shows[i], err = a.everything(v); err != nil {
			return nil, err
		}
	}
	order, err := rowsOf[string](a.ctx, a.tx, a.rows.sql(`SELECT id FROM {items} WHERE workspace = $1 AND site = $2 ORDER BY created`), workspace, handle)
	if err != nil {
		return nil, err
	}
	var changes []domain.Change
	for _, id := range order {
		was, is := shows[0][id].version, shows[1][id].version
		if was == is {
			continue
		}
		c, err := a.between(workspace, id, was, is)
		if err != nil {
			return nil, err
		}
		changes = append(changes, c)
	}
	return changes, nil
}

// between is what happens to an item on its way from one version to another.
func (a asking) between(workspace, id string, was, is domain.Version) (domain.Change, error) {
	var failed error
	t := action.Thing{At: func(v domain.Version) (domain.State, error) {
		it, err := a.version(workspace, id, v)
		if err != nil {
			failed = err
		}
		return it.state, err
	}}
	t.State, _ = t.At(cmp.Or(is, was))
	c := live.Between(id, was, is, t)
	c.Kind = live.KindOf(id)
	c.Fields = some(c.Fields)
	if failed != nil {
		return c, fmt.Errorf("%s between %d and %d: %w", id, was, is, failed)
	}
	return c, nil
}

// Pending lists what a publish without a list means: everything whose draft
// differs from what is live, the site's settings and removals included, in the
// order the items were made. It waits until it has seen everything up to a
// position.
func (s *Store) Pending(ctx context.Context, workspace, handle string, after domain.Position) ([]action.Named, error) {
	if err := s.Wait(ctx, after); err != nil {
		return nil, err
	}
	var list []action.Named
	err := s.ask(ctx, "what is pending", func(a asking) error {
		f := query(`SELECT doc FROM {items} WHERE workspace = ? AND site = ? AND pending = 1 ORDER BY created`, workspace, handle)
		return docs(a, f, func(r itemRow) bool {
			list = append(list, action.Named{ID: r.ID, Version: r.Rev})
			return true
		})
	})
	return list, err
}

// Pending is what publishing everything now would change, and whether that
// would be low risk.
type Pending struct {
	Changes   []domain.Change  `json:"changes"`
	Added     int              `json:"added"`
	Edited    int              `json:"edited"`
	Removed   int              `json:"removed"`
	AutoCheck domain.AutoCheck `json:"autoCheck"`
}

// PendingChanges is what publishing everything now would change: the same
// items in the same order as Pending names.
func (s *Store) PendingChanges(ctx context.Context, ws, handle string) (p Pending, err error) {
	err = s.ask(ctx, "what is pending", func(a asking) error {
		changes, err := a.compareSites(ws, handle, "live", "latest")
		if err != nil {
			return err
		}
		rules, _, err := byKey[workspace.Workspace](a, "settings", ws, workspace.ID)
		if err != nil {
			return err
		}
		p = Pending{Changes: some(changes), AutoCheck: policy.LowRisk(changes, rules.Limit())}
		for _, c := range changes {
			switch c.Change {
			case domain.Added:
				p.Added++
			case domain.Edited:
				p.Edited++
			case domain.Removed:
				p.Removed++
			}
		}
		return nil
	})
	return p, err
}
