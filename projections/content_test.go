package projections_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/address"
	"assent/domain/article"
	"assent/domain/live"
	"assent/domain/page"
	"assent/domain/policy"
	"assent/domain/proposal"
	"assent/domain/site"
	"assent/projections"
)

var notFound = domain.Refuse("not-found", "")

func TestAnArticleIsReadWithItsBodyAndWhereItStands(t *testing.T) {
	s := folded(t, smallSite(t))
	want := projections.Article{
		ID: "art_1", Site: "main", Collection: "posts", Locale: "en", Slug: "spring", Title: "Spring menu in home", Summary: "Green.",
		Body: "Asparagus and ÄPFEL.", Tags: []string{"Food", "events"}, Authors: []string{"Ann"}, Date: "2026-03-01",
		Meta: map[string]any{"mood": "good"}, Rev: 2, Live: 1, Status: "changed", Address: "/posts/spring",
	}
	for _, args := range []article.GetArgs{{Article: "art_1"}, {Site: "main", Slug: "spring"}, {Site: "main", Slug: "spring", Collection: "posts"}} {
		got, err := s.Article(t.Context(), "home", args)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got, cmpopts.IgnoreFields(got, "Updated")); d != "" {
			t.Errorf("%+v: %s", args, d)
		}
	}
	german, err := s.Article(t.Context(), "home", article.GetArgs{Site: "main", Slug: "herbst", Collection: "notes"})
	if err != nil || german.Locale != "de" || german.Address != "/de/notes/herbst" || german.Status != "new" || german.Live != 0 {
		t.Errorf("german article %+v %v", german, err)
	}
	for _, args := range []article.GetArgs{{Article: "art_9"}, {Article: "page_1"}, {Site: "main", Slug: "herbst"}, {Site: "other", Slug: "spring"}} {
		if _, err := s.Article(t.Context(), "home", args); !errors.Is(err, notFound) {
			t.Errorf("%+v: %v, want not-found", args, err)
		}
	}
	if _, err := s.Article(t.Context(), "home", article.GetArgs{}); !errors.Is(err, domain.Refuse("invalid", "")) {
		t.Errorf("no article named: %v", err)
	}
}

func TestAPageAndASiteAreReadAsTheyStand(t *testing.T) {
	s := folded(t, smallSite(t))
	for _, args := range []page.GetArgs{{Page: "page_1"}, {Site: "main", Path: "/about"}, {Site: "main", Path: "/about/"}} {
		got, err := s.Page(t.Context(), "home", args)
		if err != nil || got.Title != "About home" || got.Body != "We grow." || got.Status != "live" || got.Address != "/about" || got.Locale != "en" {
			t.Errorf("%+v: %+v %v", args, got, err)
		}
	}
	if _, err := s.Page(t.Context(), "home", page.GetArgs{Site: "main", Path: "/nowhere"}); !errors.Is(err, notFound) {
		t.Errorf("a path without a page: %v", err)
	}
	got, err := s.Site(t.Context(), "home", "main")
	want := projections.Site{ID: "main", Title: "Main in home", Locale: "en", Menu: []site.Link{}, Rev: 1, Live: 1, Status: "live", Address: "/", Published: "p1", Pending: 2}
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(got, "Updated")); d != "" || err != nil {
		t.Error(d, err)
	}
	if _, err := s.Site(t.Context(), "home", "art_1"); !errors.Is(err, notFound) {
		t.Errorf("an article's id as a site: %v", err)
	}
}

