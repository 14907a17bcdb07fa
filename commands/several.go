package commands

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/batch"
	"assent/domain/proposal"
)

// several answers a call that holds others: it asks nothing itself, and each of
// its parts is asked about as if it came alone.
func (t *trip) several() error {
	if again, ok := t.cmd.Args.(proposal.RefileArgs); ok {
		if err := t.refile(again.Proposal); err != nil || t.answer != nil {
			return err
		}
	}
	calls, ok := t.cmd.Args.(batch.Several)
	if !ok {
		return nil
	}
	if err := t.fits(calls); err != nil {
		return err
	}
	var out Outcome
	var err error
	if calls.Together() || calls.Planned() || t.cmd.DryRun {
		out, err = t.asOne(calls)
	} else {
		out, err = t.oneByOne(calls.Parts())
	}
	if err == nil {
		t.answer = &out
	}
	return err
}

// fits refuses what cannot be a part.
func (t *trip) fits(calls batch.Several) error {
	parts := calls.Parts()
	if len(parts) == 0 || len(parts) > batch.Most {
		return domain.Refuse("invalid", "Give 1 to %d calls.", batch.Most)
	}
	if calls.Together() && !t.road.Log.Atomic() {
		return domain.Refuse("unsupported", "This server's log writes one thing after another, so all or nothing cannot be promised. Leave `atomic` out.")
	}
	for i, c := range parts {
		a, known := t.road.Registry.Find(c.Tool)
		switch {
		case !known && action.NeverListed(c.Tool):
			return domain.Refuse("never", "Part %d: this is never done here, by nobody's permission.", i+1)
		case !known:
			return domain.Refuse("unknown-action", "Part %d: there is no such action. Look at the list of tools for what can be asked.", i+1)
		case !a.Writes():
			return domain.Refuse("invalid", "Part %d: %s only reads. Ask for it by itself.", i+1, a.Name)
		case slices.Contains(batch.Actions, a):
			return domain.Refuse("invalid", "Part %d: %s cannot be a part of another.", i+1, a.Name)
		}
		for _, own := range []string{"dry_run", "command_id", "confirm_token"} {
			if _, given := c.Arguments[own]; given {
				return domain.Refuse("invalid", "Part %d: give `%s` once, beside the calls.", i+1, own)
			}
		}
	}
	return nil
}

// partOf is one part as a call of its own.
func (t *trip) partOf(calls []batch.Call, i int, ids func(int) (string, bool), own map[string]any) (Call, error) {
	c := calls[i]
	c.Arguments = maps.Clone(c.Arguments)
	if c.Arguments == nil {
		c.Arguments = map[string]any{}
	}
	if _, given := c.Arguments["reason"]; !given && t.cmd.Reason != "" {
		c.Arguments["reason"] = t.cmd.Reason
	}
	maps.Copy(c.Arguments, own)
	call := t.call
	call.Action, call.Correlation = c.Tool, t.id
	raw, _, err := c.Filled(ids)
	call.Args = raw
	return call, err
}

// oneByOne does each part for itself: done, held, refused or already so.
func (t *trip) oneByOne(calls []batch.Call) (Outcome, error) {
	outs := make([]Outcome, 0, len(calls))
	ids := func(n int) (string, bool) {
		if n > len(outs) || outs[n-1].Target == nil || outs[n-1].Outcome != Done && outs[n-1].Outcome != Idle {
			return "", false
		}
		return outs[n-1].Target.ID, true
	}
	for i := range calls {
		own := map[string]any{}
		if t.cmd.CommandID != "" { // asking again finds the first answer of each
			own["command_id"] = string(domain.Derive("part", string(t.id), strconv.Itoa(i+1)))
		}
		call, err := t.partOf(calls, i, ids, own)
		if no, meant := errors.AsType[*domain.Refusal](err); meant {
			call.Refusal, err = no, nil
		}
		var out Outcome
		if err == nil {
			out, err = t.road.Do(t.ctx, call)
		}
		switch {
		case err != nil && i == 0:
			return Outcome{}, err
		case errors.Is(err, ErrBusy):
			out = Outcome{Outcome: Refused, Refusal: domain.Refuse("busy", "The server is busy. Nothing was changed by this part; ask for it again.")}
		case errors.Is(err, ErrUnavailable):
			out = Outcome{Outcome: Refused, Refusal: domain.Refuse("log-unavailable", "Nothing can be written at the moment. Nothing was changed by this part; ask for it again.")}
		case err != nil:
			return Outcome{}, err
		}
		outs = append(outs, out)
	}
	return t.overall(outs), nil
}

