package commands

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"slices"
	"time"
	"unicode/utf8"

	"assent/domain"
	"assent/domain/person"
	"assent/domain/policy"
	"assent/domain/proposal"
)

// Desk is where people decide. Its methods take a domain.Person, which only
// signing in makes: no tool, no key and no command line gets here.
type Desk struct{ road *Road }

// NewDesk is the desk beside a road.
func NewDesk(r *Road) *Desk { return &Desk{r} }

// decision is one person deciding, once.
type decision struct {
	road *Road
	ctx  context.Context
	by   domain.Person
	name string // proposal.approve, proposal.decline, action.undo
	id   domain.ID
	now  time.Time
	role policy.Role
	seat thing
}

// Approve runs exactly what was filed, once, after checking again that all
// concerned still may. digest is that of the card on the person's screen;
// empty stands for the card as filed. What would now read differently is
// refused as changed-since-shown, with the card as it is now among the
// outcome's changes and its digest as the proposal's. Of several calls, parts
// are those the person keeps; none stands for all. What needs a part that was
// left out falls with it, and what became of each is in the outcome.
func (d *Desk) Approve(ctx context.Context, by domain.Person, id, digest string, parts ...int) (Outcome, error) {
	return d.decide(ctx, by, "proposal.approve", id, func(dec *decision, p proposal.Proposal, history []domain.Recorded, at thing) (Outcome, error) {
		filed := history[0].Envelope
		if err := p.Decidable(dec.now); err != nil {
			return Outcome{}, err // over, whatever it would do
		}
		card, err := d.road.rehearseAgain(ctx, p, history, at.stream)
		if no, meant := errors.AsType[*domain.Refusal](err); meant && no.Code == nothing.Code {
			return Outcome{}, domain.Refuse("changed-since-shown", "What this was about is no longer there. Decline it, or let it expire.")
		}
		if err != nil {
			return Outcome{}, err
		}
		for permission := range card.permissions {
			if !dec.role.May(permission) {
				return Outcome{}, domain.Refuse("permission", "Your role may not do this itself (it needs `%s`), so it cannot approve it either.", permission)
			}
		}
		if len(parts) > 0 && !ofSeveral(p) && !slices.Equal(parts, []int{1}) {
			return Outcome{}, domain.Refuse("invalid", "This is one change, so it has no parts to choose from. Leave `parts` out.")
		}
		shown := digest
		if shown == "" {
			shown = p.Card.Digest
		}
		if card.digest != shown {
			now, _ := clipCard(card.changes)
			return Outcome{
				Outcome:  Refused,
				Refusal:  domain.Refuse("changed-since-shown", "What this would do has changed since it was shown. Look at it again and decide anew."),
				Changes:  clipLines(linesOf(card.changes)),
				Proposal: Moved{ID: id, Digest: card.digest, Filed: p.Card.Lines, Now: now},
			}, nil
		}
		if card.rules.Separation == policy.SeparateOn && filed.Principal.IsAgent() && filed.Person == by.ID() {
			return Outcome{}, domain.Refuse("permission", "This agent works for you, and the rules here want somebody else to decide on what it asks.")
		}
		moved := card.digest != p.Card.Digest
		var chosen []proposal.Chosen
		if ofSeveral(p) {
			if card, chosen, err = d.road.chosen(ctx, p, history, at.stream, card, parts); err != nil {
				return Outcome{}, err
			}
		}
		events, err := proposal.Approve(p, policy.Decider{ID: by.ID(), Role: dec.role}, shown, card.deciders(), dec.id, dec.now)
		if err != nil {
			return Outcome{}, err
		}
		if yes, more := events[0].(proposal.Assented); more {
			receipt, err := dec.append(at, events, nil, card.checks)
			if err != nil {
				return Outcome{}, err
			}
			return Outcome{
				Outcome: Waiting, Action: dec.id, Position: Position(receipt.Position),
				Target:   &Target{Kind: "proposal", ID: id, Version: at.version + 1},
				Proposal: &Held{ID: id, URL: d.road.ProposalURL(id), Cause: p.Card.Cause, Expires: p.Card.Expires, State: string(proposal.Waiting), Yesses: len(yes.Evolve(p).Yesses)},
			}, nil
		}
		if yes, ok := events[0].(proposal.Approved); ok {
			if yes.Parts = chosen; moved {
				yes.Lines, yes.Clipped = clipCard(card.changes)
				yes.Counts = proposal.CountsOf(card.changes)
			}
			events[0] = yes
		}
		if _, err := dec.append(at, events, nil, card.checks); err != nil {
			return Outcome{}, err // a conflict: what it was rehearsed on has moved, so look again
		}
		return d.road.finish(ctx, at.stream)
	})
}

