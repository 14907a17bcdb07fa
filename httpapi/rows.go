package httpapi

import (
	"encoding/json"
	"time"

	"assent/commands"
	"assent/domain"
	"assent/domain/policy"
	"assent/domain/proposal"
	"assent/domain/site"
)

// AuditFilter narrows a list of actions. Empty fields do not narrow.
type AuditFilter struct {
	Agent, Person, Key, Session, Action, Target, Outcome, Cause, Skill, Proposal string
	Since, Until                                                                 time.Time // from, and before
	Cursor                                                                       string
	Limit                                                                        int // 1 to 100
}

// AuditPage is actions, newest first, and the cursor of the next page.
type AuditPage struct {
	Items []AuditRow        `json:"items"`
	Next  string            `json:"next,omitempty"`
	Names map[string]string `json:"names,omitempty"` // of the people and agents in Items, where known
}

// Clash is a proposal that waits for a person and would change something that
// another one would change as well.
type Clash struct {
	ID       string `json:"id"`
	Headline string `json:"headline"`
}

// AuditRow is one action: who did what, for whom, under which rule.
type AuditRow struct {
	ID        domain.ID         `json:"id"`
	Position  commands.Position `json:"position"`
	At        time.Time         `json:"at"`
	Action    string            `json:"action"`
	Principal domain.Principal  `json:"principal"`
	Person    string            `json:"person,omitempty"`
	Mode      string            `json:"mode,omitempty"`
	Skill     string            `json:"skill,omitempty"`
	Via       domain.Via        `json:"via,omitzero"`
	Client    domain.Client     `json:"client,omitzero"`
	Target    *commands.Target  `json:"target,omitempty"`
	Title     string            `json:"title,omitempty"` // of the target, as it was then
	Outcome   string            `json:"outcome"`
	Verdict   *domain.Verdict   `json:"verdict,omitempty"`
	Refusal   *domain.Refusal   `json:"refusal,omitempty"`
	Changes   []domain.Line     `json:"changes,omitempty"`
	Clipped   bool              `json:"clipped,omitempty"` // Changes is not all of it
	Reason    string            `json:"reason,omitempty"`  // filled in here, from Sealed
	Proposal  string            `json:"proposal,omitempty"`
	DecidedBy string            `json:"decidedBy,omitempty"`
	Yes       *Yes              `json:"yes,omitempty"` // that it rests on
	Undoes    domain.ID         `json:"undoes,omitempty"`
	Undone    domain.ID         `json:"undone,omitempty"` // the action that took it back
	Chose     *domain.Choice    `json:"chose,omitempty"`  // of an undo: field by field
	Batch     domain.ID         `json:"batch,omitempty"`  // what it belongs to with others: taken back together as such
	Undo      *commands.Undo    `json:"undo,omitempty"`   // while a person can take it back; filled in here
	Count     int               `json:"count,omitempty"`  // more than 1: this many alike in a minute

	Sealed *domain.Sealed `json:"-"`
}

// Yes is what lifted a hold: an approval, a confirmation or a yes in advance
// (standing), which are never mixed.
type Yes struct {
	Kind string `json:"kind"`
	By   string `json:"by,omitempty"`
	ID   string `json:"id,omitempty"` // of the yes in advance
}

// Proposal is a held call as people decide on it.
type Proposal struct {
	ID        string            `json:"id"`
	State     proposal.Status   `json:"state"`
	Headline  string            `json:"headline"`
	Cause     string            `json:"cause"`
	Action    domain.ID         `json:"action,omitempty"` // the asking
	Principal domain.Principal  `json:"principal"`
	Person    string            `json:"person,omitempty"` // behind an agent
	Mode      string            `json:"mode,omitempty"`
	Skill     string            `json:"skill,omitempty"`
	Site      string            `json:"site,omitempty"` // that it would change, where known; filled in here
	Changes   []domain.Change   `json:"changes,omitempty"`
	Counts    proposal.Counts   `json:"counts"`
	Clipped   bool              `json:"clipped,omitempty"` // Changes is not all of it
	Calls     []proposal.Called `json:"calls"`
	Verdict   *domain.Verdict   `json:"verdict,omitempty"`
	Digest    string            `json:"digest"`
	Filed     time.Time         `json:"filed"`
	Expires   time.Time         `json:"expires"`
	Reminded  bool              `json:"reminded,omitempty"` // its time is nearly over, and that was said
	Reason    string            `json:"reason,omitempty"`   // the asker's own words; filled in here
	DecidedBy string            `json:"decidedBy,omitempty"`
	DecidedAt time.Time         `json:"decidedAt,omitzero"`
	Code      string            `json:"code,omitempty"`  // of the decline
	Words     string            `json:"words,omitempty"` // of the decline; filled in here
	Results   []proposal.Result `json:"results,omitempty"`
	Names     map[string]string `json:"names,omitempty"`
	Preview   string            `json:"preview,omitempty"`   // where it can be looked at; filled in here
	UndoHours int               `json:"undoHours,omitempty"` // how long what it does can be taken back; filled in here
	Clashes   []Clash           `json:"clashes,omitempty"`   // others that wait and change the same things; filled in here

	Sealed, SealedWords *domain.Sealed `json:"-"`
}

