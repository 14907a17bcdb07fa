package committer

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"assent/commands"
	"assent/commands/eventlog/chain"
	"assent/commands/eventlog/internal/admit"
	"assent/commands/eventlog/logtest"
	"assent/domain"
)

// storm lets n callers want one stream at once, each taking the version that
// its conflict names. It returns once all are queued, and what they came to is
// there once the channel is closed.
func storm(t *testing.T, c *Committer, n int) (errs []error, done <-chan struct{}) {
	t.Helper()
	errs = make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			at := domain.Version(0)
			for {
				_, err := c.Append(context.Background(), spelt(t, logtest.To("hot", at, fmt.Sprint(i))))
				lost, moved := errors.AsType[*commands.Conflict](err)
				if !moved {
					errs[i] = err
					return
				}
				at = lost.Actual
			}
		})
	}
	for len(c.queue) < n {
		runtime.Gosched()
	}
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		wg.Wait()
	}()
	return errs, finished
}

// gatedAhead is as gated, and who is told ahead has all the time to come back.
func gatedAhead(t *testing.T, s *shelf) *Committer {
	t.Helper()
	s.turn, s.begun = make(chan struct{}), make(chan struct{}, 100)
	s.release = sync.OnceFunc(func() { close(s.turn) })
	c := New(s, func() time.Time { return time.Unix(1, 0) }, func(commands.Head) {}, Ahead(), func(c *Committer) { c.comeback = time.Minute })
	t.Cleanup(func() {
		s.release()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	go func() { _, _ = c.Append(context.Background(), spelt(t, logtest.To("first", 0, "first"))) }()
	<-s.begun
	return c
}

func TestThoseWhoWantOneStreamShareACommit(t *testing.T) {
	s := new(shelf)
	c := gatedAhead(t, s)
	errs, done := storm(t, c, 8)
	s.release()
	<-done
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if fmt.Sprint(s.commits) != "[1 8]" {
		t.Errorf("the commits were of %v appends", s.commits)
	}
}

func TestWhatAConflictWasAboutIsThereToBeReadOnceItIsSettled(t *testing.T) {
	s := &shelf{durable: make(chan struct{})}
	c := gatedAhead(t, s)
	_, done := storm(t, c, 8)
	s.release()
	for c.settling.Load() == nil {
		runtime.Gosched()
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Settle(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("before the commit is durable: %v", err)
	}
	close(s.durable)
	if err := c.Settle(t.Context()); err != nil {
		t.Error(err)
	}
	s.mu.Lock()
	if rows, _ := s.Rows(logtest.Article("hot").String(), 0, 100); len(rows) != 8 {
		t.Errorf("%d events are there", len(rows))
	}
	s.mu.Unlock()
	<-done
	if err := c.Settle(ended); err != nil {
		t.Errorf("with nothing to wait for: %v", err)
	}
}

func TestACommitThatFailsFailsThoseWhoWereNotToldAConflict(t *testing.T) {
	s := &shelf{doubt: true}
	c := gatedAhead(t, s)
	errs, done := storm(t, c, 4)
	s.release()
	<-done
	for i, err := range errs {
		if !errors.Is(err, commands.ErrUnknown) {
			t.Errorf("caller %d is answered %v", i, err)
		}
	}
}

func TestALoneCallerCommitsWithoutAnotherGoroutine(t *testing.T) {
	s := new(shelf)
	c := started(t, s)
	if _, err := c.Append(t.Context(), spelt(t, logtest.To("a", 0, "a1"))); err != nil {
		t.Fatal(err)
	}
	select {
	case <-c.wake:
		t.Error("the committer's goroutine was woken")
	default:
	}
}

func TestWhatWasCommittedLastIsRememberedWithinBounds(t *testing.T) {
	var m recent
	large := make([]byte, 100<<10)
	row := func(v int) chain.Row {
		return chain.Row{Record: domain.Record{Version: domain.Version(v), Fresh: domain.Fresh{Data: large}}}
	}
	for v := 1; v <= 1000; v++ {
		m.add("a", []chain.Row{row(v)})
	}
	if m.bytes > recentBytes || len(m.writes) > recentWrites {
		t.Errorf("%d bytes of %d writes are remembered", m.bytes, len(m.writes))
	}
	if _, ok := m.find("a", 1, 1000, 5000); ok {
		t.Error("what was forgotten is found")
	}
	if rows, ok := m.find("a", 990, 1000, 5000); !ok || len(rows) != 10 || rows[0].Version != 991 {
		t.Errorf("of the last ten are found %d, %v", len(rows), ok)
	}
	if rows, ok := m.find("a", 990, 1000, 3); !ok || len(rows) != 3 || rows[2].Version != 993 {
		t.Errorf("of three are found %d, %v", len(rows), ok)
	}
	m.add("a", []chain.Row{row(1005)}) // others wrote four
	if rows, ok := m.find("a", 990, 1005, 3); !ok || len(rows) != 3 || rows[2].Version != 993 {
		t.Errorf("of three before what others wrote are found %d, %v", len(rows), ok)
	}
	if _, ok := m.find("a", 990, 1005, 5000); ok {
		t.Error("rows with a gap are found")
	}
	m.add("a", []chain.Row{row(1001), row(1002), row(1003), row(1004)}) // and they were read
	if rows, ok := m.find("a", 990, 1005, 5000); !ok || len(rows) != 15 || rows[14].Version != 1005 {
		t.Errorf("of what others wrote too are found %d, %v", len(rows), ok)
	}
	for v := 1; v <= 1000; v++ {
		m.add("b", []chain.Row{row(v)})
	}
	if _, ok := m.find("a", 1004, 1005, 1); ok || m.bytes > recentBytes {
		t.Errorf("the other stream is found: %v; %d bytes are remembered", ok, m.bytes)
	}
}

// counted counts what a shelf is asked for.
type counted struct {
	*shelf
	asked int
}

func (c *counted) Rows(stream string, after domain.Version, limit int) ([]chain.Row, error) {
	c.asked++
	return c.shelf.Rows(stream, after, limit)
}

func TestAllOfACommitWhoLostToAnotherInstanceCostOneQuestion(t *testing.T) {
	s := new(shelf)
	for v := range 50 {
		s.keep([]*admit.Append{spelt(t, logtest.To("hot", domain.Version(v), fmt.Sprint(v)))})
	}
	var asking []*request
	for _, expect := range []domain.Version{20, 7, 33, 49, 7} {
		asking = append(asking, &request{append: spelt(t, logtest.To("hot", expect, "mine"))})
	}
	c := &counted{shelf: s}
	v := &view{c, new(recent), asking, make(map[string][]chain.Row)}
	for _, r := range asking {
		w := r.append.Writes[0]
		rows, err := v.Rows(w.Name, w.Expect, 1)
		if err != nil || len(rows) != 1 || rows[0].Version != w.Expect+1 {
			t.Errorf("after %d are %v, %v", w.Expect, rows, err)
		}
	}
	if c.asked != 1 {
		t.Errorf("the database was asked %d times", c.asked)
	}
}
