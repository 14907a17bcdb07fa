package commands

import (
	"encoding/json"
	"strconv"
	"time"

	"assent/domain"
	"assent/domain/policy"
	"assent/domain/proposal"
)

// Call is one principal asking for one action, once. Doors fill in who calls
// from what they verified themselves, never from what was sent.
type Call struct {
	Workspace string
	Action    string // its name, or its tool name
	Args      json.RawMessage

	Principal domain.Principal
	Person    string // the person behind an agent or a local caller
	Via       domain.Via
	Client    domain.Client
	Skill     string // declared for this call
	Outside   bool   // influenced by content from outside, as its door knows or it says itself

	Correlation domain.ID // what several calls belong to, such as one import

	// Local callers say how they want to work; agents with keys are what the
	// log says they are.
	Mode   policy.Mode
	Scopes []string
	Site   string
	Joined bool // through a server that owns the folder: at most what it allows

	Planned bool // part of a plan that is filed for a person, whatever the mode

	// Refusal is a no that its door gave already, to what cannot even be asked:
	// it is recorded like any other, and nothing else happens.
	Refusal *domain.Refusal
}

// How a call can end. Refused is a meant no; unknown is neither yes nor no:
// ask again with the same command id.
const (
	Done      = "done"
	Idle      = "idle"
	Waiting   = "waiting"
	Refused   = "refused"
	Rehearsed = "rehearsed"
	Unknown   = "unknown"
)

// Outcome is the answer to a call, the same at every door.
type Outcome struct {
	Outcome   string          `json:"outcome"`
	Action    domain.ID       `json:"action,omitempty"`
	Position  Position        `json:"position,omitempty"`
	Target    *Target         `json:"target,omitempty"`
	Changes   []domain.Line   `json:"changes,omitempty"`
	Undo      *Undo           `json:"undo,omitempty"`
	Verdict   *domain.Verdict `json:"verdict,omitempty"`
	Proposal  any             `json:"proposal,omitempty"` // a *Held when waiting; the proposal itself when it was read
	Refusal   *domain.Refusal `json:"refusal,omitempty"`
	Conflict  *Comparison     `json:"conflict,omitempty"`  // of an undo that later work stands in the way of
	Contained *Contained      `json:"contained,omitempty"` // what became of doings taken back together
	Parts     []Outcome       `json:"parts,omitempty"`     // of several calls, in order

	Results []proposal.Result `json:"results,omitempty"` // of a proposal of several calls: what became of each
	*Answer
}

// Position is a log position as doors give it: a decimal string, since not
// every program counts so far.
type Position domain.Position

// MarshalText writes it as a decimal string.
func (p Position) MarshalText() ([]byte, error) { return strconv.AppendInt(nil, int64(p), 10), nil }

// UnmarshalText reads a decimal string.
func (p *Position) UnmarshalText(text []byte) error {
	n, err := strconv.ParseInt(string(text), 10, 64)
	*p = Position(n)
	return err
}

// IsZero keeps an unset position out of answers.
func (p Position) IsZero() bool { return p == 0 }

// Target is the thing a call changed or would change.
type Target struct {
	Kind    string         `json:"kind"`
	ID      string         `json:"id"`
	Version domain.Version `json:"version"`
}

// Undo says until when an action can be taken back.
type Undo struct {
	Until time.Time `json:"until"`
}

// Held is a proposal as the asker is told of it.
type Held struct {
	ID      string    `json:"id"`
	URL     string    `json:"url"`
	Cause   string    `json:"cause"`
	Expires time.Time `json:"expires"`
	State   string    `json:"state"`
	Yesses  int       `json:"yesses,omitempty"` // so far, where it takes several
}

// Answer is what a read gives: exactly one thing, or items and the cursor of
// the next page.
type Answer struct {
	Site    any    `json:"site,omitempty"`
	Page    any    `json:"page,omitempty"`
	Article any    `json:"article,omitempty"`
	Preview any    `json:"preview,omitempty"`
	Whoami  any    `json:"whoami,omitempty"`
	Diff    any    `json:"diff,omitempty"`
	Items   any    `json:"items,omitempty"`
	Next    string `json:"next,omitempty"`

	Proposal any `json:"-"` // goes into the outcome's own field
}
