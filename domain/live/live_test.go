package live_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/article"
	"assent/domain/domaintest"
	"assent/domain/live"
	"assent/domain/page"
	"assent/domain/place"
	"assent/domain/site"
)

func ref(id string) action.Ref { return action.Ref{Category: live.KindOf(id), ID: id} }

// garden is a workspace with two sites and, on main: an article edited twice,
// one removed, one that takes over the first one's old address, and a page.
func garden(t *testing.T) action.Known {
	menu := article.Created{Site: "main", Collection: "posts", Slug: "menu", Title: "Winter menu"}
	return domaintest.Known(t, map[action.Ref][]any{
		ref("main"):     {site.Created{Title: "Garden", Locale: "en"}, site.Updated{Tagline: new("Growing")}},
		ref("other"):    {site.Created{Title: "Other", Locale: "en"}},
		ref("art_menu"): {menu, article.Updated{Title: new("Spring menu")}, article.Updated{Slug: new("spring")}},
		ref("art_gone"): {article.Created{Site: "main", Collection: "posts", Slug: "gone", Title: "Gone"}, article.Removed{}},
		ref("art_next"): {menu},
		ref("art_away"): {article.Created{Site: "other", Collection: "posts", Slug: "away", Title: "Away"}},
		ref("page_a"):   {page.Created{Site: "main", Path: "/about", Title: "About"}},
		ref("art_none"): nil,
	}, article.Kind, page.Kind, site.Kind, live.Kind)
}

func publish(items ...live.Wanted) live.PublishArgs {
	return live.PublishArgs{Site: "main", Items: items}
}

func published(items ...live.Item) live.Published { return live.Published{Items: items} }

func TestPublish(t *testing.T) {
	known := garden(t)
	menu2 := live.Item{ID: "art_menu", Version: 2, Address: "/posts/menu"}
	menu3 := live.Item{ID: "art_menu", Version: 3, Address: "/posts/spring"}
	gone1 := live.Item{ID: "art_gone", Version: 1, Address: "/posts/gone"}
	next := live.Item{ID: "art_next", Version: 1, Address: "/posts/menu"}
	about := live.Item{ID: "page_a", Version: 1, Address: "/about"}
	domaintest.Run(t, live.Publish, map[string]domaintest.Case[live.PublishArgs]{
		"names the version that was asked for": {
			Known: known, When: publish(live.Wanted{ID: "art_menu", Version: 2}),
			Then: []any{published(menu2)},
		},
		"the latest when none is asked for": {
			Known: known, When: publish(live.Wanted{ID: "art_menu"}),
			Then: []any{published(menu3)},
		},
		"articles, pages and the site's settings together": {
			Known: known, When: publish(live.Wanted{ID: "art_menu"}, live.Wanted{ID: "page_a"}, live.Wanted{ID: "main"}),
			Then: []any{published(menu3, about, live.Item{ID: "main", Version: 2})},
		},
		"only what is not live yet": {
			Known: known, Given: []any{published(menu3)}, When: publish(live.Wanted{ID: "art_menu"}, live.Wanted{ID: "page_a"}),
			Then: []any{published(about)},
		},
		"an earlier version of one item": {
			Known: known, Given: []any{published(menu3)}, When: publish(live.Wanted{ID: "art_menu", Version: 2}),
			Then: []any{published(menu2)},
		},
		"a removal": {
			Known: known, Given: []any{published(gone1)}, When: publish(live.Wanted{ID: "art_gone", Version: 2}),
			Then: []any{published(live.Item{ID: "art_gone"})},
		},
		"to the address of one that moves away with it": {
			Known: known, Given: []any{published(menu2)}, When: publish(live.Wanted{ID: "art_next"}, live.Wanted{ID: "art_menu"}),
			Then: []any{published(next, menu3)},
		},
		"nothing is pending":               {Known: known, When: publish()},
		"all of it is live already":        {Known: known, Given: []any{published(menu3)}, When: publish(live.Wanted{ID: "art_menu"})},
		"the removal of what was not live": {Known: known, When: publish(live.Wanted{ID: "art_gone"})},
		"removed since":                    {Known: known, When: publish(live.Wanted{ID: "art_gone", Version: 1}), Refused: "changed-since-shown"},
		"a version that is not yet":        {Known: known, When: publish(live.Wanted{ID: "art_menu", Version: 4}), Refused: "not-found"},
		"a version that cannot be":         {Known: known, When: publish(live.Wanted{ID: "art_menu", Version: -1}), Refused: "not-found"},
		"an item that nobody made":         {Known: known, When: publish(live.Wanted{ID: "art_none"}), Refused: "not-found"},
		"another site's item":              {Known: known, When: publish(live.Wanted{ID: "art_away"}), Refused: "not-found"},
		"another site's settings":          {Known: known, When: publish(live.Wanted{ID: "other"}), Refused: "not-found"},
		"an item named twice":              {Known: known, When: publish(live.Wanted{ID: "page_a"}, live.Wanted{ID: "page_a", Version: 1}), Refused: "invalid"},
		"no such site":                     {Known: known, When: live.PublishArgs{Site: "nowhere"}, Refused: "not-found"},
		"two at one address":               {Known: known, When: publish(live.Wanted{ID: "art_menu", Version: 1}, live.Wanted{ID: "art_next"}), Refused: "taken"},
		"at the address of a live one":     {Known: known, Given: []any{published(menu2)}, When: publish(live.Wanted{ID: "art_next"}), Refused: "taken"},
	})
}

