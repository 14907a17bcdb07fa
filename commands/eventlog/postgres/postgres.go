// Package postgres is the log in a schema of a PostgreSQL database, which any
// number of processes may share.
//
// A single head row says where the log ends. Every append moves it in the very
// statement that writes, and only from where this process believes it to be:
// a process that is behind writes nothing, reads what it has missed and decides
// again. Positions are therefore given in the order of commits, without gaps.
//
// The URL's search_path names the schema; the log makes its tables there the
// first time. Connections take the role assent_log_writer where they may, which
// can append and read and nothing else. The README says how to give the server a
// login that owns nothing and may take that role. Connect to PostgreSQL itself or to a pooler
// in session mode: followers LISTEN.
package postgres

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"assent/commands"
	"assent/commands/eventlog/committer"
	"assent/commands/eventlog/internal/admit"
	"assent/commands/eventlog/internal/tail"
	"assent/domain"
)

// errClosed is what a closed log answers.
var errClosed = fmt.Errorf("%w: it is closed", commands.ErrUnavailable)

// Log is a commands.Log in PostgreSQL.
type Log struct {
	config *pgx.ConnConfig
	reads  *pgxpool.Pool
	names  names // of streams that were read
	writer *committer.Committer
	life   context.Context // ends once the last append is answered
	close  func() error

	behind   sync.WaitGroup // what runs until Close
	wrote    chan struct{}  // that other instances are to hear of
	attended chan struct{}  // closed once somebody waits for events
	attend   func()         // closes it
	ear      atomic.Int32   // the server's process that listens for this one; 0: none

	moving sync.Mutex
	tail   *tail.Tail
}

var _ commands.Log = (*Log)(nil)

// Option is a setting of Open.
type Option func(*settings)

type settings struct{ lock, answer, trust time.Duration }

func defaults() settings {
	return settings{lock: 3 * time.Second, answer: 10 * time.Second, trust: time.Second}
}

// BusyFor is how long an append waits for another process that holds the log's
// end before it answers commands.ErrBusy, in whole milliseconds. Three seconds
// unless said.
func BusyFor(d time.Duration) Option { return func(s *settings) { s.lock = d } }

// TrustFor is how long after its last answer the connection that appends is
// taken for good without a look. A second unless said.
func TrustFor(d time.Duration) Option { return func(s *settings) { s.trust = d } }

// AnswerWithin is how long a server may be silent, when connecting and when
// asked for anything, before it counts as gone. Ten seconds unless said.
func AnswerWithin(d time.Duration) Option { return func(s *settings) { s.answer = d } }

// Open opens the log that a postgres:// URL (or keyword=value text) names, and
// makes its tables where there are none. Recorded-at comes from clock.
//
// A schema with tables that are no log (ErrForeign), a log of a newer program
// (ErrNewer) and one whose head is not its last event (a *chain.Broken) are
// left as they are. A server that cannot be reached is an error within seconds.
// What a person can see to is an error of this package that says so; none
// holds a password.
func Open(ctx context.Context, url string, clock func() time.Time, options ...Option) (*Log, error) {
	set := defaults()
	for _, o := range options {
		o(&set)
	}
	config, err := configure(url, set)
	if err != nil {
		return nil, fmt.Errorf("opening the log: %w", err)
	}
	l, err := open(ctx, config, set, clock)
	if err != nil {
		return nil, fmt.Errorf("opening the log in %s on %s: %w", config.ConnConfig.Database, config.ConnConfig.Host, sentence(err))
	}
	return l, nil
}

func open(ctx context.Context, config *pgxpool.Config, set settings, clock func() time.Time) (*Log, error) {
	reads, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	life, end := context.WithCancel(context.Background())
	l := &Log{config: config.ConnConfig, reads: reads, life: life, wrote: make(chan struct{}, 1), attended: make(chan struct{})}
	l.attend = sync.OnceFunc(func() { close(l.attended) })
	head, err := l.ready(ctx, set)
	if err != nil {
		end()
		reads.Close()
		return nil, err
	}
	l.tail = tail.At(head)
	l.writer = committer.New(&writer{config: config.ConnConfig, set: set, head: head}, clock, l.committed, committer.Ahead())
	l.close = sync.OnceValue(func() error {
		err := l.writer.Close()
		end()
		l.behind.Wait()
		reads.Close()
		return err
	})
	l.behind.Go(l.listen)
	l.behind.Go(l.notify)
	return l, nil
}

// ready sees that the tables are ours and up to date, and gives the head.
func (l *Log) ready(ctx context.Context, set settings) (head commands.Head, err error) {
	ctx, cancel := context.WithTimeout(ctx, 3*set.answer)
	defer cancel()
	done := false
	err = l.reads.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
		done, err = current(ctx, c.Conn())
		return err
	})
	if err != nil {
		return head, err
	}
	if !done {
		if err := prepare(ctx, l.config, set); err != nil {
			return head, err
		}
		l.reads.Reset() // what was connected before there were tables may do too much
	}
	if err := l.writable(ctx); err != nil {
		return head, err
	}
	return l.checkedHead(ctx)
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
	return l.writer.Append(ctx, a)
}

// Follow gives every event after a position and waits for more, whichever
// process appends it.
func (l *Log) Follow(ctx context.Context, after domain.Position) iter.Seq2[domain.Record, error] {
	l.attend()
	return l.tail.Follow(ctx, after, l.ReadAll, l.life.Done(), errClosed)
}

// Wait returns when there is something after a position, without reading it.
func (l *Log) Wait(ctx context.Context, after domain.Position) error {
	l.attend()
	return l.tail.Wait(ctx, after, l.life.Done(), errClosed)
}

// Close answers the appends that are queued, ends followers and lets go of the
// database.
func (l *Log) Close() error { return l.close() }

// alive says why nothing can be asked of the log, if so.
func (l *Log) alive(ctx context.Context) error {
	if l.life.Err() != nil {
		return errClosed
	}
	return ctx.Err()
}

// committed is told of every commit.
func (l *Log) committed(head commands.Head) {
	if !l.advance(head) {
		return
	}
	select {
	case l.wrote <- struct{}{}:
	default: // it is about to be told anyway
	}
}

// advance moves the tail to a head that was seen, unless a later one was.
func (l *Log) advance(head commands.Head) bool {
	l.moving.Lock()
	defer l.moving.Unlock()
	if head.Position <= l.tail.Head().Position {
		return false
	}
	l.tail.Move(head)
	return true
}
