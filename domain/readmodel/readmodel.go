// Package readmodel is what operators decide about folding the log: which events
// the read models pass over because they cannot be folded. The events stay in
// the log; a stream per event says who decided that, and with which words.
package readmodel

import (
	"regexp"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/vocab"
)

// Decision says whether an event is passed over. The zero value is any event
// that nobody decided about.
type Decision struct{ Skipped bool }

// Fields show the decision.
func (d Decision) Fields() []domain.Field { return []domain.Field{{Name: "skipped", Value: d.Skipped}} }

// Kind is such decisions as the road sees them. Their ids are those of the events.
var Kind = action.KindOf[Decision, Event]("readmodel", "", Words)

// Of names the stream in which an event of a workspace is passed over.
func Of(workspace string, event domain.ID) domain.Stream {
	return domain.Stream{Category: Kind.Category, Workspace: workspace, ID: string(event)}
}

// Event is a fact about passing over one event.
type Event interface{ domain.Event[Decision, Event] }

// Words are the names in the log. They outlive the code: never reuse one.
var Words = []vocab.Word{
	vocab.Say[Skipped]("readmodel.skipped"),
}

// Skipped says that the read models may go on without the event, wherever they
// cannot fold it. A program that can fold it does.
type Skipped struct{}

// Evolve notes it.
func (Skipped) Evolve(Decision) Decision { return Decision{Skipped: true} }

// Reverse is nil: rows were folded without the event since. A program that can
// fold it, and rebuilds, has it again.
func (Skipped) Reverse(Decision) Event { return nil }

// Actions are everything that can be asked of read models.
var Actions = []*action.Action{Skip}

// SkipArgs names the event to pass over.
type SkipArgs struct {
	Event string `json:"event" jsonschema:"the event's id, as the status of the read models names it"`
}

// Target is the event.
func (s SkipArgs) Target() string { return s.Event }

// Skip lets the read models go on without an event that they cannot fold.
var Skip = action.Of(Kind, skip, SkipArgs{"evt_06g0example000000000000000"}, action.Facts{
	Name:       "readmodel.skip",
	Title:      "Let the read models go on without an event",
	About:      "Passes over one event that this version cannot read, now and in every rebuild. The log keeps it; the audit shows a line that changed nothing.",
	Class:      action.People,
	Scope:      "workspace:manage",
	Permission: "workspace.manage",
	Final:      true,
})

var idForm = regexp.MustCompile(`^evt_[0-9a-z]{1,64}$`)

func skip(d Decision, a SkipArgs) ([]Event, error) {
	switch {
	case !idForm.MatchString(a.Event):
		return nil, domain.Refuse("invalid", "That is no event's id. Take it from the status of the read models.")
	case d.Skipped:
		return nil, nil
	}
	return []Event{Skipped{}}, nil
}
