package logtest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assent/commands"
	"assent/domain"
)

// Clock is a clock that moves only when told to.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// Now is the time it shows.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Move moves it on, or back.
func (c *Clock) Move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Log is a log under test. Its methods fail the test where the log does not
// do as it should.
type Log struct {
	commands.Log
	T     *testing.T
	Clock *Clock
	suite *suite // whose case it is
}

// NewLog opens an empty log at noon of a day in 2026.
func NewLog(t *testing.T, open Open) *Log {
	t.Helper()
	clock := &Clock{now: time.Date(2026, 3, 14, 12, 0, 0, 123456789, time.UTC)}
	return &Log{Log: open(t, clock.Now), T: t, Clock: clock}
}

// reopen closes the log and opens it anew.
func (l *Log) reopen() {
	l.T.Helper()
	l.Log = l.suite.again(l.T, l.Log, l.Clock.Now)
}

// lose makes the answer of the next append be lost.
func (l *Log) lose() {
	l.T.Helper()
	l.suite.lose(l.T, l.Log)
}

// beside is the same log as another process has it, whose clock is off.
func (l *Log) beside(off time.Duration) *Log {
	l.T.Helper()
	clock := &Clock{now: l.Clock.Now().Add(off)}
	return &Log{Log: l.suite.beside(l.T, l.Log, clock.Now), T: l.T, Clock: clock, suite: l.suite}
}

// Article is the stream of an article in the workspace home.
func Article(id string) domain.Stream {
	return domain.Stream{Category: "article", Workspace: "home", ID: id}
}

// Event is an event with an id, and data that tells it from others.
func Event(id string) domain.Fresh {
	return domain.Fresh{
		ID:       domain.ID("ev_" + id),
		Word:     "article.updated",
		Revision: 1,
		Envelope: domain.Envelope{
			Action:    domain.ID("act_" + id),
			Name:      "article.update",
			Principal: domain.Principal{Kind: domain.KindAgent, ID: "agent_1"},
			Person:    "person_1",
			Verdict:   &domain.Verdict{Answer: domain.Propose, Cause: "tool", Rules: "1"},
			Reason:    &domain.Sealed{Person: "person_1", Box: []byte{0, 1, 255}},
		},
		Data: []byte(`{"title": "` + id + `"}`),
	}
}

// Events are several events.
func Events(ids ...string) []domain.Fresh {
	events := make([]domain.Fresh, len(ids))
	for i, id := range ids {
		events[i] = Event(id)
	}
	return events
}

// To is a write to an article that expects a version; without ids, a check.
func To(article string, expect domain.Version, ids ...string) commands.Write {
	return commands.Write{Stream: Article(article), Expect: expect, Events: Events(ids...)}
}

// numbered is a write of so many events.
func numbered(article string, expect domain.Version, n int) commands.Write {
	w := To(article, expect)
	for i := range n {
		w.Events = append(w.Events, Event(fmt.Sprintf("%s-%d", article, int(expect)+i+1)))
	}
	return w
}

// Must appends, and the log has to take it.
func (l *Log) Must(writes ...commands.Write) commands.Receipt {
	l.T.Helper()
	r, err := l.Append(l.T.Context(), writes...)
	if err != nil {
		l.T.Fatalf("append: %v", err)
	}
	return r
}

// Fails appends, and the log has to refuse without a trace. It returns why.
func (l *Log) Fails(writes ...commands.Write) error {
	l.T.Helper()
	return l.Untouched(func() error {
		r, err := l.Append(l.T.Context(), writes...)
		if err == nil {
			l.T.Fatalf("the append was taken at position %d", r.Position)
		}
		if r != (commands.Receipt{}) {
			l.T.Errorf("a failed append has the receipt %v", r)
		}
		return err
	})
}

// Untouched says that do leaves head and events as they are.
func (l *Log) Untouched(do func() error) error {
	l.T.Helper()
	all := l.All()
	head := l.End() // after reading: what another process wrote is then heard of
	err := do()
	if now := l.End(); now != head {
		l.T.Errorf("the head moved from %v to %v", head, now)
	}
	if d := diff(all, l.All()); d != "" {
		l.T.Errorf("the events changed:\n%s", d)
	}
	return err
}

// All reads the whole log.
func (l *Log) All() []domain.Record { l.T.Helper(); return l.After(0, 1<<20) }

// After reads at most limit events after a position.
func (l *Log) After(position domain.Position, limit int) []domain.Record {
	l.T.Helper()
	recs, err := l.ReadAll(l.T.Context(), position, limit)
	if err != nil {
		l.T.Fatalf("reading the log: %v", err)
	}
	return recs
}

// Stream reads a whole stream.
func (l *Log) Stream(s domain.Stream) []domain.Record {
	l.T.Helper()
	recs, err := l.ReadStream(l.T.Context(), s, 0)
	if err != nil {
		l.T.Fatalf("reading %s: %v", s, err)
	}
	return recs
}

// End is the head of the log.
func (l *Log) End() commands.Head {
	l.T.Helper()
	head, err := l.Head(l.T.Context())
	if err != nil {
		l.T.Fatalf("head: %v", err)
	}
	return head
}

// Same compares two values.
func (l *Log) Same(what string, got, want any) {
	l.T.Helper()
	if d := diff(want, got); d != "" {
		l.T.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// diff is how got differs from want. What does not differ, which is most, is
// found quickly.
func diff(want, got any) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got)
}

// holds says what the log holds, in short and in order.
func (l *Log) holds(want ...string) {
	l.T.Helper()
	l.Same("events", ids(l.All()), want)
}

// ids are records in short: stream@version id, in order.
func ids(recs []domain.Record) []string {
	var short []string
	for _, r := range recs {
		short = append(short, fmt.Sprintf("%s@%d %s", r.Stream.ID, r.Version, r.ID))
	}
	return short
}

// sound says that a whole log is well formed: positions rise, without gaps on a
// log that is atomic, versions follow each other in every stream, time does not
// run backwards, no event is there twice, and it ends at the head.
func (l *Log) sound() []domain.Record {
	l.T.Helper()
	all := l.All()
	versions := make(map[domain.Stream]domain.Version)
	seen := make(map[domain.ID]bool)
	var last domain.Record
	for _, r := range all {
		versions[r.Stream]++
		switch {
		case r.Position <= last.Position, l.Atomic() && r.Position != last.Position+1:
			l.T.Fatalf("position %d comes after %d", r.Position, last.Position)
		case r.Version != versions[r.Stream]:
			l.T.Fatalf("%s has version %d at position %d, not %d", r.Stream, r.Version, r.Position, versions[r.Stream])
		case r.At.Before(last.At):
			l.T.Fatalf("position %d was recorded at %v, before the one in front of it at %v", r.Position, r.At, last.At)
		case seen[r.ID]:
			l.T.Fatalf("the event %s is there twice", r.ID)
		}
		seen[r.ID], last = true, r
	}
	head := l.End()
	l.Same("the head", commands.Receipt{Position: head.Position, At: head.At}, commands.Receipt{Position: last.Position, At: last.At})
	return all
}

// isConflict is what an append was told of a stream that is elsewhere.
func isConflict(err error) (*commands.Conflict, bool) { return errors.AsType[*commands.Conflict](err) }

// cancelled is a context that has ended.
func cancelled(l *Log) context.Context {
	ctx, cancel := context.WithCancel(l.T.Context())
	cancel()
	return ctx
}
