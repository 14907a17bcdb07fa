package agent

import (
	"reflect"
	"slices"
	"strings"
	"time"

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
	Person  string   `json:"person" jsonschema:"the id of the person it acts for"`
	Mode    string   `json:"mode,omitempty" jsonschema:"how freely it works; edits when left out" enum:"plan,manual,edits,auto,bypass"`
	Scopes  []string `json:"scopes,omitzero" jsonschema:"what it may reach"`
	Site    string   `json:"site,omitempty" jsonschema:"the one site it works on"`
	Confirm bool     `json:"confirm,omitempty" jsonschema:"its client may confirm what only needs confirming"`
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
	return []Event{e}, fits(e.Mode, e.Scopes)
}

// UpdateArgs asks for an agent to be changed.
type UpdateArgs struct {
	Which
	Mode    *string   `json:"mode,omitempty" jsonschema:"how freely it works" enum:"plan,manual,edits,auto,bypass"`
	Scopes  *[]string `json:"scopes,omitempty" jsonschema:"what it may reach; replaces the list"`
	Site    *string   `json:"site,omitempty" jsonschema:"the one site it works on; empty for all"`
	Confirm *bool     `json:"confirm,omitempty" jsonschema:"its client may confirm what only needs confirming"`
	Paused  *bool     `json:"paused,omitempty" jsonschema:"it does nothing while this is so"`
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
	if reflect.ValueOf(e).IsZero() {
		return nil, nil // already so
	}
	after := e.Evolve(a)
	return []Event{e}, fits(after.Mode, after.Scopes)
}

// MintArgs asks for a key. Its id is made by whoever keeps the key's hash.
type MintArgs struct {
	Which
	Key     string   `json:"key" jsonschema:"the key's id (key_…)"`
	Expires string   `json:"expires,omitempty" jsonschema:"when it ends, as in 2026-12-31T00:00:00Z; never when left out"`
	Mode    string   `json:"mode,omitempty" jsonschema:"narrower than the agent's" enum:"plan,manual,edits,auto,bypass"`
	Scopes  []string `json:"scopes,omitzero" jsonschema:"narrower than the agent's"`
}

// Mint gives an agent a key.
var Mint = action.Of(Kind, mint, MintArgs{Which: Which{"agent_06g0example000000000000000"}, Key: "key_06g0example00000000000000000"}, action.Facts{
	Name:       "key.mint",
	Title:      "Make a key",
	About:      "Gives an agent a key of its own. It may narrow the agent and never widens it.",
	Class:      action.People,
	Scope:      "agents:manage",
	Permission: "agents.manage",
	Final:      true,
})

func mint(a Agent, m MintArgs) ([]Event, error) {
	if a.Person == "" {
		return nil, missing
	}
	if _, twice := a.Keys[m.Key]; twice {
		return nil, nil // already so
	}
	e := Minted{Key: m.Key, Mode: policy.Mode(m.Mode), Scopes: m.Scopes}
	if m.Expires != "" {
		t, err := time.Parse(time.RFC3339, m.Expires)
		if err != nil || t.UTC().Year() < 2000 || t.UTC().Year() > 9999 { // the zero time would be never
			return nil, domain.Refuse("invalid", "The end %q cannot be read: write it as in 2026-12-31T00:00:00Z.", place.Clip(m.Expires))
		}
		e.Expires = t.UTC()
	}
	for _, s := range m.Scopes {
		if !slices.Contains(a.Scopes, s) {
			return nil, domain.Refuse("scope", "The agent itself does not have `%s`: a key narrows and never widens.", place.Clip(s))
		}
	}
	return []Event{e}, fits(e.Mode, m.Scopes)
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
