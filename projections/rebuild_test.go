package projections_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"assent/domain"
	"assent/domain/article"
	"assent/domain/readmodel"
	"assent/projections"
)

// edit appends n edits of one article.
func edit(j *journal, n int) domain.Position {
	for i := range n {
		j.say(by(domain.ID(fmt.Sprintf("act_edit%d_%d", j.head(), i))), at("article", "art_1"), article.Updated{Title: new(fmt.Sprint("title ", j.head()))})
	}
	return j.head()
}

func rebuild(tb testing.TB, s *projections.Store, j *journal, o projections.RebuildOptions) projections.Rebuilt {
	tb.Helper()
	r, err := s.Rebuild(tb.Context(), j, o)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// titleOf is what the article is called by now, by everything that is asked.
func titleOf(tb testing.TB, s *projections.Store) string {
	tb.Helper()
	a, err := s.Article(tb.Context(), "home", article.GetArgs{Article: "art_1"})
	if err != nil {
		tb.Fatal(err)
	}
	return a.Title
}

func TestARebuildUnderLoadLosesAndRepeatsNothingAndNobodyReadsAnythingWrong(t *testing.T) {
	j := smallSite(t)
	edit(j, 3000)
	where := fresh(t)
	s := open(t, where, projections.WithMemory(100<<10))
	stop := run(t, s, j)
	see(t, s, j.head())
	ctx, end := context.WithCancel(t.Context())
	var others sync.WaitGroup
	others.Go(func() { // writes, each of which is read back
		for ctx.Err() == nil {
			p := edit(j, 1)
			if err := s.Wait(ctx, p); err != nil {
				if ctx.Err() == nil {
					t.Error(err)
				}
				return
			}
			a, err := s.Article(ctx, "home", article.GetArgs{Article: "art_1"})
			if want := fmt.Sprint("title ", p-1); ctx.Err() == nil && (err != nil || a.Title != want || int(a.Rev) != int(j.versions[at("article", "art_1")])) {
				t.Errorf("read after writing: %q at %d, %v; want %q", a.Title, a.Rev, err, want)
				return
			}
		}
	})
	others.Go(func() { // reads of which every one is of one position
		last := domain.Version(0)
		for ctx.Err() == nil {
			a, err := s.Article(ctx, "home", article.GetArgs{Article: "art_1"})
			if err != nil && ctx.Err() == nil || err == nil && a.Rev < last {
				t.Errorf("read revision %d after %d: %v", a.Rev, last, err)
				return
			}
			last = a.Rev
		}
	})
	for range 3 {
		was := s.Status().Generation
		r := rebuild(t, s, j, projections.RebuildOptions{})
		if !r.Swapped || !r.Comparison.Same() || r.Replaces != was || r.Generation != s.Status().Generation {
			t.Errorf("rebuilt: %+v", r)
		}
		t.Logf("%d events in %s, pause %s", r.Events, r.Took, r.Pause)
	}
	end()
	others.Wait()
	see(t, s, j.head())
	_ = stop()
	once := fresh(t)
	plain := open(t, once)
	stop = run(t, plain, j)
	see(t, plain, j.head())
	_ = stop()
	if digest(t, s, where) != digest(t, plain, once) || s.Status().Events != int64(len(j.records)) {
		t.Errorf("the tables differ from those folded once (%d events of %d)", s.Status().Events, len(j.records))
	}
}

func TestAComparisonNamesExactlyTheRowsThatWereChangedByHand(t *testing.T) {
	j := smallSite(t)
	where := fresh(t)
	s := open(t, where)
	run(t, s, j)
	see(t, s, j.head())
	for _, text := range []string{
		`UPDATE items_N SET doc = REPLACE(doc, 'Spring menu', 'Autumn menu') WHERE key = 'home/art_1'`,
		`UPDATE items_N SET slug = 'elsewhere' WHERE key = 'home/art_2'`,
		`DELETE FROM versions_N WHERE key = 'home/art_1@1'`,
		`UPDATE versions_N SET body = 'forged' WHERE key = 'home/page_1@1'`,
		`INSERT INTO people_N (key, workspace, doc, id, created) VALUES ('home/person_9', 'home', '{}', 'person_9', 1)`,
	} {
		script(t, s, where, text)
	}
	r := rebuild(t, s, j, projections.RebuildOptions{DryRun: true})
	var got []string
	for _, m := range r.Comparison.Models {
		for _, x := range m.Examples {
			got = append(got, strings.TrimSpace(fmt.Sprintln(m.Model, x.What, x.Key, x.Fields)))
		}
	}
	want := []string{"items changed home/art_1 [Content]", "items changed home/art_2 [slug]", "people extra home/person_9 []", "versions changed home/page_1@1 [body]", "versions missing home/art_1@1 []"}
	slices.Sort(got)
	if !slices.Equal(got, want) || r.Swapped || s.Status().Generation != 1 {
		t.Errorf("a dry run found\n%s\nin %+v", strings.Join(got, "\n"), r)
	}
	if only := rebuild(t, s, j, projections.RebuildOptions{DryRun: true, Only: []string{"audit"}}); !only.Comparison.Same() || len(only.Comparison.Models) != 1 {
		t.Errorf("compared only the audit: %+v", only.Comparison)
	}
	if r := rebuild(t, s, j, projections.RebuildOptions{}); r.Comparison.Same() || !r.Swapped {
		t.Errorf("rebuilt: %+v", r)
	}
	if r := rebuild(t, s, j, projections.RebuildOptions{DryRun: true}); !r.Comparison.Same() {
		t.Errorf("rebuilt rows differ: %+v", r.Comparison)
	}
}

func TestTheGenerationBeforeTakesOverAgainAndGoesAfterItsTime(t *testing.T) {
	j := smallSite(t)
	where := fresh(t)
	s := open(t, where)
	stop := run(t, s, j)
	see(t, s, j.head())
	if _, err := s.SwitchBack(t.Context(), j, nil); !errors.Is(err, notFound) {
		t.Errorf("switched back to nothing: %v", err)
	}
	rebuild(t, s, j, projections.RebuildOptions{})
	see(t, s, edit(j, 700))
	r, err := s.SwitchBack(t.Context(), j, nil)
	if err != nil || r.Generation != 1 || r.Replaces != 2 || r.Position != j.head() {
		t.Errorf("switched back: %+v %v", r, err)
	}
	if got := titleOf(t, s); got != fmt.Sprint("title ", j.head()-1) {
		t.Errorf("after switching back it is called %q", got)
	}
	see(t, s, edit(j, 1))
	rebuild(t, s, j, projections.RebuildOptions{})
	if list, err := s.Generations(t.Context()); err != nil || len(list) != 2 || list[0].State != "previous" || list[1].State != "live" {
		t.Errorf("kept: %+v %v; want one to switch back to", list, err)
	}
	_ = stop()
	_ = s.Close()
	s = open(t, where, projections.WithGrace(0))
	run(t, s, j)
	see(t, s, edit(j, 1))
	if list, err := s.Generations(t.Context()); err != nil || len(list) != 1 || list[0].State != "live" {
		t.Errorf("kept without a grace: %+v %v", list, err)
	}
}

func TestOneRebuildAtATimeAndUnknownModelsAreRefused(t *testing.T) {
	j := smallSite(t)
	where := fresh(t)
	s, other := open(t, where), open(t, where)
	run(t, s, j)
	see(t, s, j.head())
	busy := domain.Refuse("busy", "")
	asked := false
	rebuild(t, s, j, projections.RebuildOptions{Progress: func(projections.Progress) {
		if asked {
			return
		}
		asked = true
		if _, err := s.Rebuild(t.Context(), j, projections.RebuildOptions{}); !errors.Is(err, busy) {
			t.Errorf("a second rebuild here: %v", err)
		}
		if _, err := other.Rebuild(t.Context(), j, projections.RebuildOptions{}); !errors.Is(err, busy) {
			t.Errorf("a second rebuild by another instance: %v", err)
		}
		if s.Status().Rebuild == nil {
			t.Error("the status does not tell of it")
		}
	}})
	if !asked {
		t.Error("no progress was told")
	}
	if _, err := s.Rebuild(t.Context(), j, projections.RebuildOptions{Only: []string{"ghosts"}}); !errors.Is(err, notFound) {
		t.Errorf("a model that is none: %v", err)
	}
}

func TestARebuildThatIsCalledOffLeavesTheLiveModelsAndNothingElse(t *testing.T) {
	j := smallSite(t)
	edit(j, 500)
	s := open(t, fresh(t))
	run(t, s, j)
	see(t, s, j.head())
	for _, stage := range []string{projections.Folding, projections.Indexing, projections.Comparing} {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := s.Rebuild(ctx, j, projections.RebuildOptions{Progress: func(p projections.Progress) {
			if p.Stage == stage {
				cancel()
			}
		}})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("called off at %s: %v", stage, err)
		}
		see(t, s, edit(j, 1))
	}
	r := rebuild(t, s, j, projections.RebuildOptions{})
	if !r.Resumed || !r.Comparison.Same() || r.Position != j.head() { // the last was folded and only had to be compared
		t.Errorf("rebuilt after that: %+v", r)
	}
	if list, err := s.Generations(t.Context()); err != nil || len(list) != 2 {
		t.Errorf("kept: %+v %v", list, err)
	}
}

