package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"assent/commands"
	"assent/commands/eventlog/logtest"
	"assent/domain"
)

// A storm: every instance appends so many events from so many callers, each to
// the one stream all of them write to and to a stream of its own.
const (
	callers = 8
	appends = 10
)

// contend takes part in a storm, and takes the version that a conflict names.
func contend(ctx context.Context, l commands.Log, name string) error {
	errs := make([]error, callers)
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			own, hot := fmt.Sprintf("%s-%d", name, c), domain.Version(0)
			for i := range appends {
				for {
					id := fmt.Sprintf("%s-%d", own, i)
					_, err := l.Append(ctx, logtest.To("hot", hot, id), logtest.To(own, domain.Version(i), id+"-own"))
					var conflict *commands.Conflict
					if errors.As(err, &conflict) {
						hot = conflict.Actual
						continue
					}
					if errs[c] = err; err != nil {
						return
					}
					hot++
					break
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// follow reads so many events as they come.
func follow(ctx context.Context, l commands.Log, n int) <-chan []domain.Record {
	followed := make(chan []domain.Record, 1)
	go func() {
		var recs []domain.Record
		for r, err := range l.Follow(ctx, 0) {
			if err != nil {
				break
			}
			if recs = append(recs, r); len(recs) == n {
				break
			}
		}
		followed <- recs
	}()
	return followed
}

// stormed looks at a log that so many instances have written to.
func stormed(log *logtest.Log, instances int) []domain.Record {
	log.T.Helper()
	all := log.All()
	log.Same("events", len(all), 2*instances*callers*appends)
	for i, r := range all {
		if r.Position != domain.Position(i+1) {
			log.T.Fatalf("event %d is at position %d", i+1, r.Position)
		}
		if i > 0 && r.At.Before(all[i-1].At) {
			log.T.Errorf("time runs backwards at position %d", r.Position)
		}
	}
	log.Same("events of the stream all write to", len(log.Stream(logtest.Article("hot"))), instances*callers*appends)
	verified(log.T, log.Log.(*Log))
	return all
}

func TestTwoInstancesThatStormOneStreamLoseNothingAndFollowersSeeEachEventOnceInOrder(t *testing.T) {
	where := made(t)
	one := logtest.NewLog(t, openerAt(where))
	two := logtest.NewLog(t, openerAt(where))
	two.Clock.Move(-time.Hour) // its clock is wrong
	total := 2 * 2 * callers * appends
	first, second := follow(t.Context(), one, total), follow(t.Context(), two, total)
	var wg sync.WaitGroup
	for name, l := range map[string]*logtest.Log{"one": one, "two": two} {
		wg.Go(func() {
			if err := contend(t.Context(), l, name); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	all := stormed(one, 2)
	if t.Failed() {
		return // followers may wait for ever
	}
	one.Same("followed by one", <-first, all)
	two.Same("followed by two", <-second, all)
}

func TestTwoProcessesThatStormOneStreamLoseNothing(t *testing.T) {
	where := made(t)
	log := logtest.NewLog(t, openerAt(where))
	followed := follow(t.Context(), log, 2*2*callers*appends)
	instances := []*child{spawn(t, where, "storm"), spawn(t, where, "storm")}
	for _, c := range instances {
		c.start(t)
	}
	for _, c := range instances {
		c.counted(t)
	}
	all := stormed(log, 2)
	if t.Failed() {
		return // the follower may wait for ever
	}
	log.Same("followed", <-followed, all)
}

func TestAnInstanceThatIsBehindDecidesAgain(t *testing.T) {
	where := made(t)
	one := logtest.NewLog(t, openerAt(where))
	two := logtest.NewLog(t, openerAt(where))
	one.Must(logtest.To("a", 0, "a1"))
	two.Must(logtest.To("b", 0, "b1"), logtest.To("a", 1, "a2"))
	want := two.End()

	_, err := one.Append(t.Context(), logtest.To("a", 1, "x1"))
	var c *commands.Conflict
	if !errors.As(err, &c) || c.Actual != 2 {
		t.Errorf("what the other wrote is no conflict: %v", err)
	}
	one.Clock.Move(-time.Hour)
	one.Must(logtest.To("a", 2, "a3"), logtest.To("b", 1, "b2"))
	one.Same("time", one.End().At, want.At)
	again, err := two.Append(t.Context(), logtest.To("a", 2, "a3"), logtest.To("b", 1, "b2"))
	if err != nil || again.Position != 5 {
		t.Errorf("what the other wrote is not answered again: %v, %v", again, err)
	}
	one.Same("events", one.All(), two.All())
	verified(t, one.Log.(*Log))
}

func TestAChecksAnswerIsOfNowWhateverAnInstanceBelieves(t *testing.T) {
	where := made(t)
	one := logtest.NewLog(t, openerAt(where))
	two := logtest.NewLog(t, openerAt(where))
	one.Must(logtest.To("a", 0, "a1"))
	two.Must(logtest.To("a", 1, "a2"))
	var c *commands.Conflict
	if _, err := one.Append(t.Context(), logtest.To("a", 1)); !errors.As(err, &c) || c.Actual != 2 {
		t.Errorf("a check that holds no more is answered %v", err)
	}
	two.Must(logtest.To("a", 2, "a3"))
	if _, err := one.Append(t.Context(), logtest.To("a", 3)); err != nil {
		t.Errorf("a check that holds by now is answered %v", err)
	}
	one.Same("head", one.End(), two.End())
}

func TestAFollowerIsWokenByAnotherInstance(t *testing.T) {
	where := made(t)
	one, two := openAt(t, where, time.Now), logtest.NewLog(t, openerAt(where))
	followed := follow(t.Context(), one, 1)
	two.Must(logtest.To("a", 0, "a1"))
	two.Same("followed", <-followed, two.All())
}

func TestManyInstancesThatStartAtOnceMakeTheTablesOnce(t *testing.T) {
	where := schema(t)
	var wg sync.WaitGroup
	for i := range 5 {
		wg.Go(func() {
			l, err := Open(t.Context(), where, time.Now)
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := l.Append(t.Context(), logtest.To(fmt.Sprint(i), 0, fmt.Sprint(i))); err != nil {
				t.Error(err)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	log := logtest.NewLog(t, openerAt(where))
	log.Same("events", len(log.All()), 5)
}
