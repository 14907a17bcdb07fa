package projections_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/address"
	"assent/domain/agent"
	"assent/domain/article"
	"assent/domain/command"
	"assent/domain/conduct"
	"assent/domain/live"
	"assent/domain/policy"
	"assent/domain/proposal"
	"assent/projections"
)

func TestEveryActionHasOneEntryThatSaysWhatItChanged(t *testing.T) {
	s := folded(t, smallSite(t))
	got, err := s.Entry(t.Context(), "home", "act_edit")
	want := projections.Entry{
		ID: "act_edit", Position: 7, At: start.Add(7 * time.Minute), Action: "article.update",
		Principal: domain.Principal{Kind: "agent", ID: "agent_1"}, Person: "person_1", Mode: "edits",
		Via: domain.Via{Key: "key_1"}, Client: domain.Client{Name: "writer", Version: "1"},
		Target: projections.Target{Kind: "article", ID: "art_1", Version: 2}, Outcome: "done",
		Changes: []domain.Line{
			{Field: "title", Before: "Spring in home", After: "Spring menu in home"},
			{Field: "body", Before: "Asparagus is back.", After: "Asparagus and ÄPFEL."},
		},
	}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(d, err)
	}

	made, err := s.Entry(t.Context(), "home", "act_art1") // claimed its address first
	if err != nil || made.Target != (projections.Target{Kind: "article", ID: "art_1", Version: 1}) || made.Position != 4 {
		t.Errorf("%+v %v", made, err)
	}
	for _, l := range made.Changes {
		if l.Of != "" {
			t.Errorf("the claim is shown: %+v", l)
		}
	}
	if _, err := s.Entry(t.Context(), "home", "act_nobody"); !errors.Is(err, notFound) {
		t.Errorf("an action nobody took: %v", err)
	}
}

func TestTheReasonStaysSealed(t *testing.T) {
	s := folded(t, smallSite(t))
	e, err := s.Entry(t.Context(), "home", "act_pub1")
	if err != nil || e.Reason != "" || e.Sealed == nil || string(e.Sealed.Box) != "sealed home" {
		t.Errorf("%+v %v", e, err)
	}
	if doc, err := json.Marshal(e); err != nil || strings.Contains(string(doc), "ealed") {
		t.Errorf("it goes out with the sealed words: %s %v", doc, err)
	}
}

func TestAnUndoneActionSaysByWhich(t *testing.T) {
	j := smallSite(t)
	undo := byPerson("act_undo", "action.undo")
	undo.Undoes = "act_edit"
	j.say(undo, at("article", "art_1"), article.Updated{Title: new("Spring in home"), Body: new("Asparagus is back.")})
	s := folded(t, j)
	was, err := s.Entry(t.Context(), "home", "act_edit")
	if err != nil || was.Undone != "act_undo" || was.Undoes != "" {
		t.Errorf("%+v %v", was, err)
	}
	now, err := s.Entry(t.Context(), "home", "act_undo")
	if err != nil || now.Undoes != "act_edit" || now.Undone != "" || len(now.Changes) != 2 {
		t.Errorf("%+v %v", now, err)
	}
}

func TestAnUndoThatWasItselfUndoneIsNotShown(t *testing.T) {
	j := smallSite(t)
	for i, undoes := range []domain.ID{"act_edit", "act_undo0", "act_undo1"} {
		e := byPerson(domain.ID(fmt.Sprint("act_undo", i)), "action.undo")
		e.Undoes = undoes
		j.say(e, at("article", "art_1"), article.Updated{Title: new(fmt.Sprint(i))})
	}
	for upTo, want := range map[domain.Position]domain.ID{j.head() - 2: "act_undo0", j.head() - 1: "", j.head(): "act_undo0"} {
		s := open(t, fresh(t))
		run(t, s, j.upTo(upTo))
		see(t, s, upTo)
		if e, err := s.Entry(t.Context(), "home", "act_edit"); err != nil || e.Undone != want {
			t.Errorf("after %d: undone by %q %v, want %q", upTo, e.Undone, err, want)
		}
	}
}

