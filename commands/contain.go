package commands

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/agent"
	"assent/domain/containment"
	"assent/domain/person"
	"assent/domain/policy"
	"assent/domain/proposal"
)

// Touched finds what was changed by whom. It answers from a read model that has
// seen everything up to a position; the streams themselves have the last word.
type Touched interface {
	// Touched are at most limit of the things that a scope's doings changed, the
	// last name first, of those whose names (article/art_1) come before another;
	// all of them when that is empty.
	Touched(ctx context.Context, workspace string, scope containment.Scope, before string, limit int, after domain.Position) ([]domain.Stream, error)
	// Containing lists containments that are begun and not settled.
	Containing(ctx context.Context) ([]domain.Stream, error)
}

// Containing is how a person wants a group of doings taken back.
type Containing struct {
	containment.Scope
	Late      bool // although the time for it is over; whoever stops an agent means it
	Reason    string
	CommandID string // asking again with it gives the same containment
}

// Contained is how far a containment has come.
type Contained struct {
	ID    string    `json:"id"`
	State string    `json:"state"` // running | settled
	By    string    `json:"by"`
	At    time.Time `json:"at"` // when it was decided
	containment.Scope
	containment.Counts
	Left []PlanLine `json:"left,omitempty"` // what was not taken back: at most 500 lines
	More int        `json:"more,omitempty"` // lines that are not listed
}

// How many things a containment sees to before it notes how far it has come,
// how long the person who decides waits for it before it goes on by itself, and
// how much of what is left is told at once.
const (
	thingsAtOnce = 64
	waitsFor     = 10 * time.Second
	mostLeft     = 500
)

// beginning is the name of the decision in the audit.
const beginning = "containment.begin"

// Plan goes through everything that taking a scope back would come to, thing by
// thing, and calls each with it. It holds one thing at a time in memory, however
// many there are, and writes nothing. It ends with the first error of each.
func (d *Desk) Plan(ctx context.Context, by domain.Person, wish Containing, each func(PlanLine) error) error {
	if by.IsZero() {
		return errors.New("nobody signed in")
	}
	dec := &decision{road: d.road, ctx: ctx, by: by, name: beginning, now: d.road.now(ctx)}
	_, err := dec.take(func(dec *decision) (Outcome, error) {
		t, err := dec.admitted(wish)
		if err != nil {
			return Outcome{}, err
		}
		head, err := d.road.Log.Head(ctx)
		if err != nil {
			return Outcome{}, err
		}
		c := &containing{taker: t, scope: wish.Scope, last: head.Position, until: func(domain.Recorded) bool { return true }}
		for before, more := "", true; more; {
			things, err := c.things(before, thingsAtOnce)
			if err != nil {
				return Outcome{}, err
			}
			for _, s := range things {
				f, err := c.find(s)
				if err != nil {
					return Outcome{}, err
				}
				for _, l := range f.lines {
					if err := each(l); err != nil {
						return Outcome{}, err
					}
				}
				before = nameOf(s)
			}
			more = len(things) == thingsAtOnce
		}
		return Outcome{}, nil
	})
	return err
}

// Contain takes a scope's doings back: all of a proposal, a session or a batch,
// or what an agent or its key did since a time; then the key is revoked or the
// agent paused in the same append that decides it. What is clean goes, thing by
// thing, each in an append of its own; what is not is left and told. It goes on
// by itself after a crash, and when it takes longer than ten seconds.
func (d *Desk) Contain(ctx context.Context, by domain.Person, wish Containing) (Outcome, error) {
	out, err := d.attempt(ctx, by, beginning, func(dec *decision) (Outcome, error) {
		if wish.CommandID != "" {
			dec.id = domain.ActionFor(by.Workspace(), dec.envelope().Principal.String(), beginning, wish.CommandID)
		}
		return dec.begin(wish)
	})
	if err != nil || out.Outcome != Done {
		return out, err
	}
	s := domain.Stream{Category: containment.Kind.Category, Workspace: by.Workspace(), ID: out.Target.ID}
	if err := d.road.contain(ctx, s, time.Now().Add(waitsFor)); err != nil { // it is begun, and Tend goes on
		slog.WarnContext(ctx, "a containment was begun and stopped", "containment", s.ID, "error", err)
	}
	got, err := d.Contained(context.WithoutCancel(ctx), by, s.ID)
	out.Contained = &got
	if head, err := d.road.Log.Head(ctx); err == nil {
		out.Position = Position(head.Position)
	}
	return out, err
}

