package domain_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/article"
)

var menu = article.Created{Site: "main", Collection: "posts", Slug: "menu", Title: "Winter menu", Body: "Kale."}

// history draws an article's life as it really happens: each step is what a
// decision made of a wish, so no event says what is already so.
func history(t *rapid.T) []article.Event {
	events := []article.Event{menu}
	for range rapid.IntRange(1, 12).Draw(t, "steps") {
		state := domain.Fold(article.Article{}, events...)
		if !state.Exists {
			events = append(events, article.Restored{})
			continue
		}
		a, args := article.Update, any(wish(t))
		if rapid.IntRange(0, 9).Draw(t, "removes") == 0 {
			a, args = article.Remove, article.RemoveArgs{}
		}
		more, err := a.Decide(state, args, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range more {
			events = append(events, respelt(t, e).(article.Event))
		}
	}
	return events
}

func wish(t *rapid.T) article.UpdateArgs {
	word := rapid.SampledFrom([]string{"Kale.", "Peas.", "Beans."})
	some := func(name string) *string {
		return rapid.Ptr(word, true).Draw(t, name)
	}
	tags := rapid.Ptr(rapid.SampledFrom([][]string{{}, {"food"}, {"food", "spring"}}), true).Draw(t, "tags")
	meta := rapid.Ptr(rapid.SampledFrom([]map[string]any{{}, {"a": 1.0}, {"a": 1.5}}), true).Draw(t, "meta")
	return article.UpdateArgs{Title: some("title"), Body: some("body"), Summary: some("summary"), Tags: tags, Meta: meta}
}

// respelt is an event as the log gives it back.
func respelt(t interface{ Fatal(...any) }, event any) any {
	text, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	again := reflect.New(reflect.TypeOf(event))
	if err := json.Unmarshal(text, again.Interface()); err != nil {
		t.Fatal(err)
	}
	return again.Elem().Interface()
}

// What was taken back never was: the article is what everything else alone
// would have made of it, also after the log gave the reverses back. Hence
// what others set later is as they set it.
func TestTakenBackIsAsIfItNeverWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := history(t)
		var places []int
		var others []article.Event
		for i, e := range events {
			if i > 0 && rapid.Bool().Draw(t, fmt.Sprintf("in the group %d", i)) {
				places = append(places, i)
			} else {
				others = append(others, e)
			}
		}
		back, err := domain.TakeBack[article.Article](events, places...)
		if err != nil {
			if no, ok := err.(*domain.Refusal); !ok || no.Code != "undo-conflict" || back != nil {
				t.Fatalf("refused with %v, and %d events", err, len(back))
			}
			return
		}
		if len(back) != len(places) {
			t.Fatalf("%d events taken back by %d", len(places), len(back))
		}
		after := slices.Clone(events)
		for _, e := range back {
			after = append(after, respelt(t, e).(article.Event))
		}
		want := domain.Fold(article.Article{}, others...)
		got := domain.Fold(article.Article{}, after...)
		if diff := domain.Diff(want.Fields(), got.Fields()); diff != nil || want.Exists != got.Exists {
			t.Fatalf("history %#v\ntaken back %v by %#v\ndiffers in %+v", events, places, back, diff)
		}
	})
}

// Only the group decides what is lost: a field nobody of the group touched can
// never stand in the way.
func TestWorkOnOtherFieldsNeverStandsInTheWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := []article.Event{menu, article.Updated{Title: new("Spring menu")}}
		for i := range rapid.IntRange(0, 6).Draw(t, "later") {
			w := wish(t)
			w.Title = nil
			more, err := article.Update.Decide(domain.Fold(article.Article{}, events...), w, nil)
			if err != nil {
				t.Fatal(i, err)
			}
			for _, e := range more {
				events = append(events, e.(article.Event))
			}
		}
		back, err := domain.TakeBack[article.Article](events, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got := domain.Fold(article.Article{}, append(events, back...)...).Title; got != "Winter menu" {
			t.Fatalf("the title is %q", got)
		}
	})
}

// Taking back a taking back needs no code of its own.
func TestTakingBackATakingBackLeadsForwardAgain(t *testing.T) {
	events := []article.Event{menu, article.Updated{Title: new("Spring menu"), Tags: &[]string{"food"}}, article.Removed{}}
	want := domain.Fold(article.Article{}, events...)
	for range 2 {
		n := len(events)
		back, err := domain.TakeBack[article.Article](events, n-2, n-1)
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, back...)
	}
	got := domain.Fold(article.Article{}, events...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAConflictNamesTheFields(t *testing.T) {
	events := []article.Event{
		menu,
		article.Updated{Title: new("Spring menu"), Body: new("Peas.")},
		article.Updated{Title: new("May menu"), Body: new("Beans.")},
	}
	_, err := domain.TakeBack[article.Article](events, 1)
	want := "Title, body changed again since, so taking this back would lose later work. Change it by hand instead."
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestAReverseThatEmptiesAListSurvivesTheLog(t *testing.T) {
	events := []any{menu, article.Updated{Tags: &[]string{"food"}, Meta: &map[string]any{"a": 1.0}}}
	back, err := article.Kind.TakeBack(events, 1)
	if err != nil {
		t.Fatal(err)
	}
	state, err := article.Kind.Fold(append(events, respelt(t, back[0])))
	if err != nil {
		t.Fatal(err)
	}
	if a := state.(article.Article); len(a.Tags)+len(a.Meta) > 0 {
		t.Errorf("still tagged %v, with %v", a.Tags, a.Meta)
	}
}

func TestWishingForNothingInAListSurvivesTheLog(t *testing.T) {
	var none []string
	before := domain.Fold[article.Article, article.Event](article.Article{}, menu, article.Updated{Tags: &[]string{"food"}})
	events, err := article.Update.Decide(before, article.UpdateArgs{Tags: &none}, action.Known{})
	if err != nil {
		t.Fatal(err)
	}
	state, err := article.Kind.Evolve(before, respelt(t, events[0]))
	if err != nil {
		t.Fatal(err)
	}
	if tags := state.(article.Article).Tags; len(tags) > 0 {
		t.Errorf("still tagged %v", tags)
	}
}