func TestASkippedEventIsSkippedByEveryRebuildAndItsStreamGoesOn(t *testing.T) {
	j := smallSite(t)
	j.write(domain.Fresh{Word: "article.updated", Revision: 1, Envelope: by("act_broken"), Data: json.RawMessage(`{"title":7}`)}, at("article", "art_1"))
	broken := j.records[len(j.records)-1]
	edit(j, 600)
	s := open(t, fresh(t))
	var halt *projections.Halt
	if err := s.Run(t.Context(), j); !errors.As(err, &halt) || halt.Event != broken.ID || s.Status().Position != broken.Position-1 {
		t.Fatalf("ended with %v at %d", err, s.Status().Position)
	}
	last := j.head()
	j.say(byPerson("act_skip", "readmodel.skip"), readmodel.Of("home", broken.ID), readmodel.Skipped{})
	run(t, s, j)
	for s.Wait(t.Context(), j.head()) != nil { // until it has got on
	}
	if got := titleOf(t, s); got != fmt.Sprint("title ", last-1) {
		t.Errorf("it is called %q", got)
	}
	e, err := s.Entry(t.Context(), "home", "act_broken")
	if err != nil || len(e.Changes) != 0 {
		t.Errorf("the audit shows %+v %v; want a line that changed nothing", e, err)
	}
	if r := rebuild(t, s, j, projections.RebuildOptions{}); !r.Comparison.Same() || r.Position != j.head() {
		t.Errorf("rebuilt: %+v", r)
	}
}

