package eventstoredb

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"assent/commands"
	"assent/commands/eventlog/chain"
	"assent/commands/eventlog/internal/tail"
	"assent/domain"
)

// errClosed is what a closed log answers.
var errClosed = fmt.Errorf("%w: it is closed", commands.ErrUnavailable)

// Log is a commands.Log on an EventStoreDB server or cluster.
type Log struct {
	prefix string
	answer time.Duration
	guard  *guard
	pace   pace
	mirror mirror
	shown  atomic.Int64 // the last position that anybody was told of

	closing sync.Mutex // of what follows
	closed  bool
	under   sync.WaitGroup // appends under way
	life    context.Context
	close   func() error
}

var _ commands.Log = (*Log)(nil)

// Option is a setting of Open.
type Option func(*settings)

type settings struct {
	prefix   string
	bookmark string
	answer   time.Duration
	damaged  bool
}

// Prefix is what the names of the log's streams begin with on the server, and
// what tells them from everybody else's: letters, digits, - and _, and one dot
// at the end. It is "assent." unless said; another one is another log.
func Prefix(prefix string) Option { return func(s *settings) { s.prefix = prefix } }

// Bookmark names a file in which the log keeps how far it has followed the
// server and the chain up to there. Without it, or when it does not fit, Open
// reads the whole log to know its chain.
func Bookmark(path string) Option { return func(s *settings) { s.bookmark = path } }

// AnswerWithin is how long the server may be silent before a call counts as
// lost. Five seconds unless said. An append may take three times as long before
// it is answered with ErrUnknown.
func AnswerWithin(d time.Duration) Option { return func(s *settings) { s.answer = d } }

// Damaged opens a log although streams of it are deleted or limited. They are
// still neither read nor written; everything else is.
func Damaged() Option { return func(s *settings) { s.damaged = true } }

// Open opens the log that an esdb:// or esdb+discover:// URL leads to. Nothing
// has to be made there first. Recorded-at comes from clock.
//
// It returns when the log has been followed to its end. The error says what to
// look at when the server cannot be reached, within seconds; it wraps ErrDamaged
// when streams are deleted or limited, and ErrForeign when somebody else wrote
// to them. It never holds the URL's password.
func Open(ctx context.Context, url string, clock func() time.Time, options ...Option) (*Log, error) {
	set := settings{prefix: "assent.", answer: 5 * time.Second}
	for _, o := range options {
		o(&set)
	}
	if !sound(set.prefix) {
		return nil, fmt.Errorf("opening the log: %q cannot be a prefix: it takes letters, digits, - and _, and one dot at the end", set.prefix)
	}
	conf, err := configure(url, set.answer)
	if err != nil {
		return nil, fmt.Errorf("opening the log: %w", err)
	}
	life, end := context.WithCancel(context.Background())
	l := &Log{
		prefix: set.prefix,
		answer: set.answer,
		guard:  &guard{conf: conf, answer: set.answer},
		pace:   pace{clock: clock},
		mirror: mirror{tail: tail.At(commands.Head{}), ready: make(chan struct{}), ended: make(chan struct{}), path: set.bookmark},
		life:   life,
	}
	l.close = sync.OnceValue(func() error { return l.shut(end) })
	if err := l.start(ctx, set.damaged); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the log on EventStoreDB at %s: %w", place(conf), err), l.close())
	}
	return l, nil
}

// sound says whether something can be a prefix. No prefix is the beginning of
// another.
func sound(prefix string) bool {
	name, ok := strings.CutSuffix(prefix, ".")
	return ok && name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	})
}

// start reaches the server and follows it to its end.
func (l *Log) start(ctx context.Context, damaged bool) error {
	end, err := l.end(ctx)
	if err == nil {
		err = l.recall(ctx)
	}
	if err != nil {
		close(l.mirror.ended)
		return unreached(err)
	}
	go l.mirrored(end)
	if err := l.caughtUp(ctx); err != nil {
		return err
	}
	if err := l.mirror.keep(); err != nil || damaged {
		return err
	}
	return l.mirror.damage()
}

