package mcp

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"pgregory.net/rapid"

	"assent/commands"
	"assent/domain"
	"assent/domain/vocab"
)

// TestEveryOutcomeThereCanBeFitsItsSchema: what a call answers with is made of
// one type, whose every value fits the schema that is listed. So a result
// cannot turn out not to fit once something was written, and nothing has to be
// checked then.
func TestEveryOutcomeThereCanBeFitsItsSchema(t *testing.T) {
	writes, reads := resolved(t, writeSchema), resolved(t, readSchema)
	rapid.Check(t, func(r *rapid.T) {
		fits(r, writes, anyWrite(r))
		fits(r, reads, anyRead(r))
	})
}

func resolved(t *testing.T, schema string) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal([]byte(schema), &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func fits(r *rapid.T, schema *jsonschema.Resolved, out commands.Outcome) {
	text, err := vocab.Text(out)
	if err != nil {
		r.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		r.Fatal(err)
	}
	if err := schema.Validate(v); err != nil {
		r.Errorf("%s does not fit: %v", text, err)
	}
}

// some draws a value or leaves it out.
func some[T any](r *rapid.T, name string, draw func() T) *T {
	if !rapid.Bool().Draw(r, "has "+name) {
		return nil
	}
	v := draw()
	return &v
}

func words(r *rapid.T, name string) string { return rapid.String().Draw(r, name) }

// anything is a value of a field: what before and after may be.
func anything(r *rapid.T, name string) any {
	return rapid.SampledFrom([]any{nil, "text", "", 7, -1.5, true, []string{"a"}, map[string]any{"b": []any{nil}}}).Draw(r, name)
}

func anyVerdict(r *rapid.T) domain.Verdict {
	v := domain.Verdict{
		Answer: rapid.SampledFrom([]domain.Answer{domain.Act, domain.Propose, domain.Reject}).Draw(r, "answer"),
		Code:   words(r, "code"), Cause: words(r, "cause"), Lifted: words(r, "lifted"), Reason: words(r, "reason"), Rules: words(r, "rules"),
		AutoCheck: some(r, "check", func() domain.AutoCheck {
			return domain.AutoCheck{Rule: words(r, "rule"), Code: words(r, "check code"), Changes: rapid.Int().Draw(r, "changes")}
		}),
	}
	for range rapid.IntRange(0, 2).Draw(r, "findings") {
		v.Findings = append(v.Findings, domain.Finding{})
	}
	return v
}

func anyRefusal(r *rapid.T) *domain.Refusal {
	return domain.Refuse(words(r, "refusal"), "%s", words(r, "sentence"))
}

func anyWrite(r *rapid.T) commands.Outcome {
	out := commands.Outcome{
		Outcome:  rapid.SampledFrom([]string{commands.Done, commands.Idle, commands.Waiting, commands.Refused, commands.Rehearsed, commands.Unknown}).Draw(r, "outcome"),
		Action:   domain.ID(words(r, "action")),
		Position: commands.Position(rapid.Int64().Draw(r, "position")),
		Target: some(r, "target", func() commands.Target {
			return commands.Target{Kind: words(r, "kind"), ID: words(r, "id"), Version: domain.Version(rapid.Int64().Draw(r, "version"))}
		}),
		Undo: some(r, "undo", func() commands.Undo {
			return commands.Undo{Until: time.Unix(rapid.Int64Range(0, 1<<33).Draw(r, "until"), 0)}
		}),
		Verdict: some(r, "verdict", func() domain.Verdict { return anyVerdict(r) }),
	}
	for range rapid.IntRange(0, 3).Draw(r, "lines") {
		out.Changes = append(out.Changes, domain.Line{Of: words(r, "of"), Field: words(r, "field"), Before: anything(r, "before"), After: anything(r, "after")})
	}
	if rapid.Bool().Draw(r, "has proposal") {
		out.Proposal = &commands.Held{ID: words(r, "proposal"), URL: words(r, "url"), Cause: words(r, "held"), State: words(r, "state"), Yesses: rapid.IntRange(0, 9).Draw(r, "yesses")}
	}
	if out.Outcome == commands.Refused {
		out.Refusal = anyRefusal(r)
	}
	return out
}

func anyRead(r *rapid.T) commands.Outcome {
	out := commands.Outcome{Outcome: rapid.SampledFrom([]string{commands.Done, commands.Refused, commands.Unknown}).Draw(r, "read")}
	if out.Outcome != commands.Done {
		out.Refusal = anyRefusal(r)
		return out
	}
	thing := map[string]any{"id": words(r, "thing"), "value": anything(r, "value")}
	out.Answer = rapid.SampledFrom([]*commands.Answer{
		{Site: thing}, {Page: thing}, {Article: thing}, {Preview: thing}, {Whoami: thing}, {Diff: thing},
		{Items: []any{thing}, Next: "more"}, {Items: []any{}}, {},
	}).Draw(r, "answer")
	if *out.Answer == (commands.Answer{}) {
		out.Proposal = thing
	}
	return out
}
