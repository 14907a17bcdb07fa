package chain

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"assent/commands"
	"assent/domain"
)

// Kept is a row as a log gives it back to whoever checks it.
type Kept struct {
	Row
	// Before is the highest version of the row's stream, up to its own, that is
	// stored in front of it: 0 when there is none.
	Before domain.Version
}

// Reader reads a log as it is stored, sound or not. What cannot be what it
// should be (a stream's name, the size of a hash) is left empty: then the hash
// does not fit.
type Reader interface {
	// Head is what the log itself says of its end. The error is NoHead, or of a
	// head that is none, where it says nothing that can be read.
	Head(ctx context.Context) (commands.Head, error)
	// Rows are at most limit rows after a position, in order; fewer where they
	// are large, and none only at the end.
	Rows(ctx context.Context, after domain.Position, limit int) ([]Kept, error)
	// Intact says whether the database's own structures agree, as far as it can
	// tell: what the chain does not cover. The error is a *Broken if not: Deleted
	// for a stream that has a name and no events, since both are written at once.
	Intact(ctx context.Context) error
}

// PageBytes is about how much of envelopes and data a Reader gives at once.
const PageBytes = 4 << 20

// page is how many rows are read at once.
const page = 1000

// All gives every row after a position as a Reader has them, a page at a time.
func All(ctx context.Context, r Reader, after domain.Position) iter.Seq2[Kept, error] {
	return func(yield func(Kept, error) bool) {
		for at := after; ; {
			rows, err := r.Rows(ctx, at, page)
			if err != nil {
				yield(Kept{}, err)
				return
			}
			if len(rows) == 0 {
				return
			}
			for _, row := range rows {
				if !yield(row, nil) {
					return
				}
			}
			at = rows[len(rows)-1].Position
		}
	}
}

// Mark is a place in a log and the hash that holds everything up to it. Who
// has one can tell this log from any other. The zero Mark is the beginning.
type Mark struct {
	Position domain.Position
	Chain    [32]byte
}

// MarkOf is a head without its time.
func MarkOf(h commands.Head) Mark { return Mark{h.Position, h.Chain} }

// String is the mark as `position:hash`, the hash in base64.
func (m Mark) String() string {
	return strconv.FormatInt(int64(m.Position), 10) + ":" + base64.StdEncoding.EncodeToString(m.Chain[:])
}

// ParseMark reads what String wrote.
func ParseMark(text string) (Mark, error) {
	number, hash, _ := strings.Cut(text, ":")
	n, err := strconv.ParseInt(number, 10, 64)
	b, err2 := base64.StdEncoding.DecodeString(hash)
	if err != nil || err2 != nil || n < 1 || len(b) != 32 {
		return Mark{}, fmt.Errorf("%q is not a position, a colon and a hash in base64", text)
	}
	return Mark{domain.Position(n), [32]byte(b)}, nil
}

// In says whether a log holds a mark: the event there has this very hash. It
// reads one row and takes the log's word for the rest; after Verify that is
// proof.
func (m Mark) In(ctx context.Context, r Reader) (bool, error) {
	_, in, err := m.find(ctx, r)
	return in, err
}

// find is the event at a mark, if the log holds it. None is at the beginning.
func (m Mark) find(ctx context.Context, r Reader) (Kept, bool, error) {
	if m.Position == 0 {
		return Kept{}, m == Mark{}, nil
	}
	rows, err := r.Rows(ctx, m.Position-1, 1)
	if err != nil || len(rows) == 0 {
		return Kept{}, false, err
	}
	return rows[0], rows[0].Position == m.Position && rows[0].Link == m.Chain, nil
}

// Walk checks the rows of a log one after another. It keeps no more than the
// last one's place.
type Walk struct {
	head   commands.Head
	broken *Broken
}

// WalkFrom starts behind a mark, relying on everything up to it. The zero Mark
// starts at the first event.
func WalkFrom(m Mark) *Walk {
	return &Walk{head: commands.Head{Position: m.Position, Chain: m.Chain}}
}

// Head is the place of the last row that was right.
func (w *Walk) Head() commands.Head { return w.head }

