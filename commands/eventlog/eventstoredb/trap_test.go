package eventstoredb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"

	"assent/commands"
	"assent/commands/eventlog/eventstoredb/fake"
	"assent/commands/eventlog/logtest"
	"assent/domain"
)

// The ten traps of the client, each proven against it, and what keeps the log
// out of them.

// quick is an answer time for tests in which the server stays silent.
const quick = 400 * time.Millisecond

// on is a log on a server, and the same log without the suite's words.
func on(t *testing.T, s *fake.Server, options ...Option) (*logtest.Log, *Log) {
	t.Helper()
	log := logtest.NewLog(t, func(t *testing.T, clock func() time.Time) commands.Log {
		return openAt(t, s.URL(), clock, options...)
	})
	return log, log.Log.(*Log)
}

// within says that something does not take longer than it may.
func within(t *testing.T, d time.Duration, what string, do func()) {
	t.Helper()
	begun := time.Now()
	do()
	if took := time.Since(begun); took > d {
		t.Errorf("%s took %v", what, took)
	}
}

func unavailable(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, commands.ErrUnavailable) {
		t.Errorf("%s: the error is %v", what, err)
	}
}

func TestTrap1CallersComeBackFromAServerThatIsGone(t *testing.T) {
	s := serve(t)
	log, l := on(t, s, AnswerWithin(quick))
	log.Must(logtest.To("a", 0, "a1"))
	s.Down()
	within(t, 5*quick, "asking a server that is gone", func() {
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				_, err := l.Append(t.Context(), logtest.To(fmt.Sprint(i), 0, fmt.Sprint(i)))
				if !errors.Is(err, commands.ErrUnknown) { // it may have been on its way
					unavailable(t, "append", err)
				}
			})
			all.Go(func() {
				_, err := l.ReadStream(t.Context(), logtest.Article("a"), 0)
				unavailable(t, "read", err)
			})
			all.Go(func() {
				_, err := l.ReadAll(t.Context(), 0, 10)
				unavailable(t, "read all", err)
			})
		}
		all.Wait()
	})
	// Who was in the client when its connection broke can be stuck there; who
	// asks later is not let in.
	before := l.Stuck()
	for range 20 {
		_, err := l.ReadAll(t.Context(), 0, 10)
		unavailable(t, "read all", err)
	}
	if n := l.Stuck(); n > before {
		t.Errorf("%d calls are stuck in the client, and %d were", n, before)
	}
}

func TestTrap1ACallThatHangsIsLeftBehindAndCounted(t *testing.T) {
	s := serve(t)
	_, l := on(t, s, AnswerWithin(quick))
	release := make(chan struct{})
	line, err := l.guard.take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	back := make(chan struct{})
	_, err = run(t.Context(), l.guard, line, func(context.Context, *esdb.Client, func()) (int, error) {
		defer close(back)
		<-release // as the client does, whatever its context says
		return 0, nil
	})
	if !errors.Is(err, errSilent) || l.Stuck() != 1 {
		t.Errorf("%v, and %d stuck", err, l.Stuck())
	}
	close(release)
	<-back
	eventually(t, "the call that came back is still counted", func() bool { return l.Stuck() == 0 })
}

func TestTrap1ACallThatWaitsInAClientThatLostItsConnectionIsNotWaitedFor(t *testing.T) {
	s := serve(t)
	_, l := on(t, s)
	line, err := l.guard.take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	release := make(chan struct{})
	defer close(release)
	within(t, 2*time.Second, "the call", func() {
		_, err = run(t.Context(), l.guard, line, func(context.Context, *esdb.Client, func()) (int, error) {
			l.guard.drop(line)
			<-release
			return 0, nil
		})
	})
	if !errors.Is(err, errLost) {
		t.Errorf("the error is %v", err)
	}
}

func TestTrap2AClientThatDiedIsReplacedWhenTheServerIsBack(t *testing.T) {
	s := serve(t)
	log, l := on(t, s, AnswerWithin(quick))
	log.Must(logtest.To("a", 0, "a1"))
	s.Down()
	for range 3 {
		if _, err := l.Append(t.Context(), logtest.To("a", 1, "a2")); err == nil {
			t.Error("a server that is gone took an append")
		}
	}
	if err := s.Up(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "no append is taken although the server is back", func() bool {
		_, err := l.Append(t.Context(), logtest.To("a", 1, "a2"))
		return err == nil
	})
	log.Same("events", len(log.Stream(logtest.Article("a"))), 2)
	log.Same("head", log.End().Position, log.All()[1].Position)
}

