package commands

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"assent/domain"
	"assent/domain/address"
	"assent/domain/command"
	"assent/domain/containment"
	"assent/domain/pace"
	"assent/domain/proposal"
)

// Taking is how a person wants something taken back.
type Taking struct {
	// Choice says of single fields what is to become of them, where later work
	// stands in the way. A field is called as in the conflict's columns; where an
	// undo touches several things, with its thing in front: art_1/title.
	domain.Choice
	Digest    string // of the columns it was chosen from; needed to take what is in conflict
	Late      bool   // although the time for it is over
	Reason    string
	CommandID string // asking again with it gives the first answer
}

// Undo takes an action back, as far as it reaches: the reverse of each of its
// events, newest first, in one append, while the workspace's window is open. It
// refuses as undo-conflict when later work would be lost, with every field in
// three columns; the person then chooses field by field. Undoing an undo is
// undoing any action. What several actions belong to, such as a batch, is taken
// back as Contain does it.
func (d *Desk) Undo(ctx context.Context, by domain.Person, id domain.ID, wish Taking) (Outcome, error) {
	if batch, err := d.several(ctx, by, id); err != nil {
		return Outcome{}, err
	} else if batch != "" {
		return d.Contain(ctx, by, Containing{Scope: containment.Scope{Batch: batch}, Late: wish.Late, Reason: wish.Reason, CommandID: wish.CommandID})
	}
	return d.attempt(ctx, by, takingBack, func(dec *decision) (Outcome, error) {
		if wish.CommandID != "" {
			dec.id = domain.ActionFor(by.Workspace(), dec.envelope().Principal.String(), takingBack+"/"+string(id), wish.CommandID)
		}
		u, err := undoingOf(dec, id, wish)
		if err != nil {
			return Outcome{}, err
		}
		if err := u.find(); err != nil {
			return Outcome{}, err
		}
		if out, met, err := u.met(); met || err != nil {
			return out, err
		}
		if err := u.allowed(); err != nil {
			return Outcome{}, err
		}
		w, err := u.judge()
		if no, meant := errors.AsType[*domain.Refusal](err); meant && w.chosenFrom(wish) {
			return Outcome{Outcome: Refused, Action: dec.id, Refusal: no, Conflict: w}, nil
		}
		if err != nil {
			return Outcome{}, err
		}
		return u.perform()
	})
}

// several is what several actions belong to, where an id stands for that rather
// than for one action: a batch, or taking things back together.
func (d *Desk) several(ctx context.Context, by domain.Person, id domain.ID) (batch string, err error) {
	if d.road.Touched == nil || by.IsZero() || !plainID.MatchString(string(id)) {
		return "", nil
	}
	head, err := d.road.Log.Head(ctx)
	if err != nil {
		return "", err
	}
	traces, err := d.road.Traces.Trace(ctx, by.Workspace(), id, head.Position)
	if err != nil {
		return "", err
	}
	for _, t := range traces {
		if t.Stream.Category != containment.Kind.Category {
			return "", nil
		}
		batch = t.Stream.ID
	}
	if batch != "" {
		return batch, nil
	}
	things, err := d.road.Touched.Touched(ctx, by.Workspace(), containment.Scope{Batch: string(id)}, "", 1, head.Position)
	if err != nil || len(things) == 0 {
		return "", err
	}
	return string(id), nil
}

// Undoable is whether a person could take an action back now, and what would
// become of each field.
type Undoable struct {
	Can     bool            `json:"can"`
	Refusal *domain.Refusal `json:"refusal,omitempty"` // why not: in conflict it can be chosen
	Until   time.Time       `json:"until,omitzero"`    // afterwards only by right
	Late    bool            `json:"late,omitempty"`    // that time is over, and this person has the right
	Comparison
}

// Comparison is every field of an undo, and a mark of what they were when it was
// made.
type Comparison struct {
	Digest  string          `json:"digest,omitempty"` // send it along with what to take
	Columns []domain.Column `json:"columns,omitempty"`
}

// Undoable looks at what Undo would do. Nothing is written.
func (d *Desk) Undoable(ctx context.Context, by domain.Person, id domain.ID) (Undoable, error) {
	if by.IsZero() {
		return Undoable{}, errors.New("nobody signed in")
	}
	dec := &decision{road: d.road, ctx: ctx, by: by, name: takingBack, now: d.road.now(ctx)}
	var can Undoable
	_, err := dec.take(func(dec *decision) (Outcome, error) {
		u, err := undoingOf(dec, id, Taking{})
		if err != nil {
			return Outcome{}, err
		}
		if err := u.find(); err != nil {
			return Outcome{}, err
		}
		can.Until = u.first.At.Add(u.window)
		can.Late = dec.now.After(can.Until) && dec.role.May(lateUndo)
		u.late = can.Late
		if err := u.allowed(); err != nil {
			return Outcome{}, err
		}
		w, err := u.judge()
		if w != nil {
			can.Comparison = *w
		}
		return Outcome{}, err
	})
	if no, meant := errors.AsType[*domain.Refusal](err); meant && no.Code != "not-found" {
		can.Refusal, err = no, nil
	}
	can.Can = err == nil && can.Refusal == nil
	return can, err
}

