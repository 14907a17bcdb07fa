package logtest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"assent/commands"
	"assent/domain"
)

// A crowd is so many writers that do so many rounds each; where each has to
// wait for all others, it is few.
var (
	writers    = 12
	rounds     = times(8)
	fewWriters = 6
	fewRounds  = times(4)
)

var manyCases = []Case{
	{"what a crowd writes is all there, once, in order", func(l *Log) {
		l.crowd(func(w, i int) error {
			_, err := l.Append(l.T.Context(), numbered(fmt.Sprint(w), domain.Version(2*i), 2))
			return err
		})
		l.Same("events", len(l.sound()), 2*writers*rounds)
	}},
	{"each of a crowd gets the receipt of its own append", func(l *Log) {
		var mu sync.Mutex
		receipts := make(map[domain.Position]commands.Receipt)
		ids := make(map[domain.Position]domain.ID)
		l.crowd(func(w, i int) error {
			write := numbered(fmt.Sprint(w), domain.Version(i), 1)
			r, err := l.Append(l.T.Context(), write)
			mu.Lock()
			defer mu.Unlock()
			receipts[r.Position], ids[r.Position] = r, write.Events[0].ID
			return err
		})
		for _, r := range l.sound() {
			l.Same("receipt", receipts[r.Position], commands.Receipt{Position: r.Position, At: r.At})
			l.Same("id", ids[r.Position], r.ID)
		}
	}},
	{"readers of a stream only ever see it grow", func(l *Log) {
		done := make(chan struct{})
		var readers sync.WaitGroup
		for range 3 {
			readers.Go(func() { l.grows(Article("0"), done) })
		}
		l.crowd(func(w, i int) error {
			_, err := l.Append(l.T.Context(), numbered(fmt.Sprint(w), domain.Version(i), 1))
			return err
		})
		close(done)
		readers.Wait()
	}},
	{"a crowd's faults, refusals and conflicts disturb no one else", func(l *Log) {
		large := sized(l, "large", commands.MaxEvent+1)
		l.Must(To("moved", 0, "m1"))
		l.crowd(func(w, i int) error {
			var err error
			switch w % 4 {
			case 0:
				_, err = l.Append(l.T.Context(), numbered(fmt.Sprint(w), domain.Version(i), 1))
				return err
			case 1:
				_, err = l.Append(l.T.Context(), To("x", -1, "x"))
			case 2:
				_, err = l.Append(l.T.Context(), commands.Write{Stream: Article("x"), Events: []domain.Fresh{large}})
			case 3:
				_, err = l.Append(l.T.Context(), To("x", 0, "x"), To("moved", 0, "m2"))
			}
			if err == nil {
				return errors.New("it was taken")
			}
			return nil
		})
		l.Same("events", len(l.sound()), 1+rounds*(writers/4))
	}},
	{"of a crowd at one version exactly one wins, and the others are told", func(l *Log) {
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
		l.few(func(w, i int) error {
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
		l.Same("events", len(l.Stream(Article("a"))), fewWriters*fewRounds)
	}},
	{"the same append of a whole crowd at once is written once", func(l *Log) {
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
	{"the same append of several streams of a whole crowd at once is written once", func(l *Log) {
		var mu sync.Mutex
		receipts := make(map[commands.Receipt]int)
		l.crowd(func(_, i int) error {
			at := domain.Version(i)
			r, err := l.Append(l.T.Context(), numbered("a", at, 1), numbered("b", at, 1), numbered("c", at, 1))
			mu.Lock()
			defer mu.Unlock()
			receipts[r]++
			return err
		}, inStep)
		l.Same("events", len(l.sound()), 3*rounds)
		l.Same("receipts", len(receipts), rounds)
	}},
	{"a crowd that asks again at once what it was answered is answered the same", func(l *Log) {
		l.crowd(func(w, i int) error {
			write := numbered(fmt.Sprint(w), domain.Version(i), 1)
			first, err := l.Append(l.T.Context(), write)
			if err != nil {
				return err
			}
			second, err := l.Append(l.T.Context(), write)
			if err == nil && second != first {
				err = fmt.Errorf("it was answered %v, then %v", first, second)
			}
			return err
		})
		l.Same("events", len(l.sound()), writers*rounds)
	}},
}

// grows reads a stream until done, which has to go on each time where it was.
func (l *Log) grows(s domain.Stream, done <-chan struct{}) {
	var last []domain.Record
	for {
		select {
		case <-done:
			return
		default:
		}
		recs, err := l.ReadStream(l.T.Context(), s, 0)
		if err != nil || len(recs) < len(last) || diff(last, append([]domain.Record(nil), recs[:len(last)]...)) != "" {
			l.T.Errorf("%s went from %v to %v: %v", s, ids(last), ids(recs), err)
			return
		}
		last = recs
	}
}

// inStep makes a crowd wait for its slowest before each round.
const inStep = true

// crowd lets all writers do their rounds at the same time.
func (l *Log) crowd(do func(writer, round int) error, together ...bool) {
	l.T.Helper()
	if len(together) == 0 {
		l.run(writers, 0, rounds, do)
		return
	}
	for i := range rounds {
		l.run(writers, i, i+1, do)
	}
}

// few lets some writers do some rounds at the same time.
func (l *Log) few(do func(writer, round int) error) {
	l.T.Helper()
	l.run(fewWriters, 0, fewRounds, do)
}

func (l *Log) run(writers, from, to int, do func(writer, round int) error) {
	l.T.Helper()
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
