package domain_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assent/domain"
)

func fields(pairs ...any) []domain.Field {
	var list []domain.Field
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, domain.Field{Name: pairs[i].(string), Value: pairs[i+1]})
	}
	return list
}

func TestDiff(t *testing.T) {
	type link struct {
		Label string `json:"label"`
	}
	tests := map[string]struct {
		before, after []domain.Field
		want          []domain.Line
	}{
		"nothing to nothing":            {nil, nil, nil},
		"the same":                      {fields("title", "A"), fields("title", "A"), nil},
		"a new text":                    {fields("title", "A"), fields("title", "B"), []domain.Line{{Field: "title", Before: "A", After: "B"}}},
		"something new has no before":   {nil, fields("title", "A"), []domain.Line{{Field: "title", After: "A"}}},
		"something gone has no after":   {fields("title", "A"), nil, []domain.Line{{Field: "title", Before: "A"}}},
		"new and empty is no line":      {nil, fields("title", "", "tags", []string{}, "meta", map[string]any(nil)), nil},
		"gone and empty is no line":     {fields("title", "", "n", 0), nil, nil},
		"absent is empty":               {fields("tags", nil), fields("tags", []string{}), nil},
		"nil list is an empty list":     {fields("tags", []string(nil)), fields("tags", []string{}), nil},
		"emptied":                       {fields("tags", []string{"a"}), fields("tags", []string{}), []domain.Line{{Field: "tags", Before: []string{"a"}}}},
		"order within a list counts":    {fields("tags", []string{"a", "b"}), fields("tags", []string{"b", "a"}), []domain.Line{{Field: "tags", Before: []string{"a", "b"}, After: []string{"b", "a"}}}},
		"numbers as JSON reads them":    {fields("n", 3), fields("n", 3.0), nil},
		"numbers deep inside":           {fields("meta", map[string]any{"n": 3}), fields("meta", map[string]any{"n": json.Number("3")}), nil},
		"another number":                {fields("n", 3), fields("n", 3.5), []domain.Line{{Field: "n", Before: 3, After: 3.5}}},
		"a text is never a number":      {fields("n", "3"), fields("n", 3), []domain.Line{{Field: "n", Before: "3", After: 3}}},
		"records as JSON reads them":    {fields("menu", []link{{"A"}}), fields("menu", []any{map[string]any{"label": "A"}}), nil},
		"false is as good as left out":  {nil, fields("paused", false), nil},
		"lines follow the after fields": {fields("b", "1", "a", "1"), fields("a", "2", "b", "2"), []domain.Line{{Field: "a", Before: "1", After: "2"}, {Field: "b", Before: "1", After: "2"}}},
		"what is gone comes last":       {fields("old", "1", "a", "1"), fields("a", "2"), []domain.Line{{Field: "a", Before: "1", After: "2"}, {Field: "old", Before: "1"}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, domain.Diff(tt.before, tt.after)); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}
