package eventstoredb

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"

	"assent/commands/eventlog/chain"
	"assent/domain"
)

// window is how many events the server looks at before it tells a subscriber
// how far it is: what need not be looked at again after a break.
const window = 1000

// keepEvery is how many events the bookmark may be behind after a crash.
const keepEvery = 10_000

// step is what a subscription brings: an event of the log's streams, if any,
// and how far the server has looked.
type step struct {
	event *esdb.RecordedEvent
	kind  kind
	name  string // of the log's stream that it is about
	seen  esdb.Position
	live  bool // there was nothing more
}

// Follow gives every event after a position and waits for more, whichever
// process appends it. While the server cannot be reached it waits for that too.
func (l *Log) Follow(ctx context.Context, after domain.Position) iter.Seq2[domain.Record, error] {
	return func(yield func(domain.Record, error) bool) {
		if err := l.alive(ctx); err != nil {
			yield(domain.Record{}, err)
			return
		}
		both, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(l.life, cancel)()
		left := false // by who follows
		err := l.watch(both, at(after), func(s step) error {
			if s.kind != ours {
				return nil
			}
			row, err := l.row(s.event)
			if err != nil || row.Position <= after {
				return err
			}
			rec, err := row.Open()
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return err
			}
			after = row.Position
			l.show(row)
			if left = !yield(rec, nil); left {
				return errLeft
			}
			return nil
		})
		switch {
		case left:
		case ctx.Err() != nil:
			yield(domain.Record{}, ctx.Err())
		case l.life.Err() != nil:
			yield(domain.Record{}, errClosed)
		default:
			yield(domain.Record{}, err)
		}
	}
}

// errLeft is that a follower wants no more.
var errLeft = errors.New("the follower left")

// watch follows the log's streams after a position of $all, and subscribes
// again after the last that it saw whenever that breaks off. Steps can come
// twice. It returns the error of do, of the context, or why the server will
// never let it follow.
func (l *Log) watch(ctx context.Context, from esdb.AllPosition, do func(step) error) error {
	pause := firstPause
	for {
		var told error
		before := from
		err := l.subscribe(ctx, from, func(s step) error {
			if s.seen != (esdb.Position{}) {
				from = s.seen
			}
			told = do(s)
			return told
		})
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case told != nil:
			return told
		case meant(err) == denied:
			return unwritten(err)
		case from != before: // it got on
			pause = firstPause
			continue
		case noPlace(err):
			from = esdb.Start{} // do tells what it had already
		}
		if !rest(ctx, pause) {
			return ctx.Err()
		}
		pause = min(2*pause, lastPause)
	}
}

// subscribe makes one subscription and hands on what it brings until it breaks
// off.
func (l *Log) subscribe(ctx context.Context, from esdb.AllPosition, do func(step) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	line, err := l.guard.take(ctx)
	if err != nil {
		return err
	}
	l.guard.hold(line) // until the last of it was received
	sub, err := run(ctx, l.guard, line, func(_ context.Context, c *esdb.Client, _ func()) (*esdb.Subscription, error) {
		return c.SubscribeToAll(ctx, esdb.SubscribeToAllOptions{
			From:               from,
			MaxSearchWindow:    window,
			CheckpointInterval: 1,
			Filter:             &esdb.SubscriptionFilter{Type: esdb.StreamFilterType, Prefixes: []string{l.prefix, "$$" + l.prefix}},
		})
	})
	if err != nil {
		l.guard.give(line)
	} else {
		err = l.receive(ctx, sub, func() { l.guard.give(line) }, do)
	}
	// A subscription that breaks off does not tell its client, which would go on
	// with a connection that is gone.
	if ctx.Err() == nil && lost(err) {
		l.guard.drop(line)
	}
	return err
}

// receive hands on what a subscription brings. Done is called when the client
// is no longer used, which may be later.
func (l *Log) receive(ctx context.Context, sub *esdb.Subscription, done func(), do func(step) error) error {
	events := make(chan *esdb.SubscriptionEvent, 64)
	go func() {
		defer done()
		defer sub.Close()
		for {
			e, err := calm(func() (*esdb.SubscriptionEvent, error) { return sub.Recv(), nil })
			if err != nil {
				e = &esdb.SubscriptionEvent{SubscriptionDropped: &esdb.SubscriptionDropped{Error: err}}
			}
			select {
			case events <- e:
			case <-ctx.Done():
				return
			}
			if e.SubscriptionDropped != nil {
				return
			}
		}
	}()
	for {
		select {
		case e := <-events:
			if e.SubscriptionDropped != nil {
				return e.SubscriptionDropped.Error
			}
			if err := do(l.step(e)); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// step reads what a subscription brought.
func (l *Log) step(e *esdb.SubscriptionEvent) (s step) {
	switch {
	case e.EventAppeared != nil:
		s.event = e.EventAppeared.OriginalEvent()
		s.seen = s.event.Position
		s.kind, s.name = l.kindOf(s.event)
	case e.CheckPointReached != nil:
		s.seen = *e.CheckPointReached
	case e.CaughtUp != nil:
		s.live = true
	}
	return s
}

// mirrored follows the log from where the bookmark is, for as long as it is
// open, and moves its end. It is ready when it has seen $all up to end.
func (l *Log) mirrored(end domain.Position) {
	m := &l.mirror
	defer close(m.ended)
	for {
		err := l.watch(l.life, m.from(), func(s step) error { return l.mirrorOne(s, end) })
		if l.life.Err() != nil {
			m.why = errClosed
			return
		}
		if errors.Is(err, ErrForeign) {
			m.why = err
			return
		}
		rest(l.life, time.Second) // the right to follow may be given back
	}
}

// mirrorOne takes in one step.
func (l *Log) mirrorOne(s step, end domain.Position) error {
	m := &l.mirror
	head := m.tail.Head()
	switch s.kind {
	case ours:
		row, err := l.row(s.event)
		if err != nil {
			return err
		}
		if row.Position <= head.Position {
			break
		}
		l.pace.saw(row.At)
		head.Chain = chain.Link(head.Chain, row.Record, row.Text)
		head.Position, head.At = row.Position, row.At
		m.tail.Move(head)
		if m.count++; m.count%keepEvery == 0 {
			_ = m.keep() // Close keeps it again, and tells
		}
	case rules, tomb:
		m.mark(s.name, s.kind, s.event.Data)
	}
	m.reached(head, s.seen)
	if s.live || s.seen.Commit >= uint64(end) {
		m.caughtUp()
	}
	return nil
}