func TestAnUndoThatWasRefusedUndoesNothing(t *testing.T) {
	j := smallSite(t)
	undo := byPerson("act_undo", "action.undo")
	undo.Undoes = "act_edit"
	j.say(undo, at("conduct", "person.person_1-2026-03-01"), conduct.Refused{Action: "action.undo", Target: "article/art_1", Code: "undo-conflict", Count: 1})
	s := folded(t, j)
	if was, err := s.Entry(t.Context(), "home", "act_edit"); err != nil || was.Undone != "" {
		t.Errorf("%+v %v", was, err)
	}
}

func TestWhatWaitedSaysWhoDecided(t *testing.T) {
	j := smallSite(t)
	e := byAgent("act_ask", "site.publish")
	e.Verdict = &domain.Verdict{Answer: domain.Propose, Cause: "tool"}
	j.say(e, at("proposal", "prop_1"), proposal.Filed{Headline: "Publish 1", Expires: start, Lines: []domain.Change{
		{Kind: "article", ID: "art_1", Change: domain.Edited, Fields: []domain.Line{{Field: "title", Before: "a", After: "b"}}}}})
	s := folded(t, j)
	waiting, err := s.Entry(t.Context(), "home", "act_ask")
	if err != nil || waiting.Outcome != "waiting" || waiting.Proposal != "prop_1" || waiting.DecidedBy != "" || waiting.Target.Kind != "proposal" {
		t.Errorf("%+v %v", waiting, err)
	}
	if d := cmp.Diff([]domain.Line{{Of: "art_1", Field: "title", Before: "a", After: "b"}}, waiting.Changes); d != "" {
		t.Error(d)
	}

	j.say(byPerson("act_yes", "proposal.approve"), at("proposal", "prop_1"), proposal.Approved{By: "person_1", Action: "act_yes"})
	run := byAgent("act_run", "site.publish")
	run.Proposal, run.ApprovedBy = "prop_1", "person_1"
	j.say(run, at("live", "main"), live.Published{Items: []live.Item{{ID: "art_1", Version: 2, Address: "/posts/spring"}}})
	see(t, s, j.head())
	if decided, err := s.Entry(t.Context(), "home", "act_ask"); err != nil || decided.DecidedBy != "person_1" || decided.Outcome != "waiting" {
		t.Errorf("%+v %v", decided, err)
	}
	if done, err := s.Entry(t.Context(), "home", "act_run"); err != nil || done.DecidedBy != "person_1" || done.Proposal != "prop_1" || done.Outcome != "done" {
		t.Errorf("%+v %v", done, err)
	}
}

func TestConductIsInTheAuditLineByLine(t *testing.T) {
	j := newJournal(t)
	refused := byAgent("act_no", "site.publish")
	refused.Verdict = &domain.Verdict{Answer: domain.Reject, Code: "scope"}
	day := at("conduct", "agent.agent_1-2026-03-01")
	j.say(refused, day, conduct.Refused{Action: "site.publish", Target: "live/main", Code: "scope", Why: "Not yours.", Count: 1})
	j.say(refused, day, conduct.Refused{Action: "site.publish", Target: "live/main", Code: "scope", Why: "Not yours.", Count: 40})
	j.say(byAgent("act_same", "article.update"), day, conduct.Idle{Action: "article.update", Target: "art_1", Count: 1})
	j.say(byAgent("act_read", "article.list"), day, conduct.Read{Action: "article.list", Count: 7, Targets: []string{"site/main"}})
	s := folded(t, j)
	list, _, err := s.Audit(t.Context(), "home", projections.AuditArgs{})
	var got []string
	for _, e := range list {
		code := ""
		if e.Refusal != nil {
			code = e.Refusal.Code
		}
		got = append(got, fmt.Sprintln(e.Outcome, e.Count, e.Action, e.Target.Kind, e.Target.ID, code))
	}
	want := []string{
		"read 7 article.list site main \n", "idle 1 article.update  art_1 \n",
		"refused 40 site.publish live main scope\n", "refused 1 site.publish live main scope\n",
	}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(d, err)
	}
}

