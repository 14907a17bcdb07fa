package commands

import (
	"context"
	"errors"
	"slices"

	"assent/domain"
	"assent/domain/policy"
	"assent/domain/proposal"
)

// of several says that a proposal's card is made of parts.
func ofSeveral(p proposal.Proposal) bool { return len(p.Calls) > 0 && p.Calls[0].Digest != "" }

// askedOf is the record of who asked for one part of a proposal, and of what was
// answered.
func askedOf(history []domain.Recorded, part int) domain.Envelope {
	filed := history[0].Envelope
	for _, h := range history {
		if c, ok := h.Event.(proposal.Called); ok && c.Part == part && h.Envelope.Question != nil {
			filed.Question, filed.Verdict = h.Envelope.Question, h.Envelope.Verdict
		}
	}
	return filed
}

// rehearseParts takes some of a proposal's calls down the road on a draft, with
// a person's yes: what policy now refuses stops it, and so does a part that can
// no longer be done.
func (r *Road) rehearseParts(ctx context.Context, p proposal.Proposal, history []domain.Recorded, stream domain.Stream, keep []proposal.Called) (card, error) {
	g, err := r.gathering(ctx)
	if err != nil {
		return card{}, err
	}
	c := card{permissions: map[string]bool{}, parts: map[int]string{}}
	for _, call := range keep {
		t := r.tripOf(p, call, askedOf(history, call.Part), stream)
		t.digest = ""
		done, err := g.add(ctx, call.Part, t.errand)
		if err != nil {
			return card{}, err
		}
		if no := done.out.Refusal; no != nil {
			return card{}, domain.Refuse(no.Code, "Part %d: %s", call.Part, no.Reason)
		}
		c.permissions[done.action.Deciding()] = true
		c.parts[call.Part] = done.digest
		if grave(string(done.action.Class)) >= grave(c.class) { // of several, the rules of the gravest
			c.class, c.rules = string(done.action.Class), done.question.Rules
		}
	}
	c.changes, c.digest, c.checks = g.changes(), g.digest(), g.draft.rests()
	return c, nil
}

// grave orders classes by how much a yes to them weighs.
func grave(class string) int {
	return slices.Index([]string{"oneself", "content", "publish", "destructive"}, class)
}

// chosen are the parts that a person keeps of a card, rehearsed without the
// others. Each must read as it did on the card.
func (r *Road) chosen(ctx context.Context, p proposal.Proposal, history []domain.Recorded, stream domain.Stream, whole card, parts []int) (card, []proposal.Chosen, error) {
	keep, _, err := p.Keep(parts)
	if err != nil {
		return card{}, nil, err
	}
	c := whole
	if len(keep) < len(p.Calls) {
		if c, err = r.rehearseParts(ctx, p, history, stream, keep); err != nil {
			return card{}, nil, err
		}
	}
	var list []proposal.Chosen
	for _, k := range keep {
		if c.parts[k.Part] != whole.parts[k.Part] {
			return card{}, nil, domain.Refuse("invalid", "Part %d would do something else without the parts you left out. Choose them as well, or decline.", k.Part)
		}
		list = append(list, proposal.Chosen{Part: k.Part, Digest: c.parts[k.Part]})
	}
	c.digest = whole.digest // what was on screen
	return c, list, nil
}

// carryOut does the parts of a proposal that a person said yes to.
func (r *Road) carryOut(ctx context.Context, p proposal.Proposal, history []domain.Recorded, stream domain.Stream) ([]proposal.Result, []Outcome, error) {
	if p.Card.Together {
		return r.carryOutTogether(ctx, p, history, stream)
	}
	var outs []Outcome
	results := r.results(p, func(c proposal.Called, digest string) (Outcome, domain.ID, error) {
		t := r.tripOf(p, c, askedOf(history, c.Part), stream)
		t.digest = digest
		out, err := r.take(ctx, t)
		if err == nil && out.Outcome == Unknown {
			err = ErrUnknown // whoever comes next finds out
		}
		outs = append(outs, out)
		return out, t.id, err
	})
	return results.list, outs, results.err
}

