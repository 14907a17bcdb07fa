// Package committer lets many callers share the commits of one log: a single
// goroutine takes the appends that are queued, checks each against what stands
// before it, answers those that cannot be by themselves, and makes the rest
// durable at once. A lone append pays one commit, a crowd shares it.
package committer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"assent/commands"
	"assent/commands/eventlog/internal/admit"
)

// How much one commit takes, and how long an append waits for room.
const (
	batchAppends = 256
	batchBytes   = 8 << 20
	queueLength  = 4 * batchAppends
	patience     = time.Second
)

// A commit that many wait for is held back so that those the last one has
// answered can join: they would otherwise form two halves that wait for each
// other. It is held back as long as one comes after another, within a tenth of
// what a commit usually takes and never more than gatherLimit, and for half a
// commit in all. Few callers gain nothing by it.
const (
	gatherLimit = 300 * time.Microsecond
	gatherFrom  = 4 // appends in the last commit
)

var (
	// ErrMoved is what Backend.Commit answers when the log no longer ends where
	// Begin said. Nothing was written.
	ErrMoved = errors.New("the log has moved on")
	// ErrRefused is what a Backend answers when its database would not take what
	// it was given and may well take something else. Nothing was written.
	ErrRefused = errors.New("the database refused it")
)

// Backend is the writing side of one database. One goroutine uses it.
//
// Its errors wrap one of this package's, or commands.ErrBusy or
// commands.ErrUnavailable (nothing was written), or commands.ErrUnknown (only
// from Commit). After an error the next call is Begin.
type Backend interface {
	// Begin readies a commit of appends to these streams, and says where the
	// log ends. What View tells until Commit is as of there; what it tells
	// wrongly, Commit answers with ErrMoved.
	Begin(streams []string) (commands.Head, error)
	admit.View
	// Commit writes the appends and moves the log's end to head, durably and
	// all at once. With nothing to write it confirms that the log still ends
	// where Begin said. After ErrMoved, the next Begin holds the log's end until
	// its Commit, which then cannot miss.
	Commit(appends []*admit.Append, head commands.Head) error
	// Abandon ends what Begin has begun, without a trace.
	Abandon()
	// Close lets go of the database.
	Close() error
}

// Committer is the only one in its process that writes to a log.
type Committer struct {
	backend Backend
	clock   func() time.Time
	moved   func(commands.Head)
	queue   chan *request
	wake    chan struct{} // that there is something in the queue
	room    time.Duration
	quit    chan struct{} // closed once Close has begun
	done    chan struct{} // closed once nothing is committed any more
	close   func() error

	turn     sync.Mutex    // of whoever commits, and what follows
	usual    time.Duration // what a commit takes
	last     atomic.Int32  // appends in the last commit; anybody may look
	expected int           // appends for the next commit, if all come again
	held     []*request    // taken from the queue, for the next commit
	recent   recent

	ahead    bool
	comeback time.Duration                 // how long one who was told ahead is waited for
	settling atomic.Pointer[chan struct{}] // closed once what was told ahead is durable, or is not
}

// Option is a setting of New.
type Option func(*Committer)

// Ahead lets those who lose a stream to one another share a commit, too: a
// conflict with an append of the commit that is being put together is told
// before that commit is durable, to one after another, so that each can come
// back into the same commit. Where the commit then fails, the conflict was told
// in vain, and trying again tells. Whoever asks for it has to let reads wait
// for Settle: what a conflict was about is then there to be read.
func Ahead() Option { return func(c *Committer) { c.ahead, c.comeback = true, comeback } }

// New starts a committer. Recorded-at comes from clock. Moved hears where the
// log ends after every commit, before anyone whose events it wrote is answered.
func New(backend Backend, clock func() time.Time, moved func(commands.Head), options ...Option) *Committer {
	c := &Committer{
		backend: backend, clock: clock, moved: moved,
		queue: make(chan *request, queueLength), wake: make(chan struct{}, 1), room: patience,
		quit: make(chan struct{}), done: make(chan struct{}),
	}
	for _, o := range options {
		o(c)
	}
	c.close = sync.OnceValue(func() error {
		close(c.quit)
		<-c.done
		c.turn.Lock() // a lone append may still be under way
		defer c.turn.Unlock()
		return backend.Close()
	})
	go c.run()
	return c
}

// errClosed is what a closed committer answers.
var errClosed = fmt.Errorf("%w: it is closed", commands.ErrUnavailable)

