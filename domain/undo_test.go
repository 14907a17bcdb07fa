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
	want := "Title, body changed again since, so taking this back would lose later work. Choose for each field what stays."
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

// Nothing being put back over later work on purpose, a field that somebody else
// wrote last stays as they wrote it, and so does one that was to be kept.
func TestLaterWritesOfOthersSurviveAnyUndo(t *testing.T) {
	fields := []string{"title", "body", "summary", "tags"}
	rapid.Check(t, func(t *rapid.T) {
		events := []article.Event{menu}
		var places []int
		last := map[string]bool{} // whether the group wrote a field last
		for i := range rapid.IntRange(1, 12).Draw(t, "steps") {
			w := wish(t)
			w.Meta = nil
			more, err := article.Update.Decide(domain.Fold(article.Article{}, events...), w, nil)
			if err != nil {
				t.Fatal(err)
			}
			group := rapid.Bool().Draw(t, fmt.Sprintf("in the group %d", i))
			for _, e := range more {
				if group {
					places = append(places, len(events))
				}
				for _, l := range domain.Diff(domain.Fold(article.Article{}, events...).Fields(), domain.Fold(article.Article{}, append(slices.Clone(events), e.(article.Event))...).Fields()) {
					last[l.Field] = group
				}
				events = append(events, e.(article.Event))
			}
		}
		keep := rapid.SliceOfDistinct(rapid.SampledFrom(fields), rapid.ID[string]).Draw(t, "keep")
		way := domain.WayBack[article.Article](events, domain.Choice{Keep: keep}, places...)
		after := slices.Clone(events)
		for _, r := range way.Back {
			after = append(after, respelt(t, r.Event).(article.Event))
		}
		was, is := valuesOf(events), valuesOf(after)
		for _, f := range fields {
			stays := !last[f] || slices.Contains(keep, f)
			if stays && !reflect.DeepEqual(was[f], is[f]) {
				t.Fatalf("%s was %v and is %v\nhistory %#v\ngroup %v, keep %v, back %#v", f, was[f], is[f], events, places, keep, way.Back)
			}
		}
	})
}

func valuesOf(events []article.Event) map[string]any {
	values := map[string]any{}
	for _, f := range domain.Fold(article.Article{}, events...).Fields() {
		text, _ := json.Marshal(f.Value) // plain values always can be
		if s := string(text); s != "null" && s != "[]" {
			values[f.Name] = s
		}
	}
	return values
}

func TestAPersonChoosesFieldByField(t *testing.T) {
	events := []article.Event{
		menu,
		article.Updated{Title: new("Spring menu"), Body: new("Peas."), Summary: new("Green.")},
		article.Updated{Title: new("May menu"), Summary: new("Greener.")},
	}
	tests := map[string]struct {
		choice domain.Choice
		open   []string
		after  [3]string // title, body, summary
	}{
		"nothing":             {domain.Choice{}, []string{"title", "summary"}, [3]string{"May menu", "Kale.", "Greener."}},
		"one of two":          {domain.Choice{Keep: []string{"title"}}, []string{"summary"}, [3]string{"May menu", "Kale.", "Greener."}},
		"one each way":        {domain.Choice{Keep: []string{"title"}, Take: []string{"summary"}}, nil, [3]string{"May menu", "Kale.", ""}},
		"both back":           {domain.Choice{Take: []string{"title", "summary"}}, nil, [3]string{"Winter menu", "Kale.", ""}},
		"nothing back at all": {domain.Choice{Keep: []string{"title", "summary", "body"}}, nil, [3]string{"May menu", "Peas.", "Greener."}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			way := domain.WayBack[article.Article](events, tt.choice, 1)
			if diff := cmp.Diff(tt.open, way.Open); diff != "" {
				t.Errorf("open (-want +got):\n%s", diff)
			}
			after := slices.Clone(events)
			for _, r := range way.Back {
				after = append(after, r.Event)
			}
			got := domain.Fold(article.Article{}, after...)
			if diff := cmp.Diff(tt.after, [3]string{got.Title, got.Body, got.Summary}); diff != "" {
				t.Errorf("after (-want +got):\n%s", diff)
			}
			want := []domain.Column{
				{Field: "title", Before: "Winter menu", Set: "Spring menu", Now: "May menu"},
				{Field: "summary", Set: "Green.", Now: "Greener."},
				{Field: "body", Before: "Kale.", Set: "Peas.", Now: "Peas.", Clean: true},
			}
			if diff := cmp.Diff(want, way.Columns); diff != "" {
				t.Errorf("columns (-want +got):\n%s", diff)
			}
		})
	}
}

// What others built on something is never lost by taking its making back: they
// are asked about all of it.
func TestTheMakingGoesAsOneOrNotAtAll(t *testing.T) {
	events := []article.Event{menu, article.Updated{Title: new("Spring menu")}}
	for _, choice := range []domain.Choice{{}, {Keep: []string{"title"}}, {Keep: []string{"slug"}, Take: []string{"title"}}} {
		if way := domain.WayBack[article.Article](events, choice, 0); way.Back != nil {
			t.Errorf("%+v: %#v", choice, way.Back)
		}
	}
	way := domain.WayBack[article.Article](events, domain.Choice{Take: []string{"title"}}, 0)
	if after := domain.Fold(article.Article{}, append(events, way.Back[0].Event)...); after.Exists {
		t.Error("it is still there")
	}
}
