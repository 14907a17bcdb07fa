package eventstoredb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"

	"assent/commands"
	"assent/commands/eventlog/chain"
	"assent/commands/eventlog/internal/admit"
	"assent/domain"
)

// maxAppend is what a server takes at once unless it is set otherwise, in bytes
// as it counts them: more than commands.MaxAppend, but what is put around many
// small events counts too.
const maxAppend = 1 << 20

// lookers is how many streams of one append are looked at at once.
const lookers = 8

// Append looks at every expectation, then writes one stream after another, each
// with all its events or none, and stops at the first that fails. Besides what
// commands.Log names, a caller's fault is an error that tells it: a malformed
// append, or event ids used again for something else. A context that ends
// before the first stream is written leaves nothing behind; later it no longer
// matters.
//
// A call whose answer is lost is made again: with the same ids and the same
// expectation the server writes them once. Only where that does not tell either
// is the answer ErrUnknown.
func (l *Log) Append(ctx context.Context, writes ...commands.Write) (commands.Receipt, error) {
	a, err := admit.Encode(writes)
	if err == nil {
		err = l.begin(ctx)
	}
	if err != nil {
		return commands.Receipt{}, err
	}
	defer l.under.Done()
	for _, w := range a.Writes {
		if err := l.mirror.refuses(w.Name); err != nil {
			return commands.Receipt{}, err
		}
	}
	if a.Events == 0 {
		return l.check(ctx, a)
	}
	at, err := l.pace.enter(ctx)
	if err != nil {
		return commands.Receipt{}, err
	}
	defer l.pace.leave()
	last, err := l.write(ctx, a, at)
	if errors.Is(err, commands.ErrUnknown) {
		l.pace.saw(at) // what was read back has been seen
	}
	if err != nil {
		return commands.Receipt{}, err
	}
	return commands.Receipt{Position: last.Position, At: last.At}, nil
}

// check answers an append that only checks.
func (l *Log) check(ctx context.Context, a *admit.Append) (commands.Receipt, error) {
	v, err := l.look(ctx, a)
	if err != nil {
		return commands.Receipt{}, err
	}
	answer, err := a.Admit(v)
	switch {
	case err != nil:
		return commands.Receipt{}, err
	case answer != nil:
		return answer.Receipt, answer.Err
	}
	head, err := l.Head(ctx)
	return commands.Receipt{Position: head.Position, At: head.At}, err
}

// write writes what is left to be written of an append, and gives its last
// event.
func (l *Log) write(ctx context.Context, a *admit.Append, at time.Time) (last chain.Row, err error) {
	left := a.Writes
	if len(left) > 1 { // of one stream the server itself looks at the expectation
		for _, w := range left {
			if _, err := l.events(w, at); err != nil {
				return last, err
			}
		}
		v, err := l.look(ctx, a)
		if err != nil {
			return last, err
		}
		var answer *admit.Answer
		left, last, answer, err = a.Weakly(v)
		switch {
		case err != nil:
			return last, err
		case answer != nil:
			return chain.Row{Record: domain.Record{Position: answer.Receipt.Position, At: answer.Receipt.At}}, answer.Err
		}
	}
	if err := ctx.Err(); err != nil {
		return last, err
	}
	ctx = context.WithoutCancel(ctx)
	for _, w := range left {
		row, amiss, err := l.put(ctx, w, at)
		switch begun := last.Position > 0; {
		case err != nil && begun && !errors.Is(err, commands.ErrUnknown):
			return last, fmt.Errorf("%w: a part of it was written: %v", commands.ErrUnknown, err)
		case err != nil:
			return last, err
		case amiss != nil && begun:
			return last, admit.Partly(amiss)
		case amiss != nil:
			return last, amiss
		case row.Position > last.Position:
			last = row
		}
	}
	return last, nil
}