// Moved is a proposal that would no longer do what was shown: both cards.
type Moved struct {
	ID     string          `json:"id"`
	Digest string          `json:"digest"` // of the card as it is now: send it with a fresh yes
	Filed  []domain.Change `json:"filed"`
	Now    []domain.Change `json:"now"`
}

var plainCode = regexp.MustCompile(`^[a-z][a-z-]{0,39}$`)

// maxWords is how many characters of a person's own words are kept.
const maxWords = 500

// Decline says no. Code and words reach the agent; the words are sealed.
func (d *Desk) Decline(ctx context.Context, by domain.Person, id, code, words string) (Outcome, error) {
	return d.decide(ctx, by, "proposal.decline", id, func(dec *decision, p proposal.Proposal, _ []domain.Recorded, at thing) (Outcome, error) {
		if code == "" && words == "" {
			return Outcome{}, domain.Refuse("invalid", "Say why, so that the agent can do better.")
		}
		if utf8.RuneCountInString(words) > maxWords {
			return Outcome{}, domain.Refuse("invalid", "Keep the reason under 500 characters.")
		}
		if code != "" && !plainCode.MatchString(code) {
			return Outcome{}, domain.Refuse("invalid", "The code of a decline is a short word such as wrong-content. Put the rest into the reason.")
		}
		events, err := proposal.Decline(p, by.ID(), code, dec.now)
		if err != nil {
			return Outcome{}, err
		}
		var sealed *domain.Sealed
		if words != "" {
			if sealed, err = d.road.seal(ctx, by.Workspace(), by.ID(), words); err != nil {
				return Outcome{}, err
			}
		}
		receipt, err := dec.append(at, events, sealed, nil)
		if err != nil {
			return Outcome{}, err
		}
		return Outcome{Outcome: Done, Action: dec.id, Position: Position(receipt.Position), Target: &Target{Kind: "proposal", ID: id, Version: at.version + 1}}, nil
	})
}

// decide reads a proposal and who decides, and takes it again when it moved
// under the decision.
func (d *Desk) decide(ctx context.Context, by domain.Person, name, id string, do func(*decision, proposal.Proposal, []domain.Recorded, thing) (Outcome, error)) (Outcome, error) {
	return d.attempt(ctx, by, name, func(dec *decision) (Outcome, error) {
		if !dec.role.May("decide") {
			return Outcome{}, domain.Refuse("permission", "Your role does not decide on proposals.")
		}
		stream := domain.Stream{Category: proposal.Kind.Category, Workspace: by.Workspace(), ID: id}
		if !plainID.MatchString(id) {
			stream.ID = "unknown"
		}
		history, err := d.road.things.history(ctx, stream)
		if err != nil {
			return Outcome{}, err
		}
		state, err := proposal.Kind.Fold(eventsOf(history))
		if err != nil {
			return Outcome{}, err
		}
		if len(history) == 0 {
			return Outcome{}, domain.Refuse("not-found", "There is no such proposal.")
		}
		out, err := do(dec, state.(proposal.Proposal), history, thing{stream, state, domain.Version(len(history))})
		if _, meant := errors.AsType[*domain.Refusal](err); meant || err == nil && out.Outcome == Refused {
			if moved := dec.overtaken(stream, len(history)); moved != nil {
				return Outcome{}, moved
			}
		}
		return out, err
	})
}

// overtaken is a conflict if somebody else wrote to a proposal after so many of
// its events were read. What they did may be all that a refusal is about: one
// who came second is told who decided, not that the card has changed.
func (dec *decision) overtaken(stream domain.Stream, read int) error {
	now, err := dec.road.things.history(dec.ctx, stream)
	if err != nil {
		return err
	}
	own := func(r domain.Recorded) bool { return r.Envelope.Action == dec.id }
	if len(now) > read && !slices.ContainsFunc(now[read:], own) {
		return &Conflict{Stream: stream, Expected: domain.Version(read), Actual: domain.Version(len(now))}
	}
	return nil
}