// resulting is what became of each part so far.
type resulting struct {
	list []proposal.Result
	err  error
}

// results goes through a proposal's parts in order: those that were left out,
// those that fall with others, and those that are done.
func (r *Road) results(p proposal.Proposal, do func(proposal.Called, string) (Outcome, domain.ID, error)) (all resulting) {
	happened := map[int]bool{}
	for _, c := range p.Calls {
		res := proposal.Result{Part: c.Part}
		i := slices.IndexFunc(p.Chosen, func(k proposal.Chosen) bool { return k.Part == c.Part })
		lacks := slices.IndexFunc(c.Needs, func(n int) bool { return !happened[n] })
		switch {
		case i < 0 && lacks >= 0:
			res.Outcome = "fell"
		case i < 0:
			res.Outcome = "left"
		case lacks >= 0:
			res.Outcome = "fell"
		default:
			out, id, err := do(c, p.Chosen[i].Digest)
			if err != nil {
				all.err = err
				return all
			}
			res.Outcome, res.Action = out.Outcome, id
			happened[c.Part] = out.Outcome == Done || out.Outcome == Idle
			if out.Refusal != nil {
				res.Code, res.Reason = out.Refusal.Code, out.Refusal.Reason
			}
		}
		all.list = append(all.list, res)
	}
	return all
}

// carryOutTogether does all of the parts in one append, or none of them.
func (r *Road) carryOutTogether(ctx context.Context, p proposal.Proposal, history []domain.Recorded, stream domain.Stream) ([]proposal.Result, []Outcome, error) {
	for range attempts {
		g, err := r.gathering(ctx)
		if err != nil {
			return nil, nil, err
		}
		results := r.results(p, func(c proposal.Called, digest string) (Outcome, domain.ID, error) {
			t := r.tripOf(p, c, askedOf(history, c.Part), stream)
			t.digest = digest
			done, err := g.add(ctx, c.Part, t.errand)
			if err != nil {
				return Outcome{}, "", err
			}
			return done.out, done.id, nil
		})
		if again(results.err) {
			continue
		}
		if results.err != nil {
			return nil, nil, results.err
		}
		if bad := g.refused(); bad != nil {
			for i, res := range results.list {
				if res.Outcome == Done {
					results.list[i] = proposal.Result{Part: res.Part, Outcome: "fell", Code: bad.out.Refusal.Code}
				}
			}
			return results.list, g.outcomes(Receipt{}), nil
		}
		receipt, err := r.append(ctx, g.draft.writes()...)
		if again(err) {
			continue
		}
		return results.list, g.outcomes(receipt), err
	}
	return nil, nil, ErrBusy
}

// deciders are the deciders of a card's class.
func (c card) deciders() policy.Deciders { return c.rules.Deciders(c.class) }

var errNoCalls = errors.New("a proposal without calls")

// finishSeveral carries out the chosen parts and notes what became of each.
func (r *Road) finishSeveral(ctx context.Context, p proposal.Proposal, history []domain.Recorded, stream domain.Stream) (Outcome, error) {
	approval := approvalOf(history).envelope
	results, outs, err := r.carryOut(ctx, p, history, stream)
	if errors.Is(err, ErrUnknown) {
		return Outcome{Outcome: Unknown, Action: approval.Action}, nil
	}
	if err != nil {
		return Outcome{}, err
	}
	events, err := proposal.Settle(p, results)
	if err != nil {
		return Outcome{}, err
	}
	receipt, err := r.settled(ctx, stream, domain.Version(len(history)), approval, events)
	if err != nil {
		return Outcome{}, err
	}
	all := (&trip{errand: errand{id: approval.Action}}).overall(outs)
	all.Position = max(all.Position, Position(receipt.Position))
	all.Results = results
	all.Proposal = &Held{ID: stream.ID, URL: r.ProposalURL(stream.ID), Cause: p.Card.Cause, Expires: p.Card.Expires, State: string(proposal.IsSettled)}
	return all, nil
}
