package eventstoredb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"assent/commands"
	"assent/commands/eventlog/chain"
	"assent/domain"
)

// ReadStream gives a stream's events after a version.
func (l *Log) ReadStream(ctx context.Context, stream domain.Stream, after domain.Version) ([]domain.Record, error) {
	if err := l.alive(ctx); err != nil {
		return nil, err
	}
	rows, err := l.stream(ctx, stream.String(), after, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	return chain.Open(rows)
}

// ReadAll gives at most limit events after a position. The client cannot ask
// for the log's streams alone: everybody's events after the position come over
// the wire, so a log wants a server that holds little else.
func (l *Log) ReadAll(ctx context.Context, after domain.Position, limit int) ([]domain.Record, error) {
	if err := l.alive(ctx); err != nil || limit <= 0 {
		return nil, err
	}
	var rows []chain.Row
	err := l.scan(ctx, after, func(row chain.Row) bool {
		rows = append(rows, row)
		return len(rows) < limit
	})
	if err != nil {
		return nil, err
	}
	return chain.Open(rows)
}

// stream reads at most limit rows of a stream after a version.
func (l *Log) stream(ctx context.Context, name string, after domain.Version, limit uint64) ([]chain.Row, error) {
	if err := l.mirror.refuses(name); err != nil {
		return nil, err
	}
	after = max(after, 0)
	options := esdb.ReadStreamOptions{Direction: esdb.Forwards, From: esdb.Revision(uint64(after))}
	rows, err := again(ctx, l, func(ctx context.Context, c *esdb.Client, beat func()) ([]chain.Row, error) {
		var rows []chain.Row
		events, err := c.ReadStream(ctx, l.prefix+name, options, limit)
		err = each(events, err, beat, func(e *esdb.RecordedEvent) (bool, error) {
			row, err := l.row(e)
			rows = append(rows, row)
			return err == nil, err
		})
		return rows, err
	})
	if err != nil {
		return nil, l.unread(name, err)
	}
	for i, r := range rows {
		l.show(r)
		if want := after + domain.Version(i) + 1; r.Version != want {
			return nil, fmt.Errorf("%w: %w: %s has no version %d, the next is %d: the server has dropped events", commands.ErrUnavailable, ErrDamaged, name, want, r.Version)
		}
	}
	return rows, nil
}

// version is where a stream is.
func (l *Log) version(ctx context.Context, name string) (domain.Version, error) {
	if err := l.mirror.refuses(name); err != nil {
		return 0, err
	}
	options := esdb.ReadStreamOptions{Direction: esdb.Backwards, From: esdb.End{}}
	v, err := again(ctx, l, func(ctx context.Context, c *esdb.Client, beat func()) (v domain.Version, err error) {
		events, err := c.ReadStream(ctx, l.prefix+name, options, 1)
		err = each(events, err, beat, func(e *esdb.RecordedEvent) (bool, error) {
			v = domain.Version(e.EventNumber) + 1
			return true, nil
		})
		return v, err
	})
	if err != nil {
		return 0, l.unread(name, err)
	}
	return v, nil
}

// unread is the error of a stream that was not read.
func (l *Log) unread(name string, err error) error {
	if meant(err) == deleted {
		return fmt.Errorf("%w: %w: %s: it was deleted for ever (tombstone)", commands.ErrUnavailable, ErrDamaged, name)
	}
	return l.unheard(err)
}

// unheard is the error of a call that was to read something.
func (l *Log) unheard(err error) error {
	if errors.Is(err, ErrForeign) {
		return err
	}
	return fmt.Errorf("reading the log: %w", unwritten(err))
}

// scan hands on the rows after a position, in order, until do wants no more or
// there are no more.
func (l *Log) scan(ctx context.Context, after domain.Position, do func(chain.Row) bool) error {
	after = max(after, 0)
	shown := domain.Position(l.shown.Load())
	seen, enough := after, false
	one := func(e *esdb.RecordedEvent) (bool, error) {
		if kind, _ := l.kindOf(e); kind == ours && domain.Position(e.Position.Commit) > seen {
			row, err := l.row(e)
			if err != nil {
				return false, err
			}
			enough = !do(row)
			l.show(row)
		}
		seen = max(seen, domain.Position(min(e.Position.Commit, math.MaxInt64)))
		return !enough, nil
	}
	err := l.scanFrom(ctx, after, one)
	switch {
	case err != nil:
		return l.unheard(err)
	case !enough && seen < shown:
		return fmt.Errorf("%w: the node that was asked is behind what was read or written before", commands.ErrUnavailable)
	}
	return nil
}

// scanFrom reads $all from a position on. The server can read only from where
// an event begins: of a position between two, first the place after it is
// tried, then the beginning.
func (l *Log) scanFrom(ctx context.Context, after domain.Position, one func(*esdb.RecordedEvent) (bool, error)) error {
	var mu sync.Mutex
	over := false // a read that was left behind hands on nothing any more
	defer func() {
		mu.Lock()
		over = true
		mu.Unlock()
	}()
	guarded := func(e *esdb.RecordedEvent) (bool, error) {
		mu.Lock()
		defer mu.Unlock()
		if over {
			return false, nil
		}
		return one(e)
	}
	var err error
	for _, from := range []domain.Position{after, after + 1, 0} {
		_, err = again(ctx, l, func(ctx context.Context, c *esdb.Client, beat func()) (struct{}, error) {
			events, err := c.ReadAll(ctx, esdb.ReadAllOptions{Direction: esdb.Forwards, From: at(from)}, math.MaxInt64)
			return struct{}{}, each(events, err, beat, guarded)
		})
		if !noPlace(err) {
			break
		}
	}
	return err
}

// end is the position of the last event of $all, whoever's it is.
func (l *Log) end(ctx context.Context) (domain.Position, error) {
	return again(ctx, l, func(ctx context.Context, c *esdb.Client, beat func()) (end domain.Position, err error) {
		events, err := c.ReadAll(ctx, esdb.ReadAllOptions{Direction: esdb.Backwards, From: esdb.End{}}, 1)
		err = each(events, err, beat, func(e *esdb.RecordedEvent) (bool, error) {
			end = domain.Position(min(e.Position.Commit, math.MaxInt64))
			return false, nil
		})
		return end, err
	})
}

// each hands on the events of a read until do wants no more. A stream that is
// not there has none.
func each(events *esdb.ReadStream, err error, beat func(), do func(*esdb.RecordedEvent) (more bool, err error)) error {
	if err != nil {
		return err
	}
	defer events.Close()
	for {
		e, err := events.Recv()
		beat()
		if told, ok := errors.AsType[*esdb.Error](err); errors.Is(err, io.EOF) || ok && told.Code() == esdb.ErrorCodeResourceNotFound {
			return nil
		}
		if err != nil {
			return err
		}
		if more, err := do(e.OriginalEvent()); err != nil || !more {
			return err
		}
	}
}

// again asks, and asks again for a while where the first call after a break
// fails, or another node took the lead: a read can always be repeated.
func again[T any](ctx context.Context, l *Log, f func(ctx context.Context, c *esdb.Client, beat func()) (T, error)) (T, error) {
	pause := time.Duration(0)
	for begun := time.Now(); ; pause = max(2*pause, firstPause) {
		v, err := ask(ctx, l.guard, f)
		switch {
		case err == nil, over(ctx) != nil, errors.Is(err, errSilent), hopeless(err), time.Since(begun)+pause > l.answer/2:
			return v, err
		case lost(err), meant(err) == astray:
		default:
			return v, err
		}
		if !rest(ctx, pause) {
			return v, ctx.Err()
		}
	}
}

// noPlace says that a position is none of the server's. Servers before 23
// have no better word for it than an error.
func noPlace(err error) bool {
	s, ok := status.FromError(plain(err))
	return ok && err != nil && (s.Code() == codes.InvalidArgument || s.Code() == codes.Unknown && strings.Contains(s.Message(), "ReadAllResult"))
}

// recall takes up the bookmark, if the log still holds what it is about.
func (l *Log) recall(ctx context.Context) error {
	b, ok := l.mirror.load()
	l.mirror.good.Prefix = l.prefix
	if !ok || b.Prefix != l.prefix {
		return nil
	}
	end, err := l.end(ctx)
	if err != nil || uint64(end) < b.Commit {
		return err
	}
	if b.Last > 0 {
		var last chain.Row
		err := l.scanFrom(ctx, b.Last-1, func(e *esdb.RecordedEvent) (bool, error) {
			if domain.Position(e.Position.Commit) < b.Last {
				return true, nil
			}
			if kind, _ := l.kindOf(e); kind == ours {
				row, err := l.row(e)
				last = row
				return false, err
			}
			return false, nil
		})
		if err != nil || last.Position != b.Last || !last.At.Equal(b.At) {
			return err
		}
	}
	head := commands.Head{Position: b.Last, At: b.At.UTC(), Chain: [32]byte(b.Chain)}
	l.mirror.tail.Move(head)
	l.pace.saw(head.At)
	l.mirror.seen = esdb.Position{Commit: b.Commit, Prepare: b.Prepare}
	l.mirror.good, l.mirror.saved = b, b
	return nil
}
