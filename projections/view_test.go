package projections_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assent/domain"
	"assent/domain/article"
	"assent/domain/live"
	"assent/domain/policy"
	"assent/domain/proposal"
	"assent/domain/site"
	"assent/domain/workspace"
	"assent/projections"
)

func jsonOf(v any) json.RawMessage {
	doc, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return doc
}

func limitOf(n int) workspace.Updated {
	return workspace.Updated{RulesChange: policy.RulesChange{AutoPublishLimit: &n}}
}

// grownSite went on after smallSite: p2 publishes the edit, then the first
// article moves to another address in the draft.
func grownSite(t *testing.T) *journal {
	j := smallSite(t)
	j.say(byPerson("act_pub2", "site.publish"), at("live", "main"), live.Published{Items: []live.Item{{ID: "art_1", Version: 2, Address: "/posts/spring"}, {ID: "page_1"}}})
	j.say(byAgent("act_move", "article.update"), at("article", "art_1"), article.Updated{Slug: new("summer")})
	j.say(byPerson("act_set", "site.update"), at("site", "main"), site.Updated{Title: new("Renamed")})
	return j
}

func TestASiteIsShownAsItWasIsAndWouldBe(t *testing.T) {
	j := grownSite(t)
	filed(j, "prop_1", live.PublishArgs{Site: "main", Items: []live.Wanted{{ID: "art_1", Version: 3}, {ID: "main", Version: 2}}})
	j.say(byAgent("act_prop2", "site.rollback"), at("proposal", "prop_2"), proposal.Filed{Headline: "Back", Expires: start},
		proposal.Called{Part: 1, Action: "site.rollback", Args: jsonOf(live.RollbackArgs{Site: "main", To: "p1"}), Target: "live-home/main"})
	s := folded(t, j)
	p1 := map[string]projections.Place{"/about": {ID: "page_1", Version: 1}, "/posts/spring": {ID: "art_1", Version: 1}}
	p2 := map[string]projections.Place{"/posts/spring": {ID: "art_1", Version: 2}}
	for name, c := range map[string]struct {
		which site.PreviewArgs
		title string // of the site
		want  map[string]projections.Place
		named string
	}{
		"live":            {site.PreviewArgs{Version: "live"}, "Main in home", p2, "p2"},
		"a publish":       {site.PreviewArgs{Version: "p1"}, "Main in home", p1, "p1"},
		"the draft":       {site.PreviewArgs{}, "Renamed", map[string]projections.Place{"/about": {ID: "page_1", Version: 1}, "/posts/summer": {ID: "art_1", Version: 3}, "/de/notes/herbst": {ID: "art_2", Version: 1}}, "latest"},
		"with items":      {site.PreviewArgs{Items: []site.PreviewItem{{ID: "art_1"}, {ID: "page_1", Version: 1}}}, "Main in home", map[string]projections.Place{"/about": {ID: "page_1", Version: 1}, "/posts/summer": {ID: "art_1", Version: 3}}, ""},
		"with a proposal": {site.PreviewArgs{Proposal: "prop_1"}, "Renamed", map[string]projections.Place{"/posts/summer": {ID: "art_1", Version: 3}}, ""},
		"rolled back":     {site.PreviewArgs{Proposal: "prop_2"}, "Main in home", p1, "p1"},
	} {
		t.Run(name, func(t *testing.T) {
			c.which.Site = "main"
			v, err := s.SiteAt(t.Context(), "home", c.which)
			if err != nil {
				t.Fatal(err)
			}
			if v.Settings.Title != c.title || v.Name() != c.named {
				t.Errorf("the site is called %q at %q, want %q at %q", v.Settings.Title, v.Name(), c.title, c.named)
			}
			got, err := s.Addresses(t.Context(), v)
			if d := cmp.Diff(c.want, got); d != "" || err != nil {
				t.Error(d, err)
			}
			articles := 0
			for path, at := range c.want {
				it, err := s.Resolve(t.Context(), v, path)
				if err != nil || it.ID != at.ID || it.Version != at.Version || it.Body == "" || it.Address != path {
					t.Errorf("%s: %+v %v", path, it, err)
				}
				if it.Kind == "article" {
					articles++
				}
			}
			for _, path := range []string{"/posts/spring", "/posts/summer", "/about", "/de/notes/herbst", "", "/"} {
				if _, there := c.want[path]; there {
					continue
				}
				if it, err := s.Resolve(t.Context(), v, path); !errors.Is(err, notFound) {
					t.Errorf("%q shows %+v %v, want not-found", path, it, err)
				}
			}
			list, total, err := s.Listing(t.Context(), v, "", 0, 1)
			if err != nil || total != articles || len(list) != min(1, articles) {
				t.Errorf("listing %d of %d, %v, want %d", len(list), total, err, articles)
			}
		})
	}
}

