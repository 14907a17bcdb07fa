// Package transfer copies a log into another, event by event and as it is:
// ids, times, envelopes and data in the same bytes, under the same hashes.
package transfer

import (
	"context"
	"errors"
	"fmt"

	"assent/commands/eventlog/chain"
	"assent/commands/eventlog/committer"
	"assent/domain"
)

// Target is a log that takes rows as they are.
type Target interface {
	chain.Reader
	// Load appends rows right behind the log's end, durably and in order. They
	// continue its positions and its chain, or it refuses. What it has written
	// when it fails is the log's end then.
	Load(ctx context.Context, rows []chain.Row) error
}

// Differs says that a target holds something else than the log to be copied
// into it. Nothing was written.
type Differs struct {
	Position domain.Position // the first that differs
	What     string
}

// Error names the position.
func (d *Differs) Error() string {
	return fmt.Sprintf("the target holds something else from position %d on: %s", d.Position, d.What)
}

// ErrMoved is that somebody else wrote to the target while it was loaded.
var ErrMoved = errors.New("somebody else writes to the target: another copy, or a server")

// Progress hears from time to time how many events of how many are done. Both
// may be nil.
type Progress struct {
	Copied  func(done, total domain.Position)
	Checked func(done, total domain.Position) // read back from the target
}

// Result is what a copy came to.
type Result struct {
	chain.Mark                 // where both logs end, the one copied as of when it began
	Before     domain.Position // what the target held already
}

// page is how many rows are copied at once.
const page = 1000

// Copy brings the target to where the log ended when it began, and then reads
// all of the target back: both end in the same hash over every byte. The target
// must be empty or hold the beginning of the log, so a copy that was broken off
// goes on where it was. Memory does not grow with the log.
//
// The error is a *Differs, a *chain.Broken for either log (nothing at or behind
// a wrong position is copied), ErrMoved, or what kept a log from being read or
// written.
func Copy(ctx context.Context, from chain.Reader, to Target, progress Progress) (Result, error) {
	head, err := from.Head(ctx)
	if err != nil {
		return Result{}, fmt.Errorf("the log to be copied: %w", err)
	}
	end := chain.MarkOf(head)
	has, err := agree(ctx, from, to, end)
	if err != nil {
		return Result{}, err
	}
	if err := stream(ctx, from, to, has, end, progress.Copied); err != nil {
		return Result{}, err
	}
	reached, err := chain.Verify(ctx, to, chain.Mark{}, progress.Checked)
	if err != nil {
		return Result{}, fmt.Errorf("reading the target back: %w", err)
	}
	if reached != end {
		return Result{}, fmt.Errorf("%w (it ends at %s, the log that was copied at %s)", ErrMoved, reached, end)
	}
	return Result{end, has.Position}, nil
}

// agree sees that the target holds the beginning of the log, and gives its end.
func agree(ctx context.Context, from chain.Reader, to Target, end chain.Mark) (chain.Mark, error) {
	head, err := to.Head(ctx)
	if err != nil {
		return chain.Mark{}, fmt.Errorf("the target: %w", err)
	}
	has := chain.MarkOf(head)
	if has.Position <= end.Position {
		same, err := has.In(ctx, from)
		if same || err != nil {
			return has, err
		}
	}
	at, err := fork(ctx, from, to, min(has.Position, end.Position))
	if err != nil {
		return has, err
	}
	if at > end.Position {
		return has, &Differs{at, fmt.Sprintf("it goes on to position %d, the log to be copied ends at %d", has.Position, end.Position)}
	}
	return has, &Differs{at, "the events there are not the same"}
}

// fork finds the first position up to last where two logs have other hashes;
// the one after last if there is none. As every hash holds all before it, half
// of what is left can be set aside at each step.
func fork(ctx context.Context, a, b chain.Reader, last domain.Position) (domain.Position, error) {
	low, high := domain.Position(1), last+1
	for low < high {
		middle := low + (high-low)/2
		rows, err := a.Rows(ctx, middle-1, 1)
		if err != nil {
			return 0, err
		}
		same := false
		if len(rows) > 0 {
			if same, err = (chain.Mark{Position: middle, Chain: rows[0].Link}).In(ctx, b); err != nil {
				return 0, err
			}
		}
		if same {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low, nil
}

// stream loads what is between two marks of the log, each row checked before
// it is written.
func stream(ctx context.Context, from chain.Reader, to Target, at, end chain.Mark, progress func(done, total domain.Position)) error {
	walk := chain.WalkFrom(at)
	for last := at.Position; last < end.Position; {
		rows, err := from.Rows(ctx, last, int(min(page, end.Position-last)))
		if err != nil {
			return fmt.Errorf("the log to be copied: %w", err)
		}
		if len(rows) == 0 {
			return fmt.Errorf("the log to be copied: %w", &chain.Broken{Position: last + 1, Kind: chain.Cut, What: fmt.Sprintf("its head is at %d, its last event at %d", end.Position, last)})
		}
		load := make([]chain.Row, len(rows))
		for i, r := range rows {
			if err := walk.Next(r); err != nil {
				return fmt.Errorf("the log to be copied: %w; verify tells more", err)
			}
			load[i] = r.Row
		}
		if err := to.Load(ctx, load); err != nil {
			if now, asked := to.Head(ctx); asked == nil && now.Position > last && errors.Is(err, committer.ErrApart) {
				return fmt.Errorf("%w (it ends at position %d already, and this copy is at %d)", ErrMoved, now.Position, last)
			}
			return fmt.Errorf("writing to the target behind position %d: %w", last, err)
		}
		last = load[len(load)-1].Position
		if progress != nil {
			progress(last, end.Position)
		}
	}
	if reached := chain.MarkOf(walk.Head()); reached != end {
		return fmt.Errorf("the log to be copied: %w", &chain.Broken{Position: end.Position, Kind: chain.Edited, What: "the log's head holds another hash than its last event"})
	}
	return nil
}
