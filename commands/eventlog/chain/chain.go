// Package chain makes a log evident: every event carries a hash over itself
// and, through the hash before it, over everything that came before. Who
// knows the last hash can tell that nothing was changed, dropped, added or
// moved.
//
// Positions are not covered, so a copy of a log keeps its chain.
package chain

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	"assent/domain"
)

// Row is an event as a log keeps it: its envelope in the exact bytes that were
// stored, and the hash up to and including it.
type Row struct {
	domain.Record // without its Envelope, which is in Text
	Text          []byte
	Link          [32]byte
}

// Open reads the envelope back. An error means that the bytes stored are not
// an envelope.
func (r Row) Open() (domain.Record, error) {
	rec := r.Record
	if err := json.Unmarshal(r.Text, &rec.Envelope); err != nil {
		return domain.Record{}, fmt.Errorf("the envelope at position %d cannot be read: %w", r.Position, err)
	}
	return rec, nil
}

// Open reads the envelopes of many rows.
func Open(rows []Row) ([]domain.Record, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	recs := make([]domain.Record, len(rows))
	for i, r := range rows {
		var err error
		if recs[i], err = r.Open(); err != nil {
			return nil, err
		}
	}
	return recs, nil
}

// Link is the hash up to and including r: SHA-256 over the hash before it and
// then id, stream, version, word, revision, recorded-at, envelope and data, in
// this order. Texts go in with their length first, as 8 bytes; numbers and
// times (nanoseconds since 1970) as 8 bytes, all big-endian. The envelope is
// the text stored; r.Envelope and r.Position do not count.
func Link(prev [32]byte, r domain.Record, envelope []byte) [32]byte {
	b := append(make([]byte, 0, 512), prev[:]...) // what is short goes in at once
	b = text(b, string(r.ID))
	b = text(b, r.Stream.String())
	b = number(b, int64(r.Version))
	b = text(b, r.Word)
	b = number(b, int64(r.Revision))
	b = number(b, r.At.UnixNano())
	b = number(b, int64(len(envelope)))
	h := sha256.New()
	h.Write(b)
	h.Write(envelope)
	h.Write(number(b[:0], int64(len(r.Data))))
	h.Write(r.Data)
	var sum [32]byte
	h.Sum(sum[:0])
	return sum
}

func text(b []byte, s string) []byte { return append(number(b, int64(len(s))), s...) }

func number(b []byte, n int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(n)) }

// Time is a time as a log keeps it: nanoseconds since 1970, read back in UTC.
func Time(ns int64) time.Time { return time.Unix(0, ns).UTC() }
