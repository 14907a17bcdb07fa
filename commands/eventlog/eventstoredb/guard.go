package eventstoredb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
)

// The guard stands between the log and the client, which hangs for ever where
// its connection could not be made, stays dead after that, and panics on what
// it does not know. Every call runs in a goroutine of its own that can be left
// behind, under our own time-out; a client that failed is replaced.

// guard makes clients and calls them.
type guard struct {
	conf   *esdb.Configuration
	answer time.Duration // how long a server may be silent

	mu     sync.Mutex // of what follows
	line   *line      // in use; nil: there is none
	making chan struct{}
	pause  time.Duration // before the next client, after one that failed
	after  time.Time
	why    error // of the last failure
	closed bool

	hopeless bool // the server has been away for a while, or silent

	left atomic.Int64 // calls that nobody waits for any more and that are not back
}

// line is one client. It is closed once it is dropped and its last call is
// back: closing it under a call that hangs in it would be a race.
type line struct {
	client  *esdb.Client
	gone    chan struct{} // closed when it is dropped
	calls   int
	dropped bool
}

var (
	errSilent = errors.New("no answer in time")
	errLost   = errors.New("the client lost its connection and does not come back")
	errPanic  = errors.New("the client could not read the answer")
)

// absentError says that a call was never made, because there is no connection.
type absentError struct {
	why      error
	hopeless bool // and soon there will be none
}

// Error tells why.
func (a *absentError) Error() string { return a.why.Error() }

// Unwrap is why.
func (a *absentError) Unwrap() error { return a.why }

// grace is how long a call that got nothing yet may go on in a client that was
// dropped: where the client was making its connection anew, calls that wait for
// it hang if that fails.
const grace = 250 * time.Millisecond

// pauses between two attempts to connect, which double from one to the other.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = 2 * time.Second
)

// ask makes one call. f tells with beat that it got something; without that it
// has to return within the guard's time. What it returns after being left
// behind is lost. The context given to f ends when f is no longer waited for.
func ask[T any](ctx context.Context, g *guard, f func(ctx context.Context, c *esdb.Client, beat func()) (T, error)) (T, error) {
	var none T
	l, err := g.take(ctx)
	if err != nil {
		return none, err
	}
	v, err := run(ctx, g, l, f)
	if err != nil {
		if over := over(ctx); over != nil {
			return none, over // whatever else it broke
		}
	}
	if lost(err) {
		g.drop(l)
	}
	return v, err
}

// over says that nobody waits any longer, by the clock too: the server is told
// the deadline and may answer that it passed before our own timer has run.
func over(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if at, ok := ctx.Deadline(); ok && !time.Now().Before(at) {
		return context.DeadlineExceeded
	}
	return nil
}

// outcome is what a call came to.
type outcome[T any] struct {
	value T
	err   error
}

// run makes one call on a line that was taken, and gives it back when the call
// returns, whether it is still waited for or not.
func run[T any](ctx context.Context, g *guard, l *line, f func(ctx context.Context, c *esdb.Client, beat func()) (T, error)) (T, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var beats beats
	done := make(chan outcome[T], 1)
	var parted atomic.Bool // one of the two went first
	go func() {
		defer g.give(l)
		v, err := calm(func() (T, error) { return f(ctx, l.client, beats.beat) })
		done <- outcome[T]{v, err}
		if !parted.CompareAndSwap(false, true) {
			g.left.Add(-1)
		}
	}()
	defer func() {
		if parted.CompareAndSwap(false, true) {
			g.left.Add(1)
		}
	}()
	o := wait(ctx, g, l, done, &beats)
	return o.value, o.err
}

// wait waits for a call, as long as it may be waited for.
func wait[T any](ctx context.Context, g *guard, l *line, done <-chan outcome[T], beats *beats) outcome[T] {
	begun := time.Now()
	timer := time.NewTimer(g.answer)
	defer timer.Stop()
	silence, gone, none := errSilent, l.gone, outcome[T]{}
	for {
		select {
		case o := <-done:
			return o
		case <-ctx.Done():
			none.err = ctx.Err()
			return none
		case <-gone:
			gone = nil
			if beats.last(begun) == begun && time.Since(begun)+grace < g.answer {
				silence = errLost
				timer.Reset(grace)
			}
		case <-timer.C:
			left := g.answer - time.Since(beats.last(begun))
			if left <= 0 || silence == errLost && beats.last(begun) == begun {
				none.err = silence
				return none
			}
			timer.Reset(left)
		}
	}
}

