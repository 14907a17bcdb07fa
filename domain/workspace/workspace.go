// Package workspace is the rules that hold for every agent of a workspace.
package workspace

import (
	"cmp"
	"reflect"
	"time"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/policy"
	"assent/domain/vocab"
)

// ID is the id of a workspace's one stream of settings.
const ID = "settings"

// Ref names the settings among what a decision needs to know.
var Ref = action.Ref{Category: "workspace", ID: ID}

// Workspace is its settings. The zero value is a workspace nobody touched.
type Workspace struct {
	policy.Rules
	LocalMode policy.Mode // the most a local caller gets on a served folder; empty stands for edits
	UndoHours int         // how long an action can be taken back; 0 stands for the default
	Founder   string      // who set it up: there is only one first owner
}

// DefaultUndoHours is how long an action can be taken back unless the
// workspace says otherwise.
const DefaultUndoHours = 24

// UndoWindow is how long an action can be taken back.
func (w Workspace) UndoWindow() time.Duration {
	return time.Duration(cmp.Or(w.UndoHours, DefaultUndoHours)) * time.Hour
}

// Local is the most a local caller gets where a server owns the folder.
func (w Workspace) Local() policy.Mode {
	if w.LocalMode == "" {
		return policy.Edits
	}
	return w.LocalMode
}

// Fields are the settings as people know them.
func (w Workspace) Fields() []domain.Field {
	return append(w.Rules.Fields(),
		domain.Field{Name: "localMode", Value: string(w.Local())},
		domain.Field{Name: "undoHours", Value: cmp.Or(w.UndoHours, DefaultUndoHours)},
	)
}

// Kind is workspaces as the road sees them.
var Kind = action.KindOf[Workspace, Event]("workspace", "", Words)

// Event is a fact about a workspace.
type Event interface{ domain.Event[Workspace, Event] }

// Words are the names in the log. They outlive the code: never reuse one.
var Words = []vocab.Word{
	vocab.Say[Updated]("workspace.updated"),
	vocab.Say[Founded]("workspace.founded"),
}

// Founded says who set the workspace up.
type Founded struct {
	Founder string `json:"founder"`
}

// Evolve notes the founder.
func (e Founded) Evolve(w Workspace) Workspace {
	w.Founder = e.Founder
	return w
}

// Reverse is nil: a workspace is set up once.
func (Founded) Reverse(Workspace) Event { return nil }

// Updated sets what it names and leaves the rest.
type Updated struct {
	policy.RulesChange
	LocalMode *policy.Mode `json:"localMode,omitempty"`
	UndoHours *int         `json:"undoHours,omitempty"`
}

// Evolve sets what the event names.
func (e Updated) Evolve(w Workspace) Workspace {
	w.Rules = e.RulesChange.To(w.Rules)
	domain.Set(&w.LocalMode, e.LocalMode)
	domain.Set(&w.UndoHours, e.UndoHours)
	return w
}

// Reverse sets the same settings to what they were.
func (e Updated) Reverse(before Workspace) Event {
	return Updated{
		RulesChange: e.RulesChange.Back(before.Rules),
		LocalMode:   domain.Was(e.LocalMode, before.LocalMode),
		UndoHours:   domain.Was(e.UndoHours, before.UndoHours),
	}
}

// Actions are everything that can be asked of a workspace.
var Actions = []*action.Action{Update, Found}

// FoundArgs asks for the workspace to be set up.
type FoundArgs struct {
	Founder string `json:"founder" jsonschema:"the id of the first owner"`
}

// Target is the settings.
func (FoundArgs) Target() string { return ID }

// Found sets a workspace up, once.
var Found = action.Of(Kind, found, FoundArgs{Founder: "person_06g0example000000000000000"}, action.Facts{
	Name:       "workspace.found",
	Title:      "Set the workspace up",
	About:      "Makes a person the first owner. This happens once.",
	Class:      action.People,
	Scope:      "workspace:manage",
	Permission: "workspace.manage",
	Final:      true,
})

func found(w Workspace, f FoundArgs) ([]Event, error) {
	switch w.Founder {
	case "":
		return []Event{Founded(f)}, nil
	case f.Founder:
		return nil, nil // already so
	}
	return nil, domain.Refuse("final", "This was set up before. Sign in, or ask an owner to let you in.")
}

// UpdateArgs asks for settings to be changed.
type UpdateArgs struct {
	policy.RulesChange
	UndoHours *int    `json:"undoHours,omitempty" jsonschema:"how long an action can be taken back, 1 to 168 hours"`
	LocalMode *string `json:"localMode,omitempty" jsonschema:"the most that local callers get while a server runs" enum:"plan,manual,edits,auto,bypass"`
}

// Target is the settings.
func (UpdateArgs) Target() string { return ID }

// Update changes a workspace's settings.
var Update = action.Of(Kind, update, UpdateArgs{RulesChange: policy.RulesChange{Paused: new(true)}}, action.Facts{
	Name:       "workspace.update",
	Title:      "Change the workspace's rules",
	About:      "Pauses all agents or lets them go on, and sets what may go live by itself, what waits, and who decides.",
	Class:      action.People,
	Scope:      "workspace:manage",
	Permission: "workspace.manage",
})

func update(w Workspace, u UpdateArgs) ([]Event, error) {
	if n := u.AutoPublishLimit; n != nil && (*n < 1 || *n > 200) {
		return nil, domain.Refuse("invalid", "The limit must be between 1 and 200 changes.")
	}
	if h := u.UndoHours; h != nil && (*h < 1 || *h > 168) {
		return nil, domain.Refuse("invalid", "Actions can be taken back for between 1 and 168 hours.")
	}
	e := Updated{
		RulesChange: u.RulesChange.Of(w.Rules),
		UndoHours:   domain.Changed(cmp.Or(w.UndoHours, DefaultUndoHours), u.UndoHours),
	}
	if u.LocalMode != nil {
		e.LocalMode = domain.Changed(w.Local(), new(policy.Mode(*u.LocalMode)))
	}
	if reflect.ValueOf(e).IsZero() {
		return nil, nil // already so
	}
	return []Event{e}, e.Evolve(w).Rules.Sound()
}
