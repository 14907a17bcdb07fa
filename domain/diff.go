package domain

import (
	"encoding/json"
	"reflect"
)

// Field is one thing a person would recognise a state by. Values are plain:
// strings, numbers, booleans, lists and maps of them.
type Field struct {
	Name  string
	Value any
}

// Line is one field that differs. Before is absent for something new, After
// for something gone.
type Line struct {
	Of     string `json:"of,omitempty"` // the thing, when a change touches several
	Field  string `json:"field"`
	Before any    `json:"before,omitempty"`
	After  any    `json:"after,omitempty"`
}

// Change is what happens to one thing between two versions of it. Card, audit
// detail and pending diff are all lists of changes.
type Change struct {
	Kind    string  `json:"kind"`
	ID      string  `json:"id"`
	Title   string  `json:"title,omitempty"`
	Version Version `json:"version"`
	Was     Version `json:"was"`
	Change  string  `json:"change"` // added | edited | removed
	Fields  []Line  `json:"fields"`
	Part    int     `json:"part,omitempty"` // of several calls, from 1
}

// The three ways a thing can change.
const (
	Added   = "added"
	Edited  = "edited"
	Removed = "removed"
)

// Diff lists the fields that differ between two states, in the order of the
// fields. A nil side is a state that does not exist.
func Diff(before, after []Field) []Line {
	was := make(map[string]any, len(before))
	for _, f := range before {
		was[f.Name] = f.Value
	}
	var lines []Line
	seen := make(map[string]bool, len(after))
	for _, f := range after {
		seen[f.Name] = true
		if old := was[f.Name]; !same(old, f.Value) {
			lines = append(lines, Line{Field: f.Name, Before: shown(old), After: shown(f.Value)})
		}
	}
	for _, f := range before {
		if !seen[f.Name] && !empty(f.Value) {
			lines = append(lines, Line{Field: f.Name, Before: f.Value})
		}
	}
	return lines
}

// same treats absent and empty alike, and numbers as JSON would read them
// back: a state folded from the log must not differ from one just decided.
func same(a, b any) bool {
	if empty(a) && empty(b) {
		return true
	}
	if reflect.DeepEqual(a, b) {
		return true
	}
	if _, text := a.(string); text {
		return false
	}
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// shown leaves out what is not there; false and 0 are there.
func shown(v any) any {
	if r := reflect.ValueOf(v); r.IsValid() && r.Kind() != reflect.Bool && empty(v) && !r.CanInt() && !r.CanFloat() {
		return nil
	}
	return v
}

// empty is what a field is before anybody gave it a value.
func empty(v any) bool {
	r := reflect.ValueOf(v)
	switch {
	case !r.IsValid():
		return true
	case r.Kind() == reflect.Slice || r.Kind() == reflect.Map:
		return r.Len() == 0
	}
	return r.IsZero()
}
