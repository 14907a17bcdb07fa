// Package admit is what all logs agree on about an append: how it is spelt,
// what is too large, and what becomes of it. A log brings its own storage and
// its own transaction; the answers are the same everywhere.
package admit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"assent/commands"
	"assent/commands/eventlog/chain"
	"assent/domain"
)

// Faults of the caller, wrapped with the details. They are no refusals: no
// argument of a user leads here.
var (
	// ErrMalformed is an append that no log can take.
	ErrMalformed = errors.New("malformed append")
	// ErrReused is an append whose event ids are in the log with something
	// else, or only some of them.
	ErrReused = commands.ErrReused
)

// Append is an append in the bytes a log keeps.
type Append struct {
	Writes []Write
	Events int // in all writes
}

// Write is what an append does to one stream. Rows have their stream and
// version; Stamp gives them a position, a time and a hash.
type Write struct {
	Stream domain.Stream
	Name   string // of the stream
	Expect domain.Version
	Rows   []chain.Row
}

// Encode spells an append. What it returns shares no memory with writes. The
// error wraps ErrMalformed, or is the refusal limit.
func Encode(writes []commands.Write) (*Append, error) {
	a := &Append{Writes: make([]Write, len(writes))}
	names := make(map[string]bool, len(writes))
	ids := make(map[domain.ID]bool)
	total := 0
	for i, w := range writes {
		name, err := target(w)
		if err != nil {
			return nil, err
		}
		if names[name] {
			return nil, malformed("%s is named twice", name)
		}
		names[name] = true
		a.Writes[i] = Write{Stream: w.Stream, Name: name, Expect: w.Expect, Rows: make([]chain.Row, len(w.Events))}
		for j, e := range w.Events {
			if ids[e.ID] {
				return nil, malformed("the event id %q is there twice", e.ID)
			}
			ids[e.ID] = true
			row, err := spell(e)
			if err != nil {
				return nil, err
			}
			row.Stream, row.Version = w.Stream, w.Expect+domain.Version(j)+1
			a.Writes[i].Rows[j] = row
			total += size(row)
		}
		a.Events += len(w.Events)
	}
	if total > commands.MaxAppend {
		return nil, domain.Refuse("limit", "All of this together is %d bytes, more than the %d that can be written at once. Split it into several calls.", total, commands.MaxAppend)
	}
	return a, nil
}

// target is the name of the stream a write is for.
func target(w commands.Write) (string, error) {
	name := w.Stream.String()
	parsed, err := domain.ParseStream(name)
	switch {
	case err != nil || parsed != w.Stream || !utf8.ValidString(name):
		return "", malformed("%q is not the name of a stream", name)
	case w.Expect < 0:
		return "", malformed("%s cannot be at version %d", name, w.Expect)
	}
	return name, nil
}

func spell(e domain.Fresh) (chain.Row, error) {
	switch {
	case e.ID == "" || !utf8.ValidString(string(e.ID)):
		return chain.Row{}, malformed("%q is not an event id", e.ID)
	case e.Word == "" || !utf8.ValidString(e.Word):
		return chain.Row{}, malformed("the event %s has no word", e.ID)
	case e.Revision < 1:
		return chain.Row{}, malformed("the event %s has the revision %d", e.ID, e.Revision)
	case !utf8.Valid(e.Data) || !json.Valid(e.Data):
		return chain.Row{}, malformed("the data of the event %s is not JSON", e.ID)
	}
	text, err := json.Marshal(e.Envelope)
	if err != nil {
		return chain.Row{}, malformed("the envelope of the event %s cannot be written: %v", e.ID, err)
	}
	e.Envelope, e.Data = domain.Envelope{}, bytes.Clone(e.Data)
	row := chain.Row{Record: domain.Record{Fresh: e}, Text: text}
	if n := size(row); n > commands.MaxEvent {
		return chain.Row{}, domain.Refuse("limit", "One change of this (%s) is %d bytes, more than the %d that are kept of one. Make it smaller.", e.Word, n, commands.MaxEvent)
	}
	return row, nil
}

// size is what of a row counts against the limits.
func size(r chain.Row) int { return len(r.Text) + len(r.Data) }

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

// View is a log as the transaction sees it that is to take an append.
type View interface {
	// Version is where a stream is: 0 when nobody wrote to it.
	Version(stream string) (domain.Version, error)
	// Rows are at most limit events of a stream after a version.
	Rows(stream string, after domain.Version, limit int) ([]chain.Row, error)
}

// Answer is what an append comes to when it is not written.
type Answer struct {
	Receipt commands.Receipt // of when it was written before, whatever came since
	Err     error            // a *commands.Conflict, or wraps ErrReused
}

// Admit decides what becomes of an append. No answer: it is to be written, or
// has only checks and they hold. A conflict is about the first write whose
// stream is elsewhere. The error is the view's.
func (a *Append) Admit(v View) (*Answer, error) {
	for _, w := range a.Writes {
		actual, err := v.Version(w.Name)
		if err != nil {
			return nil, err
		}
		if actual == w.Expect {
			continue
		}
		before, err := a.before(v)
		if err != nil || before != nil {
			return before, err
		}
		return &Answer{Err: &commands.Conflict{Stream: w.Stream, Expected: w.Expect, Actual: actual}}, nil
	}
	return nil, nil
}

// before looks for the append where it would be, had it been written: in the
// places after the versions it expects. No answer: none of it is there.
func (a *Append) before(v View) (*Answer, error) {
	var last, other chain.Row
	found := 0
	for _, w := range a.Writes {
		if len(w.Rows) == 0 {
			continue
		}
		stored, err := v.Rows(w.Name, w.Expect, len(w.Rows))
		if err != nil {
			return nil, err
		}
		for i, r := range w.Rows[:min(len(w.Rows), len(stored))] {
			if stored[i].ID != r.ID {
				continue
			}
			found++
			if !same(stored[i], r) {
				other = r
			}
			if stored[i].Position > last.Position {
				last = stored[i]
			}
		}
	}
	switch {
	case found == 0:
		return nil, nil
	case found < a.Events:
		return &Answer{Err: fmt.Errorf("%w: %d of %d events are in the log", ErrReused, found, a.Events)}, nil
	case other.ID != "":
		return &Answer{Err: fmt.Errorf("%w: the event %s says something else in the log", ErrReused, other.ID)}, nil
	}
	return &Answer{Receipt: commands.Receipt{Position: last.Position, At: last.At}}, nil
}

func same(a, b chain.Row) bool {
	return a.Word == b.Word && a.Revision == b.Revision && bytes.Equal(a.Text, b.Text) && bytes.Equal(a.Data, b.Data)
}

// Stamp gives every row its position, time and hash after a head, and returns
// the head that follows. Log time is the clock's, but never runs backwards.
func (a *Append) Stamp(head commands.Head, now time.Time) commands.Head {
	if a.Events == 0 {
		return head
	}
	at := chain.Time(now.UnixNano())
	if head.Position > 0 && at.Before(head.At) {
		at = head.At
	}
	head.At = at
	for _, w := range a.Writes {
		for i := range w.Rows {
			r := &w.Rows[i]
			head.Position++
			r.Position, r.At = head.Position, at
			r.Link = chain.Link(head.Chain, r.Record, r.Text)
			head.Chain = r.Link
		}
	}
	return head
}
