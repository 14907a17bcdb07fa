package commands_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"assent/commands"
	"assent/commands/eventlog/memory"
	"assent/domain"
	"assent/domain/action"
	"assent/domain/agent"
	"assent/domain/article"
	"assent/domain/catalogue"
	"assent/domain/conduct"
	"assent/domain/person"
	"assent/domain/policy"
	"assent/domain/proposal"
)

// indexed finds evidence in a log that was read once.
type indexed struct {
	lines map[domain.ID][][]commands.Trace
	all   []domain.Record
	gone  map[domain.ID]bool
}

func index(t testing.TB, log commands.Log) *indexed {
	t.Helper()
	all, err := log.ReadAll(t.Context(), 0, 1e7)
	if err != nil {
		t.Fatal(err)
	}
	x := &indexed{map[domain.ID][][]commands.Trace{}, all, map[domain.ID]bool{}}
	for _, r := range all {
		trace := commands.Trace{Stream: r.Stream, Version: r.Version}
		lines := x.lines[r.Envelope.Action]
		if r.Stream.Category == conduct.Kind.Category || len(lines) == 0 {
			lines = append(lines, nil)
		}
		lines[len(lines)-1] = append(lines[len(lines)-1], trace)
		x.lines[r.Envelope.Action] = lines
		if r.Envelope.Undoes != "" {
			x.gone[r.Envelope.Undoes] = true
		}
	}
	return x
}

func (x *indexed) Lines(_ context.Context, _ string, act domain.ID, _ domain.Position) ([][]commands.Trace, error) {
	return x.lines[act], nil
}

func (x *indexed) Before(_ context.Context, _ string, at time.Time, _ domain.Position) (found domain.Position, err error) {
	for _, r := range x.all {
		if !r.At.Before(at) {
			break
		}
		found = r.Position
	}
	return found, nil
}

func (x *indexed) TakenBack(_ context.Context, _ string, acts []domain.ID, _ domain.Position) (map[domain.ID]bool, error) {
	gone := map[domain.ID]bool{}
	for _, a := range acts {
		gone[a] = x.gone[a]
	}
	return gone, nil
}

// edited is a log one record of which somebody has changed.
type edited struct {
	commands.Log
	at   domain.Position
	edit func(*domain.Envelope)
}

func (l edited) ReadStream(ctx context.Context, s domain.Stream, after domain.Version) ([]domain.Record, error) {
	list, err := l.Log.ReadStream(ctx, s, after)
	list = slices.Clone(list)
	for i := range list {
		if list[i].Position == l.at {
			l.edit(&list[i].Envelope)
		}
	}
	return list, err
}

func recordsOf(t testing.TB, log commands.Log, e commands.Evidence) *commands.Records {
	t.Helper()
	words, registry, err := joined()
	if err != nil {
		t.Fatal(err)
	}
	return commands.NewRecords(commands.NewRoad(commands.Parts{
		Log: log, Words: words, Kinds: catalogue.Kinds(), Registry: registry, Sealer: unsealed{}, Clock: func() time.Time { return years },
	}), e)
}

var years = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// annals writes decisions of every kind, under every revision of the house's
// rules and three versions of a workspace's.
type annals struct {
	t      testing.TB
	log    *memory.Log
	random *rand.Rand
	at     map[domain.Stream]domain.Version
	now    time.Time
	acts   []*action.Action
}

const (
	bots    = 7
	theKey  = "key_06g0example00000000000000000"
	aYes    = "act_06g0example00000000000000000"
	theSite = "main"
)

