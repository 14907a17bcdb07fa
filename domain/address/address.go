// Package address is who is found at a path of a site. One stream a path: two
// who want the same one meet there, and only one append wins.
package address

import (
	"assent/domain"
	"assent/domain/action"
	"assent/domain/vocab"
)

// Address is one path of one site, and who holds it.
type Address struct{ Holder string } // a stream's name; empty when free

// Fields show the holder.
func (a Address) Fields() []domain.Field {
	return []domain.Field{{Name: "holder", Value: a.Holder}}
}

// Kind is addresses as the road sees them. Their ids are `<site><path>`.
var Kind = action.KindOf[Address, Event]("address", "", Words)

// Of names the address of a path among a workspace's streams.
func Of(workspace, site, path string) domain.Stream {
	return domain.Stream{Category: Kind.Category, Workspace: workspace, ID: site + path}
}

// Event is a fact about one address.
type Event interface{ domain.Event[Address, Event] }

const freed = "address.freed"

// Words are the names in the log. They outlive the code: never reuse one.
var Words = []vocab.Word{
	vocab.Say[Taken]("address.taken"),
	vocab.Say[Freed](freed),
}

// Frees says that an event of this word lets an address go.
func Frees(word string) bool { return word == freed }

// Taken gives the address to a thing.
type Taken struct {
	Holder string `json:"holder"`
}

// Evolve names the holder.
func (e Taken) Evolve(Address) Address { return Address(e) }

// Reverse gives it back to whoever held it before.
func (e Taken) Reverse(before Address) Event {
	if before.Holder == "" {
		return Freed{}
	}
	return Taken(before)
}

// Freed lets the address go.
type Freed struct{}

// Evolve forgets the holder.
func (Freed) Evolve(Address) Address { return Address{} }

// Reverse gives it back to whoever held it.
func (Freed) Reverse(before Address) Event {
	if before.Holder == "" {
		return Freed{}
	}
	return Taken(before)
}
