// Package sqlite is the log in one SQLite file: WAL, every commit on the disk
// before it is answered (synchronous=FULL), no cgo.
//
// One connection writes, a few read, one copies the WAL back into the file
// beside them. A single head row says where the log ends, and is read inside
// every transaction that writes: a second writer can be slow, never wrong.
package sqlite

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"time"

	"zombiezen.com/go/sqlite/sqlitex"

	"assent/commands"
	"assent/commands/eventlog/committer"
	"assent/commands/eventlog/internal/admit"
	"assent/commands/eventlog/internal/tail"
	"assent/domain"
)

// errClosed is what a closed log answers.
var errClosed = fmt.Errorf("%w: it is closed", commands.ErrUnavailable)

// Log is a commands.Log in a SQLite file.
type Log struct {
	tail     *tail.Tail
	standing standing
	reads    *sqlitex.Pool
	writes   *committer.Committer
	writer   *writer       // which is the committer's
	closed   chan struct{} // closed once Close has begun
	close    func() error
}

var _ commands.Log = (*Log)(nil)

// Option is a setting of Open.
type Option func(*settings)

type settings struct{ busy time.Duration }

func defaults() settings { return settings{busy: 2 * time.Second} }

// BusyFor is how long an append waits for another process that holds the file
// before it answers commands.ErrBusy. Two seconds unless said.
func BusyFor(d time.Duration) Option { return func(s *settings) { s.busy = d } }

// Open opens the log in the file at path, and makes it where there is none,
// readable by its owner only. Recorded-at comes from clock.
//
// A file that is no log (ErrForeign), a log of a newer program (ErrNewer) and
// one whose head is not its last event (a *chain.Broken) are left as they are.
func Open(ctx context.Context, path string, clock func() time.Time, options ...Option) (*Log, error) {
	set := defaults()
	for _, o := range options {
		o(&set)
	}
	if err := prepare(ctx, path, set); err != nil {
		return nil, fmt.Errorf("opening the log %s: %w", path, explained(err))
	}
	l, err := open(ctx, path, clock, set)
	if err != nil {
		return nil, fmt.Errorf("opening the log %s: %w", path, explained(err))
	}
	return l, nil
}

func open(ctx context.Context, path string, clock func() time.Time, set settings) (*Log, error) {
	l := &Log{closed: make(chan struct{})}
	reads, err := readPool(path, set)
	if err != nil {
		return nil, err
	}
	l.reads = reads
	head, err := l.checkedHead(ctx)
	var c *copier
	if err == nil {
		c, err = startCopier(path, set)
	}
	if err != nil {
		return nil, joined(err, l.reads.Close())
	}
	l.tail = tail.At(head)
	l.writer = &writer{path: path, set: set, head: head, copier: c, standing: &l.standing}
	if _, err := l.writer.Begin(nil); err != nil { // what cannot be written is told now
		return nil, joined(err, l.writer.Close(), l.reads.Close())
	}
	l.writer.Abandon()
	l.writes = committer.New(l.writer, clock, l.tail.Move, committer.Ahead())
	l.close = sync.OnceValue(l.shut)
	return l, nil
}

// Append writes all of it or nothing. Besides what commands.Log names, a
// caller's fault is an error that tells it: a malformed append, or event ids
// used again for something else. A context that ends before the append's
// commit has begun leaves nothing behind; later it no longer matters.
func (l *Log) Append(ctx context.Context, writes ...commands.Write) (commands.Receipt, error) {
	a, err := admit.Encode(writes)
	if err != nil {
		return commands.Receipt{}, err
	}
	return l.writes.Append(ctx, a)
}

// Follow gives every event after a position and waits for more. What another
// process appends is seen with the next append of this one.
func (l *Log) Follow(ctx context.Context, after domain.Position) iter.Seq2[domain.Record, error] {
	return l.tail.Follow(ctx, after, l.ReadAll, l.closed, errClosed)
}

// Wait returns when there is something after a position, without reading it.
func (l *Log) Wait(ctx context.Context, after domain.Position) error {
	return l.tail.Wait(ctx, after, l.closed, errClosed)
}

// Standing is the version a stream is at, where this process knows without
// asking the file: it wrote there, or checked it in an append. What another
// process appends is seen with the next append of this one.
func (l *Log) Standing(stream domain.Stream) (domain.Version, bool) {
	_ = l.writes.Settle(context.Background()) // as for reads; a commit under way ends
	return l.standing.at(stream.String())
}

// Atomic is true: all of an append or nothing, and its checks hold as it is
// written.
func (l *Log) Atomic() bool { return true }

// Head is the last event's place, as of this process's last append or Open.
func (l *Log) Head(ctx context.Context) (commands.Head, error) {
	if err := l.alive(ctx); err != nil {
		return commands.Head{}, err
	}
	if err := l.writes.Settle(ctx); err != nil {
		return commands.Head{}, err
	}
	return l.tail.Head(), nil
}

// Close answers the appends that are queued, ends followers and lets go of the
// file.
func (l *Log) Close() error { return l.close() }

func (l *Log) shut() error {
	close(l.closed)
	// The writer goes last: the last connection to leave copies the WAL back.
	return joined(l.reads.Close(), l.writes.Close())
}

// alive says why nothing can be asked of the log, if so.
func (l *Log) alive(ctx context.Context) error {
	select {
	case <-l.closed:
		return errClosed
	default:
		return ctx.Err()
	}
}
