package card

import (
	"html/template"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assent/domain"
)

func TestTheWordsThatDifferAreMarkedOnBothSides(t *testing.T) {
	f := Fields([]domain.Line{{Field: "title", Before: "We open on 1 April", After: "We open on 28 March"}})[0]
	want := Field{
		Name:   "title",
		Before: []Span{{"We open on ", false}, {"1 April", true}},
		After:  []Span{{"We open on ", false}, {"28 March", true}},
	}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Error(diff)
	}
}

func TestTextsWithLittleInCommonAreShownWholeAndUnmarked(t *testing.T) {
	f := Fields([]domain.Line{{Field: "title", Before: "Opening", After: "A wholly other thing"}})[0]
	if len(f.Before) != 1 || f.Before[0].Mark || len(f.After) != 1 || f.After[0].Mark {
		t.Errorf("%+v", f)
	}
}

func TestLongTextsAreComparedLineByLineAndTheSameIsLeftOut(t *testing.T) {
	same := strings.Repeat("a line that stays\n", 10)
	f := Fields([]domain.Line{{Field: "body", Before: same + "old end\n", After: same + "new end\nand more\n"}})[0]
	var signs string
	for _, l := range f.Lines {
		signs += l.Sign + " "
	}
	if signs != "⋯   − + + " || f.Lines[0].Skipped != 8 {
		t.Errorf("%q, %+v", signs, f.Lines[0])
	}
}

func TestEveryLineOfBothSidesIsShownOrCounted(t *testing.T) {
	before, after := "a\nb\nc\nd\ne\nf\ng\nh", "a\nB\nc\nd\ne\nf\nh\ni"
	was, is := 0, 0
	for _, l := range lines(before, after) {
		switch l.Sign {
		case "−":
			was++
		case "+":
			is++
		case "⋯":
			was, is = was+l.Skipped, is+l.Skipped
		default:
			was, is = was+1, is+1
		}
	}
	if was != 8 || is != 8 {
		t.Errorf("%d and %d lines of 8 and 8", was, is)
	}
}

func TestAHugeComparisonIsBoundedInTime(t *testing.T) {
	var a, b strings.Builder
	for i := range 20_000 {
		a.WriteString(strings.Repeat("x", i%7) + "\n")
		b.WriteString(strings.Repeat("y", i%5) + "\n")
	}
	start := time.Now()
	f := Fields([]domain.Line{{Field: "body", Before: a.String(), After: b.String()}})[0]
	if took := time.Since(start); took > 5*time.Second || !f.Clipped || len(f.Lines) != maxLines {
		t.Errorf("%v, %d lines, clipped %v", took, len(f.Lines), f.Clipped)
	}
}

func TestValuesThatAreNotTextReadAsPeopleWouldSayThem(t *testing.T) {
	for want, v := range map[string]any{
		"spring, news": []any{"spring", "news"}, "a, b": []string{"a", "b"}, "yes": true, "no": false, "7": 7.0, "": nil,
		`[{"label":"Home"}]`: []any{map[string]any{"label": "Home"}}, `{"a":1}`: map[string]any{"a": 1},
	} {
		if got := Text(v); got != want {
			t.Errorf("%v reads %q, want %q", v, got, want)
		}
	}
}

func TestWhatHidesInTextIsNamed(t *testing.T) {
	for text, want := range map[string]template.HTML{
		"a\u202eb":                  `a<span class="hidden">U+202E</span>b`,
		"a\u200bb":                  `a<span class="hidden">U+200B</span>b`,
		"a\x00b":                    `a<span class="hidden">U+0000</span>b`,
		"a\xffb":                    `a<span class="hidden">U+FFFD</span>b`,
		"\u3164":                    `<span class="hidden">U+3164</span>`,
		"x\U000e0041y":              `x<span class="hidden">U+E0041</span>y`,
		"<b>&\"'":                   `&lt;b&gt;&amp;&#34;&#39;`,
		"two\nlines\t.":             "two\nlines\t.",
		"Ünï ❤\ufe0f 日本":            "Ünï ❤\ufe0f 日本",
		"z\u0300\u0301\u0302\u0303": "z\u0300\u0301\u0302" + `<span class="hidden">U+0303</span>`,
	} {
		if got := HTML(0, text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	if got := HTML(4, "日本"); got != `日<span class="hidden">… 3 more bytes</span>` {
		t.Errorf("clipped: %s", got)
	}
	if got := Plain(0, "a\u202eb<"); got != "a[U+202E]b<" {
		t.Errorf("plain: %s", got)
	}
}

func FuzzNoTextBecomesMarkup(f *testing.F) {
	for _, s := range []string{"<script>", "\u202e", "a<b", "\xff<", "&lt;"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := strings.ReplaceAll(string(HTML(50, s)), `<span class="hidden">`, "")
		if rest := strings.ReplaceAll(got, "</span>", ""); strings.ContainsAny(rest, `<>"'`) {
			t.Errorf("%q becomes %q", s, got)
		}
	})
}