// beats is when something of a call last came in.
type beats struct{ at atomic.Pointer[time.Time] }

func (b *beats) beat() {
	now := time.Now()
	b.at.Store(&now)
}

// last is the last beat; before the first one, the beginning.
func (b *beats) last(begun time.Time) time.Time {
	if at := b.at.Load(); at != nil {
		return *at
	}
	return begun
}

// calm turns a panic of the client into an error.
func calm[T any](f func() (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errPanic, p)
		}
	}()
	return f()
}

// take lends the client in use. Where there is none it makes one, alone: only
// a call that is the first of its client comes back from one that cannot
// connect.
func (g *guard) take(ctx context.Context) (*line, error) {
	for {
		g.mu.Lock()
		switch {
		case g.closed:
			g.mu.Unlock()
			return nil, errClosed
		case g.line != nil:
			l := g.line
			l.calls++
			g.mu.Unlock()
			return l, nil
		case g.making != nil:
			made := g.making
			g.mu.Unlock()
			select {
			case <-made:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		case time.Now().Before(g.after):
			err, wait, hopeless := g.why, time.Until(g.after), g.hopeless
			g.mu.Unlock()
			if hopeless {
				return nil, &absentError{why: err, hopeless: true}
			}
			if !rest(ctx, wait) {
				return nil, ctx.Err()
			}
		default:
			made := make(chan struct{})
			g.making = made
			g.mu.Unlock()
			g.connect()
			close(made)
		}
	}
}

// connect makes a client and sees that it reaches the server.
func (g *guard) connect() {
	l, begun := &line{gone: make(chan struct{})}, time.Now()
	conf := *g.conf
	var err error
	if l.client, err = esdb.NewClient(&conf); err == nil {
		l.calls++
		_, err = run(context.Background(), g, l, probe)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.making = nil
	if err != nil {
		g.abandon(l)
		g.pause = min(max(2*g.pause, firstPause), lastPause)
		g.after, g.why = time.Now().Add(g.pause), err
		g.hopeless = g.pause > g.answer/4 || time.Since(begun) > g.answer/2
		return
	}
	if g.closed {
		g.abandon(l)
		return
	}
	g.line, g.pause, g.why = l, 0, nil
}

// probe is the first call of every client. It needs the right to read the
// whole log, as following does.
func probe(ctx context.Context, c *esdb.Client, _ func()) (struct{}, error) {
	events, err := c.ReadAll(ctx, esdb.ReadAllOptions{Direction: esdb.Backwards, From: esdb.End{}}, 1)
	if err != nil {
		return struct{}{}, err
	}
	defer events.Close()
	if _, err = events.Recv(); errors.Is(err, io.EOF) {
		err = nil
	}
	return struct{}{}, err
}

// drop takes a client out of use.
func (g *guard) drop(l *line) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.line == l {
		g.line = nil
	}
	g.abandon(l)
}

// abandon closes a client when nobody calls it any more. The caller holds the
// lock.
func (g *guard) abandon(l *line) {
	if !l.dropped {
		l.dropped = true
		close(l.gone)
	}
	if l.calls == 0 && l.client != nil {
		_ = l.client.Close() // it only ends the client's own goroutine
		l.client = nil
	}
}

// hold lends a line that was taken once more.
func (g *guard) hold(l *line) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l.calls++
}

// give takes a line back.
func (g *guard) give(l *line) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l.calls--
	if l.dropped {
		g.abandon(l)
	}
}

// close lets nobody in any more.
func (g *guard) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	if g.line != nil {
		g.abandon(g.line)
		g.line = nil
	}
}

// hopeless says that trying again is of no use for now.
func hopeless(err error) bool {
	a, ok := errors.AsType[*absentError](err)
	return ok && a.hopeless
}

// rest waits before something is tried once more; false if the context ended.
func rest(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
