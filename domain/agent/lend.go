package agent

import (
	"fmt"
	"slices"
	"time"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/place"
	"assent/domain/policy"
)

// Signature is what the road fills in for those who lend: who asks, when, and
// the id of what is lent. Nobody can claim them.
type Signature struct {
	By  domain.Principal `json:"-"`
	Now time.Time        `json:"-"`
	ID  domain.ID        `json:"-"` // of this very call
}

// maxElevation is the longest an agent works more freely than usual at a time.
const maxElevation = 8 * time.Hour

// AskArgs is an agent asking for a freer mode for a while.
type AskArgs struct {
	Mode    string `json:"mode" jsonschema:"how freely to work meanwhile" enum:"edits,auto"`
	Minutes int    `json:"minutes" jsonschema:"for how long, 1 to 480 minutes from the yes on"`
	Signature
}

// Target is the asking agent.
func (a AskArgs) Target() string { return a.By.ID }

// Signed fills in who asks, and when.
func (a AskArgs) Signed(s Signature) any {
	a.Signature = s
	return a
}

// Ask asks for more freedom for a while. It always waits for a person.
var Ask = action.Showing(action.Of(Kind, ask, AskArgs{Mode: "auto", Minutes: 60}, action.Facts{
	Name:       "elevation.ask",
	Title:      "Ask for a freer mode for a while",
	About:      "Asks a person to let you work more freely for some minutes. Say why in the reason. It ends by itself.",
	Class:      action.Oneself,
	Scope:      "any",
	Permission: "any",
	Gate:       "It asks for more freedom, so a person decides.",
	DecidedBy:  "agents.manage",
}), showAsk)

// showAsk says for how long, and not until when: the time begins with the yes.
func showAsk(before, _ Agent, w AskArgs, _ action.Known) []domain.Change {
	return []domain.Change{{
		Kind: Kind.Category, ID: w.By.ID, Change: domain.Edited,
		Fields: []domain.Line{{Field: "mode", Before: string(before.ModeAt(w.Now)), After: fmt.Sprintf("%s for %d minutes", w.Mode, w.Minutes)}},
	}}
}

func ask(a Agent, w AskArgs) ([]Event, error) { return a.elevate(w.Mode, w.Minutes, w.Signature) }

// ElevateArgs lends an agent a freer mode.
type ElevateArgs struct {
	Which
	Mode    string `json:"mode" jsonschema:"how freely it works meanwhile" enum:"edits,auto"`
	Minutes int    `json:"minutes" jsonschema:"for how long, 1 to 480 minutes"`
	Signature
}

// Signed fills in who gives it, and when.
func (e ElevateArgs) Signed(s Signature) any {
	e.Signature = s
	return e
}

// Elevate lends an agent a freer mode for a while.
var Elevate = action.Of(Kind, func(a Agent, e ElevateArgs) ([]Event, error) { return a.elevate(e.Mode, e.Minutes, e.Signature) },
	ElevateArgs{Which: Which{"agent_06g0example000000000000000"}, Mode: "auto", Minutes: 60}, action.Facts{
		Name:       "elevation.give",
		Title:      "Let an agent work more freely for a while",
		About:      "Lends an agent a freer mode for some minutes. It ends by itself, or when somebody ends it.",
		Class:      action.People,
		Scope:      "agents:manage",
		Permission: "agents.manage",
	})

func (a Agent) elevate(mode string, minutes int, s Signature) ([]Event, error) {
	length := time.Duration(minutes) * time.Minute
	switch {
	case a.Person == "":
		return nil, missing
	case length < time.Minute || length > maxElevation:
		return nil, domain.Refuse("invalid", "A freer mode lasts between 1 and 480 minutes.")
	case policy.Stricter(a.ModeAt(s.Now), policy.Mode(mode)) == policy.Mode(mode):
		return nil, nil // as free already
	}
	return []Event{Elevated{ID: string(s.ID), Mode: policy.Mode(mode), Until: s.Now.Add(length), By: s.By.ID}}, nil
}

// EndArgs ends something that was lent.
type EndArgs struct {
	Which
	ID string `json:"id" jsonschema:"the id of what was lent"`
}

// EndElevation takes a freer mode back before its time.
var EndElevation = action.Of(Kind, endElevation, EndArgs{Which: Which{"agent_06g0example000000000000000"}, ID: "act_06g0example00000000000000000"}, action.Facts{
	Name:       "elevation.end",
	Title:      "Take a freer mode back",
	About:      "Ends an elevation at once.",
	Class:      action.People,
	Scope:      "agents:manage",
	Permission: "agents.manage",
	Final:      true,
})