func TestTrap3AFollowerRefersAppendsToItsLeader(t *testing.T) {
	leader := serve(t)
	follower := serve(t, fake.FollowerOf(leader))
	log, _ := on(t, follower)
	r := log.Must(logtest.To("a", 0, "a1"), logtest.To("b", 0, "b1"))
	log.Same("head", log.End().Position, r.Position)
	if follower.Calls(fake.Appends) == 0 || leader.Calls(fake.Appends) != 2 {
		t.Errorf("the follower was asked %d times to append, the leader %d", follower.Calls(fake.Appends), leader.Calls(fake.Appends))
	}
}

func TestTrap3GossipLeadsToTheLeader(t *testing.T) {
	leader := serve(t)
	follower := serve(t, fake.FollowerOf(leader))
	l := openAt(t, strings.Replace(follower.URL(), "esdb://", "esdb+discover://", 1), time.Now)
	if _, err := l.Append(t.Context(), logtest.To("a", 0, "a1")); err != nil {
		t.Fatal(err)
	}
	if n := follower.Calls(fake.Appends); n > 0 || follower.Calls(fake.Gossips) == 0 {
		t.Errorf("the follower was asked %d times to append", n)
	}
}

func TestTrap4AnAppendRefusedEarlyIsNeitherLostNorDoubled(t *testing.T) {
	s := serve(t)
	log, l := on(t, s, AnswerWithin(quick))
	many := logtest.To("a", 0)
	for i := range 500 {
		many.Events = append(many.Events, logtest.Event(fmt.Sprint(i)))
	}
	for range 10 {
		s.Fail(fake.Appends, 1000, fake.Early)
		_, err := l.Append(t.Context(), many)
		if !errors.Is(err, commands.ErrUnavailable) && !errors.Is(err, commands.ErrUnknown) { // the last try may have run out of time
			t.Errorf("the error is %v", err)
		}
		s.Heal()
		log.Same("events", len(log.All()), 0)
	}
	s.Fail(fake.Appends, 1, fake.Early)
	_, _ = l.Append(t.Context(), many) // whether its error or the lost one is told is chance
	log.Must(many)
	log.Same("events", len(log.All()), 500)
}

func TestTrap4WhatAServerWouldNotTakeIsNotSent(t *testing.T) {
	s := serve(t)
	log, l := on(t, s)
	many := logtest.To("a", 0)
	for i := range 8000 {
		e := logtest.Event(fmt.Sprint(i))
		e.Envelope = domain.Envelope{}
		e.Data = []byte("0")
		many.Events = append(many.Events, e)
	}
	sent := s.Calls(fake.Appends)
	var refusal *domain.Refusal
	for _, writes := range [][]commands.Write{{many}, {logtest.To("b", 0, "b1"), many}} {
		if _, err := l.Append(t.Context(), writes...); !errors.As(err, &refusal) || refusal.Code != "limit" {
			t.Errorf("the error is %v", err)
		}
	}
	log.Same("calls", s.Calls(fake.Appends), sent)
	log.Same("events", len(log.All()), 0)
}

func TestAServerThatTakesLessThanItShouldIsNamedAsTheCause(t *testing.T) {
	s := serve(t, fake.MaxAppend(1000))
	_, l := on(t, s)
	w := logtest.To("a", 0, "a1")
	w.Events[0].Data = []byte(`"` + strings.Repeat("x", 2000) + `"`)
	_, err := l.Append(t.Context(), w)
	unavailable(t, "append", err)
	if !strings.Contains(fmt.Sprint(err), "MaxAppendSize") {
		t.Errorf("the error is %v", err)
	}
}

// The client ends the process on a date that it cannot read. No server writes
// one, and nothing can be done about it here; this is to know it.
func TestTrap5ADateThatCannotBeReadEndsTheProcess(t *testing.T) {
	if url := os.Getenv("ASSENT_TEST_DATELESS"); url != "" {
		l := openAt(t, url, time.Now)
		_, err := l.ReadAll(t.Context(), 0, 1)
		t.Fatalf("it read on: %v", err)
	}
	s := serve(t)
	log, _ := on(t, s)
	log.Must(logtest.To("a", 0, "a1"))
	s.Fail(fake.Reads, 2, fake.None) // the child's first call, and where the log ends
	s.Fail(fake.Reads, 1, fake.Dateless)
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), "ASSENT_TEST_DATELESS="+s.URL())
	out, err := child.CombinedOutput()
	if _, ended := errors.AsType[*exec.ExitError](err); !ended || !strings.Contains(string(out), "Failed to parse created date") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestTrap6AServerThatIsNoReleaseIsNamedAsTheCause(t *testing.T) {
	s := serve(t, fake.Version("26.2.0-prerelease"))
	within(t, 5*quick, "opening", func() {
		_, err := Open(t.Context(), s.URL(), time.Now, AnswerWithin(quick))
		unavailable(t, "open", err)
		if !strings.Contains(fmt.Sprint(err), "released server") {
			t.Errorf("the error is %v", err)
		}
	})
	for _, version := range []string{"23.10.0", "24.10.5", "26.0.1"} {
		log, _ := on(t, serve(t, fake.Version(version)))
		log.Must(logtest.To("a", 0, "a1"))
	}
}

