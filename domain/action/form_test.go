package action_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/vocab"
)

// bed is a kind of thing with every sort of argument.
type bed struct{}

func (bed) Fields() []domain.Field { return nil }

type bedEvent interface{ domain.Event[bed, bedEvent] }

var bedKind = action.KindOf[bed, bedEvent]("bed", "bed", []vocab.Word(nil))

type which struct {
	Bed string `json:"bed" jsonschema:"the bed's id"`
}

func (w which) Target() string { return w.Bed }

type row struct {
	Plant string  `json:"plant" jsonschema:"what grows" limit:"10"`
	Count int64   `json:"count,omitempty" jsonschema:"how many"`
	Note  *string `json:"note,omitempty" jsonschema:"a word about it"`
}

type plantArgs struct {
	which
	Size   string         `json:"size" jsonschema:"how large" enum:"small,large"`
	Name   *string        `json:"name,omitempty" jsonschema:"what it is called" limit:"8"`
	Rows   []row          `json:"rows,omitempty" jsonschema:"what grows where"`
	Tags   *[]string      `json:"tags,omitempty" jsonschema:"topics" limit:"20"`
	Depth  *float64       `json:"depth,omitempty" jsonschema:"in centimetres"`
	Until  *time.Time     `json:"until,omitempty" jsonschema:"when it rests no more"`
	Fallow bool           `json:"fallow,omitempty" jsonschema:"it rests"`
	Meta   map[string]any `json:"meta,omitempty" jsonschema:"anything else" limit:"30"`
	Secret string         `json:"-"`
	action.Rev
}

func facts(name string, class action.Class) action.Facts {
	return action.Facts{Name: name, Title: "Plant", About: "Plants a bed.", Class: class, Scope: "any", Permission: "any"}
}

var plant = action.Of(bedKind, func(bed, plantArgs) ([]bedEvent, error) { return nil, nil },
	plantArgs{which: which{"bed_1"}, Size: "small"}, facts("bed.plant", action.Content))

var look = action.Look(which{"bed_1"}, facts("bed.look", action.Read))

