package postgres

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"assent/commands"
	"assent/commands/eventlog/logtest"
	"assent/domain"
)

// payload is data as an article's usual change has it: some 420 bytes, beside
// some 280 of envelope.
var payload = []byte(`{"title": "` + strings.Repeat("word ", 80) + `"}`)

// one is an append of one event to a stream of 100 at most.
func one(name string, i int) commands.Write {
	w := logtest.To(fmt.Sprintf("%s_%07d", name, i/100), domain.Version(i%100), fmt.Sprintf("%s%026d", name, i))
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
// be held against that of BenchmarkRawCommit in the same run.
func BenchmarkAppend(b *testing.B) {
	l := openAt(b, schema(b), time.Now)
	p50(b, func(i int) {
		if _, err := l.Append(b.Context(), one("article", i)); err != nil {
			b.Fatal(err)
		}
	})
}

// BenchmarkRawCommit is what no lone append can do without: one statement that
// writes the event and the head's row, checks nothing and hashes nothing.
func BenchmarkRawCommit(b *testing.B) {
	where := schema(b)
	openAt(b, where, time.Now)
	c, err := pgx.Connect(b.Context(), where)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close(b.Context())
	envelope, link := make([]byte, 280), make([]byte, 32)
	p50(b, func(i int) {
		_, err := c.Exec(b.Context(), `WITH head AS (UPDATE head SET position = $1)
			INSERT INTO events VALUES ($1, $2, $3, $4, 'article.updated', 1, 0, $5, $6, $7)`,
			int64(i+1), int64(i/100), int64(i%100), fmt.Appendf(nil, "ev_%026d", i), envelope, payload, link)
		if err != nil {
			b.Fatal(err)
		}
	})
}

// crowd is 64 writers on so many instances of one log, each with streams of
// its own.
func crowd(b *testing.B, instances int) {
	const writers = 64
	where := schema(b)
	logs := make([]*Log, instances)
	for i := range logs {
		logs[i] = openAt(b, where, time.Now)
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	for w := range writers {
		wg.Go(func() {
			for i := 0; next.Add(1) <= int64(b.N); i++ {
				if _, err := logs[w%instances].Append(b.Context(), one(fmt.Sprintf("w%d", w), i)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
}

func BenchmarkAppend64Writers(b *testing.B) { crowd(b, 1) }

// BenchmarkAppend64WritersOfTwoInstances shares the writers among instances
// that do not know of each other. It is to be held against one instance.
func BenchmarkAppend64WritersOfTwoInstances(b *testing.B) { crowd(b, 2) }

// BenchmarkHotStream is 64 writers of one stream, each taking the version that
// its conflict names.
func BenchmarkHotStream(b *testing.B) {
	const writers = 64
	l := openAt(b, schema(b), time.Now)
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	for w := range writers {
		wg.Go(func() {
			at := domain.Version(0)
			for i := 0; next.Add(1) <= int64(b.N); {
				write := logtest.To("hot", at, fmt.Sprintf("w%d-%d", w, i))
				write.Events[0].Data = payload
				_, err := l.Append(b.Context(), write)
				var c *commands.Conflict
				switch {
				case errors.As(err, &c):
					at = c.Actual
					next.Add(-1)
				case err != nil:
					b.Error(err)
					return
				default:
					at++
					i++
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
}
