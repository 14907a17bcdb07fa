package commands

import (
	"context"
	"reflect"
	"slices"
	"time"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/policy"
	"assent/domain/workspace"
)

// taker is a person taking something back: at the desk, or as the desk goes on
// with what they decided there.
type taker struct {
	road      *Road
	ctx       context.Context
	workspace string
	envelope  domain.Envelope // who takes back, and through what
	now       time.Time
	role      policy.Role
	seat      thing
	window    time.Duration // in which actions can be taken back here
	late      bool          // although the window is over, if their role may
}

// taker is the person deciding, about to take something back.
func (dec *decision) taker(late bool) (*taker, error) {
	t := &taker{
		road: dec.road, ctx: dec.ctx, workspace: dec.by.Workspace(), envelope: dec.envelope(),
		now: dec.now, role: dec.role, seat: dec.seat, late: late,
	}
	return t, t.settings()
}

// settings reads how long actions can be taken back here, as it is now.
func (t *taker) settings() error {
	at, err := t.road.things.load(t.ctx, domain.Stream{Category: workspace.Kind.Category, Workspace: t.workspace, ID: workspace.ID})
	if err == nil {
		t.window = at.state.(workspace.Workspace).UndoWindow()
	}
	return err
}

// lateUndo is the right to take back what its window is over for.
const lateUndo = "undo.late"

// may says whether the person may take an action back, now. Its name is that of
// what was done in the first place: whoever may not do it may neither undo it
// nor undo that.
func (t *taker) may(name string, first domain.Recorded) error {
	a, known := t.road.Registry.Find(name)
	if !known || a.Final || a.Class == action.Oneself {
		return domain.Refuse("final", "This cannot be taken back.")
	}
	if !t.role.May(a.Permission) {
		return domain.Refuse("permission", "Your role may not do this itself (it needs `%s`), so it cannot take it back either.", a.Permission)
	}
	if !t.now.After(first.At.Add(t.window)) {
		return nil
	}
	return t.over("This can be taken back within %d hours, and that is over.", int(t.window.Hours()))
}

// over refuses what comes too late, unless the person may and says so.
func (t *taker) over(format string, args ...any) error {
	switch {
	case t.late && t.role.May(lateUndo):
		return nil
	case t.late:
		return domain.Refuse("permission", "Your role may not take things back so late (it needs `%s`). Ask an owner.", lateUndo)
	case t.role.May(lateUndo):
		return domain.Refuse("undo-window", format+" You may still do it if you say that it is late on purpose.", args...)
	}
	return domain.Refuse("undo-window", format+" Ask an owner, or change it by hand.", args...)
}

// past is a thing's history.
type past struct {
	stream domain.Stream
	kind   action.Kind
	events []domain.Recorded
}

func (r *Road) past(ctx context.Context, s domain.Stream) (past, error) {
	kind, known := r.Kinds[s.Category]
	if !known {
		return past{}, domain.Refuse("unsupported", "This was done by a newer version (to a %s). Upgrade before taking it back.", s.Category)
	}
	history, err := r.things.history(ctx, s)
	return past{s, kind, history}, err
}

// ties knows what took what back, as far as some histories say.
type ties struct {
	names  map[domain.ID]string      // of actions
	undoes map[domain.ID]domain.ID   // what an undo took back
	backs  map[domain.ID][]domain.ID // the undos of an action, in order
	chosen map[domain.ID]bool        // undos in which a person chose field by field
}

func newTies() ties {
	return ties{map[domain.ID]string{}, map[domain.ID]domain.ID{}, map[domain.ID][]domain.ID{}, map[domain.ID]bool{}}
}

func (t ties) note(history []domain.Recorded) {
	for _, h := range history {
		e := h.Envelope
		t.names[e.Action] = e.Name
		if e.Undoes == "" {
			continue
		}
		t.undoes[e.Action] = e.Undoes
		t.chosen[e.Action] = t.chosen[e.Action] || e.Chose != nil
		if !slices.Contains(t.backs[e.Undoes], e.Action) {
			t.backs[e.Undoes] = append(t.backs[e.Undoes], e.Action)
		}
	}
}

