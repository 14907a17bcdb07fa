package domain

import (
	"encoding/json"
	"time"
)

// Event is a fact about an S. It knows the state it leads to, and the fact
// that would take it back: nil when nothing does.
//
// Two laws hold for every event and are tested for every example in the
// catalogue: said twice is said once, and taken back leads back.
type Event[S, E any] interface {
	Evolve(S) S
	Reverse(before S) E
}

// Fold is the state a history adds up to. The zero S is the state before
// anything happened.
func Fold[S any, E Event[S, E]](s S, history ...E) S {
	for _, e := range history {
		s = e.Evolve(s)
	}
	return s
}

// Fresh is an event on its way into the log: what the road hands to Append.
// The log gives it a stream, a version, a position and a time.
type Fresh struct {
	ID       ID     // derived from the action, so appending it twice is appending it once
	Word     string // its name in the log
	Revision int    // which spelling of that word
	Envelope Envelope
	Data     json.RawMessage // exact text; the chain covers these bytes
}

// Record is an event as the log keeps it.
type Record struct {
	Fresh
	Stream   Stream
	Version  Version
	Position Position
	At       time.Time // log time: never earlier than the event before it
}

// Recorded is a record with its event read back: a value of one of the kinds'
// event types, or vocab.Unknown for a word this program does not know.
type Recorded struct {
	Record
	Event any
}
