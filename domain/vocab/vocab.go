// Package vocab names events in the log. The names are literal strings in a
// list beside the events they name, never the Go types' names: a type can be
// renamed, a word never.
package vocab

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"assent/domain"
)

// Word is one event's name in the log, with the ways from its old spellings to
// the present one.
type Word struct {
	Name     string
	Revision int // of the present spelling, from 1: one more than there are upcasts

	event   reflect.Type
	upcasts []Upcast
	decode  func(json.RawMessage) (any, error)
}

// Upcast rewrites the fields of one revision as the next one spells them.
type Upcast func(old map[string]any)

// Say gives the event type E a name. Each upcast raises the revision by one,
// so the list is the history of the spelling: append to it, never edit it.
func Say[E any](name string, upcasts ...Upcast) Word {
	return Word{
		Name:     name,
		Revision: 1 + len(upcasts),
		event:    reflect.TypeFor[E](),
		upcasts:  upcasts,
		decode: func(data json.RawMessage) (any, error) {
			var e E
			err := json.Unmarshal(data, &e)
			return e, err
		},
	}
}

// Unknown is an event this program cannot read: a word it does not know or a
// revision newer than its own. Readers show it; decisions refuse over it.
type Unknown struct {
	Word     string
	Revision int
}

// Vocabulary is every word of a program.
type Vocabulary struct {
	named map[string]Word
	typed map[reflect.Type]Word
}

// Join makes one vocabulary of the kinds' lists. It fails when a name or a
// type is said twice, or a name is not of the form `kind.happened`.
func Join(lists ...[]Word) (*Vocabulary, error) {
	v := &Vocabulary{named: map[string]Word{}, typed: map[reflect.Type]Word{}}
	for _, list := range lists {
		for _, w := range list {
			kind, what, ok := strings.Cut(w.Name, ".")
			if !ok || kind == "" || what == "" {
				return nil, fmt.Errorf("word %q is not of the form kind.happened", w.Name)
			}
			if _, twice := v.named[w.Name]; twice {
				return nil, fmt.Errorf("word %q is said twice", w.Name)
			}
			if other, twice := v.typed[w.event]; twice {
				return nil, fmt.Errorf("%s is called both %q and %q", w.event, other.Name, w.Name)
			}
			v.named[w.Name], v.typed[w.event] = w, w
		}
	}
	return v, nil
}

// Words are all words, in no particular order.
func (v *Vocabulary) Words() []Word {
	words := make([]Word, 0, len(v.named))
	for _, w := range v.named {
		words = append(words, w)
	}
	return words
}

// Spell writes an event as the log keeps it.
func (v *Vocabulary) Spell(event any) (word string, revision int, data json.RawMessage, err error) {
	w, ok := v.typed[reflect.TypeOf(event)]
	if !ok {
		return "", 0, nil, fmt.Errorf("%T has no word", event)
	}
	data, err = Text(event)
	if err != nil {
		return "", 0, nil, fmt.Errorf("spell %s: %w", w.Name, err)
	}
	return w.Name, w.Revision, data, nil
}

// Text is JSON as the log keeps it: what is only dangerous inside HTML is not
// spelt out, so that a text of markup is not six times as long.
func Text(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Read gives a record its event back, upcast to the present spelling. What it
// does not know becomes Unknown; only data that breaks its own word's rules is
// an error.
func (v *Vocabulary) Read(r domain.Record) (domain.Recorded, error) {
	w, ok := v.named[r.Word]
	if !ok || r.Revision > w.Revision {
		return domain.Recorded{Record: r, Event: Unknown{r.Word, r.Revision}}, nil
	}
	if r.Revision < 1 {
		return domain.Recorded{}, fmt.Errorf("read %s at position %d: there is no revision %d", r.Word, r.Position, r.Revision)
	}
	data := r.Data
	if r.Revision < w.Revision {
		var err error
		if data, err = upcast(data, w.upcasts[r.Revision-1:]); err != nil {
			return domain.Recorded{}, fmt.Errorf("upcast %s %d at position %d: %w", r.Word, r.Revision, r.Position, err)
		}
	}
	event, err := w.decode(data)
	if err != nil {
		return domain.Recorded{}, fmt.Errorf("read %s at position %d: %w", r.Word, r.Position, err)
	}
	return domain.Recorded{Record: r, Event: event}, nil
}

func upcast(data json.RawMessage, steps []Upcast) (json.RawMessage, error) {
	fields := map[string]any{}
	dec := json.NewDecoder(strings.NewReader(string(data)))
	dec.UseNumber() // a number must come out as it went in
	if err := dec.Decode(&fields); err != nil {
		return nil, err
	}
	if fields == nil {
		return nil, errors.New("the data is null")
	}
	for _, step := range steps {
		step(fields)
	}
	return json.Marshal(fields)
}
