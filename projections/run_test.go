package projections_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/address"
	"assent/domain/agent"
	"assent/domain/article"
	"assent/domain/conduct"
	"assent/domain/live"
	"assent/domain/page"
	"assent/domain/person"
	"assent/domain/policy"
	"assent/domain/proposal"
	"assent/domain/site"
	"assent/domain/workspace"
	"assent/projections"
)

// anything appends one random event to a random workspace. It need not be one
// that a decision would make: folding must not care.
func anything(t *rapid.T, j *journal) {
	in := func(category, id string) domain.Stream {
		return domain.Stream{Category: category, Workspace: rapid.SampledFrom([]string{"home", "twin"}).Draw(t, "workspace"), ID: id}
	}
	id := func(prefix string) string { return prefix + rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "id") }
	act := domain.ID("act_" + fmt.Sprint(int(j.head())/rapid.IntRange(1, 3).Draw(t, "together")))
	e := by(act)
	e.Undoes = rapid.SampledFrom([]domain.ID{"", "", "act_1", "act_2"}).Draw(t, "undoes")
	e.Reason = rapid.SampledFrom([]*domain.Sealed{nil, {Person: "person_1", Box: []byte("x")}}).Draw(t, "reason")
	e.Verdict = rapid.SampledFrom([]*domain.Verdict{nil, {Answer: domain.Propose, Cause: "tool", Findings: []domain.Finding{{Rule: "mode", Answer: domain.Propose}}}}).Draw(t, "verdict")
	words := rapid.StringN(0, 40, 200)
	meta := map[string]any{"n": 1.5, "list": []any{"x", 2.0}, "o": map[string]any{"z": true, "a": nil}}
	switch rapid.IntRange(0, 19).Draw(t, "what") {
	case 0:
		j.say(e, in("article", id("art_")), article.Created{Site: "main", Collection: "posts", Slug: id("s"), Title: words.Draw(t, "title"), Body: words.Draw(t, "body"), Tags: []string{"x"}, Meta: meta})
	case 1:
		j.say(e, in("article", id("art_")), article.Updated{Title: new(words.Draw(t, "title")), Tags: &[]string{}, Meta: &meta})
	case 2:
		j.say(e, in("article", id("art_")), article.Updated{Body: new(strings.Repeat("long <&> ", rapid.IntRange(0, 9000).Draw(t, "long")))}, article.Removed{})
	case 3:
		j.say(e, in("article", id("art_")), article.Restored{})
	case 4:
		j.say(e, in("page", id("page_")), page.Created{Site: "main", Path: "/" + id("p"), Title: words.Draw(t, "title"), Body: words.Draw(t, "body")})
	case 5:
		j.say(e, in("site", "main"), site.Created{Title: "Main", Locale: "en", Menu: []site.Link{{Label: "A", Path: "/a"}}, Theme: meta})
	case 6:
		j.say(e, in("site", "main"), site.Updated{Tagline: new(words.Draw(t, "tagline")), Menu: &[]site.Link{}})
	case 7, 8:
		var items []live.Item
		for _, id := range []string{"main", "art_a", "art_b", "page_a"} {
			if v := rapid.IntRange(-1, 3).Draw(t, "version"); v >= 0 {
				items = append(items, live.Item{ID: id, Version: domain.Version(v), Address: "/" + id})
			}
		}
		j.say(e, in("live", "main"), live.Published{Items: items})
	case 9:
		j.say(e, in("agent", "agent_1"), agent.Created{Person: "person_1", Mode: policy.Edits, Scopes: []string{"publish"}})
	case 10:
		j.say(e, in("agent", "agent_1"), agent.Minted{Key: id("key_"), Expires: start}, agent.Updated{Paused: new(true)})
	case 11:
		j.say(e, in("agent", "agent_1"), agent.Revoked{Key: id("key_")})
	case 12:
		j.say(e, in("proposal", id("prop_")), proposal.Filed{Asker: e.Principal, Headline: "Publish", Expires: start, Lines: []domain.Change{{Kind: "article", ID: "art_a", Change: domain.Edited, Fields: []domain.Line{{Field: "meta", After: meta}}}}},
			proposal.Called{Part: 1, Action: "site.publish", Args: json.RawMessage(`{ "site": "main", "note": "<b>" }`), Target: "live-home/main"})
	case 13:
		j.say(e, in("proposal", id("prop_")), proposal.Approved{By: "person_1"}, proposal.Settled{Results: []proposal.Result{{Part: 1, Outcome: "done"}}})
	case 14:
		j.say(e, in("proposal", id("prop_")), proposal.Declined{By: "person_1", Code: "no"})
	case 15:
		j.say(e, in("conduct", "agent.agent_1"), conduct.Refused{Action: "site.publish", Target: "live-home/main", Code: "scope", Count: 3}, conduct.Read{Action: "article.list", Count: 9, Targets: []string{"main"}})
	case 16:
		j.say(e, in("workspace", workspace.ID), workspace.Updated{RulesChange: policy.RulesChange{AutoPublishLimit: new(rapid.IntRange(1, 200).Draw(t, "limit"))}})
	case 18:
		j.say(e, in("address", "main/p"+id("")), address.Taken{Holder: in("page", id("page_")).String()})
	case 19:
		j.say(e, in("address", "main/p"+id("")), address.Freed{})
	case 17:
		j.say(e, in("person", id("person_")), person.Seated{Role: policy.Editor}, person.Unseated{}, person.Seated{Role: rapid.SampledFrom([]policy.Role{policy.Owner, ""}).Draw(t, "role")})
	}
}

