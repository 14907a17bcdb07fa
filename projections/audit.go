package projections

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"assent/domain"
	"assent/domain/conduct"
	"assent/domain/policy"
	"assent/domain/proposal"
)

// How large the changes kept in one line of the audit may be, in bytes. What
// is cut is still in the versions and in the log.
const (
	changesRoom = 24 << 10
	valueRoom   = 1 << 10
)

// Entry is one line of the audit: one action, whatever it did.
type Entry struct {
	ID        domain.ID        `json:"id"`
	Position  domain.Position  `json:"position,string"` // of its first event
	At        time.Time        `json:"at"`
	Action    string           `json:"action"`
	Principal domain.Principal `json:"principal"`
	Person    string           `json:"person,omitempty"`
	Mode      string           `json:"mode,omitempty"`
	Skill     string           `json:"skill,omitempty"`
	Via       domain.Via       `json:"via,omitzero"`
	Client    domain.Client    `json:"client,omitzero"`
	Target    Target           `json:"target,omitzero"`
	Outcome   string           `json:"outcome"`         // done | waiting | refused | idle | read
	Count     int              `json:"count,omitempty"` // of refusals, idle calls or reads summed up in this line
	Refusal   *domain.Refusal  `json:"refusal,omitempty"`
	Verdict   *domain.Verdict  `json:"verdict,omitempty"`
	Changes   []domain.Line    `json:"changes"`
	Clipped   bool             `json:"clipped,omitempty"` // changes were cut to fit
	Reason    string           `json:"reason,omitempty"`  // for the caller to open from Sealed
	Sealed    *domain.Sealed   `json:"-"`
	Proposal  string           `json:"proposal,omitempty"`
	DecidedBy string           `json:"decidedBy,omitempty"` // who said yes, or to a waiting one no
	Yes       *Yes             `json:"yes,omitempty"`       // that it rests on
	Undoes    domain.ID        `json:"undoes,omitempty"`
	Undone    domain.ID        `json:"undone,omitempty"` // the action that took it back
	Chose     *domain.Choice   `json:"chose,omitempty"`  // of an undo: field by field
	Batch     domain.ID        `json:"batch,omitempty"`  // what it belongs to with others
	Args      string           `json:"args,omitempty"`   // digest of its arguments
}

// Yes is what lifted a hold. The three kinds are never mixed: approval (of a
// signed-in person, for this very call), confirmation (through the agent's own
// client) and standing (of a person, in advance).
type Yes struct {
	Kind string `json:"kind"`
	By   string `json:"by,omitempty"`
	ID   string `json:"id,omitempty"` // of the yes in advance
}

// yesOf is the yes that an event rests on. Whose a yes in advance was is in the
// question, which the first event of the action carries.
func yesOf(e domain.Envelope) *Yes {
	switch {
	case e.ApprovedBy != "":
		return &Yes{Kind: policy.Approval, By: e.ApprovedBy}
	case e.ConfirmedBy != "":
		return &Yes{Kind: policy.Confirmation, By: e.ConfirmedBy}
	case e.Standing == "":
		return nil
	}
	yes := &Yes{Kind: policy.Standing, ID: e.Standing}
	var q struct {
		Yes *policy.Yes `json:"yes"`
	}
	if err := json.Unmarshal(e.Question, &q); err == nil && q.Yes != nil {
		yes.By = q.Yes.By
	}
	return yes
}

// Target is the thing an action is about, and its version afterwards.
type Target struct {
	Kind    string         `json:"kind,omitempty"`
	ID      string         `json:"id"`
	Version domain.Version `json:"version,omitempty"`
}

// Trace is one event of an action.
type Trace struct {
	Stream  domain.Stream
	Version domain.Version
}

// auditRow is an entry as it is stored.
type auditRow struct {
	Entry
	Sealed *domain.Sealed `json:"sealed,omitempty"`
	Traces []Trace        `json:"traces,omitempty"`
	Used   int            `json:"used,omitempty"` // bytes of changes
	Rank   int            `json:"rank,omitempty"` // how good the target is
}