func newAnnals(t testing.TB, seed uint64) *annals {
	t.Helper()
	_, registry, err := joined()
	if err != nil {
		t.Fatal(err)
	}
	a := &annals{t: t, random: rand.New(rand.NewPCG(seed, 5)), at: map[domain.Stream]domain.Version{}, now: years.AddDate(-1, 0, 0)}
	a.log = memory.New(func() time.Time { return a.now })
	for _, one := range registry.All() {
		if one.Writes() {
			a.acts = append(a.acts, one)
		}
	}
	a.write(domain.Stream{Category: person.Kind.Category, Workspace: ws, ID: ana.ID()}, domain.Envelope{Action: "act_seat", Name: "person.seat"}, person.Seated{Role: policy.Owner})
	for i := range bots {
		s := domain.Stream{Category: agent.Kind.Category, Workspace: ws, ID: bot(i)}
		made := domain.Envelope{Action: domain.Derive("act", "made", bot(i)), Name: "agent.create", Principal: domain.Principal{Kind: domain.KindSystem, ID: "setup"}}
		a.write(s, made, agent.Created{Person: ana.ID(), Mode: policy.Manual, Scopes: policy.Scopes})
		a.write(s, made, agent.StandingMade{ID: aYes, Action: article.Update.Name, Key: theKey, Site: theSite, By: ana.ID(), Until: years})
	}
	return a
}

func bot(i int) string { return string(domain.Derive("agent", fmt.Sprint(i))) }

