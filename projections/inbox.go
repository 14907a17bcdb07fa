package projections

import (
	"cmp"
	"encoding/json"
	"time"

	"assent/domain"
	"assent/domain/proposal"
)

// Proposal is what waits for a person, or waited for one.
type Proposal struct {
	ID        string           `json:"id"`
	Status    string           `json:"status"`
	Headline  string           `json:"headline"`
	Cause     string           `json:"cause"`
	Asker     domain.Principal `json:"asker"`
	Person    string           `json:"person,omitempty"` // behind an agent
	Client    domain.Client    `json:"client,omitzero"`
	Mode      string           `json:"mode,omitempty"`
	Skill     string           `json:"skill,omitempty"`
	Reason    string           `json:"reason,omitempty"` // the asker's, for the caller to open from Sealed
	Sealed    *domain.Sealed   `json:"-"`
	Action    domain.ID        `json:"action"` // that filed it
	Verdict   *domain.Verdict  `json:"verdict,omitempty"`
	Things    int              `json:"things"` // how many change
	Counts    proposal.Counts  `json:"counts"`
	Digest    string           `json:"digest"`
	Changes   []domain.Change  `json:"changes,omitempty"` // the card's lines; lists leave them out
	Clipped   bool             `json:"clipped,omitempty"`
	Calls     []ProposalCall   `json:"calls,omitempty"`
	Filed     time.Time        `json:"filed"`
	Expires   time.Time        `json:"expires"`
	Reminded  bool             `json:"reminded,omitempty"` // its time is nearly over, and that was said
	DecidedBy string           `json:"decidedBy,omitempty"`
	DecidedAt time.Time        `json:"decidedAt,omitzero"` // when it stopped waiting, however it did
	Code      string           `json:"code,omitempty"`     // of the decline, or what is gone where the system withdrew it
	Words     string           `json:"words,omitempty"`    // of the decline, for the caller to open from SealedWords
	Results   []ProposalResult `json:"results,omitempty"`

	SealedWords *domain.Sealed `json:"-"`
}

// ProposalCall is one call as it will be run. Lists leave its arguments out.
type ProposalCall struct {
	Part   int             `json:"part"`
	Action string          `json:"action"`
	Args   json.RawMessage `json:"args,omitempty"`
	Target string          `json:"target"`
	Needs  []int           `json:"needs,omitempty"` // parts that it falls without
}

// ProposalResult is what became of one call.
type ProposalResult = proposal.Result

// inboxRow is a proposal as it is stored.
type inboxRow struct {
	Proposal
	Sealed      *domain.Sealed  `json:"sealed,omitempty"`
	SealedWords *domain.Sealed  `json:"sealedWords,omitempty"`
	Reads       []proposal.Read `json:"reads,omitempty"`
	Created     domain.Position `json:"created"`
}

// full is the proposal for reading.
func (r inboxRow) full() Proposal {
	p := r.Proposal
	p.Sealed, p.SealedWords = r.Sealed, r.SealedWords
	return p
}

// brief is the proposal without what makes it long.
func (r inboxRow) brief() Proposal {
	p := r.full()
	p.Changes = nil
	p.Calls = make([]ProposalCall, len(r.Calls))
	for i, c := range r.Calls {
		c.Args = nil
		p.Calls[i] = c
	}
	return p
}

// inbox is everything that waits for people, and what became of the rest.
var inbox = Projection[inboxRow]{
	Name: "inbox", Version: 4,
	Keys: func(f Fact) []string {
		if _, ok := f.After.(proposal.Proposal); !ok {
			return nil
		}
		return []string{key(f.Stream.Workspace, f.Stream.ID)}
	},
	Fold: func(_ string, r inboxRow, f Fact) (inboxRow, bool) {
		before, after := f.Before.(proposal.Proposal), f.After.(proposal.Proposal)
		e := f.Envelope
		if before.Status == "" {
			r.ID, r.Created, r.Filed, r.Action = f.Stream.ID, f.Position, f.At, e.Action
			r.Person, r.Client, r.Mode, r.Skill = e.Person, e.Client, e.Mode, e.Skill
			r.Verdict, r.Sealed = e.Verdict, e.Reason
		}
		if before.Status == proposal.Waiting && after.Status != proposal.Waiting {
			r.DecidedAt = f.At
		}
		if after.Status == proposal.IsDeclined && before.Status != proposal.IsDeclined {
			r.SealedWords = e.Reason
		}
		card := after.Card
		r.Status, r.Asker, r.Headline, r.Cause = string(after.Status), after.Asker, card.Headline, card.Cause
		r.Things, r.Counts, r.Digest, r.Changes, r.Clipped = card.Changes, card.Counts, card.Digest, card.Lines, card.Clipped
		r.Expires, r.Reads, r.Reminded = card.Expires, card.Reads, after.Reminded
		r.DecidedBy, r.Code, r.Results = after.By, cmp.Or(after.Code, after.Gone), after.Results
		r.Calls = nil
		for _, c := range after.Calls {
			r.Calls = append(r.Calls, ProposalCall{c.Part, c.Action, c.Args, c.Target, c.Needs})
		}
		return r, true
	},
	Columns: []Column[inboxRow]{
		text("id", func(r inboxRow) string { return r.ID }),
		text("status", func(r inboxRow) string { return r.Status }),
		text("asker", func(r inboxRow) string { return r.Asker.String() }),
		text("decided_by", func(r inboxRow) string { return r.DecidedBy }),
		number("expires", func(r inboxRow) int64 { return r.Expires.UnixMicro() }),
		number("created", func(r inboxRow) domain.Position { return r.Created }),
	},
	Indexes: []string{"workspace, created", "workspace, status, created", "workspace, asker, created", "status, expires"},
}
