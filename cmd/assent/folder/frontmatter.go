package folder

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	maxDepth  = 32       // of fields within fields
	maxWeight = 64 << 10 // bytes of text plus number of values, after YAML aliases are followed
)

// A fieldError is what is wrong with front matter; line counts from 1 in the
// front matter, 0 when it cannot be said.
type fieldError struct {
	line int
	text string
}

func (e *fieldError) Error() string { return e.text }

func badField(line int, format string, args ...any) *fieldError {
	return &fieldError{line: line, text: fmt.Sprintf(format, args...)}
}

// A decoder turns one notation of front matter into fields.
type decoder func(string) (fields, *fieldError)

// parse splits a file into its fields and its body. A file that opens no
// front matter is all body.
func parse(text string) (fields, string, *refusal) {
	if isJSONObject(text) {
		block, body, err := cutJSON(text)
		if err != nil {
			return nil, "", unreadable(err, 0)
		}
		return decode(decodeJSON, block, body, 0)
	}
	line, rest, _ := cutLine(text)
	var read decoder
	closing := []string{"---"}
	switch strings.ToLower(line) {
	case "---", "---yaml", "---yml":
		read, closing = decodeYAML, []string{"---", "..."}
	case "---json":
		read = decodeJSON
	case "---toml":
		read = decodeTOML
	case "---js", "---javascript":
		return nil, "", unreadable(badField(0, "it is a script, which is not run"), 1)
	case "+++":
		read, closing = decodeTOML, []string{"+++"}
	default:
		return fields{}, text, nil
	}
	block, body, closed := cutBlock(rest, closing)
	if !closed {
		return nil, "", unreadable(badField(0, "it is opened here and never closed"), 1)
	}
	return decode(read, block, body, 1)
}

// decode guards a decoder: its input is bounded, and whatever a library does
// with hostile text ends as a refusal of this one file.
func decode(read decoder, block, body string, linesBefore int) (f fields, rest string, refused *refusal) {
	defer func() {
		if recover() != nil {
			f, rest, refused = nil, "", unreadable(badField(0, "it cannot be parsed"), 1)
		}
	}()
	if len(block) > maxFrontMatter {
		return nil, "", refusef(CodeTooLarge, "the front matter is larger than %d KiB", maxFrontMatter>>10)
	}
	f, err := read(block)
	if err != nil {
		return nil, "", unreadable(err, linesBefore)
	}
	return f, body, nil
}

func unreadable(err *fieldError, linesBefore int) *refusal {
	line := max(1, err.line+linesBefore)
	return refusef(CodeFrontMatter, "front matter, line %d: %s", line, clip(oneLine(err.text)))
}

// cutLine splits off the first line, without what ends it.
func cutLine(s string) (line, rest string, more bool) {
	line, rest, more = strings.Cut(s, "\n")
	return strings.TrimRight(line, " \t\r"), rest, more
}

// cutBlock splits s around the first line that is one of closing.
func cutBlock(s string, closing []string) (block, body string, closed bool) {
	for at := 0; at < len(s); {
		line, rest, _ := cutLine(s[at:])
		for _, c := range closing {
			if line == c {
				return s[:at], rest, true
			}
		}
		at = len(s) - len(rest)
	}
	return "", "", false
}

// A weigher bounds how much and how deep front matter may be, whatever
// notation it is in, so that a few bytes of aliases cannot become gigabytes.
type weigher struct{ left int }

func newWeigher() *weigher { return &weigher{left: maxWeight} }

// add accounts for one value with its text, depth folders down.
func (w *weigher) add(text string, depth, line int) *fieldError {
	w.left -= 1 + len(text)
	switch {
	case depth > maxDepth:
		return badField(line, "fields are nested more than %d deep", maxDepth)
	case w.left < 0:
		return badField(line, "the fields come to more than %d KiB once aliases are followed", maxWeight>>10)
	case !utf8.ValidString(text) || strings.IndexByte(text, 0) >= 0:
		return badField(line, "a text decodes to invalid UTF-8 or holds a zero byte")
	}
	return nil
}
