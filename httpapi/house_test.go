package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"assent/commands"
	"assent/domain"
	"assent/domain/action"
	"assent/domain/agent"
	"assent/domain/catalogue"
	"assent/domain/containment"
	"assent/domain/person"
	"assent/domain/policy"
	"assent/domain/proposal"
	"assent/domain/workspace"
)

// house is a small road, desk and set of read models in memory: it keeps
// histories, folds them with the real kinds, decides with the real actions and
// asks the real policy. There is one lock and no log.
type house struct {
	mu        sync.Mutex
	now       time.Time
	registry  *action.Registry
	kinds     map[string]action.Kind
	history   map[domain.Stream][]any
	rows      map[string][]AuditRow
	proposals map[string][]Proposal
	position  domain.Position
	accounts  *accounts
	fault     error           // of the log, while set
	unsigned  error           // of its signed heads, while set
	moved     *commands.Moved // what the next approval finds changed
	unknown   bool            // the next append's answer is lost
	behind    int64
	contained map[string]commands.Contained
	mistaken  bool                  // its records are not what the rules say
	via       map[string]domain.Via // through what a proposal was asked for
}

func newHouse() *house {
	registry, err := catalogue.Actions()
	if err != nil {
		panic(err)
	}
	h := &house{
		now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), registry: registry, kinds: catalogue.Kinds(),
		history: map[domain.Stream][]any{}, rows: map[string][]AuditRow{}, proposals: map[string][]Proposal{}, via: map[string]domain.Via{},
	}
	h.accounts = newAccounts(h.clock)
	return h
}

