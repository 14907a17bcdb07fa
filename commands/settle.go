package commands

import (
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"assent/domain"
)

// UndoWindow is how long an action can be taken back.
const UndoWindow = 24 * time.Hour

// settle does what the verdict says: append, file a proposal, or leave a line
// of conduct.
func (t *trip) settle() (Outcome, error) {
	if t.answer != nil {
		return *t.answer, nil
	}
	if t.err != nil {
		if no := t.refusal(); no != nil {
			return t.refuse(no)
		}
		return Outcome{}, t.err
	}
	switch {
	case t.cmd.DryRun:
		return t.rehearsed()
	case len(t.events) == 0:
		return t.idle()
	case t.digest != "" && t.digest != cardDigest(t.action, t.stream, t.cmd.Raw, t.changes):
		return t.refuse(domain.Refuse("changed-since-shown", "What this would do is no longer what was approved. Look at it again."))
	case t.verdict.Answer == domain.Propose:
		return t.file()
	}
	return t.perform()
}

// perform appends the events, the addresses they claim, and the checks of
// everything that was looked at, at once.
func (t *trip) perform() (Outcome, error) {
	envelopes, err := t.envelopes(len(t.events) + len(t.claims))
	if err != nil {
		return Outcome{}, err
	}
	fresh, err := t.road.spell(t.id, 0, envelopes, t.events)
	if err != nil {
		return Outcome{}, err
	}
	writes := []Write{{t.stream, t.thing.version, fresh}}
	for i, c := range t.claims {
		taken, err := t.road.spell(t.id, len(t.events)+i, envelopes[len(t.events):], []any{c.event})
		if err != nil {
			return Outcome{}, err
		}
		writes = append(writes, Write{c.stream, c.version, taken})
	}
	receipt, err := t.road.Log.Append(t.ctx, t.road.withChecks(writes, t.checks)...)
	switch {
	case errors.Is(err, ErrUnknown):
		return Outcome{Outcome: Unknown, Action: t.id}, nil
	case err != nil:
		if no, meant := errors.AsType[*domain.Refusal](err); meant {
			return t.refuse(no)
		}
		return Outcome{}, err
	}
	t.road.things.keep(thing{t.stream, t.after, t.thing.version + domain.Version(len(t.events))})
	return t.done(receipt), nil
}

func (t *trip) done(receipt Receipt) Outcome {
	out := Outcome{
		Outcome:  Done,
		Action:   t.id,
		Position: Position(receipt.Position),
		Target:   t.targetAt(t.thing.version + domain.Version(len(t.events))),
		Changes:  clipLines(linesOf(t.changes)),
		Verdict:  &t.verdict,
	}
	if !t.action.Final {
		out.Undo = &Undo{Until: receipt.At.Add(UndoWindow)}
	}
	return out
}

func (t *trip) targetAt(v domain.Version) *Target {
	return &Target{Kind: t.stream.Category, ID: t.stream.ID, Version: v}
}

// rehearsed tells what would happen. Nothing is written but that someone
// asked.
func (t *trip) rehearsed() (Outcome, error) {
	out := Outcome{
		Outcome: Rehearsed,
		Target:  t.targetAt(t.thing.version + domain.Version(len(t.events))),
		Changes: clipLines(linesOf(t.changes)),
		Verdict: &t.verdict,
	}
	if t.verdict.Answer == domain.Reject {
		out.Refusal = domain.Refuse(t.verdict.Code, "%s", t.verdict.Reason)
	}
	t.road.conduct.read(t)
	return out, nil
}

// refuse records the no and gives it.
func (t *trip) refuse(no *domain.Refusal) (Outcome, error) {
	if err := t.road.conduct.refused(t, no); err != nil {
		return Outcome{}, err
	}
	out := Outcome{Outcome: Refused, Action: t.id, Refusal: no}
	if t.verdict.Answer == domain.Reject {
		out.Verdict = &t.verdict
	}
	if t.stream.ID != "" && t.thing.version > 0 {
		out.Target = t.targetAt(t.thing.version)
	}
	return out, nil
}

// idle records that everything was already so. There was nothing to hold.
func (t *trip) idle() (Outcome, error) {
	t.verdict = domain.Verdict{Rules: t.verdict.Rules, AutoCheck: t.verdict.AutoCheck, Passed: t.verdict.Passed}
	if err := t.road.conduct.idle(t); err != nil {
		return Outcome{}, err
	}
	return Outcome{Outcome: Idle, Action: t.id, Target: t.targetAt(t.thing.version), Verdict: &t.verdict}, nil
}

