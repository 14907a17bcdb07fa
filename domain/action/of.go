package action

import (
	"strings"

	"assent/domain"
)

// Args are the arguments of an action that changes something: they know which
// thing. An empty target is a new thing, and the road gives it an id.
type Args interface{ Target() string }

// Of turns a decision into an action: the events that would make the arguments
// true of a state, none when they already are, or a refusal.
func Of[S domain.State, E any, A Args](kind Kind, decide func(S, A) ([]E, error), example A, facts Facts) *Action {
	return Knowing(kind, nil, func(s S, a A, _ Known) ([]E, error) { return decide(s, a) }, example, facts)
}

// Knowing is Of for a decision that must know of other things than its target.
// needs lists them and is asked again with what is known so far until it names
// nothing new; the road reads them, hands their states in, and appends only if
// none of them has changed since.
func Knowing[S domain.State, E any, A Args](kind Kind, needs func(S, A, Known) []Ref, decide func(S, A, Known) ([]E, error), example A, facts Facts) *Action {
	a := &Action{
		Facts:   facts,
		Kind:    kind,
		Example: example,
		form:    formOf[A](facts.Class != Read),
		target:  func(args any) string { return args.(A).Target() },
		decide: func(state domain.State, args any, known Known) ([]any, error) {
			events, err := decide(state.(S), args.(A), known)
			return untyped(events), err
		},
	}
	if needs != nil {
		a.needs = func(state domain.State, args any, known Known) []Ref { return needs(state.(S), args.(A), known) }
	}
	return a
}

// Showing gives an action a view of its own: for a target whose fields are
// versions of other things, which no person would recognise.
func Showing[S domain.State, A Args](a *Action, show func(before, after S, args A, known Known) []domain.Change) *Action {
	a.show = func(before, after domain.State, args any, known Known) []domain.Change {
		return show(before.(S), after.(S), args.(A), known)
	}
	return a
}

// A Question is a read action with the type of its arguments still known, so
// that whoever answers it is handed what it declared.
type Question[A any] struct{ *Action }

// Look declares a read: a question about read models. It takes the road as far
// as look and stops. Whoever can answer binds an answer to it; the road finds
// the answer by the declaration.
func Look[A any](example A, facts Facts) Question[A] {
	facts.Class = Read
	return Question[A]{&Action{
		Facts:   facts,
		Example: example,
		form:    formOf[A](false),
		target: func(args any) string {
			if t, ok := args.(Args); ok {
				return t.Target()
			}
			return ""
		},
	}}
}

// Revised arguments may name the version they were written against.
type Revised interface{ Against() (domain.Version, bool) }

// Rev is embedded in arguments that change something that exists. Its field is
// not called Rev: embedded, it would be hidden by the type's own name, and the
// schema would not show it.
type Rev struct {
	Seen *int64 `json:"rev,omitempty" jsonschema:"the rev you read; refused as stale when it has moved on"`
}

// Against is the version the caller read, if they said.
func (r Rev) Against() (domain.Version, bool) {
	if r.Seen == nil {
		return 0, false
	}
	return domain.Version(*r.Seen), true
}

// Noted arguments hold words of the caller's own. The road takes them out
// before anything else sees them: they go into the envelope, sealed.
type Noted interface {
	Words() string
	Wordless() any
}

// Filler is implemented by arguments that may leave out a list which only a
// read model can give: what is pending on a site. The road fills it before
// anything is decided, so that what is asked, filed and approved names
// everything.
type Filler interface {
	Missing() (site string, missing bool)
	Filled(pending []Named) any
}

// Pinner is implemented by arguments that may leave a version to be the latest:
// the road names it, once it knows, before anything is decided.
type Pinner interface{ Pinned(Known) any }

// Named is one thing at one version.
type Named struct {
	ID      string
	Version domain.Version
}

func toolName(name string) string { return strings.ReplaceAll(name, ".", "_") }
