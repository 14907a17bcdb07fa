// Package workspace is the rules that hold for every agent of a workspace.
package workspace

import (
	"reflect"

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
	Paused           bool        // no agent acts
	AutoPublishLimit int         // most changes of a low-risk publish; 0 stands for the default
	LocalMode        policy.Mode // the most a local caller gets on a served folder; empty stands for edits
	Founder          string      // who set it up: there is only one first owner
}

// Limit is the most changes a publish may have and still be low risk.
func (w Workspace) Limit() int {
	if w.AutoPublishLimit == 0 {
		return policy.DefaultPublishLimit
	}
	return w.AutoPublishLimit
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
	return []domain.Field{
		{Name: "paused", Value: w.Paused},
		{Name: "autoPublishLimit", Value: w.Limit()},
		{Name: "localMode", Value: string(w.Local())},
	}
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
	Paused           *bool        `json:"paused,omitempty"`
	AutoPublishLimit *int         `json:"autoPublishLimit,omitempty"`
	LocalMode        *policy.Mode `json:"localMode,omitempty"`
}

// Evolve sets what the event names.
func (e Updated) Evolve(w Workspace) Workspace {
	domain.Set(&w.Paused, e.Paused)
	domain.Set(&w.AutoPublishLimit, e.AutoPublishLimit)
	domain.Set(&w.LocalMode, e.LocalMode)
	return w
}

// Reverse sets the same settings to what they were.
func (e Updated) Reverse(before Workspace) Event {
	return Updated{
		Paused:           domain.Was(e.Paused, before.Paused),
		AutoPublishLimit: domain.Was(e.AutoPublishLimit, before.AutoPublishLimit),
		LocalMode:        domain.Was(e.LocalMode, before.LocalMode),
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
	Paused           *bool   `json:"paused,omitempty" jsonschema:"no agent acts while this is so"`
	AutoPublishLimit *int    `json:"autoPublishLimit,omitempty" jsonschema:"most changes of a publish that goes live by itself, 1 to 200"`
	LocalMode        *string `json:"localMode,omitempty" jsonschema:"the most that local callers get while a server runs" enum:"plan,manual,edits,auto,bypass"`
}

// Target is the settings.
func (UpdateArgs) Target() string { return ID }

// Update changes a workspace's settings.
var Update = action.Of(Kind, update, UpdateArgs{Paused: new(true)}, action.Facts{
	Name:       "workspace.update",
	Title:      "Change the workspace's rules",
	About:      "Pauses all agents or lets them go on, and sets what may go live by itself.",
	Class:      action.People,
	Scope:      "workspace:manage",
	Permission: "workspace.manage",
})

func update(w Workspace, u UpdateArgs) ([]Event, error) {
	if n := u.AutoPublishLimit; n != nil && (*n < 1 || *n > 200) {
		return nil, domain.Refuse("invalid", "The limit must be between 1 and 200 changes.")
	}
	e := Updated{
		Paused:           domain.Changed(w.Paused, u.Paused),
		AutoPublishLimit: domain.Changed(w.Limit(), u.AutoPublishLimit),
	}
	if u.LocalMode != nil {
		e.LocalMode = domain.Changed(w.Local(), new(policy.Mode(*u.LocalMode)))
	}
	if reflect.ValueOf(e).IsZero() {
		return nil, nil // already so
	}
	return []Event{e}, nil
}