func TestAStatusFollowsDraftAndPublic(t *testing.T) {
	j := smallSite(t)
	s := folded(t, j)
	status := func() string {
		t.Helper()
		see(t, s, j.head())
		a, err := s.Article(t.Context(), "home", article.GetArgs{Article: "art_1"})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(a.Status, " ", a.Rev, " ", a.Live, " ", a.Address)
	}
	publish := func(v domain.Version) {
		it := live.Item{ID: "art_1", Version: v}
		if v > 0 {
			it.Address = "/posts/spring"
		}
		j.say(byPerson("act_p"+domain.ID(fmt.Sprint(v)), "site.publish"), at("live", "main"), live.Published{Items: []live.Item{it}})
	}
	for _, step := range []struct {
		do   func()
		want string
	}{
		{func() {}, "changed 2 1 /posts/spring"},
		{func() { publish(2) }, "live 2 2 /posts/spring"},
		{func() {
			j.say(byAgent("act_s", "article.update"), at("article", "art_1"), article.Updated{Slug: new("summer")})
		}, "changed 3 2 /posts/summer"},
		{func() { j.say(byAgent("act_r", "article.remove"), at("article", "art_1"), article.Removed{}) }, "removed 4 2 /posts/spring"},
		{func() { publish(0) }, "removed 4 0 "},
		{func() { j.say(byPerson("act_b", "action.undo"), at("article", "art_1"), article.Restored{}) }, "new 5 0 /posts/summer"},
	} {
		step.do()
		if got := status(); got != step.want {
			t.Errorf("got %q, want %q", got, step.want)
		}
	}
}

func titles(list []projections.Article) (names []string) {
	for _, a := range list {
		names = append(names, a.Title)
	}
	return names
}

