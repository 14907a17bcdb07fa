package commands_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assent/commands"
	"assent/domain"
	"assent/domain/article"
	"assent/domain/policy"
)

// simulated is what a simulation tells of a town's past.
func (w *town) simulated(s commands.Simulation) (list []commands.Simulated, totals commands.Totals) {
	w.t.Helper()
	s.Workspace = ws
	totals, err := commands.NewRecords(w.road, index(w.t, w.log)).Simulate(w.t.Context(), commands.Call{Principal: domain.Principal{Kind: domain.KindPerson, ID: ana.ID()}}, s, func(one commands.Simulated) error {
		list = append(list, one)
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return list, totals
}

// lived is a town with a past: an edit, one that waited, one that waited and was
// approved, a refusal, and a request for what was already so.
func lived(t *testing.T) *town {
	w := newTown(t)
	w.made("soil")
	w.later(time.Hour)
	w.act(policy.Edits, "article.update", args{"article": "$soil", "title": "Edited"})
	w.act(policy.Manual, "article.update", args{"article": "$soil", "title": "Asked"})
	held := w.act(policy.Manual, "article.update", args{"article": "$soil", "title": "Approved"})
	if out, err := w.desk.Approve(t.Context(), ana, held.Proposal.(*commands.Held).ID, ""); err != nil || out.Outcome != commands.Done {
		t.Fatalf("%+v %v", out, err)
	}
	w.act(policy.Plan, "article.update", args{"article": "$soil", "title": "Planned"})
	w.act(policy.Edits, "article.update", args{"article": "$soil", "title": "Approved"}) // already so
	w.act(policy.Edits, "article.update", args{"article": "$soil", "title": "Stale", "rev": 1})
	return w
}

// turns are what came out differently, in words.
func turns(list []commands.Simulated) (told []string) {
	for _, s := range list {
		told = append(told, s.Name+": "+s.Was+" → "+s.Would+" "+s.Cause)
	}
	return told
}

func TestSimulatingTellsWhatWouldHaveComeOutDifferently(t *testing.T) {
	waits := []string{"article.update"}
	limits := 1
	for _, tt := range []struct {
		name string
		if_  policy.WhatIf
		want []string
	}{
		{"nothing otherwise", policy.WhatIf{}, nil},
		{"manual", policy.WhatIf{Mode: policy.Manual}, []string{
			"article.create: done → waiting manual-mode", "article.update: done → waiting manual-mode", "article.update: refused → waiting manual-mode",
		}},
		{"plan", policy.WhatIf{Mode: policy.Plan}, []string{
			"article.create: done → refused mode", "article.update: done → refused mode", "article.update: waiting → refused mode", "article.update: waiting → refused mode",
			"article.update: idle → refused mode",
		}},
		{"edits", policy.WhatIf{Mode: policy.Edits}, []string{
			"article.update: waiting → done ", "article.update: waiting → done ", "article.update: refused → done ",
		}},
		{"a rule", policy.WhatIf{Rules: policy.RulesChange{Waits: &waits}}, []string{"article.update: done → waiting project-rule"}},
		{"a limit of publishes", policy.WhatIf{Rules: policy.RulesChange{AutoPublishLimit: &limits}}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := lived(t)
			before := len(index(t, w.log).all)
			list, totals := w.simulated(commands.Simulation{If: tt.if_, Agent: "local:me"})
			if diff := cmp.Diff(tt.want, turns(list)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if totals.Differ != len(list) || totals.Asked != 7 || totals.Carried != 1 {
				t.Errorf("counts %+v", totals)
			}
			if after := len(index(t, w.log).all); after != before {
				t.Errorf("it wrote %d events", after-before)
			}
			if err := w.road.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			all := index(t, w.log).all
			if last := all[len(all)-1]; len(all) != before+1 || last.Word != "conduct.read" || last.Envelope.Name != commands.Simulating || last.Envelope.Principal.ID != ana.ID() {
				t.Errorf("that somebody asked is recorded as %+v", all[before:])
			}
		})
	}
}

func TestASimulationCanBeginAndEndInTheMiddle(t *testing.T) {
	w := lived(t)
	all := index(t, w.log).all
	middle := w.now().Add(-time.Minute)
	for _, tt := range []struct {
		s    commands.Simulation
		want int
	}{
		{commands.Simulation{Since: middle}, 2}, {commands.Simulation{Until: middle}, 1}, {commands.Simulation{Since: all[len(all)-1].At.Add(time.Hour)}, 0},
		{commands.Simulation{Since: middle, Agent: "agent_nobody"}, 0},
	} {
		tt.s.If.Mode = policy.Manual
		if list, _ := w.simulated(tt.s); len(list) != tt.want {
			t.Errorf("%+v: %v", tt.s, turns(list))
		}
	}
}

func TestAReviewIsWhatHappenedAndStillStands(t *testing.T) {
	w := lived(t)
	review := commands.Simulation{If: policy.WhatIf{Mode: policy.Manual}, Review: true}
	list, _ := w.simulated(review)
	if diff := cmp.Diff([]string{"article.create: done → waiting manual-mode", "article.update: done → waiting manual-mode"}, turns(list)); diff != "" {
		t.Fatalf("(-want +got)\n%s", diff)
	}
	edit := w.act(policy.Edits, "article.update", args{"article": "$soil", "summary": "Short"})
	if list, _ = w.simulated(review); len(list) != 3 || list[2].Action != edit.Action || list[2].Target.ID != w.named["$soil"] {
		t.Fatalf("%+v", list)
	}
	if out, err := w.desk.Undo(t.Context(), ana, edit.Action, commands.Taking{}); err != nil || out.Outcome != commands.Done {
		t.Fatalf("%+v %v", out, err)
	}
	if list, _ = w.simulated(review); len(list) != 2 {
		t.Errorf("what was taken back is still to be looked at: %v", turns(list))
	}
}

func TestAPublishThatNobodyMeasuredIsNotGuessed(t *testing.T) {
	w := newTown(t)
	w.made("soil")
	w.act(policy.Edits, "site.publish", args{"site": "main", "items": []any{args{"id": w.named["$soil"]}}})
	list, totals := w.simulated(commands.Simulation{If: policy.WhatIf{Mode: policy.Auto}})
	if len(list) != 1 || list[0].Would != commands.Unknown || totals.Unknown != 1 {
		t.Errorf("it tells %v, %+v", turns(list), totals)
	}
}

func TestAPaceIsCountedAsItWouldHaveBeen(t *testing.T) {
	a := newAnnals(t, 2)
	pace := 2
	var acts []domain.ID
	for i := range 5 { // five different things in one minute, then the first again, much later
		a.now = a.now.Add(10 * time.Second)
		acts = append(acts, a.edits(bot(0), i))
	}
	a.now = a.now.Add(time.Hour)
	a.edits(bot(0), 0)
	var waited []domain.ID
	_, err := recordsOf(t, a.log, index(t, a.log)).Simulate(t.Context(), commands.Call{}, commands.Simulation{
		Workspace: ws, If: policy.WhatIf{Rules: policy.RulesChange{Pace: &pace}},
	}, func(s commands.Simulated) error {
		waited = append(waited, s.Action)
		return nil
	})
	if diff := cmp.Diff(acts[2:], waited); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

func TestAYesInAdvanceCountsInASimulation(t *testing.T) {
	a := newAnnals(t, 3)
	id := a.edits(bot(1), 0)
	simulate := func(w policy.WhatIf) (list []commands.Simulated) {
		_, err := recordsOf(t, a.log, index(t, a.log)).Simulate(t.Context(), commands.Call{}, commands.Simulation{Workspace: ws, If: w}, func(s commands.Simulated) error {
			list = append(list, s)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	if list := simulate(policy.WhatIf{Mode: policy.Manual}); len(list) > 0 {
		t.Errorf("the yes in advance does not count: %v", turns(list))
	}
	waits := []string{"page.update"}
	if list := simulate(policy.WhatIf{Mode: policy.Manual, Rules: policy.RulesChange{Waits: &waits}}); len(list) != 1 || list[0].Action != id {
		t.Errorf("a yes outlives rules that were tightened: %v", turns(list))
	}
}

func TestWhatCannotBeTriedOutIsRefused(t *testing.T) {
	w := lived(t)
	pace, from := -1, w.now()
	for name, s := range map[string]commands.Simulation{
		"bypass":       {If: policy.WhatIf{Mode: policy.Bypass}},
		"no such mode": {If: policy.WhatIf{Mode: "wild"}},
		"bad rules":    {If: policy.WhatIf{Rules: policy.RulesChange{Pace: &pace}}},
		"no time":      {Since: from, Until: from},
	} {
		if _, err := commands.NewRecords(w.road, index(t, w.log)).Simulate(t.Context(), commands.Call{}, s, nil); !errors.Is(err, domain.Refuse("invalid", "")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestASimulationStopsWhenNobodyListens(t *testing.T) {
	w := lived(t)
	enough, n := errors.New("enough"), 0
	_, err := commands.NewRecords(w.road, index(t, w.log)).Simulate(t.Context(), commands.Call{}, commands.Simulation{Workspace: ws, If: policy.WhatIf{Mode: policy.Plan}}, func(commands.Simulated) error {
		n++
		return enough
	})
	if !errors.Is(err, enough) || n != 1 {
		t.Errorf("%v after %d", err, n)
	}
}

// edits is one edit of one thing by an agent, in edits mode.
func (a *annals) edits(who string, thing int) domain.ID {
	q := policy.Question{
		Now: a.now, Principal: domain.Principal{Kind: domain.KindAgent, ID: who}, Action: article.Update.Name, Class: article.Update.Class,
		Scope: article.Update.Scope, Permission: article.Update.Permission, Site: theSite, Mode: policy.Edits, Scopes: policy.Scopes, Role: policy.Owner,
	}
	v := policy.Ask(q)
	e := domain.Envelope{
		Action: domain.NewID("act", a.now), Name: q.Action, Principal: q.Principal, Person: ana.ID(), Via: domain.Via{Key: theKey}, Mode: string(q.Mode),
		Question: spelt2(a.t, q), Verdict: &v,
	}
	title := a.now.String()
	a.write(domain.Stream{Category: article.Kind.Category, Workspace: ws, ID: string(domain.Derive("art", string(rune('a'+thing))))}, e, article.Updated{Title: &title})
	return e.Action
}

// BenchmarkSimulate is a simulation over 100,000 actions. The aim is 5 s.
func BenchmarkSimulate(b *testing.B) {
	a := newAnnals(b, 4)
	for i := range 100_000 {
		a.decide(i)
	}
	records := recordsOf(b, a.log, &indexed{})
	for b.Loop() {
		if _, err := records.Simulate(b.Context(), commands.Call{}, commands.Simulation{Workspace: ws, If: policy.WhatIf{Mode: policy.Manual}}, func(commands.Simulated) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}
