package eventstoredb

import (
	"context"
	"sync"
	"time"

	"assent/commands/eventlog/chain"
)

// pace gives appends their times, so that the log's times do not run backwards
// although appends go on at once and the server puts them in any order. Appends
// of one round have one time, and the next round begins when all of the last
// are done.
type pace struct {
	clock func() time.Time

	mu   sync.Mutex // of what follows
	last time.Time  // the latest time that an event has
	at   time.Time  // of the round under way
	busy int        // appends in it
	over chan struct{}
}

// join is how long after its beginning a round can still be joined, by the
// clock: otherwise a lone append would make all that come just after it wait.
const join = 5 * time.Millisecond

// enter begins an append, and gives its time. Leave has to be called when it
// is done, and saw before that if it may have written.
func (p *pace) enter(ctx context.Context) (time.Time, error) {
	for {
		p.mu.Lock()
		now := chain.Time(p.clock().UnixNano())
		switch {
		case p.busy == 0:
			if now.Before(p.last) {
				now = p.last
			}
			p.at, p.over = now, make(chan struct{})
			fallthrough
		case now.Sub(p.at) <= join:
			p.busy++
			at := p.at
			p.mu.Unlock()
			return at, nil
		}
		over := p.over
		p.mu.Unlock()
		select {
		case <-over:
		case <-ctx.Done():
			return time.Time{}, ctx.Err()
		}
	}
}

// leave ends an append.
func (p *pace) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy--; p.busy == 0 {
		close(p.over)
	}
}

// saw keeps later rounds from an earlier time than an event has.
func (p *pace) saw(at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at.After(p.last) {
		p.last = at
	}
}
