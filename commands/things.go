package commands

import (
	"context"
	"fmt"
	"sync"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/vocab"
)

// thing is one stream as it was read: its state and the version that is of.
type thing struct {
	stream  domain.Stream
	state   domain.State
	version domain.Version
}

// things folds streams, and remembers what they folded to. What it remembers
// is not trusted to be the latest: every load reads what came since, unless
// the log knows that nothing did.
type things struct {
	log   Log
	words *vocab.Vocabulary
	kinds map[string]action.Kind

	under *things                                            // of the log below a draft's; nil below
	rest  func(domain.Stream, domain.Version) domain.Version // notes where a stream is below

	mu     sync.Mutex
	kept   map[domain.Stream]thing
	makers map[domain.Stream]domain.Principal // who made a thing is so for ever
}

// standing is a log that knows where streams are without asking its file. Only
// a log that nobody else writes to is one.
type standing interface {
	Standing(domain.Stream) (domain.Version, bool)
}

// most is how many states are remembered.
const most = 4096

func newThings(p Parts) *things {
	return &things{log: p.Log, words: p.Words, kinds: p.Kinds, kept: map[domain.Stream]thing{}, makers: map[domain.Stream]domain.Principal{}}
}

// load is a stream as it stands now.
func (ts *things) load(ctx context.Context, s domain.Stream) (thing, error) {
	kind, ok := ts.kinds[s.Category]
	if !ok {
		return thing{}, fmt.Errorf("no kind of thing is called %q", s.Category)
	}
	ts.mu.Lock()
	t, kept := ts.kept[s]
	ts.mu.Unlock()
	if !kept {
		var err error
		if t, err = ts.first(ctx, kind, s); err != nil {
			return thing{}, err
		}
	}
	if at, ok := ts.log.(standing); kept && ok {
		if v, known := at.Standing(s); known && v == t.version {
			return t, nil
		}
	}
	records, err := ts.log.ReadStream(ctx, s, t.version)
	if err != nil {
		return thing{}, fmt.Errorf("read %s: %w", s, err)
	}
	if len(records) == 0 {
		if !kept {
			ts.keep(t) // that there is nothing is worth remembering, too
		}
		return t, nil
	}
	for _, r := range records {
		event, err := ts.words.Read(r)
		if err != nil {
			return thing{}, err
		}
		if t.state, err = kind.Evolve(t.state, event.Event); err != nil {
			return thing{}, err
		}
		t.version = r.Version
	}
	ts.keep(t)
	return t, nil
}

// first is a stream before anything was read of it here: as it is below, where
// there is something below, and still where it was when it was first read.
func (ts *things) first(ctx context.Context, kind action.Kind, s domain.Stream) (thing, error) {
	if ts.under != nil {
		t, err := ts.under.load(ctx, s)
		if err != nil || ts.rest(s, t.version) == t.version {
			return t, err
		}
	}
	zero, err := kind.Fold(nil)
	return thing{stream: s, state: zero}, err
}

func (ts *things) keep(t thing) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if len(ts.kept) >= most {
		for s := range ts.kept { // any will do: what is needed again is read again
			delete(ts.kept, s)
			if len(ts.kept) < most*3/4 {
				break
			}
		}
	}
	if old, ok := ts.kept[t.stream]; !ok || old.version < t.version {
		ts.kept[t.stream] = t
	}
}

// history is every event of a stream, read back.
func (ts *things) history(ctx context.Context, s domain.Stream) ([]domain.Recorded, error) {
	records, err := ts.log.ReadStream(ctx, s, 0)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", s, err)
	}
	events := make([]domain.Recorded, len(records))
	for i, r := range records {
		if events[i], err = ts.words.Read(r); err != nil {
			return nil, err
		}
	}
	return events, nil
}

// at is a stream's state as it was at a version.
func (ts *things) at(ctx context.Context, t thing, v domain.Version) (domain.State, error) {
	if v == t.version {
		return t.state, nil
	}
	if v < 0 || v > t.version {
		return nil, domain.Refuse("not-found", "There is no version %d.", v)
	}
	history, err := ts.history(ctx, t.stream)
	if err != nil {
		return nil, err
	}
	return ts.kinds[t.stream.Category].Fold(eventsOf(history[:v]))
}

// known hands a thing to a decision.
func (ts *things) known(ctx context.Context, t thing) action.Thing {
	return action.Thing{
		State:   t.state,
		Version: t.version,
		At:      func(v domain.Version) (domain.State, error) { return ts.at(ctx, t, v) },
	}
}

// maker is who made a thing; nobody, where there is none.
func (ts *things) maker(ctx context.Context, s domain.Stream) (domain.Principal, error) {
	ts.mu.Lock()
	by, known := ts.makers[s]
	ts.mu.Unlock()
	if known {
		return by, nil
	}
	records, err := ts.log.ReadStream(ctx, s, 0)
	if err != nil || len(records) == 0 {
		return domain.Principal{}, err
	}
	by = records[0].Envelope.Principal
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if len(ts.makers) >= most {
		clear(ts.makers) // what is needed again is read again
	}
	ts.makers[s] = by
	return by, nil
}

func eventsOf(history []domain.Recorded) []any {
	events := make([]any, len(history))
	for i, h := range history {
		events[i] = h.Event
	}
	return events
}