func (h *house) clock() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *house) pass(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

func (h *house) state(s domain.Stream) domain.State {
	state, err := h.kinds[s.Category].Fold(h.history[s])
	if err != nil {
		panic(err)
	}
	return state
}

func (h *house) stream(ws, category, id string) domain.Stream {
	return domain.Stream{Category: category, Workspace: ws, ID: id}
}

func (h *house) known(ws string, a *action.Action, state domain.State, args any) action.Known {
	known := action.Known{}
	for {
		grew := false
		for _, ref := range a.Needs(state, args, known) {
			if _, asked := known[ref]; asked {
				continue
			}
			s, grew2 := h.stream(ws, ref.Category, ref.ID), true
			known[ref] = action.Thing{
				State: h.state(s), Version: domain.Version(len(h.history[s])),
				At: func(v domain.Version) (domain.State, error) { return h.kinds[s.Category].Fold(h.history[s][:v]) },
			}
			grew = grew || grew2
		}
		if !grew {
			return known
		}
	}
}

func (h *house) role(ws, id string) policy.Role {
	return h.state(h.stream(ws, "person", id)).(person.Person).Role
}

// Do is the road.
func (h *house) Do(_ context.Context, call commands.Call) (commands.Outcome, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fault != nil {
		return commands.Outcome{}, h.fault
	}
	a, found := h.registry.Find(call.Action)
	if !found {
		code := "unknown-action"
		if action.NeverListed(call.Action) {
			code = "never"
		}
		return refusal(code, "There is no action of that name."), nil
	}
	cmd, err := a.Parse(call.Args)
	if err != nil {
		return refusalOf(err), nil
	}
	return h.run(call, a, cmd, nil)
}

func (h *house) run(call commands.Call, a *action.Action, cmd action.Command, yes *policy.Yes) (commands.Outcome, error) {
	q := policy.Question{
		Now: h.now, Principal: call.Principal, Action: a.Name, Class: a.Class, Scope: a.Scope, Permission: a.Permission,
		Role: h.role(call.Workspace, call.Person), Yes: yes,
		PausedAgents: h.state(h.stream(call.Workspace, "workspace", workspace.ID)).(workspace.Workspace).Paused,
	}
	if call.Principal.IsAgent() {
		g := h.state(h.stream(call.Workspace, "agent", call.Principal.ID)).(agent.Agent)
		var ok bool
		if q.Mode, q.Scopes, ok = g.Allows(call.Via.Key, h.now); !ok {
			return refusal("revoked", "This key no longer works."), nil
		}
		q.PausedAgent = g.Paused
	}
	verdict := policy.Ask(q)
	if verdict.Answer == domain.Reject {
		out := refusal(verdict.Code, verdict.Reason)
		out.Verdict = &verdict
		return out, nil
	}
	if !a.Writes() {
		return commands.Outcome{Outcome: commands.Done, Answer: &commands.Answer{Items: []string{}}}, nil
	}
	id := domain.NewAction(h.now)
	target := a.Target(cmd.Args)
	if target == "" {
		target = string(domain.DeriveAt(a.Kind.Prefix, id, "new"))
	}
	s := h.stream(call.Workspace, a.Kind.Category, target)
	before := h.state(s)
	events, err := a.Decide(before, cmd.Args, h.known(call.Workspace, a, before, cmd.Args))
	if err != nil {
		return refusalOf(err), nil
	}
	after := before
	for _, e := range events {
		after, _ = a.Kind.Evolve(after, e)
	}
	out := commands.Outcome{Outcome: commands.Done, Action: id, Verdict: &verdict, Changes: domain.Diff(before.Fields(), after.Fields())}
	out.Target = &commands.Target{Kind: s.Category, ID: s.ID, Version: domain.Version(len(h.history[s]) + len(events))}
	switch {
	case cmd.DryRun:
		out.Outcome = commands.Rehearsed
		return out, nil
	case len(events) == 0:
		out.Outcome = commands.Idle
		return out, nil
	case h.unknown:
		return commands.Outcome{Outcome: commands.Unknown}, nil
	case verdict.Answer == domain.Propose:
		return h.file(call, a, cmd, out, s), nil
	}
	h.history[s] = append(h.history[s], events...)
	h.position += domain.Position(len(events))
	out.Position = commands.Position(h.position)
	h.note(call, a.Name, out, cmd.Reason)
	return out, nil
}

func (h *house) note(call commands.Call, name string, out commands.Outcome, reason string) {
	row := AuditRow{
		ID: out.Action, Position: out.Position, At: h.now, Action: name, Principal: call.Principal, Person: call.Person,
		Via: call.Via, Client: call.Client, Target: out.Target, Outcome: out.Outcome, Verdict: out.Verdict, Changes: out.Changes,
	}
	if reason != "" {
		row.Sealed = &domain.Sealed{Person: call.Person, Box: []byte(reason)}
	}
	h.rows[call.Workspace] = append([]AuditRow{row}, h.rows[call.Workspace]...)
}

func (h *house) file(call commands.Call, a *action.Action, cmd action.Command, out commands.Outcome, s domain.Stream) commands.Outcome {
	h.position++
	out.Outcome, out.Position = commands.Waiting, commands.Position(h.position)
	card := []domain.Change{{Kind: s.Category, ID: s.ID, Change: domain.Edited, Fields: out.Changes}}
	before := h.state(s)
	known, after := h.known(call.Workspace, a, before, cmd.Args), before
	if events, err := a.Decide(before, cmd.Args, known); err == nil {
		for _, e := range events {
			after, _ = a.Kind.Evolve(after, e)
		}
	}
	if shown, ok := a.Show(before, after, cmd.Args, known); ok {
		card = shown
	}
	p := Proposal{
		ID: string(domain.DeriveAt("prop", out.Action, "proposal")), State: proposal.Waiting, Headline: a.Title + ": " + s.ID,
		Cause: out.Verdict.Cause, Action: out.Action, Principal: call.Principal, Person: call.Person, Mode: "edits",
		Changes: card, Counts: proposal.CountsOf(card),
		Calls:   []proposal.Called{{Part: 1, Action: a.Name, Args: cmd.Raw, Target: s.String()}},
		Verdict: out.Verdict, Digest: "digest-" + string(out.Action), Filed: h.now, Expires: h.now.Add(proposal.Lifetime),
		Sealed: &domain.Sealed{Person: call.Person, Box: []byte(cmd.Reason)},
	}
	h.via[p.ID] = call.Via
	h.proposals[call.Workspace] = append(h.proposals[call.Workspace], p)
	out.Proposal = &commands.Held{ID: p.ID, State: "waiting", Cause: p.Cause, Expires: p.Expires}
	h.note(call, a.Name, out, cmd.Reason)
	return out
}

func refusal(code, reason string) commands.Outcome {
	return commands.Outcome{Outcome: commands.Refused, Refusal: &domain.Refusal{Code: code, Reason: reason}}
}

func refusalOf(err error) commands.Outcome {
	return commands.Outcome{Outcome: commands.Refused, Refusal: err.(*domain.Refusal)}
}

func (h *house) find(ws, id string) (*Proposal, error) {
	for i := range h.proposals[ws] {
		if h.proposals[ws][i].ID == id {
			return &h.proposals[ws][i], nil
		}
	}
	return nil, domain.Refuse("not-found", "There is no such proposal.")
}

func (h *house) decide(by domain.Person, id string) (*Proposal, error) {
	p, err := h.find(by.Workspace(), id)
	switch {
	case h.fault != nil:
		return nil, h.fault
	case err != nil:
		return nil, err
	case !h.role(by.Workspace(), by.ID()).May("decide"):
		return nil, domain.Refuse("permission", "Your role may not decide.")
	case p.State != proposal.Waiting:
		return nil, domain.Refuse("already-decided", "This was already decided (%s by %s).", p.State, p.DecidedBy)
	}
	return p, nil
}

// Approve is the desk's.
func (h *house) Approve(_ context.Context, by domain.Person, id, digest string, parts ...int) (commands.Outcome, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(parts) > 0 && !slices.Equal(parts, []int{1}) {
		return refusal("invalid", "There is no such part here."), nil
	}
	p, err := h.decide(by, id)
	if err != nil {
		return commands.Outcome{}, err
	}
	if h.moved != nil && digest != h.moved.Digest {
		out := refusal("changed-since-shown", "What this would do has changed since it was shown.")
		out.Proposal = *h.moved
		return out, nil
	}
	a, _ := h.registry.Find(p.Calls[0].Action)
	cmd, err := a.Parse(p.Calls[0].Args)
	if err != nil {
		return commands.Outcome{}, err
	}
	out, err := h.run(commands.Call{Workspace: by.Workspace(), Principal: p.Principal, Person: p.Person, Via: h.via[id]}, a, cmd, &policy.Yes{Kind: "approval", By: by.ID()})
	if err == nil && out.Refusal == nil {
		p.State, p.DecidedBy, p.DecidedAt = proposal.IsSettled, by.ID(), h.now
		p.Results = []proposal.Result{{Part: 1, Outcome: out.Outcome, Action: out.Action}}
	}
	return out, err
}

// Decline is the desk's.
func (h *house) Decline(_ context.Context, by domain.Person, id, code, words string) (commands.Outcome, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p, err := h.decide(by, id)
	if err != nil {
		return commands.Outcome{}, err
	}
	p.State, p.DecidedBy, p.DecidedAt, p.Code = proposal.IsDeclined, by.ID(), h.now, code
	p.SealedWords = &domain.Sealed{Person: by.ID(), Box: []byte(words)}
	h.position++
	return commands.Outcome{Outcome: commands.Done, Action: domain.NewAction(h.now), Position: commands.Position(h.position)}, nil
}

// Undo is the desk's.
func (h *house) Undo(_ context.Context, by domain.Person, id domain.ID, wish commands.Taking) (commands.Outcome, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	i, way, err := h.wayBack(by, id, wish.Choice)
	if err != nil {
		return refusalOf(err), nil
	}
	if no := way.Refusal(); no != nil {
		out := refusalOf(no)
		out.Conflict = &commands.Comparison{Digest: "of what is shown", Columns: way.Columns}
		return out, nil
	}
	row := &h.rows[by.Workspace()][i]
	s := h.stream(by.Workspace(), row.Target.Kind, row.Target.ID)
	for _, r := range way.Back {
		h.history[s] = append(h.history[s], r.Event)
	}
	h.position++
	out := commands.Outcome{Outcome: commands.Done, Action: domain.NewAction(h.now), Position: commands.Position(h.position)}
	row.Undone = out.Action
	return out, nil
}

// Undoable is the desk's.
func (h *house) Undoable(_ context.Context, by domain.Person, id domain.ID) (can commands.Undoable, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, way, err := h.wayBack(by, id, domain.Choice{})
	if err == nil {
		can.Comparison = commands.Comparison{Digest: "of what is shown", Columns: way.Columns}
		err = way.Refusal()
	}
	no, meant := errors.AsType[*domain.Refusal](err)
	if meant && no.Code != "not-found" {
		can.Refusal, err = no, nil
	}
	can.Can = err == nil && can.Refusal == nil
	return can, err
}

// doings are the rows that an agent's scope covers, newest first.
func (h *house) doings(by domain.Person, wish commands.Containing) (rows []AuditRow) {
	for _, row := range slices.Backward(h.rows[by.Workspace()]) {
		if wish.Agent != "" && row.Principal.ID == wish.Agent && row.Outcome == commands.Done && row.Undone == "" && !row.At.Before(wish.Since) {
			rows = append(rows, row)
		}
	}
	return rows
}

// Plan is the desk's.
func (h *house) Plan(_ context.Context, by domain.Person, wish commands.Containing, each func(commands.PlanLine) error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := wish.Check(h.now); err != nil {
		return err
	}
	for _, row := range h.doings(by, wish) {
		line := commands.PlanLine{Kind: row.Target.Kind, ID: row.Target.ID, Actions: 1, Newest: row.ID, Mark: containment.Clean}
		if _, way, err := h.wayBack(by, row.ID, domain.Choice{}); err != nil || way.Refusal() != nil {
			line.Mark, line.Code, line.Reason, line.Fields = containment.Conflicting, "undo-conflict", "Somebody worked on it.", way.Open
		}
		if err := each(line); err != nil {
			return err
		}
	}
	return nil
}

// Contain is the desk's.
func (h *house) Contain(ctx context.Context, by domain.Person, wish commands.Containing) (commands.Outcome, error) {
	h.mu.Lock()
	if err := wish.Check(h.now); err != nil {
		h.mu.Unlock()
		return refusalOf(err), nil
	}
	if wish.Proposal != "" && !slices.ContainsFunc(h.proposals[by.Workspace()], func(p Proposal) bool { return p.ID == wish.Proposal }) {
		h.mu.Unlock()
		return refusal("not-found", "There is no such proposal."), nil
	}
	got := commands.Contained{ID: string(domain.NewID("ctn", h.now)), State: "settled", By: by.ID(), At: h.now, Scope: wish.Scope}
	rows := h.doings(by, wish)
	h.mu.Unlock()
	for _, row := range rows {
		out, err := h.Undo(ctx, by, row.ID, commands.Taking{})
		if err != nil {
			return out, err
		}
		if out.Refusal == nil {
			got.Taken++
			continue
		}
		got.Conflicting++
		got.Left = append(got.Left, commands.PlanLine{Kind: row.Target.Kind, ID: row.Target.ID, Actions: 1, Newest: row.ID, Mark: containment.Conflicting, Code: out.Refusal.Code, Reason: out.Refusal.Reason})
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.contained == nil {
		h.contained = map[string]commands.Contained{}
	}
	h.contained[got.ID] = got
	return commands.Outcome{Outcome: commands.Done, Action: domain.NewAction(h.now), Target: &commands.Target{Kind: "containment", ID: got.ID, Version: 1}, Position: commands.Position(h.position), Contained: &got}, nil
}

// Contained is the desk's.
func (h *house) Contained(_ context.Context, _ domain.Person, id string) (commands.Contained, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	got, known := h.contained[id]
	if !known {
		return got, domain.Refuse("not-found", "There is no such containment.")
	}
	return got, nil
}

// wayBack is how an action is taken back, and where its row is.
func (h *house) wayBack(by domain.Person, id domain.ID, choice domain.Choice) (int, domain.Way[any], error) {
	for i, row := range h.rows[by.Workspace()] {
		if row.ID != id {
			continue
		}
		if row.Undone != "" {
			return i, domain.Way[any]{}, domain.Refuse("already-decided", "This was already taken back.")
		}
		s := h.stream(by.Workspace(), row.Target.Kind, row.Target.ID)
		way, err := h.kinds[s.Category].WayBack(h.history[s], choice, int(row.Target.Version)-1)
		return i, way, err
	}
	return 0, domain.Way[any]{}, domain.Refuse("not-found", "There is no such action.")
}

// Seat is the seater's: once.
func (h *house) Seat(_ context.Context, ws, id string) (domain.Position, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fault != nil {
		return 0, h.fault
	}
	for s := range h.history {
		if s.Workspace == ws && s.Category == "person" && s.ID != id {
			return 0, domain.Refuse("final", "There is an owner.")
		}
	}
	s := h.stream(ws, "person", id)
	h.history[s] = []any{person.Seated{Role: policy.Owner}}
	h.position++
	return h.position, nil
}

// must takes a call down the road that has to succeed.
func (h *house) must(ws, person, name string, args any) commands.Outcome {
	text, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	out, err := h.Do(context.Background(), commands.Call{
		Workspace: ws, Action: name, Args: text, Principal: domain.Principal{Kind: domain.KindPerson, ID: person}, Person: person,
	})
	if err != nil || out.Refusal != nil {
		panic(fmt.Sprintf("%s: %v %v", name, err, out.Refusal))
	}
	return out
}
