// Package live is what the public sees of a site: which version of each item,
// at which address. Publishing names versions, so what was checked and
// approved is by construction what goes live, whatever is edited meanwhile.
package live

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/vocab"
)

// Live is what is public, by item id.
type Live struct{ Items map[string]At }

// At is one item's public version, and where it is served. The site's own
// settings have no address.
type At struct {
	Version domain.Version
	Address string
}

// Fields show each item with its version.
func (l Live) Fields() []domain.Field {
	var fields []domain.Field
	for _, id := range slices.Sorted(maps.Keys(l.Items)) {
		value := fmt.Sprintf("version %d", l.Items[id].Version)
		if at := l.Items[id].Address; at != "" {
			value += " at " + at
		}
		fields = append(fields, domain.Field{Name: id, Value: value})
	}
	return fields
}

// Sound says whether the public would find two things at one address.
func (l Live) Sound() error {
	if one, other, at, twice := l.clash(); twice {
		return domain.Refuse("taken", "%s and %s would both be at %s. Publish a change that moves one of them first.", one, other, at)
	}
	return nil
}

// clash finds two items at one address.
func (l Live) clash() (one, other, at string, twice bool) {
	found := map[string]string{}
	for _, id := range slices.Sorted(maps.Keys(l.Items)) {
		address := l.Items[id].Address
		if first, taken := found[address]; taken && address != "" {
			return first, id, address, true
		}
		found[address] = id
	}
	return "", "", "", false
}

// Kind is a site's public state as the road sees it; its id is the site's.
var Kind = action.KindOf[Live, Event]("live", "", Words)

// Event is a fact about what is public.
type Event interface{ domain.Event[Live, Event] }

// Words are the names in the log. They outlive the code: never reuse one.
var Words = []vocab.Word{
	vocab.Say[Published]("live.published"),
}

// Published sets the public version of the items it names. Publishing, rolling
// back and undoing either are all this one fact.
type Published struct {
	Items []Item `json:"items"`
}

// Item is one item's new public version; version 0 takes it off the site.
type Item struct {
	ID      string         `json:"id"`
	Version domain.Version `json:"version"`
	Address string         `json:"address,omitempty"`
}

// Evolve moves the pointers it names and leaves the rest.
func (e Published) Evolve(l Live) Live {
	items := maps.Clone(l.Items)
	if items == nil {
		items = map[string]At{}
	}
	for _, it := range e.Items {
		if it.Version == 0 {
			delete(items, it.ID)
			continue
		}
		items[it.ID] = At{it.Version, it.Address}
	}
	return Live{Items: items}
}

// Reverse points where it pointed before.
func (e Published) Reverse(before Live) Event {
	back := Published{Items: make([]Item, len(e.Items))}
	for i, it := range e.Items {
		was := before.Items[it.ID]
		back.Items[i] = Item{it.ID, was.Version, was.Address}
	}
	return back
}

// Apart is each pointer by itself.
func (e Published) Apart() []Event {
	parts := make([]Event, len(e.Items))
	for i, it := range e.Items {
		parts[i] = Published{Items: []Item{it}}
	}
	return parts
}

// KindOf is the kind of an item by its id: the site's own settings are named
// by its handle, which has no underscore.
func KindOf(id string) string {
	switch prefix, _, made := strings.Cut(id, "_"); {
	case made && prefix == "art":
		return "article"
	case made && prefix == "page":
		return "page"
	}
	return "site"
}

func refOf(id string) action.Ref { return action.Ref{Category: KindOf(id), ID: id} }
