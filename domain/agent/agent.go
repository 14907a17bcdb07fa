// Package agent is programs that act for a person, never with more than that
// person has. Names and key hashes are kept beside the log.
package agent

import (
	"maps"
	"slices"
	"time"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/policy"
	"assent/domain/vocab"
)

// Agent is what the road must know of an agent. Mode and scopes are the
// ceiling of every key it has.
type Agent struct {
	Person  string // who it acts for; empty before anything happened
	Mode    policy.Mode
	Scopes  []string
	Site    string // the one site it works on; empty for all
	Confirm bool   // its owner allows confirming in the agent's own client
	Paused  bool
	Keys    map[string]Key
	Lent    Lent

	Collection string // the one collection of articles it works on; empty for all there is
}

// Key is one way in. It may narrow the agent and never widens it.
type Key struct {
	Expires time.Time // zero: never
	Mode    policy.Mode
	Scopes  []string // nil: all of the agent's
	Revoked bool

	Bounds
	Next     string // the key that took its place
	Reminded bool   // of its end
}

// Allows says what a key may do at a time: the stricter mode, the scopes that
// both have. It is false for a key that does not exist, is revoked or is over.
func (a Agent) Allows(key string, now time.Time) (mode policy.Mode, scopes []string, ok bool) {
	k, known := a.Keys[key]
	if !known || !k.works(now) {
		return "", nil, false
	}
	scopes = policy.Narrowed(a.Scopes, k.Scopes)
	if _, somewhere := a.Bounds(key); !somewhere {
		scopes = []string{}
	}
	return policy.Stricter(a.ModeAt(now), k.Mode), scopes, true
}

// KeyIDs are its keys, in order.
func (a Agent) KeyIDs() []string { return slices.Sorted(maps.Keys(a.Keys)) }

// Fields are what a person would recognise it by.
func (a Agent) Fields() []domain.Field {
	if a.Person == "" {
		return nil
	}
	fields := []domain.Field{
		{Name: "person", Value: a.Person},
		{Name: "mode", Value: string(a.Mode)},
		{Name: "scopes", Value: a.Scopes},
		{Name: "site", Value: a.Site},
		{Name: "collection", Value: a.Collection},
		{Name: "confirm", Value: a.Confirm},
		{Name: "paused", Value: a.Paused},
	}
	for _, id := range a.KeyIDs() {
		if k := a.Keys[id]; !k.Revoked {
			fields = append(fields, domain.Field{Name: id, Value: "works" + k.on() + until(k.Expires)})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(a.Lent.Elevations)) {
		if e := a.Lent.Elevations[id]; !e.Ended {
			fields = append(fields, domain.Field{Name: id, Value: string(e.Mode) + until(e.Until)})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(a.Lent.Standings)) {
		if s := a.Lent.Standings[id]; !s.Ended {
			fields = append(fields, domain.Field{Name: id, Value: "may " + s.Action + " on " + s.Site + until(s.Until)})
		}
	}
	return fields
}

func until(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return " until " + t.UTC().Format(time.RFC3339)
}

// Kind is agents as the road sees them.
var Kind = action.KindOf[Agent, Event]("agent", "agent", Words)

// Event is a fact about one agent.
type Event interface{ domain.Event[Agent, Event] }

// Words are the names in the log. They outlive the code: never reuse one.
var Words = []vocab.Word{
	vocab.Say[Created]("agent.created"),
	vocab.Say[Updated]("agent.updated"),
	vocab.Say[Minted]("agent.key-minted"),
	vocab.Say[Revoked]("agent.key-revoked"),
	vocab.Say[Elevated]("agent.elevated"),
	vocab.Say[ElevationEnded]("agent.elevation-ended"),
	vocab.Say[StandingMade]("agent.standing-made"),
	vocab.Say[StandingEnded]("agent.standing-ended"),
	vocab.Say[Confined]("agent.confined"),
	vocab.Say[KeyConfined]("agent.key-confined"),
	vocab.Say[Ending]("agent.key-ending"),
	vocab.Say[Reminded]("agent.key-reminded"),
}

// Created is an agent's first fact.
type Created struct {
	Person  string      `json:"person"`
	Mode    policy.Mode `json:"mode"`
	Scopes  []string    `json:"scopes"`
	Site    string      `json:"site,omitempty"`
	Confirm bool        `json:"confirm,omitempty"`
}

// Evolve is the agent as it was made.
func (e Created) Evolve(Agent) Agent {
	return Agent{Person: e.Person, Mode: e.Mode, Scopes: e.Scopes, Site: e.Site, Confirm: e.Confirm}
}

// Reverse is nil: who may act is never changed by the way. Pause it instead.
func (Created) Reverse(Agent) Event { return nil }

// Updated sets what it names and leaves the rest.
type Updated struct {
	Mode    *policy.Mode `json:"mode,omitempty"`
	Scopes  *[]string    `json:"scopes,omitempty"`
	Site    *string      `json:"site,omitempty"`
	Confirm *bool        `json:"confirm,omitempty"`
	Paused  *bool        `json:"paused,omitempty"`
}

// Evolve sets what the event names.
func (e Updated) Evolve(a Agent) Agent {
	domain.Set(&a.Mode, e.Mode)
	domain.Set(&a.Scopes, e.Scopes)
	domain.Set(&a.Site, e.Site)
	domain.Set(&a.Confirm, e.Confirm)
	domain.Set(&a.Paused, e.Paused)
	return a
}

// Reverse is nil: an undo must not widen an agent by the way.
func (Updated) Reverse(Agent) Event { return nil }

// Minted gives the agent a key. The key itself is nowhere in the log.
type Minted struct {
	Key     string      `json:"key"`
	Expires time.Time   `json:"expires,omitzero"`
	Mode    policy.Mode `json:"mode,omitempty"`
	Scopes  []string    `json:"scopes,omitzero"` // nil: all of the agent's; an empty list stays one
}

// Evolve adds the key, unless it was revoked: revoked is for ever.
func (e Minted) Evolve(a Agent) Agent {
	k := a.Keys[e.Key]
	k.Mode, k.Scopes = e.Mode, e.Scopes
	if k.Next == "" { // a rotated one ends as it was told
		k.Expires = e.Expires
	}
	a.Keys = with(a.Keys, e.Key, k)
	return a
}

// Reverse is nil: keys are revoked, not undone.
func (Minted) Reverse(Agent) Event { return nil }

// Revoked ends a key.
type Revoked struct {
	Key string `json:"key"`
}

// Evolve marks the key as over.
func (e Revoked) Evolve(a Agent) Agent {
	k := a.Keys[e.Key]
	k.Revoked = true
	a.Keys = with(a.Keys, e.Key, k)
	return a
}

// Reverse is nil: nothing revives a key.
func (Revoked) Reverse(Agent) Event { return nil }