func TestAVersionOfASiteThatIsNotThereIsRefused(t *testing.T) {
	j := grownSite(t)
	j.say(byAgent("act_prop3", "article.update"), at("proposal", "prop_3"), proposal.Filed{Headline: "Edit", Expires: start},
		proposal.Called{Part: 1, Action: "article.update", Args: json.RawMessage(`{}`), Target: "article-home/art_1"})
	s := folded(t, j)
	for code, list := range map[string][]site.PreviewArgs{
		"not-found": {
			{Site: "nowhere"}, {Site: "main", Version: "p3"}, {Site: "main", Version: "p0"}, {Site: "main", Version: "p01"}, {Site: "main", Version: "yesterday"},
			{Site: "main", Items: []site.PreviewItem{{ID: "art_9"}}}, {Site: "main", Items: []site.PreviewItem{{ID: "art_1", Version: 9}}}, {Site: "main", Proposal: "prop_9"},
		},
		"invalid":     {{Site: "main", Version: "live", Proposal: "prop_1"}},
		"unsupported": {{Site: "main", Proposal: "prop_3"}},
	} {
		for _, args := range list {
			if _, err := s.SiteAt(t.Context(), "home", args); !errors.Is(err, domain.Refuse(code, "")) {
				t.Errorf("%+v: %v, want %s", args, err, code)
			}
		}
	}
}

func TestACollectionIsListedByDateAndInParts(t *testing.T) {
	j := smallSite(t)
	var items []live.Item
	for id, date := range map[string]string{"art_a": "2026-01-01", "art_b": "2026-03-01", "art_c": "2026-02-01", "art_d": ""} {
		j.say(byAgent(domain.ID("act_"+id), "article.create"), at("article", id), article.Created{Site: "main", Collection: "news", Slug: id[4:], Title: id, Body: "x", Date: date})
		items = append(items, live.Item{ID: id, Version: 1, Address: "/news/" + id[4:]})
	}
	j.say(byPerson("act_pub9", "site.publish"), at("live", "main"), live.Published{Items: items})
	s := folded(t, j)
	v, err := s.SiteAt(t.Context(), "home", site.PreviewArgs{Site: "main", Version: "live"})
	if err != nil {
		t.Fatal(err)
	}
	ids := func(offset, limit int) (got []string) {
		list, total, err := s.Listing(t.Context(), v, "news", offset, limit)
		if err != nil || total != 4 {
			t.Errorf("%d in all, %v", total, err)
		}
		for _, it := range list {
			got = append(got, it.ID)
		}
		return got
	}
	if d := cmp.Diff([]string{"art_b", "art_c", "art_a", "art_d"}, ids(0, 0)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"art_c", "art_a"}, ids(1, 2)); d != "" {
		t.Error(d)
	}
	if got := ids(9, 2); got != nil {
		t.Errorf("after the end: %v", got)
	}
}

func TestASiteThatWasNeverPublishedShowsNothing(t *testing.T) {
	j := newJournal(t)
	j.say(byPerson("act_site", "site.create"), at("site", "main"), site.Created{Title: "Main", Locale: "en"})
	s := folded(t, j)
	v, err := s.SiteAt(t.Context(), "home", site.PreviewArgs{Site: "main", Version: "live"})
	if err != nil || v.Settings.Version != 0 || v.Settings.Title != "" {
		t.Errorf("settings that are not public: %+v %v", v.Settings, err)
	}
	if got, err := s.Addresses(t.Context(), v); err != nil || len(got) != 0 {
		t.Errorf("%v %v", got, err)
	}
}

func TestAViewStaysAsItIsWhateverIsPublished(t *testing.T) {
	j := grownSite(t)
	s := folded(t, j)
	v, err := s.SiteAt(t.Context(), "home", site.PreviewArgs{Site: "main", Version: "live"})
	if err != nil {
		t.Fatal(err)
	}
	j.say(byPerson("act_pub3", "site.publish"), at("live", "main"), live.Published{Items: []live.Item{{ID: "art_1", Version: 3, Address: "/posts/summer"}}})
	see(t, s, j.head())
	if it, err := s.Resolve(t.Context(), v, "/posts/spring"); err != nil || it.Version != 2 {
		t.Errorf("%+v %v", it, err)
	}
}
