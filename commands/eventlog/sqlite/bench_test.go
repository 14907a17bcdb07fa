package sqlite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assent/commands"
	"assent/commands/eventlog/logtest"
	"assent/domain"
)

// payload is data as an article's usual change has it: some 420 bytes, beside
// some 280 of envelope.
var payload = []byte(`{"title": "` + strings.Repeat("word ", 80) + `"}`)

// one is an append of one event to a stream of 100 at most.
func one(i int) commands.Write {
	w := logtest.To(fmt.Sprintf("article_%07d", i/100), domain.Version(i%100), fmt.Sprintf("%026d", i))
	w.Events[0].Data = payload
	return w
}

// p50 reports the median of what b.Loop took each time.
func p50(b *testing.B, once func(i int)) {
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		start := time.Now()
		once(i)
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
}

// BenchmarkAppend is a lone append, durable when it is answered. Its p50 is to
// be held against that of BenchmarkBareFsync in the same run.
func BenchmarkAppend(b *testing.B) {
	l := openAt(b, filepath.Join(b.TempDir(), "log.db"), time.Now)
	p50(b, func(i int) {
		if _, err := l.Append(b.Context(), one(i)); err != nil {
			b.Fatal(err)
		}
	})
}

// BenchmarkAppend64Writers shares commits among 64 writers, each with streams
// of its own.
func BenchmarkAppend64Writers(b *testing.B) {
	const writers = 64
	l := openAt(b, filepath.Join(b.TempDir(), "log.db"), time.Now)
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	for w := range writers {
		wg.Go(func() {
			for i := 0; next.Add(1) <= int64(b.N); i++ {
				if _, err := l.Append(b.Context(), one(w*1_000_000+i)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
}

// BenchmarkBareFsync is what no durable append can do without: the same bytes
// written in place, and one fsync.
func BenchmarkBareFsync(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "bare"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	bytes := make([]byte, len(payload)+280)
	p50(b, func(i int) {
		if _, err := f.WriteAt(bytes, int64(i%4096*len(bytes))); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
	})
}

// filled is a log of so many events, in streams of 100.
func filled(b *testing.B, events int) *Log {
	l := openAt(b, filepath.Join(b.TempDir(), "log.db"), time.Now)
	for i := 0; i < events; i += 100 {
		w := one(i)
		for j := 1; j < 100; j++ {
			w.Events = append(w.Events, one(i+j).Events...)
		}
		if _, err := l.Append(context.Background(), w); err != nil {
			b.Fatal(err)
		}
	}
	return l
}

// BenchmarkReadStream reads a stream of 100, envelopes included.
func BenchmarkReadStream(b *testing.B) {
	l := filled(b, 20_000)
	p50(b, func(i int) {
		recs, err := l.ReadStream(b.Context(), one(i*100%20_000).Stream, 0)
		if err != nil || len(recs) != 100 {
			b.Fatal(len(recs), err)
		}
	})
}

// BenchmarkScan reads the whole log in pages, envelopes included.
func BenchmarkScan(b *testing.B) {
	l := filled(b, 20_000)
	events := 0
	for b.Loop() {
		for at := domain.Position(0); at < 20_000; {
			recs, err := l.ReadAll(b.Context(), at, 1000)
			if err != nil || len(recs) == 0 {
				b.Fatal(len(recs), err)
			}
			at = recs[len(recs)-1].Position
			events += len(recs)
		}
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkVerify checks the whole log, hashes included.
func BenchmarkVerify(b *testing.B) {
	l := filled(b, 20_000)
	for b.Loop() {
		if err := l.Verify(b.Context(), nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(20_000*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkOpen opens a log of 20,000 events.
func BenchmarkOpen(b *testing.B) {
	l := filled(b, 20_000)
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
