package commands

import (
	"errors"
	"slices"
	"sync"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/containment"
)

// containing is a group of doings being taken back together, thing by thing.
// Each action that is taken back gets an undo of its own, under an id that
// follows from both: whoever else is at it does the same.
type containing struct {
	*taker
	id    string // of the containment; empty when it is only planned
	cause domain.ID
	scope containment.Scope
	last  domain.Position            // everything that is part of it lies at or before
	until func(domain.Recorded) bool // recorded soon enough to be part of it
}

// PlanLine is what would become of some of a group's doings on one thing, or
// what did not become of them.
type PlanLine struct {
	Kind    string    `json:"kind"`
	ID      string    `json:"id"`
	Title   string    `json:"title,omitempty"`
	Mark    string    `json:"mark"`    // clean | conflicting | impossible
	Actions int       `json:"actions"` // how many
	Newest  domain.ID `json:"newest"`  // of them
	Code    string    `json:"code,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	Fields  []string  `json:"fields,omitempty"` // in conflict
}

// mostNamed is how many fields in conflict a line names.
const mostNamed = 20

// finding is what a group did to one thing, and what can become of it.
type finding struct {
	past  past
	ties  ties
	group map[domain.ID]bool // that can go
	order []domain.ID        // of those, the oldest first
	sizes map[domain.ID]int  // how many events each has
	way   reversal           // of all of them; only when the line says clean
	done  int                // taken back by this very containment already
	lines []PlanLine
}

// find judges one thing.
func (c *containing) find(s domain.Stream) (finding, error) {
	f := finding{ties: newTies(), group: map[domain.ID]bool{}, sizes: map[domain.ID]int{}}
	line := PlanLine{Kind: s.Category, ID: s.ID}
	p, err := c.road.past(c.ctx, s)
	if no, meant := errors.AsType[*domain.Refusal](err); meant {
		line.Mark, line.Code, line.Reason = containment.Impossible, no.Code, no.Reason
		f.lines = append(f.lines, line)
		return f, nil
	}
	if err != nil {
		return f, err
	}
	f.past = p
	f.ties.note(p.events)
	if line.Title, err = titleOf(p); err != nil {
		return f, err
	}
	c.sort(&f, line)
	if len(f.group) == 0 {
		return f, nil
	}
	line.Actions, line.Newest, line.Mark = len(f.order), f.order[len(f.order)-1], containment.Clean
	f.way, err = c.reversal(p, f.ties, f.group, domain.Choice{})
	if no, meant := errors.AsType[*domain.Refusal](err); meant {
		line.Mark, line.Code, line.Reason = containment.Conflicting, no.Code, no.Reason
		if no.Code == "final" {
			line.Mark = containment.Impossible
		}
		line.Fields = f.way.way.Open[:min(len(f.way.way.Open), mostNamed)]
		f.group, err = nil, nil
	}
	f.lines = append(f.lines, line)
	return f, err
}

// sort tells the group's actions on a thing that can go from those that cannot,
// and leaves out what is gone already: what was taken back by somebody, and what
// the group itself took back.
func (c *containing) sort(f *finding, line PlanLine) {
	first := map[domain.ID]domain.Recorded{}
	var members []domain.ID
	for _, h := range f.past.events {
		e := h.Envelope
		if c.id != "" && string(e.Correlation) == c.id || !c.scope.Covers(h) || !c.until(h) {
			continue
		}
		if _, known := first[e.Action]; !known {
			first[e.Action] = h
			members = append(members, e.Action)
		}
		f.sizes[e.Action]++
	}
	left := map[string]int{} // where each code's line is
	for _, id := range members {
		if undo, gone := f.ties.by(id); gone {
			if c.id != "" && undo == c.undoOf(id, f.past.stream) {
				f.done++
			}
			continue
		}
		if _, own := first[f.ties.undoes[id]]; own && f.ties.undoes[id] != "" {
			continue
		}
		err := c.may(f.ties.origin(id), first[id])
		if err == nil {
			f.group[id], f.order = true, append(f.order, id)
			continue
		}
		no := err.(*domain.Refusal) // it is nothing else
		at, known := left[no.Code]
		if !known {
			at = len(f.lines)
			left[no.Code] = at
			line.Mark, line.Code, line.Reason = containment.Impossible, no.Code, no.Reason
			f.lines = append(f.lines, line)
		}
		f.lines[at].Actions++
		f.lines[at].Newest = id
	}
}

// titleOf is what people call a thing, also one that is gone.
func titleOf(p past) (string, error) {
	state, err := p.kind.Fold(eventsOf(p.events))
	if titled, ok := state.(action.Titled); ok {
		return titled.Called(), err
	}
	return "", err
}

// undoOf is the id of what takes an action back on a thing.
func (c *containing) undoOf(id domain.ID, s domain.Stream) domain.ID {
	return domain.Derive("cmd", c.id, "back", string(id), s.Category+"/"+s.ID)
}

// taken is what became of one thing.
type taken struct {
	counts containment.Counts
	left   []PlanLine
	err    error
}

// hands is how many things are taken back at the same time: their appends share
// what it costs to make them last.
const hands = 16

// takeAll takes things back, many at once where there are many. What finds its
// address taken is tried again afterwards: it may have been by another of them.
func (c *containing) takeAll(things []domain.Stream) ([]taken, error) {
	all := make([]taken, len(things))
	take := func(i int) { all[i].counts, all[i].left, all[i].err = c.takeBack(things[i]) }
	var busy sync.WaitGroup
	next := make(chan int)
	many := hands
	if len(things) < thingsAtOnce { // a few go in order
		many = 1
	}
	for range many {
		busy.Go(func() {
			for i := range next {
				take(i)
			}
		})
	}
	for i := range things {
		next <- i
	}
	close(next)
	busy.Wait()
	for i, t := range all {
		if slices.ContainsFunc(t.left, func(l PlanLine) bool { return l.Code == "taken" }) {
			take(i)
		}
		if all[i].err != nil {
			return nil, all[i].err
		}
	}
	return all, nil
}

// mostAtOnce is how many events go back in one append: a thing that was changed
// ten thousand times goes back in portions, the newest first.
const mostAtOnce = 200

// takeBack takes back what is clean of one thing, in as many appends as it
// takes, and says what was taken and what is left.
func (c *containing) takeBack(s domain.Stream) (counts containment.Counts, left []PlanLine, err error) {
	for range attempts {
		f, err := c.find(s)
		if err != nil {
			return counts, nil, err
		}
		if len(f.group) == 0 {
			counts.Taken = f.done
			for _, l := range f.lines {
				if l.Mark == containment.Conflicting {
					counts.Conflicting += l.Actions
				} else {
					counts.Impossible += l.Actions
				}
			}
			return counts, f.lines, nil
		}
		for more := true; more && err == nil; { // in portions, each judged anew
			if more, err = c.portion(&f); err == nil && more {
				f, err = c.find(s)
				more = len(f.group) > 0
			}
		}
		if err != nil && !again(err) {
			return counts, nil, err
		}
	}
	return counts, nil, ErrBusy
}

// portion appends the reverses of the newest of what is clean. more says that
// there is some left.
func (c *containing) portion(f *finding) (more bool, err error) {
	r, some, events := f.way, map[domain.ID]bool{}, 0
	for _, id := range slices.Backward(f.order) {
		if events += f.sizes[id]; events > mostAtOnce && len(some) > 0 {
			more = true
			break
		}
		some[id] = true
	}
	if more {
		part, err := c.reversal(f.past, f.ties, some, domain.Choice{})
		switch _, meant := errors.AsType[*domain.Refusal](err); {
		case err == nil:
			r = part
		case meant: // half way back is nowhere it could stand: then all of it at once
			more = false
		default:
			return false, err
		}
	}
	writes, err := c.spell(r)
	if err != nil {
		return false, err
	}
	writes = append(writes, Write{Stream: c.seat.stream, Expect: c.seat.version})
	_, err = c.road.append(c.ctx, writes...)
	return more && err == nil, err
}

// spell writes one thing's reverses, each as an action of its own that says what
// it takes back.
func (c *containing) spell(r reversal) ([]Write, error) {
	var fresh []domain.Fresh
	numbers := map[domain.ID]int{}
	e := c.envelope
	e.Name, e.Correlation, e.Causation = takingBack, domain.ID(c.id), c.cause
	for i, event := range r.back {
		e.Undoes, e.Action = r.undoes[i], c.undoOf(r.undoes[i], r.at.stream)
		first := e
		if numbers[e.Action] == 0 {
			var err error
			if first.Question, first.Verdict, err = c.asked(takingBack); err != nil {
				return nil, err
			}
		}
		spelt, err := c.road.spell(e.Action, numbers[e.Action], []domain.Envelope{first}, []any{event})
		if err != nil {
			return nil, err
		}
		numbers[e.Action]++
		fresh = append(fresh, spelt...)
	}
	claims, err := c.road.spellClaims(e.Action, numbers[e.Action], []domain.Envelope{e}, r.claims)
	return append([]Write{{r.at.stream, r.at.version, fresh}}, claims...), err
}
