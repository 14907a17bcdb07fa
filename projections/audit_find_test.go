package projections_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/article"
	"assent/domain/conduct"
	"assent/domain/proposal"
	"assent/projections"
)

// crowd is a log of about n actions of a few agents and people, of every
// outcome, through keys and sessions, in which every filter finds something
// and hardly any pair of filters is independent.
func crowd(tb testing.TB, n int, r *rand.Rand) *journal {
	j := newJournal(tb)
	for i := range n {
		act := domain.ID(fmt.Sprintf("act_%06d", i))
		j.crowded(act, r)
	}
	return j
}

func (j *journal) crowded(act domain.ID, r *rand.Rand) {
	nth := func(kind string, of int) string { return fmt.Sprintf("%s_%d", kind, r.IntN(of)) }
	e := byPerson(act, "article.update")
	e.Principal.ID, e.Via.Session = nth("person", 3), nth("session", 4)
	if r.IntN(4) > 0 {
		e = byAgent(act, []string{"article.update", "article.create", "site.publish"}[r.IntN(3)])
		e.Principal.ID = nth("agent", 5)
		e.Person, e.Via.Key = "person_"+string('0'+e.Principal.ID[len(e.Principal.ID)-1]%3), fmt.Sprintf("%s_%s", nth("key", 2), e.Principal.ID)
	}
	if r.IntN(3) == 0 {
		e.Skill = nth("skill", 2)
	}
	target := nth("art", 20)
	day := at("conduct", string(e.Principal.Kind)+"."+e.Principal.ID+"-2026-03-01")
	switch r.IntN(8) {
	case 0:
		e.Verdict = &domain.Verdict{Answer: domain.Propose, Cause: []string{"tool", "skill"}[r.IntN(2)]}
		j.say(e, at("proposal", "prop_"+string(act)), proposal.Filed{Headline: "Asks", Expires: start})
	case 1:
		j.say(e, day, conduct.Refused{Action: e.Name, Target: "article/" + target, Code: "scope", Count: 1})
	case 2:
		j.say(e, day, conduct.Idle{Action: e.Name, Target: "article/" + target, Count: 1})
	case 3:
		j.say(e, day, conduct.Read{Action: "article.list", Count: 3})
	default:
		j.say(e, at("article", target), article.Updated{Title: new(string(act))})
	}
}

// picked is a question with some filters set to values of a line that there
// is, and now and then to those of another.
func picked(r *rand.Rand, lines []projections.Entry) projections.AuditArgs {
	line := func() projections.Entry { return lines[r.IntN(len(lines))] }
	one := line()
	maybe := func(odds int, set func(projections.Entry)) {
		if r.IntN(odds) > 0 {
			return
		}
		if r.IntN(5) == 0 {
			set(line())
		} else {
			set(one)
		}
	}
	var q projections.AuditArgs
	maybe(3, func(e projections.Entry) { q.Agent = agentOf(e) })
	maybe(3, func(e projections.Entry) { q.Person = personOf(e) })
	maybe(3, func(e projections.Entry) { q.Key = e.Via.Key })
	maybe(6, func(e projections.Entry) { q.Session = e.Via.Session })
	maybe(3, func(e projections.Entry) { q.Action = e.Action })
	maybe(6, func(e projections.Entry) { q.Target = e.Target.ID })
	maybe(3, func(e projections.Entry) { q.Outcome = e.Outcome })
	maybe(6, func(e projections.Entry) { q.Cause = causeOf(e) })
	maybe(6, func(e projections.Entry) { q.Skill = e.Skill })
	maybe(9, func(e projections.Entry) { q.Proposal = e.Proposal })
	maybe(4, func(e projections.Entry) { q.Since = e.At.Add(time.Duration(r.IntN(3)-1) * time.Second) })
	maybe(4, func(e projections.Entry) { q.Until = e.At.Add(time.Duration(r.IntN(3)-1) * time.Second) })
	return q
}

func agentOf(e projections.Entry) string {
	if e.Principal.IsAgent() {
		return e.Principal.ID
	}
	return ""
}

func personOf(e projections.Entry) string {
	if e.Principal.IsAgent() {
		return e.Person
	}
	return e.Principal.ID
}

func causeOf(e projections.Entry) string {
	if e.Verdict == nil {
		return ""
	}
	return e.Verdict.Cause
}

