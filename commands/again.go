package commands

import (
	"strconv"
	"strings"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/command"
	"assent/domain/proposal"
)

// given adds, to what a call with a command id of its caller's own appends,
// that the id now stands for this. Whoever asks again meets it; of two who ask
// at once, one does.
func (t *trip) given(writes []Write, target domain.Stream) ([]Write, error) {
	if !t.commanded {
		return writes, nil
	}
	e := t.envelope()
	if t.first != nil { // it has no line of its own in the audit, so it stands in that of its first part
		e = t.first.envelope()
	}
	e.Args = t.cmd.Digest
	word, revision, data, err := t.road.Words.Spell(command.Given{Target: target.Category + "/" + target.ID})
	if err != nil {
		return nil, err
	}
	return append(writes, Write{t.commandStream(), 0, []domain.Fresh{{
		ID: domain.Derive("evt", string(t.id), "given"), Word: word, Revision: revision, Envelope: e, Data: data,
	}}}), nil
}

func (t *trip) commandStream() domain.Stream {
	return t.streamOf(action.Ref{Category: command.Kind.Category, ID: string(t.id)})
}

// sameCommand finds what a command was given to before. If it was filed, that
// is the answer; if it was carried out, sameAction gives it. On a log that is
// not Atomic it may be neither yet: then whoever asks again goes on with the
// same things, so that it is done once. Refused and idle calls give their id to
// nothing and are asked anew.
func (t *trip) sameCommand() error {
	history, err := t.road.things.history(t.ctx, t.commandStream())
	if err != nil || len(history) == 0 {
		return err
	}
	t.commanded = false // its id stands for this and is not given again
	state, err := command.Kind.Fold(eventsOf(history))
	if err != nil {
		return err
	}
	if history[0].Envelope.Args != t.cmd.Digest {
		return reused
	}
	t.begun = history[0].Position
	category, id, _ := strings.Cut(state.(command.Command).Target, "/")
	// The id says what came of it then. What comes of it now may be the other
	// thing, if it has yet to come: that is found under an id that follows.
	target, filed := id, string(domain.Derive(proposal.Kind.Prefix, string(t.id), "filed"))
	if category == proposal.Kind.Category {
		target, filed = string(domain.Derive(t.action.Kind.Prefix, string(t.id), "made")), id
	}
	if t.action.Target(t.cmd.Args) == "" {
		t.stream.ID, t.fresh = target, false
	}
	t.filing = filed
	if category != proposal.Kind.Category && t.road.Log.Atomic() {
		return nil // it was carried out
	}
	return t.sameProposal(t.proposalStream(), t.begun)
}

// sameAction looks for what this very action already did to a stream, and
// answers with it. The position is that of the whole append, where it is known.
func (t *trip) sameAction(stream domain.Stream, position domain.Position) error {
	history, err := t.road.things.history(t.ctx, stream)
	if err != nil {
		return err
	}
	first, last := -1, -1
	for i, h := range history {
		if h.Envelope.Action == t.id {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if first < 0 {
		return nil
	}
	before, err := t.action.Kind.Fold(eventsOf(history[:first]))
	if err != nil {
		return err
	}
	after, err := t.action.Kind.Fold(eventsOf(history[:last+1]))
	if err != nil {
		return err
	}
	t.stream = stream
	out := Outcome{
		Outcome:  Done,
		Action:   t.id,
		Position: Position(max(position, history[last].Position)),
		Target:   t.targetAt(history[last].Version),
		Changes:  clipLines(domain.Diff(before.Fields(), after.Fields())),
		Verdict:  history[first].Envelope.Verdict,
	}
	if !t.action.Final {
		out.Undo = &Undo{Until: history[last].At.Add(t.authority.undo)}
	}
	t.answer = &out
	return nil
}

// sameProposal answers a repeated call that was held with its proposal's
// present state.
func (t *trip) sameProposal(stream domain.Stream, position domain.Position) error {
	history, err := t.road.things.history(t.ctx, stream)
	if err != nil || len(history) == 0 {
		return err
	}
	state, err := proposal.Kind.Fold(eventsOf(history))
	if err != nil {
		return err
	}
	p := state.(proposal.Proposal)
	if target, err := domain.ParseStream(p.Calls[0].Target); err == nil {
		t.stream = target
	}
	t.answer = &Outcome{
		Outcome:  Waiting,
		Action:   t.id,
		Position: Position(position),
		Target:   t.targetAt(p.Card.Reads[0].Version),
		Changes:  clipLines(linesOf(p.Card.Lines)),
		Verdict:  history[0].Envelope.Verdict,
		Proposal: t.held(stream.ID, p.Card, p.Status),
	}
	return nil
}

var reused = domain.Refuse("command-reused", "This command id was used before for something else. Use a new one for a new request.")

// callOf is the id of one call of a proposal when it is carried out, whoever
// finishes it.
func callOf(proposal string, part int) domain.ID {
	return domain.Derive("cmd", proposal, strconv.Itoa(part))
}
