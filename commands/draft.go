package commands

import (
	"context"
	"errors"
	"iter"
	"maps"
	"sync"
	"time"

	"assent/domain"
	"assent/domain/action"
)

// draft is a log on top of the log: what is appended to it is kept aside, and
// read back as if it were there. Calls that are rehearsed one after the other
// take the very road they would take, with this at its end. What was read below
// stays as it was first read.
type draft struct {
	Log
	now  time.Time
	head Head

	mu      sync.Mutex
	below   map[domain.Stream]domain.Version // where streams were when they were first read
	checks  map[domain.Stream]domain.Version // what the appends said they rest on, below
	pending map[domain.Stream][]domain.Record
	order   []domain.Stream        // of pending, by first append
	touched map[domain.Stream]bool // since begin
	written map[domain.Stream]bool // since begin
}

func newDraft(l Log, head Head, now time.Time) *draft {
	return &draft{
		Log: l, now: now, head: head,
		below: map[domain.Stream]domain.Version{}, checks: map[domain.Stream]domain.Version{}, pending: map[domain.Stream][]domain.Record{},
		touched: map[domain.Stream]bool{}, written: map[domain.Stream]bool{},
	}
}

// rest notes that a stream was read below at a version, and where it counts as
// standing there from now on.
func (d *draft) rest(s domain.Stream, v domain.Version) domain.Version {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.touched[s] = true
	if was, read := d.below[s]; read {
		return was
	}
	d.below[s] = v
	return v
}

// Head is where the log below was, with what is kept aside.
func (d *draft) Head(context.Context) (Head, error) { return d.head, nil }

// Atomic says that what is kept aside is so at once.
func (d *draft) Atomic() bool { return true }

// ReadStream gives what is below, as it was first read, and what is kept aside.
func (d *draft) ReadStream(ctx context.Context, s domain.Stream, after domain.Version) ([]domain.Record, error) {
	d.mu.Lock()
	d.touched[s] = true
	below, known := d.below[s]
	aside := d.pending[s]
	d.mu.Unlock()
	var records []domain.Record
	if !known || after < below {
		var err error
		if records, err = d.Log.ReadStream(ctx, s, after); err != nil {
			return nil, err
		}
		if !known {
			below = d.rest(s, after+domain.Version(len(records)))
		}
		if last := int(below - after); len(records) > last {
			records = records[:max(last, 0)]
		}
	}
	for _, r := range aside {
		if r.Version > after {
			records = append(records, r)
		}
	}
	return records, nil
}

// ReadAll and Follow are not asked of a draft.
func (d *draft) ReadAll(context.Context, domain.Position, int) ([]domain.Record, error) {
	return nil, errors.ErrUnsupported
}

// Follow is not asked of a draft.
func (d *draft) Follow(context.Context, domain.Position) iter.Seq2[domain.Record, error] {
	return func(yield func(domain.Record, error) bool) { yield(domain.Record{}, errors.ErrUnsupported) }
}

// Append keeps events aside if every expectation holds, and what they rest on.
func (d *draft) Append(ctx context.Context, writes ...Write) (Receipt, error) {
	for _, w := range writes {
		d.mu.Lock()
		_, known := d.below[w.Stream]
		d.mu.Unlock()
		if known {
			continue
		}
		if _, err := d.ReadStream(ctx, w.Stream, w.Expect); err != nil {
			return Receipt{}, err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, w := range writes {
		if at := d.below[w.Stream] + domain.Version(len(d.pending[w.Stream])); at != w.Expect {
			return Receipt{}, &Conflict{Stream: w.Stream, Expected: w.Expect, Actual: at}
		}
	}
	for _, w := range writes {
		if len(d.pending[w.Stream]) == 0 {
			d.checks[w.Stream] = d.below[w.Stream]
		}
		for i, e := range w.Events {
			if len(d.pending[w.Stream]) == 0 {
				d.order = append(d.order, w.Stream)
			}
			d.head.Position++
			d.written[w.Stream] = true
			d.pending[w.Stream] = append(d.pending[w.Stream], domain.Record{
				Fresh: e, Stream: w.Stream, Version: w.Expect + domain.Version(i+1), Position: d.head.Position, At: d.now,
			})
		}
	}
	return Receipt{Position: d.head.Position, At: d.now}, nil
}

// Close does nothing: the log below is its owner's.
func (d *draft) Close() error { return nil }

// writes are everything that was kept aside and all it rests on, as one append.
func (d *draft) writes() []Write {
	var all []Write
	for _, s := range d.order {
		w := Write{Stream: s, Expect: d.below[s]}
		for _, r := range d.pending[s] {
			w.Events = append(w.Events, r.Fresh)
		}
		all = append(all, w)
	}
	for s, v := range d.checks {
		if len(d.pending[s]) == 0 {
			all = append(all, Write{Stream: s, Expect: v})
		}
	}
	return all
}

// rests are the streams below that the appends said they rest on.
func (d *draft) rests() map[domain.Stream]domain.Version { return maps.Clone(d.checks) }

// begin gives which streams were looked at and written to since it was last
// called, and begins anew.
func (d *draft) begin() (touched, written map[domain.Stream]bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	touched, written = d.touched, d.written
	d.touched, d.written = map[domain.Stream]bool{}, map[domain.Stream]bool{}
	return touched, written
}

// onDraft is a road that ends in a draft of this one's log.
func (r *Road) onDraft(ctx context.Context) (*Road, *draft, error) {
	head, err := r.Log.Head(ctx)
	if err != nil {
		return nil, nil, err
	}
	d := newDraft(r.Log, head, r.now(ctx))
	parts := r.Parts
	parts.Log, parts.Pending = d, unnamed{}
	above := &Road{Parts: parts, things: newThings(parts), conduct: r.conduct}
	above.things.under, above.things.rest = r.things, d.rest
	return above, d, nil
}

// unnamed refuses to say what a publish without items would be of: the read
// models know nothing of what is only kept aside.
type unnamed struct{}

func (unnamed) Pending(context.Context, string, string, domain.Position) ([]action.Named, error) {
	return nil, domain.Refuse("invalid", "Among several calls, name the items that are to go live; `$part.1` stands for what part 1 makes.")
}
