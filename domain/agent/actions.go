package agent

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/place"
	"assent/domain/policy"
)

// Whoami answers an agent's first question.
var Whoami = action.Look(struct{}{}, action.Facts{
	Name:       "whoami",
	Title:      "Who am I here?",
	About:      "Says which agent this is, for whom it works, how freely, within which limits, and what of its own waits for a person.",
	Scope:      "any",
	Permission: "any",
})

// Which names an agent in arguments.
type Which struct {
	Agent string `json:"agent" jsonschema:"the agent's id (agent_…)"`
}

// Target is the agent's id.
func (w Which) Target() string { return w.Agent }

// CreateArgs asks for an agent.
type CreateArgs struct {
	Person     string   `json:"person" jsonschema:"the id of the person it acts for"`
	Mode       string   `json:"mode,omitempty" jsonschema:"how freely it works; edits when left out" enum:"plan,manual,edits,auto,bypass"`
	Scopes     []string `json:"scopes,omitzero" jsonschema:"what it may reach"`
	Site       string   `json:"site,omitempty" jsonschema:"the one site it works on"`
	Collection string   `json:"collection,omitempty" jsonschema:"the one collection of articles it works on"`
	Confirm    bool     `json:"confirm,omitempty" jsonschema:"its client may confirm what only needs confirming"`
}

// Target is empty: the agent is new.
func (CreateArgs) Target() string { return "" }

// Create makes an agent.
var Create = action.Of(Kind, create, CreateArgs{Person: "person_06g0example000000000000000"}, action.Facts{
	Name:       "agent.create",
	Title:      "Make an agent",
	About:      "Makes an agent that acts for a person, within a mode and within what it may reach.",
	Class:      action.People,
	Scope:      "agents:manage",
	Permission: "agents.manage",
	Final:      true,
})

func create(_ Agent, c CreateArgs) ([]Event, error) {
	e := Created{Person: c.Person, Mode: policy.Mode(c.Mode), Scopes: c.Scopes, Site: c.Site, Confirm: c.Confirm}
	if e.Mode == "" {
		e.Mode = policy.Edits
	}
	if e.Scopes == nil {
		e.Scopes = policy.DefaultScopes
	}
	return append([]Event{e}, confine(Agent{}, &c.Collection)...), cmp.Or(fits(e.Mode, e.Scopes), Bounds{Collection: c.Collection}.fits())
}

// confine is what leads to a collection, where that is another.
func confine(a Agent, to *string) []Event {
	if domain.Changed(a.Collection, to) == nil {
		return nil
	}
	return []Event{Confined{*to}}
}

// UpdateArgs asks for an agent to be changed.
type UpdateArgs struct {
	Which
	Mode       *string   `json:"mode,omitempty" jsonschema:"how freely it works" enum:"plan,manual,edits,auto,bypass"`
	Scopes     *[]string `json:"scopes,omitempty" jsonschema:"what it may reach; replaces the list"`
	Site       *string   `json:"site,omitempty" jsonschema:"the one site it works on; empty for all"`
	Collection *string   `json:"collection,omitempty" jsonschema:"the one collection of articles it works on; empty for all there is"`
	Confirm    *bool     `json:"confirm,omitempty" jsonschema:"its client may confirm what only needs confirming"`
	Paused     *bool     `json:"paused,omitempty" jsonschema:"it does nothing while this is so"`
}

// Update changes how freely an agent works. It bites on the next call.
var Update = action.Of(Kind, update, UpdateArgs{Which: Which{"agent_06g0example000000000000000"}, Paused: new(true)}, action.Facts{
	Name:       "agent.update",
	Title:      "Change an agent",
	About:      "Sets how freely an agent works, what it may reach, or pauses it. It bites on the agent's next call.",
	Class:      action.People,
	Scope:      "agents:manage",
	Permission: "agents.manage",
	Final:      true,
})

func update(a Agent, u UpdateArgs) ([]Event, error) {
	if a.Person == "" {
		return nil, missing
	}
	e := Updated{
		Scopes:  domain.Changed(a.Scopes, u.Scopes),
		Site:    domain.Changed(a.Site, u.Site),
		Confirm: domain.Changed(a.Confirm, u.Confirm),
		Paused:  domain.Changed(a.Paused, u.Paused),
	}
	if u.Mode != nil {
		e.Mode = domain.Changed(a.Mode, new(policy.Mode(*u.Mode)))
	}
	events := confine(a, u.Collection)
	if !reflect.ValueOf(e).IsZero() {
		events = append([]Event{e}, events...)
	}
	after := domain.Fold(a, events...)
	return events, cmp.Or(fits(after.Mode, after.Scopes), Bounds{Collection: after.Collection}.fits())
}

// RevokeArgs asks for a key to end.
type RevokeArgs struct {
	Which
	Key string `json:"key" jsonschema:"the key's id (key_…)"`
}

// Revoke ends a key. It bites on the next call.
var Revoke = action.Of(Kind, revoke, RevokeArgs{Which: Which{"agent_06g0example000000000000000"}, Key: "key_06g0example00000000000000000"}, action.Facts{
	Name:       "key.revoke",
	Title:      "Revoke a key",
	About:      "Ends a key at once and for ever.",
	Class:      action.People,
	Scope:      "agents:manage",
	Permission: "agents.manage",
	Final:      true,
	Tightens:   true,
})

func revoke(a Agent, r RevokeArgs) ([]Event, error) {
	k, ok := a.Keys[r.Key]
	switch {
	case !ok:
		return nil, domain.Refuse("not-found", "This agent has no such key. Look at its keys for the right id.")
	case k.Revoked:
		return nil, nil // already so
	}
	return []Event{Revoked{r.Key}}, nil
}

var missing = domain.Refuse("not-found", "There is no such agent.")

// fits says what an agent or a key can never be.
func fits(mode policy.Mode, scopes []string) error {
	if mode == policy.Bypass {
		return domain.Refuse("mode", "Bypass exists only for local callers, never for an agent or a key. Choose auto at most.")
	}
	for _, s := range scopes {
		if !slices.Contains(policy.Scopes, s) {
			return domain.Refuse("invalid", "There is no `%s` to be given. Choose among %s.", place.Clip(s), strings.Join(policy.Scopes, ", "))
		}
	}
	return nil
}
