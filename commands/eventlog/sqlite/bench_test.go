package sqlite

import (
	"errors"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assent/commands"
	"assent/commands/eventlog/chain"
	"assent/commands/eventlog/internal/admit"
	"assent/domain"
)

// Each figure is a ratio against a bare reference in the same round, and the
// median of so many rounds: other work on the machine slows both alike.
const rounds = 5

const crowd = 64 // writers at once

// pairs reports the median of what each round gives, and fails past a floor.
func pairs(b *testing.B, what string, f figure, round func() float64) {
	b.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // as the program runs
	for b.Loop() {
		var got []float64
		for range rounds {
			got = append(got, round())
		}
		f.report(b, what, median(got))
	}
}

// figure is what a ratio aims at, and how far off a busy machine may bring it.
type figure struct {
	aim, floor float64
	most       bool // at most; otherwise at least
}

func atMost(aim, floor float64) figure  { return figure{aim, floor, true} }
func atLeast(aim, floor float64) figure { return figure{aim, floor, false} }

func (f figure) report(b *testing.B, what string, is float64) {
	b.Helper()
	b.ReportMetric(is, what)
	b.ReportMetric(0, "ns/op") // all rounds together: says nothing
	b.Logf("%s: %.2f (aim %.2f, floor %.2f)", what, is, f.aim, f.floor)
	if f.most && is > f.floor || !f.most && is < f.floor {
		b.Errorf("%s is %.2f, past its floor of %.2f", what, is, f.floor)
	}
}

func median[T float64 | time.Duration](list []T) T { return quantile(list, 0.5) }

func quantile[T float64 | time.Duration](list []T, q float64) T {
	s := slices.Sorted(slices.Values(list))
	return s[int(float64(len(s)-1)*q)]
}

// load lets writers append for a while, each one append after the other, and
// gives how long each append took.
func load(b *testing.B, writers int, lasts time.Duration, once func(writer, i int) error) (perSecond float64, took []time.Duration) {
	b.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	began := time.Now()
	for w := range writers {
		wg.Go(func() {
			var mine []time.Duration
			for i := 0; time.Since(began) < lasts; i++ {
				start := time.Now()
				if err := once(w, i); err != nil {
					b.Errorf("writer %d: %v", w, err)
					return
				}
				mine = append(mine, time.Since(start))
			}
			mu.Lock()
			defer mu.Unlock()
			took = append(took, mine...)
		})
	}
	wg.Wait()
	return float64(len(took)) / time.Since(began).Seconds(), took
}

func benchLog(b *testing.B) *Log {
	b.Helper()
	return openAt(b, filepath.Join(b.TempDir(), "log.db"), time.Now)
}

// BenchmarkLone is an append with nobody beside it, durable when it is
// answered, against the same bytes written in place and one fdatasync.
func BenchmarkLone(b *testing.B) {
	g := readGoldens(b)
	pairs(b, "lone/fdatasync", atMost(1.8, 2.5), func() float64 {
		l := benchLog(b)
		_, ours := load(b, 1, time.Second, func(w, i int) error {
			_, err := l.Append(b.Context(), g.one(w, i))
			return err
		})
		bare := fdatasyncs(b, g.size(), 2000)
		b.Logf("lone p50 %v, fdatasync p50 %v", median(ours), bare)
		return float64(median(ours)) / float64(bare)
	})
}

// BenchmarkCrowd is 64 writers, each with streams of its own, against the C
// library with as many rows a commit, and against the same statements through
// the same driver.
func BenchmarkCrowd(b *testing.B) {
	g := readGoldens(b)
	c := compiled(b)
	var tails, drivers, chains []float64
	pairs(b, "crowd/C", atLeast(0.70, 0.50), func() float64 {
		l := benchLog(b)
		ours, took := load(b, crowd, time.Second, func(w, i int) error {
			_, err := l.Append(b.Context(), g.one(w, i))
			return err
		})
		tails = append(tails, float64(quantile(took, 0.99))/float64(median(took)))
		driver := bareInserts(b, g, crowd, 40_000)
		drivers = append(drivers, ours/driver)
		// An event's hash is made by the one goroutine that also commits: what
		// it takes is what every event would take less.
		link := linkTime(b, g)
		chains = append(chains, 1-link.Seconds()*ours)
		bare := c.inserts(b, g, crowd, 60_000)
		b.Logf("64 writers %.0f/s (p50 %v, p99 %v), driver %.0f/s, C %.0f/s, hash %v", ours, median(took), quantile(took, 0.99), driver, bare, link)
		return ours / bare
	})
	atMost(3, 6).report(b, "crowd-p99/p50", median(tails))
	atLeast(0.80, 0.55).report(b, "crowd/driver", median(drivers))
	atLeast(0.95, 0.92).report(b, "chain/no-chain", median(chains))
}

