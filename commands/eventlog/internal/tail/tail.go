// Package tail is the moving end of a log: where it is, and a way to wait for
// it to move on without asking again and again.
package tail

import (
	"context"
	"iter"
	"sync/atomic"

	"assent/commands"
	"assent/domain"
)

// page is how many events a follower reads at once.
const page = 256

// Tail is the end of a log as its process knows it. One goroutine at a time
// moves it; any number may look.
type Tail struct{ now atomic.Pointer[point] }

type point struct {
	head commands.Head
	past chan struct{} // closed when the head has moved on
}

// At starts a tail at a head.
func At(head commands.Head) *Tail {
	t := new(Tail)
	t.now.Store(&point{head, make(chan struct{})})
	return t
}

// Head is where the log ends.
func (t *Tail) Head() commands.Head { return t.now.Load().head }

// Move says that the log now ends at head, and wakes who waits for more.
func (t *Tail) Move(head commands.Head) {
	old := t.now.Load()
	if old.head == head {
		return
	}
	t.now.Store(&point{head, make(chan struct{})})
	close(old.past)
}

// Follow gives every event after a position as read finds them, and waits
// while there are none. It ends with the error of the context, of read, or
// gone once closed is.
func (t *Tail) Follow(
	ctx context.Context,
	after domain.Position,
	read func(ctx context.Context, after domain.Position, limit int) ([]domain.Record, error),
	closed <-chan struct{},
	gone error,
) iter.Seq2[domain.Record, error] {
	return func(yield func(domain.Record, error) bool) {
		for {
			now := t.now.Load() // before reading: what comes after is then not missed
			if now.head.Position <= after {
				if err := now.wait(ctx, closed, gone); err != nil {
					yield(domain.Record{}, err)
					return
				}
				continue
			}
			began := after
			for recs, err := range Pages(ctx, after, page, read, func(r domain.Record) domain.Position { return r.Position }) {
				if err != nil {
					yield(domain.Record{}, err)
					return
				}
				for _, r := range recs {
					if ctx.Err() != nil {
						yield(domain.Record{}, ctx.Err())
						return
					}
					if !yield(r, nil) {
						return
					}
					after = r.Position
				}
			}
			if after > began {
				continue
			}
			if err := now.wait(ctx, closed, gone); err != nil {
				yield(domain.Record{}, err)
				return
			}
		}
	}
}

// Wait returns when the log has moved past a position.
func (t *Tail) Wait(ctx context.Context, after domain.Position, closed <-chan struct{}, gone error) error {
	for {
		now := t.now.Load()
		if now.head.Position > after {
			return nil
		}
		if err := now.wait(ctx, closed, gone); err != nil {
			return err
		}
	}
}

// wait returns when the log has moved on from here.
func (p *point) wait(ctx context.Context, closed <-chan struct{}, gone error) error {
	select {
	case <-p.past:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-closed:
		return gone
	}
}