// deepest is how far undos of undos are followed. Nobody goes on for long; a
// log in which two undo each other must not keep anybody waiting.
const deepest = 100

// by is the undo of an action that stands, if one does: one that was not taken
// back itself.
func (t ties) by(id domain.ID) (domain.ID, bool) { return t.standing(id, deepest) }

func (t ties) standing(id domain.ID, left int) (domain.ID, bool) {
	for _, undo := range slices.Backward(t.backs[id]) {
		if left == 0 {
			return undo, true
		}
		if _, gone := t.standing(undo, left-1); !gone {
			return undo, true
		}
	}
	return "", false
}

// origin is the name of what was done in the first place, when undos were
// undone since.
func (t ties) origin(id domain.ID) string {
	for range deepest {
		before, undo := t.undoes[id]
		if !undo {
			break
		}
		id = before
	}
	return t.names[id]
}

// without is a history without what was taken back and what took it back: as if
// neither had ever been, which is what a clean undo leaves. The places are those
// of the events of a group; none of the group is left out, nor what an undo of
// the group took back.
func (p past) without(t ties, group map[domain.ID]bool) (events []any, places []int, err error) {
	gone := map[domain.ID]bool{}
	for id := range t.backs {
		if undo, is := t.by(id); is && !t.chosen[undo] && !group[id] && !group[undo] {
			gone[id], gone[undo] = true, true
		}
	}
	all, left := make([]any, 0, len(p.events)), make([]any, 0, len(p.events))
	var inAll, inLeft []int
	for _, h := range p.events {
		if group[h.Envelope.Action] {
			inAll, inLeft = append(inAll, len(all)), append(inLeft, len(left))
		}
		all = append(all, h.Event)
		if !gone[h.Envelope.Action] {
			left = append(left, h.Event)
		}
	}
	if len(left) == len(all) {
		return all, inAll, nil
	}
	whole, err := p.kind.Fold(all)
	if err != nil {
		return nil, nil, err
	}
	same, err := p.kind.Fold(left)
	if err != nil || !alikeStates(whole, same) {
		return all, inAll, err
	}
	return left, inLeft, nil
}

// alikeStates says that two states are one to whoever looks: an empty list is
// no list.
func alikeStates(a, b domain.State) bool {
	x, y := a.Fields(), b.Fields()
	if len(x) == 0 || len(y) == 0 {
		return reflect.DeepEqual(a, b) // what is not there may still hold what it was
	}
	return len(domain.Diff(x, y)) == 0
}

// reversal is a thing with some of what was done to it taken back.
type reversal struct {
	at     thing // as it is
	after  domain.State
	way    domain.Way[any]
	back   []any
	undoes []domain.ID // what each of back takes back
	claims []claim
}

// reversal works out how a group's doings on a thing are taken back. When the
// way cannot be gone, or does not lead to anything sound, the error is a
// refusal, and the way says why.
func (t *taker) reversal(p past, k ties, group map[domain.ID]bool, choice domain.Choice) (r reversal, err error) {
	events, places, err := p.without(k, group)
	if err != nil {
		return r, err
	}
	if r.way, err = p.kind.WayBack(events, choice, places...); err != nil {
		return r, err
	}
	state, err := p.kind.Fold(eventsOf(p.events))
	if err != nil {
		return r, err
	}
	r.at = thing{p.stream, state, domain.Version(len(p.events))}
	actions := map[int]domain.ID{} // by place
	n := 0
	for _, h := range p.events {
		if group[h.Envelope.Action] {
			actions[places[n]] = h.Envelope.Action
			n++
		}
	}
	if err := r.way.Refusal(); err != nil {
		return r, err
	}
	r.after = state
	for _, b := range r.way.Back {
		if r.after, err = p.kind.Evolve(r.after, b.Event); err != nil {
			return r, err
		}
		r.back, r.undoes = append(r.back, b.Event), append(r.undoes, actions[b.Place])
	}
	if sound, ok := r.after.(action.Sound); ok {
		if err := sound.Sound(); err != nil {
			return r, err
		}
	}
	r.claims, err = t.road.claim(t.ctx, t.now, p.stream, state, r.after)
	return r, err
}
