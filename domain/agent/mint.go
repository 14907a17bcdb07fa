package agent

import (
	"slices"
	"time"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/place"
	"assent/domain/policy"
)

// MintArgs asks for a key. Its id is made by whoever keeps the key's hash.
type MintArgs struct {
	Which
	Key        string   `json:"key" jsonschema:"the key's id (key_…)"`
	Expires    string   `json:"expires,omitempty" jsonschema:"when it ends, as in 2026-12-31T00:00:00Z; never when left out"`
	Mode       string   `json:"mode,omitempty" jsonschema:"narrower than the agent's" enum:"plan,manual,edits,auto,bypass"`
	Scopes     []string `json:"scopes,omitzero" jsonschema:"narrower than the agent's"`
	Site       string   `json:"site,omitempty" jsonschema:"the one site it works on"`
	Collection string   `json:"collection,omitempty" jsonschema:"the one collection of articles it works on"`
	Rotates    string   `json:"rotates,omitempty" jsonschema:"the id of the key it takes the place of; what is left out is as that one has it"`
	Overlap    *int     `json:"overlapHours,omitempty" jsonschema:"for how many hours that one still works, 0 to 168; 24 when left out"`
	Signature
}

// Signed fills in when it is asked for.
func (m MintArgs) Signed(s Signature) any {
	m.Signature = s
	return m
}

// Mint gives an agent a key.
var Mint = action.Of(Kind, mint, MintArgs{Which: Which{"agent_06g0example000000000000000"}, Key: "key_06g0example00000000000000000"}, action.Facts{
	Name:       "key.mint",
	Title:      "Make a key",
	About:      "Gives an agent a key of its own, or one in the place of another, which then ends. It may narrow the agent and never widens it.",
	Class:      action.People,
	Scope:      "agents:manage",
	Permission: "agents.manage",
	Final:      true,
})

// The longest, and the usual, time that a key works beside the one in its
// place, in hours.
const (
	maxOverlap   = 168
	usualOverlap = 24
)

func mint(a Agent, m MintArgs) ([]Event, error) {
	if a.Person == "" {
		return nil, missing
	}
	if _, twice := a.Keys[m.Key]; twice {
		return nil, nil // already so
	}
	ending, err := a.rotate(&m)
	if err != nil {
		return nil, err
	}
	e := Minted{Key: m.Key, Mode: policy.Mode(m.Mode), Scopes: m.Scopes}
	if m.Expires != "" {
		t, err := time.Parse(time.RFC3339, m.Expires)
		if err != nil || t.UTC().Year() < 2000 || t.UTC().Year() > 9999 { // the zero time would be never
			return nil, domain.Refuse("invalid", "The end %q cannot be read: write it as in 2026-12-31T00:00:00Z.", place.Clip(m.Expires))
		}
		e.Expires = t.UTC()
	}
	if err := fits(e.Mode, e.Scopes); err != nil {
		return nil, err
	}
	for _, s := range m.Scopes {
		if !a.has(s) {
			return nil, domain.Refuse("scope", "The agent itself does not have `%s`: a key narrows and never widens.", place.Clip(s))
		}
	}
	events := []Event{e}
	if b := (Bounds{m.Site, m.Collection}); b != (Bounds{}) {
		if _, somewhere := b.and(Bounds{a.Site, a.Collection}); !somewhere {
			return nil, domain.Refuse("scope", "The agent itself works%s only: a key narrows and never widens.", Bounds{a.Site, a.Collection}.on())
		}
		if err := b.fits(); err != nil {
			return nil, err
		}
		events = append(events, KeyConfined{m.Key, b})
	}
	return append(events, ending...), nil
}

// rotate gives the key whose place is taken its end. What was left out of the
// new one is as that one has it.
func (a Agent) rotate(m *MintArgs) ([]Event, error) {
	if m.Rotates == "" {
		if m.Overlap != nil {
			return nil, domain.Refuse("invalid", "Say which key it takes the place of, or leave the hours out.")
		}
		return nil, nil
	}
	old, known := a.Keys[m.Rotates]
	hours := usualOverlap
	if m.Overlap != nil {
		hours = *m.Overlap
	}
	switch {
	case !known || !old.works(m.Now):
		return nil, domain.Refuse("not-found", "This agent has no such key that still works. Make a new one in its own right.")
	case hours < 0 || hours > maxOverlap:
		return nil, domain.Refuse("invalid", "A key works for at most %d hours beside the one in its place.", maxOverlap)
	}
	if m.Mode == "" {
		m.Mode = string(old.Mode)
	}
	if m.Scopes == nil && old.Scopes != nil {
		m.Scopes = policy.Narrowed(slices.Clone(old.Scopes), a.scopes())
	}
	if m.Site == "" && m.Collection == "" {
		m.Site, m.Collection = old.Site, old.Collection
	}
	return []Event{Ending{Key: m.Rotates, At: m.Now.Add(time.Duration(hours) * time.Hour), For: m.Key}}, nil
}

// scopes are the agent's, none where nothing was ever said.
func (a Agent) scopes() []string { return append([]string{}, a.Scopes...) }

// has says that the agent may reach at least that.
func (a Agent) has(scope string) bool {
	return slices.Equal(policy.Narrowed([]string{scope}, a.scopes()), []string{scope})
}