func TestParse(t *testing.T) {
	tests := map[string]struct{ args, says string }{ // says nothing: accepted
		"what is required":               {`{"bed":"b","size":"small"}`, ""},
		"a time":                         {`{"bed":"b","size":"small","until":"2026-12-31T00:00:00+01:00"}`, ""},
		"a day where a time must be":     {`{"bed":"b","size":"small","until":"2026-12-31"}`, "`until` must be a time, as in 2026-12-31T00:00:00Z"},
		"a time before all logs":         {`{"bed":"b","size":"small","until":"0001-01-01T00:00:00Z"}`, "`until` must be a time, as in 2026-12-31T00:00:00Z"},
		"a number where a time must be":  {`{"bed":"b","size":"small","until":5}`, "`until` must be text"},
		"everything":                     {`{"bed":"b","size":"large","name":"Kale","rows":[{"plant":"peas","count":3,"note":"x"}],"tags":["a"],"depth":1.5,"fallow":true,"meta":{"a":[1]},"rev":3,"reason":"so","dry_run":true,"command_id":"c","confirm_token":"t"}`, ""},
		"null is left out":               {`{"bed":"b","size":"small","name":null,"rows":null,"tags":null,"meta":null,"rev":null,"reason":null,"dry_run":null}`, ""},
		"null where a value must be":     {`{"bed":"b","size":null}`, "`size` is missing"},
		"null in an object of a list":    {`{"bed":"b","size":"small","rows":[{"plant":"peas","note":null}]}`, ""},
		"null where one must be, deeper": {`{"bed":"b","size":"small","rows":[{"plant":null}]}`, "`rows[0].plant` is missing"},
		"null in a list":                 {`{"bed":"b","size":"small","tags":["a",null]}`, "`tags[1]` must be text"},
		"nothing at all":                 {``, "`bed` is missing; `size` is missing"},
		"all faults at once":             {`{"size":"huge","name":7,"rows":[{"count":"3"},4],"fallow":"yes","depth":"x","meta":[],"rev":1.5,"colour":"red"}`, "there is no argument `colour`; it takes bed, depth, fallow, meta, name, rev, rows, size, tags, until; `depth` must be a number; `fallow` must be true or false; `meta` must be an object; `name` must be text; `rev` must be a whole number; `rows[0].count` must be a whole number; `rows[0].plant` is missing; `rows[1]` must be an object; `size` must be one of small, large; `bed` is missing."},
		"at its limit, in bytes":         {`{"bed":"b","size":"small","name":"éééé"}`, ""},
		"over its limit, in bytes":       {`{"bed":"b","size":"small","name":"ééééx"}`, "`name` is 9 bytes long; at most 8 are kept"},
		"an escape is one character":     {`{"bed":"b","size":"small","name":"\u0061\u0061\u0061"}`, ""},
		"over its limit, deeper":         {`{"bed":"b","size":"small","rows":[{"plant":"12345678901"}]}`, "`rows[0].plant` is 11 bytes long"},
		"a list over its limit":          {`{"bed":"b","size":"small","tags":["aaaaaaaaaa","bbbbbbbbbb"]}`, "`tags` is 27 bytes long; at most 20 are kept"},
		"an object over its limit":       {`{"bed":"b","size":"small","meta":{"a":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"}}`, "`meta` is"},
		"over the usual limit":           {`{"bed":"` + strings.Repeat("x", 4097) + `","size":"small"}`, "`bed` is 4097 bytes long; at most 4096 are kept"},
		"over the limit of a list's":     {`{"bed":"b","size":"small","reason":"` + strings.Repeat("x", 501) + `"}`, "`reason` is 501 characters long"},
		"unknown, deeper":                {`{"bed":"b","size":"small","rows":[{"plant":"peas","colour":"green"}]}`, "there is no argument `rows[0].colour`; it takes count, note, plant"},
		"in another case, deeper":        {`{"bed":"b","size":"small","rows":[{"Plant":"peas"}]}`, "there is no argument `rows[0].Plant` (did you mean `plant`?)"},
		"nearly a common one":            {`{"bed":"b","size":"small","dryRun":true}`, "did you mean `dry_run`?"},
		"a whole number as a fraction":   {`{"bed":"b","size":"small","rev":1.0}`, "`rev` must be a whole number"},
		"a field that is nobody's":       {`{"bed":"b","size":"small","Secret":"x"}`, "no argument `Secret`"},
		"a name that is long":            {`{"bed":"b","size":"small","` + strings.Repeat("x", 500) + `":1}`, "xxx…`"},
		"a list":                         {`["bed"]`, "must be an object of named values"},
		"null":                           {`null`, "`bed` is missing"},
		"a text":                         {`"bed"`, "must be an object of named values"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := plant.Parse([]byte(tt.args))
			if tt.says == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			no, ok := err.(*domain.Refusal)
			if !ok || no.Code != "invalid" || !strings.Contains(no.Reason, tt.says) {
				t.Errorf("got  %v\nwant invalid: …%s…", err, tt.says)
			}
		})
	}
}

func TestAFloodOfFaultsIsCut(t *testing.T) {
	_, err := plant.Parse([]byte(`{"bed":"b","size":"small","tags":[` + strings.Repeat(`1,`, 5) + `1],"rows":[` + strings.Repeat(`1,`, 50_000) + `1]}`))
	if err == nil || len(err.Error()) > 600 || !strings.Contains(err.Error(), "and 49995 more") {
		t.Errorf("says %.800v", err)
	}
}

func TestParseGivesWhatWasSaid(t *testing.T) {
	cmd, err := plant.Parse([]byte(` {"size":"small","reason":"spring","command_id":"c1", "bed":"bed_1","tags":[],"rev":4,"name":null,"meta":{"b":1.50,"a":[1]}}`))
	if err != nil {
		t.Fatal(err)
	}
	args := cmd.Args.(plantArgs)
	if args.Bed != "bed_1" || args.Size != "small" || args.Tags == nil || len(*args.Tags) != 0 || args.Name != nil {
		t.Errorf("arguments %+v", args)
	}
	if v, ok := args.Against(); !ok || v != 4 {
		t.Errorf("against %d %v", v, ok)
	}
	if diff := cmp.Diff(action.Common{Reason: "spring", CommandID: "c1"}, cmd.Common); diff != "" {
		t.Errorf("common (-want +got):\n%s", diff)
	}
	if want := `{"bed":"bed_1","meta":{"a":[1],"b":1.50},"rev":4,"size":"small","tags":[]}`; string(cmd.Raw) != want {
		t.Errorf("filed as %s, want %s", cmd.Raw, want)
	}
	if plant.Target(cmd.Args) != "bed_1" {
		t.Errorf("the target is %q", plant.Target(cmd.Args))
	}
}