func TestAnEntryIsNeverLong(t *testing.T) {
	j := smallSite(t)
	long := strings.Repeat("ä<", 80_000)
	j.say(byAgent("act_long", "article.update"), at("article", "art_1"), article.Updated{Body: &long, Title: &long, Tags: &[]string{long}, Meta: &map[string]any{"x": long}})
	var items []live.Item
	for i := range 2000 {
		items = append(items, live.Item{ID: fmt.Sprintf("art_%04d", i), Version: 1, Address: fmt.Sprintf("/posts/%04d", i)})
	}
	j.say(byPerson("act_many", "site.publish"), at("live", "main"), live.Published{Items: items})
	s := folded(t, j)
	for _, id := range []domain.ID{"act_long", "act_many"} {
		e, err := s.Entry(t.Context(), "home", id)
		if err != nil || !e.Clipped || len(e.Changes) == 0 {
			t.Errorf("%s: %v, clipped %v, %d lines", id, err, e.Clipped, len(e.Changes))
		}
		if doc := jsonOf(e); len(doc) > 32<<10 {
			t.Errorf("%s is %d bytes", id, len(doc))
		}
	}
}

func TestTheAuditAnswersWhoDidWhatWhenAndWhy(t *testing.T) {
	j := smallSite(t)
	other := byAgent("act_other", "site.publish")
	other.Principal.ID, other.Person, other.Verdict = "agent_2", "person_2", &domain.Verdict{Answer: domain.Propose, Cause: "tool"}
	j.say(other, at("proposal", "prop_1"), proposal.Filed{Headline: "Publish", Expires: start})
	s := folded(t, j)
	for name, c := range map[string]struct {
		args projections.AuditArgs
		want []domain.ID
	}{
		"an agent":            {projections.AuditArgs{Agent: "agent_2"}, []domain.ID{"act_other"}},
		"a person's agents":   {projections.AuditArgs{Person: "person_2"}, []domain.ID{"act_other"}},
		"a person":            {projections.AuditArgs{Person: "person_1", Action: "site.publish"}, []domain.ID{"act_pub1"}},
		"an action":           {projections.AuditArgs{Action: "article.create"}, []domain.ID{"act_art2", "act_art1"}},
		"a target":            {projections.AuditArgs{Target: "art_1"}, []domain.ID{"act_edit", "act_art1"}},
		"an outcome":          {projections.AuditArgs{Outcome: "waiting"}, []domain.ID{"act_other"}},
		"a cause":             {projections.AuditArgs{Cause: "tool"}, []domain.ID{"act_other"}},
		"since":               {projections.AuditArgs{Since: start.Add(8 * time.Minute)}, []domain.ID{"act_other", "act_art2"}},
		"until":               {projections.AuditArgs{Until: start.Add(2 * time.Minute)}, []domain.ID{"act_site"}},
		"several":             {projections.AuditArgs{Agent: "agent_1", Target: "art_2", Outcome: "done"}, []domain.ID{"act_art2"}},
		"nobody":              {projections.AuditArgs{Agent: "agent_9"}, nil},
		"what SQL would read": {projections.AuditArgs{Agent: "' OR 1=1 --"}, nil},
	} {
		list, _, err := s.Audit(t.Context(), "home", c.args)
		var got []domain.ID
		for _, e := range list {
			got = append(got, e.ID)
		}
		if d := cmp.Diff(c.want, got); d != "" || err != nil {
			t.Errorf("%s: %s %v", name, d, err)
		}
	}
}

func TestATraceIsEveryEventOfAnAction(t *testing.T) {
	j := smallSite(t)
	s := folded(t, j)
	got, err := s.Trace(t.Context(), "home", "act_art1", j.head())
	want := []projections.Trace{{Stream: at("address", "main/posts/spring"), Version: 1}, {Stream: at("article", "art_1"), Version: 1}}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(d, err)
	}
	if got, err := s.Trace(t.Context(), "home", "act_nobody", 0); err != nil || got != nil {
		t.Errorf("%v %v", got, err)
	}
}