func TestReadModelsAreTheSameHoweverTheLogArrives(t *testing.T) {
	checks := "25" // each opens several databases
	if os.Getenv(onPostgres) != "" {
		checks = "6"
	}
	if err := flag.Set("rapid.checks", checks); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(r *rapid.T) {
		j := newJournal(t)
		for range rapid.IntRange(1, 40).Draw(r, "events") {
			anything(r, j)
		}
		once := fresh(t)
		s := open(t, once)
		stop := run(t, s, j)
		see(t, s, j.head())
		_ = stop()
		want := digest(t, s, once)
		_ = s.Close()

		cut := fresh(t)
		for at := domain.Position(0); at < j.head(); {
			at = min(j.head(), at+domain.Position(rapid.IntRange(1, 7).Draw(r, "portion")))
			s := open(t, cut)
			stop := run(t, s, j.upTo(at))
			if at == j.head() || rapid.Bool().Draw(r, "patient") {
				see(t, s, at)
			}
			_ = stop() // whatever it is in the middle of
			if err := s.Close(); err != nil {
				r.Fatal(err)
			}
		}
		s = open(t, cut, projections.WithMemory(int64(rapid.SampledFrom([]int{1, 4000, 1 << 30}).Draw(r, "memory"))))
		if got := digest(t, s, cut); got != want {
			r.Fatalf("folded in portions, the tables differ")
		}
		done, err := s.Rebuild(t.Context(), j, projections.RebuildOptions{})
		if err != nil || !done.Swapped || !done.Comparison.Same() || done.Position != j.head() {
			r.Fatalf("rebuilt: %+v %v", done, err)
		}
		if got := digest(t, s, cut); got != want {
			r.Fatalf("rebuilt, the tables differ")
		}
		_ = s.Close()
	})
}

// forget makes the live generation look as if another version had written it.
func forget(tb testing.TB, s *projections.Store, where string) {
	tb.Helper()
	script(tb, s, where, `UPDATE checkpoint SET fingerprint = 'of another version'`)
}

func TestTablesOfAnotherVersionAnswerUntilTheNextGenerationIsFolded(t *testing.T) {
	j := smallSite(t)
	where := fresh(t)
	s := open(t, where)
	stop := run(t, s, j)
	see(t, s, j.head())
	_ = stop()
	forget(t, s, where)
	_ = s.Close()

	s = open(t, where)
	if got := s.Status(); got.Generation != 1 || got.Position != j.head() || got.Current {
		t.Fatalf("status %+v, want generation 1 as it is", got)
	}
	if list, _, err := s.Audit(t.Context(), "home", projections.AuditArgs{}); err != nil || len(list) == 0 {
		t.Fatalf("audit of the old tables: %v %v", list, err)
	}
	j.say(by("act_new"), at("article", "art_1"), article.Updated{Title: new("new")})
	run(t, s, j)
	see(t, s, j.head())
	if got := s.Status(); got.Generation != 2 || !got.Current {
		t.Fatalf("status %+v, want generation 2", got)
	}
	if a, err := s.Article(t.Context(), "home", article.GetArgs{Article: "art_1"}); err != nil || a.Title != "new" {
		t.Fatalf("read from the new tables: %+v %v", a, err)
	}
}

