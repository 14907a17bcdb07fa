package projections_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/article"
	"assent/domain/live"
	"assent/domain/page"
	"assent/domain/site"
	"assent/projections"
)

// told is every answer about the content of a workspace, by what was asked, as
// it goes out; a no is an answer too.
func told(t *testing.T, s *projections.Store, then *projections.Past) map[string]string {
	const ws = "home"
	ctx := t.Context()
	answers := map[string]string{}
	say := func(asked string, answer any, err error) {
		doc, failed := json.Marshal(answer)
		if failed != nil {
			t.Fatal(failed)
		}
		answers[asked] = fmt.Sprintf("%s %v", doc, err)
	}
	for cursor, n := "", 0; n == 0 || cursor != ""; n++ {
		q := article.ListArgs{Site: "main", Page: action.Page{Limit: 1, Cursor: cursor}}
		ask := s.Articles
		if then != nil {
			ask = then.Articles
		}
		list, next, err := ask(ctx, ws, q)
		say(fmt.Sprint("articles, page ", n), list, err)
		cursor = next
	}
	sites, pages, articles, aSite, aPage, anArticle := s.Sites, s.Pages, s.Articles, s.Site, s.Page, s.Article
	if then != nil {
		sites, pages, articles, aSite, aPage, anArticle = then.Sites, then.Pages, then.Articles, then.Site, then.Page, then.Article
	}
	list, _, err := sites(ctx, ws, action.Page{})
	say("sites", list, err)
	one, err := aSite(ctx, ws, "main")
	say("site", one, err)
	for _, prefix := range []string{"", "/pa"} {
		list, _, err := pages(ctx, ws, page.ListArgs{Site: "main", Prefix: prefix})
		say("pages "+prefix, list, err)
	}
	for name, q := range map[string]article.ListArgs{"searched": {Query: "long"}, "changed": {Status: "changed"}, "live": {Status: "live"}, "removed": {Status: "removed"}, "posts": {Collection: "posts", Tag: "X"}} {
		q.Site = "main"
		list, _, err := articles(ctx, ws, q)
		say("articles "+name, list, err)
	}
	for _, id := range []string{"a", "b", "c", "1"} {
		v, err := anArticle(ctx, ws, article.GetArgs{Article: "art_" + id})
		say("article "+id, v, err)
		v, err = anArticle(ctx, ws, article.GetArgs{Site: "main", Slug: "s" + id})
		say("article by slug "+id, v, err)
		p, err := aPage(ctx, ws, page.GetArgs{Page: "page_" + id})
		say("page "+id, p, err)
		p, err = aPage(ctx, ws, page.GetArgs{Site: "main", Path: "/p" + id})
		say("page by path "+id, p, err)
	}
	view, err := s.SiteAt(ctx, ws, site.PreviewArgs{Site: "main", Version: "live"})
	if then != nil {
		view, err = then.Live(ctx, ws, "main")
	}
	say("live settings", view.Settings, err)
	if err == nil {
		shown, err := s.Addresses(ctx, view)
		say("live addresses", shown, err)
		for path := range shown {
			it, err := s.Resolve(ctx, view, path)
			say("live at "+path, it, err)
		}
		items, n, err := s.Listing(ctx, view, "", 0, 0)
		say("live listing", fmt.Sprint(jsonOf(items), n), err)
	}
	return answers
}

// onlyMade is a log in which things are made before anything else happens to
// them, publishing them included: no decision makes another, and of what was
// never made no version is kept that could be looked at later.
func onlyMade(t *testing.T, from *journal) *journal {
	j := newJournal(t)
	for _, r := range from.records {
		recorded, err := j.words.Read(r)
		if err != nil {
			t.Fatal(err)
		}
		published, ok := recorded.Event.(live.Published)
		if !ok {
			item := r.Stream.Category == live.KindOf(r.Stream.ID)
			if item && j.versions[r.Stream] == 0 && !strings.HasSuffix(r.Word, ".created") {
				continue
			}
			j.say(r.Envelope, r.Stream, recorded.Event)
			continue
		}
		published.Items = slices.DeleteFunc(slices.Clone(published.Items), func(it live.Item) bool {
			made := j.versions[domain.Stream{Category: live.KindOf(it.ID), Workspace: r.Stream.Workspace, ID: it.ID}]
			return made == 0 || it.Version > made
		})
		j.say(r.Envelope, r.Stream, published)
	}
	return j
}

func TestThePastIsWhatTheLogUpToThenGives(t *testing.T) {
	checks := "8" // each folds several logs
	if os.Getenv(onPostgres) != "" {
		checks = "3"
	}
	if err := flag.Set("rapid.checks", checks); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(r *rapid.T) {
		j := newJournal(t)
		smallSiteIn(j, "home")
		for range rapid.IntRange(1, 40).Draw(r, "events") {
			anything(r, j)
		}
		j = onlyMade(t, j)
		whole := folded(t, j)
		for range 3 {
			p := domain.Position(rapid.IntRange(1, int(j.head())).Draw(r, "position"))
			want := told(t, folded(t, j.upTo(p)), nil)
			for name, m := range map[string]projections.Moment{
				"a position":     {Position: p},
				"its time":       {Time: start.Add(time.Duration(p) * time.Minute)},
				"a second later": {Time: start.Add(time.Duration(p)*time.Minute + time.Second)},
			} {
				then := whole.AsOf(m)
				if d := cmp.Diff(want, told(t, whole, &then)); d != "" {
					r.Fatalf("as of %s (%d of %d): %s", name, p, j.head(), d)
				}
			}
		}
	})
}

func TestBeforeAnythingThereIsNothing(t *testing.T) {
	s := folded(t, smallSite(t))
	then := s.AsOf(projections.Moment{Time: start})
	if _, err := then.Site(t.Context(), "home", "main"); err == nil {
		t.Error("a site before it was made")
	}
	if list, _, err := then.Sites(t.Context(), "home", action.Page{}); len(list) != 0 || err != nil {
		t.Errorf("%v %v", list, err)
	}
	if _, err := then.Article(t.Context(), "home", article.GetArgs{Article: "art_1"}); err == nil {
		t.Error("an article before it was made")
	}
}