func TestTextThatADatabaseCannotHoldIsReadAsItWasWritten(t *testing.T) {
	j := smallSite(t)
	odd := "zero \x00, one \x01, both \x01\x000, \x010 and é"
	j.say(by("act_odd"), at("article", "art_1"), article.Updated{Title: new(odd), Body: new(odd), Slug: new("a\x00b")})
	j.say(by("act_odd2"), at("article", "art_1"), article.Updated{Title: new("plain")})
	s := folded(t, j)
	a, err := s.Article(t.Context(), "home", article.GetArgs{Site: "main", Slug: "a\x00b"})
	if err != nil || a.Body != odd {
		t.Errorf("%q %v", a.Body, err)
	}
	e, err := s.Entry(t.Context(), "home", "act_odd2")
	if err != nil || len(e.Changes) != 1 || e.Changes[0].Before != odd {
		t.Errorf("%+v %v", e.Changes, err)
	}
	if _, err := s.Article(t.Context(), "home", article.GetArgs{Article: "\xff\x00"}); !errors.Is(err, notFound) {
		t.Errorf("asked for nonsense: %v", err)
	}
}

func TestSeenAndRemoveNeedNoStore(t *testing.T) {
	j := smallSite(t)
	where := fresh(t)
	if seen, err := projections.Seen(t.Context(), where); seen != 0 || err != nil {
		t.Errorf("of nothing: %d %v", seen, err)
	}
	s := open(t, where)
	stop := run(t, s, j)
	see(t, s, j.head())
	_ = stop()
	_ = s.Close()
	if seen, err := projections.Seen(t.Context(), where); seen != j.head() || err != nil {
		t.Errorf("%d %v", seen, err)
	}
	if err := projections.Remove(t.Context(), where); err != nil {
		t.Fatal(err)
	}
	if seen, err := projections.Seen(t.Context(), where); seen != 0 || err != nil {
		t.Errorf("after removing: %d %v", seen, err)
	}
}
