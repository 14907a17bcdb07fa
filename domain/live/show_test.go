package live_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/live"
)

// People see items and their fields, never version numbers alone.
func TestShow(t *testing.T) {
	before, err := live.Kind.Fold([]any{published(
		live.Item{ID: "art_menu", Version: 1, Address: "/posts/menu"},
		live.Item{ID: "art_gone", Version: 1, Address: "/posts/gone"},
	)})
	if err != nil {
		t.Fatal(err)
	}
	after, err := live.Kind.Evolve(before, published(
		live.Item{ID: "art_menu", Version: 2, Address: "/posts/menu"},
		live.Item{ID: "art_gone"},
		live.Item{ID: "page_a", Version: 1, Address: "/about"},
	))
	if err != nil {
		t.Fatal(err)
	}
	got, ok := live.Publish.Show(before, after, publish(), garden(t))
	want := []domain.Change{
		{Kind: "article", ID: "art_gone", Title: "Gone", Was: 1, Change: domain.Removed, Fields: []domain.Line{
			{Field: "title", Before: "Gone"}, {Field: "slug", Before: "gone"}, {Field: "collection", Before: "posts"},
		}},
		{Kind: "article", ID: "art_menu", Title: "Spring menu", Version: 2, Was: 1, Change: domain.Edited, Fields: []domain.Line{
			{Field: "title", Before: "Winter menu", After: "Spring menu"},
		}},
		{Kind: "page", ID: "page_a", Title: "About", Version: 1, Change: domain.Added, Fields: []domain.Line{
			{Field: "title", After: "About"}, {Field: "path", After: "/about"},
		}},
	}
	if diff := cmp.Diff(want, got); !ok || diff != "" {
		t.Errorf("shown: %v (-want +got):\n%s", ok, diff)
	}
}

func TestNeeds(t *testing.T) {
	known := garden(t)
	refs := live.Publish.Needs(live.Live{}, publish(live.Wanted{ID: "art_menu"}, live.Wanted{ID: "page_a"}, live.Wanted{ID: "main"}), nil)
	want := []action.Ref{{Category: "site", ID: "main"}, {Category: "article", ID: "art_menu"}, {Category: "page", ID: "page_a"}, {Category: "site", ID: "main"}}
	if diff := cmp.Diff(want, refs); diff != "" {
		t.Errorf("a publish needs (-want +got):\n%s", diff)
	}
	now, err := live.Kind.Fold(publishes)
	if err != nil {
		t.Fatal(err)
	}
	first := live.Rollback.Needs(now, live.RollbackArgs{Site: "main", To: "p2"}, action.Known{})
	then := live.Rollback.Needs(now, live.RollbackArgs{Site: "main", To: "p2"}, seen(t, publishes))
	self := []action.Ref{{Category: "live", ID: "main"}, {Category: "site", ID: "main"}}
	if diff := cmp.Diff(self, first); diff != "" {
		t.Errorf("a rollback needs at first (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(append(self, action.Ref{Category: "article", ID: "art_gone"}), then); diff != "" {
		t.Errorf("a rollback needs then (-want +got):\n%s", diff)
	}
	if _, ok := known[ref("art_menu")]; !ok {
		t.Error("the garden has no menu")
	}
}

// Leaving the list out means everything pending; naming nothing means nothing.
func TestMissing(t *testing.T) {
	tests := map[string]struct {
		args    string
		missing bool
		want    int
	}{
		"left out": {`{"site":"main"}`, true, 2},
		"null":     {`{"site":"main","items":null}`, true, 2},
		"empty":    {`{"site":"main","items":[]}`, false, 0},
		"given":    {`{"site":"main","items":[{"id":"art_a"}]}`, false, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			cmd, err := live.Publish.Parse([]byte(tt.args))
			if err != nil {
				t.Fatal(err)
			}
			args := cmd.Args.(action.Filler)
			site, missing := args.Missing()
			if site != "main" || missing != tt.missing {
				t.Fatalf("missing: %v on %q", missing, site)
			}
			if missing {
				args = args.Filled([]action.Named{{ID: "art_a", Version: 2}, {ID: "art_b", Version: 1}}).(action.Filler)
			}
			if n := len(args.(live.PublishArgs).Items); n != tt.want {
				t.Errorf("%d items", n)
			}
		})
	}
}