func (a *annals) write(s domain.Stream, e domain.Envelope, event any) domain.Position {
	a.t.Helper()
	words, _, err := joined()
	if err != nil {
		a.t.Fatal(err)
	}
	word, revision, data, err := words.Spell(event)
	if err != nil {
		a.t.Fatal(err)
	}
	fresh := domain.Fresh{ID: domain.Derive("evt", s.String(), fmt.Sprint(a.at[s])), Word: word, Revision: revision, Envelope: e, Data: data}
	receipt, err := a.log.Append(a.t.Context(), commands.Write{Stream: s, Expect: a.at[s], Events: []domain.Fresh{fresh}})
	if err != nil {
		a.t.Fatal(err)
	}
	a.at[s]++
	return receipt.Position
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// workspaceRules are three versions of a workspace's rules.
var workspaceRules = []policy.Rules{
	{},
	{Waits: []string{"article.update", "page.update"}, AutoPublishLimit: 5},
	{Pace: 3, Stages: []policy.Stage{{Of: "publish", Roles: []policy.Role{policy.Owner}, Need: 2}}, Freezes: []policy.Freeze{{From: years.AddDate(0, -8, 0), Until: years.AddDate(0, -6, 0)}}},
}

// question is anybody asking for anything.
func (a *annals) question(act *action.Action) policy.Question {
	r := a.random
	q := policy.Question{
		Now:       a.now,
		Principal: domain.Principal{Kind: domain.KindAgent, ID: bot(r.IntN(bots))},
		Action:    act.Name, Class: act.Class, Scope: act.Scope, Permission: act.Permission, Gate: act.Gate, Site: theSite,
		Mode: pick(r, policy.Plan, policy.Manual, policy.Edits, policy.Edits, policy.Auto), Scopes: policy.Scopes,
		Role: pick(r, policy.Owner, policy.Owner, policy.Editor, policy.Auditor),
	}
	switch r.IntN(8) {
	case 0:
		q.PausedAgents = true
	case 1:
		q.OnlySite = pick(r, "main", "other")
	case 2:
		q.Scopes = policy.DefaultScopes
	case 3:
		q.Outside = true
	case 4:
		q.Principal, q.Mode, q.Scopes = domain.Principal{Kind: domain.KindPerson, ID: ana.ID()}, "", nil
	}
	if act.Class == action.Publish && q.Mode == policy.Auto {
		check := policy.LowRisk(make([]domain.Change, 1+r.IntN(30)), policy.DefaultPublishLimit)
		q.Check = &check
	}
	return q
}

// decide writes one decision as the road would have.
func (a *annals) decide(i int) domain.ID {
	a.now = a.now.Add(time.Duration(1+a.random.IntN(5000)) * time.Second)
	act := pick(a.random, a.acts...)
	q := a.question(act)
	revision := pick(a.random, "rules-1", policy.Revision)
	if revision == policy.Revision {
		q.Rules = workspaceRules[i%len(workspaceRules)]
		if q.Rules.Pace > 0 && q.Principal.IsAgent() {
			q.Paced = 1 + a.random.IntN(6)
		}
	}
	e := domain.Envelope{Action: domain.NewID("act", a.now), Name: act.Name, Principal: q.Principal, Mode: string(q.Mode), Outside: q.Outside}
	if q.Principal.IsAgent() {
		e.Person, e.Via.Key = ana.ID(), theKey
	}
	v, _ := policy.AskAgain(revision, q)
	if v.Answer == domain.Propose && act.Name == article.Update.Name && len(q.Rules.Waits) == 0 {
		with := q
		with.Yes = &policy.Yes{Kind: policy.Standing, By: ana.ID(), ID: aYes, Causes: []string{"manual-mode", "project-rule"}}
		if lifted, _ := policy.AskAgain(revision, with); lifted.Answer == domain.Act {
			q, v, e.Standing = with, lifted, aYes
		}
	}
	e.Question, e.Verdict = spelt2(a.t, q), &v
	target := domain.Stream{Category: article.Kind.Category, Workspace: ws, ID: string(domain.Derive("art", fmt.Sprint(i%50)))}
	name := target.Category + "/" + target.ID
	stream := conduct.Of(ws, q.Principal, a.now)
	switch {
	case a.random.IntN(20) == 0 && v.Answer != domain.Reject: // found everything already so
		q.Yes, e.Standing = nil, ""
		idle := domain.Verdict{Rules: v.Rules, AutoCheck: v.AutoCheck}
		e.Question, e.Verdict = spelt2(a.t, q), &idle
		a.write(stream, e, conduct.Idle{Action: act.Name, Target: name, Count: 1})
	case v.Answer == domain.Reject:
		a.write(stream, e, conduct.Refused{Action: act.Name, Target: name, Code: v.Code, Why: v.Reason, Count: 1})
	case v.Answer == domain.Propose:
		prop := domain.Stream{Category: proposal.Kind.Category, Workspace: ws, ID: string(domain.NewID("prop", a.now))}
		e.Proposal = prop.ID
		a.write(prop, e, proposal.Filed{Asker: q.Principal, Cause: v.Cause, Reads: []proposal.Read{{Stream: target.String()}}})
	default:
		title := fmt.Sprint(i)
		a.write(target, e, article.Updated{Title: &title})
	}
	return e.Action
}

func spelt2(t testing.TB, v any) json.RawMessage {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// edits are what somebody might change in a stored question or its answer.
var edits = []struct {
	what string
	do   func(*policy.Question, *domain.Verdict)
}{
	{"the mode", func(q *policy.Question, _ *domain.Verdict) { q.Mode = policy.Stricter(q.Mode, policy.Plan) }},
	{"another mode", func(q *policy.Question, _ *domain.Verdict) { q.Mode = policy.Auto }},
	{"the role", func(q *policy.Question, _ *domain.Verdict) { q.Role = "" }},
	{"a better role", func(q *policy.Question, _ *domain.Verdict) { q.Role = policy.Owner }},
	{"the scopes", func(q *policy.Question, _ *domain.Verdict) { q.Scopes = nil }},
	{"a pause", func(q *policy.Question, _ *domain.Verdict) { q.PausedAgents = !q.PausedAgents }},
	{"the principal", func(q *policy.Question, _ *domain.Verdict) { q.Principal.ID = "agent_other" }},
	{"the action", func(q *policy.Question, _ *domain.Verdict) { q.Action = "article.adjust" }},
	{"the class", func(q *policy.Question, _ *domain.Verdict) { q.Class = action.Destructive }},
	{"the only site", func(q *policy.Question, _ *domain.Verdict) { q.OnlySite = "elsewhere" }},
	{"the rules", func(q *policy.Question, _ *domain.Verdict) { q.Rules.Waits = append(q.Rules.Waits, q.Action) }},
	{"the mark of what is outside", func(q *policy.Question, _ *domain.Verdict) { q.Outside = !q.Outside }},
	{"a yes", func(q *policy.Question, _ *domain.Verdict) { q.Yes = &policy.Yes{Kind: policy.Approval, By: ana.ID()} }},
	{"no yes", func(q *policy.Question, _ *domain.Verdict) { q.Yes = nil }},
	{"the measure", func(q *policy.Question, _ *domain.Verdict) {
		if q.Check != nil {
			q.Check = &domain.AutoCheck{Rule: policy.LowRiskRule, Code: "structure", Changes: 1, Limit: 20}
		}
	}},
	{"the answer", func(_ *policy.Question, v *domain.Verdict) { v.Answer = (v.Answer + 1) % 3 }},
	{"the code", func(_ *policy.Question, v *domain.Verdict) { v.Code += "x" }},
	{"the cause", func(_ *policy.Question, v *domain.Verdict) { v.Cause += "x" }},
	{"a finding", func(_ *policy.Question, v *domain.Verdict) {
		v.Findings = append(slices.Clone(v.Findings), domain.Finding{Rule: "paused", Reason: "x"})
	}},
	{"the revision", func(_ *policy.Question, v *domain.Verdict) { v.Rules = "rules-0" }},
}

// matters says that an edit is one that the rules of the time or the envelope
// can tell from what was: what changes no answer is the chain's to find.
func matters(q, was policy.Question, v, wasV domain.Verdict) bool {
	if q.Mode != was.Mode || q.Principal != was.Principal || q.Action != was.Action || q.Outside != was.Outside || (q.Yes == nil) != (was.Yes == nil) || string(mustSpell(v)) != string(mustSpell(wasV)) {
		return true
	}
	after, _ := policy.AskAgain(v.Rules, q)
	before, _ := policy.AskAgain(v.Rules, was)
	return string(mustSpell(after)) != string(mustSpell(before))
}

func mustSpell(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

// TestTenThousandDecisionsReplay: every recorded decision is what the rules of
// its time still say, whatever they were; and whoever edits a stored input
// makes exactly that record one that is not.
func TestTenThousandDecisionsReplay(t *testing.T) {
	const decisions = 10_000
	a := newAnnals(t, 1)
	var acts []domain.ID
	for i := range decisions {
		acts = append(acts, a.decide(i))
	}
	evidence := index(t, a.log)
	sweep := func(log commands.Log) (wrong []domain.ID) {
		records := recordsOf(t, log, evidence)
		for _, id := range acts {
			why, err := records.Why(t.Context(), ws, id)
			if err != nil || len(why.Asked) != 1 || !why.Asked[0].Checked {
				t.Fatalf("%s: %+v %v", id, why, err)
			}
			if !why.Matches {
				wrong = append(wrong, id)
			}
		}
		return wrong
	}
	if wrong := sweep(a.log); len(wrong) > 0 {
		why, _ := recordsOf(t, a.log, evidence).Why(t.Context(), ws, wrong[0])
		t.Fatalf("%d of %d do not replay; the first: %+v", len(wrong), decisions, why.Asked[0])
	}

	places := map[domain.ID]domain.Record{}
	for _, r := range evidence.all {
		places[r.Envelope.Action] = r
	}
	for n, edit := range edits {
		tried := 0
		for _, i := range a.random.Perm(len(acts)) {
			id := acts[i]
			rec := places[id]
			var q, was policy.Question
			if err := errors.Join(json.Unmarshal(rec.Envelope.Question, &q), json.Unmarshal(rec.Envelope.Question, &was)); err != nil {
				t.Fatal(err)
			}
			v := *rec.Envelope.Verdict
			edit.do(&q, &v)
			if rec.Word == "conduct.idle" || !matters(q, was, v, *rec.Envelope.Verdict) {
				continue
			}
			tampered := edited{a.log, rec.Position, func(e *domain.Envelope) { e.Question, e.Verdict = mustSpell(q), &v }}
			why, err := recordsOf(t, tampered, evidence).Why(t.Context(), ws, id)
			if err != nil || why.Matches || len(why.Asked[0].Differs) == 0 {
				t.Fatalf("%s of %s was edited, and it still matches: %+v %v", edit.what, id, why, err)
			}
			if tried == 0 && n%7 == 0 {
				if wrong := sweep(tampered); len(wrong) != 1 || wrong[0] != id {
					t.Fatalf("%s of %s was edited, and these do not match: %v", edit.what, id, wrong)
				}
			}
			if tried++; tried == 20 {
				break
			}
		}
		if tried == 0 {
			t.Errorf("%s was never edited", edit.what)
		}
	}
}

func TestWhyTellsWhatADecisionWasAbout(t *testing.T) {
	w := newTown(t)
	held := w.act(policy.Manual, "article.create", args{"site": "main", "slug": "menu", "title": "Menu", "body": ""})
	id := held.Proposal.(*commands.Held).ID
	if out, err := w.desk.Approve(t.Context(), ana, id, ""); err != nil || out.Outcome != commands.Done {
		t.Fatalf("%+v %v", out, err)
	}
	evidence := index(t, w.log)
	records := commands.NewRecords(w.road, evidence)
	var decision, carried domain.ID
	for _, r := range evidence.all {
		switch {
		case r.Word == "proposal.approved":
			decision = r.Envelope.Action
		case r.Envelope.ApprovedBy != "":
			carried = r.Envelope.Action
		}
	}
	why, err := records.Why(t.Context(), ws, decision)
	if err != nil || !why.Matches || len(why.Asked) != 2 || why.Asked[0].Action != held.Action || why.Asked[1].Outcome != "approved" {
		t.Fatalf("of a decision it tells %+v %v", why, err)
	}
	if v := why.Asked[0].Again; v == nil || v.Cause != "manual-mode" {
		t.Errorf("what it was about was held by %+v", v)
	}
	why, err = records.Why(t.Context(), ws, carried)
	if err != nil || !why.Matches || why.Asked[0].Question.Yes.By != ana.ID() || why.Asked[0].Again.Lifted != policy.Approval {
		t.Fatalf("of what was carried out it tells %+v %v", why, err)
	}

	// A yes that nobody gave.
	i := slices.IndexFunc(evidence.all, func(r domain.Record) bool { return r.Envelope.Action == carried && r.Envelope.Question != nil })
	forged := edited{w.log, evidence.all[i].Position, func(e *domain.Envelope) {
		e.ApprovedBy = "person_eve"
		e.Question = json.RawMessage(strings.ReplaceAll(string(e.Question), ana.ID(), "person_eve"))
	}}
	why, err = recordsOf(t, forged, evidence).Why(t.Context(), ws, carried)
	if err != nil || why.Matches || why.Asked[0].Differs[0].Field != "yes" {
		t.Errorf("of a yes that nobody gave it tells %+v %v", why.Asked, err)
	}

	// An undo was asked as well.
	undone, err := w.desk.Undo(t.Context(), ana, carried, commands.Taking{})
	if err != nil || undone.Outcome != commands.Done {
		t.Fatalf("%+v %v", undone, err)
	}
	why, err = commands.NewRecords(w.road, index(t, w.log)).Why(t.Context(), ws, undone.Action)
	if err != nil || !why.Matches || !why.Asked[0].Checked || why.Asked[0].Question.Role != policy.Owner {
		t.Errorf("of an undo it tells %+v %v", why, err)
	}
}

func TestWhyOfNothingIsNotFound(t *testing.T) {
	w := newTown(t)
	made := w.create("menu", "")
	records := commands.NewRecords(w.road, index(t, w.log))
	for _, ask := range []struct {
		ws string
		id domain.ID
	}{{ws, ""}, {ws, "act_nothing"}, {"other", made.Action}} {
		if _, err := records.Why(t.Context(), ask.ws, ask.id); !errors.Is(err, domain.Refuse("not-found", "")) {
			t.Errorf("%v: %v", ask, err)
		}
	}
}
