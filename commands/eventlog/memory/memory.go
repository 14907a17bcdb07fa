// Package memory is the log of tests and of short-lived servers: it keeps what
// every log promises, but only as long as the process lives.
package memory

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"sync"
	"time"

	"assent/commands"
	"assent/commands/eventlog/chain"
	"assent/commands/eventlog/internal/admit"
	"assent/commands/eventlog/internal/tail"
	"assent/domain"
)

// errClosed is what a closed log answers.
var errClosed = fmt.Errorf("%w: it is closed", commands.ErrUnavailable)

// Log is a commands.Log in memory. What it is given and what it gives out are
// copies: nobody can change what it holds.
type Log struct {
	clock  func() time.Time
	tail   *tail.Tail
	closed chan struct{}
	close  func()

	mu      sync.RWMutex
	rows    []chain.Row      // by position
	streams map[string][]int // places in rows, by version
}

var _ commands.Log = (*Log)(nil)

// New is an empty log that takes its time from clock.
func New(clock func() time.Time) *Log {
	closed := make(chan struct{})
	return &Log{
		clock:   clock,
		tail:    tail.At(commands.Head{}),
		closed:  closed,
		close:   sync.OnceFunc(func() { close(closed) }),
		streams: make(map[string][]int),
	}
}

// Append writes all of it or nothing. Besides what commands.Log names, a
// caller's fault is an error that tells it: a malformed append, or event ids
// used again for something else.
func (l *Log) Append(ctx context.Context, writes ...commands.Write) (commands.Receipt, error) {
	a, err := admit.Encode(writes)
	if err != nil {
		return commands.Receipt{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.open(ctx); err != nil {
		return commands.Receipt{}, err
	}
	answer, err := a.Admit(view{l})
	if err != nil {
		return commands.Receipt{}, err
	}
	if answer != nil {
		return answer.Receipt, answer.Err
	}
	head := a.Stamp(l.tail.Head(), l.clock())
	for _, w := range a.Writes {
		for _, r := range w.Rows {
			l.streams[w.Name] = append(l.streams[w.Name], int(len(l.rows)))
			l.rows = append(l.rows, r)
		}
	}
	l.tail.Move(head)
	return commands.Receipt{Position: head.Position, At: head.At}, nil
}

// ReadStream gives a stream's events after a version.
func (l *Log) ReadStream(ctx context.Context, stream domain.Stream, after domain.Version) ([]domain.Record, error) {
	rows, err := l.look(ctx, func() []chain.Row { return l.stream(stream.String(), after, -1) })
	if err != nil {
		return nil, err
	}
	return open(rows)
}

// ReadAll gives at most limit events after a position.
func (l *Log) ReadAll(ctx context.Context, after domain.Position, limit int) ([]domain.Record, error) {
	rows, err := l.look(ctx, func() []chain.Row {
		from := min(max(int(after), 0), len(l.rows))
		return l.rows[from:][:min(max(limit, 0), len(l.rows)-from)]
	})
	if err != nil {
		return nil, err
	}
	return open(rows)
}

// Follow gives every event after a position and waits for more.
func (l *Log) Follow(ctx context.Context, after domain.Position) iter.Seq2[domain.Record, error] {
	return l.tail.Follow(ctx, after, l.ReadAll, l.closed, errClosed)
}

// Atomic is true: all of an append or nothing, and its checks hold as it is
// written.
func (l *Log) Atomic() bool { return true }

// Head is the last event's place.
func (l *Log) Head(ctx context.Context) (commands.Head, error) {
	if err := l.open(ctx); err != nil {
		return commands.Head{}, err
	}
	return l.tail.Head(), nil
}

// Close lets go of the log and of what it held.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.close()
	l.rows, l.streams = nil, nil
	return nil
}

// look reads under the lock. Rows are never changed once they are in, so what
// it returns may be read without.
func (l *Log) look(ctx context.Context, read func() []chain.Row) ([]chain.Row, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if err := l.open(ctx); err != nil {
		return nil, err
	}
	return read(), nil
}

func (l *Log) open(ctx context.Context) error {
	select {
	case <-l.closed:
		return errClosed
	default:
		return ctx.Err()
	}
}

// stream is at most limit rows of a stream after a version; all of them when
// limit is negative. The caller holds the lock.
func (l *Log) stream(name string, after domain.Version, limit int) []chain.Row {
	places := l.streams[name]
	places = places[min(max(int(after), 0), len(places)):]
	if limit >= 0 {
		places = places[:min(limit, len(places))]
	}
	rows := make([]chain.Row, len(places))
	for i, at := range places {
		rows[i] = l.rows[at]
	}
	return rows
}

// open reads the envelopes and copies the data, which is the log's own.
func open(rows []chain.Row) ([]domain.Record, error) {
	recs, err := chain.Open(rows)
	for i := range recs {
		recs[i].Data = bytes.Clone(recs[i].Data)
	}
	return recs, err
}

// view is the log under its lock.
type view struct{ l *Log }

func (v view) Version(stream string) (domain.Version, error) {
	return domain.Version(len(v.l.streams[stream])), nil
}

func (v view) Rows(stream string, after domain.Version, limit int) ([]chain.Row, error) {
	return v.l.stream(stream, after, limit), nil
}
