package live

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/place"
)

// Actions are everything that changes what the public sees.
var Actions = []*action.Action{Publish, Rollback}

// most is how many items one event names; a larger publish is several events
// in one append, and still one action.
const most = 2000

// PublishArgs asks for items to go live.
type PublishArgs struct {
	Site  string   `json:"site" jsonschema:"the site's handle"`
	Items []Wanted `json:"items,omitzero" jsonschema:"what goes live; everything pending, at its latest version, when left out"`
	Note  string   `json:"note,omitempty" jsonschema:"what this publish is about" chars:"500"`
}

// Wanted is one item that should go live.
type Wanted struct {
	ID      string `json:"id" jsonschema:"the item's id, or the site's handle for its settings"`
	Version int64  `json:"version,omitempty" jsonschema:"its version; the latest when left out"`
}

// Target is the site's handle: its public state has its name.
func (p PublishArgs) Target() string { return p.Site }

// Words are the note: kept with the action, sealed, like any reason.
func (p PublishArgs) Words() string { return p.Note }

// Pinned names the version of every item that was left to be the latest.
func (p PublishArgs) Pinned(known action.Known) any {
	p.Items = slices.Clone(p.Items)
	for i, w := range p.Items {
		if w.Version == 0 {
			p.Items[i].Version = int64(known[refOf(w.ID)].Version)
		}
	}
	return p
}

// Wordless is the rest.
func (p PublishArgs) Wordless() any {
	p.Note = ""
	return p
}

// Missing says that the list was left out: then everything pending is meant. A
// list that names nothing means nothing.
func (p PublishArgs) Missing() (site string, missing bool) { return p.Site, p.Items == nil }

// Naming is the items it names.
func (p PublishArgs) Naming() (ids []string, more bool) {
	for _, w := range p.Items {
		ids = append(ids, w.ID)
	}
	return ids, false
}

// Filled names what is pending.
func (p PublishArgs) Filled(pending []action.Named) any {
	for _, n := range pending {
		p.Items = append(p.Items, Wanted{n.ID, int64(n.Version)})
	}
	return p
}

// Publish makes versions of items public.
var Publish = action.Showing(action.Knowing(Kind,
	func(_ Live, p PublishArgs, _ action.Known) []action.Ref {
		refs := []action.Ref{place.SiteRef(p.Site)}
		for _, w := range p.Items {
			refs = append(refs, refOf(w.ID))
		}
		return refs
	},
	publish,
	PublishArgs{Site: "main", Items: []Wanted{{ID: "art_06g0example0000000000000000", Version: 3}}},
	action.Facts{
		Name:       "site.publish",
		Title:      "Publish",
		About:      "Makes exactly the named versions public; left to itself, everything pending. A removed item's removal goes live the same way.",
		Class:      action.Publish,
		Scope:      "publish",
		Permission: "publish",
	}), show[PublishArgs])

func publish(l Live, p PublishArgs, known action.Known) ([]Event, error) {
	if _, err := place.Open(known, p.Site); err != nil {
		return nil, err
	}
	var items []Item
	seen := map[string]bool{}
	for _, w := range p.Items {
		if seen[w.ID] {
			return nil, domain.Refuse("invalid", "%s is named twice. Name each item once.", place.Clip(w.ID))
		}
		seen[w.ID] = true
		item, err := pick(p.Site, w, known[refOf(w.ID)])
		if err != nil {
			return nil, err
		}
		if l.Items[w.ID] != (At{item.Version, item.Address}) {
			items = append(items, item)
		}
	}
	return said(l, items, known)
}

// pick is what going live means for one wanted item.
func pick(site string, w Wanted, thing action.Thing) (Item, error) {
	version := domain.Version(w.Version)
	if version == 0 {
		version = thing.Version
	}
	switch {
	case thing.Version == 0:
		return Item{}, domain.Refuse("not-found", "There is no item %s. Look at what is pending to find its id.", place.Clip(w.ID))
	case version < 1 || version > thing.Version:
		return Item{}, domain.Refuse("not-found", "There is no version %d of %s. List its versions to see which there are.", version, place.Clip(w.ID))
	}
	then, err := thing.At(version)
	if err != nil {
		return Item{}, err
	}
	switch on, address := where(w.ID, then); {
	case on == "":
		return Item{ID: w.ID}, nil // removed: it goes off the site if it was on it
	case on != site:
		return Item{}, domain.Refuse("not-found", "%s is not on the site %q.", place.Clip(w.ID), site)
	default:
		if now, _ := where(w.ID, thing.State); now == "" {
			return Item{}, domain.Refuse("changed-since-shown", "%s was removed since. Look at what is pending and publish again without it.", called(thing.State, w.ID))
		}
		return Item{w.ID, version, address}, nil
	}
}

// where is the site an item is on and its address there; nothing when it does
// not exist at that state.
func where(id string, s domain.State) (site, address string) {
	if placed, ok := s.(action.Placed); ok {
		return placed.Place()
	}
	if len(s.Fields()) == 0 {
		return "", ""
	}
	return id, "" // the site's own settings
}