// Append waits for an append's answer, which is as commands.Log says. A queue
// that stays full is commands.ErrBusy. A context that ends before the append's
// commit has begun leaves nothing behind; later it no longer matters.
func (c *Committer) Append(ctx context.Context, a *admit.Append) (commands.Receipt, error) {
	select {
	case <-c.quit:
		return commands.Receipt{}, errClosed
	default:
	}
	if err := ctx.Err(); err != nil {
		return commands.Receipt{}, err
	}
	r := &request{append: a, answered: make(chan struct{})}
	if c.alone(r) {
		return r.receipt, r.err
	}
	if err := c.enqueue(ctx, r); err != nil {
		return commands.Receipt{}, err
	}
	select {
	case c.wake <- struct{}{}:
	default: // it was said, and not heard yet
	}
	select {
	case <-r.answered:
	case <-c.done:
		return r.last()
	case <-ctx.Done():
		if r.leave() {
			return commands.Receipt{}, ctx.Err()
		}
		<-r.answered
	}
	return r.receipt, r.err
}

// enqueue waits for room, but not for ever.
func (c *Committer) enqueue(ctx context.Context, r *request) error {
	select {
	case c.queue <- r:
		return nil
	default:
	}
	full := time.NewTimer(c.room)
	defer full.Stop()
	select {
	case c.queue <- r:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-c.quit:
		return errClosed
	case <-full.C:
		return fmt.Errorf("%w: %d appends are waiting already; try again", commands.ErrBusy, cap(c.queue))
	}
}

// Close answers what is queued, then lets go of the backend.
func (c *Committer) Close() error { return c.close() }

// Settle waits until what conflicts were told about is durable, or is not.
func (c *Committer) Settle(ctx context.Context) error {
	settling := c.settling.Load()
	if settling == nil {
		return nil
	}
	select {
	case <-*settling:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// alone commits a request in its caller's own time where nobody else is about:
// handing it over would take longer than all the rest that is not the
// database's.
func (c *Committer) alone(r *request) bool {
	if len(c.queue) > 0 || c.last.Load() > 1 || !c.turn.TryLock() {
		return false
	}
	defer c.turn.Unlock()
	select {
	case <-c.quit:
		return false
	default:
	}
	if len(c.held) > 0 {
		return false
	}
	b := new(batch)
	b.add(r)
	c.handle(b)
	return true
}

func (c *Committer) run() {
	defer close(c.done)
	for closing := false; !closing; {
		select {
		case <-c.wake:
		case <-c.quit:
			closing = true
		}
		c.turn.Lock()
		for len(c.held)+len(c.queue) > 0 {
			b := new(batch)
			for len(c.held) > 0 && !b.full() {
				b.add(c.held[0])
				c.held = c.held[1:]
			}
			if c.gather(b); len(b.requests) > 0 {
				c.handle(b)
			}
		}
		c.turn.Unlock()
	}
}

// handle commits a batch and learns from it.
func (c *Committer) handle(b *batch) {
	start := time.Now()
	c.commit(b)
	if settling := c.settling.Swap(nil); settling != nil {
		close(*settling)
	}
	c.last.Store(int32(len(b.requests)))
	c.expected = len(b.requests) + len(c.held) + len(c.queue)
	c.usual += (time.Since(start) - c.usual) / 8
}

// gather takes what is queued, and waits for those who are expected where that
// pays.
func (c *Committer) gather(b *batch) {
	for !b.full() {
		select {
		case r := <-c.queue:
			b.add(r)
			continue
		default:
		}
		break
	}
	if c.last.Load() < gatherFrom {
		return
	}
	pause, over := min(c.usual/10, gatherLimit), time.Now().Add(c.usual/2)
	quiet := time.NewTimer(pause)
	defer quiet.Stop()
	for !b.full() && len(b.requests) < c.expected && time.Now().Before(over) {
		select {
		case r := <-c.queue:
			b.add(r)
			quiet.Reset(pause)
		case <-quiet.C:
			return
		}
	}
}

// batch is what one commit takes.
type batch struct {
	requests []*request
	bytes    int
}

// add takes a request, if its caller still waits.
func (b *batch) add(r *request) bool {
	if !r.take() {
		return false
	}
	b.requests = append(b.requests, r)
	for _, w := range r.append.Writes {
		for _, row := range w.Rows {
			b.bytes += len(row.Text) + len(row.Data)
		}
	}
	return true
}

// full leaves room for one more append of any size.
func (b *batch) full() bool {
	return len(b.requests) >= batchAppends || b.bytes > batchBytes-commands.MaxAppend
}

// streams are the names of all streams that requests write to or check.
func (b *batch) streams() []string {
	var names []string
	for _, r := range b.requests {
		for _, w := range r.append.Writes {
			names = append(names, w.Name)
		}
	}
	return names
}
