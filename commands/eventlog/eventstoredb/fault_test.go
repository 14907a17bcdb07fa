package eventstoredb

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"assent/commands"
	"assent/commands/eventlog/eventstoredb/fake"
	"assent/commands/eventlog/logtest"
	"assent/domain"
)

func TestAnAnswerThatIsLostIsFoundOut(t *testing.T) {
	for name, fault := range map[string]fake.Fault{
		"the cluster did not agree in time, and it is there":     fake.CommittedTimedOut,
		"the connection broke, and it is there":                  fake.CommittedBroken,
		"the server fell silent, and it is there":                fake.CommittedSilent,
		"the cluster did not agree in time, and it is not there": fake.TimedOut,
		"the connection broke, and it is not there":              fake.Broken,
		"the server fell silent, and it is not there":            fake.Silent,
		"the node was starting":                                  fake.NotReady,
		"the node had too much to do":                            fake.TooBusy,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t)
			log, _ := on(t, s, AnswerWithin(quick))
			log.Must(logtest.To("a", 0, "a1"))
			s.Fail(fake.Appends, 1, fault)
			r := log.Must(logtest.To("a", 1, "a2", "a3"), logtest.To("b", 0, "b1"))
			s.Fail(fake.Appends, 1, fault)
			log.Must(logtest.To("c", 0, "c1"))
			again, err := log.Append(t.Context(), logtest.To("a", 1, "a2", "a3"), logtest.To("b", 0, "b1"))
			if err != nil || again != r {
				t.Errorf("asked again it is answered %v, %v; first it was %v", again, err, r)
			}
			log.Same("events", len(log.All()), 5)
		})
	}
}

func TestWhatCannotBeFoundOutIsUnknownUntilItIsAskedAgain(t *testing.T) {
	for name, fault := range map[string]fake.Fault{"there": fake.CommittedSilent, "not there": fake.Silent, "timed out": fake.TimedOut} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t)
			log, l := on(t, s, AnswerWithin(quick))
			s.Fail(fake.Appends, 1000, fault)
			s.Fail(fake.Reads, 1000, fake.Silent)
			within(t, 8*quick, "an append", func() {
				if _, err := l.Append(t.Context(), logtest.To("a", 0, "a1")); !errors.Is(err, commands.ErrUnknown) {
					t.Errorf("the error is %v", err)
				}
			})
			s.Heal()
			eventually(t, "it is never taken", func() bool {
				_, err := l.Append(t.Context(), logtest.To("a", 0, "a1"))
				return err == nil
			})
			log.Same("events", len(log.All()), 1)
		})
	}
}

func TestWhatTheServerRefusesIsNotThere(t *testing.T) {
	for name, c := range map[string]struct {
		fault fake.Fault
		want  error
	}{
		"busy":       {fake.TooBusy, commands.ErrBusy},
		"starting":   {fake.NotReady, commands.ErrBusy},
		"denied":     {fake.Denied, commands.ErrUnavailable},
		"leaderless": {fake.NotLeader, commands.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t)
			log, l := on(t, s, AnswerWithin(quick))
			s.Fail(fake.Appends, 1000, c.fault)
			within(t, 4*quick, "an append", func() {
				// The client may hear only that the stream has ended, and not what
				// the server said: then it is as if there were no server.
				if _, err := l.Append(t.Context(), logtest.To("a", 0, "a1")); !errors.Is(err, c.want) && !errors.Is(err, commands.ErrUnavailable) {
					t.Errorf("the error is %v", err)
				}
			})
			s.Heal()
			log.Same("events", len(log.All()), 0)
			log.Must(logtest.To("a", 0, "a1"))
		})
	}
}

func TestALaterStreamThatCannotBeWrittenLeavesItUnknownAndAskingAgainFinishesIt(t *testing.T) {
	s := serve(t)
	log, l := on(t, s, AnswerWithin(quick))
	writes := []commands.Write{logtest.To("a", 0, "a1"), logtest.To("b", 0, "b1"), logtest.To("c", 0, "c1")}
	s.Fail(fake.Appends, 1, fake.None)
	s.Fail(fake.Appends, 1000, fake.Denied)
	if _, err := l.Append(t.Context(), writes...); !errors.Is(err, commands.ErrUnknown) || errors.Is(err, commands.ErrUnavailable) {
		t.Errorf("the error is %v", err)
	}
	s.Heal()
	log.Same("events", len(log.All()), 1)
	r := log.Must(writes...)
	all := log.All()
	log.Same("events", len(all), 3)
	log.Same("receipt", r.Position, all[2].Position)
}

