// Package person is who has a seat in a workspace, and in which role. Names,
// emails and passwords are kept beside the log.
package person

import (
	"assent/domain"
	"assent/domain/action"
	"assent/domain/policy"
	"assent/domain/vocab"
)

// Person is one seat.
type Person struct {
	Role   policy.Role // empty: no seat (any more)
	Erased bool        // nobody knows any more who it was
}

// Fields show the role.
func (p Person) Fields() []domain.Field {
	if p.Erased {
		return []domain.Field{{Name: "erased", Value: true}}
	}
	if p.Role == "" {
		return nil
	}
	return []domain.Field{{Name: "role", Value: string(p.Role)}}
}

// Kind is people as the road sees them.
var Kind = action.KindOf[Person, Event]("person", "person", Words)

// Event is a fact about one person's seat.
type Event interface{ domain.Event[Person, Event] }

// Words are the names in the log. They outlive the code: never reuse one.
var Words = []vocab.Word{
	vocab.Say[Seated]("person.seated"),
	vocab.Say[Unseated]("person.unseated"),
	vocab.Say[Erased]("person.erased"),
}

// Seated gives a person a role.
type Seated struct {
	Role policy.Role `json:"role"`
}

// Evolve sets the role.
func (e Seated) Evolve(p Person) Person {
	p.Role = e.Role
	return p
}

// Reverse is nil: undoing a seat by the way would be a second road to people's
// rights. Ask for the other role instead.
func (Seated) Reverse(Person) Event { return nil }

// Unseated takes the seat away; the person's agents stop with it.
type Unseated struct{}

// Evolve takes the role away.
func (Unseated) Evolve(p Person) Person {
	p.Role = ""
	return p
}

// Reverse is nil: a person is seated again by asking for it.
func (Unseated) Reverse(Person) Event { return nil }

// Erased says that a person's name, email and words are forgotten: what the log
// holds of them is an id.
type Erased struct{}

// Evolve takes the seat away, for ever.
func (Erased) Evolve(Person) Person { return Person{Erased: true} }

// Reverse is nil: nobody can give back what nobody knows.
func (Erased) Reverse(Person) Event { return nil }

// Actions are everything that can be asked about people's seats.
var Actions = []*action.Action{Seat, Unseat, Erase}

// SeatArgs asks for a person to have a role.
type SeatArgs struct {
	Person string `json:"person,omitempty" jsonschema:"the person's id; left out for a new one"`
	Role   string `json:"role" jsonschema:"owner, editor, auditor or operator" enum:"owner,editor,auditor,operator"`
}

// Target is the person's id.
func (s SeatArgs) Target() string { return s.Person }

// Seat gives a person a role.
var Seat = action.Of(Kind, seat, SeatArgs{Role: "editor"}, action.Facts{
	Name:       "person.seat",
	Title:      "Give a person a role",
	About:      "Lets a person in as owner, editor or auditor.",
	Class:      action.People,
	Scope:      "people:manage",
	Permission: "people.manage",
	Final:      true,
})

func seat(p Person, s SeatArgs) ([]Event, error) {
	switch {
	case p.Erased:
		return nil, domain.Refuse("final", "Who was erased does not come back. Invite them as somebody new.")
	case p.Role == policy.Role(s.Role):
		return nil, nil // already so
	}
	return []Event{Seated{policy.Role(s.Role)}}, nil
}

// UnseatArgs asks for a person's seat to end.
type UnseatArgs struct {
	Person string `json:"person" jsonschema:"the person's id"`
}

// Target is the person's id.
func (u UnseatArgs) Target() string { return u.Person }

// Unseat ends a person's seat.
var Unseat = action.Of(Kind, unseat, UnseatArgs{Person: "person_06g0example000000000000000"}, action.Facts{
	Name:       "person.unseat",
	Title:      "End a person's seat",
	About:      "Takes a person's role away. Their agents stop at once.",
	Class:      action.People,
	Scope:      "people:manage",
	Permission: "people.manage",
	Final:      true,
})

func unseat(p Person, _ UnseatArgs) ([]Event, error) {
	if p.Role == "" {
		return nil, nil // already so
	}
	return []Event{Unseated{}}, nil
}

// EraseArgs asks for a person to be forgotten.
type EraseArgs struct {
	Person string `json:"person" jsonschema:"the person's id"`
}

// Target is the person's id.
func (e EraseArgs) Target() string { return e.Person }

// Erase forgets a person. The record goes first: who asked must be known, and
// what is kept beside the log is forgotten by the door that took the asking.
var Erase = action.Of(Kind, erase, EraseArgs{Person: "person_06g0example000000000000000"}, action.Facts{
	Name:       "person.erase",
	Title:      "Forget a person",
	About:      "Ends a person's seat and forgets their name, email and words for ever. What they did stays, under an id.",
	Class:      action.People,
	Scope:      "people:manage",
	Permission: "people.manage",
	Final:      true,
})

func erase(p Person, _ EraseArgs) ([]Event, error) {
	if p.Erased {
		return nil, nil // already so
	}
	return []Event{Erased{}}, nil
}