// attempt is one decision by a seated person: refusals are recorded and given
// as outcomes, conflicts take it again.
func (d *Desk) attempt(ctx context.Context, by domain.Person, name string, do func(*decision) (Outcome, error)) (Outcome, error) {
	if by.IsZero() {
		return Outcome{}, errors.New("nobody signed in")
	}
	var id domain.ID
	for range attempts {
		now := d.road.now(ctx)
		if id == "" {
			id = domain.NewAction(now)
		}
		dec := &decision{road: d.road, ctx: ctx, by: by, name: name, id: id, now: now}
		out, err := dec.take(do)
		if again(err) {
			continue
		}
		if errors.Is(err, ErrUnknown) {
			return Outcome{Outcome: Unknown, Action: id}, nil
		}
		if no, meant := errors.AsType[*domain.Refusal](err); meant {
			out, err = Outcome{Outcome: Refused, Action: id, Refusal: no}, nil
		}
		if err == nil && out.Outcome == Refused {
			err = d.road.conduct.refused(dec.trip(), out.Refusal)
		}
		return out, err
	}
	return Outcome{}, ErrBusy
}

func (dec *decision) take(do func(*decision) (Outcome, error)) (Outcome, error) {
	seat, err := dec.road.things.load(dec.ctx, domain.Stream{Category: person.Kind.Category, Workspace: dec.by.Workspace(), ID: dec.by.ID()})
	if err != nil {
		return Outcome{}, err
	}
	dec.seat, dec.role = seat, seat.state.(person.Person).Role
	return do(dec)
}

// envelope is the record of a person deciding.
func (dec *decision) envelope() domain.Envelope {
	return domain.Envelope{
		Action:    dec.id,
		Name:      dec.name,
		Principal: domain.Principal{Kind: domain.KindPerson, ID: dec.by.ID()},
		Via:       domain.Via{Session: dec.by.Session()},
	}
}

// trip stands for the decision where conduct is written.
func (dec *decision) trip() *trip {
	return &trip{
		now: dec.now,
		errand: errand{
			road: dec.road, ctx: dec.ctx, id: dec.id, desk: true,
			call: Call{Workspace: dec.by.Workspace(), Action: dec.name, Principal: dec.envelope().Principal, Via: dec.envelope().Via},
		},
		checks: map[domain.Stream]domain.Version{},
	}
}

// append writes a decision's events to a thing, if the decider's seat is still
// what it was, and everything else it rests on.
func (dec *decision) append(at thing, events []proposal.Event, words *domain.Sealed, checks map[domain.Stream]domain.Version) (Receipt, error) {
	e := dec.envelope()
	e.Proposal, e.Reason = at.stream.ID, words
	list := make([]any, len(events))
	for i, ev := range events {
		list[i] = ev
	}
	fresh, err := dec.road.spell(dec.id, 0, []domain.Envelope{e}, list)
	if err != nil {
		return Receipt{}, err
	}
	rest := maps.Clone(checks)
	if rest == nil {
		rest = map[domain.Stream]domain.Version{}
	}
	rest[dec.seat.stream] = dec.seat.version
	return dec.road.append(dec.ctx, dec.road.withChecks([]Write{{at.stream, at.version, fresh}}, rest)...)
}

// card is a proposal rehearsed again, as things stand now.
type card struct {
	rules       policy.Rules // of the place, as they are now
	class       string
	changes     []domain.Change
	digest      string
	parts       map[int]string                   // of several calls, the digest of each one's part
	permissions map[string]bool                  // it takes all of these to say yes
	checks      map[domain.Stream]domain.Version // what it was rehearsed on
}

// rehearseAgain takes a proposal's call down the road as far as ask, with a
// person's yes: what policy now refuses stops it.
func (r *Road) rehearseAgain(ctx context.Context, p proposal.Proposal, history []domain.Recorded, stream domain.Stream) (card, error) {
	switch {
	case len(p.Calls) == 0:
		return card{}, errNoCalls
	case ofSeveral(p):
		return r.rehearseParts(ctx, p, history, stream, p.Calls)
	}
	t := r.tripOf(p, p.Calls[0], history[0].Envelope, stream)
	t.ctx, t.digest = ctx, ""
	t.start()
	for _, step := range []func() error{t.identify, t.find, t.read, t.look, t.rehearse, t.ask} {
		t.step(step)
	}
	if t.err != nil {
		return card{}, t.err
	}
	t.checks[t.stream] = t.thing.version
	return card{
		rules: t.question.Rules, class: string(t.action.Class), changes: t.changes, digest: cardDigest(t.action, t.stream, t.cmd.Raw, t.changes),
		permissions: map[string]bool{t.action.Deciding(): true}, checks: t.checks,
	}, nil
}

