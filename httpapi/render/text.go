package render

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// visible returns s with every character that could hide or reorder the text
// around it replaced by its name, such as ⟨U+202E⟩, so that what a person
// approves is what they see.
func visible(s string) string {
	return mark(s, func(r rune) bool { return unsafeInBody(r) || hidden(r) })
}

// visibleBody is visible for running text, where line breaks and tabs belong
// and where pasted zero-width spaces are common and harmless.
func visibleBody(s string) string { return mark(s, unsafeInBody) }

func mark(s string, bad func(rune) bool) string {
	if strings.IndexFunc(s, bad) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if bad(r) {
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// unsafeInBody is true for control characters and for those that override the
// direction of what follows.
func unsafeInBody(r rune) bool {
	switch {
	case r == '\n' || r == '\t' || r == '\r':
		return false
	case unicode.IsControl(r), r == utf8.RuneError:
		return true
	default:
		return r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069
	}
}

// hidden is true for characters that take no room. The joiners and the plain
// direction marks are left alone: Persian, Hebrew and emoji need them.
func hidden(r rune) bool {
	switch r {
	case 0x00AD, 0x061C, 0x180E, 0x200B, 0x2028, 0x2029, 0x2060, 0xFEFF:
		return true
	}
	return r >= 0xE0000 && r <= 0xE007F // tags, which can carry a whole hidden text
}

// clip shortens s to at most n characters, at a space where there is one.
func clip(n int, s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	cut := string([]rune(s)[:n])
	if i := strings.LastIndexByte(cut, ' '); i > len(cut)/2 {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, " ,;:.") + "…"
}

func orUntitled(title string) string {
	return cmp.Or(strings.TrimSpace(title), "Untitled")
}

// titleCase makes a heading of a collection's name: "field-notes" is shown as
// "Field notes".
func titleCase(collection string) string {
	words := strings.Join(strings.FieldsFunc(collection, func(r rune) bool {
		return r == '-' || r == '_' || r == ' '
	}), " ")
	r, size := utf8.DecodeRuneInString(words)
	if size == 0 {
		return "Articles"
	}
	return string(unicode.ToUpper(r)) + words[size:]
}

var languageTag = regexp.MustCompile(`^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,4}$`)

// lang gives the language tag for a locale, English when it is not one.
func lang(locale string) string {
	locale = strings.ReplaceAll(strings.TrimSpace(locale), "_", "-")
	if !languageTag.MatchString(locale) {
		return "en"
	}
	return locale
}

// language is the first part of a tag, in lower case.
func language(locale string) string {
	first, _, _ := strings.Cut(lang(locale), "-")
	return strings.ToLower(first)
}

func direction(locale string) string {
	switch language(locale) {
	case "ar", "ckb", "dv", "fa", "he", "ps", "sd", "ug", "ur", "yi":
		return "rtl"
	}
	return "ltr"
}

// stamp is a moment for people and for machines. Machine is empty when what
// was written is no date.
type stamp struct{ Text, Machine string }

const day = time.DateOnly

// parseDate reads RFC 3339, or the leading YYYY-MM-DD of anything else.
func parseDate(s string) (time.Time, bool) {
	s = strings.TrimSpace(s)
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, true
	}
	if len(s) >= len(day) {
		if t, err := time.Parse(day, s[:len(day)]); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// dayStamp shows a date by its day, in the calendar words of the locale, and
// in digits for a language it has no words for.
func dayStamp(date, locale string) *stamp {
	if strings.TrimSpace(date) == "" {
		return nil
	}
	t, ok := parseDate(date)
	if !ok {
		return &stamp{Text: clip(40, date)}
	}
	text := t.Format(day)
	m := int(t.Month()) - 1
	switch language(locale) {
	case "en":
		text = t.Format("2 January 2006")
		if strings.EqualFold(lang(locale), "en-US") {
			text = t.Format("January 2, 2006")
		}
	case "de":
		text = fmt.Sprintf("%d. %s %d", t.Day(), strings.Fields(german)[m], t.Year())
	case "es":
		text = fmt.Sprintf("%d de %s de %d", t.Day(), strings.Fields(spanish)[m], t.Year())
	case "fr":
		text = fmt.Sprintf("%d %s %d", t.Day(), strings.Fields(french)[m], t.Year())
	case "pt":
		text = fmt.Sprintf("%d de %s de %d", t.Day(), strings.Fields(portuguese)[m], t.Year())
	}
	return &stamp{Text: text, Machine: t.Format(day)}
}

const (
	german     = "Januar Februar März April Mai Juni Juli August September Oktober November Dezember"
	spanish    = "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"
	french     = "janvier février mars avril mai juin juillet août septembre octobre novembre décembre"
	portuguese = "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro"
)

// momentStamp shows a moment to the minute. It is in UTC because the page is
// made without knowing where its reader is.
func momentStamp(t time.Time) *stamp {
	t = t.UTC()
	return &stamp{Text: t.Format("2 January 2006, 15:04 UTC"), Machine: t.Format(time.RFC3339)}
}
