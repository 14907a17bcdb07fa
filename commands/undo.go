package commands

import (
	"context"
	"encoding/json"
	"slices"
	"time"
	"unicode/utf8"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/address"
	"assent/domain/command"
	"assent/domain/policy"
	"assent/domain/workspace"
)

// Undo takes an action back, as far as it reaches, within 24 hours: the
// reverse of each of its events, newest first, in one append. It refuses when
// later work would be lost. Undoing an undo is undoing any action.
func (d *Desk) Undo(ctx context.Context, by domain.Person, id domain.ID, reason string) (Outcome, error) {
	return d.attempt(ctx, by, "action.undo", func(dec *decision) (Outcome, error) {
		u := &undoing{decision: dec, undoes: id, places: map[domain.Stream][]int{}, undone: map[domain.ID][]domain.ID{}}
		if err := u.find(); err != nil {
			return Outcome{}, err
		}
		if err := u.allowed(); err != nil {
			return Outcome{}, err
		}
		if out, met, err := u.met(); met || err != nil {
			return out, err
		}
		return u.perform(reason)
	})
}

// undoing is one action being taken back.
type undoing struct {
	*decision
	undoes    domain.ID
	streams   []domain.Stream // in the order the action wrote them
	places    map[domain.Stream][]int
	histories map[domain.Stream][]domain.Recorded
	first     domain.Recorded
	window    time.Duration             // in which actions can be taken back here
	undone    map[domain.ID][]domain.ID // what took what back, as far as these streams say
}

// find reads what the action did, from the streams themselves: the read model
// only says where to look.
func (u *undoing) find() error {
	settings, err := u.road.things.load(u.ctx, domain.Stream{Category: workspace.Kind.Category, Workspace: u.by.Workspace(), ID: workspace.ID})
	if err != nil {
		return err
	}
	u.window = settings.state.(workspace.Workspace).UndoWindow()
	head, err := u.road.Log.Head(u.ctx)
	if err != nil {
		return err
	}
	traces, err := u.road.Traces.Trace(u.ctx, u.by.Workspace(), u.undoes, head.Position)
	if err != nil {
		return err
	}
	u.histories = map[domain.Stream][]domain.Recorded{}
	for _, t := range traces {
		if c := t.Stream.Category; c == address.Kind.Category || c == command.Kind.Category || t.Stream.Workspace != u.by.Workspace() {
			continue // addresses follow from the things themselves; an id that was used stays used
		}
		if _, known := u.road.Kinds[t.Stream.Category]; !known {
			return domain.Refuse("unsupported", "This was done by a newer version (to a %s). Upgrade before taking it back.", t.Stream.Category)
		}
		if _, read := u.histories[t.Stream]; !read {
			history, err := u.road.things.history(u.ctx, t.Stream)
			if err != nil {
				return err
			}
			u.histories[t.Stream] = history
			u.streams = append(u.streams, t.Stream)
			u.note(t.Stream, history)
		}
	}
	if len(u.streams) == 0 {
		return domain.Refuse("not-found", "There is no such action. Look it up in the audit.")
	}
	return nil
}

func (u *undoing) note(s domain.Stream, history []domain.Recorded) {
	for i, h := range history {
		e := h.Envelope
		if e.Undoes != "" && !slices.Contains(u.undone[e.Undoes], e.Action) {
			u.undone[e.Undoes] = append(u.undone[e.Undoes], e.Action)
		}
		if e.Action == u.undoes {
			if u.first.ID == "" {
				u.first = h
			}
			u.places[s] = append(u.places[s], i)
		}
	}
}

// takenBack says that an undo of an action stands: one that was not taken back
// itself.
func (u *undoing) takenBack(id domain.ID) bool {
	return slices.ContainsFunc(u.undone[id], func(undo domain.ID) bool { return !u.takenBack(undo) })
}

// allowed asks whether this person may, now.
func (u *undoing) allowed() error {
	if u.first.ID == "" {
		return domain.Refuse("not-found", "There is no such action. Look it up in the audit.")
	}
	name, permission := u.first.Envelope.Name, "decide"
	if a, ok := u.road.Registry.Find(name); ok {
		if a.Final || a.Class == action.Oneself {
			return domain.Refuse("final", "This cannot be taken back.")
		}
		permission = a.Permission
	} else if name != "action.undo" {
		return domain.Refuse("final", "This cannot be taken back.")
	}
	if !u.role.May(permission) {
		return domain.Refuse("permission", "Your role may not do this itself (it needs `%s`), so it cannot take it back either.", permission)
	}
	if u.now.After(u.first.At.Add(u.window)) {
		return domain.Refuse("undo-window", "This can be taken back within %d hours, and that is over. Change it by hand instead.", int(u.window.Hours()))
	}
	return nil
}