// admitted says whether a person may take a scope back, and with what time to do
// it.
func (dec *decision) admitted(wish Containing) (*taker, error) {
	if err := wish.Check(dec.now); err != nil {
		return nil, err
	}
	needs := "decide"
	switch {
	case wish.Agent != "":
		needs = agent.Update.Permission
	case wish.Session != "" && wish.Session != dec.by.Session():
		needs = person.Unseat.Permission
	}
	if !dec.role.May(needs) {
		return nil, domain.Refuse("permission", "Your role may not take this back (it needs `%s`). Ask an owner.", needs)
	}
	if dec.road.Touched == nil {
		return nil, domain.Refuse("unsupported", "Nothing is taken back together here. Take actions back one by one.")
	}
	for _, id := range []string{wish.Key, wish.Session, wish.Proposal, wish.Batch} {
		if id != "" && !plainID.MatchString(id) {
			return nil, nothing
		}
	}
	t, err := dec.taker(wish.Late || wish.Agent != "" && dec.role.May(lateUndo))
	if err != nil {
		return nil, err
	}
	switch {
	case wish.Proposal != "":
		err = t.settledIn(wish.Proposal)
	case wish.Batch != "":
		err = t.atRest(wish.Batch)
	}
	return t, err
}

// asAWhole is how long a proposal can be taken back as a whole, once it is
// carried out; what it did can be taken back one by one for longer.
const asAWhole = 15 * time.Minute

// settledIn refuses a proposal that is not carried out, or was so too long ago.
func (t *taker) settledIn(id string) error {
	p, err := t.road.past(t.ctx, domain.Stream{Category: proposal.Kind.Category, Workspace: t.workspace, ID: id})
	if err != nil {
		return err
	}
	state, err := p.kind.Fold(eventsOf(p.events))
	if err != nil {
		return err
	}
	switch state.(proposal.Proposal).Status {
	case "":
		return nothing
	case proposal.IsApproved:
		return underWay
	case proposal.IsSettled:
	default:
		return domain.Refuse("final", "Nothing was done because of this proposal, so there is nothing to take back.")
	}
	if !t.now.After(p.events[len(p.events)-1].At.Add(asAWhole)) {
		return nil
	}
	return t.over("A proposal can be taken back as a whole within 15 minutes, and that is over. What it did can be taken back one by one.")
}

// atRest refuses what is itself still being taken back.
func (t *taker) atRest(batch string) error {
	at, err := t.road.things.load(t.ctx, domain.Stream{Category: containment.Kind.Category, Workspace: t.workspace, ID: batch})
	if err != nil {
		return err
	}
	if c := at.state.(containment.Containment); c.By != "" && !c.Settled {
		return underWay
	}
	return nil
}

// begin appends the decision, and with it whatever stops the doing.
func (dec *decision) begin(wish Containing) (Outcome, error) {
	id := string(domain.Derive(containment.Kind.Prefix, string(dec.id)))
	at, err := dec.road.things.load(dec.ctx, domain.Stream{Category: containment.Kind.Category, Workspace: dec.by.Workspace(), ID: id})
	if err != nil {
		return Outcome{}, err
	}
	out := Outcome{Outcome: Done, Action: dec.id, Target: &Target{Kind: at.stream.Category, ID: id, Version: max(at.version, 1)}}
	if at.version > 0 {
		return out, nil // asked again
	}
	t, err := dec.admitted(wish)
	if err != nil {
		return Outcome{}, err
	}
	stop, err := dec.stop(t, id, wish.Scope)
	if err != nil {
		return Outcome{}, err
	}
	e := t.envelope
	e.Correlation = domain.ID(id)
	if e.Question, e.Verdict, err = t.asked(beginning); err != nil {
		return Outcome{}, err
	}
	if e.Reason, err = t.sealed(wish.Reason); err != nil {
		return Outcome{}, err
	}
	begun := containment.Begun{Scope: wish.Scope, By: dec.by.ID(), Session: dec.by.Session(), Late: t.late}
	fresh, err := dec.road.spell(dec.id, 0, []domain.Envelope{e}, []any{begun})
	if err != nil {
		return Outcome{}, err
	}
	writes := append(stop, Write{at.stream, 0, fresh}, Write{Stream: dec.seat.stream, Expect: dec.seat.version})
	receipt, err := dec.road.append(dec.ctx, writes...)
	out.Position = Position(receipt.Position)
	return out, err
}

