// Package pace is how many different things an agent changed lately. What it
// spends is spent in the same append as the change, so that a storm of calls at
// once cannot overrun a limit.
package pace

import (
	"maps"
	"time"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/policy"
	"assent/domain/vocab"
)

// Pace is when each thing was last changed, as far back as it matters.
type Pace struct {
	Last map[string]time.Time // by stream
}

// Fields are none: a pace is nobody's thing to look at.
func (Pace) Fields() []domain.Field { return nil }

// With is how many different things will have been changed within the window,
// once this one is.
func (p Pace) With(thing string, now time.Time) int {
	n := 1
	for other, at := range p.Last {
		if other != thing && at.After(now.Add(-policy.PaceWindow)) {
			n++
		}
	}
	return n
}

// Of names an agent's pace.
func Of(agent string) action.Ref { return action.Ref{Category: Kind.Category, ID: agent} }

// Kind is paces as the road sees them. Their ids are those of the agents.
var Kind = action.KindOf[Pace, Event]("pace", "", Words)

// Event is a fact about one agent's pace.
type Event interface{ domain.Event[Pace, Event] }

// Words are the names in the log. They outlive the code: never reuse one.
var Words = []vocab.Word{
	vocab.Say[Spent]("pace.spent"),
}

// Spent says that a thing was changed.
type Spent struct {
	Thing string    `json:"thing"` // its stream
	At    time.Time `json:"at"`
}

// Evolve notes it, and forgets what no longer matters.
func (e Spent) Evolve(p Pace) Pace {
	last := maps.Clone(p.Last)
	if last == nil {
		last = map[string]time.Time{}
	}
	if at, known := last[e.Thing]; !known || at.Before(e.At) {
		last[e.Thing] = e.At
	}
	maps.DeleteFunc(last, func(_ string, at time.Time) bool { return !at.After(e.At.Add(-policy.PaceWindow)) })
	return Pace{last}
}

// Reverse is nil: what was spent is spent, also when the change is taken back.
func (Spent) Reverse(Pace) Event { return nil }
