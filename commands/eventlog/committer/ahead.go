package committer

import (
	"errors"
	"slices"
	"time"

	"assent/commands"
	"assent/commands/eventlog/internal/admit"
)

// How long a commit waits for one who was told of a conflict to come back, and
// for all of them together.
const (
	comeback  = 100 * time.Microsecond
	comebacks = 2 * time.Millisecond
)

// tellAhead tells those who lost to others of this commit, one after another,
// each where the stream is by then. Who comes back at once is taken along, so
// that many who want one stream do not need a commit each. Nobody is waited for
// who does not come back: the rest is told once the commit is durable.
//
// A version that was passed is passed for good, unless the commit fails, so
// only who expects one of those is told. A single loser is told with the rest:
// what its conflict says is then what the database confirmed.
func (c *Committer) tellAhead(b *batch, d *draft) error {
	losers := slices.Collect(func(yield func(*request) bool) {
		for _, r := range b.requests {
			if passed(r) && !yield(r) {
				return
			}
		}
	})
	if len(losers) < 2 {
		return nil
	}
	defer func() { b.requests = slices.DeleteFunc(b.requests, (*request).told) }()
	known := make(map[string]bool)
	for _, name := range b.streams() {
		known[name] = true
	}
	over := time.Now().Add(max(comebacks, c.comeback))
	wait := time.NewTimer(c.comeback)
	defer wait.Stop()
	for len(losers) > 0 {
		r := losers[0]
		losers = losers[1:]
		if told, err := c.tell(r, d); err != nil {
			return err
		} else if !told {
			continue
		}
		wait.Reset(c.comeback)
		back := c.await(known, wait)
		if back == nil {
			return nil
		}
		if !b.add(back) {
			continue
		}
		if err := d.take(back); err != nil {
			return err
		}
		if passed(back) {
			losers = append(losers, back)
		}
		if b.full() || time.Now().After(over) {
			return nil
		}
	}
	return nil
}

// passed says that a request expects a version that its stream has passed.
func passed(r *request) bool {
	lost, ok := errors.AsType[*commands.Conflict](r.err)
	return ok && lost.Actual > lost.Expected
}

// tell answers a request that lost with where the stream is by now.
func (c *Committer) tell(r *request, d *draft) (bool, error) {
	if err := d.take(r); err != nil || !passed(r) {
		return false, err
	}
	if c.settling.Load() == nil {
		settling := make(chan struct{})
		c.settling.Store(&settling)
	}
	close(r.answered)
	return true, nil
}

// await takes the next request for streams that this commit knows, and keeps
// others for the next. There is none in time, or one too many.
func (c *Committer) await(known map[string]bool, wait *time.Timer) *request {
	for len(c.held) < batchAppends {
		select {
		case r := <-c.queue:
			if slices.ContainsFunc(r.append.Writes, func(w admit.Write) bool { return !known[w.Name] }) {
				c.held = append(c.held, r)
				continue
			}
			return r
		case <-wait.C:
			return nil
		}
	}
	return nil
}