// caughtUp returns when the mirror has seen what there is, or no longer gets on.
func (l *Log) caughtUp(ctx context.Context) error {
	look := time.NewTicker(3 * l.answer)
	defer look.Stop()
	for seen := l.mirror.from(); ; {
		select {
		case <-l.mirror.ready:
			return nil
		case <-l.mirror.ended:
			return l.mirror.why
		case <-ctx.Done():
			return ctx.Err()
		case <-look.C:
			now := l.mirror.from()
			if now == seen {
				return unreached(errSilent)
			}
			seen = now
		}
	}
}

// unreached says what to look at when there is no server to speak to.
func unreached(err error) error {
	switch m := meant(err); {
	case strings.Contains(err.Error(), "server version format"):
		return fmt.Errorf("%w: the client can only speak to a released server, whose version is three numbers: %w", commands.ErrUnavailable, err)
	case m != absent && m != unknown && m != busy:
		return unwritten(err)
	}
	return fmt.Errorf("%w: no server answers as it should; see that it runs, that the URL has its address and port (2113 unless changed), and tls=false only if the server has no certificate: %w", commands.ErrUnavailable, err)
}

// Atomic is false: an append to several streams writes them one after another,
// and what it checks may change meanwhile.
func (l *Log) Atomic() bool { return false }

// Stuck is how many calls the client has not come back from although nobody
// waits for them any more. They are in the client for good, each with a
// goroutine and at most one append.
func (l *Log) Stuck() int { return int(l.guard.left.Load()) }

// Wait returns when there is something after a position, without reading it.
func (l *Log) Wait(ctx context.Context, after domain.Position) error {
	return l.mirror.told(l.mirror.tail.Wait(ctx, after, l.mirror.ended, errClosed))
}

// Head is the last event's place, as far as this process has heard: everything
// it wrote or read itself, and what others wrote up to a moment ago. Its Chain
// is computed here, following the log in order from its beginning or its
// bookmark; the server keeps none.
func (l *Log) Head(ctx context.Context) (commands.Head, error) {
	if err := l.alive(ctx); err != nil {
		return commands.Head{}, err
	}
	shown := domain.Position(l.shown.Load())
	if head := l.mirror.tail.Head(); head.Position >= shown {
		return head, l.mirror.halted()
	}
	soon, cancel := context.WithTimeout(ctx, l.answer)
	defer cancel()
	err := l.Wait(soon, shown-1)
	switch {
	case ctx.Err() != nil:
		return commands.Head{}, ctx.Err()
	case soon.Err() != nil:
		return commands.Head{}, fmt.Errorf("%w: what was written has not been heard of yet", commands.ErrUnavailable)
	case err != nil:
		return commands.Head{}, err
	}
	return l.mirror.tail.Head(), nil
}

// show remembers that somebody is told of an event: no head is before it, and
// no later append's time.
func (l *Log) show(row chain.Row) {
	l.pace.saw(row.At)
	for {
		old := l.shown.Load()
		if int64(row.Position) <= old || l.shown.CompareAndSwap(old, int64(row.Position)) {
			return
		}
	}
}

// Close answers the appends under way, ends followers and lets go of the
// server.
func (l *Log) Close() error { return l.close() }

func (l *Log) shut(end func()) error {
	l.closing.Lock()
	l.closed = true
	l.closing.Unlock()
	l.under.Wait()
	end()
	<-l.mirror.ended
	l.guard.close()
	return l.mirror.keep()
}

// begin counts an append, unless the log is closed.
func (l *Log) begin(ctx context.Context) error {
	l.closing.Lock()
	defer l.closing.Unlock()
	if l.closed {
		return errClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	l.under.Add(1)
	return nil
}

// alive says why nothing can be asked of the log, if so.
func (l *Log) alive(ctx context.Context) error {
	l.closing.Lock()
	defer l.closing.Unlock()
	if l.closed {
		return errClosed
	}
	return ctx.Err()
}