func TestArticlesAreListedByWhatIsAskedFor(t *testing.T) {
	j := smallSite(t)
	j.say(byAgent("act_art3", "article.create"), at("article", "art_3"), article.Created{Site: "main", Collection: "posts", Slug: "gone", Title: "Gone", Body: "x"}, article.Removed{})
	s := folded(t, j)
	spring, autumn := "Spring menu in home", "Herbst"
	for name, c := range map[string]struct {
		args article.ListArgs
		want []string
	}{
		"all that is there":            {article.ListArgs{}, []string{autumn, spring}},
		"a collection":                 {article.ListArgs{Collection: "notes"}, []string{autumn}},
		"a tag, whatever its case":     {article.ListArgs{Tag: "food"}, []string{spring}},
		"half a tag":                   {article.ListArgs{Tag: "foo"}, nil},
		"new":                          {article.ListArgs{Status: "new"}, []string{autumn}},
		"changed":                      {article.ListArgs{Status: "changed"}, []string{spring}},
		"removed":                      {article.ListArgs{Status: "removed"}, []string{"Gone"}},
		"a word in the body":           {article.ListArgs{Query: "asparagus"}, []string{spring}},
		"a word of another script":     {article.ListArgs{Query: "äpfel"}, []string{autumn, spring}},
		"all words, wherever they are": {article.ListArgs{Query: "GREEN asparagus"}, []string{spring}},
		"one word too many":            {article.ListArgs{Query: "green herbst"}, nil},
		"signs that SQL would read":    {article.ListArgs{Query: "%"}, nil},
		"an old version's words":       {article.ListArgs{Query: "back"}, nil},
	} {
		c.args.Site = "main"
		list, _, err := s.Articles(t.Context(), "home", c.args)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if d := cmp.Diff(c.want, titles(list)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		for _, a := range list {
			if a.Body != "" {
				t.Errorf("%s: a list with a body", name)
			}
		}
	}
	if _, _, err := s.Articles(t.Context(), "home", article.ListArgs{Site: "nowhere"}); !errors.Is(err, notFound) {
		t.Errorf("articles of no site: %v", err)
	}
}

func TestPagingLosesAndRepeatsNothingWhileThingsChange(t *testing.T) {
	j := smallSite(t)
	for i := range 25 {
		id := fmt.Sprintf("art_n%02d", i)
		j.say(byAgent(domain.ID("act_"+id), "article.create"), at("article", id), article.Created{Site: "main", Collection: "posts", Slug: "n", Title: id, Body: "x"})
	}
	s := folded(t, j)
	articles, entries := map[string]int{}, map[domain.Position]int{}
	var nextArticle, nextEntry string
	head := j.head()
	for i := 0; i == 0 || nextArticle != "" || nextEntry != ""; i++ {
		if i == 0 || nextArticle != "" {
			list, next, err := s.Articles(t.Context(), "home", article.ListArgs{Site: "main", Page: action.Page{Limit: 4, Cursor: nextArticle}})
			if err != nil {
				t.Fatal(err)
			}
			if len(list) > 4 {
				t.Fatalf("%d on a page of 4", len(list))
			}
			for _, a := range list {
				articles[a.ID]++
			}
			nextArticle = next
		}
		if i == 0 || nextEntry != "" {
			list, next, err := s.Audit(t.Context(), "home", projections.AuditArgs{Page: action.Page{Limit: 4, Cursor: nextEntry}})
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range list {
				entries[e.Position]++
			}
			nextEntry = next
		}
		// meanwhile: something new, and something already listed changes
		id := fmt.Sprintf("art_later%02d", i)
		j.say(byAgent(domain.ID("act_"+id), "article.create"), at("article", id), article.Created{Site: "main", Collection: "posts", Slug: "l", Title: id, Body: "x"})
		j.say(byAgent(domain.ID("act_e"+id), "article.update"), at("article", fmt.Sprintf("art_n%02d", 24-i)), article.Updated{Title: new("moved on")})
		see(t, s, j.head())
	}
	for i := range 25 {
		if id := fmt.Sprintf("art_n%02d", i); articles[id] != 1 {
			t.Errorf("%s was listed %d times", id, articles[id])
		}
	}
	for _, e := range []string{"act_site", "act_art1", "act_art_n00", "act_art_n24"} {
		entry, err := s.Entry(t.Context(), "home", domain.ID(e))
		if err != nil || entry.Position > head || entries[entry.Position] != 1 {
			t.Errorf("%s was listed %d times (%v)", e, entries[entry.Position], err)
		}
	}
	for p, n := range entries {
		if n != 1 {
			t.Errorf("the entry at %d was listed %d times", p, n)
		}
	}
}

func TestPendingIsWhatPublishingNowWouldChange(t *testing.T) {
	j := smallSite(t)
	j.say(byAgent("act_never", "article.create"), at("article", "art_never"), article.Created{Site: "main", Collection: "posts", Slug: "never", Title: "Never public", Body: "x"}, article.Removed{})
	j.say(byAgent("act_rm", "page.remove"), at("page", "page_1"), page.Removed{})
	j.say(byPerson("act_set", "site.update"), at("site", "main"), site.Updated{Tagline: new("Growing")})
	s := folded(t, j)

	named, err := s.Pending(t.Context(), "home", "main", j.head())
	if d := cmp.Diff([]action.Named{{ID: "main", Version: 2}, {ID: "page_1", Version: 2}, {ID: "art_1", Version: 2}, {ID: "art_2", Version: 1}}, named); d != "" || err != nil {
		t.Error(d, err)
	}
	got, err := s.PendingChanges(t.Context(), "home", "main")
	want := projections.Pending{
		Added: 1, Edited: 2, Removed: 1,
		AutoCheck: domain.AutoCheck{Rule: policy.LowRiskRule, Code: "removes-content", Changes: 4, Limit: 20},
		Changes: []domain.Change{
			{Kind: "site", ID: "main", Title: "Main in home", Version: 2, Was: 1, Change: "edited", Fields: []domain.Line{{Field: "tagline", After: "Growing"}}},
			{Kind: "page", ID: "page_1", Title: "About home", Version: 0, Was: 1, Change: "removed", Fields: []domain.Line{
				{Field: "title", Before: "About home"}, {Field: "path", Before: "/about"}, {Field: "body", Before: "We grow."}}},
			{Kind: "article", ID: "art_1", Title: "Spring menu in home", Version: 2, Was: 1, Change: "edited", Fields: []domain.Line{
				{Field: "title", Before: "Spring in home", After: "Spring menu in home"}, {Field: "body", Before: "Asparagus is back.", After: "Asparagus and ÄPFEL."}}},
			{Kind: "article", ID: "art_2", Title: "Herbst", Version: 1, Was: 0, Change: "added", Fields: []domain.Line{
				{Field: "title", After: "Herbst"}, {Field: "slug", After: "herbst"}, {Field: "collection", After: "notes"}, {Field: "locale", After: "de"},
				{Field: "date", After: "2026-10-01"}, {Field: "body", After: "Äpfel."}}},
		},
	}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(d, err)
	}
	compared, err := s.Compare(t.Context(), "home", site.CompareArgs{Site: "main"})
	if d := cmp.Diff(want.Changes, compared.Changes); d != "" || err != nil {
		t.Error("version.diff shows something else:", d, err)
	}
}