// stop is what ends a key or pauses an agent, as an action of its own. A local
// agent has neither: whoever runs it ends it.
func (dec *decision) stop(t *taker, id string, scope containment.Scope) ([]Write, error) {
	if scope.Agent == "" || !isAgentID(scope.Agent) {
		return nil, nil
	}
	which := agent.Which{Agent: scope.Agent}
	a, args := agent.Update, any(agent.UpdateArgs{Which: which, Paused: new(true)})
	if scope.Key != "" {
		a, args = agent.Revoke, agent.RevokeArgs{Which: which, Key: scope.Key}
	}
	if !plainID.MatchString(scope.Agent) {
		return nil, nothing
	}
	at, err := dec.road.things.load(dec.ctx, domain.Stream{Category: agent.Kind.Category, Workspace: t.workspace, ID: scope.Agent})
	if err != nil {
		return nil, err
	}
	events, err := a.Decide(at.state, args, action.Known{})
	if err != nil {
		return nil, err
	}
	if len(events) == 0 {
		return []Write{{Stream: at.stream, Expect: at.version}}, nil // stopped already
	}
	e := t.envelope
	e.Action, e.Name, e.Correlation, e.Causation = domain.Derive("cmd", id, "stop"), a.Name, domain.ID(id), dec.id
	if e.Question, e.Verdict, err = t.asked(a.Name); err != nil {
		return nil, err
	}
	fresh, err := dec.road.spell(e.Action, 0, []domain.Envelope{e}, events)
	return []Write{{at.stream, at.version, fresh}}, err
}

// things are the next things of the scope.
func (c *containing) things(before string, limit int) ([]domain.Stream, error) {
	if c.scope.Proposal != "" {
		return c.proposed(before, limit)
	}
	return c.road.Touched.Touched(c.ctx, c.workspace, c.scope, before, limit, c.last)
}

// proposed are the things that a proposal's calls are about.
func (c *containing) proposed(before string, limit int) ([]domain.Stream, error) {
	at, err := c.road.things.load(c.ctx, domain.Stream{Category: proposal.Kind.Category, Workspace: c.workspace, ID: c.scope.Proposal})
	if err != nil {
		return nil, err
	}
	var things []domain.Stream
	for _, call := range at.state.(proposal.Proposal).Calls {
		s, err := domain.ParseStream(call.Target)
		if err == nil && s.Workspace == c.workspace && (before == "" || nameOf(s) < before) && !slices.Contains(things, s) {
			things = append(things, s)
		}
	}
	slices.SortFunc(things, func(a, b domain.Stream) int { return strings.Compare(nameOf(b), nameOf(a)) })
	return things[:min(len(things), limit)], nil
}

// contain goes on with a containment until it is settled or a time has come.
// Whoever else is at it does the same under the same ids, and it is done once.
func (r *Road) contain(ctx context.Context, s domain.Stream, until time.Time) error {
	records, err := r.Log.ReadStream(ctx, s, 0)
	if err != nil || len(records) == 0 {
		return err
	}
	for {
		at, err := r.things.load(ctx, s)
		if err != nil {
			return err
		}
		if at.state.(containment.Containment).Settled {
			return nil
		}
		if err := r.advance(ctx, at, records[0]); err != nil && !again(err) {
			return err
		}
		if !time.Now().Before(until) {
			return nil
		}
	}
}

// advance sees to the next things, as the person who decided it, if they still
// may, and notes how far it has come.
func (r *Road) advance(ctx context.Context, at thing, begun domain.Record) error {
	state := at.state.(containment.Containment)
	t := &taker{
		road: r, ctx: ctx, workspace: at.stream.Workspace, now: r.now(ctx), late: state.Late,
		envelope: domain.Envelope{Principal: domain.Principal{Kind: domain.KindPerson, ID: state.By}, Via: domain.Via{Session: state.Session}},
	}
	var err error
	if t.seat, err = r.things.load(ctx, domain.Stream{Category: person.Kind.Category, Workspace: t.workspace, ID: state.By}); err != nil {
		return err
	}
	t.role = t.seat.state.(person.Person).Role
	if err := t.settings(); err != nil {
		return err
	}
	c := &containing{taker: t, id: at.stream.ID, cause: begun.Envelope.Action, scope: state.Scope, last: begun.Position, until: func(h domain.Recorded) bool { return !h.At.After(begun.At) }}
	things, err := c.things(state.After, thingsAtOnce)
	if err != nil {
		return err
	}
	if len(things) == 0 {
		return r.note(ctx, at, begun, "settled", containment.Settled{})
	}
	taken, err := c.takeAll(things)
	if err != nil {
		return err
	}
	next := containment.Advanced{After: nameOf(things[len(things)-1]), Counts: state.Counts}
	for i, got := range taken {
		next.Taken += got.counts.Taken
		next.Conflicting += got.counts.Conflicting
		next.Impossible += got.counts.Impossible
		for _, l := range got.left {
			next.Left = append(next.Left, containment.Left{Thing: nameOf(things[i]), Newest: l.Newest, Actions: l.Actions, Mark: l.Mark, Code: l.Code, Fields: l.Fields})
		}
	}
	return r.note(ctx, at, begun, "after "+state.After, next)
}