func TestAProposalIsFollowedToItsEnd(t *testing.T) {
	j := newJournal(t)
	asker := domain.Principal{Kind: domain.KindAgent, ID: "agent_1"}
	sealed := &domain.Sealed{Person: "person_1", Box: []byte("why")}
	for _, id := range []string{"prop_yes", "prop_no", "prop_open", "prop_late"} {
		e := byAgent(domain.ID("act_"+id), "site.publish")
		e.Reason, e.Skill, e.Verdict = sealed, "news", &domain.Verdict{Answer: domain.Propose, Cause: "tool"}
		expires := start.Add(time.Hour)
		if id == "prop_late" {
			expires = start.Add(time.Minute)
		}
		j.say(e, at("proposal", id), proposal.Filed{Asker: asker, Headline: id, Cause: "tool", Changes: 1, Counts: proposal.Counts{Edited: 1}, Digest: "d-" + id, Expires: expires,
			Lines: []domain.Change{{Kind: "article", ID: "art_1", Change: domain.Edited, Fields: []domain.Line{{Field: "title", After: "x"}}}}},
			proposal.Called{Part: 1, Action: "site.publish", Args: json.RawMessage(`{"site":"main"}`), Target: "live-home/main"})
	}
	j.say(byPerson("act_yes", "proposal.approve"), at("proposal", "prop_yes"), proposal.Approved{By: "person_1", Action: "act_yes"})
	no := byPerson("act_noo", "proposal.decline")
	no.Reason = &domain.Sealed{Person: "person_1", Box: []byte("words")}
	j.say(no, at("proposal", "prop_no"), proposal.Declined{By: "person_1", Code: "not-now"})
	s := folded(t, j)

	unfinished, err := s.Unfinished(t.Context(), start.Add(30*time.Minute))
	if d := cmp.Diff([]domain.Stream{at("proposal", "prop_yes"), at("proposal", "prop_late")}, unfinished); d != "" || err != nil {
		t.Error(d, err)
	}
	j.say(byPerson("act_yes", "proposal.approve"), at("proposal", "prop_yes"), proposal.Settled{Results: []proposal.Result{{Part: 1, Outcome: "done"}}})
	j.say(byAgent("act_exp", "proposal.expire"), at("proposal", "prop_late"), proposal.Expired{})
	see(t, s, j.head())
	if unfinished, err := s.Unfinished(t.Context(), start.Add(30*time.Minute)); err != nil || unfinished != nil {
		t.Errorf("%v %v", unfinished, err)
	}

	got, err := s.Proposal(t.Context(), "home", "prop_no")
	want := projections.Proposal{
		ID: "prop_no", Status: "declined", Headline: "prop_no", Cause: "tool", Asker: asker, Person: "person_1",
		Client: domain.Client{Name: "writer", Version: "1"}, Mode: "edits", Skill: "news", Sealed: sealed, Action: "act_prop_no",
		Verdict: &domain.Verdict{Answer: domain.Propose, Cause: "tool"}, Things: 1, Counts: proposal.Counts{Edited: 1}, Digest: "d-prop_no",
		Changes: []domain.Change{{Kind: "article", ID: "art_1", Change: domain.Edited, Fields: []domain.Line{{Field: "title", After: "x"}}}},
		Calls:   []projections.ProposalCall{{Part: 1, Action: "site.publish", Args: json.RawMessage(`{"site":"main"}`), Target: "live-home/main"}},
		Filed:   start.Add(3 * time.Minute), Expires: start.Add(time.Hour), DecidedBy: "person_1", DecidedAt: start.Add(10 * time.Minute), Code: "not-now",
		SealedWords: no.Reason,
	}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(d, err)
	}
	if yes, err := s.Proposal(t.Context(), "home", "prop_yes"); err != nil || yes.Status != "settled" || yes.DecidedAt != start.Add(9*time.Minute) || len(yes.Results) != 1 {
		t.Errorf("%+v %v", yes, err)
	}
	for status, ids := range map[string]string{"": "[prop_late prop_open prop_no prop_yes]", "waiting": "[prop_open]", "settled": "[prop_yes]", "expired": "[prop_late]", "declined": "[prop_no]"} {
		list, _, err := s.Proposals(t.Context(), "home", projections.ProposalArgs{Status: status, Asker: asker})
		var got []string
		for _, p := range list {
			got = append(got, p.ID)
			if p.Changes != nil || p.Calls[0].Args != nil {
				t.Errorf("a list with whole cards: %+v", p)
			}
		}
		if fmt.Sprint(got) != ids || err != nil {
			t.Errorf("%q: %v %v, want %s", status, got, err, ids)
		}
	}
	for who, want := range map[domain.Principal]int{{}: 1, asker: 1, {Kind: domain.KindAgent, ID: "agent_2"}: 0} {
		if n, err := s.Waiting(t.Context(), "home", who); n != want || err != nil {
			t.Errorf("%v waits for %d, %v, want %d", who, n, err, want)
		}
	}
	j.say(byAgent("act_rem", "proposal.remind"), at("proposal", "prop_open"), proposal.Reminded{})
	see(t, s, j.head())
	if open, err := s.Proposal(t.Context(), "home", "prop_open"); err != nil || !open.Reminded || open.Status != "waiting" {
		t.Errorf("brought up: %+v %v", open, err)
	}
}

