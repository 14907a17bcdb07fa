package logtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"assent/commands"
	"assent/domain"
)

const (
	writers = 20
	rounds  = 15
)

var manyCases = []Case{
	{"positions have no gaps with 20 writers, and a follower sees each event once, in order", func(l *Log) {
		ctx, cancel := context.WithCancel(l.T.Context())
		defer cancel()
		followed := make(chan []domain.Record, 1)
		go func() {
			var recs []domain.Record
			for r, err := range l.Follow(ctx, 0) {
				if err != nil {
					break
				}
				if recs = append(recs, r); len(recs) == 2*writers*rounds {
					break
				}
			}
			followed <- recs
		}()
		l.crowd(func(w, i int) error {
			name := fmt.Sprintf("w%d", w)
			_, err := l.Append(ctx, To(name, domain.Version(2*i), fmt.Sprintf("%s-%d", name, 2*i), fmt.Sprintf("%s-%d", name, 2*i+1)))
			return err
		})
		all := l.All()
		l.Same("events", len(all), 2*writers*rounds)
		for i, r := range all {
			if r.Position != domain.Position(i+1) {
				l.T.Fatalf("event %d is at position %d", i+1, r.Position)
			}
		}
		l.Same("followed", <-followed, all)
	}},
	{"of 20 writers at one version exactly one wins, and the others are told", func(l *Log) {
		for i := range rounds {
			var won atomic.Int64
			var wg sync.WaitGroup
			for w := range writers {
				wg.Go(func() {
					_, err := l.Append(l.T.Context(), To("a", domain.Version(i), fmt.Sprintf("%d-%d", i, w)))
					var c *commands.Conflict
					switch {
					case err == nil:
						won.Add(1)
					case !errors.As(err, &c):
						l.T.Errorf("writer %d: %v", w, err)
					}
				})
			}
			wg.Wait()
			l.Same("winners", won.Load(), int64(1))
		}
	}},
	{"writers that take the version a conflict names all get through", func(l *Log) {
		l.crowd(func(w, i int) error {
			at := domain.Version(0)
			for {
				_, err := l.Append(l.T.Context(), To("a", at, fmt.Sprintf("%d-%d", w, i)))
				var c *commands.Conflict
				if !errors.As(err, &c) {
					return err
				}
				at = c.Actual
			}
		})
		l.Same("events", len(l.Stream(Article("a"))), writers*rounds)
	}},
	{"the same append from 20 callers at once is written once", func(l *Log) {
		var mu sync.Mutex
		receipts := make(map[commands.Receipt]int)
		l.crowd(func(_, i int) error {
			r, err := l.Append(l.T.Context(), To("a", domain.Version(i), fmt.Sprint(i)))
			mu.Lock()
			defer mu.Unlock()
			receipts[r]++
			return err
		}, inStep)
		l.Same("events", len(l.All()), rounds)
		l.Same("receipts", len(receipts), rounds)
	}},
	{"nothing at or below a head that was returned changes", func(l *Log) {
		type seen struct {
			head commands.Head
			last domain.Record
		}
		var mu sync.Mutex
		var saw []seen
		l.crowd(func(w, i int) error {
			name := fmt.Sprintf("w%d", w)
			if _, err := l.Append(l.T.Context(), To(name, domain.Version(i), fmt.Sprintf("%s-%d", name, i))); err != nil {
				return err
			}
			head, err := l.Head(l.T.Context())
			if err != nil {
				return err
			}
			last, err := l.ReadAll(l.T.Context(), head.Position-1, 1)
			if err != nil || len(last) != 1 {
				return fmt.Errorf("no event at the head %d: %v", head.Position, err)
			}
			mu.Lock()
			defer mu.Unlock()
			saw = append(saw, seen{head, last[0]})
			return nil
		})
		all := l.All()
		for _, s := range saw {
			l.Same("event at the head", s.last, all[s.head.Position-1])
			l.Same("time", s.head.At, s.last.At)
		}
	}},
}

// inStep makes a crowd wait for its slowest before each round.
const inStep = true

// crowd lets 20 writers do their rounds at the same time.
func (l *Log) crowd(do func(writer, round int) error, together ...bool) {
	l.T.Helper()
	run := func(from, to int) {
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				for i := from; i < to; i++ {
					if err := do(w, i); err != nil {
						l.T.Errorf("writer %d, round %d: %v", w, i, err)
						return
					}
				}
			})
		}
		wg.Wait()
	}
	if len(together) == 0 {
		run(0, rounds)
		return
	}
	for i := range rounds {
		run(i, i+1)
	}
}
