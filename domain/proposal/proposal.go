// Package proposal is calls that wait for a person: what they would change as
// it was shown, and what became of them. Every way a proposal can end is a
// version of one stream, so it ends once.
package proposal

import (
	"encoding/json"
	"slices"
	"time"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/vocab"
)

// Status is where a proposal stands.
type Status string

// The statuses. Settled proposals were approved and carried out.
const (
	Waiting     Status = "waiting"
	IsApproved  Status = "approved"
	IsSettled   Status = "settled"
	IsDeclined  Status = "declined"
	IsWithdrawn Status = "withdrawn"
	IsExpired   Status = "expired"
)

// Proposal is as much as deciding on it and carrying it out needs.
type Proposal struct {
	Status   Status
	Asker    domain.Principal
	Card     Filed
	Calls    []Called
	By       string     // who approved or declined
	Yesses   []Assented // of those who said yes while it takes more people
	Code     string     // of the decline
	Results  []Result
	Approval domain.ID // the action that approved
	Reminded bool      // it was said that its time is nearly over
	Gone     string    // why the system withdrew it; empty: its asker did
	Chosen   []Chosen  // parts that are carried out; none: all
}

// Fields show where it stands.
func (p Proposal) Fields() []domain.Field {
	if p.Status == "" {
		return nil
	}
	return []domain.Field{
		{Name: "status", Value: string(p.Status)},
		{Name: "headline", Value: p.Card.Headline},
	}
}

// Called is the headline.
func (p Proposal) Called() string { return p.Card.Headline }

// Kind is proposals as the road sees them.
var Kind = action.KindOf[Proposal, Event]("proposal", "prop", Words)

// Event is a fact about one proposal.
type Event interface{ domain.Event[Proposal, Event] }

// Words are the names in the log. They outlive the code: never reuse one.
var Words = []vocab.Word{
	vocab.Say[Filed]("proposal.filed"),
	vocab.Say[Called]("proposal.called"),
	vocab.Say[Approved]("proposal.approved"),
	vocab.Say[Declined]("proposal.declined"),
	vocab.Say[Withdrawn]("proposal.withdrawn"),
	vocab.Say[Expired]("proposal.expired"),
	vocab.Say[Settled]("proposal.settled"),
	vocab.Say[Assented]("proposal.assented"),
	vocab.Say[Reminded]("proposal.reminded"),
}

// Filed is a held call: the card as the server built it. The question and the
// verdict ride in the envelope.
type Filed struct {
	Asker    domain.Principal `json:"asker"`
	Headline string           `json:"headline"`
	Cause    string           `json:"cause"`
	Changes  int              `json:"changes"` // how many things change
	Counts   Counts           `json:"counts"`
	Digest   string           `json:"digest"`          // of the whole card
	Lines    []domain.Change  `json:"lines,omitempty"` // the card, clipped
	Clipped  bool             `json:"clipped,omitempty"`
	Reads    []Read           `json:"reads"` // what it was rehearsed on
	Expires  time.Time        `json:"expires"`
	Together bool             `json:"together,omitempty"` // its calls are carried out all or none
}

// Counts is how big a card is.
type Counts struct {
	Added   int `json:"added"`
	Edited  int `json:"edited"`
	Removed int `json:"removed"`
}

// CountsOf counts a card.
func CountsOf(changes []domain.Change) (n Counts) {
	for _, c := range changes {
		switch c.Change {
		case domain.Added:
			n.Added++
		case domain.Removed:
			n.Removed++
		default:
			n.Edited++
		}
	}
	return n
}

// Read is one stream and the version that was looked at.
type Read struct {
	Stream  string         `json:"stream"`
	Version domain.Version `json:"version"`
}

// Called is one call of a proposal, as it will be run: exactly as filed.
type Called struct {
	Part   int             `json:"part"` // from 1
	Action string          `json:"action"`
	Args   json.RawMessage `json:"args"`
	Target string          `json:"target"` // the stream it would change

	// Of one of several only.
	Digest string `json:"digest,omitempty"` // of its own part of the card
	Needs  []int  `json:"needs,omitempty"`  // parts it was rehearsed on: without them it falls
}

// Approved is a person's yes to what they saw.
type Approved struct {
	By     string `json:"by"`
	Digest string `json:"digest"` // of the card that was on screen

	// The card itself, clipped, where it was not as filed any more.
	Counts  Counts          `json:"counts,omitzero"`
	Lines   []domain.Change `json:"lines,omitempty"`
	Clipped bool            `json:"clipped,omitempty"`

	Action domain.ID `json:"action"` // the deciding itself

	Parts []Chosen `json:"parts,omitempty"` // of several calls: those that are carried out
}