func TestACheckpointThatIsNotOfThisLogIsFoldedAgain(t *testing.T) {
	other := newJournal(t)
	for i := range 5 {
		other.say(by("act_x"), at("article", fmt.Sprint("art_", i)), article.Created{Site: "main", Slug: "x", Title: "Of another log"})
	}
	short, long := other.upTo(3), smallSite(t)
	for name, log := range map[string]*journal{"the log is shorter": short, "the log is another": long} {
		t.Run(name, func(t *testing.T) {
			path := fresh(t)
			s := open(t, path)
			stop := run(t, s, other)
			see(t, s, other.head())
			_ = stop()
			_ = s.Close()

			s = open(t, path)
			stop = run(t, s, log)
			for s.Status().Position != log.head() { // it was ahead, so Wait would not wait
				_ = s.Wait(t.Context(), log.head())
			}
			_ = stop()
			want := fresh(t)
			s2 := open(t, want)
			stop = run(t, s2, log)
			see(t, s2, log.head())
			_ = stop()
			if digest(t, s, path) != digest(t, s2, want) {
				t.Error("rows of the other log are left")
			}
		})
	}
}

func TestAnEventThatCannotBeFoldedHaltsAndSaysWhich(t *testing.T) {
	broken := map[string]domain.Fresh{
		"data that breaks its own word's rules": {Word: "article.updated", Revision: 1, Data: json.RawMessage(`{"title":7}`)},
		"a word of a newer version":             {Word: "article.translated", Revision: 1, Data: json.RawMessage(`{}`)},
		"an event of another kind":              {Word: "page.removed", Revision: 1, Data: json.RawMessage(`{}`)},
	}
	for name, event := range broken {
		t.Run(name, func(t *testing.T) {
			j := smallSite(t)
			before := j.head()
			event.Envelope = by("act_broken")
			j.write(event, at("article", "art_1"))
			j.say(by("act_after"), at("article", "art_1"), article.Updated{Title: new("never seen")})

			s := open(t, fresh(t))
			err := s.Run(t.Context(), j)
			var halt *projections.Halt
			if !errors.As(err, &halt) {
				t.Fatalf("run ended with %v, want a halt", err)
			}
			if halt.Position != before+1 || halt.Word != event.Word || halt.Stream != "article-home/art_1" || halt.Why == "" {
				t.Errorf("halt %+v", halt)
			}
			if got := s.Status(); got.Position != before || got.Halt == nil || got.Halt.Position != before+1 {
				t.Errorf("status %+v, want to stand at %d", got, before)
			}
			if err := s.Wait(t.Context(), before+2); !errors.As(err, &halt) {
				t.Errorf("waiting for what never comes: %v, want the halt", err)
			}
			if a, err := s.Article(t.Context(), "home", article.GetArgs{Article: "art_1"}); err != nil || a.Title == "never seen" {
				t.Errorf("reads do not go on as of the event before: %+v %v", a, err)
			}
		})
	}
}

func TestAnEventMissingFromItsStreamHalts(t *testing.T) {
	j := smallSite(t)
	j.versions[at("article", "art_1")]++ // as if one had been lost
	j.say(by("act_gap"), at("article", "art_1"), article.Removed{})
	var halt *projections.Halt
	if err := open(t, fresh(t)).Run(t.Context(), j); !errors.As(err, &halt) || !strings.Contains(halt.Why, "version") {
		t.Fatalf("run ended with %v, want a halt that names the versions", err)
	}
}