func TestTakenNamesWhatMustGoAlong(t *testing.T) {
	was, err := live.Kind.Fold([]any{published(live.Item{ID: "art_menu", Version: 2, Address: "/posts/menu"})})
	if err != nil {
		t.Fatal(err)
	}
	_, err = live.Publish.Decide(was, publish(live.Wanted{ID: "art_next"}), garden(t))
	if err == nil || !strings.Contains(err.Error(), "art_menu") || !strings.Contains(err.Error(), "art_next") || !strings.Contains(err.Error(), "/posts/menu") {
		t.Errorf("says %v", err)
	}
}

// A site whose handle looks like the beginning of an item's id has settings
// like any other.
func TestASiteMayBeCalledArtOrPage(t *testing.T) {
	for _, handle := range []string{"art", "page"} {
		t.Run(handle, func(t *testing.T) {
			known := domaintest.Known(t, map[action.Ref][]any{place.SiteRef(handle): {site.Created{Title: "Art", Locale: "en"}}}, site.Kind)
			args := live.PublishArgs{Site: handle, Items: []live.Wanted{{ID: handle}}}
			got, err := live.Publish.Decide(live.Live{}, args, known)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]any{published(live.Item{ID: handle, Version: 1})}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestALargePublishIsSeveralEventsAndOneAction(t *testing.T) {
	things := map[action.Ref][]any{place.SiteRef("main"): {site.Created{Title: "Garden", Locale: "en"}}}
	args := live.PublishArgs{Site: "main"}
	for i := range 4001 {
		id := fmt.Sprintf("page_%04d", i)
		things[ref(id)] = []any{page.Created{Site: "main", Path: "/" + id, Title: id}}
		args.Items = append(args.Items, live.Wanted{ID: id})
	}
	known := domaintest.Known(t, things, page.Kind, site.Kind)
	events, err := live.Publish.Decide(live.Live{}, args, known)
	if err != nil {
		t.Fatal(err)
	}
	var sizes []int
	for _, e := range events {
		sizes = append(sizes, len(e.(live.Published).Items))
	}
	if diff := cmp.Diff([]int{2000, 2000, 1}, sizes); diff != "" {
		t.Errorf("items an event (-want +got):\n%s", diff)
	}
	state, err := live.Kind.Fold(events)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(state.(live.Live).Items); n != 4001 {
		t.Errorf("%d items are live", n)
	}
	back, err := live.Kind.TakeBack(events, 0, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	if state, err = live.Kind.Fold(append(events, back...)); err != nil || len(state.Fields()) != 0 {
		t.Errorf("%d items are still live (%v)", len(state.Fields()), err)
	}
	again := args
	again.Items = append(again.Items, live.Wanted{ID: "page_0000", Version: 1})
	if _, err := live.Publish.Decide(live.Live{}, again, known); err == nil {
		t.Error("an item named in two events of one publish was not noticed")
	}
}

// publishes is a site's public history: p1 to p3.
var publishes = []any{
	published(live.Item{ID: "art_menu", Version: 1, Address: "/posts/menu"}, live.Item{ID: "art_gone", Version: 1, Address: "/posts/gone"}),
	published(live.Item{ID: "art_menu", Version: 3, Address: "/posts/spring"}, live.Item{ID: "art_next", Version: 1, Address: "/posts/menu"}),
	published(live.Item{ID: "art_gone"}),
}

// seen is what is known when the public state has had these events.
func seen(t *testing.T, history []any) action.Known {
	known := garden(t)
	self := action.Ref{Category: "live", ID: "main"}
	known[self] = domaintest.Known(t, map[action.Ref][]any{self: history}, live.Kind)[self]
	return known
}

func TestRollback(t *testing.T) {
	toFirst := published(
		live.Item{ID: "art_gone", Version: 1, Address: "/posts/gone"},
		live.Item{ID: "art_menu", Version: 1, Address: "/posts/menu"},
		live.Item{ID: "art_next"},
	)
	forward := published(
		live.Item{ID: "art_gone"},
		live.Item{ID: "art_menu", Version: 3, Address: "/posts/spring"},
		live.Item{ID: "art_next", Version: 1, Address: "/posts/menu"},
	)
	back := func(to string) live.RollbackArgs { return live.RollbackArgs{Site: "main", To: to} }
	rolled := append(append([]any{}, publishes...), toFirst)
	domaintest.Run(t, live.Rollback, map[string]domaintest.Case[live.RollbackArgs]{
		"to the first publish":          {Given: publishes, Known: seen(t, publishes), When: back("p1"), Then: []any{toFirst}},
		"to the one before":             {Given: publishes, Known: seen(t, publishes), When: back("p2"), Then: []any{published(live.Item{ID: "art_gone", Version: 1, Address: "/posts/gone"})}},
		"and forward again":             {Given: rolled, Known: seen(t, rolled), When: back("p3"), Then: []any{forward}},
		"to where it is":                {Given: publishes, Known: seen(t, publishes), When: back("p3")},
		"to a publish that is not yet":  {Given: publishes, Known: seen(t, publishes), When: back("p4"), Refused: "not-found"},
		"where nothing was published":   {Known: seen(t, nil), When: back("p1"), Refused: "not-found"},
		"to something else":             {Given: publishes, Known: seen(t, publishes), When: back("latest"), Refused: "not-found"},
		"of a site that does not exist": {When: live.RollbackArgs{Site: "nowhere", To: "p1"}, Refused: "not-found"},
	})
}

func TestPublishVersion(t *testing.T) {
	tests := map[string]domain.Version{
		"p1": 1, "p12": 12, "": 0, "p": 0, "12": 0, "p0": 0, "p-1": 0, "p+1": 0, "p01": 0, "p1x": 0, "P1": 0, "p1.0": 0, "p99999999999999999999": 0,
	}
	for name, want := range tests {
		if got := live.PublishVersion(name); got != want {
			t.Errorf("%q is version %d, want %d", name, got, want)
		}
	}
}

func TestAPublishIsTakenBackUnlessWhatItMovedMovedAgain(t *testing.T) {
	later := published(live.Item{ID: "page_a", Version: 1, Address: "/about"})
	tests := map[string]struct {
		history []any
		place   int
		refused string
	}{
		"the latest":                           {publishes[:2], 1, ""},
		"after a publish of other items":       {append(append([]any{}, publishes[:2]...), later), 1, ""},
		"refused after one of the same item":   {publishes, 0, "undo-conflict"},
		"refused after it went away and again": {append(append([]any{}, publishes...), publishes[0], publishes[2]), 2, "undo-conflict"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			back, err := live.Kind.TakeBack(tt.history, tt.place)
			if code(err) != tt.refused {
				t.Fatalf("refused with %v, want %q", err, tt.refused)
			}
			if err != nil {
				return
			}
			want, err := live.Kind.Fold(append(append([]any{}, tt.history[:tt.place]...), tt.history[tt.place+1:]...))
			if err != nil {
				t.Fatal(err)
			}
			got, err := live.Kind.Fold(append(append([]any{}, tt.history...), back...))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("public state (-want +got):\n%s", diff)
			}
		})
	}
}

func code(err error) string {
	if no, ok := err.(*domain.Refusal); ok {
		return no.Code
	}
	return ""
}