func TestAnAgentIsReadWithItsKeysAndWhenItWasSeen(t *testing.T) {
	j := newJournal(t)
	ends := start.Add(time.Hour)
	j.say(byPerson("act_1", "agent.create"), at("agent", "agent_1"), agent.Created{Person: "person_1", Mode: policy.Edits, Scopes: []string{"publish"}, Site: "main"})
	j.say(byPerson("act_2", "key.mint"), at("agent", "agent_1"), agent.Minted{Key: "key_2", Expires: ends, Mode: policy.Plan}, agent.Minted{Key: "key_1"}, agent.Revoked{Key: "key_1"})
	j.say(byPerson("act_3", "agent.update"), at("agent", "agent_1"), agent.Updated{Paused: new(true), Confirm: new(true)})
	j.say(byAgent("act_4", "article.list"), at("conduct", "agent.agent_1-2026-03-01"), conduct.Read{Action: "article.list", Count: 1})
	local := byAgent("act_5", "article.list")
	local.Principal.ID = "local:ann"
	j.say(local, at("conduct", "agent.local:ann-2026-03-01"), conduct.Read{Action: "article.list", Count: 1})
	s := folded(t, j)
	want := projections.Agent{
		ID: "agent_1", Person: "person_1", Mode: policy.Edits, Scopes: []string{"publish"}, Site: "main", Confirm: true, Paused: true,
		Keys:    []projections.AgentKey{{ID: "key_1", Revoked: true}, {ID: "key_2", Expires: ends, Mode: policy.Plan}},
		Created: start.Add(time.Minute), LastSeen: start.Add(6 * time.Minute),
	}
	got, err := s.Agent(t.Context(), "home", "agent_1")
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(d, err)
	}
	list, next, err := s.Agents(t.Context(), "home", action.Page{})
	if d := cmp.Diff([]projections.Agent{want}, list); d != "" || err != nil || next != "" {
		t.Error(d, err, next)
	}
}

func TestAnActionThatOnlyMadeRoomIsNotDone(t *testing.T) {
	j := newJournal(t)
	j.say(byAgent("act_0", "article.create"), at("article", "art_0"), article.Created{Site: "main", Slug: "old", Collection: "posts"})
	e := byAgent("cmd_1", "article.create")
	undo := byPerson("act_2", "action.undo")
	undo.Undoes = "act_0"
	j.say(e, at("command", "cmd_1"), command.Given{Target: "article/art_1"})
	j.say(e, at("address", "main/posts/menu"), address.Taken{Holder: "article/art_1"})
	j.say(undo, at("address", "main/posts/old"), address.Taken{Holder: "article/art_0"})
	s := folded(t, j)
	for id, want := range map[domain.ID]string{"cmd_1": "unknown", "act_2": "unknown", "act_0": "done"} {
		if got, err := s.Entry(t.Context(), "home", id); err != nil || got.Outcome != want || got.Undone != "" {
			t.Errorf("%s: %+v %v", id, got, err)
		}
	}
	j.say(e, at("article", "art_1"), article.Created{Site: "main", Slug: "menu", Collection: "posts"})
	see(t, s, j.head())
	if got, err := s.Entry(t.Context(), "home", "cmd_1"); err != nil || got.Outcome != "done" || got.Target.ID != "art_1" {
		t.Errorf("%+v %v", got, err)
	}
}