// overall is several outcomes as one: what wants attention first.
func (t *trip) overall(outs []Outcome) Outcome {
	all := Outcome{Outcome: Idle, Action: t.id, Parts: outs}
	has := func(outcome string) (first *Outcome) {
		if i := slices.IndexFunc(outs, func(o Outcome) bool { return o.Outcome == outcome }); i >= 0 {
			first = &outs[i]
		}
		return first
	}
	for _, o := range outs {
		all.Position = max(all.Position, o.Position)
	}
	switch done, refused := has(Done), has(Refused); {
	case has(Unknown) != nil:
		all.Outcome = Unknown
	case has(Waiting) != nil:
		all.Outcome, all.Proposal = Waiting, has(Waiting).Proposal
	case done != nil:
		all.Outcome, all.Undo = Done, done.Undo
	case refused != nil:
		all.Outcome, all.Refusal = Refused, refused.Refusal
	}
	return all
}

// asOne rehearses every part on what those before it would leave, and then does,
// files or refuses all of them.
func (t *trip) asOne(calls batch.Several) (Outcome, error) {
	if t.commanded {
		if out, found, err := t.sameSeveral(); found || err != nil {
			return out, err
		}
	}
	g, err := t.gathered(calls)
	if err != nil {
		return Outcome{}, err
	}
	if p := g.refused(); p != nil {
		t.parts = g.rehearsal(t.id).Parts
		no := p.out.Refusal
		return Outcome{}, domain.Refuse(no.Code, "Part %d: %s", p.number, no.Reason)
	}
	switch held := g.held(); {
	case t.cmd.DryRun:
		t.road.conduct.read(t)
		return g.rehearsal(t.id), nil
	case len(g.calls()) == 0:
		return t.overall(g.outcomes(Receipt{})), g.note(t.road)
	case len(held) > 0:
		return t.fileSeveral(calls, g, held)
	}
	t.first = g.part(g.calls()[0].Part).trip
	out, err := t.append(g.draft.writes(), t.streamOf(action.Ref{Category: batch.Kind.Category, ID: string(t.id)}), func(receipt Receipt) Outcome {
		all := t.overall(g.outcomes(receipt))
		all.Undo = &Undo{Until: receipt.At.Add(t.authority.undo)}
		return all
	})
	if err != nil || out.Outcome != Done {
		return out, err
	}
	return out, g.note(t.road)
}

// gathered rehearses the parts.
func (t *trip) gathered(calls batch.Several) (*gathering, error) {
	g, err := t.road.gathering(t.ctx)
	if err != nil {
		return nil, err
	}
	ids := func(n int) (string, bool) {
		if n > len(g.parts) || g.parts[n-1].out.Target == nil || g.parts[n-1].out.Outcome == Refused {
			return "", false
		}
		return g.parts[n-1].out.Target.ID, true
	}
	for i := range calls.Parts() {
		call, err := t.partOf(calls.Parts(), i, ids, nil)
		if no, meant := errors.AsType[*domain.Refusal](err); meant {
			call.Refusal, err = no, nil
		}
		if err != nil {
			return nil, err
		}
		call.Planned = calls.Planned()
		e := errand{call: call, id: domain.Derive("act", string(t.id), strconv.Itoa(i+1)), derived: t.begun > 0}
		if t.cmd.CommandID != "" { // whoever asks again must find what was made
			a, _ := t.road.Registry.Find(call.Action)
			e.target = string(domain.Derive(a.Kind.Prefix, string(e.id), "made"))
		}
		if _, err := g.add(t.ctx, i+1, e); err != nil {
			return nil, err
		}
		if g.refused() != nil {
			break // what follows would be rehearsed on what will not be there
		}
	}
	return g, nil
}

// rehearsal is what would happen.
func (g *gathering) rehearsal(id domain.ID) Outcome {
	outs := g.outcomes(Receipt{})
	for i := range outs {
		if outs[i].Outcome == Done {
			outs[i].Outcome, outs[i].Position, outs[i].Undo = Rehearsed, 0, nil
		}
	}
	return Outcome{Outcome: Rehearsed, Action: id, Changes: clipLines(linesOf(g.changes())), Parts: outs}
}

