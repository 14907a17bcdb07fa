package agent

import (
	"maps"
	"time"

	"assent/domain/policy"
)

// Elevation is a freer mode for a while. Log time ends it; nothing has to run.
type Elevation struct {
	Mode  policy.Mode
	Until time.Time
	By    string // who gave it
	Ended bool   // before its time
}

// Standing is a person's yes in advance: to one action, asked for with one key,
// in one place, for a while. It holds no more than its maker may do at the time
// it is used, and ends when the rules it was made under are tightened.
type Standing struct {
	Action string
	Key    string
	Site   string
	By     string // whose yes it is
	Until  time.Time
	Rules  policy.Rules // of the place, when it was made
	Ended  bool
}

// Lent is what people lent an agent for a while, by id.
type Lent struct {
	Elevations map[string]Elevation
	Standings  map[string]Standing
}

// ModeAt is how freely the agent works at a time: its own mode, or the freest
// one it was lent.
func (a Agent) ModeAt(now time.Time) policy.Mode {
	mode := a.Mode
	if mode != "" && !mode.Known() {
		return mode // what is not known is not lifted
	}
	for _, e := range a.Lent.Elevations {
		if !e.Ended && now.Before(e.Until) && policy.Stricter(mode, e.Mode) == mode {
			mode = e.Mode
		}
	}
	return mode
}

// Standing is the yes in advance that fits an action asked for with a key on a
// site, and its id. What its maker may still do is for the asker to find out.
func (a Agent) Standing(action, key, site string, rules policy.Rules, now time.Time) (id string, s Standing, ok bool) {
	for i, s := range a.Lent.Standings {
		if s.Action == action && s.Key == key && s.Site == site && !s.Ended && now.Before(s.Until) && !rules.Tighter(s.Rules) && (!ok || i < id) {
			id, ok = i, true
		}
	}
	return id, a.Lent.Standings[id], ok
}

// Elevated lends the agent a freer mode.
type Elevated struct {
	ID    string      `json:"id"`
	Mode  policy.Mode `json:"mode"`
	Until time.Time   `json:"until"`
	By    string      `json:"by"`
}

// Evolve lends the mode, unless it was ended: ended is for ever.
func (e Elevated) Evolve(a Agent) Agent {
	lent := Elevation{Mode: e.Mode, Until: e.Until, By: e.By, Ended: a.Lent.Elevations[e.ID].Ended}
	a.Lent.Elevations = with(a.Lent.Elevations, e.ID, lent)
	return a
}

// Reverse ends it: taking a loan back is never wrong.
func (e Elevated) Reverse(Agent) Event { return ElevationEnded{ID: e.ID} }

// ElevationEnded takes the freer mode back before its time.
type ElevationEnded struct {
	ID string `json:"id"`
}

// Evolve ends it.
func (e ElevationEnded) Evolve(a Agent) Agent {
	lent := a.Lent.Elevations[e.ID]
	lent.Ended = true
	a.Lent.Elevations = with(a.Lent.Elevations, e.ID, lent)
	return a
}

// Reverse is nil: nothing is lent by the way.
func (ElevationEnded) Reverse(Agent) Event { return nil }

// StandingMade is a yes in advance.
type StandingMade struct {
	ID     string       `json:"id"`
	Action string       `json:"action"`
	Key    string       `json:"key"`
	Site   string       `json:"site"`
	By     string       `json:"by"`
	Until  time.Time    `json:"until"`
	Rules  policy.Rules `json:"rules,omitzero"`
}

// Evolve adds it, unless it was ended: ended is for ever.
func (e StandingMade) Evolve(a Agent) Agent {
	made := Standing{Action: e.Action, Key: e.Key, Site: e.Site, By: e.By, Until: e.Until, Rules: e.Rules, Ended: a.Lent.Standings[e.ID].Ended}
	a.Lent.Standings = with(a.Lent.Standings, e.ID, made)
	return a
}

// Reverse ends it.
func (e StandingMade) Reverse(Agent) Event { return StandingEnded{ID: e.ID} }

// StandingEnded ends a yes in advance before its time.
type StandingEnded struct {
	ID string `json:"id"`
}

// Evolve ends it.
func (e StandingEnded) Evolve(a Agent) Agent {
	made := a.Lent.Standings[e.ID]
	made.Ended = true
	a.Lent.Standings = with(a.Lent.Standings, e.ID, made)
	return a
}

// Reverse is nil: nothing is agreed to by the way.
func (StandingEnded) Reverse(Agent) Event { return nil }

func with[T any](m map[string]T, id string, value T) map[string]T {
	m = maps.Clone(m)
	if m == nil {
		m = map[string]T{}
	}
	m[id] = value
	return m
}