func TestTwoRunnersOnOneDatabaseTakeTurnsAndNeverFoldAnEventTwice(t *testing.T) {
	j := smallSite(t)
	where := fresh(t)
	first, second := open(t, where), open(t, where)
	stop, stop2 := run(t, first, j), run(t, second, j)
	for i := range 200 {
		p := j.say(by(domain.ID(fmt.Sprint("act_", i))), at("article", "art_1"), article.Updated{Title: new(fmt.Sprint(i))})
		for _, s := range []*projections.Store{first, second} {
			if i%10 == 0 {
				see(t, s, p)
				if a, err := s.Article(t.Context(), "home", article.GetArgs{Article: "art_1"}); err != nil || a.Title != fmt.Sprint(i) {
					t.Fatalf("after %d: %+v %v", i, a, err)
				}
			}
		}
	}
	see(t, first, j.head())
	see(t, second, j.head())
	for _, stop := range []func() error{stop, stop2} {
		if err := stop(); !errors.Is(err, context.Canceled) {
			t.Errorf("a runner ended with %v", err)
		}
	}
	alone := fresh(t)
	s := open(t, alone)
	stop = run(t, s, j)
	see(t, s, j.head())
	_ = stop()
	if digest(t, first, where) != digest(t, s, alone) || first.Status().Events != int64(len(j.records)) {
		t.Errorf("two runners left other rows than one (%d events of %d)", first.Status().Events, len(j.records))
	}
}

func TestWaitReturnsWhenItIsSeenAndNotBefore(t *testing.T) {
	j := smallSite(t)
	s := folded(t, j)
	ctx, cancel := context.WithCancel(t.Context())
	waited := make(chan error, 1)
	go func() { waited <- s.Wait(ctx, j.head()+1) }()
	select {
	case err := <-waited:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	j.say(by("act_new"), at("article", "art_1"), article.Updated{Title: new("new")})
	if err := <-waited; err != nil {
		t.Fatal(err)
	}
	if a, err := s.Article(t.Context(), "home", article.GetArgs{Article: "art_1"}); err != nil || a.Title != "new" {
		t.Errorf("read after waiting: %+v %v", a, err)
	}
	go func() { waited <- s.Wait(ctx, j.head()+1) }()
	cancel()
	if err := <-waited; !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	s := open(t, fresh(t))
	stop := run(t, s, smallSite(t))
	if err := stop(); !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
}

func TestAFileThatIsNoDatabaseIsRefusedAndLeft(t *testing.T) {
	if _, err := projections.Open(t.Context(), t.TempDir(), nil, nil, time.Now); err == nil {
		t.Error("a folder was opened as read models")
	}
}

func TestACursorOfAnotherListIsRefused(t *testing.T) {
	j := smallSite(t)
	for i := range 5 {
		j.say(by(domain.ID(fmt.Sprint("act_more", i))), at("article", "art_1"), article.Updated{Title: new(fmt.Sprint(i))})
	}
	s := folded(t, j)
	_, next, err := s.Audit(t.Context(), "home", projections.AuditArgs{Page: action.Page{Limit: 1}})
	if err != nil || next == "" {
		t.Fatalf("no next page: %v", err)
	}
	bad := domain.Refuse("invalid", "")
	for name, cursor := range map[string]string{"another list's": next, "nonsense": "%%%", "text": "aGVsbG8"} {
		_, _, err := s.Articles(t.Context(), "home", article.ListArgs{Site: "main", Page: action.Page{Cursor: cursor}})
		if !errors.Is(err, bad) {
			t.Errorf("%s: %v, want refused as invalid", name, err)
		}
	}
	if _, _, err := s.Audit(t.Context(), "twin", projections.AuditArgs{Page: action.Page{Cursor: next}}); !errors.Is(err, bad) {
		t.Errorf("another workspace's: %v, want refused as invalid", err)
	}
}

func TestAPathMayHoldAnyCharacter(t *testing.T) {
	dir := t.TempDir()
	_ = open(t, filepath.Join(dir, "a b?c#d%20é.db"))
	if _, err := os.Stat(filepath.Join(dir, "a b?c#d%20é-1.db")); err != nil {
		t.Error(err)
	}
}
