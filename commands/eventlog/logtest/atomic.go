package logtest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"assent/commands"
	"assent/domain"
)

// atomicCases are promises of logs that are Atomic only.
var atomicCases = []Case{
	{"the first event is at position 1", func(l *Log) {
		l.Same("receipt", l.Must(To("a", 0, "a1")).Position, domain.Position(1))
	}},
	{"positions have no gaps, whatever was refused in between", func(l *Log) {
		for i := range 10 {
			l.Must(numbered("a", domain.Version(2*i), 2), numbered(fmt.Sprint(i), 0, 1))
			l.Fails(To("a", 1, "x1"))
			l.fault(To("a", -1, "x1"))
			l.Fails(commands.Write{Stream: Article("x"), Events: []domain.Fresh{sized(l, "x1", commands.MaxEvent+1)}})
			l.again(l.Must(), To("a", domain.Version(2*i+2)))
		}
		for i, r := range l.All() {
			l.Same("position", r.Position, domain.Position(i+1))
		}
	}},
	{"any number is a position to read after", func(l *Log) {
		l.Must(To("a", 0, "a1", "a2"))
		for after, want := range map[domain.Position]int{-1 << 63: 2, -1: 2, 0: 2, 1: 1, 2: 0, 3: 0, 1<<63 - 1: 0} {
			l.Same(fmt.Sprintf("events after %d", after), len(l.After(after, 10)), want)
		}
	}},
	{"a follower ahead of the log waits for its place", func(l *Log) {
		next := l.follow(l.T.Context(), 2)
		l.Must(To("a", 0, "a1", "a2"))
		l.Must(To("a", 2, "a3"))
		l.Same("events", ids(next(1)), []string{"a@3 ev_a3"})
	}},
	{"all streams of an append were recorded at one time", func(l *Log) {
		l.Must(To("a", 0, "a1", "a2"), To("b", 0, "b1"))
		all := l.All()
		l.Same("times", []time.Time{all[0].At, all[1].At}, []time.Time{all[2].At, all[2].At})
	}},
	{"an append of which only some streams are in the log is a fault", func(l *Log) {
		l.Must(To("a", 0, "a1", "a2"))
		l.reused(To("a", 0, "a1", "a2"), To("b", 0, "b1"))
		l.reused(To("b", 0, "b1"), To("a", 0, "a1", "a2"))
	}},
	{"the events of one append lie side by side, whatever others write", func(l *Log) {
		l.crowd(func(w, i int) error {
			at := domain.Version(i)
			one, two := fmt.Sprintf("%d", w), fmt.Sprintf("%d'", w)
			_, err := l.Append(l.T.Context(), numbered(one, at, 1), numbered(two, at, 1))
			return err
		})
		all := l.sound()
		for i := 0; i < len(all); i += 2 {
			l.Same("neighbour", all[i+1].Stream.ID, all[i].Stream.ID+"'")
		}
	}},
	{"nobody ever reads a part of an append", func(l *Log) {
		done := make(chan struct{})
		var readers sync.WaitGroup
		for range 3 {
			readers.Go(func() { l.readsWhole(done, 3) })
		}
		l.crowd(func(w, i int) error {
			at := domain.Version(i)
			_, err := l.Append(l.T.Context(), numbered(fmt.Sprintf("a%d", w), at, 1), numbered(fmt.Sprintf("b%d", w), 2*at, 2))
			return err
		})
		close(done)
		readers.Wait()
	}},
	{"a check holds at the moment of writing: of two that each check the other's stream, one is told", func(l *Log) {
		for i := range rounds {
			x, y := fmt.Sprintf("x%d", i), fmt.Sprintf("y%d", i)
			var won atomic.Int64
			var wg sync.WaitGroup
			for _, pair := range [][2]string{{x, y}, {y, x}} {
				wg.Go(func() {
					_, err := l.Append(l.T.Context(), To(pair[0], 0), To(pair[1], 0, pair[1]))
					if _, conflict := isConflict(err); err == nil {
						won.Add(1)
					} else if !conflict {
						l.T.Errorf("the error is %v", err)
					}
				})
			}
			wg.Wait()
			l.Same("winners", won.Load(), int64(1))
		}
	}},
	{"a crowd that appends to the same two streams in either order leaves them equally long", func(l *Log) {
		l.few(func(w, i int) error {
			at := domain.Version(0)
			id := fmt.Sprintf("%d-%d", w, i)
			for {
				writes := []commands.Write{To("a", at, id+"a"), To("b", at, id+"b")}
				if w%2 == 0 {
					writes[0], writes[1] = writes[1], writes[0]
				}
				_, err := l.Append(l.T.Context(), writes...)
				c, conflict := isConflict(err)
				if !conflict {
					return err
				}
				at = c.Actual
			}
		})
		a, b := l.Stream(Article("a")), l.Stream(Article("b"))
		l.Same("events", []int{len(a), len(b)}, []int{fewWriters * fewRounds, fewWriters * fewRounds})
		for i := range a {
			l.Same("the two", string(a[i].ID[:len(a[i].ID)-1]), string(b[i].ID[:len(b[i].ID)-1]))
		}
	}},
	{"no answer is ErrPartly", func(l *Log) {
		l.crowd(func(w, i int) error {
			_, err := l.Append(l.T.Context(), To(fmt.Sprintf("own%d", w), domain.Version(i), fmt.Sprintf("o%d-%d", w, i)), To("hot", domain.Version(i), fmt.Sprintf("h%d-%d", w, i)))
			if errors.Is(err, commands.ErrPartly) {
				return err
			}
			return nil
		})
		l.sound()
	}},
}

// readsWhole reads the log until done, and up to the head there are whole
// appends of n events each time.
func (l *Log) readsWhole(done <-chan struct{}, n int) {
	for {
		select {
		case <-done:
			return
		default:
		}
		head, err := l.Head(l.T.Context())
		if err == nil && int(head.Position)%n != 0 {
			err = fmt.Errorf("the head is at %d, in the middle of an append", head.Position)
		}
		if err != nil {
			l.T.Error(err)
			return
		}
		if recs, err := l.ReadAll(l.T.Context(), 0, 1<<20); err != nil || len(recs)%n != 0 {
			l.T.Errorf("%d events were read at once: %v", len(recs), err)
			return
		}
	}
}
