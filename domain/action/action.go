// Package action is how something that can be asked for is declared: once.
// Tool, schema, annotations, scope, permission, card, undo, audit line, HTTP
// route, reference page and law tests are derived from the one declaration.
package action

import (
	"cmp"
	"encoding/json"

	"assent/domain"
)

// Class is what an action does to the world; policy's table has a column for
// each.
type Class string

// The classes, from harmless to grave.
const (
	Read        Class = "read"        // changes nothing
	Oneself     Class = "oneself"     // a principal's own affairs: withdrawing its proposal
	Content     Class = "content"     // changes a draft; every version is kept
	Publish     Class = "publish"     // changes what the public sees
	Destructive Class = "destructive" // takes something away: remove, roll back
	People      Class = "people"      // only a person does this: keys, modes, seats
)

// Facts are what an action says of itself.
type Facts struct {
	Name       string // article.update; the tool is article_update
	Title      string // a few words, for buttons and lists
	About      string // one or two plain sentences, for agents and people
	Class      Class
	Scope      string // what an agent or key must have; "any" for one's own affairs
	Permission string // what the person behind must have
	Final      bool   // nothing takes it back
	Gate       string // why an agent may only ever ask for it, in a sentence; empty: it may do it
	DecidedBy  string // the permission it takes to say yes, where Permission is not it
	Tightens   bool   // only ever takes something away from programs: a local person may, without signing in
}

// Deciding is the permission it takes to say yes to the action.
func (f Facts) Deciding() string { return cmp.Or(f.DecidedBy, f.Permission) }

// Ref is a thing of the call's own workspace.
type Ref struct{ Category, ID string }

// Thing is what the road read of one thing.
type Thing struct {
	State   domain.State
	Version domain.Version
	At      func(domain.Version) (domain.State, error) // as it was
}

// Known is what a decision declared it needs to know of other things. What
// nobody ever made is there with version 0.
type Known map[Ref]Thing

// As is the state of a known thing as T, an interface of the asking kind's own
// making: kinds never import each other. It is false when the thing is not of
// that shape or was not asked for.
func As[T any](k Known, ref Ref) (T, bool) {
	t, ok := k[ref].State.(T)
	return t, ok
}

// Action is one declaration, with its types closed over.
type Action struct {
	Facts
	Kind    Kind // of its target; zero for reads
	Example any  // arguments that show how it is asked for

	form   form // what its arguments look like
	target func(args any) string
	needs  func(state domain.State, args any, known Known) []Ref
	decide func(state domain.State, args any, known Known) ([]any, error)
	show   func(before, after domain.State, args any, known Known) []domain.Change
}

// Tool is the action's name as a tool: some models take only letters, digits
// and underscores.
func (a *Action) Tool() string { return toolName(a.Name) }

// Writes says that the action can change something.
func (a *Action) Writes() bool { return a.Class != Read }

// Schema is the JSON Schema of the arguments, strict: what it does not name is
// refused.
func (a *Action) Schema() json.RawMessage { return a.form.schema }

// Target is the id of the thing a call would change; empty for a new one.
func (a *Action) Target(args any) string { return a.target(args) }

// Needs lists what the decision must know of other things, given what is
// known so far.
func (a *Action) Needs(state domain.State, args any, known Known) []Ref {
	if a.needs == nil {
		return nil
	}
	return a.needs(state, args, known)
}

// Decide is the decision: the events that would make it so, none when it
// already is, or a refusal.
func (a *Action) Decide(state domain.State, args any, known Known) ([]any, error) {
	return a.decide(state, args, known)
}

// Show says what leads from one state to the other, as people should read it.
// It is false when the action has no view of its own and the states' fields
// say it all.
func (a *Action) Show(before, after domain.State, args any, known Known) ([]domain.Change, bool) {
	if a.show == nil {
		return nil, false
	}
	return a.show(before, after, args, known), true
}
