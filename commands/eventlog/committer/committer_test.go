package committer

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assent/commands"
	"assent/commands/eventlog/chain"
	"assent/commands/eventlog/internal/admit"
	"assent/commands/eventlog/logtest"
	"assent/domain"
)

// shelf is a backend that keeps rows in memory, and fails as it is told to.
type shelf struct {
	turn    chan struct{} // Begin waits until it is closed, unless nil
	release func()        // closes it
	begun   chan struct{} // told of every Begin, unless nil
	refuse  domain.ID     // of an event it does not take
	doubt   bool          // commits, and says that it does not know
	durable chan struct{} // Commit waits until it is closed, unless nil

	mu      sync.Mutex
	head    commands.Head
	rows    []chain.Row
	from    commands.Head   // of Begin
	commits []int           // appends in each
	others  []*admit.Append // that another instance writes after the next Begins
}

func (s *shelf) Begin([]string) (commands.Head, error) {
	if s.begun != nil {
		s.begun <- struct{}{}
	}
	if s.turn != nil {
		<-s.turn
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.from = s.head
	return s.head, nil
}

func (s *shelf) Version(stream string) (domain.Version, error) {
	rows, err := s.Rows(stream, 0, len(s.rows))
	return domain.Version(len(rows)), err
}

func (s *shelf) Rows(stream string, after domain.Version, limit int) (found []chain.Row, err error) {
	for _, r := range s.rows {
		if r.Stream.String() == stream && r.Version > after && len(found) < limit {
			found = append(found, r)
		}
	}
	return found, nil
}

func (s *shelf) Commit(appends []*admit.Append, head commands.Head) error {
	if s.durable != nil && len(appends) > 1 {
		<-s.durable
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.others) > 0 {
		other := s.others[0]
		s.others = s.others[1:]
		s.head = other.Stamp(s.head, time.Unix(1, 0))
		s.keep([]*admit.Append{other})
	}
	if s.from != s.head {
		return ErrMoved
	}
	for _, a := range appends {
		for _, w := range a.Writes {
			if slices.ContainsFunc(w.Rows, func(r chain.Row) bool { return r.ID == s.refuse }) {
				return fmt.Errorf("%w: %s", ErrRefused, s.refuse)
			}
		}
	}
	s.keep(appends)
	s.head = head
	s.commits = append(s.commits, len(appends))
	if s.doubt {
		return commands.ErrUnknown
	}
	return nil
}

func (s *shelf) keep(appends []*admit.Append) {
	for _, a := range appends {
		for _, w := range a.Writes {
			s.rows = append(s.rows, w.Rows...)
		}
	}
}

func (s *shelf) Abandon()     {}
func (s *shelf) Close() error { return nil }

// gated is a shelf whose commits wait for their turn, and its committer, which
// is already at a first append: whatever comes now shares the next commit.
func gated(t *testing.T) (*shelf, *Committer) {
	t.Helper()
	s := &shelf{turn: make(chan struct{}), begun: make(chan struct{}, 100)}
	s.release = sync.OnceFunc(func() { close(s.turn) })
	c := started(t, s)
	t.Cleanup(s.release) // before it is closed
	go func() { _, _ = c.Append(context.Background(), spelt(t, logtest.To("first", 0, "first"))) }()
	<-s.begun
	return s, c
}

func started(t *testing.T, s *shelf) *Committer {
	c := New(s, func() time.Time { return time.Unix(1, 0) }, func(commands.Head) {})
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func spelt(t *testing.T, writes ...commands.Write) *admit.Append {
	t.Helper()
	a, err := admit.Encode(writes)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// told is what an append came to.
type told struct {
	position domain.Position
	err      error
}

// enqueued is an append that waits in the queue for its commit.
func enqueued(t *testing.T, c *Committer, writes ...commands.Write) <-chan told {
	t.Helper()
	n, answer, a := len(c.queue), make(chan told, 1), spelt(t, writes...)
	go func() {
		r, err := c.Append(context.Background(), a)
		answer <- told{r.Position, err}
	}()
	for len(c.queue) == n {
		runtime.Gosched()
	}
	return answer
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// at says that an append was written, and where.
func at(t *testing.T, what string, got told, want domain.Position) {
	t.Helper()
	if got.err != nil || got.position != want {
		t.Errorf("%s: told %v; it should be at %d", what, got, want)
	}
}

func TestOneCommitAnswersEveryAppendByItself(t *testing.T) {
	s, c := gated(t)
	var answers []<-chan told
	for _, writes := range [][]commands.Write{
		{logtest.To("a", 0, "a1")},
		{logtest.To("a", 0, "x1")},                           // conflicts
		{logtest.To("a", 1, "a2"), logtest.To("b", 0, "b1")}, // rests on the first
		{logtest.To("a", 0, "a1")},                           // is the first
		{logtest.To("b", 1)},                                 // checks the third
		{logtest.To("a", 0, "a1", "x2")},                     // is the first in part
	} {
		answers = append(answers, enqueued(t, c, writes...))
	}
	s.release()
	var positions []domain.Position
	var errs []error
	for _, answer := range answers {
		a := <-answer
		positions, errs = append(positions, a.position), append(errs, a.err)
	}
	same(t, "positions", positions, []domain.Position{2, 0, 4, 2, 4, 0})
	var conflict *commands.Conflict
	if !errors.As(errs[1], &conflict) || conflict.Actual != 1 {
		t.Errorf("the second is told %v", errs[1])
	}
	if !errors.Is(errs[5], commands.ErrReused) {
		t.Errorf("the last is told %v", errs[5])
	}
	if err := errors.Join(errs[0], errs[2], errs[3], errs[4]); err != nil {
		t.Errorf("the others are told %v", err)
	}
	same(t, "commits", s.commits, []int{1, 2})
}

func TestWhatTheDatabaseRefusesFailsAlone(t *testing.T) {
	s, c := gated(t)
	s.refuse = "ev_bad"
	good, bad := enqueued(t, c, logtest.To("a", 0, "a1")), enqueued(t, c, logtest.To("b", 0, "bad"))
	after, rests := enqueued(t, c, logtest.To("a", 1, "a2")), enqueued(t, c, logtest.To("b", 1, "b2"))
	s.release()
	at(t, "before it", <-good, 2)
	if a := <-bad; !errors.Is(a.err, commands.ErrUnavailable) || !errors.Is(a.err, ErrRefused) {
		t.Errorf("it is told %v", a.err)
	}
	at(t, "after it", <-after, 3)
	var conflict *commands.Conflict
	if a := <-rests; !errors.As(a.err, &conflict) || conflict.Actual != 0 {
		t.Errorf("what rests on it is told %v", a.err)
	}
}

func TestACommitInDoubtIsUnknownToAllOfIt(t *testing.T) {
	s, c := gated(t)
	one, conflicting := enqueued(t, c, logtest.To("a", 0, "a1")), enqueued(t, c, logtest.To("a", 0, "x1"))
	s.doubt = true
	s.release()
	for _, answer := range []<-chan told{one, conflicting} {
		if a := <-answer; !errors.Is(a.err, commands.ErrUnknown) || a.position != 0 {
			t.Errorf("the answer is %v", a)
		}
	}
}

func TestALogThatMovedIsDecidedAboutAgain(t *testing.T) {
	s := &shelf{}
	s.others = []*admit.Append{spelt(t, logtest.To("a", 0, "other"))}
	c := started(t, s)
	var conflict *commands.Conflict
	if _, err := c.Append(t.Context(), spelt(t, logtest.To("a", 0, "a1"))); !errors.As(err, &conflict) || conflict.Actual != 1 {
		t.Errorf("what is overtaken is told %v", err)
	}
	s.others = []*admit.Append{spelt(t, logtest.To("b", 0, "other2"))}
	r, err := c.Append(t.Context(), spelt(t, logtest.To("a", 1, "a2")))
	if err != nil || r.Position != 3 {
		t.Errorf("what is not is told %v, %v", r, err)
	}
	s.others = []*admit.Append{spelt(t, logtest.To("b", 1, "other3")), spelt(t, logtest.To("b", 2, "other4"))}
	if _, err := c.Append(t.Context(), spelt(t, logtest.To("a", 2, "a3"))); !errors.Is(err, commands.ErrBusy) {
		t.Errorf("a log that does not stand still is %v", err)
	}
}

func TestAnAppendWhoseContextEndsBeforeItsCommitWritesNothing(t *testing.T) {
	s, c := gated(t)
	ctx, cancel := context.WithCancel(t.Context())
	answer := make(chan error)
	go func() {
		_, err := c.Append(ctx, spelt(t, logtest.To("a", 0, "a1")))
		answer <- err
	}()
	for len(c.queue) == 0 {
		runtime.Gosched()
	}
	cancel()
	if err := <-answer; !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	next := enqueued(t, c, logtest.To("a", 0, "a2"))
	s.release()
	at(t, "the next", <-next, 2)
}

func TestAnAppendWhoseContextEndsDuringItsCommitIsAnswered(t *testing.T) {
	s := &shelf{turn: make(chan struct{}), begun: make(chan struct{}, 1)}
	c := started(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	answer := make(chan error)
	go func() {
		_, err := c.Append(ctx, spelt(t, logtest.To("a", 0, "a1")))
		answer <- err
	}()
	<-s.begun
	cancel()
	close(s.turn)
	if err := <-answer; err != nil {
		t.Errorf("%s: %v", "the error", err)
	}
}

func TestAQueueThatStaysFullIsBusy(t *testing.T) {
	s, c := gated(t)
	c.room = time.Millisecond
	var waiting []<-chan told
	for i := range cap(c.queue) {
		waiting = append(waiting, enqueued(t, c, logtest.To(fmt.Sprint(i), 0, fmt.Sprint(i))))
	}
	if _, err := c.Append(t.Context(), spelt(t, logtest.To("a", 0, "a1"))); !errors.Is(err, commands.ErrBusy) {
		t.Errorf("the error is %v", err)
	}
	s.release()
	for i, answer := range waiting {
		if a := <-answer; a.err != nil || a.position != domain.Position(i+2) {
			t.Errorf("append %d is told %v", i, a)
		}
	}
	same(t, "commits", s.commits, []int{1, batchAppends, batchAppends, batchAppends, batchAppends})
}

func TestOneCommitDoesNotTakeMoreThanItsBytes(t *testing.T) {
	s, c := gated(t)
	var waiting []<-chan told
	for i := range 30 {
		w := logtest.To(fmt.Sprint(i), 0, fmt.Sprintf("%d-1", i), fmt.Sprintf("%d-2", i), fmt.Sprintf("%d-3", i))
		for j := range w.Events {
			w.Events[j].Data = []byte(`"` + strings.Repeat("x", 200<<10) + `"`)
		}
		waiting = append(waiting, enqueued(t, c, w))
	}
	s.release()
	for _, answer := range waiting {
		if err := (<-answer).err; err != nil {
			t.Errorf("%s: %v", "error", err)
		}
	}
	if len(s.commits) < 4 {
		t.Errorf("the commits are %v", s.commits)
	}
}

func TestClosingAnswersWhatIsQueuedAndNothingAfter(t *testing.T) {
	s, c := gated(t)
	queued := enqueued(t, c, logtest.To("a", 0, "a1"))
	closed := make(chan error)
	go func() { closed <- c.Close() }()
	<-c.quit
	if _, err := c.Append(t.Context(), spelt(t, logtest.To("b", 0, "b1"))); !errors.Is(err, commands.ErrUnavailable) {
		t.Errorf("after closing: %v", err)
	}
	s.release()
	at(t, "queued", <-queued, 2)
	if err := <-closed; err != nil {
		t.Errorf("%s: %v", "close", err)
	}
	same(t, "events", len(s.rows), 2)
}