// undoing is one action being taken back.
type undoing struct {
	*taker
	dec    *decision
	id     domain.ID // of this undo
	undoes domain.ID
	wish   Taking
	things []past // in the order the action wrote them
	ties   ties
	first  domain.Recorded
	back   []reversal // as judged
}

func undoingOf(dec *decision, undoes domain.ID, wish Taking) (*undoing, error) {
	t, err := dec.taker(wish.Late)
	return &undoing{taker: t, dec: dec, id: dec.id, undoes: undoes, wish: wish, ties: newTies()}, err
}

// find reads what the action did, from the streams themselves: the read model
// only says where to look.
func (u *undoing) find() error {
	head, err := u.road.Log.Head(u.ctx)
	if err != nil {
		return err
	}
	traces, err := u.road.Traces.Trace(u.ctx, u.workspace, u.undoes, head.Position)
	if err != nil {
		return err
	}
	read := map[domain.Stream]bool{}
	for _, t := range traces {
		if onTheWay(t.Stream.Category) || t.Stream.Workspace != u.workspace || read[t.Stream] {
			continue
		}
		read[t.Stream] = true
		p, err := u.road.past(u.ctx, t.Stream)
		if err != nil {
			return err
		}
		u.things = append(u.things, p)
		u.ties.note(p.events)
		for _, h := range p.events {
			if u.first.ID == "" && h.Envelope.Action == u.undoes {
				u.first = h
			}
		}
	}
	if u.first.ID == "" {
		return domain.Refuse("not-found", "There is no such action. Look it up in the audit.")
	}
	return nil
}

// onTheWay says that a stream only makes room for a change: addresses follow
// from the things themselves, an id that was used stays used, and what was
// spent stays spent.
func onTheWay(category string) bool {
	return category == address.Kind.Category || category == command.Kind.Category || category == pace.Kind.Category
}

// allowed asks whether this person may, now, and whether there is anything to
// take back.
func (u *undoing) allowed() error {
	if u.first.Stream.Category == proposal.Kind.Category {
		return u.onlyAsked()
	}
	if err := u.may(u.ties.origin(u.undoes), u.first); err != nil {
		return err
	}
	if _, gone := u.ties.by(u.undoes); gone {
		return domain.Refuse("already-decided", "This was already taken back.")
	}
	return nil
}

// onlyAsked refuses to take back what was only asked for, or is being done.
func (u *undoing) onlyAsked() error {
	state, err := u.things[0].kind.Fold(eventsOf(u.things[0].events))
	if err != nil {
		return err
	}
	switch state.(proposal.Proposal).Status {
	case proposal.Waiting:
		return domain.Refuse("final", "This waits for a person, and nothing was done yet. Decline it instead.")
	case proposal.IsApproved:
		return underWay
	}
	return domain.Refuse("final", "This only asked, or answered. Take back what was done because of it.")
}

var underWay = domain.Refuse("busy", "This is being carried out at this moment. Take it back once it is done.")

// judge works out the way back of everything the action did, with what the
// person chose. A conflict is a refusal, and comes with all its fields.
func (u *undoing) judge() (*Comparison, error) {
	group := map[domain.ID]bool{u.undoes: true}
	w := &Comparison{}
	var refused error
	u.back = nil
	for _, p := range u.things {
		r, err := u.reversal(p, u.ties, group, u.choiceOf(p.stream))
		for _, c := range r.way.Columns {
			if len(u.things) > 1 {
				c.Of = p.stream.ID
			}
			w.Columns = append(w.Columns, c)
		}
		if no, meant := errors.AsType[*domain.Refusal](err); err != nil && !meant {
			return nil, err
		} else if meant && (refused == nil || no.Code == "final") {
			refused = no
		}
		u.back = append(u.back, r)
	}
	var err error
	if w.Digest, err = digestOf(u.undoes, w.Columns); err != nil {
		return nil, err
	}
	if err := u.sensible(w); err != nil {
		return w, err
	}
	return w, refused
}

// choiceOf is what was chosen of one thing's fields.
func (u *undoing) choiceOf(s domain.Stream) domain.Choice {
	if len(u.things) == 1 {
		return u.wish.Choice
	}
	of := func(names []string) (fields []string) {
		for _, n := range names {
			if f, mine := strings.CutPrefix(n, s.ID+"/"); mine {
				fields = append(fields, f)
			}
		}
		return fields
	}
	return domain.Choice{Keep: of(u.wish.Keep), Take: of(u.wish.Take)}
}

