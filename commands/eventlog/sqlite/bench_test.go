package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"assent/commands"
	"assent/commands/eventlog/chain"
	"assent/commands/eventlog/internal/admit"
	"assent/commands/eventlog/internal/figures"
	"assent/commands/eventlog/internal/tail"
	"assent/domain"
)

const crowd = 64 // writers at once

func benchLog(b *testing.B) *Log {
	b.Helper()
	return openAt(b, filepath.Join(b.TempDir(), "log.db"), time.Now)
}

// BenchmarkLone is an append with nobody beside it, durable when it is
// answered, against the same bytes written in place and one fdatasync.
func BenchmarkLone(b *testing.B) {
	g := readGoldens(b)
	figures.Pairs(b, "lone/fdatasync", figures.AtMost(1.8, 2.5), func() float64 {
		l := benchLog(b)
		_, ours := figures.Load(b, 1, time.Second, func(w, i int) error {
			_, err := l.Append(b.Context(), g.one(w, i))
			return err
		})
		bare := fdatasyncs(b, g.size(), 2000)
		b.Logf("lone p50 %v, fdatasync p50 %v", figures.Median(ours), bare)
		return float64(figures.Median(ours)) / float64(bare)
	})
}

// BenchmarkCrowd is 64 writers, each with streams of its own, against the C
// library with as many rows a commit, and against the same statements through
// the same driver.
func BenchmarkCrowd(b *testing.B) {
	g := readGoldens(b)
	c := compiled(b)
	var tails, drivers, chains []float64
	figures.Pairs(b, "crowd/C", figures.AtLeast(0.70, 0.50), func() float64 {
		l := benchLog(b)
		ours, took := figures.Load(b, crowd, time.Second, func(w, i int) error {
			_, err := l.Append(b.Context(), g.one(w, i))
			return err
		})
		tails = append(tails, float64(figures.Quantile(took, 0.99))/float64(figures.Median(took)))
		driver := bareInserts(b, g, crowd, 40_000)
		drivers = append(drivers, ours/driver)
		// An event's hash is made by the one goroutine that also commits: what
		// it takes is what every event would take less.
		link := linkTime(b, g)
		chains = append(chains, 1-link.Seconds()*ours)
		bare := c.inserts(b, g, crowd, 60_000)
		b.Logf("64 writers %.0f/s (p50 %v, p99 %v), driver %.0f/s, C %.0f/s, hash %v", ours, figures.Median(took), figures.Quantile(took, 0.99), driver, bare, link)
		return ours / bare
	})
	figures.AtMost(3, 6).Report(b, "crowd-p99/p50", figures.Median(tails))
	figures.AtLeast(0.80, 0.55).Report(b, "crowd/driver", figures.Median(drivers))
	figures.AtLeast(0.95, 0.92).Report(b, "chain/no-chain", figures.Median(chains))
}

// BenchmarkHot is 64 writers who all want one stream, each trying again where
// it was told the stream is, against the same writers with streams of their own.
func BenchmarkHot(b *testing.B) {
	g := readGoldens(b)
	figures.Pairs(b, "hot/spread", figures.AtLeast(0.8, 0.5), func() float64 {
		l := benchLog(b)
		spread, _ := figures.Load(b, crowd, time.Second, func(w, i int) error {
			_, err := l.Append(b.Context(), g.one(w, i))
			return err
		})
		var conflicts atomic.Int64
		at := make([]domain.Version, crowd)
		hot, _ := figures.Load(b, crowd, time.Second, func(w, i int) error {
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
	page := func(ctx context.Context, after domain.Position, limit int) (rows []chain.Row, err error) {
		err = l.read(ctx, func(c *conn) (err error) {
			rows, err = c.all(after, limit)
			return err
		})
		return rows, err
	}
	figures.Pairs(b, "scan/C", figures.AtLeast(0.80, 0.60), func() float64 {
		began := time.Now()
		n := 0
		for rows, err := range tail.Pages(b.Context(), 0, 1000, page, func(r chain.Row) domain.Position { return r.Position }) {
			if err != nil {
				b.Fatal(err)
			}
			n += len(rows)
		}
		if n != events {
			b.Fatalf("%d events", n)
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
