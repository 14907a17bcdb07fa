package logtest

import (
	"fmt"
	"sync"
	"time"

	"assent/domain"
)

// shareCases are for a log that several processes use at once.
var shareCases = []Case{
	{"what one wrote the other reads", func(one *Log) {
		two := one.beside(0)
		one.Must(To("a", 0, "a1"), To("b", 0, "b1"))
		one.Same("stream", two.Stream(Article("a")), one.Stream(Article("a")))
		one.Same("log", two.All(), one.All())
		two.Must(To("a", 1, "a2"))
		one.holds("a@1 ev_a1", "b@1 ev_b1", "a@2 ev_a2")
	}},
	{"what one wrote is a conflict to the other", func(one *Log) {
		two := one.beside(0)
		one.Must(To("a", 0, "a1"))
		two.conflict("a", 0, 1, To("a", 0, "x1"))
		two.conflict("a", 0, 1, To("b", 0, "x1"), To("a", 0))
		two.Must(To("a", 1, "a2"))
		one.conflict("a", 1, 2, To("a", 1, "x1"))
		one.Must(To("a", 2, "a3"))
		two.sound()
	}},
	{"what one was answered the other answers again", func(one *Log) {
		two := one.beside(time.Hour)
		r := one.Must(To("a", 0, "a1"), To("b", 0, "b1"))
		two.again(r, To("a", 0, "a1"), To("b", 0, "b1"))
		one.Must(To("a", 1, "a2"))
		two.again(r, To("a", 0, "a1"), To("b", 0, "b1"))
		other := To("a", 0, "a1")
		other.Events[0].Data = []byte(`{}`)
		two.reused(other)
	}},
	{"a follower of one gets what the other writes", func(one *Log) {
		two := one.beside(0)
		next := two.follow(one.T.Context(), 0)
		for i := range 5 {
			one.Must(numbered("a", domain.Version(i), 1))
			one.Same("followed", ids(next(1)), []string{fmt.Sprintf("a@%d ev_a-%d", i+1, i+1)})
			two.Must(numbered("b", domain.Version(i), 1))
			one.Same("followed", ids(next(1)), []string{fmt.Sprintf("b@%d ev_b-%d", i+1, i+1)})
		}
	}},
	{"one goes on when the other is closed", func(one *Log) {
		two := one.beside(0)
		two.Must(To("a", 0, "a1"))
		two.shut()
		one.Must(To("a", 1, "a2"))
		one.holds("a@1 ev_a1", "a@2 ev_a2")
	}},
	{"clocks that are off do not take the log's time back", func(one *Log) {
		two := one.beside(-time.Hour)
		three := one.beside(time.Minute)
		for i := range 10 {
			for n, l := range []*Log{one, two, three} {
				l.All() // on a log that is not atomic, time is as what it has seen
				l.Must(numbered(fmt.Sprint(n), domain.Version(i), 1))
				l.Clock.Move(time.Second)
			}
		}
		one.sound()
	}},
	{"two crowds on two of it write everything once, in one order for all", func(one *Log) {
		two := one.beside(0)
		one.few(func(w, i int) error {
			l := []*Log{one, two}[w%2]
			at := domain.Version(0)
			for {
				_, err := l.Append(l.T.Context(), To("a", at, fmt.Sprintf("%d-%d", w, i)))
				c, conflict := isConflict(err)
				if !conflict {
					return err
				}
				at = c.Actual
			}
		})
		one.Same("events", one.All(), two.All())
		one.Same("number", len(one.All()), fewWriters*fewRounds)
	}},
	{"the same append through two of it at once is written once", func(one *Log) {
		two := one.beside(0)
		for i := range rounds {
			var wg sync.WaitGroup
			for w := range 4 {
				wg.Go(func() {
					l := []*Log{one, two}[w%2]
					if _, err := l.Append(l.T.Context(), numbered("a", domain.Version(i), 1), numbered("b", domain.Version(i), 1)); err != nil {
						l.T.Errorf("round %d: %v", i, err)
					}
				})
			}
			wg.Wait()
		}
		one.Same("events", len(one.sound()), 2*rounds)
	}},
}
