package action

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
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
		var v any
		err := json.Unmarshal(data, &v)
		return malformed("it is not one JSON value: %v", err)
	}
	w := walker{data: data}
	return w.value("", 0)
}

func malformed(format string, args ...any) error {
	return domain.Refuse("malformed", "This could not be read: %s. Correct it and send it again.", fmt.Sprintf(format, args...))
}

// walker goes over a text that is known to be valid JSON.
type walker struct {
	data []byte
	at   int
}

func (w *walker) value(place string, depth int) error {
	if depth > maxDepth {
		return malformed("it is nested more than %d deep at %s", maxDepth, orRoot(place))
	}
	switch w.space(); w.data[w.at] {
	case '{':
		return w.object(place, depth)
	case '[':
		return w.array(place, depth)
	case '"':
		_, err := w.text(place)
		return err
	}
	return w.scalar(place)
}

func (w *walker) object(place string, depth int) error {
	seen := map[string]string{}
	for w.at++; ; w.at++ {
		if w.space(); w.data[w.at] == '}' {
			w.at++
			return nil
		}
		key, err := w.text(place)
		if err != nil {
			return err
		}
		folded := strings.ToLower(key)
		if other, twice := seen[folded]; twice {
			return malformed("%s has both %q and %q", orRoot(place), other, key)
		}
		seen[folded] = key
		w.space()
		w.at++ // the colon
		if err := w.value(place+"/"+key, depth+1); err != nil {
			return err
		}
		if w.space(); w.data[w.at] == '}' {
			w.at++
			return nil
		}
	}
}

func (w *walker) array(place string, depth int) error {
	w.at++
	for i := 0; ; i++ {
		if w.space(); w.data[w.at] == ']' {
			w.at++
			return nil
		}
		if err := w.value(place+"/"+strconv.Itoa(i), depth+1); err != nil {
			return err
		}
		if w.space(); w.data[w.at] == ',' {
			w.at++
		}
	}
}

// text passes over a string and gives its value.
func (w *walker) text(place string) (string, error) {
	start := w.at
	for w.at++; w.data[w.at] != '"'; w.at++ {
		if w.data[w.at] != '\\' {
			continue
		}
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
			return "", malformed("%s holds half of a character (a lone surrogate)", orRoot(place))
		}
		w.at += 6
	}
	w.at++
	var s string
	err := json.Unmarshal(w.data[start:w.at], &s)
	return s, err
}

func (w *walker) unit(at int) rune {
	n, _ := strconv.ParseUint(string(w.data[at:at+4]), 16, 32)
	return rune(n)
}

func (w *walker) scalar(place string) error {
	start := w.at
	for w.at < len(w.data) && !bytes.ContainsRune([]byte(",]} \t\r\n"), rune(w.data[w.at])) {
		w.at++
	}
	word := string(w.data[start:w.at])
	if word[0] != '-' && (word[0] < '0' || word[0] > '9') {
		return nil // true, false, null
	}
	if strings.ContainsAny(word, ".eE") {
		if f, err := strconv.ParseFloat(word, 64); err != nil || f != f {
			return malformed("%s is a number that cannot be kept exactly", orRoot(place))
		}
		return nil
	}
	if n, err := strconv.ParseInt(word, 10, 64); err != nil || n > maxInteger || n < -maxInteger {
		return malformed("%s is beyond what every program can count (±9007199254740991)", orRoot(place))
	}
	return nil
}

func (w *walker) space() {
	for w.at < len(w.data) && (w.data[w.at] == ' ' || w.data[w.at] == '\t' || w.data[w.at] == '\n' || w.data[w.at] == '\r') {
		w.at++
	}
}

func orRoot(place string) string {
	if place == "" {
		return "the top"
	}
	return place
}
