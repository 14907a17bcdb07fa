package agent

import (
	"time"

	"assent/domain"
	"assent/domain/place"
)

// Bounds are where an agent or a key works. The zero value is everywhere.
type Bounds struct {
	Site       string `json:"site,omitempty"`
	Collection string `json:"collection,omitempty"` // of articles; there is no other content for who is for one
}

// and is where both are. It is false when that is nowhere.
func (b Bounds) and(o Bounds) (Bounds, bool) {
	site, ok := both(b.Site, o.Site)
	collection, also := both(b.Collection, o.Collection)
	return Bounds{site, collection}, ok && also
}

func both(a, b string) (string, bool) {
	if a == "" {
		return b, true
	}
	return a, b == "" || a == b
}

// on says where, after what works there.
func (b Bounds) on() (text string) {
	if b.Site != "" {
		text = " on " + b.Site
	}
	if b.Collection != "" {
		text += " in " + b.Collection
	}
	return text
}

// fits refuses bounds that can be nowhere at all.
func (b Bounds) fits() error {
	if b.Collection != "" && !place.IsSlug(b.Collection) {
		return domain.Refuse("invalid", "%q cannot be a collection: use lower-case letters, digits and hyphens.", place.Clip(b.Collection))
	}
	return nil
}

// Bounds are where the agent works through a key: where both may. It is false
// when that is nowhere, since one of them was moved.
func (a Agent) Bounds(key string) (Bounds, bool) {
	return Bounds{a.Site, a.Collection}.and(a.Keys[key].Bounds)
}

// Confined holds the agent to a collection of articles, or lets it out of one.
type Confined struct {
	Collection string `json:"collection"` // empty: all there is
}

// Evolve holds it there.
func (e Confined) Evolve(a Agent) Agent {
	a.Collection = e.Collection
	return a
}

// Reverse is nil: an undo must not widen an agent by the way.
func (Confined) Reverse(Agent) Event { return nil }

// KeyConfined holds a key to where it may be used.
type KeyConfined struct {
	Key string `json:"key"`
	Bounds
}

// Evolve holds it there.
func (e KeyConfined) Evolve(a Agent) Agent {
	k := a.Keys[e.Key]
	k.Bounds = e.Bounds
	a.Keys = with(a.Keys, e.Key, k)
	return a
}

// Reverse is nil: an undo must not widen a key by the way.
func (KeyConfined) Reverse(Agent) Event { return nil }

// Ending gives a key an end, now that another takes its place. Log time ends
// it; nothing has to run.
type Ending struct {
	Key string    `json:"key"`
	At  time.Time `json:"at"`
	For string    `json:"for"` // the key that takes its place
}

// Evolve ends it then, unless it ends before.
func (e Ending) Evolve(a Agent) Agent {
	k := a.Keys[e.Key]
	if k.Expires.IsZero() || e.At.Before(k.Expires) {
		k.Expires = e.At
	}
	k.Next = e.For
	a.Keys = with(a.Keys, e.Key, k)
	return a
}

// Reverse is nil: nothing lengthens a key's life.
func (Ending) Reverse(Agent) Event { return nil }

// Notice is how long before a key's end its agent and its owner are told.
const Notice = 7 * 24 * time.Hour

// EndsSoon says that a key works and soon will not, with nothing in its place.
func (k Key) EndsSoon(now time.Time) bool {
	return k.works(now) && !k.Expires.IsZero() && k.Next == "" && !now.Before(k.Expires.Add(-Notice))
}

func (k Key) works(now time.Time) bool {
	return !k.Revoked && (k.Expires.IsZero() || now.Before(k.Expires))
}

// Remind brings up each key that ends soon, once.
func Remind(a Agent, now time.Time) []Event {
	var events []Event
	for _, id := range a.KeyIDs() {
		if k := a.Keys[id]; k.EndsSoon(now) && !k.Reminded {
			events = append(events, Reminded{Key: id, Ends: k.Expires})
		}
	}
	return events
}

// Reminded is a key that was brought up because it ends soon.
type Reminded struct {
	Key  string    `json:"key"`
	Ends time.Time `json:"ends"`
}

// Evolve remembers that.
func (e Reminded) Evolve(a Agent) Agent {
	k := a.Keys[e.Key]
	k.Reminded = true
	a.Keys = with(a.Keys, e.Key, k)
	return a
}

// Reverse is nil: it was said.
func (Reminded) Reverse(Agent) Event { return nil }
