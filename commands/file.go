package commands

import (
	"slices"
	"strings"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/proposal"
)

// file turns a held call into a proposal: the card as it was rehearsed, the
// question and the verdict, and the call exactly as it will run.
func (t *trip) file() (Outcome, error) {
	if t.filing == "" {
		t.filing = string(domain.NewID(proposal.Kind.Prefix, t.now))
	}
	id, stream := t.filing, t.proposalStream()
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
	// numbered below what a try that was to act may have left of the same action
	fresh, err := t.road.spell(t.id, -2, envelopes, []any{filed, called})
	if err != nil {
		return Outcome{}, err
	}
	return t.append([]Write{{stream, 0, fresh}}, stream, func(receipt Receipt) Outcome {
		return Outcome{
			Outcome:  Waiting,
			Action:   t.id,
			Position: Position(receipt.Position),
			Target:   t.targetAt(t.thing.version),
			Changes:  clipLines(linesOf(t.changes)),
			Verdict:  &t.verdict,
			Proposal: t.held(id, filed, proposal.Waiting),
		}
	})
}

// proposalStream is the proposal that the call becomes if it is held.
func (t *trip) proposalStream() domain.Stream {
	return t.streamOf(action.Ref{Category: proposal.Kind.Category, ID: t.filing})
}

func (t *trip) held(id string, card proposal.Filed, status proposal.Status) *Held {
	return &Held{ID: id, URL: t.road.ProposalURL(id), Cause: card.Cause, Expires: card.Expires, State: string(status)}
}

// mostReads is how many of the versions it was rehearsed on a card names. A publish
// of thousands names its own in its arguments.
const mostReads = 500

// reads is what the card was rehearsed on: the target and all that was read.
func (t *trip) reads() []proposal.Read {
	target := proposal.Read{Stream: t.stream.String(), Version: t.thing.version}
	reads := append([]proposal.Read{target}, readsOf(t.checks)...)
	return reads[:min(len(reads), mostReads)]
}

// readsOf are streams and versions in the order of names.
func readsOf(checks map[domain.Stream]domain.Version) []proposal.Read {
	var reads []proposal.Read
	for s, v := range checks {
		reads = append(reads, proposal.Read{Stream: s.String(), Version: v})
	}
	slices.SortFunc(reads, func(a, b proposal.Read) int { return strings.Compare(a.Stream, b.Stream) })
	return reads[:min(len(reads), mostReads)]
}
