package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"golang.org/x/mod/sumdb/note"

	"assent/commands/eventlog/chain"
	"assent/domain"
)

var (
	// ErrForged is a head under a trusted key's name that does not bear its
	// signature.
	ErrForged = errors.New("a signed head does not bear its signature: it was edited")
	// ErrStrange is a list of heads none of which the key has signed.
	ErrStrange = errors.New("it holds heads of another log, and none of this one")
)

// Report is what became of the heads in a list.
type Report struct {
	Held    int  // that the log holds
	Newest  Head // of these, the one furthest on
	GivenUp int  // that it does not hold, as an operator has said since (see Head.GaveUp)
	Strange int  // that no trusted key has signed
	Torn    int  // pieces that are no signed head, as a crash leaves them
}

// Check looks for every head of a list in a log. It reads one row for each, so
// the log should have been verified. The error is a *chain.Broken for the first
// head that the log does not hold (unless it was given up), ErrForged, or what
// kept list or log from being read.
func Check(ctx context.Context, r chain.Reader, list iter.Seq2[[]byte, error], keys note.Verifiers) (Report, error) {
	var found Report
	var missed *chain.Broken
	misses := 0
	for signed, err := range list {
		if err != nil {
			return found, err
		}
		h, err := Open(signed, keys)
		switch _, strange := errors.AsType[*note.UnverifiedNoteError](err); {
		case strange:
			found.Strange++
			continue
		case isForged(err):
			return found, fmt.Errorf("%w: %w", ErrForged, err)
		case torn(signed, err):
			found.Torn++
			continue
		case err != nil:
			return found, err
		}
		switch miss, err := h.missing(ctx, r, found.Newest.Position); {
		case err != nil:
			return found, err
		case miss != nil:
			misses++
			if missed == nil || missed.Kind == chain.Cut && miss.Kind == chain.Replaced { // what is inside tells more than what is missing
				missed = miss
			}
			continue
		}
		if h.GaveUp != (chain.Mark{}) {
			found.GivenUp, misses, missed = found.GivenUp+misses, 0, nil
		}
		found.Held++
		if h.Position >= found.Newest.Position {
			found.Newest = h
		}
	}
	if missed != nil {
		return found, missed
	}
	return found, nil
}

func isForged(err error) bool {
	_, forged := errors.AsType[*note.InvalidSignatureError](err)
	return forged
}

// torn says that a piece is no signed note at all.
func torn(signed []byte, err error) bool {
	if len(signed) == 0 {
		return true
	}
	_, e := note.Open(signed, note.VerifierList())
	_, whole := errors.AsType[*note.UnverifiedNoteError](e)
	return err != nil && !whole
}

// missing says how a log does not hold a head; nil if it does. Held is the
// furthest position that it is known to hold.
func (h Head) missing(ctx context.Context, r chain.Reader, held domain.Position) (*chain.Broken, error) {
	in, err := h.In(ctx, r)
	if err != nil || in {
		return nil, err
	}
	head, err := r.Head(ctx)
	if err != nil {
		return nil, err
	}
	signed := fmt.Sprintf("position %d was signed", h.Position)
	if !h.At.IsZero() {
		signed = fmt.Sprintf("position %d of %s was signed", h.Position, h.At.Format(time.RFC3339))
	}
	switch {
	case head.Position < h.Position:
		return &chain.Broken{Position: head.Position + 1, Kind: chain.Cut, What: fmt.Sprintf(
			"%s, and the log ends at %d: its end is missing, or an older copy was put back", signed, head.Position)}, nil
	case held > 0 && held < h.Position:
		return &chain.Broken{Position: held + 1, Kind: chain.Replaced, What: fmt.Sprintf(
			"%s with another hash: somewhere behind position %d and not behind %d the log was written anew, or an older copy was put back and went on", signed, held, h.Position)}, nil
	}
	return &chain.Broken{Position: 1, Kind: chain.Replaced, What: fmt.Sprintf(
		"%s with another hash: this is another log, or it was written anew somewhere up to there", signed)}, nil
}

// Newest is the last head in a list that the key has signed; a zero Head for a
// list without heads. The error is ErrStrange if all are of others, ErrForged,
// or what kept the list from being read.
func Newest(list iter.Seq2[[]byte, error], key *Key) (Head, error) {
	name := []byte("\n— " + key.Origin() + " ")
	var last, before []byte // the last one may be torn
	others := false
	for signed, err := range list {
		switch {
		case err != nil:
			return Head{}, err
		case bytes.Contains(signed, name):
			before, last = last, signed
		case len(signed) > 0:
			others = true
		}
	}
	for _, signed := range [][]byte{last, before} {
		if len(signed) == 0 {
			continue
		}
		h, err := Open(signed, key.Verifiers())
		switch {
		case isForged(err):
			return Head{}, ErrForged
		case torn(signed, err):
			continue
		}
		return h, err
	}
	if others {
		return Head{}, ErrStrange
	}
	return Head{}, nil
}
