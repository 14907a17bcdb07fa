package projections_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/article"
	"assent/domain/live"
)

func TestAHistoryIsEveryVersionAndEveryPublishOfAnItem(t *testing.T) {
	j := grownSite(t)
	j.say(byAgent("act_gone", "article.remove"), at("article", "art_1"), article.Removed{})
	j.say(byPerson("act_pub3", "site.publish"), at("live", "main"), live.Published{Items: []live.Item{{ID: "art_1"}}})
	j.say(byPerson("act_back", "action.undo"), at("article", "art_1"), article.Restored{})
	s := folded(t, j)
	want := []string{
		"restored v5  act_back", "taken-off v0 p3 act_pub3", "removed v4  act_gone", "edited v3  act_move", "published v2 p2 act_pub2",
		"edited v2  act_edit", "published v1 p1 act_pub1", "made v1  act_art1",
	}
	for _, limit := range []int{100, 3, 1} {
		var got []string
		for p := (action.Page{Limit: limit}); ; {
			list, next, err := s.History(t.Context(), "home", "art_1", p)
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range list {
				got = append(got, fmt.Sprintf("%s v%d %s %s", h.Step, h.Version, h.Publish, h.ID))
			}
			if p.Cursor = next; next == "" {
				break
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%d at a time: %s", limit, d)
		}
	}
	list, _, err := s.History(t.Context(), "home", "art_1", action.Page{})
	if err != nil || list[6].Sealed == nil || list[5].Principal != (domain.Principal{Kind: "agent", ID: "agent_1"}) || list[5].Person != "person_1" {
		t.Errorf("%+v %v", list, err)
	}
	if _, _, err := s.History(t.Context(), "home", "art_9", action.Page{}); !errors.Is(err, notFound) {
		t.Errorf("of nothing: %v", err)
	}
}