// Next checks one more row: that its position and its version follow, that
// time does not run backwards and that its hash is what its bytes give. The
// error is a *Broken without a kind, and stays.
func (w *Walk) Next(r Kept) error {
	if w.broken != nil {
		return w.broken
	}
	want := w.head.Position + 1
	switch {
	case r.Position != want:
		return w.fail(want, "the next event found is at position %d", r.Position)
	case Link(w.head.Chain, r.Record, r.Text) != r.Link:
		return w.fail(want, "its bytes do not give its hash (%s, %s)", r.Stream, r.ID)
	case r.Version != r.Before+1:
		return w.fail(want, "%s goes from version %d to %d", r.Stream, r.Before, r.Version)
	case r.At.Before(w.head.At):
		return w.fail(want, "it was recorded before the event in front of it")
	}
	w.head = commands.Head{Position: r.Position, At: r.At, Chain: r.Link}
	return nil
}

func (w *Walk) fail(at domain.Position, format string, args ...any) error {
	w.broken = &Broken{Position: at, What: fmt.Sprintf(format, args...)}
	return w.broken
}

// Verify reads a log in the bytes stored, up to where it ends now, and checks
// that positions and versions follow one another, that every event's hash is
// what its bytes and the hash before give, and that the log ends where its head
// says. Memory does not grow with the log. Appends go on meanwhile; what they
// add is not looked at.
//
// From is where to begin: everything up to it is relied upon, once the log is
// seen to hold it. Reached is how far everything is right, also when the
// context ended: Verify goes on from there. Progress, unless nil, hears from
// time to time how many events of how many are done.
//
// The error is a *Broken that names the first wrong position and what happened
// there, or what kept the log from being read.
func Verify(ctx context.Context, r Reader, from Mark, progress func(done, total domain.Position)) (reached Mark, err error) {
	head, err := r.Head(ctx)
	if err != nil {
		return from, err
	}
	start, held, err := from.find(ctx, r)
	if err != nil {
		return from, err
	} else if !held {
		return Mark{}, astray(from, head)
	}
	w := WalkFrom(from)
	w.head.At = start.At
	for row, err := range All(ctx, r, from.Position) {
		if err != nil {
			return MarkOf(w.Head()), err
		}
		if row.Position > head.Position { // appended since
			break
		}
		if found := w.Next(row); found != nil {
			broken, err := explain(ctx, r, w, head)
			if err != nil {
				broken = w.broken // what is certain already
			}
			return MarkOf(w.Head()), broken
		}
		if progress != nil && (row.Position%page == 0 || row.Position == head.Position) {
			progress(row.Position, head.Position)
		}
	}
	if err := w.end(ctx, r, head); err != nil {
		return MarkOf(w.Head()), err
	}
	return MarkOf(head), r.Intact(ctx)
}

// astray says that a log does not hold the mark it was to be verified from.
func astray(from Mark, head commands.Head) *Broken {
	if head.Position < from.Position {
		return &Broken{head.Position + 1, Cut, fmt.Sprintf("it ends at position %d and was verified up to %d before: its end is missing, or an older copy was put back", head.Position, from.Position)}
	}
	return &Broken{1, Replaced, fmt.Sprintf("position %d is not what was verified before: this is another log, or it was written anew; verify it from the beginning", from.Position)}
}

// end checks that the log ends where its head says. The head was read before
// the rows; one that has moved since is no fault.
func (w *Walk) end(ctx context.Context, r Reader, head commands.Head) error {
	last := w.head
	switch {
	case last.Position < head.Position:
		return &Broken{last.Position + 1, Cut, fmt.Sprintf("its end is missing: the log's head is at %d, its last event at %d", head.Position, last.Position)}
	case last.Chain != head.Chain:
		return &Broken{max(head.Position, 1), Edited, "the log's head holds another hash than its last event"}
	case !last.At.Equal(head.At) && !last.At.IsZero(): // a walk of no rows knows no time
		return &Broken{max(head.Position, 1), Edited, "the log's head holds another time than its last event"}
	}
	beyond, err := r.Rows(ctx, head.Position, 1)
	if err != nil || len(beyond) == 0 {
		return err
	}
	now, err := r.Head(ctx)
	on := *w // how far the log is right stays where its head says
	switch {
	case err != nil:
		return err
	case now.Position > head.Position: // that is where the log goes on; what is behind it now is another walk's
		return nil
	case on.Next(beyond[0]) == nil:
		return &Broken{head.Position + 1, Edited, fmt.Sprintf("the log's head says that it ends at %d, and its events go on under right hashes: the head was set back, or edited", head.Position)}
	}
	return &Broken{head.Position + 1, Reordered, fmt.Sprintf("events were put behind the log's end, which its head says is at %d", head.Position)}
}

// IsBroken says whether an error is that a log is broken, and how.
func IsBroken(err error) (*Broken, bool) { return errors.AsType[*Broken](err) }