// note appends how far a containment has come, once, whoever is first.
func (r *Road) note(ctx context.Context, at thing, begun domain.Record, label string, event containment.Event) error {
	e := begun.Envelope
	e.Question, e.Verdict, e.Reason = nil, nil, nil
	fresh, err := r.spell(domain.Derive("cmd", at.stream.ID, label), 0, []domain.Envelope{e}, []any{event})
	if err != nil {
		return err
	}
	_, err = r.append(ctx, Write{at.stream, at.version, fresh})
	return err
}

// resume goes on with containments that somebody began and did not end.
func (r *Road) resume(ctx context.Context) error {
	if r.Touched == nil {
		return nil
	}
	streams, err := r.Touched.Containing(ctx)
	for _, s := range streams {
		err = errors.Join(err, r.contain(ctx, s, time.Now().Add(time.Second)))
	}
	return err
}

// Contained is how far a containment has come, and what it left.
func (d *Desk) Contained(ctx context.Context, by domain.Person, id string) (Contained, error) {
	s := domain.Stream{Category: containment.Kind.Category, Workspace: by.Workspace(), ID: id}
	if by.IsZero() || !plainID.MatchString(id) {
		return Contained{}, nothing
	}
	history, err := d.road.things.history(ctx, s)
	if err != nil {
		return Contained{}, err
	}
	if len(history) == 0 {
		return Contained{}, nothing
	}
	state, err := containment.Kind.Fold(eventsOf(history))
	if err != nil {
		return Contained{}, err
	}
	c := state.(containment.Containment)
	got := Contained{ID: id, State: "running", By: c.By, At: history[0].At, Scope: c.Scope, Counts: c.Counts}
	if c.Settled {
		got.State = "settled"
	}
	for _, h := range history {
		advanced, ok := h.Event.(containment.Advanced)
		if !ok {
			continue
		}
		for _, l := range advanced.Left {
			if len(got.Left) == mostLeft {
				got.More++
				continue
			}
			got.Left = append(got.Left, d.road.leftOf(ctx, s, l))
		}
	}
	return got, nil
}

// leftOf is what was left of a thing, as people read it.
func (r *Road) leftOf(ctx context.Context, s domain.Stream, l containment.Left) PlanLine {
	kind, id, _ := strings.Cut(l.Thing, "/")
	line := PlanLine{Kind: kind, ID: id, Mark: l.Mark, Actions: l.Actions, Newest: l.Newest, Code: l.Code, Reason: leftBecause[l.Code], Fields: l.Fields}
	if at, err := r.things.load(ctx, s.In(kind, id)); err == nil {
		if titled, ok := at.state.(action.Titled); ok {
			line.Title = titled.Called()
		}
	}
	return line
}

// leftBecause says why something was left: no sentence of the time is kept,
// since it may hold words of others.
var leftBecause = map[string]string{
	"undo-conflict": "Somebody worked on it since. Take it back by itself and choose field by field.",
	"taken":         "Its address is somebody else's by now. Move that, then take this back by itself.",
	"final":         "Nothing takes this back.",
	"permission":    "The role of whoever decided may not do this itself.",
	"undo-window":   "The time to take it back was over.",
	"unsupported":   "It was done by a newer version. Upgrade before taking it back.",
}

// asked is what policy is asked about a person's decision, and what it says: the
// decision is theirs, and this is its record.
func (t *taker) asked(name string) (json.RawMessage, *domain.Verdict, error) {
	q := policy.Question{Now: t.now, Principal: t.envelope.Principal, Action: name, Class: action.Content, Scope: "any", Permission: "any", Role: t.role}
	v := policy.Ask(q)
	text, err := json.Marshal(q)
	return text, &v, err
}