func TestThePublishLimitOfTheWorkspaceCounts(t *testing.T) {
	j := smallSite(t)
	j.say(byPerson("act_ws", "workspace.update"), at("workspace", "settings"), limitOf(1))
	s := folded(t, j)
	if p, err := s.PendingChanges(t.Context(), "home", "main"); err != nil || p.AutoCheck.Code != "too-many" || p.AutoCheck.Limit != 1 {
		t.Errorf("%+v %v", p.AutoCheck, err)
	}
}

func TestVersionsOfAnItemAreListedNewestFirst(t *testing.T) {
	s := folded(t, smallSite(t))
	list, next, err := s.Versions(t.Context(), "home", site.VersionsArgs{Item: "art_1"})
	want := []projections.Version{
		{Version: domain.Version(2), ID: "act_edit", Action: "article.update", Principal: domain.Principal{Kind: "agent", ID: "agent_1"}, Person: "person_1"},
		{Version: domain.Version(1), ID: "act_art1", Action: "article.create", Principal: domain.Principal{Kind: "agent", ID: "agent_1"}, Person: "person_1", Live: true},
	}
	if d := cmp.Diff(want, list, cmpopts.IgnoreFields(projections.Version{}, "At")); d != "" || err != nil || next != "" {
		t.Error(d, err, next)
	}
	if _, _, err := s.Versions(t.Context(), "home", site.VersionsArgs{Item: "art_9"}); !errors.Is(err, notFound) {
		t.Errorf("versions of nothing: %v", err)
	}
}

func TestAPublishOfSeveralEventsIsListedOnce(t *testing.T) {
	j := smallSite(t)
	e := byPerson("act_big", "site.publish")
	j.say(e, at("live", "main"), live.Published{Items: []live.Item{{ID: "art_1", Version: 2, Address: "/posts/spring"}}}, live.Published{Items: []live.Item{{ID: "art_2", Version: 1, Address: "/de/notes/herbst"}}})
	s := folded(t, j)
	list, _, err := s.Versions(t.Context(), "home", site.VersionsArgs{Site: "main"})
	want := []projections.Version{
		{Version: "p3", ID: "act_big", Action: "site.publish", Principal: e.Principal, Live: true, Items: 1},
		{Version: "p1", ID: "act_pub1", Action: "site.publish", Principal: e.Principal, Items: 3, Sealed: &domain.Sealed{Person: "person_1", Box: []byte("sealed home")}},
	}
	if d := cmp.Diff(want, list, cmpopts.IgnoreFields(projections.Version{}, "At")); d != "" || err != nil {
		t.Error(d, err)
	}
}