// entry is the entry for reading.
func (r auditRow) entry() Entry {
	e := r.Entry
	e.Sealed = r.Sealed
	if e.Changes == nil {
		e.Changes = []domain.Line{}
	}
	return e
}

func (r auditRow) cause() string {
	if r.Verdict == nil {
		return ""
	}
	return r.Verdict.Cause
}

func (r auditRow) agent() string {
	if r.Principal.IsAgent() {
		return r.Principal.ID
	}
	return ""
}

func (r auditRow) person() string {
	if r.Person == "" && r.Principal.Kind == domain.KindPerson {
		return r.Principal.ID
	}
	return r.Person
}

// audit is who did what. Every event is in it: those of one action in one row,
// each line of conduct in a row of its own.
var audit = Projection[auditRow]{
	Name: "audit", Version: 4,
	Keys: func(f Fact) []string {
		keys := []string{auditKey(f)}
		if f.Envelope.Undoes != "" && did(f) {
			keys = append(keys, key(f.Stream.Workspace, string(f.Envelope.Undoes)))
		}
		return keys
	},
	Fold: func(k string, r auditRow, f Fact) (auditRow, bool) {
		if k != auditKey(f) { // the action that this one takes back
			r.Undone = f.Envelope.Action
			return r, r.ID != ""
		}
		if r.Position == 0 {
			r = opened(f)
		}
		r = r.about(f)
		r.Traces = append(r.Traces[:len(r.Traces):len(r.Traces)], Trace{f.Stream, f.Version})
		return r.changed(f), true
	},
	Columns: []Column[auditRow]{
		text("id", func(r auditRow) domain.ID { return r.ID }),
		number("position", func(r auditRow) domain.Position { return r.Position }),
		text("agent", auditRow.agent),
		text("person", auditRow.person),
		text("via_key", func(r auditRow) string { return r.Via.Key }),
		text("session", func(r auditRow) string { return r.Via.Session }),
		text("action", func(r auditRow) string { return r.Action }),
		text("target", func(r auditRow) string { return r.Target.ID }),
		text("outcome", func(r auditRow) string { return r.Outcome }),
		text("cause", auditRow.cause),
		text("skill", func(r auditRow) string { return r.Skill }),
		text("proposal", func(r auditRow) string { return r.Proposal }),
		text("undone", func(r auditRow) domain.ID { return r.Undone }),
		number("at", func(r auditRow) int64 { return r.At.UnixMicro() }),
	},
	Indexes: append([]string{"workspace, position", "workspace, at, position", "workspace, id"}, auditIndexes()...),
}

func auditKey(f Fact) string {
	if f.Stream.Category == conduct.Kind.Category || f.Envelope.Action == "" {
		return key(f.Stream.Workspace, fmt.Sprintf("at %020d", f.Position))
	}
	return key(f.Stream.Workspace, string(f.Envelope.Action))
}

// did says that an event changed something, rather than asking for it or only
// making room for it.
func did(f Fact) bool { return rankOf(f.Stream.Category) == ofThings }

// opened is the row of an action by its first event.
func opened(f Fact) auditRow {
	e := f.Envelope
	r := auditRow{Entry: Entry{
		ID: e.Action, Position: f.Position, At: f.At, Action: e.Name,
		Principal: e.Principal, Person: e.Person, Mode: e.Mode, Skill: e.Skill, Via: e.Via, Client: e.Client,
		Outcome: unknown, Proposal: e.Proposal, DecidedBy: e.ApprovedBy, Undoes: e.Undoes,
		Chose: e.Chose, Batch: e.Correlation,
	}}
	if r.DecidedBy == "" {
		r.DecidedBy = e.ConfirmedBy
	}
	return r
}

