// Package logtest holds logs to what commands.Log promises: one suite for all
// of them, and the words to write more in.
package logtest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assent/commands"
	"assent/domain"
)

// Open makes an empty log that takes its time from clock and is closed when
// the test ends.
type Open func(t *testing.T, clock func() time.Time) commands.Log

// Option tells the suite what more a log can do.
type Option func(*suite)

// Reopening says that what a log holds outlives it: again closes it and opens
// it anew from where it keeps its events.
func Reopening(again func(t *testing.T, log commands.Log, clock func() time.Time) commands.Log) Option {
	return func(s *suite) { s.again = again }
}

type suite struct {
	open  Open
	again func(t *testing.T, log commands.Log, clock func() time.Time) commands.Log
}

// Run holds the logs that open makes to every promise.
func Run(t *testing.T, open Open, options ...Option) {
	s := &suite{open: open}
	for _, o := range options {
		o(s)
	}
	for _, group := range []struct {
		name  string
		cases []Case
	}{
		{"append", appendCases},
		{"expect", expectCases},
		{"replay", replayCases},
		{"limit", limitCases},
		{"time", timeCases},
		{"read", readCases},
		{"keep", keepCases},
		{"follow", followCases},
		{"many", manyCases},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, c := range group.cases {
				t.Run(c.Name, func(t *testing.T) { c.Holds(NewLog(t, open)) })
			}
		})
	}
	t.Run("model", func(t *testing.T) { model(t, open) })
	if s.again != nil {
		t.Run("reopen", func(t *testing.T) {
			for _, c := range reopenCases {
				t.Run(c.name, func(t *testing.T) {
					l := NewLog(t, open)
					c.holds(l, func() { l.Log = s.again(t, l.Log, l.Clock.Now) })
				})
			}
		})
	}
}

// Case is one promise, said as a sentence.
type Case struct {
	Name  string
	Holds func(*Log)
}

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
}

// NewLog opens an empty log at noon of a day in 2026.
func NewLog(t *testing.T, open Open) *Log {
	t.Helper()
	clock := &Clock{now: time.Date(2026, 3, 14, 12, 0, 0, 123456789, time.UTC)}
	return &Log{open(t, clock.Now), t, clock}
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
	head, all := l.End(), l.All()
	err := do()
	if now := l.End(); now != head {
		l.T.Errorf("the head moved from %v to %v", head, now)
	}
	if d := cmp.Diff(all, l.All()); d != "" {
		l.T.Errorf("the events changed:\n%s", d)
	}
	return err
}

// All reads the whole log.
func (l *Log) All() []domain.Record {
	l.T.Helper()
	recs, err := l.ReadAll(l.T.Context(), 0, 1<<20)
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
	if d := cmp.Diff(want, got); d != "" {
		l.T.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// ids are records in short: stream@version id, in order.
func ids(recs []domain.Record) []string {
	var short []string
	for _, r := range recs {
		short = append(short, fmt.Sprintf("%s@%d %s", r.Stream.ID, r.Version, r.ID))
	}
	return short
}

// cancelled is a context that has ended.
func cancelled(l *Log) context.Context {
	ctx, cancel := context.WithCancel(l.T.Context())
	cancel()
	return ctx
}
