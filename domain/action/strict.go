package action

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"assent/domain"
)

// Limits of any JSON that comes in. Nesting is bounded so that no reader
// further in can be made to recurse; integers so that every language reads the
// same number.
const (
	maxDepth   = 64
	maxInteger = 1<<53 - 1
)

// Strict checks that a JSON text means the same to every reader: one value,
// valid UTF-8, no key twice (nor twice but for its case), no lone surrogate,
// no integer beyond ±(2^53−1), bounded depth. The error is a refusal with the
// code malformed that names the place.
//
// encoding/json alone would take the last of two equal keys, match keys
// whatever their case and mend broken text: what was shown to a person and
// what is done could then differ.
func Strict(data []byte) error {
	if !utf8.Valid(data) {
		return malformed("the text is not valid UTF-8")
	}
	if !json.Valid(data) {
		at := int64(len(data))
		if broken, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(data, new(any))); ok {
			at = broken.Offset
		}
		return malformed("it is not one complete value, as byte %d shows", at)
	}
	w := walker{data: data}
	return w.value()
}

func malformed(format string, args ...any) error {
	return domain.Refuse("malformed", "This could not be read: %s. Correct it and send it again.", fmt.Sprintf(format, args...))
}

// walker goes over a text that is known to be valid JSON.
type walker struct {
	data []byte
	at   int
	path []step // to the value it is in
}

// step is one key of an object or one place of a list.
type step struct {
	key   string
	index int
	list  bool
}

func (w *walker) value() error {
	if len(w.path) > maxDepth {
		return malformed("it is nested more than %d deep at %s", maxDepth, w.place())
	}
	switch w.space(); w.data[w.at] {
	case '{':
		return w.object()
	case '[':
		return w.array()
	case '"':
		_, _, err := w.pass()
		return err
	}
	return w.scalar()
}

func (w *walker) object() error {
	seen := map[string]string{}
	for w.at++; ; w.at++ { // past the brace, then past each comma
		if w.space(); w.data[w.at] == '}' {
			w.at++
			return nil
		}
		key, err := w.text()
		if err != nil {
			return err
		}
		folded := fold(key)
		if other, twice := seen[folded]; twice {
			return malformed("%s has both %q and %q", w.place(), clip(other), clip(key))
		}
		seen[folded] = key
		w.space()
		w.at++ // the colon
		if err := w.within(step{key: key}); err != nil {
			return err
		}
		if w.space(); w.data[w.at] == '}' {
			w.at++
			return nil
		}
	}
}

func (w *walker) array() error {
	w.at++
	for i := 0; ; i++ {
		if w.space(); w.data[w.at] == ']' {
			w.at++
			return nil
		}
		if err := w.within(step{index: i, list: true}); err != nil {
			return err
		}
		if w.space(); w.data[w.at] == ',' {
			w.at++
		}
	}
}

func (w *walker) within(s step) error {
	w.path = append(w.path, s)
	err := w.value()
	w.path = w.path[:len(w.path)-1]
	return err
}

// place is where the walker is, in words. It is only spelled out for an error:
// a long key over a long list must cost nothing.
func (w *walker) place() string {
	if len(w.path) == 0 {
		return "the top"
	}
	var b strings.Builder
	for _, s := range w.path {
		b.WriteByte('/')
		if s.list {
			b.WriteString(strconv.Itoa(s.index))
		} else {
			b.WriteString(clip(s.key))
		}
	}
	return b.String()
}

// fold spells a key as encoding/json compares it: not only its case, also the
// long s and the Kelvin sign are letters like any other there.
func fold(key string) string {
	if !strings.ContainsFunc(key, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return strings.ToUpper(key) // what follows comes to the same
	}
	return strings.Map(func(r rune) rune {
		for {
			next := unicode.SimpleFold(r)
			if next <= r {
				return next
			}
			r = next
		}
	}, key)
}

// text passes over a string and gives its value.
func (w *walker) text() (string, error) {
	raw, plain, err := w.pass()
	if err != nil {
		return "", err
	}
	if plain {
		return string(raw[1 : len(raw)-1]), nil
	}
	var s string
	err = json.Unmarshal(raw, &s)
	return s, err
}

// pass passes over a string, and says whether it is plain: without escapes.
func (w *walker) pass() (raw []byte, plain bool, err error) {
	start := w.at
	plain = true
	for w.at++; w.data[w.at] != '"'; w.at++ {
		if w.data[w.at] != '\\' {
			continue
		}
		plain = false
		w.at++
		if w.data[w.at] != 'u' {
			continue
		}
		unit := w.unit(w.at + 1)
		w.at += 4
		if !utf16.IsSurrogate(unit) {
			continue
		}
		paired := bytes.HasPrefix(w.data[w.at+1:], []byte(`\u`)) && utf16.DecodeRune(unit, w.unit(w.at+3)) != utf8.RuneError
		if !paired {
			return nil, false, malformed("%s holds half of a character (a lone surrogate)", w.place())
		}
		w.at += 6
	}
	w.at++
	return w.data[start:w.at], plain, nil
}

// unit is the four hex digits of an escape.
func (w *walker) unit(at int) rune {
	n, _ := strconv.ParseUint(string(w.data[at:at+4]), 16, 32)
	return rune(n)
}

func (w *walker) scalar() error {
	start := w.at
	for w.at < len(w.data) && strings.IndexByte(",]} \t\r\n", w.data[w.at]) < 0 {
		w.at++
	}
	word := string(w.data[start:w.at])
	if word[0] != '-' && (word[0] < '0' || word[0] > '9') {
		return nil // true, false, null
	}
	if strings.ContainsAny(word, ".eE") {
		if _, err := strconv.ParseFloat(word, 64); err != nil {
			return malformed("%s is a number that cannot be kept", w.place())
		}
		return nil
	}
	if n, err := strconv.ParseInt(word, 10, 64); err != nil || n > maxInteger || n < -maxInteger {
		return malformed("%s is beyond what every program can count (±9007199254740991)", w.place())
	}
	return nil
}

func (w *walker) space() {
	for w.at < len(w.data) && (w.data[w.at] == ' ' || w.data[w.at] == '\t' || w.data[w.at] == '\n' || w.data[w.at] == '\r') {
		w.at++
	}
}
