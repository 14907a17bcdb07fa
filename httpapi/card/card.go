// Package card shows what changes the way people compare texts: fields from
// before to after, long ones line by line, with the words that differ marked.
// All text in it is foreign and stays text: what hides or pretends in it is
// made visible, and nothing of it is ever markup.
package card

import (
	"encoding/json"
	"strings"

	"assent/domain"
)

// Sign says what happens to a thing, in one character.
func Sign(change string) string {
	switch change {
	case domain.Added:
		return "+"
	case domain.Removed:
		return "−"
	}
	return "~"
}

// Change is one thing and what happens to it.
type Change struct {
	Sign, Verb, Kind, Title, ID string
	Fields                      []Field
}

// Field is one field of a thing. A short one has Before and After, a long one
// Lines.
type Field struct {
	Name          string
	Before, After []Span // nil: there is none on that side
	Lines         []Line
	Clipped       bool // Lines is not all of it
}

// Line is one line of a comparison.
type Line struct {
	Sign    string // +, − or nothing; ⋯ stands for lines that are the same
	Spans   []Span
	Skipped int // how many lines ⋯ stands for
}

// Span is a piece of text, and whether it differs from the other side.
type Span struct {
	Text string
	Mark bool
}

// maxLines is how many lines of one field are shown.
const maxLines = 400

// Of shows changes in the order they came.
func Of(changes []domain.Change) []Change {
	shown := make([]Change, len(changes))
	for i, c := range changes {
		shown[i] = Change{Sign: Sign(c.Change), Verb: c.Change, Kind: c.Kind, Title: c.Title, ID: c.ID, Fields: Fields(c.Fields)}
	}
	return shown
}

// Fields shows lines of a change, one field each.
func Fields(lines []domain.Line) []Field {
	shown := make([]Field, len(lines))
	for i, l := range lines {
		shown[i] = field(l)
		if l.Of != "" {
			shown[i].Name = l.Of + " " + l.Field
		}
	}
	return shown
}

func field(l domain.Line) Field {
	before, after := Text(l.Before), Text(l.After)
	f := Field{Name: l.Field}
	if long(before) || long(after) {
		f.Lines = lines(before, after)
		if len(f.Lines) > maxLines {
			f.Lines, f.Clipped = f.Lines[:maxLines], true
		}
		return f
	}
	was, is := words(before, after)
	if l.Before != nil {
		f.Before = was
	}
	if l.After != nil {
		f.After = is
	}
	return f
}

func long(s string) bool { return len(s) > 200 || strings.Contains(strings.TrimSpace(s), "\n") }

// Text is a value as people read it: lists with commas, anything deeper as it
// is written.
func Text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case []string:
		return strings.Join(v, ", ")
	case []any:
		parts := make([]string, len(v))
		for i, p := range v {
			s, plain := p.(string)
			if !plain {
				return spelled(v)
			}
			parts[i] = s
		}
		return strings.Join(parts, ", ")
	}
	return spelled(v)
}

func spelled(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "(cannot be shown)"
	}
	return string(b)
}