// put writes one stream. There, it is in the log now, or was already; amiss
// says why it never will be, at that version. The error is ErrUnknown, or says
// that nothing was written.
func (l *Log) put(ctx context.Context, w admit.Write, at time.Time) (there chain.Row, amiss, err error) {
	events, err := l.events(w, at)
	if err != nil {
		return there, nil, err
	}
	var doubt, last error     // of the calls so far: the last that may have written, and the last
	pause := time.Duration(0) // the first time is often just the first call after a break
	for begun := time.Now(); ; pause = min(max(2*pause, firstPause), lastPause) {
		last = l.send(ctx, w, events)
		switch meant(last) {
		case fine:
			if there, amiss, last = l.confirm(ctx, w); last == nil {
				return there, amiss, nil
			}
			if errors.Is(last, ErrDamaged) {
				return there, nil, fmt.Errorf("%w: %w", commands.ErrUnknown, last)
			}
			doubt = last
		case moved:
			there, amiss, err = w.Stands(&view{l: l, ctx: ctx})
			if err == nil && (amiss != nil || there.Position > 0) {
				return there, amiss, nil
			}
			if err != nil { // why it would not take it is not known; it may have before
				doubt = errors.Join(doubt, err)
			}
		case unknown:
			doubt = last
		case deleted:
			return there, nil, l.unread(w.Name, last)
		case denied, refused:
			if doubt == nil {
				return there, nil, l.rejected(last)
			}
		}
		spent := time.Since(begun)
		if doubt == nil && (spent > l.answer/2 || hopeless(last)) || spent > 2*l.answer {
			break
		}
		rest(ctx, pause)
	}
	if doubt == nil {
		return there, nil, unwritten(last)
	}
	there, amiss, err = w.Stands(&view{l: l, ctx: ctx})
	if err == nil && (amiss != nil || there.Position > 0) {
		return there, amiss, nil
	}
	return there, nil, fmt.Errorf("%w: %w", commands.ErrUnknown, doubt)
}

// rejected is the answer to an append that the server never will take.
func (l *Log) rejected(err error) error {
	if meant(err) == denied {
		return unwritten(err)
	}
	return fmt.Errorf("%w: the server rejects it; its MaxAppendSize must be 1 MiB or more: %w", commands.ErrUnavailable, err)
}

// send makes one attempt to write a stream.
func (l *Log) send(ctx context.Context, w admit.Write, events []esdb.EventData) error {
	options := esdb.AppendToStreamOptions{ExpectedRevision: expected(w.Expect), Deadline: &l.answer}
	_, err := ask(ctx, l.guard, func(ctx context.Context, c *esdb.Client, _ func()) (*esdb.WriteResult, error) {
		return c.AppendToStream(ctx, l.prefix+w.Name, options, events...)
	})
	return err
}

// confirm reads back what the server took: it may have been taken long ago, or
// from somebody else with the same ids, whose envelopes and data the server
// does not compare.
func (l *Log) confirm(ctx context.Context, w admit.Write) (there chain.Row, amiss, err error) {
	stored, err := l.stream(ctx, w.Name, w.Expect, uint64(len(w.Rows)))
	if err != nil {
		return there, nil, err
	}
	if slices.EqualFunc(stored, w.Rows, alike) {
		return stored[len(stored)-1], nil, nil
	}
	there, amiss, err = w.Stands(&view{l: l, ctx: ctx})
	if err == nil && amiss == nil && there.Position == 0 {
		err = fmt.Errorf("%w: %s: the server took events of it and does not show them", ErrDamaged, w.Name)
	}
	return there, amiss, err
}

// alike says that a stored event is the one given.
func alike(stored, given chain.Row) bool {
	return stored.ID == given.ID && stored.Word == given.Word && stored.Revision == given.Revision &&
		bytes.Equal(stored.Text, given.Text) && bytes.Equal(stored.Data, given.Data)
}

// events spells the events of a write. The error is the refusal limit where the
// server would not take them at once.
func (l *Log) events(w admit.Write, at time.Time) ([]esdb.EventData, error) {
	events := make([]esdb.EventData, len(w.Rows))
	total := 0
	for i, r := range w.Rows {
		e, err := spell(r, at)
		if err != nil {
			return nil, err
		}
		events[i] = e
		total += weight(e)
	}
	if total > maxAppend {
		return nil, domain.Refuse("limit", "These %d changes to one thing are %d bytes together, more than the %d that can be written at once. Split them into several calls.", len(events), total, maxAppend)
	}
	return events, nil
}

// look reads where every stream of an append is, several at once.
func (l *Log) look(ctx context.Context, a *admit.Append) (*view, error) {
	v := &view{l: l, ctx: ctx, known: make(map[string]domain.Version, len(a.Writes))}
	var mu sync.Mutex
	var failed error
	var all sync.WaitGroup
	slots := make(chan struct{}, lookers)
	for _, w := range a.Writes {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			version, err := l.version(ctx, w.Name)
			mu.Lock()
			defer mu.Unlock()
			if err != nil && failed == nil {
				failed = err
			}
			v.known[w.Name] = version
		})
	}
	all.Wait()
	return v, failed
}

// view is the server as an append sees it.
type view struct {
	l     *Log
	ctx   context.Context // of the one append it is made for
	known map[string]domain.Version
}

// Version is where a stream is.
func (v *view) Version(stream string) (domain.Version, error) {
	if version, ok := v.known[stream]; ok {
		return version, nil
	}
	return v.l.version(v.ctx, stream)
}

// Rows are events of a stream after a version.
func (v *view) Rows(stream string, after domain.Version, limit int) ([]chain.Row, error) {
	return v.l.stream(v.ctx, stream, after, uint64(limit))
}