// tripOf is one call of a proposal, taken for who filed it with the yes of who
// approved it.
func (r *Road) tripOf(p proposal.Proposal, c proposal.Called, filed domain.Envelope, stream domain.Stream) *trip {
	var q policy.Question
	if err := json.Unmarshal(filed.Question, &q); err != nil {
		q = policy.Question{} // then nothing is allowed that the log does not say
	}
	call := Call{
		Workspace: stream.Workspace, Action: c.Action, Args: c.Args,
		Principal: filed.Principal, Person: filed.Person, Via: filed.Via, Client: filed.Client, Skill: filed.Skill,
		Mode: q.Mode, Scopes: q.Scopes, Site: q.OnlySite, Outside: q.Outside, Planned: q.Planned, Correlation: filed.Correlation,
	}
	if filed.Principal.Kind == domain.KindPerson {
		call.Person = filed.Principal.ID
	}
	t := &trip{errand: errand{
		road: r, call: call, proposal: stream.ID, derived: true, digest: p.Card.Digest,
		id:     callOf(stream.ID, c.Part),
		yes:    &policy.Yes{Kind: "approval", By: p.By},
		reason: filed.Reason,
	}}
	if target, err := domain.ParseStream(c.Target); err == nil {
		t.target = target.ID
	}
	return t
}

// finish carries out what was approved and notes what became of it. Ids derive
// from the proposal, so two finishers do it once.
func (r *Road) finish(ctx context.Context, stream domain.Stream) (Outcome, error) {
	history, err := r.things.history(ctx, stream)
	if err != nil {
		return Outcome{}, err
	}
	state, err := proposal.Kind.Fold(eventsOf(history))
	if err != nil {
		return Outcome{}, err
	}
	p := state.(proposal.Proposal)
	if p.Status != proposal.IsApproved {
		return Outcome{Outcome: Idle, Target: &Target{Kind: "proposal", ID: stream.ID, Version: domain.Version(len(history))}}, nil
	}
	filed, approval := history[0].Envelope, approvalOf(history)
	if ofSeveral(p) {
		return r.finishSeveral(ctx, p, history, stream)
	}
	var results []proposal.Result
	var last Outcome
	for _, c := range p.Calls {
		t := r.tripOf(p, c, filed, stream)
		t.digest = approval.digest
		out, err := r.take(ctx, t)
		if err != nil {
			return Outcome{}, err
		}
		if out.Outcome == Unknown {
			return out, nil // whoever comes next finds out
		}
		res := proposal.Result{Part: c.Part, Outcome: out.Outcome, Action: t.id}
		if out.Refusal != nil {
			res.Code, res.Reason = out.Refusal.Code, out.Refusal.Reason
		}
		results, last = append(results, res), out
	}
	events, err := proposal.Settle(p, results)
	if err != nil {
		return Outcome{}, err
	}
	receipt, err := r.settled(ctx, stream, domain.Version(len(history)), approval.envelope, events)
	if err != nil {
		return Outcome{}, err
	}
	last.Position = max(last.Position, Position(receipt.Position))
	last.Proposal = &Held{ID: stream.ID, URL: r.ProposalURL(stream.ID), Cause: p.Card.Cause, Expires: p.Card.Expires, State: string(proposal.IsSettled)}
	return last, nil
}

// approved is the yes that is being carried out.
type approved struct {
	envelope domain.Envelope
	digest   string
}

func approvalOf(history []domain.Recorded) approved {
	for _, h := range history {
		if a, ok := h.Event.(proposal.Approved); ok {
			return approved{h.Envelope, a.Digest}
		}
	}
	return approved{}
}

// settled appends the results. Another finisher may have been faster with the
// very same event: then that is the answer.
func (r *Road) settled(ctx context.Context, stream domain.Stream, at domain.Version, e domain.Envelope, events []proposal.Event) (Receipt, error) {
	list := make([]any, len(events))
	for i, ev := range events {
		list[i] = ev
	}
	e.Question, e.Verdict, e.Reason = nil, nil, nil
	fresh, err := r.spell(domain.Derive("cmd", stream.ID, "settled"), 0, []domain.Envelope{e}, list)
	if err != nil {
		return Receipt{}, err
	}
	receipt, err := r.append(ctx, Write{stream, at, fresh})
	if again(err) {
		head, err := r.Log.Head(ctx)
		return Receipt{Position: head.Position, At: head.At}, err
	}
	return receipt, err
}

func (r *Road) seal(ctx context.Context, workspace, person, words string) (*domain.Sealed, error) {
	return r.Sealer.Seal(ctx, workspace, person, words)
}

// now is log time: never earlier than the last event.
func (r *Road) now(ctx context.Context) time.Time {
	now := r.Clock().UTC()
	if head, err := r.Log.Head(ctx); err == nil && head.At.After(now) {
		return head.At
	}
	return now
}
