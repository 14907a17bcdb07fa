package vocab_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assent/domain"
	"assent/domain/vocab"
)

// planted is at its third spelling: first `plant`, then `name`, then a list.
type planted struct {
	Names []string    `json:"names"`
	Count json.Number `json:"count,omitempty"`
}

type watered struct{}

var words = []vocab.Word{
	vocab.Say[planted]("bed.planted",
		func(old map[string]any) {
			old["name"] = old["plant"]
			delete(old, "plant")
		},
		func(old map[string]any) {
			old["names"] = []any{old["name"]}
			delete(old, "name")
		}),
	vocab.Say[watered]("bed.watered"),
}

func join(t *testing.T, lists ...[]vocab.Word) *vocab.Vocabulary {
	t.Helper()
	v, err := vocab.Join(lists...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func record(word string, revision int, data string) domain.Record {
	return domain.Record{Fresh: domain.Fresh{Word: word, Revision: revision, Data: json.RawMessage(data)}, Position: 7}
}

func TestRead(t *testing.T) {
	v := join(t, words)
	tests := map[string]struct {
		record domain.Record
		want   any    // the event, or
		fault  string // what the error says
	}{
		"the present spelling":       {record("bed.planted", 3, `{"names":["kale","peas"]}`), planted{Names: []string{"kale", "peas"}}, ""},
		"the one before":             {record("bed.planted", 2, `{"name":"kale"}`), planted{Names: []string{"kale"}}, ""},
		"the first, through both":    {record("bed.planted", 1, `{"plant":"kale"}`), planted{Names: []string{"kale"}}, ""},
		"a number is kept exactly":   {record("bed.planted", 1, `{"plant":"kale","count":12345678901234567890}`), planted{Names: []string{"kale"}, Count: "12345678901234567890"}, ""},
		"a word without fields":      {record("bed.watered", 1, `{}`), watered{}, ""},
		"a field nobody reads":       {record("bed.watered", 1, `{"litres":3}`), watered{}, ""},
		"a newer revision":           {record("bed.planted", 4, `{"rows":[]}`), vocab.Unknown{Word: "bed.planted", Revision: 4}, ""},
		"a word nobody knows":        {record("bed.dug", 1, `{}`), vocab.Unknown{Word: "bed.dug", Revision: 1}, ""},
		"data of another shape":      {record("bed.planted", 3, `{"names":"kale"}`), nil, "read bed.planted at position 7"},
		"data that is broken":        {record("bed.planted", 3, `{`), nil, "read bed.planted at position 7"},
		"old data that is broken":    {record("bed.planted", 1, `[]`), nil, "upcast bed.planted 1 at position 7"},
		"old data that is nothing":   {record("bed.planted", 1, `null`), nil, "upcast bed.planted 1 at position 7"},
		"a revision before all":      {record("bed.planted", 0, `{}`), nil, "bed.planted at position 7"},
		"a revision that is no such": {record("bed.planted", -1, `{}`), nil, "bed.planted at position 7"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := v.Read(tt.record)
			if tt.fault != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fault) {
					t.Fatalf("got %v (%v), want a fault: %s", got.Event, err, tt.fault)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got.Event); diff != "" {
				t.Errorf("event (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.record, got.Record); diff != "" {
				t.Errorf("the record changed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSpell(t *testing.T) {
	v := join(t, words)
	word, revision, data, err := v.Spell(planted{Names: []string{"kale"}})
	if err != nil || word != "bed.planted" || revision != 3 || string(data) != `{"names":["kale"]}` {
		t.Errorf("spelled %s %d %s (%v)", word, revision, data, err)
	}
	if _, _, _, err := v.Spell(&planted{}); err == nil {
		t.Error("a pointer to an event has a word")
	}
	if _, _, _, err := v.Spell(struct{}{}); err == nil {
		t.Error("anything has a word")
	}
	if _, _, _, err := v.Spell(nil); err == nil {
		t.Error("nothing has a word")
	}
}

func TestJoinRefusesWhatCouldBeMistaken(t *testing.T) {
	type dug struct{}
	tests := map[string]struct {
		lists [][]vocab.Word
		says  string
	}{
		"a word twice":           {[][]vocab.Word{words, {vocab.Say[dug]("bed.watered")}}, `"bed.watered" is said twice`},
		"a word twice in one":    {[][]vocab.Word{{vocab.Say[dug]("bed.dug"), vocab.Say[watered]("bed.dug")}}, `"bed.dug" is said twice`},
		"two words for one type": {[][]vocab.Word{words, {vocab.Say[watered]("bed.rained")}}, "is called both"},
		"a word without a kind":  {[][]vocab.Word{{vocab.Say[dug]("dug")}}, "kind.happened"},
		"a word of nothing":      {[][]vocab.Word{{vocab.Say[dug]("bed.")}}, "kind.happened"},
		"a word of no kind":      {[][]vocab.Word{{vocab.Say[dug](".dug")}}, "kind.happened"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := vocab.Join(tt.lists...); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want …%s…", err, tt.says)
			}
		})
	}
	if n := len(join(t, words).Words()); n != 2 {
		t.Errorf("%d words", n)
	}
}