// BenchmarkHot is 64 writers who all want one stream, each trying again where
// it was told the stream is, against the same writers with streams of their own.
func BenchmarkHot(b *testing.B) {
	g := readGoldens(b)
	pairs(b, "hot/spread", atLeast(0.8, 0.5), func() float64 {
		l := benchLog(b)
		spread, _ := load(b, crowd, time.Second, func(w, i int) error {
			_, err := l.Append(b.Context(), g.one(w, i))
			return err
		})
		var conflicts atomic.Int64
		at := make([]domain.Version, crowd)
		hot, _ := load(b, crowd, time.Second, func(w, i int) error {
			write := g.one(w, i)
			write.Stream.ID = "hot"
			for {
				write.Expect = at[w]
				_, err := l.Append(b.Context(), write)
				lost, moved := errors.AsType[*commands.Conflict](err)
				if !moved {
					at[w]++
					return err
				}
				at[w] = lost.Actual
				conflicts.Add(1)
			}
		})
		b.Logf("64 streams %.0f/s, one stream %.0f/s, %d conflicts", spread, hot, conflicts.Load())
		return hot / spread
	})
}

// BenchmarkScan reads a whole log, in the bytes stored, against the C library.
func BenchmarkScan(b *testing.B) {
	const events = 100_000
	g := readGoldens(b)
	c := compiled(b)
	l := filled(b, g, events)
	pairs(b, "scan/C", atLeast(0.80, 0.60), func() float64 {
		began := time.Now()
		for at := domain.Position(0); at < events; {
			var rows []chain.Row
			err := l.read(b.Context(), func(c *conn) (err error) {
				rows, err = c.all(at, 1000)
				return err
			})
			if err != nil || len(rows) == 0 {
				b.Fatal(len(rows), err)
			}
			at = rows[len(rows)-1].Position
		}
		ours := events / time.Since(began).Seconds()
		bare := c.scans(b, pathOf(l))
		b.Logf("scan %.0f/s, C %.0f/s", ours, bare)
		return ours / bare
	})
}

// filled is a log of so many events, in streams of 100.
func filled(b *testing.B, g goldens, events int) *Log {
	b.Helper()
	l := benchLog(b)
	for i := 0; i < events; i += perStream {
		w := g.one(0, i)
		for j := 1; j < perStream; j++ {
			w.Events = append(w.Events, g.one(0, i+j).Events...)
		}
		if _, err := l.Append(b.Context(), w); err != nil {
			b.Fatal(err)
		}
	}
	return l
}

// BenchmarkVerify checks a whole log, hashes included.
func BenchmarkVerify(b *testing.B) {
	l := filled(b, readGoldens(b), 20_000)
	for b.Loop() {
		if err := l.Verify(b.Context(), nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(20_000*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkOpen opens a log of 20,000 events.
func BenchmarkOpen(b *testing.B) {
	l := filled(b, readGoldens(b), 20_000)
	for b.Loop() {
		again, err := Open(b.Context(), pathOf(l), time.Now)
		if err != nil {
			b.Fatal(err)
		}
		if err := again.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// linkTime is what one event's hash takes, on average.
func linkTime(b *testing.B, g goldens) time.Duration {
	b.Helper()
	const times = 20_000
	var rows []chain.Row
	for i := range g.events {
		a, err := admit.Encode([]commands.Write{g.one(i, 0)})
		if err != nil {
			b.Fatal(err)
		}
		rows = append(rows, a.Writes[0].Rows...)
	}
	var link [32]byte
	began := time.Now()
	for i := range times {
		r := rows[i%len(rows)]
		link = chain.Link(link, r.Record, r.Text)
	}
	return time.Since(began) / times
}
