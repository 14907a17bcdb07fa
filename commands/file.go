package commands

import (
	"errors"
	"slices"
	"strings"

	"assent/domain"
	"assent/domain/proposal"
)

// proposalOf is the id of the proposal a call becomes when it is held.
func proposalOf(id domain.ID) string {
	return string(domain.DeriveAt(proposal.Kind.Prefix, id, "proposal"))
}

// callOf is the id of one call of a proposal when it is carried out, whoever
// finishes it.
func callOf(proposal string, part string) domain.ID {
	return domain.Derive("cmd", proposal, part)
}

// file turns a held call into a proposal: the card as it was rehearsed, the
// question and the verdict, and the call exactly as it will run.
func (t *trip) file() (Outcome, error) {
	id := proposalOf(t.id)
	lines, clipped := clipCard(t.changes)
	filed := proposal.Filed{
		Asker:    t.call.Principal,
		Headline: headline(t.action, t.stream, t.changes),
		Cause:    t.verdict.Cause,
		Changes:  len(t.changes),
		Counts:   proposal.CountsOf(t.changes),
		Digest:   cardDigest(t.action, t.stream, t.cmd.Raw, t.changes),
		Lines:    lines,
		Clipped:  clipped,
		Reads:    t.reads(),
		Expires:  t.now.Add(proposal.Lifetime),
	}
	called := proposal.Called{Part: 1, Action: t.action.Name, Args: t.cmd.Raw, Target: t.stream.String()}
	envelopes, err := t.envelopes(2)
	if err != nil {
		return Outcome{}, err
	}
	for i := range envelopes {
		envelopes[i].Proposal = id
	}
	fresh, err := t.road.spell(t.id, 0, envelopes, []any{filed, called})
	if err != nil {
		return Outcome{}, err
	}
	stream := domain.Stream{Category: proposal.Kind.Category, Workspace: t.call.Workspace, ID: id}
	receipt, err := t.road.Log.Append(t.ctx, t.road.withChecks([]Write{{stream, 0, fresh}}, t.checks)...)
	switch {
	case errors.Is(err, ErrUnknown):
		return Outcome{Outcome: Unknown, Action: t.id}, nil
	case err != nil:
		return Outcome{}, err
	}
	return Outcome{
		Outcome:  Waiting,
		Action:   t.id,
		Position: Position(receipt.Position),
		Target:   t.targetAt(t.thing.version),
		Changes:  clipLines(linesOf(t.changes)),
		Verdict:  &t.verdict,
		Proposal: t.held(id, filed, proposal.Waiting),
	}, nil
}

func (t *trip) held(id string, card proposal.Filed, status proposal.Status) *Held {
	return &Held{ID: id, URL: t.road.ProposalURL(id), Cause: card.Cause, Expires: card.Expires, State: string(status)}
}

// reads is what the card was rehearsed on: the target and all that was read.
func (t *trip) reads() []proposal.Read {
	reads := []proposal.Read{{Stream: t.stream.String(), Version: t.thing.version}}
	for s, v := range t.checks {
		reads = append(reads, proposal.Read{Stream: s.String(), Version: v})
	}
	slices.SortFunc(reads[1:], func(a, b proposal.Read) int { return strings.Compare(a.Stream, b.Stream) })
	return reads
}

// firstProposal answers a repeated call that was held with its proposal's
// present state.
func (t *trip) firstProposal() error {
	if t.proposal != "" {
		return nil // carrying one out
	}
	id := proposalOf(t.id)
	stream := domain.Stream{Category: proposal.Kind.Category, Workspace: t.call.Workspace, ID: id}
	history, err := t.road.things.history(t.ctx, stream)
	if err != nil || len(history) == 0 {
		return err
	}
	if history[0].Envelope.Args != t.cmd.Digest {
		return reused
	}
	state, err := proposal.Kind.Fold(eventsOf(history))
	if err != nil {
		return err
	}
	p := state.(proposal.Proposal)
	t.answer = &Outcome{
		Outcome:  Waiting,
		Action:   t.id,
		Position: Position(history[0].Position),
		Changes:  clipLines(linesOf(p.Card.Lines)),
		Verdict:  history[0].Envelope.Verdict,
		Proposal: t.held(id, p.Card, p.Status),
	}
	return nil
}
