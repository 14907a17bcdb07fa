package postgres

import (
	"slices"
	"sync"
	"testing"
	"time"
)

// Each figure is a ratio against a bare reference in the same round, and the
// median of so many rounds: other work on the machine slows both alike.
const rounds = 5

// pairs reports the median of what each round gives, and fails past a floor.
func pairs(b *testing.B, what string, f figure, round func() float64) {
	b.Helper()
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
	if len(list) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(list))
	return s[int(float64(len(s)-1)*q)]
}

// load lets writers append for a while, each one append after the other, and
// gives how long each append took.
func load(b testing.TB, writers int, lasts time.Duration, once func(writer, i int) error) (perSecond float64, took []time.Duration) {
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
