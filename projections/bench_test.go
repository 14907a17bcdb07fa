package projections_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/address"
	"assent/domain/article"
	"assent/domain/live"
	"assent/domain/site"
	"assent/projections"
)

// busy is a log of about n events: articles of some length written, edited
// and published by an agent, as on a site that is worked on.
func busy(tb testing.TB, n int) *journal {
	j := newJournal(tb)
	j.say(by("act_site"), at("site", "main"), site.Created{Title: "Main", Locale: "en"})
	body := strings.Repeat("Asparagus is back, and so are the slugs. ", 60)
	for i := 0; int(j.head()) < n; i++ {
		id := fmt.Sprintf("art_%05d", i%1000)
		act := domain.ID(fmt.Sprintf("act_%08d", i))
		if i < 1000 {
			j.say(by(act), address.Of("home", "main", "/posts/"+id), address.Taken{Holder: "article-home/" + id})
			j.say(by(act), at("article", id), article.Created{Site: "main", Collection: "posts", Slug: id, Title: "Number " + id, Body: body, Tags: []string{"events"}, Date: "2026-01-02"})
			continue
		}
		j.say(by(act), at("article", id), article.Updated{Body: new(fmt.Sprint(body, i))})
		if i%50 == 0 {
			j.say(by(domain.ID(fmt.Sprintf("act_p%07d", i))), at("live", "main"), live.Published{Items: []live.Item{{ID: id, Version: j.versions[at("article", id)], Address: "/posts/" + id}}})
		}
	}
	return j
}

func BenchmarkFold(b *testing.B) {
	j := busy(b, 10_000)
	for b.Loop() {
		s := open(b, fresh(b))
		stop := run(b, s, j)
		see(b, s, j.head())
		_ = stop()
		_ = s.Close()
	}
	b.ReportMetric(float64(b.N)*float64(j.head())/b.Elapsed().Seconds(), "events/s")
}