func endElevation(a Agent, e EndArgs) ([]Event, error) {
	lent, ok := a.Lent.Elevations[e.ID]
	switch {
	case !ok:
		return nil, domain.Refuse("not-found", "This agent was lent no such thing.")
	case lent.Ended:
		return nil, nil // already so
	}
	return []Event{ElevationEnded{e.ID}}, nil
}

// maxStanding is how long a yes in advance lasts at most.
const maxStanding = 90

// StandArgs is a yes in advance.
type StandArgs struct {
	Which
	Key    string `json:"key" jsonschema:"the key it counts for (key_…)"`
	Action string `json:"action" jsonschema:"the kind of change, such as article.update"`
	Site   string `json:"site" jsonschema:"the site it counts on"`
	Days   int    `json:"days" jsonschema:"for how many days, 1 to 90"`
	Signature

	Facts *action.Facts `json:"-"` // of the action; nil when there is none of that name
	Rules policy.Rules  `json:"-"` // of the place, now
}

// Signed fills in whose yes it is.
func (s StandArgs) Signed(by Signature) any {
	s.Signature = by
	return s
}

// Advance is a yes in advance on its way: the road tells it of the action and the
// place that it names.
type Advance interface {
	About() string
	Place() string
	Told(*action.Facts, policy.Rules) any
}

// About names the action whose facts the decision must know.
func (s StandArgs) About() string { return s.Action }

// Place names the site whose rules the decision must know.
func (s StandArgs) Place() string { return s.Site }

// Told fills in what there is to know of the action and the place.
func (s StandArgs) Told(f *action.Facts, r policy.Rules) any {
	s.Facts, s.Rules = f, r
	return s
}

// Stand makes a yes in advance.
var Stand = action.Of(Kind, stand, StandArgs{
	Which: Which{"agent_06g0example000000000000000"}, Key: "key_06g0example00000000000000000", Action: "article.update", Site: "main", Days: 30,
}, action.Facts{
	Name:       "standing.make",
	Title:      "Say yes in advance",
	About:      "Lets one agent make one kind of change on one site without asking, for at most 90 days. Never what goes live, takes away or cannot be undone.",
	Class:      action.People,
	Scope:      "agents:manage",
	Permission: "decide",
})

func stand(a Agent, s StandArgs) ([]Event, error) {
	key, known := a.Keys[s.Key]
	switch {
	case a.Person == "":
		return nil, missing
	case !known || key.Revoked:
		return nil, domain.Refuse("not-found", "This agent has no such key. Look at its keys for the right id.")
	case s.Facts == nil:
		return nil, domain.Refuse("invalid", "There is no action %q.", place.Clip(s.Action))
	case s.Facts.Class != action.Content || s.Facts.Final || s.Facts.Gate != "":
		return nil, domain.Refuse("invalid", "Nobody says yes in advance to %s: only to changes of a draft that can be taken back.", s.Action)
	case s.Site == "":
		return nil, domain.Refuse("invalid", "Say on which site it counts.")
	case s.Days < 1 || s.Days > maxStanding:
		return nil, domain.Refuse("invalid", "A yes in advance counts for 1 to %d days.", maxStanding)
	}
	until := s.Now.AddDate(0, 0, s.Days)
	if id, made, ok := a.Standing(s.Action, s.Key, s.Site, s.Rules, s.Now); ok && id != "" && made.By == s.By.ID && !made.Until.Before(until) {
		return nil, nil // already so
	}
	return []Event{StandingMade{ID: string(s.ID), Action: s.Action, Key: s.Key, Site: s.Site, By: s.By.ID, Until: until, Rules: s.Rules}}, nil
}

// EndStanding ends a yes in advance.
var EndStanding = action.Of(Kind, endStanding, EndArgs{Which: Which{"agent_06g0example000000000000000"}, ID: "act_06g0example00000000000000000"}, action.Facts{
	Name:       "standing.end",
	Title:      "End a yes in advance",
	About:      "From now on this agent asks again.",
	Class:      action.People,
	Scope:      "agents:manage",
	Permission: "decide",
	Final:      true,
})

func endStanding(a Agent, e EndArgs) ([]Event, error) {
	made, ok := a.Lent.Standings[e.ID]
	switch {
	case !ok:
		return nil, domain.Refuse("not-found", "There is no such yes in advance.")
	case made.Ended:
		return nil, nil // already so
	}
	return []Event{StandingEnded{e.ID}}, nil
}

// lending is everything that can be asked about what is lent.
var lending = []*action.Action{Ask, Elevate, EndElevation, Stand, EndStanding}

// Actions are everything that can be asked of agents and their keys.
var Actions = slices.Concat([]*action.Action{Whoami.Action, Create, Update, Pause, Narrow, Mint, Revoke}, lending)
