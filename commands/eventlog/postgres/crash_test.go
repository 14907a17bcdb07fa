package postgres

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"assent/commands"
	"assent/commands/eventlog/logtest"
	"assent/commands/eventlog/postgres/pgtest"
	"assent/domain"
)

// soak says whether the long versions run.
func soak() bool { return os.Getenv("ASSENT_SOAK") == "1" }

// atLength is how often a fault strikes: seldom in everyday runs.
func atLength(seldom, often int) int {
	if soak() {
		return often
	}
	return seldom
}

// besieged is a writer of one stream that goes on through every fault, and what
// it was told.
type besieged struct {
	name    string
	acked   []domain.ID // acknowledged, in order
	refused []domain.ID // of which it was told that nothing was written
	unknown int         // answers that were resolved by asking again
}

// write appends until stop, and asks again where the answer is not known.
func (w *besieged) write(ctx context.Context, l commands.Log, stop *atomic.Bool) error {
	doubt := false
	for i := 0; !stop.Load() || doubt; {
		write := logtest.To(w.name, domain.Version(len(w.acked)), fmt.Sprintf("%s-%d", w.name, i))
		id := write.Events[0].ID
		_, err := l.Append(ctx, write)
		switch {
		case err == nil:
			w.acked = append(w.acked, id)
			doubt = false
			i++
		case errors.Is(err, commands.ErrUnknown):
			w.unknown++
			doubt = true
		case errors.Is(err, commands.ErrUnavailable), errors.Is(err, commands.ErrBusy):
			if !doubt { // else only this try wrote nothing
				w.refused = append(w.refused, id)
				i++
			}
			runtime.Gosched()
		default:
			return fmt.Errorf("%s at %d: %w", w.name, i, err)
		}
	}
	return nil
}

// siege lets writers and a follower work while faults strike, and looks at what
// is left.
func siege(t *testing.T, where string, faults int, strike func()) {
	t.Helper()
	l := openAt(t, where, time.Now, AnswerWithin(5*time.Second))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	writers := make([]*besieged, 8)
	var stop atomic.Bool
	var wg sync.WaitGroup
	for i := range writers {
		writers[i] = &besieged{name: fmt.Sprintf("w%d", i)}
		wg.Go(func() {
			if err := writers[i].write(ctx, l, &stop); err != nil {
				t.Error(err)
			}
		})
	}
	var followed []domain.Record
	end, done := make(chan domain.Position, 1), make(chan struct{})
	go func() {
		defer close(done)
		followed = followThrough(ctx, l, end)
	}()
	for range faults {
		was, err := l.Head(ctx)
		for err == nil && ctx.Err() == nil { // strike where there is work
			if now, err := l.Head(ctx); err != nil || now.Position > was.Position+100 {
				break
			}
		}
		strike()
	}
	stop.Store(true)
	wg.Wait()
	log := &logtest.Log{Log: l, T: t}
	end <- log.End().Position
	<-done
	verified(t, l)
	held := make(map[domain.ID]bool)
	unknown := 0
	for _, w := range writers {
		var there []domain.ID
		for _, r := range log.Stream(logtest.Article(w.name)) {
			there = append(there, r.ID)
			held[r.ID] = true
		}
		log.Same("acknowledged to "+w.name, there, w.acked)
		unknown += w.unknown
		for _, id := range w.refused {
			if held[id] {
				t.Errorf("%s was refused and is there", id)
			}
		}
	}
	log.Same("followed", followed, log.All())
	t.Logf("%d events, %d answers unknown at first", len(followed), unknown)
}

// followThrough follows, from where it was whenever it is thrown out, until it
// has seen the end that it is told.
func followThrough(ctx context.Context, l commands.Log, end <-chan domain.Position) (recs []domain.Record) {
	var at, last domain.Position
	for ctx.Err() == nil {
		round, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		for r, err := range l.Follow(round, at) {
			if err != nil {
				break
			}
			recs, at = append(recs, r), r.Position
		}
		cancel()
		select {
		case last = <-end:
		default:
		}
		if last > 0 && at >= last {
			return recs
		}
	}
	return recs
}

func TestAServerThatIsKilledUnderLoadLosesNothingThatWasAcknowledged(t *testing.T) {
	c := pgtest.Start(t)
	siege(t, c.Database(t), atLength(2, 50), func() {
		c.Kill(t)
		c.Again(t)
	})
}

func TestConnectionsThatAreCutUnderLoadLoseNothingThatWasAcknowledged(t *testing.T) {
	where := made(t)
	admin, err := pgx.Connect(t.Context(), where)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(context.Background())
	siege(t, where, atLength(20, 2000), func() {
		if _, err := admin.Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"); err != nil {
			t.Error(err)
		}
	})
}

// TestAServerThatWasStartedAgainMeanwhileIsAskedAnew: whoever appends next has
// nothing to find out.
func TestAServerThatWasStartedAgainMeanwhileIsAskedAnew(t *testing.T) {
	c := pgtest.Start(t)
	at := c.Database(t)
	log := logtest.NewLog(t, func(t *testing.T, clock func() time.Time) commands.Log {
		return openAt(t, at, clock, TrustFor(0))
	})
	log.Must(logtest.To("a", 0, "a1"))
	c.Kill(t)
	c.Again(t)
	log.Must(logtest.To("a", 1, "a2"))
	log.Same("events", len(log.All()), 2)
}