func BenchmarkRebuild(b *testing.B) { // of short edits; folded, indexed, caught up, compared and swapped
	j := smallSite(b)
	edit(j, 100_000)
	s := open(b, fresh(b), projections.WithGrace(0))
	run(b, s, j)
	see(b, s, j.head())
	var pause float64
	for b.Loop() {
		pause = max(pause, rebuild(b, s, j, projections.RebuildOptions{}).Pause.Seconds())
	}
	b.ReportMetric(float64(b.N)*float64(j.head())/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(pause*1000, "ms-paused")
}

// BenchmarkRebuildRatio folds a log, and loads the same rows ready, with the
// same indexes. It fails past the promise.
func BenchmarkRebuildRatio(b *testing.B) {
	floor := 0.28
	if os.Getenv(onPostgres) != "" {
		floor = 0.30
	}
	for name, j := range map[string]*journal{"edits of titles": edits(b, 50_000), "edits of long texts": busy(b, 20_000)} {
		b.Run(name, func(b *testing.B) {
			s := open(b, fresh(b))
			var best projections.Measured
			for b.Loop() {
				for range 3 {
					m, err := projections.MeasureBuild(b.Context(), s, j)
					if err != nil {
						b.Fatal(err)
					}
					if best.Folding == 0 || m.Folding*best.Writing < best.Folding*m.Writing {
						best = m
					}
				}
			}
			ratio := best.Writing.Seconds() / best.Folding.Seconds()
			b.ReportMetric(float64(j.head())/best.Folding.Seconds(), "events/s")
			b.ReportMetric(ratio, "of-ready-rows")
			if ratio < floor {
				b.Errorf("a rebuild reaches %.2f of loading the same rows ready; the promise is %.2f", ratio, floor)
			}
		})
	}
}

func edits(tb testing.TB, n int) *journal {
	j := smallSite(tb)
	edit(j, n)
	return j
}

// BenchmarkLiveRatio folds a log into the live generation, and writes the same
// rows, ready, in the same portions. It fails past the promise.
func BenchmarkLiveRatio(b *testing.B) {
	j := busy(b, 10_000)
	var m, single projections.Measured
	for b.Loop() {
		var err error
		if m, err = projections.MeasureLive(b.Context(), open(b, fresh(b)), j, 500, open(b, fresh(b))); err != nil {
			b.Fatal(err)
		}
		if single, err = projections.MeasureLive(b.Context(), open(b, fresh(b)), j.upTo(1000), 1, open(b, fresh(b))); err != nil {
			b.Fatal(err)
		}
	}
	ratio := m.Writing.Seconds() / m.Folding.Seconds()
	b.ReportMetric(float64(j.head())/m.Folding.Seconds(), "events/s")
	b.ReportMetric(1000/single.Folding.Seconds(), "single-events/s")
	b.ReportMetric(ratio, "of-ready-rows")
	if ratio < 0.5 {
		b.Errorf("folding reaches %.2f of writing the same rows ready; the promise is 0.5", ratio)
	}
}

func BenchmarkFoldOne(b *testing.B) { // the time from an append to being read
	j := busy(b, 3000)
	s := folded(b, j)
	for b.Loop() {
		see(b, s, j.say(by("act_one"), at("article", "art_00001"), article.Updated{Title: new(fmt.Sprint(b.N))}))
	}
}

func BenchmarkArticleList(b *testing.B) {
	s := folded(b, busy(b, 5000))
	for b.Loop() {
		list, _, err := s.Articles(b.Context(), "home", article.ListArgs{Site: "main"})
		if err != nil || len(list) != 50 {
			b.Fatal(len(list), err)
		}
	}
}

func BenchmarkArticleGet(b *testing.B) {
	s := folded(b, busy(b, 5000))
	for b.Loop() {
		if _, err := s.Article(b.Context(), "home", article.GetArgs{Site: "main", Slug: "art_00500"}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkArticleSearch(b *testing.B) {
	s := folded(b, busy(b, 5000))
	for b.Loop() {
		if _, _, err := s.Articles(b.Context(), "home", article.ListArgs{Site: "main", Query: "nothing like it"}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAuditPage(b *testing.B) {
	s := folded(b, busy(b, 5000))
	for b.Loop() {
		list, _, err := s.Audit(b.Context(), "home", projections.AuditArgs{Agent: "agent_1", Page: action.Page{Limit: 50}})
		if err != nil || len(list) != 50 {
			b.Fatal(len(list), err)
		}
	}
}

func BenchmarkResolve(b *testing.B) {
	j := busy(b, 5000)
	var items []live.Item
	for i := range 1000 {
		id := fmt.Sprintf("art_%05d", i)
		items = append(items, live.Item{ID: id, Version: j.versions[at("article", id)], Address: "/posts/" + id})
	}
	j.say(by("act_all"), at("live", "main"), live.Published{Items: items})
	s := folded(b, j)
	b.Run("address", func(b *testing.B) {
		for b.Loop() {
			v, err := s.SiteAt(b.Context(), "home", site.PreviewArgs{Site: "main", Version: "live"})
			if err != nil {
				b.Fatal(err)
			}
			if _, err := s.Resolve(b.Context(), v, "/posts/art_00500"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("collection", func(b *testing.B) {
		v, err := s.SiteAt(b.Context(), "home", site.PreviewArgs{Site: "main", Version: "live"})
		for b.Loop() {
			list, total, err2 := s.Listing(b.Context(), v, "posts", 0, 20)
			if err != nil || err2 != nil || len(list) != 20 || total != 1000 {
				b.Fatal(len(list), total, err, err2)
			}
		}
	})
	b.Run("pending", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.PendingChanges(b.Context(), "home", "main"); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// by is the envelope of an agent's action.
func by(act domain.ID) domain.Envelope {
	return domain.Envelope{
		Action: act, Name: "article.update", Principal: domain.Principal{Kind: domain.KindAgent, ID: "agent_1"}, Person: "person_1",
		Via: domain.Via{Key: "key_1"}, Client: domain.Client{Name: "writer", Version: "1"}, Mode: "edits",
	}
}

// at names a stream of the workspace home.
func at(category, id string) domain.Stream {
	return domain.Stream{Category: category, Workspace: "home", ID: id}
}