// met finds what this very undo already did: an earlier try of it was written
// and then had to be taken again, which only a log that is not Atomic asks for.
func (u *undoing) met() (out Outcome, met bool, err error) {
	for _, s := range u.streams {
		history := u.histories[s]
		first := slices.IndexFunc(history, func(h domain.Recorded) bool { return h.Envelope.Action == u.id })
		if first < 0 {
			continue
		}
		kind := u.road.Kinds[s.Category]
		before, err := kind.Fold(eventsOf(history[:first]))
		if err != nil {
			return Outcome{}, false, err
		}
		last := first
		for last+1 < len(history) && history[last+1].Envelope.Action == u.id {
			last++
		}
		after, err := kind.Fold(eventsOf(history[:last+1]))
		if err != nil {
			return Outcome{}, false, err
		}
		at := thing{s, before, domain.Version(first)}
		receipt := Receipt{Position: history[last].Position, At: history[last].At}
		return u.done(receipt, thing{s, after, history[last].Version}, []domain.Change{changeOf(at, after, last+1-first)}), true, nil
	}
	return Outcome{}, false, nil
}

// perform appends the reverses of everything, with the addresses they need.
func (u *undoing) perform(reason string) (Outcome, error) {
	if len(u.streams) > 1 && !u.road.Log.Atomic() {
		return Outcome{}, domain.Refuse("unsupported", "This changed several things at once, and the log kept here cannot take that back as one. Change each of them by hand.")
	}
	var writes []Write
	var claimed []claim
	var changes []domain.Change
	var last thing
	n := 0
	for _, s := range slices.Backward(u.streams) {
		kind := u.road.Kinds[s.Category]
		history := u.histories[s]
		back, err := kind.TakeBack(eventsOf(history), u.places[s]...)
		if err != nil {
			if u.takenBack(u.undoes) {
				return Outcome{}, domain.Refuse("already-decided", "This was already taken back.")
			}
			return Outcome{}, err
		}
		before, err := kind.Fold(eventsOf(history))
		if err != nil {
			return Outcome{}, err
		}
		after := before
		for _, e := range back {
			if after, err = kind.Evolve(after, e); err != nil {
				return Outcome{}, err
			}
		}
		if sound, ok := after.(action.Sound); ok {
			if err := sound.Sound(); err != nil {
				return Outcome{}, err
			}
		}
		at := thing{s, before, domain.Version(len(history))}
		claims, err := u.road.claim(u.ctx, u.now, s, before, after)
		if err != nil {
			return Outcome{}, err
		}
		if writes, n, err = u.write(writes, n, at, back, claims, reason); err != nil {
			return Outcome{}, err
		}
		claimed = append(claimed, claims...)
		changes = append(changes, changeOf(at, after, len(back)))
		last = thing{s, after, at.version + domain.Version(len(back))}
	}
	writes = append(writes, Write{Stream: u.seat.stream, Expect: u.seat.version})
	receipt, err := u.road.append(u.ctx, writes...)
	if err != nil {
		return Outcome{}, err
	}
	out := u.done(receipt, last, changes)
	out.Changes = append(out.Changes, u.road.lost(u.ctx, last.stream, claimed)...)
	return out, nil
}

func (u *undoing) done(receipt Receipt, at thing, changes []domain.Change) Outcome {
	return Outcome{
		Outcome:  Done,
		Action:   u.id,
		Position: Position(receipt.Position),
		Target:   &Target{Kind: at.stream.Category, ID: at.stream.ID, Version: at.version},
		Changes:  clipLines(linesOf(changes)),
		Undo:     &Undo{Until: receipt.At.Add(u.window)},
	}
}

// write adds one stream's reverses and claims. The first event of the whole
// undo carries the person's reason.
func (u *undoing) write(writes []Write, n int, at thing, back []any, claims []claim, reason string) ([]Write, int, error) {
	e := u.envelope()
	e.Undoes, e.Causation = u.undoes, u.undoes
	first := e
	if n == 0 {
		question := policy.Question{Now: u.now, Principal: e.Principal, Action: u.name, Class: action.Content, Scope: "any", Permission: "any", Role: u.role}
		verdict := policy.Ask(question)
		asked, err := json.Marshal(question)
		if err != nil {
			return nil, 0, err
		}
		first.Question, first.Verdict = asked, &verdict
		if utf8.RuneCountInString(reason) > maxWords {
			return nil, 0, domain.Refuse("invalid", "Keep the reason under %d characters.", maxWords)
		}
		if reason != "" {
			sealed, err := u.road.seal(u.ctx, u.by.Workspace(), u.by.ID(), reason)
			if err != nil {
				return nil, 0, err
			}
			first.Reason = sealed
		}
	}
	fresh, err := u.road.spell(u.id, n, []domain.Envelope{first, e}, back)
	if err != nil {
		return nil, 0, err
	}
	writes, n = append(writes, Write{at.stream, at.version, fresh}), n+len(back)
	claimed, err := u.road.spellClaims(u.id, n, []domain.Envelope{e}, claims)
	if err != nil {
		return nil, 0, err
	}
	return append(writes, claimed...), n + len(claims), nil
}