// Chosen is one part of a card that was said yes to.
type Chosen struct {
	Part   int    `json:"part"`
	Digest string `json:"digest"` // of that part of the card
}

// Assented is one person's yes to what takes more than one.
type Assented struct {
	By     string `json:"by"`
	Digest string `json:"digest"` // of the card that was on screen
}

// Declined is a person's no. Their words are sealed in the envelope.
type Declined struct {
	By   string `json:"by"`
	Code string `json:"code,omitempty"`
}

// Withdrawn is the asker's own second thought, or the system's word that there
// is nothing left to decide about.
type Withdrawn struct {
	Gone string `json:"gone,omitempty"` // why the system withdrew it: target, key or done
}

// Expired is nobody's answer: silence is never a yes.
type Expired struct{}

// Reminded says that it still waits and that its time is nearly over.
type Reminded struct{}

// Settled is what became of each call.
type Settled struct {
	Results []Result `json:"results"`
}

// Result is what became of one call.
type Result struct {
	Part    int       `json:"part"`
	Outcome string    `json:"outcome"` // done | idle | refused; of several also left (not chosen) | fell (with another)
	Action  domain.ID `json:"action,omitempty"`
	Code    string    `json:"code,omitempty"`
	Reason  string    `json:"reason,omitempty"`
}

// Evolve puts the card on the table.
func (e Filed) Evolve(p Proposal) Proposal {
	p.Status, p.Asker, p.Card = Waiting, e.Asker, e
	return p
}

// Evolve adds or replaces the call of that part.
func (e Called) Evolve(p Proposal) Proposal {
	p.Calls = slices.DeleteFunc(slices.Clone(p.Calls), func(c Called) bool { return c.Part == e.Part })
	p.Calls = append(p.Calls, e)
	slices.SortFunc(p.Calls, func(a, b Called) int { return a.Part - b.Part })
	return p
}

// Evolve notes the yes.
func (e Approved) Evolve(p Proposal) Proposal {
	p.Status, p.By, p.Approval, p.Chosen = IsApproved, e.By, e.Action, e.Parts
	if e.Lines != nil {
		p.Card.Digest, p.Card.Counts, p.Card.Lines, p.Card.Clipped = e.Digest, e.Counts, e.Lines, e.Clipped
	}
	return p
}

// Evolve notes one yes of several, once.
func (e Assented) Evolve(p Proposal) Proposal {
	if !slices.Contains(p.Yesses, e) {
		p.Yesses = append(slices.Clone(p.Yesses), e)
	}
	return p
}

// Evolve notes the no.
func (e Declined) Evolve(p Proposal) Proposal {
	p.Status, p.By, p.Code = IsDeclined, e.By, e.Code
	return p
}

// Evolve takes it off the table.
func (e Withdrawn) Evolve(p Proposal) Proposal {
	p.Status, p.Gone = IsWithdrawn, e.Gone
	return p
}

// Evolve takes it off the table.
func (Expired) Evolve(p Proposal) Proposal {
	p.Status = IsExpired
	return p
}

// Evolve notes that it was said: it is said once.
func (Reminded) Evolve(p Proposal) Proposal {
	p.Reminded = true
	return p
}

// Evolve notes the results.
func (e Settled) Evolve(p Proposal) Proposal {
	p.Status, p.Results = IsSettled, e.Results
	return p
}

// Reverse is nil: what was asked was asked. Withdraw it instead.
func (Filed) Reverse(Proposal) Event { return nil }

// Reverse is nil, as for Filed.
func (Called) Reverse(Proposal) Event { return nil }

// Reverse is nil: what was approved is undone by undoing what it did.
func (Approved) Reverse(Proposal) Event { return nil }

// Reverse is nil: decline it, or let it expire.
func (Assented) Reverse(Proposal) Event { return nil }

// Reverse is nil: ask again.
func (Declined) Reverse(Proposal) Event { return nil }

// Reverse is nil: ask again.
func (Withdrawn) Reverse(Proposal) Event { return nil }

// Reverse is nil: ask again.
func (Expired) Reverse(Proposal) Event { return nil }

// Reverse is nil: it was said.
func (Reminded) Reverse(Proposal) Event { return nil }

// Reverse is nil: undo the actions instead.
func (Settled) Reverse(Proposal) Event { return nil }