// envelopes are the records that ride in n events of this call. The first also
// carries the question, the verdict and the caller's reason.
func (t *trip) envelopes(n int) ([]domain.Envelope, error) {
	e := t.envelope()
	list := make([]domain.Envelope, max(n, 1))
	for i := range list {
		list[i] = e
	}
	question, err := json.Marshal(t.question)
	if err != nil {
		return nil, err
	}
	first := &list[0]
	first.Question, first.Verdict, first.Args = question, &t.verdict, t.cmd.Digest
	first.Reason, err = t.sealed()
	return list, err
}

func (t *trip) envelope() domain.Envelope {
	e := domain.Envelope{
		Action:    t.id,
		Principal: t.call.Principal,
		Via:       t.call.Via,
		Client:    t.call.Client,
		Mode:      string(t.authority.mode),
		Proposal:  t.proposal,

		Correlation: t.call.Correlation,
	}
	if t.action != nil {
		e.Name = t.action.Name
	}
	if t.question.Skill != nil && t.question.Skill.Known { // an unknown name is only the caller's word
		e.Skill, e.SkillDigest = t.question.Skill.Name, t.question.Skill.Digest
	}
	if t.call.Principal.ID != t.authority.person {
		e.Person = t.authority.person
	}
	if t.yes != nil {
		e.ApprovedBy = t.yes.By
	}
	return e
}

// sealed is the caller's own words under the key of the person behind.
func (t *trip) sealed() (*domain.Sealed, error) {
	if t.reason != nil || t.cmd.Reason == "" {
		return t.reason, nil
	}
	return t.road.seal(t.ctx, t.call.Workspace, t.owner(), t.cmd.Reason)
}

// owner is under whose key personal text of this call is kept.
func (t *trip) owner() string {
	switch {
	case t.authority.person != "":
		return t.authority.person
	case t.call.Via.Local != "":
		return "local:" + t.call.Via.Local
	}
	return t.call.Principal.ID
}

// spell writes events for the log. Their ids derive from the action, so that
// appending them twice is appending them once.
func (r *Road) spell(id domain.ID, from int, envelopes []domain.Envelope, events []any) ([]domain.Fresh, error) {
	fresh := make([]domain.Fresh, len(events))
	for i, e := range events {
		word, revision, data, err := r.Words.Spell(e)
		if err != nil {
			return nil, err
		}
		fresh[i] = domain.Fresh{
			ID:       domain.Derive("evt", string(id), strconv.Itoa(from+i)),
			Word:     word,
			Revision: revision,
			Envelope: envelopes[min(i, len(envelopes)-1)],
			Data:     data,
		}
	}
	return fresh, nil
}

// withChecks adds what was only read to what is written.
func (r *Road) withChecks(writes []Write, checks map[domain.Stream]domain.Version) []Write {
	written := map[domain.Stream]bool{}
	for _, w := range writes {
		written[w.Stream] = true
	}
	for s, v := range checks {
		if !written[s] {
			writes = append(writes, Write{Stream: s, Expect: v})
		}
	}
	return writes
}

// firstAnswer looks for what this call already did under the same id: in the
// stream it decides on, and among proposals.
func (t *trip) firstAnswer() error {
	history, err := t.road.things.history(t.ctx, t.stream)
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
		return t.firstProposal()
	}
	then := history[first].Envelope
	if then.Args != t.cmd.Digest && t.proposal == "" {
		return reused
	}
	kind := t.action.Kind
	before, err := kind.Fold(eventsOf(history[:first]))
	if err != nil {
		return err
	}
	after, err := kind.Fold(eventsOf(history[:last+1]))
	if err != nil {
		return err
	}
	out := Outcome{
		Outcome:  Done,
		Action:   t.id,
		Position: Position(history[last].Position),
		Target:   t.targetAt(history[last].Version),
		Changes:  clipLines(domain.Diff(before.Fields(), after.Fields())),
		Verdict:  then.Verdict,
	}
	if !t.action.Final {
		out.Undo = &Undo{Until: history[last].At.Add(UndoWindow)}
	}
	t.answer = &out
	return nil
}

var reused = domain.Refuse("command-reused", "This command id was used before for something else. Use a new one for a new request.")
