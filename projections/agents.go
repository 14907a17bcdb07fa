package projections

import (
	"context"
	"maps"
	"slices"
	"time"

	"assent/domain"
	"assent/domain/agent"
	"assent/domain/person"
	"assent/domain/policy"
	"assent/domain/workspace"
)

// Agent is a program that acts for a person. Its name is kept beside the log.
type Agent struct {
	ID       string      `json:"id"`
	Person   string      `json:"person"`
	Mode     policy.Mode `json:"mode"`
	Scopes   []string    `json:"scopes"`
	Site     string      `json:"site,omitempty"`
	Confirm  bool        `json:"confirm"`
	Paused   bool        `json:"paused"`
	Keys     []AgentKey  `json:"keys"`
	Created  time.Time   `json:"created"`
	LastSeen time.Time   `json:"lastSeen,omitzero"` // of anything it asked for that is in the log
	Lent     []Lending   `json:"lent,omitempty"`

	Collection string `json:"collection,omitempty"` // the one collection of articles it works on
}

// AgentKey is one way in. The key itself is nowhere.
type AgentKey struct {
	ID      string      `json:"id"`
	Expires time.Time   `json:"expires,omitzero"` // zero: never
	Mode    policy.Mode `json:"mode,omitempty"`
	Scopes  []string    `json:"scopes,omitempty"` // nil: all of the agent's
	Revoked bool        `json:"revoked,omitempty"`

	agent.Bounds
	Next     string `json:"next,omitempty"`     // the key that took its place
	Reminded bool   `json:"reminded,omitempty"` // its end was brought up
}

// ends is when the next end of a key has to be brought up, in microseconds; 0:
// of none.
func (r agentRow) ends() (first int64) {
	for _, k := range r.Keys {
		if k.Revoked || k.Reminded || k.Next != "" || k.Expires.IsZero() {
			continue
		}
		if at := k.Expires.Add(-agent.Notice).UnixMicro(); first == 0 || at < first {
			first = at
		}
	}
	return first
}

// agentRow is an agent as it is stored.
type agentRow struct {
	Agent
	Position domain.Position `json:"position"` // where it was made
}

var agents = Projection[agentRow]{
	Name: "agents", Version: 3,
	Keys: func(f Fact) []string {
		var keys []string
		if _, ok := f.After.(agent.Agent); ok {
			keys = append(keys, key(f.Stream.Workspace, f.Stream.ID))
		}
		if p := f.Envelope.Principal; p.IsAgent() && p.ID != "" {
			keys = append(keys, key(f.Stream.Workspace, p.ID))
		}
		return keys
	},
	Fold: func(k string, r agentRow, f Fact) (agentRow, bool) {
		if p := f.Envelope.Principal; p.IsAgent() && k == key(f.Stream.Workspace, p.ID) {
			r.LastSeen = f.At
		}
		a, ok := f.After.(agent.Agent)
		if !ok || k != key(f.Stream.Workspace, f.Stream.ID) {
			return r, r.ID != "" // local callers are seen too, and are no agents of ours
		}
		if r.ID == "" {
			r.ID, r.Position, r.Created = f.Stream.ID, f.Position, f.At
		}
		r.Person, r.Mode, r.Scopes, r.Site, r.Confirm, r.Paused = a.Person, a.Mode, a.Scopes, a.Site, a.Confirm, a.Paused
		r.Collection = a.Collection
		r.Lent = lendings(a.Lent)
		r.Keys = nil
		for _, id := range slices.Sorted(maps.Keys(a.Keys)) {
			k := a.Keys[id]
			r.Keys = append(r.Keys, AgentKey{ID: id, Expires: k.Expires, Mode: k.Mode, Scopes: k.Scopes, Revoked: k.Revoked, Bounds: k.Bounds, Next: k.Next, Reminded: k.Reminded})
		}
		return r, true
	},
	Columns: []Column[agentRow]{
		text("id", func(r agentRow) string { return r.ID }),
		number("created", func(r agentRow) domain.Position { return r.Position }),
		number("ends", agentRow.ends),
	},
	Indexes: []string{"workspace, created"},
}

// EndingKeys lists the agents of every workspace that have a key whose end is to
// be brought up by now.
func (s *Store) EndingKeys(ctx context.Context, now time.Time) ([]domain.Stream, error) {
	var list []domain.Stream
	err := s.ask(ctx, "keys that end soon", func(a asking) error {
		keys, err := rowsOf[string](a.ctx, a.tx, a.rows.sql(`SELECT key FROM {agents} WHERE ends > 0 AND ends <= $1 ORDER BY created`), now.UnixMicro())
		for _, k := range keys {
			ws := workspaceOf(k)
			list = append(list, domain.Stream{Category: agent.Kind.Category, Workspace: ws, ID: k[len(ws)+1:]})
		}
		return err
	})
	return list, err
}

// Seat is a person who has a role here. Names are kept beside the log.
type Seat struct {
	ID   string      `json:"id"`
	Role policy.Role `json:"role"`
}

type seatRow struct {
	Seat
	Position domain.Position `json:"position"`
}

var people = Projection[seatRow]{
	Name: "people", Version: 1,
	Keys: func(f Fact) []string {
		if _, ok := f.After.(person.Person); !ok {
			return nil
		}
		return []string{key(f.Stream.Workspace, f.Stream.ID)}
	},
	Fold: func(_ string, r seatRow, f Fact) (seatRow, bool) {
		if r.Position == 0 {
			r.ID, r.Position = f.Stream.ID, f.Position
		}
		r.Role = f.After.(person.Person).Role
		return r, r.Role != ""
	},
	Columns: []Column[seatRow]{
		text("id", func(r seatRow) string { return r.ID }),
		number("created", func(r seatRow) domain.Position { return r.Position }),
	},
	Indexes: []string{"workspace, created"},
}

// settings are the rules of every workspace; its rows are the state itself.
var settings = Projection[workspace.Workspace]{
	Name: "settings", Version: 1,
	Keys: func(f Fact) []string {
		if _, ok := f.After.(workspace.Workspace); !ok {
			return nil
		}
		return []string{key(f.Stream.Workspace, f.Stream.ID)}
	},
	Fold: func(_ string, _ workspace.Workspace, f Fact) (workspace.Workspace, bool) {
		return f.After.(workspace.Workspace), true
	},
}
