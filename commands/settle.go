package commands

import (
	"encoding/json"
	"errors"
	"maps"
	"strconv"

	"assent/domain"
	"assent/domain/policy"
)

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
	case t.verdict.Answer == domain.Propose && !t.aside:
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
	writes, err := t.spent()
	if err != nil {
		return Outcome{}, err
	}
	writes = append(writes, Write{t.stream, t.thing.version, fresh})
	claimed, err := t.road.spellClaims(t.id, len(t.events), envelopes[len(t.events):], t.claims)
	if err != nil {
		return Outcome{}, err
	}
	return t.append(append(writes, claimed...), t.stream, func(receipt Receipt) Outcome {
		t.road.things.keep(thing{t.stream, t.after, t.thing.version + domain.Version(len(t.events))})
		out := t.done(receipt)
		out.Changes = append(out.Changes, t.road.lost(t.ctx, t.stream, t.claims)...)
		return out
	})
}

// append writes what a call comes to, which is a thing or a proposal, and with
// it that its command's id stands for that, and the checks of everything that
// was looked at.
func (t *trip) append(writes []Write, what domain.Stream, answer func(Receipt) Outcome) (Outcome, error) {
	writes, err := t.given(writes, what)
	if err != nil {
		return Outcome{}, err
	}
	receipt, err := t.road.append(t.ctx, t.road.withChecks(writes, t.guards())...)
	switch {
	case errors.Is(err, ErrUnknown):
		return Outcome{Outcome: Unknown, Action: t.id}, nil
	case err != nil:
		if no, meant := errors.AsType[*domain.Refusal](err); meant {
			return t.refuse(no)
		}
		return Outcome{}, err
	}
	return answer(receipt), nil
}

// guards are the checks of a call that others may be asking for as well: all
// that was looked at, and that none of them has brought it to an end of either
// kind.
func (t *trip) guards() map[domain.Stream]domain.Version {
	if !t.shared() {
		return t.checks
	}
	checks := maps.Clone(t.checks)
	checks[t.stream] = t.thing.version
	if t.begun > 0 {
		checks[t.proposalStream()] = 0
	}
	return checks
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
		out.Undo = &Undo{Until: receipt.At.Add(t.authority.undo)}
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
	if err := t.still(); err != nil {
		return Outcome{}, err
	}
	if !t.aside {
		if err := t.road.conduct.refused(t, no); err != nil {
			return Outcome{}, err
		}
	}
	out := Outcome{Outcome: Refused, Action: t.id, Refusal: no, Parts: t.parts}
	if t.hides(no) {
		out.Refusal = nothing
		return out, nil
	}
	if t.verdict.Answer == domain.Reject {
		out.Verdict = &t.verdict
	}
	if t.stream.ID != "" && t.thing.version > 0 && no.Code != nothing.Code {
		out.Target = t.targetAt(t.thing.version)
	}
	return out, nil
}

// still makes sure, before a call that others may be asking for as well ends
// without an append of its own, that none of them has done it meanwhile: who
// asks under a command id, and who carries out what was approved or begun.
func (t *trip) still() error {
	var writes []Write
	if t.commanded {
		writes = append(writes, Write{Stream: t.commandStream()})
	}
	if t.shared() && !t.thing.stream.IsZero() {
		writes = t.road.withChecks(writes, t.guards())
	}
	if writes == nil {
		return nil
	}
	_, err := t.road.append(t.ctx, writes...)
	return err
}

// hides says that a no would tell an agent for one site, or one collection,
// what there is elsewhere: hidden and missing answer alike. The record keeps
// which it was. What the caller named by a collection of its own words is no
// secret.
func (t *trip) hides(no *domain.Refusal) bool {
	a := &t.authority
	if a.site == "" && a.collection == "" {
		return false
	}
	elsewhere := a.site != "" && t.question.Site != "" && t.question.Site != a.site || t.question.Stray && t.unseen()
	return no.Code == nothing.Code || t.verdict.Answer == domain.Reject && elsewhere
}

var nothing = domain.Refuse("not-found", "There is nothing of that name. List what there is to find its id.")

// idle records that everything was already so. There was nothing to hold.
func (t *trip) idle() (Outcome, error) {
	if err := t.still(); err != nil {
		return Outcome{}, err
	}
	t.verdict = domain.Verdict{Rules: t.verdict.Rules, AutoCheck: t.verdict.AutoCheck}
	if !t.aside {
		if err := t.road.conduct.idle(t); err != nil {
			return Outcome{}, err
		}
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
	switch yes := t.question.Yes; {
	case yes == nil:
	case yes.Kind == policy.Approval:
		e.ApprovedBy = yes.By
	case yes.Kind == policy.Confirmation:
		e.ConfirmedBy = yes.By
	case yes.Kind == policy.Standing:
		e.Standing = yes.ID
	}
	e.Outside = t.question.Outside
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

// spellClaims writes addresses taken and let go, from the n-th event of an
// action on. Each claim has its number, written or only checked: asking again
// gives it the same id.
func (r *Road) spellClaims(id domain.ID, n int, envelopes []domain.Envelope, claims []claim) ([]Write, error) {
	var writes []Write
	for i, c := range claims {
		w := Write{Stream: c.stream, Expect: c.version}
		if c.event != nil {
			var err error
			if w.Events, err = r.spell(id, n+i, envelopes, []any{c.event}); err != nil {
				return nil, err
			}
		}
		writes = append(writes, w)
	}
	return writes, nil
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
