package card

import (
	"fmt"
	"html/template"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Hidden says that a character cannot be seen, or changes how others are seen:
// control characters, those that turn the reading direction, spaces without
// width, fillers that look like nothing, selectors that can carry a secret.
func Hidden(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case unicode.IsControl(r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Co, r), r == utf8.RuneError:
		return true
	case r == '\u2028', r == '\u2029', r == '\u00a0', r == '\u2800', r == '\u3164', r == '\uffa0', r == '\u115f', r == '\u1160', r == '\u034f':
		return true
	case r >= '\ufe00' && r <= '\ufe0e', r >= 0xe0100 && r <= 0xe01ef:
		return true
	}
	return false
}

// maxMarks is how many marks in a row sit on one letter before the rest is
// counted instead: piled up they cover the lines around.
const maxMarks = 3

// HTML is foreign text as part of a page: escaped, at most so many bytes of it
// (0: all), and with what hides in it named. Where it stands among text of
// ours, put it in a bdi element.
func HTML(most int, text string) template.HTML {
	var b strings.Builder
	each(most, text, func(plain string) {
		template.HTMLEscape(&b, []byte(plain))
	}, func(hidden string) {
		fmt.Fprintf(&b, `<span class="hidden">%s</span>`, hidden)
	})
	return template.HTML(b.String()) //nolint:gosec // escaped above, piece by piece
}

// Plain is HTML for places that take no markup, such as a title.
func Plain(most int, text string) string {
	var b strings.Builder
	each(most, text, func(plain string) { b.WriteString(plain) }, func(hidden string) { b.WriteString("[" + hidden + "]") })
	return b.String()
}

// each hands over text in pieces: plain ones, and names of hidden characters.
func each(most int, text string, plain, hidden func(string)) {
	cut := ""
	if most > 0 && len(text) > most {
		for most > 0 && !utf8.RuneStart(text[most]) {
			most--
		}
		text, cut = text[:most], fmt.Sprintf("… %d more bytes", len(text)-most)
	}
	start, marks := 0, 0
	for i, r := range text {
		if unicode.Is(unicode.Mn, r) {
			marks++
		} else {
			marks = 0
		}
		if !Hidden(r) && marks <= maxMarks {
			continue
		}
		size := utf8.RuneLen(r)
		if r == utf8.RuneError {
			_, size = utf8.DecodeRuneInString(text[i:])
		}
		plain(text[start:i])
		hidden(fmt.Sprintf("U+%04X", r))
		start = i + size
	}
	plain(text[start:])
	if cut != "" {
		hidden(cut)
	}
}
