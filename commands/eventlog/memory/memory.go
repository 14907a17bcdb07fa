// Package memory is the log of tests and of short-lived servers: it keeps what
// every log promises, but only as long as the process lives.
package memory

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"sort"
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
	clock   func() time.Time
	weak    bool
	sparse  bool
	between func(i int) error
	tail    *tail.Tail
	closed  chan struct{}
	close   func()
	under   sync.WaitGroup // appends under way

	mu      sync.RWMutex
	rows    []chain.Row      // by position
	streams map[string][]int // places in rows, by version
}

var _ commands.Log = (*Log)(nil)

// Option changes what kind of log New makes.
type Option func(*Log)

// Weak makes a log that is not atomic: it looks at every expectation of an
// append, then writes one stream after another, and others may write in
// between.
func Weak() Option { return func(l *Log) { l.weak = true } }

// Sparse leaves gaps between positions, as a log does that counts in bytes. No
// atomic log has gaps, so it goes with Weak.
func Sparse() Option { return func(l *Log) { l.sparse = true } }

// Between has f called while an append that has events is under way. On a log
// that is Weak: with 0 when every expectation was looked at, and then with how
// many streams were written, after each; streams that an earlier attempt wrote
// are not counted. On others: with 0 before it is looked at, and with the number
// of its writes once it was taken. No lock is held: f may read and append, and
// is then called for that append too, but it must not close the log.
//
// An error of f stops the append there, as if its process had been killed or
// its answer lost: what was written stays, and the append is answered with
// ErrUnknown, which wraps the error as well.
func Between(f func(i int) error) Option { return func(l *Log) { l.between = f } }

// New is an empty log that takes its time from clock.
func New(clock func() time.Time, options ...Option) *Log {
	closed := make(chan struct{})
	l := &Log{
		clock:   clock,
		between: func(int) error { return nil },
		tail:    tail.At(commands.Head{}),
		closed:  closed,
		close:   sync.OnceFunc(func() { close(closed) }),
		streams: make(map[string][]int),
	}
	for _, o := range options {
		o(l)
	}
	return l
}

// Append writes all of it or nothing, unless the log is Weak. Besides what
// commands.Log names, a caller's fault is an error that tells it: a malformed
// append, or event ids used again for something else.
func (l *Log) Append(ctx context.Context, writes ...commands.Write) (commands.Receipt, error) {
	a, err := admit.Encode(writes)
	if err != nil {
		return commands.Receipt{}, err
	}
	if err := l.begin(ctx); err != nil {
		return commands.Receipt{}, err
	}
	defer l.under.Done()
	if l.weak {
		return l.appendWeakly(a)
	}
	if err := l.pause(a, 0); err != nil {
		return commands.Receipt{}, err
	}
	receipt, err := l.append(a)
	if err == nil {
		err = l.pause(a, len(a.Writes))
	}
	if err != nil {
		return commands.Receipt{}, err
	}
	return receipt, nil
}

// begin counts an append that is under way.
func (l *Log) begin(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.open(ctx); err != nil {
		return err
	}
	l.under.Add(1)
	return nil
}

// pause is where others come in, or the append ends.
func (l *Log) pause(a *admit.Append, written int) error {
	if a.Events == 0 {
		return nil
	}
	if err := l.between(written); err != nil {
		return fmt.Errorf("%w: %w", commands.ErrUnknown, err)
	}
	return nil
}

func (l *Log) append(a *admit.Append) (commands.Receipt, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	answer, err := a.Admit(view{l})
	if err != nil {
		return commands.Receipt{}, err
	}
	if answer != nil {
		return answer.Receipt, answer.Err
	}
	return l.write(a), nil
}

// write puts an append that was admitted at the end. The caller holds the lock.
func (l *Log) write(a *admit.Append) commands.Receipt {
	head := a.Stamp(l.tail.Head(), l.clock())
	for _, w := range a.Writes {
		for _, r := range w.Rows {
			if l.sparse {
				head.Position = l.end() + domain.Position(len(r.Text)+len(r.Data))
				r.Position = head.Position
			}
			l.streams[w.Name] = append(l.streams[w.Name], len(l.rows))
			l.rows = append(l.rows, r)
		}
	}
	l.tail.Move(head)
	return commands.Receipt{Position: head.Position, At: head.At}
}

// end is the position of the last row. The caller holds the lock.
func (l *Log) end() domain.Position {
	if len(l.rows) == 0 {
		return 0
	}
	return l.rows[len(l.rows)-1].Position
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
		from := sort.Search(len(l.rows), func(i int) bool { return l.rows[i].Position > after })
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

// Atomic is true unless the log is Weak: all of an append or nothing, and its
// checks hold as it is written.
func (l *Log) Atomic() bool { return !l.weak }

// Head is the last event's place.
func (l *Log) Head(ctx context.Context) (commands.Head, error) {
	if err := l.open(ctx); err != nil {
		return commands.Head{}, err
	}
	return l.tail.Head(), nil
}

// Close lets go of the log and of what it held, once the appends under way are
// answered.
func (l *Log) Close() error {
	l.mu.Lock()
	l.close()
	l.mu.Unlock()
	l.under.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
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