// Asking again under a command id must ask for the same, whatever the order of
// names, the spaces, nulls and what is said beside it.
func TestDigest(t *testing.T) {
	digest := func(text string) string {
		t.Helper()
		cmd, err := plant.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return cmd.Digest
	}
	first := digest(`{"bed":"b","size":"small","command_id":"1"}`)
	for _, same := range []string{`{"size":"small","bed":"b"}`, `{ "bed" : "\u0062", "size":"small" }`, `{"bed":"b","size":"small","name":null,"reason":"again"}`} {
		if digest(same) != first {
			t.Errorf("%s asks for something else", same)
		}
	}
	for _, other := range []string{`{"bed":"c","size":"small"}`, `{"bed":"b","size":"large"}`, `{"bed":"b","size":"small","tags":[]}`, `{"bed":"b","size":"small","rev":1}`} {
		if digest(other) == first {
			t.Errorf("%s asks for the same", other)
		}
	}
}

func TestWhatEveryWriteTakesIsTakenByWritesOnly(t *testing.T) {
	for _, name := range []string{`"reason":"x"`, `"dry_run":true`, `"command_id":"x"`, `"confirm_token":"x"`} {
		if _, err := look.Parse([]byte(`{"bed":"b",` + name + `}`)); err == nil {
			t.Errorf("a read takes %s", name)
		}
		if _, err := plant.Parse([]byte(`{"bed":"b","size":"small",` + name + `}`)); err != nil {
			t.Errorf("a write does not take %s: %v", name, err)
		}
	}
}

func TestSchema(t *testing.T) {
	var got any
	if err := json.Unmarshal(plant.Schema(), &got); err != nil {
		t.Fatal(err)
	}
	text := func(about string, limit float64) map[string]any {
		return map[string]any{"type": "string", "description": about, "maxLength": limit}
	}
	want := map[string]any{
		"type": "object", "additionalProperties": false, "required": []any{"bed", "size"},
		"properties": map[string]any{
			"bed":  text("the bed's id", 4096),
			"size": map[string]any{"type": "string", "description": "how large", "maxLength": 4096.0, "enum": []any{"small", "large"}},
			"name": text("what it is called", 8),
			"rows": map[string]any{"type": "array", "description": "what grows where", "items": map[string]any{
				"type": "object", "additionalProperties": false, "required": []any{"plant"},
				"properties": map[string]any{
					"plant": text("what grows", 10),
					"count": map[string]any{"type": "integer", "description": "how many"},
					"note":  text("a word about it", 4096),
				},
			}},
			"tags":          map[string]any{"type": "array", "description": "topics", "items": map[string]any{"type": "string", "maxLength": 4096.0}},
			"depth":         map[string]any{"type": "number", "description": "in centimetres"},
			"until":         map[string]any{"type": "string", "format": "date-time", "description": "when it rests no more", "maxLength": 64.0},
			"fallow":        map[string]any{"type": "boolean", "description": "it rests"},
			"meta":          map[string]any{"type": "object", "description": "anything else", "additionalProperties": true},
			"rev":           map[string]any{"type": "integer", "description": "the rev you read; refused as stale when it has moved on"},
			"reason":        text("why, in a sentence; kept with the change", 500),
			"dry_run":       map[string]any{"type": "boolean", "description": "show what would happen and change nothing"},
			"command_id":    text("your own id for this request; asking again with it gives the first answer", 200),
			"confirm_token": text("only where the agent's owner allowed confirming", 2000),
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("schema (-want +got):\n%s", diff)
	}
}

// FuzzParse: nothing that comes in panics, and what is accepted is accepted
// again as it was filed.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"bed":"b","size":"small"}`, `{"bed":"b","size":"small","rows":[{"plant":"peas"}],"meta":{"a":{"b":[1.5e3]}}}`,
		`{"bed":null}`, `[]`, ``, `{"bed":"b","size":"small","rev":9007199254740991,"tags":[null]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		cmd, err := plant.Parse(text)
		if err != nil {
			if _, meant := err.(*domain.Refusal); !meant {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		again, err := plant.Parse(cmd.Raw)
		if err != nil || again.Digest != cmd.Digest || cmp.Diff(again.Args, cmd.Args, cmp.AllowUnexported(plantArgs{})) != "" {
			t.Fatalf("%q is filed as %s, which asks for something else (%v)", text, cmd.Raw, err)
		}
	})
}

var unknown = vocab.Unknown{Word: "bed.dug", Revision: 2}
