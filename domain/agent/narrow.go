package agent

import (
	"maps"
	"slices"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/place"
	"assent/domain/policy"
)

// Pause stops an agent. Letting it go on is another action, for a signed-in
// person: it gives something back.
var Pause = action.Of(Kind, pause, Which{"agent_06g0example000000000000000"}, action.Facts{
	Name:       "agent.pause",
	Title:      "Pause an agent",
	About:      "Stops an agent at its next call, until a person lets it go on in the console.",
	Class:      action.People,
	Scope:      "agents:manage",
	Permission: "agents.manage",
	Final:      true,
	Tightens:   true,
})

func pause(a Agent, _ Which) ([]Event, error) {
	switch {
	case a.Person == "":
		return nil, missing
	case a.Paused:
		return nil, nil // already so
	}
	return []Event{Updated{Paused: new(true)}}, nil
}

// NarrowArgs asks for an agent to be given less.
type NarrowArgs struct {
	Which
	Mode       *string   `json:"mode,omitempty" jsonschema:"a stricter one" enum:"plan,manual,edits,auto"`
	Scopes     *[]string `json:"scopes,omitempty" jsonschema:"the ones it keeps"`
	Site       string    `json:"site,omitempty" jsonschema:"the one site it works on"`
	Collection string    `json:"collection,omitempty" jsonschema:"the one collection of articles it works on"`
	Signature
}

// Signed fills in when it is asked for.
func (n NarrowArgs) Signed(s Signature) any {
	n.Signature = s
	return n
}

// Narrow only ever takes something away from an agent.
var Narrow = action.Of(Kind, narrow, NarrowArgs{Which: Which{"agent_06g0example000000000000000"}, Mode: new("manual")}, action.Facts{
	Name:       "agent.narrow",
	Title:      "Narrow an agent",
	About:      "Gives an agent a stricter mode, fewer things to reach or one place to work in, never more. A freer mode that it was lent ends.",
	Class:      action.People,
	Scope:      "agents:manage",
	Permission: "agents.manage",
	Final:      true,
	Tightens:   true,
})

func narrow(a Agent, n NarrowArgs) ([]Event, error) {
	if a.Person == "" {
		return nil, missing
	}
	var events []Event
	var u Updated
	if n.Mode != nil {
		mode := policy.Mode(*n.Mode)
		if policy.Stricter(a.Mode, mode) != mode {
			return nil, widens("mode %s", mode)
		}
		u.Mode = domain.Changed(a.Mode, &mode)
		events = a.endFreer(mode, n)
	}
	if n.Scopes != nil {
		for _, s := range *n.Scopes {
			if !a.has(s) {
				return nil, widens("`%s`", place.Clip(s))
			}
		}
		u.Scopes = domain.Changed(a.Scopes, n.Scopes)
	}
	to := Bounds{n.Site, n.Collection}
	if at, somewhere := to.and(Bounds{a.Site, a.Collection}); !somewhere {
		return nil, widens("another place than its own")
	} else if at.Site != a.Site {
		u.Site = &at.Site
	}
	if u != (Updated{}) {
		events = append([]Event{u}, events...)
	}
	if n.Collection != "" {
		events = append(events, confine(a, &n.Collection)...)
	}
	return events, to.fits()
}

// widens refuses to give an agent what it does not have.
func widens(format string, args ...any) error {
	return domain.Refuse("person-only", "It does not have "+format+": this only takes away. Giving is for a signed-in person, in the console.", args...)
}

// endFreer ends what the agent was lent beyond a mode.
func (a Agent) endFreer(mode policy.Mode, n NarrowArgs) (events []Event) {
	for _, id := range slices.Sorted(maps.Keys(a.Lent.Elevations)) {
		e := a.Lent.Elevations[id]
		if !e.Ended && n.Now.Before(e.Until) && policy.Stricter(mode, e.Mode) == mode && mode != e.Mode {
			events = append(events, ElevationEnded{id})
		}
	}
	return events
}
