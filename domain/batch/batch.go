// Package batch is several calls asked for as one. It has no history of its own:
// each of its parts is an action of its own, with its own line in the audit.
package batch

import (
	"encoding/json"
	"regexp"
	"strconv"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/vocab"
)

// Most is how many calls can be one.
const Most = 50

// Call is one part: a tool, by either of its names, and its arguments.
type Call struct {
	Tool      string         `json:"tool" jsonschema:"the tool's name" limit:"100"`
	Arguments map[string]any `json:"arguments,omitempty" jsonschema:"the tool's own arguments; a text $part.1 stands for the id of what part 1 makes or changes"`
}

// Several is arguments that hold calls.
type Several interface {
	Parts() []Call
	Together() bool // all or nothing
	Planned() bool  // filed for a person, whatever the mode
	Headline() string
}

// RunArgs asks for several calls at once.
type RunArgs struct {
	Calls  []Call `json:"calls" jsonschema:"1 to 50 calls, in order"`
	Atomic bool   `json:"atomic,omitempty" jsonschema:"all or nothing; otherwise each part is done, held or refused for itself"`
}

// Target is none: its parts have their own.
func (RunArgs) Target() string { return "" }

// Parts are the calls.
func (r RunArgs) Parts() []Call { return r.Calls }

// Together says that one refusal refuses all, and one hold holds all.
func (r RunArgs) Together() bool { return r.Atomic }

// Planned is false: what may happen happens.
func (RunArgs) Planned() bool { return false }

// Headline is empty: the parts say it.
func (RunArgs) Headline() string { return "" }

// FileArgs asks a person for several changes at once.
type FileArgs struct {
	Title string `json:"title" jsonschema:"what the changes are for, in a few words" chars:"120"`
	Calls []Call `json:"calls" jsonschema:"1 to 50 calls, in order; each is rehearsed on what those before it would leave"`
}

// Target is none: its parts have their own.
func (FileArgs) Target() string { return "" }

// Parts are the calls.
func (f FileArgs) Parts() []Call { return f.Calls }

// Together is false: a person may choose parts.
func (FileArgs) Together() bool { return false }

// Planned says that all of it waits for a person.
func (FileArgs) Planned() bool { return true }

// Headline is what the asker calls it.
func (f FileArgs) Headline() string { return f.Title }

// Actions are the two ways to ask for several things.
var Actions = []*action.Action{Run, File}

// Kind has no events. It is there because whatever is asked for has a kind.
var Kind = action.KindOf[Batch, Event]("batch", "batch", nil)

// Batch is nothing but its parts.
type Batch struct{}

// Fields are none.
func (Batch) Fields() []domain.Field { return nil }

// Event never happens.
type Event interface{ domain.Event[Batch, Event] }

// Words are none.
var Words []vocab.Word

var example = []Call{
	{"article_create", map[string]any{"site": "main", "slug": "spring", "title": "Spring", "body": "Peas."}},
	{"site_publish", map[string]any{"site": "main", "items": []any{map[string]any{"id": "$part.1"}}}},
}

// Run does several calls as one.
var Run = action.Of(Kind, noDecision[RunArgs], RunArgs{Calls: example, Atomic: true}, action.Facts{
	Name:       "batch",
	Title:      "Do several things at once",
	About:      "Takes up to 50 calls as one, in order. With atomic all of them happen or none; without, each is done, held or refused for itself. They are taken back together.",
	Class:      action.Oneself,
	Scope:      "any",
	Permission: "any",
	Final:      true, // its parts are not
})

// File asks a person for several changes as one.
var File = action.Of(Kind, noDecision[FileArgs], FileArgs{Title: "Spring menu", Calls: example}, action.Facts{
	Name:       "plan.file",
	Title:      "File a plan",
	About:      "Asks a person for up to 50 changes as one, in any mode, plan as well. Each is rehearsed on what those before it would leave. The person approves all of them or some.",
	Class:      action.Oneself,
	Scope:      "any",
	Permission: "any",
	Gate:       "It is filed for a person to decide.",
	Final:      true, // its parts are not
})

func noDecision[A any](Batch, A) ([]Event, error) {
	return nil, domain.Refuse("invalid", "This is decided part by part.")
}

var partForm = regexp.MustCompile(`^\$part\.([1-9][0-9]?)$`)

// Filled are a part's arguments with the ids of earlier parts in place, and
// which parts these are. ids gives the id of a part's target; it is false for a
// part that does not come before or has none.
func (c Call) Filled(ids func(part int) (string, bool)) (raw json.RawMessage, named []int, err error) {
	args := c.Arguments
	if args == nil {
		args = map[string]any{}
	}
	filled, err := fill(args, func(text string) (string, error) {
		m := partForm.FindStringSubmatch(text)
		if m == nil {
			return text, nil
		}
		n, _ := strconv.Atoi(m[1])
		id, ok := ids(n)
		if !ok {
			return "", domain.Refuse("invalid", "`%s` names a part that does not come before this one, or was not done.", text)
		}
		named = append(named, n)
		return id, nil
	})
	if err != nil {
		return nil, nil, err
	}
	raw, err = json.Marshal(filled)
	return raw, named, err
}

// fill copies a value with every text replaced.
func fill(v any, text func(string) (string, error)) (any, error) {
	switch v := v.(type) {
	case string:
		return text(v)
	case []any:
		list := make([]any, len(v))
		for i := range v {
			var err error
			if list[i], err = fill(v[i], text); err != nil {
				return nil, err
			}
		}
		return list, nil
	case map[string]any:
		fields := make(map[string]any, len(v))
		for name, value := range v {
			var err error
			if fields[name], err = fill(value, text); err != nil {
				return nil, err
			}
		}
		return fields, nil
	}
	return v, nil
}
