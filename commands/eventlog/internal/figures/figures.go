// Package figures measures logs against bare references: each figure is a ratio
// of two things done in the same round, and the median of several rounds, since
// other work on a machine slows both alike.
package figures

import (
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"time"
)

// Rounds is how often a pair is measured.
const Rounds = 5

// Pairs reports the median of what each round gives, and fails past the floor.
func Pairs(b *testing.B, what string, f Figure, round func() float64) {
	b.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // as the program runs
	for b.Loop() {
		var got []float64
		for range Rounds {
			got = append(got, round())
		}
		f.Report(b, what, Median(got))
	}
}

// Figure is what a ratio aims at, and how far off a busy machine may bring it.
type Figure struct {
	aim, floor float64
	most       bool // at most; otherwise at least
}

// AtMost is a figure that is better the smaller it is.
func AtMost(aim, floor float64) Figure { return Figure{aim, floor, true} }

// AtLeast is a figure that is better the larger it is.
func AtLeast(aim, floor float64) Figure { return Figure{aim, floor, false} }

// Report puts a figure into the table, and fails past its floor.
func (f Figure) Report(b *testing.B, what string, is float64) {
	b.Helper()
	b.ReportMetric(is, what)
	b.ReportMetric(0, "ns/op") // all rounds together: says nothing
	b.Logf("%s: %.2f (aim %.2f, floor %.2f)", what, is, f.aim, f.floor)
	if f.most && is > f.floor || !f.most && is < f.floor {
		b.Errorf("%s is %.2f, past its floor of %.2f", what, is, f.floor)
	}
}

// Median is the middle of a list, and zero of an empty one.
func Median[T float64 | time.Duration](list []T) T { return Quantile(list, 0.5) }

// Quantile is what so much of a list is at or below, and zero of an empty one.
func Quantile[T float64 | time.Duration](list []T, q float64) T {
	if len(list) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(list))
	return s[int(float64(len(s)-1)*q)]
}

// Load lets writers append for a while, each one append after the other, and
// gives how many there were a second and how long each took.
func Load(b testing.TB, writers int, lasts time.Duration, once func(writer, i int) error) (perSecond float64, took []time.Duration) {
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