// said is the publish that moves these items, unless the public would then
// find two things at one address.
func said(l Live, items []Item, known action.Known) ([]Event, error) {
	var events []Event
	for chunk := range slices.Chunk(items, most) {
		events = append(events, Published{chunk})
	}
	if one, other, at, twice := domain.Fold(l, events...).clash(); twice {
		return nil, domain.Refuse("taken", "%s and %s would both be at %s. Publish them together with the change that moves one of them.", name(one, known), name(other, known), at)
	}
	return events, nil
}

func name(id string, known action.Known) string {
	if t, ok := known[refOf(id)]; ok {
		return called(t.State, id)
	}
	return id
}

func called(s domain.State, id string) string {
	if t, ok := s.(action.Titled); ok && t.Called() != "" {
		return fmt.Sprintf("“%s” (%s)", place.Clip(t.Called()), id)
	}
	return id
}

// RollbackArgs asks for the public state of an earlier publish.
type RollbackArgs struct {
	Site string `json:"site" jsonschema:"the site's handle"`
	To   string `json:"to" jsonschema:"the publish to go back (or forward again) to, such as p12"`
}

// Target is the site's handle.
func (r RollbackArgs) Target() string { return r.Site }

// version is the version of the live stream that a publish is called after.
func (r RollbackArgs) version() domain.Version { return PublishVersion(r.To) }

// PublishVersion reads a publish's name: 12 for p12, 0 for anything else.
func PublishVersion(name string) domain.Version {
	digits, ok := strings.CutPrefix(name, "p")
	n, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || n < 1 || digits[0] == '0' || digits[0] == '+' {
		return 0
	}
	return domain.Version(n)
}

// Rollback makes public what was public after an earlier publish.
var Rollback = action.Showing(action.Knowing(Kind, rollbackNeeds, rollback,
	RollbackArgs{Site: "main", To: "p12"},
	action.Facts{
		Name:       "site.rollback",
		Title:      "Roll back",
		About:      "Makes public exactly what was public after an earlier publish. Later work stays in the draft; a later rollback can go forward again.",
		Class:      action.Destructive,
		Scope:      "rollback",
		Permission: "rollback",
	}), show[RollbackArgs])

// rollbackNeeds first asks for the public state itself, to see it as it was,
// then for the items that would change, to show them to people.
func rollbackNeeds(l Live, r RollbackArgs, known action.Known) []action.Ref {
	self := action.Ref{Category: "live", ID: r.Site}
	refs := []action.Ref{self, place.SiteRef(r.Site)}
	then, err := asOf(known[self], r.version())
	if err != nil {
		return refs
	}
	for _, it := range moves(l, then) {
		refs = append(refs, refOf(it.ID))
	}
	return refs
}

func rollback(l Live, r RollbackArgs, known action.Known) ([]Event, error) {
	if _, err := place.Open(known, r.Site); err != nil {
		return nil, err
	}
	then, err := asOf(known[action.Ref{Category: "live", ID: r.Site}], r.version())
	if err != nil {
		return nil, err
	}
	return said(l, moves(l, then), known)
}

// asOf is the public state after a publish.
func asOf(t action.Thing, v domain.Version) (Live, error) {
	if v < 1 || v > t.Version {
		return Live{}, domain.Refuse("not-found", "There is no such publish. List the site's versions to see p1, p2 and so on.")
	}
	state, err := t.At(v)
	if err != nil {
		return Live{}, err
	}
	return state.(Live), nil
}

// moves lists what leads from one public state to another, by id.
func moves(from, to Live) []Item {
	all := maps.Clone(from.Items)
	if all == nil {
		all = map[string]At{}
	}
	maps.Copy(all, to.Items)
	var items []Item
	for _, id := range slices.Sorted(maps.Keys(all)) {
		if want := to.Items[id]; from.Items[id] != want {
			items = append(items, Item{id, want.Version, want.Address})
		}
	}
	return items
}

// show tells people what a publish changes: the items, field by field.
func show[A any](before, after Live, _ A, known action.Known) []domain.Change {
	var changes []domain.Change
	for _, it := range moves(before, after) {
		changes = append(changes, Between(it.ID, before.Items[it.ID].Version, it.Version, known[refOf(it.ID)]))
	}
	return changes
}

// Between is what happens to one item on its way from one version to another;
// version 0 is not being there.
func Between(id string, from, to domain.Version, t action.Thing) domain.Change {
	c := domain.Change{Kind: KindOf(id), ID: id, Version: to, Was: from, Change: domain.Edited}
	was, is := fieldsAt(t, from), fieldsAt(t, to)
	switch {
	case from == 0:
		c.Change = domain.Added
	case to == 0:
		c.Change = domain.Removed
	}
	if titled, ok := t.State.(action.Titled); ok {
		c.Title = titled.Called()
	}
	c.Fields = domain.Diff(was, is)
	return c
}

func fieldsAt(t action.Thing, v domain.Version) []domain.Field {
	if v == 0 || t.At == nil {
		return nil
	}
	s, err := t.At(v)
	if err != nil {
		return nil
	}
	return s.Fields()
}