func TestVersionsAreComparedByEveryNameTheyHave(t *testing.T) {
	j := smallSite(t)
	j.say(byPerson("act_pub2", "site.publish"), at("live", "main"), live.Published{Items: []live.Item{{ID: "art_1", Version: 2, Address: "/posts/spring"}}})
	j.say(byAgent("act_edit3", "article.update"), at("article", "art_1"), article.Updated{Title: new("Third")})
	filed(j, "prop_1", live.PublishArgs{Site: "main", Items: []live.Wanted{{ID: "art_1", Version: 3}}})
	j.say(byAgent("act_rm", "page.remove"), at("page", "page_1"), page.Removed{})
	s := folded(t, j)
	for _, c := range []struct {
		args site.CompareArgs
		want string
	}{
		{site.CompareArgs{Item: "art_1"}, "art_1 2→3"},
		{site.CompareArgs{Item: "art_1", From: "1", To: "live"}, "art_1 1→2"},
		{site.CompareArgs{Item: "art_1", From: "p1", To: "p2"}, "art_1 1→2"},
		{site.CompareArgs{Item: "art_1", From: "live", To: "prop_1"}, "art_1 2→3"},
		{site.CompareArgs{Item: "art_1", From: "2", To: "p2"}, ""},
		{site.CompareArgs{Item: "art_2", From: "live"}, "art_2 0→1"},
		{site.CompareArgs{Item: "page_1", From: "1", To: "2"}, "page_1 1→0"},
		{site.CompareArgs{Item: "page_1"}, "page_1 1→0"},
		{site.CompareArgs{Site: "main", From: "p1", To: "p2"}, "art_1 1→2"},
		{site.CompareArgs{Site: "main", From: "live", To: "prop_1"}, "art_1 2→3"},
		{site.CompareArgs{Site: "main", From: "latest", To: "p1"}, "page_1 0→1 art_1 3→1 art_2 1→0"},
	} {
		d, err := s.Compare(t.Context(), "home", c.args)
		var got string
		for _, ch := range d.Changes {
			got += fmt.Sprintf(" %s %d→%d", ch.ID, ch.Was, ch.Version)
		}
		if err != nil || got != "" && got[1:] != c.want || got == "" && c.want != "" {
			t.Errorf("%+v: %q %v, want %q", c.args, got, err, c.want)
		}
	}
	for _, args := range []site.CompareArgs{{Item: "art_1", From: "9"}, {Item: "art_1", To: "p9"}, {Site: "main", To: "prop_9"}, {Site: "main", To: "later"}, {Item: "art_9"}} {
		if _, err := s.Compare(t.Context(), "home", args); !errors.Is(err, notFound) {
			t.Errorf("%+v: %v, want not-found", args, err)
		}
	}
}

// filed files a proposal to publish.
func filed(j *journal, id string, args live.PublishArgs) {
	j.say(byAgent(domain.ID("act_"+id), "site.publish"), at("proposal", id),
		proposal.Filed{Asker: domain.Principal{Kind: "agent", ID: "agent_1"}, Headline: "Publish", Cause: "tool", Digest: "d", Expires: start.Add(1000 * 60 * 1e9)},
		proposal.Called{Part: 1, Action: "site.publish", Args: jsonOf(args), Target: at("live", args.Site).String()})
}

func TestAPathFindsWhoHoldsItAndNotWhoNamesIt(t *testing.T) {
	j := smallSite(t)
	j.say(byAgent("act_late", "page.create"), at("page", "page_2"), page.Created{Site: "main", Path: "/about", Title: "Second"}) // its claim was lost
	s := folded(t, j)
	find := func(want string) {
		t.Helper()
		p, err := s.Page(t.Context(), "home", page.GetArgs{Site: "main", Path: "/about"})
		if p.ID != want || err == nil != (want != "") {
			t.Errorf("found %q (%v), want %q", p.ID, err, want)
		}
	}
	find("page_1")
	if p, err := s.Page(t.Context(), "home", page.GetArgs{Page: "page_2"}); err != nil || p.Title != "Second" {
		t.Errorf("by its id: %+v %v", p, err)
	}
	see(t, s, j.say(byAgent("act_free", "page.update"), address.Of("home", "main", "/about"), address.Freed{}))
	find("")
	see(t, s, j.say(byAgent("act_take", "page.update"), address.Of("home", "main", "/about"), address.Taken{Holder: "page-home/page_2"}))
	find("page_2")
	if p, err := s.AsOf(projections.Moment{Position: j.head() - 2}).Page(t.Context(), "home", page.GetArgs{Site: "main", Path: "/about"}); err != nil || p.ID != "page_1" {
		t.Errorf("before that: %+v %v", p, err)
	}
}
