// Package rules is what one site adds to the rules of its workspace. Of the two
// the stricter holds. They are kept apart from the site itself: a site's
// settings are content that agents edit and people publish, its rules are not.
package rules

import (
	"reflect"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/policy"
	"assent/domain/vocab"
)

// Rules are those of one site.
type Rules struct{ policy.Rules }

// Of names the rules of a site among what a decision needs to know.
func Of(site string) action.Ref { return action.Ref{Category: Kind.Category, ID: site} }

// Kind is rules as the road sees them.
var Kind = action.KindOf[Rules, Event]("rules", "", Words)

// Event is a fact about the rules of one site.
type Event interface{ domain.Event[Rules, Event] }

// Words are the names in the log. They outlive the code: never reuse one.
var Words = []vocab.Word{
	vocab.Say[Updated]("rules.updated"),
}

// Updated sets what it names and leaves the rest.
type Updated struct{ policy.RulesChange }

// Evolve sets what the event names.
func (e Updated) Evolve(r Rules) Rules { return Rules{e.To(r.Rules)} }

// Reverse sets the same rules to what they were.
func (e Updated) Reverse(before Rules) Event { return Updated{e.Back(before.Rules)} }

// Actions are everything that can be asked of rules.
var Actions = []*action.Action{Update}

// UpdateArgs asks for a site's rules to be changed.
type UpdateArgs struct {
	Site string `json:"site" jsonschema:"the site's handle"`
	policy.RulesChange
}

// Target is the site's handle.
func (u UpdateArgs) Target() string { return u.Site }

// Update changes the rules of a site.
var Update = action.Of(Kind, update, UpdateArgs{Site: "main", RulesChange: policy.RulesChange{Pace: new(10)}}, action.Facts{
	Name:       "rules.update",
	Title:      "Change a site's rules",
	About:      "Sets what waits on a site, who decides there and when nothing goes live. The workspace's own rules hold as well; of two, the stricter.",
	Class:      action.People,
	Scope:      "workspace:manage",
	Permission: "workspace.manage",
})

func update(r Rules, u UpdateArgs) ([]Event, error) {
	if n := u.AutoPublishLimit; n != nil && *n == 0 {
		return nil, domain.Refuse("invalid", "The limit must be between 1 and 200 changes.")
	}
	e := Updated{u.RulesChange.Of(r.Rules)}
	if reflect.ValueOf(e).IsZero() {
		return nil, nil // already so
	}
	return []Event{e}, e.Evolve(r).Rules.Sound()
}