// Somebody else writes between looking and writing.
func TestAStreamThatMovesWhileAnAppendIsUnderWay(t *testing.T) {
	for name, c := range map[string]struct {
		taken string
		want  func(error) bool
	}{
		"the first":  {"a", func(err error) bool { _, ok := errors.AsType[*commands.Conflict](err); return ok }},
		"the second": {"b", func(err error) bool { return errors.Is(err, commands.ErrPartly) }},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			log, l := on(t, s, AnswerWithin(quick))
			other, _ := on(t, s)
			s.Fail(fake.Appends, 1, fake.Silent)
			done := make(chan error)
			calls := s.Calls(fake.Appends)
			go func() {
				_, err := l.Append(t.Context(), logtest.To("a", 0, "a1"), logtest.To("b", 0, "b1"))
				done <- err
			}()
			eventually(t, "it does not write", func() bool { return s.Calls(fake.Appends) > calls })
			other.Must(logtest.To(c.taken, 0, "x1")) // the first write is made again when it is silent
			if err := <-done; !c.want(err) {
				t.Errorf("the error is %v", err)
			}
			log.Same("stream", len(log.Stream(logtest.Article(c.taken))), 1)
		})
	}
}

func TestTwoWhoWriteTheSameAtOnceGetTheSameAnswerAndWriteItOnce(t *testing.T) {
	s := serve(t)
	log, one := on(t, s)
	log.Clock.Move(time.Hour)
	_, two := on(t, s) // whose clock is an hour behind
	for i := range 30 {
		var all sync.WaitGroup
		receipts := make([]commands.Receipt, 2)
		for j, l := range []*Log{one, two} {
			all.Go(func() {
				var err error
				if receipts[j], err = l.Append(t.Context(), logtest.To(fmt.Sprint(i), 0, fmt.Sprint(i))); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		log.Same("receipt", receipts[0], receipts[1])
	}
	log.Same("events", len(log.All()), 30)
}

func TestTwoWhoWriteSomethingElseUnderTheSameIdsAreTold(t *testing.T) {
	s := serve(t)
	_, one := on(t, s)
	_, two := on(t, s)
	for i := range 30 {
		var all sync.WaitGroup
		errs := make([]error, 2)
		for j, l := range []*Log{one, two} {
			all.Go(func() {
				w := logtest.To(fmt.Sprint(i), 0, fmt.Sprint(i))
				w.Events[0].Data = fmt.Appendf(nil, "%d", j)
				_, errs[j] = l.Append(t.Context(), w)
			})
		}
		all.Wait()
		if (errs[0] == nil) == (errs[1] == nil) || !errors.Is(errors.Join(errs...), commands.ErrReused) {
			t.Errorf("they are told %v and %v", errs[0], errs[1])
		}
	}
}

func TestOpeningWithoutAServerSaysWhatToLookAt(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := closed.Addr().String()
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	deaf, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	s := serve(t)
	silent := serve(t)
	silent.Fail(fake.Features, 1000, fake.Silent)
	for name, url := range map[string]string{
		"nobody there":      "esdb://admin:s3cret@" + nobody + "?tls=false",
		"nobody there, tls": "esdb://admin:s3cret@" + nobody,
		"deaf":              "esdb://admin:s3cret@" + deaf.Addr().String() + "?tls=false",
		"deaf, tls":         "esdb://admin:s3cret@" + deaf.Addr().String(),
		"silent":            "esdb://admin:s3cret@" + silent.Addr() + "?tls=false",
		"no certificate":    "esdb://admin:s3cret@" + s.Addr(),
		"a cluster":         "esdb://admin:s3cret@" + nobody + ",localhost:1?tls=false",
		"no such name":      "esdb://admin:s3cret@nobody.invalid:2113?tls=false",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			within(t, 5*time.Second, "opening", func() {
				_, err := Open(t.Context(), url, time.Now, AnswerWithin(time.Second))
				unavailable(t, "open", err)
				text := fmt.Sprint(err)
				if strings.Contains(text, "s3cret") || !strings.Contains(text, "2113") || !strings.Contains(text, " at ") {
					t.Errorf("the error is %v", err)
				}
			})
		})
	}
}

func TestAURLThatCannotBeReadIsToldWithoutItsPassword(t *testing.T) {
	for _, url := range []string{
		"", "localhost:2113", "http://admin:s3cret@localhost:2113", "esdb://", "esdb://admin:s3cret@", "esdb://admin:s3cret%zz@host:2113",
		"esdb://admin:s3cret@host:21x3", "esdb://admin:s3cret@host:2113/path", "esdb://:s3cret@host:2113", "esdb://admin:s3cret#x@host:2113",
		"esdb://admin:s3cret?x@host:2113", "esdb://admin:s3cret/x@host:2113", "esdb://admin:s3cret@host:2113?tls=maybe",
		"esdb://admin:s3cret@host:2113?tsl=false", "esdb://admin:s3cret@host:2113?tls=false;x", "esdb://admin:s3cret@a:1,b:x", "esdb://admin:\x7fs3cret@host",
		"esdb://admin:s3cret@host:2113?tlsCAFile=/nowhere/ca.pem",
	} {
		_, err := Open(t.Context(), url, time.Now)
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v", url, err)
		}
	}
	for _, prefix := range []string{"", ".", "assent", "a.b.", "$a.", "a/b.", "é."} {
		if _, err := Open(t.Context(), "esdb://localhost", time.Now, Prefix(prefix)); err == nil || !strings.Contains(err.Error(), "prefix") {
			t.Errorf("%q: %v", prefix, err)
		}
	}
}