func TestTrap7NothingHereDeletesOrChangesMetadata(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range []string{".DeleteStream(", ".TombstoneStream(", ".SetStreamMetadata("} {
			if strings.Contains(string(text), call) {
				t.Errorf("%s calls %s", name, call)
			}
		}
	}
}

func TestTrap8AFollowerGoesOnWhereItsSubscriptionBroke(t *testing.T) {
	for name, spoil := range map[string]func(s *fake.Server, i int){
		"cut after each event":              func(s *fake.Server, _ int) { s.KillSubscriptions(1) },
		"cut, and sent again what was sent": func(s *fake.Server, _ int) { s.Repeat(); s.KillSubscriptions(2) },
		"every connection cut": func(s *fake.Server, i int) {
			if i%10 == 5 {
				s.Cut()
			}
		},
		"server away for a while": func(s *fake.Server, i int) {
			if i == 20 {
				s.Down()
				if err := s.Up(); err != nil {
					t.Error(err)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			log, l := on(t, s)
			got := make(chan domain.ID)
			go func() {
				defer close(got)
				n := 0
				for r, err := range l.Follow(t.Context(), 0) {
					if err != nil {
						t.Errorf("following: %v", err)
						return
					}
					got <- r.ID
					if n++; n == 40 {
						return
					}
				}
			}()
			for i := range 40 {
				log.Must(logtest.To("a", domain.Version(i), fmt.Sprint(i)))
				spoil(s, i)
				if id := <-got; id != logtest.Event(fmt.Sprint(i)).ID {
					t.Fatalf("event %d is %s", i, id)
				}
			}
			for id := range got {
				t.Errorf("and %s", id)
			}
			whole, _ := on(t, s)
			log.Same("head", log.End(), whole.End())
		})
	}
}

func TestTrap9TheFirstCallAfterAServerCameBackGoesWell(t *testing.T) {
	s := serve(t)
	log, l := on(t, s)
	log.Must(logtest.To("a", 0, "a1"))
	for i, call := range []func() error{
		func() error { _, err := l.Append(t.Context(), logtest.To("a", 1, "a2")); return err },
		func() error { _, err := l.ReadStream(t.Context(), logtest.Article("a"), 0); return err },
		func() error { _, err := l.ReadAll(t.Context(), 0, 10); return err },
		func() error { _, err := l.Append(t.Context(), logtest.To("a", 2), logtest.To("b", 0)); return err },
	} {
		s.Down()
		if err := s.Up(); err != nil {
			t.Fatal(err)
		}
		if err := call(); err != nil {
			t.Errorf("call %d: %v", i, err)
		}
	}
}

func TestTrap10AReadThatStopsEarlyLetsGoOfTheServer(t *testing.T) {
	s := serve(t)
	log, _ := on(t, s)
	for i := range 30 {
		w := logtest.To(fmt.Sprint(i), 0, fmt.Sprint(i))
		w.Events[0].Data = []byte(`"` + strings.Repeat("x", 60<<10) + `"`) // more than is sent ahead
		log.Must(w)
	}
	for range 20 {
		if recs, err := log.ReadAll(t.Context(), 0, 1); err != nil || len(recs) != 1 {
			t.Fatal(len(recs), err)
		}
	}
	eventually(t, "the server still sends to who has gone", func() bool { return s.Open() == 1 }) // the mirror
}

func TestTrap10AnAnswerThatIsNotKnownIsAnError(t *testing.T) {
	s := serve(t)
	log, l := on(t, s)
	log.Must(logtest.To("a", 0, "a1"))
	for name, read := range map[string]func() error{
		"stream": func() error { _, err := l.ReadStream(t.Context(), logtest.Article("a"), 0); return err },
		"all":    func() error { _, err := l.ReadAll(t.Context(), 0, 10); return err },
	} {
		s.Fail(fake.Reads, 100, fake.Strange)
		if err := read(); !errors.Is(err, commands.ErrUnavailable) || !errors.Is(err, errPanic) {
			t.Errorf("%s: the error is %v", name, err)
		}
		s.Heal()
		eventually(t, name+": it does not read any more", func() bool { return read() == nil })
	}
}

// eventually says that something comes true soon.
func eventually(t *testing.T, wrong string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(wrong)
		}
	}
}
