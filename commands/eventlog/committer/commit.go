package committer

import (
	"errors"
	"fmt"
	"sync/atomic"

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

// commit answers every request. What the database refuses is tried again one
// by one, so that an append it cannot take fails alone.
func (c *Committer) commit(requests []*request) {
	err := c.try(requests)
	if errors.Is(err, ErrRefused) && len(requests) > 1 {
		for _, r := range requests {
			c.commit([]*request{r})
		}
		return
	}
	if errors.Is(err, ErrRefused) {
		err = fmt.Errorf("%w: %w", commands.ErrUnavailable, err)
	}
	for _, r := range requests {
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
func (c *Committer) try(requests []*request) error {
	err := c.once(requests)
	if errors.Is(err, ErrMoved) {
		err = c.once(requests)
	}
	if errors.Is(err, ErrMoved) {
		return fmt.Errorf("%w: %w", commands.ErrBusy, err)
	}
	return err
}

func (c *Committer) once(requests []*request) error {
	head, err := c.backend.Begin(streams(requests))
	if err != nil {
		return err
	}
	appends, head, err := c.check(requests, head)
	if err != nil {
		c.backend.Abandon()
		return err
	}
	if err := c.backend.Commit(appends, head); err != nil {
		return err
	}
	c.moved(head)
	return nil
}

// streams are the names of all streams that requests write to or check.
func streams(requests []*request) []string {
	var names []string
	for _, r := range requests {
		for _, w := range r.append.Writes {
			names = append(names, w.Name)
		}
	}
	return names
}

// check decides what becomes of every request after a head, and gives those
// that are to be written and the head that follows. The error is the view's.
func (c *Committer) check(requests []*request, head commands.Head) ([]*admit.Append, commands.Head, error) {
	view := &view{c.backend, make(map[string][]chain.Row)}
	now := c.clock()
	var appends []*admit.Append
	for _, r := range requests {
		r.receipt, r.err = commands.Receipt{}, nil
		answer, err := r.append.Admit(view)
		if err != nil {
			return nil, head, err
		}
		if answer != nil {
			r.receipt, r.err = answer.Receipt, answer.Err
			continue
		}
		head = r.append.Stamp(head, now)
		r.receipt = commands.Receipt{Position: head.Position, At: head.At}
		if r.append.Events > 0 {
			appends = append(appends, r.append)
			view.add(r.append)
		}
	}
	return appends, head, nil
}

// view is the log with what this commit is about to write.
type view struct {
	admit.View
	rows map[string][]chain.Row // to be written, by stream
}

func (v *view) add(a *admit.Append) {
	for _, w := range a.Writes {
		if len(w.Rows) > 0 {
			v.rows[w.Name] = append(v.rows[w.Name], w.Rows...)
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
	if after < stored { // those who lose to a write of this commit need not ask the database
		if rows, err = v.View.Rows(stream, after, limit); err != nil {
			return nil, err
		}
	}
	for _, r := range v.rows[stream] {
		if r.Version > after && len(rows) < limit {
			rows = append(rows, r)
		}
	}
	return rows, nil
}
