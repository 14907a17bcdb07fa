package render

import (
	"bytes"
	"regexp"
	"testing"
)

func TestEveryAccentIsLegibleInLightAndDark(t *testing.T) {
	css := regexp.MustCompile(`:root\{--accent:(#[0-9a-f]{6})\}\n@media \(prefers-color-scheme:dark\)\{:root\{--accent:(#[0-9a-f]{6})\}\}`)
	for _, accent := range []string{"#ffff00", "#000000", "#ffffff", "#808080", "#0b6e4f", "#ff0000", "#0000FF", "", "red;}*{display:none"} {
		m := css.FindSubmatch(Stylesheet(accent))
		if m == nil {
			t.Fatalf("%q: no accent in the stylesheet", accent)
		}
		for i, background := range []colour{lightSurface, darkSurface} {
			if got := contrast(parseColour(string(m[i+1])), background); got < legible {
				t.Errorf("%q: %s on %s has contrast %.2f", accent, m[i+1], background, got)
			}
		}
	}
	if !bytes.Contains(Stylesheet("#0b6e4f"), []byte("--accent:#0b6e4f}")) {
		t.Error("a legible accent must be used as it is")
	}
}

func TestAnythingButAColourIsNoAccent(t *testing.T) {
	for _, theme := range []map[string]any{nil, {"accent": 5}, {"accent": "red"}, {"accent": "#fff"}, {"accent": "#0b6e4f;"}, {"accent": "#0b6e4f\n"}} {
		if got := Accent(theme); got != "" {
			t.Errorf("%v: %q", theme, got)
		}
	}
	if got := Accent(map[string]any{"accent": "#0B6E4F"}); got != "#0b6e4f" {
		t.Errorf("got %q", got)
	}
	if !bytes.Equal(Stylesheet("red"), Stylesheet("")) {
		t.Error("what is no colour must change nothing")
	}
}

func TestTheStylesheetIsSmall(t *testing.T) {
	if n := len(Stylesheet("")); n > 8000 {
		t.Errorf("%d bytes", n)
	}
}

func TestDatesAreShownInTheWordsOfTheLocale(t *testing.T) {
	for _, c := range []struct{ date, locale, text, machine string }{
		{"2014-04-01T23:44:00-04:00", "en", "1 April 2014", "2014-04-01"},
		{"2014-04-01", "en-US", "April 1, 2014", "2014-04-01"},
		{"2014-04-01 10:00", "de_AT", "1. April 2014", "2014-04-01"},
		{"2014-03-01", "fr", "1 mars 2014", "2014-03-01"},
		{"2014-03-01", "pt-BR", "1 de março de 2014", "2014-03-01"},
		{"2014-03-01", "es", "1 de marzo de 2014", "2014-03-01"},
		{"2014-03-01", "ja", "2014-03-01", "2014-03-01"},
		{"2014-02-30", "en", "2014-02-30", ""},
		{"spring", "en", "spring", ""},
	} {
		got := dayStamp(c.date, c.locale)
		if got.Text != c.text || got.Machine != c.machine {
			t.Errorf("%s in %s: %+v", c.date, c.locale, *got)
		}
	}
	if dayStamp(" ", "en") != nil {
		t.Error("no date must show none")
	}
}
