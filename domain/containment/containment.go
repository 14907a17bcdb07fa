// Package containment is taking back a group of doings in one decision: all of
// a proposal, a session, a batch, or everything an agent or its key did since a
// time, which ends the key or pauses the agent first. The stream carries how far
// it has come, so that anybody can go on after a crash.
package containment

import (
	"time"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/vocab"
)

// Scope is whose doings are taken back: those of one agent, session, proposal or
// batch.
type Scope struct {
	Agent    string    `json:"agent,omitempty"`
	Key      string    `json:"key,omitempty"` // of the agent: only what came through it
	Session  string    `json:"session,omitempty"`
	Proposal string    `json:"proposal,omitempty"`
	Batch    string    `json:"batch,omitempty"` // what several actions say they belong to
	Since    time.Time `json:"since,omitzero"`  // of an agent, a key or a session: from then on
}

// Check refuses a scope that does not say exactly whose doings are meant.
func (s Scope) Check(now time.Time) error {
	named := 0
	for _, id := range []string{s.Agent, s.Session, s.Proposal, s.Batch} {
		if id != "" {
			named++
		}
	}
	switch {
	case named != 1 || s.Key != "" && s.Agent == "":
		return domain.Refuse("invalid", "Name one agent, with or without one of its keys, or one session, proposal or batch.")
	case s.Agent != "" && s.Since.IsZero():
		return domain.Refuse("invalid", "Say since when what the agent did is to be taken back.")
	case s.Since.After(now):
		return domain.Refuse("invalid", "That time is yet to come. Name one that is over.")
	}
	return nil
}

// Covers says whether an event is one of the doings.
func (s Scope) Covers(r domain.Recorded) bool {
	e := r.Envelope
	if r.At.Before(s.Since) {
		return false
	}
	switch {
	case s.Key != "":
		return e.Via.Key == s.Key && e.Principal.ID == s.Agent && e.Principal.IsAgent()
	case s.Agent != "":
		return e.Principal.ID == s.Agent && e.Principal.IsAgent()
	case s.Session != "":
		return e.Via.Session == s.Session
	case s.Proposal != "":
		return e.Proposal == s.Proposal
	}
	return string(e.Correlation) == s.Batch
}

// Containment is how far one has come. The zero value is none.
type Containment struct {
	Scope
	By      string // who decided
	Session string // the session they decided in
	Late    bool   // also what the time to take it back is over for
	After   string // the last thing that was seen to; the next come before it in name
	Counts
	Settled bool
}

// Counts is what became of the actions that were seen to.
type Counts struct {
	Taken       int `json:"taken"`       // back
	Conflicting int `json:"conflicting"` // later work stands in the way: a person chooses field by field
	Impossible  int `json:"impossible"`
}

// Marks of what cannot simply be taken back, and of what can.
const (
	Clean       = "clean"
	Conflicting = "conflicting"
	Impossible  = "impossible"
)

// Left is what was not taken back of one thing.
type Left struct {
	Thing   string    `json:"thing"`            // article/art_1
	Newest  domain.ID `json:"newest"`           // of its actions that were left
	Actions int       `json:"actions"`          // how many
	Mark    string    `json:"mark"`             // conflicting | impossible
	Code    string    `json:"code"`             // why
	Fields  []string  `json:"fields,omitempty"` // in conflict
}

// Fields are what a person would recognise it by: whose doings, and in the end
// what became of them.
func (c Containment) Fields() []domain.Field {
	if c.By == "" {
		return nil
	}
	fields := []domain.Field{
		{Name: "agent", Value: c.Agent}, {Name: "key", Value: c.Key}, {Name: "session", Value: c.Session},
		{Name: "proposal", Value: c.Proposal}, {Name: "batch", Value: c.Batch},
	}
	if !c.Since.IsZero() {
		fields = append(fields, domain.Field{Name: "since", Value: c.Since.UTC().Format(time.RFC3339)})
	}
	if c.Settled {
		fields = append(fields,
			domain.Field{Name: "taken", Value: c.Taken},
			domain.Field{Name: "conflicting", Value: c.Conflicting},
			domain.Field{Name: "impossible", Value: c.Impossible},
		)
	}
	return fields
}

// Kind is containments as the road sees them.
var Kind = action.KindOf[Containment, Event]("containment", "ctn", Words)

// Event is a fact about one containment.
type Event interface {
	domain.Event[Containment, Event]
}

// Words are the names in the log. They outlive the code: never reuse one.
var Words = []vocab.Word{
	vocab.Say[Begun]("containment.begun"),
	vocab.Say[Advanced]("containment.advanced"),
	vocab.Say[Settled]("containment.settled"),
}

// Begun says that a person wants doings taken back.
type Begun struct {
	Scope   Scope  `json:"scope"`
	By      string `json:"by"`
	Session string `json:"signedIn,omitempty"`
	Late    bool   `json:"late,omitempty"`
}

// Evolve is the containment at its beginning.
func (e Begun) Evolve(c Containment) Containment {
	c.Scope, c.By, c.Session, c.Late = e.Scope, e.By, e.Session, e.Late
	return c
}

// Reverse is nil: what it took back is taken forward again by undoing that.
func (Begun) Reverse(Containment) Event { return nil }

// Advanced says which things were seen to, and what was left of them. The counts
// are those of everything so far.
type Advanced struct {
	After string `json:"after"`
	Counts
	Left []Left `json:"left,omitempty"`
}

// Evolve moves on.
func (e Advanced) Evolve(c Containment) Containment {
	c.After, c.Counts = e.After, e.Counts
	return c
}

// Reverse is nil: see Begun.
func (Advanced) Reverse(Containment) Event { return nil }

// Settled says that everything was seen to.
type Settled struct{}

// Evolve ends it.
func (Settled) Evolve(c Containment) Containment {
	c.Settled = true
	return c
}

// Reverse is nil: see Begun.
func (Settled) Reverse(Containment) Event { return nil }
