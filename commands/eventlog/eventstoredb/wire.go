package eventstoredb

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/google/uuid"

	"assent/commands"
	"assent/commands/eventlog/chain"
	"assent/domain"
)

// How the log is spelt on the server:
//
//	stream    the prefix and the stream's name: assent.article-home/art_06g…
//	revision  the version less one
//	position  the event's commit position in $all
//	id        a UUID made of the event's id, the same each time
//	type      the event's word
//	data      the event's data, in its bytes
//	metadata  {"id":…,"revision":…,"at":…,"envelope":…}, the envelope in its bytes

// ErrForeign is an event among the log's streams that the log did not write.
var ErrForeign = errors.New("an event that is not Assent's is among its streams")

// idSpace is the name space of the UUIDs. It can never change: it makes an
// append that is repeated the same append to the server.
var idSpace = uuid.MustParse("9f2b4d51-6c0e-5a38-8f3d-2b7e91c4a6d0")

// meta is an event's metadata as it is read back.
type meta struct {
	ID       domain.ID       `json:"id"`
	Revision int             `json:"revision"`
	At       time.Time       `json:"at"`
	Envelope json.RawMessage `json:"envelope"`
}

// spell makes a row the event that the server is to keep. The metadata is put
// together by hand: encoding would not leave the envelope's bytes as they are.
func spell(r chain.Row, at time.Time) (esdb.EventData, error) {
	id, err := json.Marshal(r.ID)
	if err != nil {
		return esdb.EventData{}, fmt.Errorf("the event id %q cannot be written: %w", r.ID, err)
	}
	text := fmt.Appendf(nil, `{"id":%s,"revision":%d,"at":"%s","envelope":`, id, r.Revision, at.UTC().Format(time.RFC3339Nano))
	text = append(text, r.Text...)
	return esdb.EventData{
		EventID:     uuid.NewSHA1(idSpace, []byte(r.ID)),
		EventType:   r.Word,
		ContentType: esdb.ContentTypeJson,
		Data:        r.Data,
		Metadata:    append(text, '}'),
	}, nil
}

// weight is what the server counts of an event against its limit of an append.
func weight(e esdb.EventData) int { return len(e.Data) + len(e.Metadata) + 2*len(e.EventType) }

// kind is what an event of $all is to the log.
type kind int

const (
	elsewhere kind = iota // none of the log's
	ours
	rules // the metadata of one of the log's streams
	tomb  // the end of one of the log's streams that was deleted for ever
)

// kindOf says what an event is, and the name of the log's stream it is about.
func (l *Log) kindOf(e *esdb.RecordedEvent) (kind, string) {
	if name, ok := strings.CutPrefix(e.StreamID, "$$"+l.prefix); ok {
		return rules, name
	}
	name, ok := strings.CutPrefix(e.StreamID, l.prefix)
	switch {
	case !ok:
		return elsewhere, ""
	case e.EventType == "$streamDeleted":
		return tomb, name
	}
	return ours, name
}

// row reads an event back. The error wraps ErrForeign.
func (l *Log) row(e *esdb.RecordedEvent) (chain.Row, error) {
	name := strings.TrimPrefix(e.StreamID, l.prefix)
	foreign := func(why string) (chain.Row, error) {
		return chain.Row{}, fmt.Errorf("%w: event %d of the stream %q, at position %d, %s; give Assent a prefix of its own (%q now) or a server of its own",
			ErrForeign, e.EventNumber, e.StreamID, e.Position.Commit, why, l.prefix)
	}
	stream, err := domain.ParseStream(name)
	if err != nil {
		return foreign("is in no stream of a log")
	}
	var m meta
	if err := json.Unmarshal(e.UserMetadata, &m); err != nil || m.ID == "" || m.Revision < 1 || len(m.Envelope) == 0 {
		return foreign("has other metadata than a log writes")
	}
	switch at := e.Position.Commit; {
	case at == math.MaxUint64:
		return chain.Row{}, fmt.Errorf("%w: the server tells no positions where a stream is read; it takes EventStoreDB 23.10 or later", commands.ErrUnavailable)
	case at == 0 || at > math.MaxInt64 || e.EventNumber >= math.MaxInt64:
		return foreign("is where no event of a log can be")
	}
	// Both are the event's own: the client keeps no message it has given out.
	return chain.Row{
		Record: domain.Record{
			Fresh:    domain.Fresh{ID: m.ID, Word: e.EventType, Revision: m.Revision, Data: e.Data},
			Stream:   stream,
			Version:  domain.Version(e.EventNumber) + 1,
			Position: domain.Position(e.Position.Commit),
			At:       chain.Time(m.At.UnixNano()),
		},
		Text: m.Envelope,
	}, nil
}

// expected is a version as the server's expectation.
func expected(v domain.Version) esdb.ExpectedRevision {
	if v == 0 {
		return esdb.NoStream{}
	}
	return esdb.Revision(uint64(v - 1))
}

// at is a position as the server's.
func at(p domain.Position) esdb.AllPosition {
	if p <= 0 {
		return esdb.Start{}
	}
	return esdb.Position{Commit: uint64(p), Prepare: uint64(p)}
}
