package commands

import (
	"context"
	"maps"
	"slices"
	"time"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/agent"
	"assent/domain/person"
	"assent/domain/policy"
	"assent/domain/workspace"
)

// Moment is where in the log something is looked at: with everything up to a
// position, that one included, or everything that was recorded by a time. One
// of the two is set.
type Moment struct {
	Position domain.Position
	Time     time.Time
}

// has says that a record was there by then.
func (m Moment) has(r domain.Recorded) bool {
	if m.Position > 0 {
		return r.Position <= m.Position
	}
	return !r.At.After(m.Time)
}

// Authority is what an agent could do at a moment, as the road would have read
// it then.
type Authority struct {
	Agent   string      `json:"agent"`
	At      time.Time   `json:"at"` // log time then: what was lent for a while is measured by it
	Person  string      `json:"person"`
	Role    policy.Role `json:"role,omitempty"` // of the person; empty: they had no seat, so the agent could do nothing
	Mode    policy.Mode `json:"mode"`           // with what it was lent
	Own     policy.Mode `json:"own"`            // without
	Scopes  []string    `json:"scopes"`
	Site    string      `json:"site,omitempty"`
	Confirm bool        `json:"confirm"`
	Paused  string      `json:"paused,omitempty"` // agent, or workspace when everything was; empty: it was not
	Keys    []KeyThen   `json:"keys"`
	Lent    []Elevated  `json:"lent"`    // freer modes that had not ended
	Ahead   []YesThen   `json:"advance"` // yesses in advance that had not ended

	Collection string `json:"collection,omitempty"`
}

// KeyThen is one way in of an agent at a moment.
type KeyThen struct {
	ID      string      `json:"id"`
	Works   bool        `json:"works"`
	Mode    policy.Mode `json:"mode,omitempty"` // it gave, when it worked
	Scopes  []string    `json:"scopes"`         // it gave, when it worked
	Expires time.Time   `json:"expires,omitzero"`
	Revoked bool        `json:"revoked,omitempty"`

	agent.Bounds // it gave, when it worked
}

// YesThen is a person's yes in advance.
type YesThen struct {
	ID     string    `json:"id"`
	Action string    `json:"action"`
	Key    string    `json:"key"`
	Site   string    `json:"site"`
	By     string    `json:"by"`
	Until  time.Time `json:"until"`
}

// Authority is what an agent could do at a moment: its own streams are read up
// to then, and those of its person and workspace. An agent that was not there
// is refused as not-found.
//
// Asked by position, the time is that of the event there. A log that is not
// Atomic cannot be asked for one event; there it is that of the last one of
// these streams.
func (r *Records) Authority(ctx context.Context, ws, id string, m Moment) (Authority, error) {
	missing := domain.Refuse("not-found", "There was no such agent then. List the agents to find its id.")
	if !plainID.MatchString(id) {
		return Authority{}, missing
	}
	p := retrospect{Records: r, ctx: ctx, workspace: ws, moment: m}
	a := p.state(action.Ref{Category: agent.Kind.Category, ID: id}).(agent.Agent)
	if p.err == nil && a.Person == "" {
		return Authority{}, missing
	}
	seat := p.state(action.Ref{Category: person.Kind.Category, ID: a.Person}).(person.Person)
	settings := p.state(workspace.Ref).(workspace.Workspace)
	now := p.now()
	if p.err != nil {
		return Authority{}, p.err
	}
	v := Authority{
		Agent: id, At: now, Person: a.Person, Role: seat.Role, Mode: a.ModeAt(now), Own: a.Mode, Scopes: append([]string{}, a.Scopes...),
		Site: a.Site, Collection: a.Collection, Confirm: a.Confirm, Keys: []KeyThen{}, Lent: []Elevated{}, Ahead: []YesThen{},
	}
	switch {
	case settings.Paused:
		v.Paused = "workspace"
	case a.Paused:
		v.Paused = "agent"
	}
	for _, k := range slices.Sorted(maps.Keys(a.Keys)) {
		mode, scopes, works := a.Allows(k, now)
		then := KeyThen{ID: k, Works: works, Mode: mode, Scopes: append([]string{}, scopes...), Expires: a.Keys[k].Expires, Revoked: a.Keys[k].Revoked}
		if works {
			then.Bounds, _ = a.Bounds(k)
		}
		v.Keys = append(v.Keys, then)
	}
	for _, k := range slices.Sorted(maps.Keys(a.Lent.Elevations)) {
		if e := a.Lent.Elevations[k]; !e.Ended && now.Before(e.Until) {
			v.Lent = append(v.Lent, Elevated{ID: k, Mode: e.Mode, By: e.By, Until: e.Until})
		}
	}
	for _, k := range slices.Sorted(maps.Keys(a.Lent.Standings)) {
		if s := a.Lent.Standings[k]; !s.Ended && now.Before(s.Until) {
			v.Ahead = append(v.Ahead, YesThen{ID: k, Action: s.Action, Key: s.Key, Site: s.Site, By: s.By, Until: s.Until})
		}
	}
	return v, nil
}

// retrospect reads streams as they were at a moment. After the first fault it reads
// nothing more.
type retrospect struct {
	*Records
	ctx       context.Context
	workspace string
	moment    Moment
	last      time.Time // of what was read
	err       error
}

// state is what a stream added up to.
func (p *retrospect) state(ref action.Ref) domain.State {
	kind := p.road.Kinds[ref.Category]
	var history []domain.Recorded
	if p.err == nil && plainID.MatchString(ref.ID) {
		history, p.err = p.road.things.history(p.ctx, domain.Stream{Category: ref.Category, Workspace: p.workspace, ID: ref.ID})
	}
	n := 0
	for n < len(history) && p.moment.has(history[n]) {
		if history[n].At.After(p.last) {
			p.last = history[n].At
		}
		n++
	}
	state, err := kind.Fold(eventsOf(history[:n]))
	if p.err == nil {
		p.err = err
	}
	if err != nil {
		state, _ = kind.Fold(nil) // so that who asked has a state of the kind
	}
	return state
}

// now is log time at the moment.
func (p *retrospect) now() time.Time {
	if p.moment.Position == 0 {
		return p.moment.Time
	}
	if p.err != nil || !p.road.Log.Atomic() {
		return p.last
	}
	var there []domain.Record
	if there, p.err = p.road.Log.ReadAll(p.ctx, p.moment.Position-1, 1); len(there) == 0 {
		return p.last
	}
	return there[0].At
}