// sensible says whether the choice means something: it names fields there are,
// says one thing of each, and was made of what is there now.
func (u *undoing) sensible(w *Comparison) error {
	known := map[string]bool{} // whether it is in conflict
	for _, c := range w.Columns {
		known[nameOfColumn(c)] = !c.Clean
	}
	for _, n := range slices.Concat(u.wish.Keep, u.wish.Take) {
		if _, is := known[n]; !is {
			return domain.Refuse("invalid", "%q is no field of what would be taken back. Look at the columns for what can be chosen.", clipText(n, 60))
		}
	}
	for _, n := range u.wish.Take {
		switch {
		case slices.Contains(u.wish.Keep, n):
			return domain.Refuse("invalid", "%s cannot both stay and go. Choose one.", n)
		case known[n] && u.wish.Digest == "":
			return domain.Refuse("invalid", "%s is later work. To put it back, send the `digest` of the columns you chose from.", n)
		}
	}
	if u.wish.Digest != "" && u.wish.Digest != w.Digest {
		return domain.Refuse("changed-since-shown", "What is there now is not what you chose from. Look at it again and choose anew.")
	}
	return nil
}

// nameOfColumn is a column as choices name it.
func nameOfColumn(c domain.Column) string {
	if c.Of == "" {
		return c.Field
	}
	return c.Of + "/" + c.Field
}

// chosenFrom says that the fields are to be chosen from, or were.
func (w *Comparison) chosenFrom(wish Taking) bool {
	return w != nil && (!wish.Choice.IsZero() || slices.ContainsFunc(w.Columns, func(c domain.Column) bool { return !c.Clean }))
}

func digestOf(undoes domain.ID, columns []domain.Column) (string, error) {
	text, err := json.Marshal(columns)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(append([]byte(undoes+"\n"), text...))
	return hex.EncodeToString(sum[:16]), nil
}

// met finds what this very undo already did: an earlier try of it was written
// and is asked for again, by its command's id or because a log that is not
// Atomic wants it taken again.
func (u *undoing) met() (out Outcome, met bool, err error) {
	for _, p := range u.things {
		history := p.events
		first := slices.IndexFunc(history, func(h domain.Recorded) bool { return h.Envelope.Action == u.id })
		if first < 0 {
			continue
		}
		before, err := p.kind.Fold(eventsOf(history[:first]))
		if err != nil {
			return Outcome{}, false, err
		}
		last := first
		for last+1 < len(history) && history[last+1].Envelope.Action == u.id {
			last++
		}
		after, err := p.kind.Fold(eventsOf(history[:last+1]))
		if err != nil {
			return Outcome{}, false, err
		}
		at := thing{p.stream, before, domain.Version(first)}
		receipt := Receipt{Position: history[last].Position, At: history[last].At}
		return u.done(receipt, thing{p.stream, after, history[last].Version}, []domain.Change{changeOf(at, after, last+1-first)}), true, nil
	}
	return Outcome{}, false, nil
}

// perform appends the reverses of everything, with the addresses they need.
func (u *undoing) perform() (Outcome, error) {
	if len(u.things) > 1 && !u.road.Log.Atomic() {
		return Outcome{}, domain.Refuse("unsupported", "This changed several things at once, and the log kept here cannot take that back as one. Change each of them by hand.")
	}
	envelopes, err := u.envelopes()
	if err != nil {
		return Outcome{}, err
	}
	var writes []Write
	var claimed []claim
	var changes []domain.Change
	var last thing
	n := 0
	for _, r := range slices.Backward(u.back) {
		if len(r.back) == 0 {
			continue // all of it stays, by choice
		}
		fresh, err := u.road.spell(u.id, n, envelopes[min(n, 1):], r.back)
		if err != nil {
			return Outcome{}, err
		}
		writes, n = append(writes, Write{r.at.stream, r.at.version, fresh}), n+len(r.back)
		claims, err := u.road.spellClaims(u.id, n, envelopes[1:], r.claims)
		if err != nil {
			return Outcome{}, err
		}
		writes, n = append(writes, claims...), n+len(r.claims)
		claimed = append(claimed, r.claims...)
		changes = append(changes, changeOf(r.at, r.after, len(r.back)))
		last = thing{r.at.stream, r.after, r.at.version + domain.Version(len(r.back))}
	}
	if n == 0 {
		return Outcome{}, domain.Refuse("invalid", "Then nothing is left to take back. Choose at least one field that goes.")
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

// envelopes are the records that ride in the events of an undo. The first also
// carries what policy was asked, the person's reason, and what they chose.
func (u *undoing) envelopes() ([]domain.Envelope, error) {
	e := u.envelope
	e.Action, e.Undoes, e.Causation = u.id, u.undoes, u.undoes
	first := e
	var err error
	if first.Question, first.Verdict, err = u.asked(takingBack); err != nil {
		return nil, err
	}
	if !u.wish.Choice.IsZero() {
		first.Chose = &u.wish.Choice
	}
	first.Reason, err = u.sealed(u.wish.Reason)
	return []domain.Envelope{first, e}, err
}

// sealed is a person's reason under their own key.
func (t *taker) sealed(reason string) (*domain.Sealed, error) {
	if reason == "" {
		return nil, nil
	}
	if utf8.RuneCountInString(reason) > maxWords {
		return nil, domain.Refuse("invalid", "Keep the reason under %d characters.", maxWords)
	}
	return t.road.seal(t.ctx, t.workspace, t.envelope.Principal.ID, reason)
}