// fileSeveral turns all parts into one proposal, because one of them is held.
func (t *trip) fileSeveral(calls batch.Several, g *gathering, held []*part) (Outcome, error) {
	if t.filing == "" {
		t.filing = string(domain.NewID(proposal.Kind.Prefix, t.now))
	}
	stream, changes := t.proposalStream(), g.changes()
	lines, clipped := clipCard(changes)
	filed := proposal.Filed{
		Asker:    t.call.Principal,
		Headline: headlineOf(g),
		Cause:    held[0].verdict.Cause,
		Changes:  len(changes),
		Counts:   proposal.CountsOf(changes),
		Digest:   g.digest(),
		Lines:    lines,
		Clipped:  clipped,
		Reads:    readsOf(g.draft.rests()),
		Expires:  t.now.Add(proposal.Lifetime),
		Together: calls.Together(),
	}
	if title := calls.Headline(); title != "" && t.cmd.Reason == "" {
		t.cmd.Reason = title
	}
	base := t.envelope()
	base.Proposal, base.Args = stream.ID, t.cmd.Digest
	var err error
	if base.Reason, err = t.sealed(); err != nil {
		return Outcome{}, err
	}
	events, envelopes := []any{filed}, []domain.Envelope{base}
	list := g.calls() // the part whose cause counts for all first: it is what the record is read by
	slices.SortStableFunc(list, func(a, b proposal.Called) int { return rank(a, held[0]) - rank(b, held[0]) })
	for _, c := range list {
		e, err := g.part(c.Part).asked(base)
		if err != nil {
			return Outcome{}, err
		}
		events, envelopes = append(events, c), append(envelopes, e)
	}
	fresh, err := t.road.spell(t.id, -2, envelopes, events)
	if err != nil {
		return Outcome{}, err
	}
	return t.append([]Write{{stream, 0, fresh}}, stream, func(receipt Receipt) Outcome {
		outs := g.outcomes(receipt)
		for i := range outs {
			if outs[i].Outcome == Done {
				outs[i].Outcome, outs[i].Undo, outs[i].Position = Waiting, nil, 0
			}
		}
		return Outcome{
			Outcome: Waiting, Action: t.id, Position: Position(receipt.Position),
			Target:  &Target{Kind: proposal.Kind.Category, ID: stream.ID, Version: domain.Version(len(events))},
			Changes: clipLines(linesOf(changes)), Verdict: &held[0].verdict,
			Proposal: t.held(stream.ID, filed, proposal.Waiting), Parts: outs,
		}
	})
}

func rank(c proposal.Called, first *part) int {
	if c.Part == first.number {
		return 0
	}
	return 1
}

func (g *gathering) part(number int) *part {
	return g.parts[slices.IndexFunc(g.parts, func(p *part) bool { return p.number == number })]
}

// asked is the record of one part in the proposal it became a part of: under the
// whole's action, with what was asked about the part and answered.
func (p *part) asked(base domain.Envelope) (domain.Envelope, error) {
	e := p.envelope()
	e.Action, e.Proposal, e.Args, e.Correlation = base.Action, base.Proposal, p.cmd.Digest, base.Correlation
	question, err := json.Marshal(p.question)
	e.Question, e.Verdict = question, &p.verdict
	return e, err
}

// headlineOf is several parts in a line, in our words.
func headlineOf(g *gathering) string {
	calls := g.calls()
	first := g.part(calls[0].Part)
	line := headline(first.action, first.stream, first.changes)
	if len(calls) == 1 {
		return line
	}
	return fmt.Sprintf("%d changes as one. %s, and %d more", len(calls), line, len(calls)-1)
}

// sameSeveral finds what a command was given to before: the proposal it became,
// or what its parts did.
func (t *trip) sameSeveral() (Outcome, bool, error) {
	if err := t.sameCommand(); err != nil {
		return Outcome{}, false, err
	}
	if t.answer != nil {
		out := *t.answer
		t.answer = nil
		return out, true, nil
	}
	if t.begun == 0 {
		return Outcome{}, false, nil
	}
	calls := t.cmd.Args.(batch.Several)
	history, err := t.road.things.history(t.ctx, t.commandStream())
	if err != nil {
		return Outcome{}, false, err
	}
	g, err := t.gathered(calls) // each part answers with what it did; what is new to a draft is not written
	if err != nil {
		return Outcome{}, false, err
	}
	all := t.overall(g.outcomes(Receipt{Position: history[0].Position}))
	all.Undo = &Undo{Until: history[0].At.Add(t.authority.undo)}
	return all, true, nil
}