// A port of more than 16 bits would lead to another one.
func TestAPortThatIsNoneIsNotWrappedAround(t *testing.T) {
	for url, ok := range map[string]bool{
		"esdb://host:65536": false, "esdb://host:67649": false, "esdb://admin:s3cret@host:4294969409?tls=false": false, "esdb+discover://a:2113,b:67649": false,
		"esdb://host:0": false, "esdb://admin:s3cret@host:67649/?tls=false": false, "esdb://host:-1": false,
		"esdb://host:65535": true, "esdb://host": true, "esdb://admin:99999@host:2113": true, "esdb://a:1,b:2,c:65535?tls=false": true,
	} {
		_, err := configure(url, time.Second)
		if told := err != nil && strings.Contains(err.Error(), "65535"); (err == nil) != ok || told == ok || err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestWhoMayNotReadTheWholeLogIsToldSo(t *testing.T) {
	s := serve(t)
	s.Fail(fake.Reads, 1000, fake.Denied)
	_, err := Open(t.Context(), s.URL(), time.Now, AnswerWithin(quick))
	unavailable(t, "open", err)
	if !strings.Contains(fmt.Sprint(err), "$admins") {
		t.Errorf("the error is %v", err)
	}
}

func TestANodeThatIsBehindIsNotBelieved(t *testing.T) {
	s := serve(t)
	log, l := on(t, s)
	log.Must(logtest.To("a", 0, "a1"), logtest.To("b", 0, "b1"))
	head := log.End()
	s.Lag(1)
	_, err := l.ReadAll(t.Context(), 0, 10)
	unavailable(t, "read all", err)
	recs, err := l.ReadAll(t.Context(), 0, 1)
	if err != nil || len(recs) != 1 {
		t.Errorf("what is there is not read: %v", err)
	}
	log.Same("head", log.End(), head)
	s.Lag(0)
	log.Same("events", len(log.All()), 2)
}

func TestAServerThatNeverTellsThatThereIsNoMoreWillDo(t *testing.T) {
	s := serve(t, fake.NeverCaughtUp())
	log, _ := on(t, s)
	log.Must(logtest.To("a", 0, "a1"))
	s.Write("somebody-else", "x", `{}`)
	again, _ := on(t, s)
	log.Same("head", again.End(), log.End())
}

func TestAContextThatEndsWhileTheServerIsSilentIsToldAtOnce(t *testing.T) {
	s := serve(t)
	log, l := on(t, s)
	log.Must(logtest.To("a", 0, "a1"))
	s.Fail(fake.Reads, 1, fake.Silent)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	within(t, 2*time.Second, "a read", func() {
		if _, err := l.ReadStream(ctx, logtest.Article("a"), 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error is %v", err)
		}
	})
}

func TestPositionsBetweenEventsAreReadFromToo(t *testing.T) {
	s := serve(t)
	log, l := on(t, s)
	for i := range 5 {
		log.Must(logtest.To("a", domain.Version(i), fmt.Sprint(i)))
	}
	all := log.All()
	for i, r := range all {
		for off, want := range map[domain.Position]int{-2: i, -1: i, 0: i + 1, 1: i + 1, 2: i + 1} {
			recs, err := l.ReadAll(t.Context(), r.Position+off, 10)
			if err != nil {
				t.Fatal(err)
			}
			log.Same("events", len(recs), len(all)-want)
			for got, err := range l.Follow(t.Context(), r.Position+off) {
				if err != nil {
					t.Fatal(err)
				}
				log.Same("followed", got, all[want])
				break
			}
		}
		if i == len(all)-2 {
			break // behind the last a follower waits
		}
	}
}
