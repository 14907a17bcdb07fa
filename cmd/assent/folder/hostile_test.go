package folder

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
	"time"
	"unicode/utf8"
)

func TestHostileFrontMatterIsRefusedQuickly(t *testing.T) {
	bomb := "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n"
	for i := 1; i < 12; i++ {
		p, n := string(rune('a'+i-1)), string(rune('a'+i))
		if i == 1 {
			p = "a0"
		}
		bomb += n + ": &" + n + " [" + strings.Repeat("*"+p+", ", 9) + "]\n"
	}
	merges := "a: &a {x: " + strings.Repeat("y", 1000) + "}\n"
	for i := range 100 {
		merges += "m" + strings.Repeat("m", i) + ": {<<: *a}\n"
	}
	const size = maxFrontMatter - 100
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	half := func(s string) string { return strings.Repeat(s, size/2) }
	for name, text := range map[string]string{
		"an alias bomb":          "---\n" + bomb + "---\nx",
		"many merges":            "---\n" + merges + "---\nx",
		"an alias in itself":     "---\na: &a [*a]\n---\nx",
		"deep flow lists":        "---\na: " + fill("[") + "\n---\nx",
		"deep closed lists":      "---\na: " + half("[") + half("]") + "\n---\nx",
		"deep flow maps":         "---\na: " + fill("{a: ") + "\n---\nx",
		"deep block lists":       "---\n" + fill("- ") + "\n---\nx",
		"deep mixed lists":       "---\n" + fill("- [") + "\n---\nx",
		"deep keys":              "---\n" + fill("? ") + "\n---\nx",
		"many anchors":           "---\na: " + fill("&a ") + "\n---\nx",
		"many tags":              "---\na: " + fill("!a ") + "\n---\nx",
		"deep TOML arrays":       "+++\na = " + fill("[") + "\n+++\nx",
		"deep TOML tables":       "+++\na = " + fill("{a=") + "\n+++\nx",
		"deep TOML keys":         "+++\n" + fill("a.") + "a = 1\n+++\nx",
		"deep TOML array lines":  "+++\na = " + fill("[\n") + "\n+++\nx",
		"deep JSON arrays":       `{"a": ` + half("[") + half("]") + "}\nx",
		"deep JSON objects":      "---json\n" + fill(`{"a":`) + "\n---\nx",
		"a zero byte as escape":  "---\na: \"\\0\"\n---\nx",
		"half a surrogate":       "---\na: \"\\ud800\"\n---\nx",
		"an unclosed quote":      "---\na: \"" + fill("x") + "\n---\nx",
		"a block of many colons": "---\n" + fill("a: ") + "\n---\nx",
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			_, _, refused := parse(text)
			if refused == nil || refused.code != CodeFrontMatter && refused.code != CodeTooLarge {
				t.Errorf("want it refused, got %v", refused)
			}
			// Unguarded, the libraries take tens of seconds for some of these.
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestAHostileBodyIsReadQuickly(t *testing.T) {
	for name, unit := range map[string]string{
		"open heading tags": "<h1\n", "open headings": "<h1>\n", "brackets": "[", "fences": "```\n~~~\n", "blank lines": " \n",
	} {
		t.Run(name, func(t *testing.T) {
			fsys := fstest.MapFS{"a.md": {Data: []byte("x\n" + strings.Repeat(unit, 100<<10/len(unit)))}}
			start := time.Now()
			tree, err := Read(fsys)
			if err != nil || len(tree.Pages) != 1 || tree.Pages[0].Title != "A" {
				t.Errorf("want one page called A, got %v, %+v", err, tree.Skipped)
			}
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

// FuzzParse: whatever a file holds, parsing ends in fields that JSON can hold
// and a body that is the end of the file, or in a refusal that names a line;
// and it ends the same way twice.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"", "text", "---\n---\n", "---\ntitle: T\ntags: [a, b]\n---\nbody", "+++\na = 2024-01-02\n[b]\nc = nan\n+++\nbody",
		"{\"a\": [1, 2.50, null], \"b\": {\"c\": \"d\"}}\nbody", "---json\n{\"a\": 1}\n---\nbody", "---\na: &x {b: 1}\nc: {<<: *x}\n---\n",
		"---\n? [a]\n: b\n---\n", "---\na: |\n  b\n---\n", "---\n- - - a\n---\n", "---\na: !!str 1\n---\n", "---\n<<: [*a]\n---\n", "{{ x }}",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) || strings.Contains(text, "\x00") {
			t.Skip("such a file is refused before it is parsed")
		}
		got, body, refused := parse(text)
		if again, _, _ := parse(text); !reflect.DeepEqual(got, again) {
			t.Fatalf("first %v, then %v", got, again)
		}
		if refused != nil {
			if refused.code != CodeTooLarge && (refused.code != CodeFrontMatter || !strings.Contains(refused.reason, "line ")) {
				t.Fatalf("refused without a line: %+v", refused)
			}
			return
		}
		if got == nil || !strings.HasSuffix(text, body) {
			t.Fatalf("fields %v, body %q", got, body)
		}
		if out, err := json.Marshal(got); err != nil || len(out) > 8*maxWeight {
			t.Fatalf("%d bytes of JSON, %v", len(out), err)
		}
		if d, refused := makeDraft("posts/2024-01-02-a.md", ".", "", got, body); refused == nil && (d.title == "" || d.date == "") {
			t.Fatalf("an article without title or date: %+v", d)
		}
	})
}