// about adds what an event says of the action as a whole.
func (r auditRow) about(f Fact) auditRow {
	e := f.Envelope
	if r.Verdict == nil {
		r.Verdict = e.Verdict
	}
	if r.Yes == nil || r.Yes.By == "" && e.Question != nil {
		r.Yes = yesOf(e)
	}
	if r.Sealed == nil {
		r.Sealed = e.Reason
	}
	if r.Args == "" {
		r.Args = e.Args
	}
	if rank := rankOf(f.Stream.Category); rank >= r.Rank && (rank > r.Rank || r.Target.ID == "" || r.Target.ID == f.Stream.ID) {
		r.Rank, r.Target = rank, Target{f.Stream.Category, f.Stream.ID, f.Version}
	}
	if r.Outcome == unknown && r.Rank > onTheWay {
		r.Outcome = "done"
	}
	if p, ok := f.Before.(proposal.Proposal); ok {
		r.Proposal = f.Stream.ID
		if p.Status == "" {
			r.Outcome = "waiting"
		}
	}
	switch c := f.Event.(type) { // conduct has no state that could say it
	case conduct.Refused:
		r.Outcome, r.Count, r.Refusal = "refused", c.Count, &domain.Refusal{Code: c.Code, Reason: c.Why}
		r.Action, r.Target = c.Action, targetOf(c.Target)
	case conduct.Idle:
		r.Outcome, r.Count, r.Action, r.Target = "idle", c.Count, c.Action, targetOf(c.Target)
	case conduct.Read:
		r.Outcome, r.Count, r.Action, r.Target = "read", c.Count, c.Action, Target{}
		if len(c.Targets) > 0 {
			r.Target = targetOf(c.Targets[0])
		}
	}
	return r
}

// rankOf orders kinds by how well they say what an action is about: the thing
// itself, else what was asked, else what was claimed on the way.
func rankOf(category string) int {
	switch category {
	case "address", "command", "pace":
		return onTheWay
	case proposal.Kind.Category, conduct.Kind.Category:
		return 2
	}
	return ofThings
}

const (
	onTheWay = 1
	ofThings = 3
)

// unknown is how an action has ended of which the log holds only what was to
// come before the thing itself: on a log that is not atomic, whoever asks again
// goes on with it.
const unknown = "unknown"

// targetOf reads a target as conduct keeps it: article/art_1, or only an id.
func targetOf(name string) Target {
	if kind, id, both := strings.Cut(name, "/"); both {
		return Target{Kind: kind, ID: id}
	}
	return Target{ID: name}
}

// changed adds what an event changed. What is filed shows the card: that is
// what would change.
func (r auditRow) changed(f Fact) auditRow {
	if p, ok := f.After.(proposal.Proposal); ok && f.Before.(proposal.Proposal).Status == "" {
		for _, c := range p.Card.Lines {
			for _, l := range c.Fields {
				l.Of = c.ID
				r = r.add(l)
			}
		}
		r.Clipped = r.Clipped || p.Card.Clipped
		return r
	}
	if f.After == nil {
		return r
	}
	for _, l := range domain.Diff(f.Before.Fields(), f.After.Fields()) {
		if f.Stream.ID != r.Target.ID {
			l.Of = f.Stream.ID
		}
		r = r.add(l)
	}
	return r
}

// add keeps a line, cut where it is too long, as long as there is room.
func (r auditRow) add(l domain.Line) auditRow {
	var cut, cut2 bool
	l.Before, cut = clip(l.Before)
	l.After, cut2 = clip(l.After)
	r.Clipped = r.Clipped || cut || cut2
	size, err := json.Marshal(l)
	if err != nil || r.Used+len(size) > changesRoom {
		r.Clipped = true
		r.Used = changesRoom // nothing after it either: a list with holes would mislead
		return r
	}
	r.Used += len(size) + 1
	r.Changes = append(r.Changes[:len(r.Changes):len(r.Changes)], l)
	return r
}

// clip shortens a value that is too long: text to its beginning, anything else
// to a note of how long it is.
func clip(v any) (any, bool) {
	if s, ok := v.(string); ok {
		if len(s) <= valueRoom {
			return v, false
		}
		return strings.ToValidUTF8(s[:valueRoom], "") + "…", true
	}
	if v == nil {
		return nil, false
	}
	doc, err := json.Marshal(v)
	if err != nil || len(doc) > valueRoom {
		return fmt.Sprintf("… (%d bytes)", len(doc)), true
	}
	var plain any // as it will be read back: a row must not depend on whether it was
	if err := json.Unmarshal(doc, &plain); err != nil {
		return fmt.Sprintf("… (%d bytes)", len(doc)), true
	}
	return plain, false
}
