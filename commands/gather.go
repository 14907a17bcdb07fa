package commands

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"assent/domain"
	"assent/domain/pace"
	"assent/domain/proposal"
)

// gathering is several calls on their way down the road, one after the other, on
// a draft that each finds as those before it left it.
type gathering struct {
	road  *Road
	draft *draft
	parts []*part
	wrote map[domain.Stream]int // which part wrote to a stream last
}

// part is one of them, once it was rehearsed.
type part struct {
	*trip
	number int
	out    Outcome
	digest string // of its own card
	needs  []int  // parts whose doing it looked at
}

func (r *Road) gathering(ctx context.Context) (*gathering, error) {
	above, d, err := r.onDraft(ctx)
	return &gathering{road: above, draft: d, wrote: map[domain.Stream]int{}}, err
}

// add takes one more call down the road. What policy would hold is rehearsed all
// the same, and its verdict says so.
func (g *gathering) add(ctx context.Context, number int, e errand) (*part, error) {
	e.road, e.ctx, e.aside = g.road, ctx, true
	t := &trip{errand: e}
	g.draft.begin()
	out, err := g.road.take(ctx, t)
	if errors.Is(err, ErrBusy) { // what is below moved between two looks at it
		return nil, &Conflict{Stream: t.stream}
	}
	if err != nil {
		return nil, err
	}
	p := &part{trip: t, number: number, out: out}
	if out.Outcome == Done {
		p.digest = cardDigest(t.action, t.stream, t.cmd.Raw, t.changes)
	}
	touched, written := g.draft.begin()
	for s := range touched {
		if n, ok := g.wrote[s]; ok && s.Category != pace.Kind.Category && !slices.Contains(p.needs, n) {
			p.needs = append(p.needs, n)
		}
	}
	slices.Sort(p.needs)
	for s := range written {
		g.wrote[s] = number
	}
	g.parts = append(g.parts, p)
	return p, nil
}

// refused is the first part that was refused, if one was.
func (g *gathering) refused() *part {
	i := slices.IndexFunc(g.parts, func(p *part) bool { return p.out.Outcome == Refused })
	if i < 0 {
		return nil
	}
	return g.parts[i]
}

// changes are what a person would see change, part by part.
func (g *gathering) changes() (all []domain.Change) {
	for _, p := range g.parts {
		for _, c := range p.changes {
			c.Part = p.number
			all = append(all, c)
		}
	}
	return all
}

// digest is what a yes to all of it is a yes to.
func (g *gathering) digest() string {
	h := sha256.New()
	for _, p := range g.parts {
		if p.digest != "" {
			fmt.Fprintf(h, "%d %s\n", p.number, p.digest)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// held are the parts that policy holds, the one whose cause counts for all first:
// what is planned counts least, everything else in the order of rules.
func (g *gathering) held() []*part {
	var held []*part
	for _, p := range g.parts {
		if p.out.Outcome == Done && p.verdict.Answer == domain.Propose {
			held = append(held, p)
		}
	}
	slices.SortStableFunc(held, func(a, b *part) int { return weight(a.verdict.Cause) - weight(b.verdict.Cause) })
	return held
}

// weight orders causes: the gravest first.
func weight(cause string) int {
	i := slices.Index([]string{"gate", "destructive", "outside-content", "many", "project-rule", "skill", "tool", "manual-mode", "plan"}, cause)
	if i < 0 {
		return 3 // one that only a later version knows
	}
	return i
}

// calls are the parts as a proposal keeps them. What was already so is none.
func (g *gathering) calls() (list []proposal.Called) {
	for _, p := range g.parts {
		if p.out.Outcome == Done {
			list = append(list, proposal.Called{Part: p.number, Action: p.action.Name, Args: p.cmd.Raw, Target: p.stream.String(), Digest: p.digest, Needs: p.needs})
		}
	}
	return list
}

// outcomes are what became of each part, with the position of the append that
// made it so.
func (g *gathering) outcomes(receipt Receipt) []Outcome {
	list := make([]Outcome, len(g.parts))
	for i, p := range g.parts {
		list[i] = p.out
		if p.out.Outcome == Done {
			list[i].Position = Position(receipt.Position)
		}
	}
	return list
}

// note leaves the lines of conduct that parts on a draft did not leave.
func (g *gathering) note(r *Road) error {
	for _, p := range g.parts {
		if p.out.Outcome != Idle {
			continue
		}
		p.road = r
		if err := r.conduct.idle(p.trip); err != nil {
			return err
		}
	}
	return nil
}
