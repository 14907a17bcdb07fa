package eventstoredb

import (
	"fmt"
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

// All of this is against the fake server in the same process, on no disk: the
// client's ceiling, and no server's speed.

// payload is data as an article's usual change has it: some 420 bytes, beside
// some 280 of envelope.
var payload = []byte(`{"title": "` + strings.Repeat("word ", 80) + `"}`)

// one is an append of one event to a stream of 100 at most.
func one(i int) commands.Write {
	w := logtest.To(fmt.Sprintf("article_%07d", i/100), domain.Version(i%100), fmt.Sprintf("%026d", i))
	w.Events[0].Data = payload
	return w
}

// BenchmarkAppend is a lone append to one stream.
func BenchmarkAppend(b *testing.B) {
	l := openAt(b, serve(b).URL(), time.Now)
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		begun := time.Now()
		if _, err := l.Append(b.Context(), one(i)); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(begun))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
}

// BenchmarkAppend64Writers is 64 writers, each with streams of its own.
func BenchmarkAppend64Writers(b *testing.B) {
	l := openAt(b, serve(b).URL(), time.Now)
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	for w := range 64 {
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

// filled is a log of so many events, in streams of 100.
func filled(b *testing.B, events int) *Log {
	l := openAt(b, serve(b).URL(), time.Now)
	for i := 0; i < events; i += 100 {
		w := one(i)
		for j := 1; j < 100; j++ {
			w.Events = append(w.Events, one(i+j).Events...)
		}
		if _, err := l.Append(b.Context(), w); err != nil {
			b.Fatal(err)
		}
	}
	return l
}

// BenchmarkScan reads the whole log in pages, envelopes included.
func BenchmarkScan(b *testing.B) {
	l := filled(b, 20_000)
	events := 0
	for b.Loop() {
		events += scanned(b, l)
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
}

// scanned reads the whole log once.
func scanned(b *testing.B, l *Log) (events int) {
	b.Helper()
	for at := domain.Position(0); ; {
		recs, err := l.ReadAll(b.Context(), at, 1000)
		if err != nil {
			b.Fatal(err)
		}
		if len(recs) == 0 {
			return events
		}
		at = recs[len(recs)-1].Position
		events += len(recs)
	}
}

// BenchmarkFollow follows the whole log from its beginning.
func BenchmarkFollow(b *testing.B) {
	l := filled(b, 20_000)
	for b.Loop() {
		n := 0
		for _, err := range l.Follow(b.Context(), 0) {
			if err != nil {
				b.Fatal(err)
			}
			if n++; n == 20_000 {
				break
			}
		}
	}
	b.ReportMetric(20_000*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkReadStream reads a stream of 100, envelopes included.
func BenchmarkReadStream(b *testing.B) {
	l := filled(b, 2000)
	for i := 0; b.Loop(); i++ {
		recs, err := l.ReadStream(b.Context(), one(i*100%2000).Stream, 0)
		if err != nil || len(recs) != 100 {
			b.Fatal(len(recs), err)
		}
	}
}

// BenchmarkOpen opens a log of 20,000 events without a bookmark.
func BenchmarkOpen(b *testing.B) {
	l := filled(b, 20_000)
	for b.Loop() {
		again, err := Open(b.Context(), "esdb://"+l.guard.conf.Address+"?tls=false", time.Now)
		if err != nil {
			b.Fatal(err)
		}
		if err := again.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
