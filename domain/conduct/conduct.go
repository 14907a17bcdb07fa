// Package conduct is what a principal asked for without changing anything:
// refusals, requests for what was already so, and reads in summary. One stream
// a principal and day; nothing decides on it.
package conduct

import (
	"time"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/vocab"
)

// Conduct is nobody's state: these streams are only read by the audit.
type Conduct struct{}

// Fields are none.
func (Conduct) Fields() []domain.Field { return nil }

// Kind is conduct as the road sees it.
var Kind = action.KindOf[Conduct, Event]("conduct", "", Words)

// Of names a principal's stream of a day.
func Of(workspace string, p domain.Principal, day time.Time) domain.Stream {
	return domain.Stream{Category: Kind.Category, Workspace: workspace, ID: string(p.Kind) + "." + p.ID + "-" + day.UTC().Format(time.DateOnly)}
}

// Event is one line of conduct.
type Event interface{ domain.Event[Conduct, Event] }

// Words are the names in the log. They outlive the code: never reuse one.
var Words = []vocab.Word{
	vocab.Say[Refused]("conduct.refused"),
	vocab.Say[Idle]("conduct.idle"),
	vocab.Say[Read]("conduct.read"),
}

// Refused is a call that was turned away. The verdict, when policy gave it, is
// in the envelope.
type Refused struct {
	Action string `json:"action"` // as it was asked for, clipped
	Target string `json:"target,omitempty"`
	Code   string `json:"code"`
	Why    string `json:"why,omitempty"` // our sentence; never the caller's words
	Count  int    `json:"count"`         // more than 1: this many alike in a minute
}

// Idle is a call that found everything already so.
type Idle struct {
	Action string `json:"action"`
	Target string `json:"target,omitempty"`
	Count  int    `json:"count"`
}

// Read is how often one thing was asked in a minute, and of what first.
type Read struct {
	Action  string    `json:"action"`
	Count   int       `json:"count"`
	Targets []string  `json:"targets,omitempty"`
	Minute  time.Time `json:"minute"`
}

// Evolve changes nothing.
func (Refused) Evolve(c Conduct) Conduct { return c }

// Evolve changes nothing.
func (Idle) Evolve(c Conduct) Conduct { return c }

// Evolve changes nothing.
func (Read) Evolve(c Conduct) Conduct { return c }

// Reverse is nil: what was asked was asked.
func (Refused) Reverse(Conduct) Event { return nil }

// Reverse is nil: what was asked was asked.
func (Idle) Reverse(Conduct) Event { return nil }

// Reverse is nil: what was asked was asked.
func (Read) Reverse(Conduct) Event { return nil }