// ProposalPage is proposals and the cursor of the next page.
type ProposalPage struct {
	Items []Proposal        `json:"items"`
	Next  string            `json:"next,omitempty"`
	Names map[string]string `json:"names,omitempty"` // of the people and agents in Items, where known
}

// AgentPage is agents and the cursor of the next page.
type AgentPage struct {
	Items []Agent `json:"items"`
	Next  string  `json:"next,omitempty"`
}

// Agent is a program that acts for a person.
type Agent struct {
	ID      string    `json:"id"`
	Name    string    `json:"name,omitempty"` // filled in here
	Person  string    `json:"person"`
	Behind  string    `json:"behind,omitempty"` // that person's name, where it was asked for
	Mode    string    `json:"mode"`
	Scopes  []string  `json:"scopes"`
	Site    string    `json:"site,omitempty"`
	Confirm bool      `json:"confirm,omitempty"`
	Paused  bool      `json:"paused,omitempty"`
	Made    time.Time `json:"made,omitzero"`
	Last    time.Time `json:"last,omitzero"` // its last call
	Keys    []Key     `json:"keys"`

	Collection string `json:"collection,omitempty"` // the one collection of articles it works on

	Lent []Lent `json:"lent,omitempty"` // what it was lent for a while, oldest first, ended ones included
}

// Lent is a freer mode for a while, or a yes in advance to one kind of change
// with one key on one site.
type Lent struct {
	ID     string    `json:"id"`
	Mode   string    `json:"mode,omitempty"`
	Action string    `json:"action,omitempty"`
	Key    string    `json:"key,omitempty"`
	Site   string    `json:"site,omitempty"`
	By     string    `json:"by"`
	Until  time.Time `json:"until"`
	Ended  bool      `json:"ended,omitempty"`
}

// Key is one way in of an agent, without the secret, which nobody has.
type Key struct {
	ID      string    `json:"id"`
	Mode    string    `json:"mode,omitempty"`
	Scopes  []string  `json:"scopes,omitempty"`
	Made    time.Time `json:"made,omitzero"`
	Expires time.Time `json:"expires,omitzero"`
	Revoked bool      `json:"revoked,omitempty"`

	Site       string    `json:"site,omitempty"`
	Collection string    `json:"collection,omitempty"`
	Prefix     string    `json:"prefix,omitempty"`   // how its text begins, to tell it from others
	LastUsed   time.Time `json:"lastUsed,omitzero"`  // to the minute; zero: never
	Next       string    `json:"next,omitempty"`     // the key that took its place
	EndsSoon   bool      `json:"endsSoon,omitempty"` // within the week, and none is in its place yet
}

// Seated is a person with a seat.
type Seated struct {
	ID   string      `json:"id"`
	Name string      `json:"name,omitempty"` // filled in here
	Role policy.Role `json:"role"`
}

// Workspace is the rules that hold for every agent of it.
type Workspace struct {
	Paused           bool   `json:"paused"`
	AutoPublishLimit int    `json:"autoPublishLimit"`
	LocalMode        string `json:"localMode"`
	UndoHours        int    `json:"undoHours"` // how long an action can be taken back
}

// SiteRow is one site and how much of it is pending.
type SiteRow struct {
	ID      string         `json:"id"`
	Title   string         `json:"title"`
	Live    domain.Version `json:"live"` // of its public state; 0: nothing was ever published
	Pending int            `json:"pending"`
}

// Pending is what publishing a site now would change, and what the low-risk
// rule would say to it.
type Pending struct {
	Changes   []domain.Change   `json:"changes"`
	AutoCheck domain.AutoCheck  `json:"autoCheck"`
	Position  commands.Position `json:"position"`
}

// VersionPage is a site's publishes, newest first.
type VersionPage struct {
	Items []Version `json:"items"`
	Next  string    `json:"next,omitempty"`
}

// Version is one publish.
type Version struct {
	Version   string           `json:"version"` // p12
	At        time.Time        `json:"at"`
	Action    string           `json:"action"`
	ID        domain.ID        `json:"id,omitempty"`
	Principal domain.Principal `json:"principal"`
	Skill     string           `json:"skill,omitempty"`
	Reason    string           `json:"reason,omitempty"` // filled in here
	Live      bool             `json:"live"`

	Sealed *domain.Sealed `json:"-"`
}

// View names what of a site is looked at: one of a version (live, latest or
// p12), what is live with some items at other versions, or what is live with a
// proposal carried out. The zero View is the latest.
type View struct {
	Version  string             `json:"v,omitempty"`
	Items    []site.PreviewItem `json:"i,omitempty"`
	Proposal string             `json:"p,omitempty"`
}

// public is what everybody sees.
var public = View{Version: "live"}

// raw spells arguments as the road reads them.
func raw(args any) (json.RawMessage, error) { return json.Marshal(args) }
