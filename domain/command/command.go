// Package command is what callers' own ids for their requests stand for. One
// stream a command: who asks again under the same id meets it here, whatever
// they ask for now, and two who ask at once cannot both be first.
package command

import (
	"assent/domain"
	"assent/domain/action"
	"assent/domain/vocab"
)

// Command is one request that was carried out or filed.
type Command struct {
	Target string // what it changed, or the proposal it became: <category>/<id>
}

// Fields show the target.
func (c Command) Fields() []domain.Field {
	return []domain.Field{{Name: "target", Value: c.Target}}
}

// Kind is commands as the road sees them. Their ids are those of the actions.
var Kind = action.KindOf[Command, Event]("command", "", Words)

// Event is a fact about one command.
type Event interface{ domain.Event[Command, Event] }

// Words are the names in the log. They outlive the code: never reuse one.
var Words = []vocab.Word{
	vocab.Say[Given]("command.given"),
}

// Given says what came of a command. What was asked is in the envelope.
type Given struct {
	Target string `json:"target"`
}

// Evolve notes the target.
func (e Given) Evolve(Command) Command { return Command(e) }

// Reverse is nil: an id that was used stays used.
func (Given) Reverse(Command) Event { return nil }
