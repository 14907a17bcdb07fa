package committer

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"assent/commands"
	"assent/commands/eventlog/chain"
	"assent/commands/eventlog/internal/admit"
	"assent/domain"
)

// request is one append on its way through a commit, and then its answer.
type request struct {
	append   *admit.Append
	state    atomic.Int32
	answered chan struct{}
	receipt  commands.Receipt
	err      error
}

// A request is waiting until either its commit begins or its caller leaves.
const (
	waiting = iota
	taken
	left
)

func (r *request) take() bool  { return r.state.CompareAndSwap(waiting, taken) }
func (r *request) leave() bool { return r.state.CompareAndSwap(waiting, left) }

// last is a request's answer once nothing is committed any more.
func (r *request) last() (commands.Receipt, error) {
	select {
	case <-r.answered:
		return r.receipt, r.err
	default:
		return commands.Receipt{}, errClosed
	}
}

// told says that a request was answered before its commit.
func (r *request) told() bool {
	select {
	case <-r.answered:
		return true
	default:
		return false
	}
}

// commit answers every request. What the database refuses is tried again one
// by one, so that an append it cannot take fails alone.
func (c *Committer) commit(b *batch) {
	err := c.try(b)
	if errors.Is(err, ErrRefused) && len(b.requests) > 1 {
		for _, r := range b.requests {
			c.commit(&batch{requests: []*request{r}})
		}
		return
	}
	if errors.Is(err, ErrRefused) {
		err = fmt.Errorf("%w: %w", commands.ErrUnavailable, err)
	}
	for _, r := range b.requests {
		if err != nil {
			// An answer may rest on a request before it in the same commit,
			// so none counts unless the commit does.
			r.receipt, r.err = commands.Receipt{}, err
		}
		close(r.answered)
	}
}

// try takes requests through one commit, or two where the log has moved on: the
// second holds its end.
func (c *Committer) try(b *batch) error {
	err := c.once(b)
	if errors.Is(err, ErrMoved) {
		err = c.once(b)
	}
	if errors.Is(err, ErrMoved) {
		return fmt.Errorf("%w: %w", commands.ErrBusy, err)
	}
	return err
}

func (c *Committer) once(b *batch) error {
	head, err := c.backend.Begin(b.streams())
	if err != nil {
		return err
	}
	d := &draft{
		view: &view{c.backend, &c.recent, b.requests, make(map[string][]chain.Row)},
		now:  c.clock(),
		head: head,
	}
	for _, r := range b.requests {
		if err = d.take(r); err != nil {
			break
		}
	}
	if err == nil && c.ahead {
		err = c.tellAhead(b, d)
	}
	if err != nil {
		c.backend.Abandon()
		return err
	}
	if err := c.backend.Commit(d.appends, d.head); err != nil {
		return err
	}
	for _, a := range d.appends {
		for _, w := range a.Writes {
			c.recent.add(w.Name, w.Rows)
		}
	}
	c.moved(d.head)
	return nil
}

// draft is what a commit is about to write.
type draft struct {
	view    *view
	now     time.Time
	appends []*admit.Append
	head    commands.Head // after them
}

// take decides what becomes of a request after what is there already. The
// error is the view's.
func (d *draft) take(r *request) error {
	r.receipt, r.err = commands.Receipt{}, nil
	answer, err := r.append.Admit(d.view)
	if err != nil {
		return err
	}
	if answer != nil {
		r.receipt, r.err = answer.Receipt, answer.Err
		return nil
	}
	d.head = r.append.Stamp(d.head, d.now)
	r.receipt = commands.Receipt{Position: d.head.Position, At: d.head.At}
	if r.append.Events > 0 {
		d.appends = append(d.appends, r.append)
		d.view.add(r.append)
	}
	return nil
}

// view is the log with what this commit is about to write.
type view struct {
	admit.View
	recent *recent
	asking []*request             // what this commit began with
	rows   map[string][]chain.Row // to be written, by stream
}

func (v *view) add(a *admit.Append) {
	for _, w := range a.Writes {
		switch known := v.rows[w.Name]; {
		case len(w.Rows) == 0:
		case known == nil: // mostly, and rows are large
			v.rows[w.Name] = slices.Clip(w.Rows)
		default:
			v.rows[w.Name] = append(known, w.Rows...)
		}
	}
}

// Version is where a stream is once everything so far is written.
func (v *view) Version(stream string) (domain.Version, error) {
	if rows := v.rows[stream]; len(rows) > 0 {
		return rows[len(rows)-1].Version, nil
	}
	return v.View.Version(stream)
}

// Rows are at most limit events of a stream after a version.
func (v *view) Rows(stream string, after domain.Version, limit int) ([]chain.Row, error) {
	stored, err := v.View.Version(stream)
	if err != nil {
		return nil, err
	}
	var rows []chain.Row
	if after < stored { // those who lose to a write of this commit or the last need not ask the database
		known, ok := v.recent.find(stream, after, stored, limit)
		if !ok {
			if known, err = v.missed(stream, after, stored, limit); err != nil {
				return nil, err
			}
		}
		rows = slices.Clip(known[:min(len(known), limit)])
	}
	for _, r := range v.rows[stream] {
		if r.Version > after && len(rows) < limit {
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// missed asks the database for rows. Where another instance has been faster,
// more than one of this commit will ask: it asks for all of them at once.
func (v *view) missed(stream string, after, stored domain.Version, limit int) ([]chain.Row, error) {
	from, to := after, after+domain.Version(limit)
	for _, r := range v.asking {
		for _, w := range r.append.Writes {
			if w.Name != stream || w.Expect >= stored {
				continue
			}
			first, last := min(from, w.Expect), max(to, w.Expect+domain.Version(len(w.Rows)))
			if _, known := v.recent.find(stream, w.Expect, stored, len(w.Rows)); !known && last-first <= recentMissed {
				from, to = first, last
			}
		}
	}
	rows, err := v.View.Rows(stream, from, int(to-from))
	if err != nil {
		return nil, err
	}
	v.recent.add(stream, rows)
	return rows[min(int(after-from), len(rows)):], nil
}