func TestAConnectionThatIsCutAtAnyStepOfACommit(t *testing.T) {
	for name, c := range map[string]struct {
		before func(*logtest.Log)  // what the writer has been through
		while  func(pgx.Tx) string // what it waits for when it is cut
	}{
		"as it writes": {func(log *logtest.Log) {}, func(pgx.Tx) string { return "%UPDATE head%" }},
		"as it takes the end of the log": {func(log *logtest.Log) {
			other := openAt(log.T, log.Log.(*Log).config.ConnString(), time.Now)
			if _, err := other.Append(log.T.Context(), logtest.To("other", 0, "o1")); err != nil {
				log.T.Fatal(err)
			}
			log.Must(logtest.To("b", 0, "b1")) // misses: from now on it takes the end first
		}, func(pgx.Tx) string { return "%FOR UPDATE%" }},
	} {
		t.Run(name, func(t *testing.T) {
			log, l := fresh(t)
			log.Must(logtest.To("a", 0, "a1"))
			c.before(log)
			had := len(log.All())
			admin, err := pgx.Connect(t.Context(), l.config.ConnString())
			if err != nil {
				t.Fatal(err)
			}
			defer admin.Close(context.Background())
			tx, err := admin.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Exec(t.Context(), "SELECT FROM head FOR UPDATE"); err != nil {
				t.Fatal(err)
			}
			answer := make(chan error, 1)
			go func() {
				_, err := l.Append(context.Background(), logtest.To("a", 1, "a2"))
				answer <- err
			}()
			for cut := false; !cut; {
				err := tx.QueryRow(t.Context(), `SELECT count(pg_terminate_backend(pid)) > 0 FROM pg_stat_activity
					WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE $1`, c.while(tx)).Scan(&cut)
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := <-answer; !errors.Is(err, commands.ErrUnknown) && !errors.Is(err, commands.ErrUnavailable) {
				t.Errorf("the error is %v", err)
			}
			if err := tx.Rollback(t.Context()); err != nil {
				t.Fatal(err)
			}
			log.Must(logtest.To("a", 1, "a2"))
			log.Same("events", len(log.All()), had+1)
			verified(t, l)
		})
	}
}

func TestADiskThatIsFullRefusesAndTheLogGoesOnOnceThereIsRoom(t *testing.T) {
	log, l := fresh(t)
	log.Must(logtest.To("a", 0, "a1"))
	where := l.config.ConnString()
	pgtest.Exec(t, where, `CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$;
		CREATE TRIGGER full_disk AFTER INSERT ON events EXECUTE FUNCTION full_disk()`)
	if err := log.Fails(logtest.To("a", 1, "a2"), logtest.To("b", 0, "b1")); !errors.Is(err, commands.ErrUnavailable) {
		t.Errorf("the error is %v", err)
	}
	pgtest.Exec(t, where, "DROP TRIGGER full_disk ON events; DROP FUNCTION full_disk")
	log.Must(logtest.To("a", 1, "a2"), logtest.To("b", 0, "b1"))
	verified(t, l)
}

// writers is how many streams an instance that is to be killed writes to.
const writers = 4

// writeAll appends to a few streams, one event after another, until it is
// killed, and says which were acknowledged.
func writeAll(ctx context.Context, l commands.Log, name string) error {
	errs := make(chan error)
	for w := range writers {
		go func() {
			for i := 0; ; i++ {
				stream := fmt.Sprintf("%s-%d", name, w)
				if _, err := l.Append(ctx, logtest.To(stream, domain.Version(i), fmt.Sprintf("%s-%d", stream, i))); err != nil {
					errs <- err
					return
				}
				if _, err := fmt.Printf("%s-%d\n", stream, i); err != nil {
					errs <- err
					return
				}
			}
		}()
	}
	return <-errs
}

func TestAProcessThatIsKilledLeavesWhatItWasToldAndNoHalves(t *testing.T) {
	where := made(t)
	log := logtest.NewLog(t, openerAt(where))
	for round := range atLength(5, 200) {
		name := fmt.Sprintf("round%d", round)
		c := spawn(t, where, "write "+name)
		c.start(t)
		acked := make(map[string]int) // events by stream
		said := bufio.NewScanner(c.said)
		for n := 0; said.Scan(); n++ {
			if n == round*7 {
				if err := c.cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
			stream := said.Text()[:strings.LastIndex(said.Text(), "-")]
			acked[stream]++
		}
		if err := c.cmd.Wait(); err == nil {
			t.Fatal("it was not killed")
		}
		// What it asked for last may still come: after this it cannot.
		log.Must(logtest.To(name, 0, name))
		for w := range writers {
			stream := fmt.Sprintf("%s-%d", name, w)
			recs := log.Stream(logtest.Article(stream))
			if n := len(recs); n != acked[stream] && n != acked[stream]+1 {
				t.Errorf("%s has %d events, of which %d were acknowledged", stream, n, acked[stream])
			}
			if !slices.IsSortedFunc(recs, func(a, b domain.Record) int { return int(a.Version - b.Version) }) {
				t.Errorf("%s is out of order", stream)
			}
		}
	}
	verified(t, log.Log.(*Log))
}

func TestALogOfManyEventsNeedsNoMoreMemoryThanAShortOne(t *testing.T) {
	if !soak() {
		t.Skip("takes minutes: set ASSENT_SOAK=1")
	}
	g := readGoldens(t)
	l := openAt(t, made(t), time.Now)
	inUse := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var early uint64
	for i := range 10_000 { // of a thousand events each
		write := g.one(i%crowd, i/crowd*perStream)
		write.Stream.ID = fmt.Sprintf("art_%d", i)
		write.Expect, write.Events = 0, nil
		for j := range 1000 {
			write.Events = append(write.Events, g.one(i, j).Events...)
		}
		if _, err := l.Append(t.Context(), write); err != nil {
			t.Fatal(err)
		}
		if i == 300 {
			early = inUse()
		}
	}
	if late := inUse(); late > early+early/2+(8<<20) {
		t.Errorf("%d bytes in use after 300,000 events, %d after 10 million", early, late)
	}
}
