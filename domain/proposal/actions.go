package proposal

import (
	"time"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/policy"
)

// Lifetime is how long a proposal waits before it expires.
const Lifetime = 7 * 24 * time.Hour

// Notice is how long before its end a proposal that still waits is brought up
// again.
const Notice = 24 * time.Hour

// Actions are what an agent can ask about proposals. Deciding on one is not
// among them: people do that at the desk.
var Actions = []*action.Action{List.Action, Get.Action, Withdraw, Refile}

// Which names a proposal in arguments.
type Which struct {
	Proposal string `json:"proposal" jsonschema:"the proposal's id (prop_…)"`
}

// Target is the proposal's id.
func (w Which) Target() string { return w.Proposal }

// List lists the caller's own proposals.
var List = action.Look(action.Page{}, action.Facts{
	Name:       "proposal.list",
	Title:      "List my proposals",
	About:      "Lists what you asked for that waits for a person, and what became of the rest, newest first.",
	Scope:      "any",
	Permission: "any",
})

// Get gives one of the caller's own proposals.
var Get = action.Look(Which{"prop_06g0example0000000000000000"}, action.Facts{
	Name:       "proposal.get",
	Title:      "Look at a proposal",
	About:      "Says what became of something you asked for: still waiting, done, or declined and why.",
	Scope:      "any",
	Permission: "any",
})

// WithdrawArgs takes a proposal back.
type WithdrawArgs struct {
	Which
	Asker domain.Principal `json:"-"` // filled in by the road: a proposal is withdrawn by who filed it
}

// SignedBy fills in who asks.
func (w WithdrawArgs) SignedBy(p domain.Principal) any {
	w.Asker = p
	return w
}

// Withdraw takes back a proposal that still waits.
var Withdraw = action.Of(Kind, withdraw,
	WithdrawArgs{Which: Which{"prop_06g0example0000000000000000"}},
	action.Facts{
		Name:       "proposal.withdraw",
		Title:      "Withdraw a proposal",
		About:      "Takes back something you asked for that still waits for a person.",
		Class:      action.Oneself,
		Scope:      "any",
		Permission: "any",
		Final:      true,
	})

func withdraw(p Proposal, w WithdrawArgs) ([]Event, error) {
	switch {
	case p.Status == "" || p.Asker != w.Asker:
		return nil, domain.Refuse("not-found", "You have no such proposal. List your proposals to find its id.")
	case p.Status == IsWithdrawn:
		return nil, nil // already so
	}
	if err := p.open(); err != nil {
		return nil, err
	}
	return []Event{Withdrawn{}}, nil
}

// RefileArgs asks for what was filed once more.
type RefileArgs struct{ Which }

// Refile files a proposal again that came to nothing. It is not decided here: the
// calls take the road anew, as things stand now.
var Refile = action.Of(Kind, func(Proposal, RefileArgs) ([]Event, error) { return nil, nil },
	RefileArgs{Which{"prop_06g0example0000000000000000"}},
	action.Facts{
		Name:       "proposal.refile",
		Title:      "File a proposal again",
		About:      "Asks again for exactly what you asked for in a proposal that expired, was declined or was withdrawn, as things stand now.",
		Class:      action.Oneself,
		Scope:      "any",
		Permission: "any",
		Final:      true,
	})

// Refilable is nil for a proposal of the asker's that came to nothing.
func (p Proposal) Refilable(asker domain.Principal) error {
	switch {
	case p.Status == "" || p.Asker != asker:
		return domain.Refuse("not-found", "You have no such proposal. List your proposals to find its id.")
	case p.Status == Waiting:
		return domain.Refuse("invalid", "This still waits for a person. There is no need to file it again.")
	case p.Status == IsApproved || p.Status == IsSettled:
		return domain.Refuse("already-decided", "This was approved and carried out. Ask for something new instead.")
	}
	return nil
}

// Approve is a person's yes to the card with this digest. Where it takes more
// people it is one of several: those to another card do not count.
func Approve(p Proposal, by policy.Decider, digest string, deciders policy.Deciders, decision domain.ID, now time.Time) ([]Event, error) {
	if err := p.Decidable(now); err != nil {
		return nil, err
	}
	var so policy.Yesses
	for _, y := range p.Yesses {
		if y.Digest == digest {
			so = append(so, y.By)
		}
	}
	complete, err := deciders.Next(so, by)
	switch {
	case err != nil:
		return nil, err
	case !complete:
		return []Event{Assented{By: by.ID, Digest: digest}}, nil
	}
	return []Event{Approved{By: by.ID, Digest: digest, Action: decision}}, nil
}

// Decline is a person's no.
func Decline(p Proposal, by, code string, now time.Time) ([]Event, error) {
	if err := p.Decidable(now); err != nil {
		return nil, err
	}
	return []Event{Declined{By: by, Code: code}}, nil
}

// Expire ends a proposal whose time is over; nothing before that.
func Expire(p Proposal, now time.Time) ([]Event, error) {
	if p.Status != Waiting || now.Before(p.Card.Expires) {
		return nil, nil
	}
	return []Event{Expired{}}, nil
}

// Remind brings up a proposal that still waits when its time is nearly over,
// once; nothing before that, and nothing when it is over.
func Remind(p Proposal, now time.Time) ([]Event, error) {
	if p.Status != Waiting || p.Reminded || now.Before(p.Card.Expires.Add(-Notice)) || !now.Before(p.Card.Expires) {
		return nil, nil
	}
	return []Event{Reminded{}}, nil
}

// Release withdraws a proposal whose cause is gone: what it was about, the key it
// was asked through, or anything left to do. Nothing while there is none of that.
func Release(p Proposal, gone string) ([]Event, error) {
	if p.Status != Waiting || gone == "" {
		return nil, nil
	}
	return []Event{Withdrawn{Gone: gone}}, nil
}

// Settle notes what became of an approved proposal's calls, once.
func Settle(p Proposal, results []Result) ([]Event, error) {
	if p.Status != IsApproved {
		return nil, nil
	}
	return []Event{Settled{results}}, nil
}

// Decidable is nil while somebody can say yes or no.
func (p Proposal) Decidable(now time.Time) error {
	if err := p.open(); err != nil {
		return err
	}
	if !now.Before(p.Card.Expires) {
		return domain.Refuse("expired", "This waited too long and expired. It can be asked for again.")
	}
	return nil
}

// withdrawn says why a proposal was, by what is gone.
var withdrawn = map[string]string{
	"":       "This was withdrawn by who asked for it.",
	"target": "This was withdrawn by the system: what it was about is no longer there.",
	"key":    "This was withdrawn by the system: the key it was asked through was revoked or is over.",
	"done":   "This was withdrawn by the system: everything it would change is so already.",
}

// open is nil while a proposal still waits.
func (p Proposal) open() error {
	switch p.Status {
	case Waiting:
		return nil
	case "":
		return domain.Refuse("not-found", "There is no such proposal.")
	case IsWithdrawn:
		return domain.Refuse("withdrawn", "%s", withdrawn[p.Gone])
	case IsExpired:
		return domain.Refuse("expired", "This waited too long and expired. It can be asked for again.")
	}
	return domain.Refuse("already-decided", "This was already decided (%s by %s).", p.Status, p.By)
}