// fits says what Audit says with SQL: it is the question in Go.
func fits(q projections.AuditArgs, e projections.Entry) bool {
	for want, is := range map[[2]string]bool{
		{q.Agent, agentOf(e)}: true, {q.Person, personOf(e)}: true, {q.Key, e.Via.Key}: true, {q.Session, e.Via.Session}: true,
		{q.Action, e.Action}: true, {q.Target, e.Target.ID}: true, {q.Outcome, e.Outcome}: true, {q.Cause, causeOf(e)}: true,
		{q.Skill, e.Skill}: true, {q.Proposal, e.Proposal}: true,
	} {
		if is && want[0] != "" && want[0] != want[1] {
			return false
		}
	}
	return (q.Since.IsZero() || !e.At.Before(q.Since)) && (q.Until.IsZero() || e.At.Before(q.Until))
}

// pages walks through a list to its end.
func pages(tb testing.TB, s *projections.Store, q projections.AuditArgs, limit int, between func()) []domain.Position {
	tb.Helper()
	var got []domain.Position
	for q.Page = (action.Page{Limit: limit}); ; {
		list, next, err := s.Audit(tb.Context(), "home", q)
		if err != nil {
			tb.Fatalf("%+v: %v", q, err)
		}
		for _, e := range list {
			got = append(got, e.Position)
		}
		if q.Cursor = next; next == "" {
			return got
		}
		between()
	}
}

func TestEverySetOfFiltersFindsWhatLookingThroughEverythingFinds(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 5))
	s := folded(t, crowd(t, 700, r))
	var lines []projections.Entry
	if err := s.EachAudit(t.Context(), "home", projections.AuditArgs{}, s.Status().Position, func(e projections.Entry) error {
		lines = append(lines, e)
		return nil
	}); err != nil || len(lines) != 700 {
		t.Fatal(len(lines), err)
	}
	found := map[int]int{}
	for range 400 {
		q := picked(r, lines)
		var want []domain.Position
		for _, e := range lines {
			if fits(q, e) {
				want = append(want, e.Position)
			}
		}
		var up []domain.Position
		err := s.EachAudit(t.Context(), "home", q, s.Status().Position, func(e projections.Entry) error {
			up = append(up, e.Position)
			return nil
		})
		if d := cmp.Diff(want, up); d != "" || err != nil {
			t.Fatalf("oldest first, %+v: %s %v", q, d, err)
		}
		slices.Reverse(want)
		if d := cmp.Diff(want, pages(t, s, q, 7, func() {})); d != "" {
			t.Fatalf("newest first, %+v: %s", q, d)
		}
		found[min(len(want), 10)]++
	}
	if found[0] == 0 || found[1] == 0 || found[10] == 0 {
		t.Errorf("the questions are not varied: %v", found)
	}
}

func TestPagesLoseAndRepeatNothingWhileEventsArrive(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 7))
	j := crowd(t, 300, r)
	s := folded(t, j)
	for _, q := range []projections.AuditArgs{{}, {Agent: "agent_1"}, {Agent: "agent_1", Outcome: "done"}, {Person: "person_1", Key: "key_1_agent_1", Outcome: "done"}} {
		before := pages(t, s, q, 100, func() {})
		n := 0
		got := pages(t, s, q, 3, func() {
			n++
			j.crowded(domain.ID(fmt.Sprintf("act_n%s%s%s%d", q.Agent, q.Key, q.Outcome, n)), r)
			see(t, s, j.head())
		})
		if d := cmp.Diff(before, got); d != "" || n == 0 {
			t.Errorf("%+v: %s", q, d)
		}
	}
}

func TestAnExportEndsWhereItWasToldTo(t *testing.T) {
	s := folded(t, smallSite(t))
	var got []domain.Position
	err := s.EachAudit(t.Context(), "home", projections.AuditArgs{}, 6, func(e projections.Entry) error {
		got = append(got, e.Position)
		return nil
	})
	if d := cmp.Diff([]domain.Position{1, 2, 4, 6}, got); d != "" || err != nil {
		t.Error(d, err)
	}
	enough := fmt.Errorf("enough")
	if err := s.EachAudit(t.Context(), "home", projections.AuditArgs{}, 6, func(projections.Entry) error { return enough }); err != enough {
		t.Errorf("it goes on although nobody hears it: %v", err)
	}
}
