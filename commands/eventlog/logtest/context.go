package logtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"assent/commands"
	"assent/domain"
)

var contextCases = []Case{
	{"a context that has ended writes nothing", func(l *Log) {
		err := l.Untouched(func() error {
			_, err := l.Append(cancelled(l), To("a", 0, "a1"))
			return err
		})
		if !errors.Is(err, context.Canceled) {
			l.T.Errorf("the error is %v", err)
		}
	}},
	{"a context that has ended checks nothing", func(l *Log) {
		if _, err := l.Append(cancelled(l), To("a", 0)); !errors.Is(err, context.Canceled) {
			l.T.Errorf("the error is %v", err)
		}
	}},
	{"a context that has ended reads nothing and tells so", func(l *Log) {
		l.Must(To("a", 0, "a1"))
		_, one := l.ReadStream(cancelled(l), Article("a"), 0)
		_, two := l.ReadAll(cancelled(l), 0, 10)
		_, three := l.Head(cancelled(l))
		for _, err := range []error{one, two, three} {
			if !errors.Is(err, context.Canceled) {
				l.T.Errorf("the error is %v", err)
			}
		}
	}},
	{"a deadline that is over is told from a caller who left", func(l *Log) {
		ctx, cancel := context.WithDeadline(l.T.Context(), time.Now().Add(-time.Hour))
		defer cancel()
		_, one := l.Append(ctx, To("a", 0, "a1"))
		_, two := l.ReadStream(ctx, Article("a"), 0)
		_, three := l.ReadAll(ctx, 0, 10)
		for _, err := range []error{one, two, three} {
			if !errors.Is(err, context.DeadlineExceeded) {
				l.T.Errorf("the error is %v", err)
			}
		}
	}},
	{"an append of an ended context can be asked again", func(l *Log) {
		if _, err := l.Append(cancelled(l), To("a", 0, "a1")); err == nil {
			l.T.Fatal("it was taken")
		}
		l.Must(To("a", 0, "a1"))
		l.holds("a@1 ev_a1")
	}},
	{"the end of a context after the answer changes nothing", func(l *Log) {
		ctx, cancel := context.WithCancel(l.T.Context())
		r, err := l.Append(ctx, To("a", 0, "a1"))
		if err != nil {
			l.T.Fatal(err)
		}
		cancel()
		l.again(r, To("a", 0, "a1"))
	}},
	{"of callers who leave at any moment, what was refused is never there and what was taken always", func(l *Log) {
		type end struct {
			write commands.Write
			err   error
		}
		var mu sync.Mutex
		var ends []end
		l.crowd(func(w, i int) error {
			ctx, cancel := context.WithCancel(l.T.Context())
			defer cancel()
			leave := time.AfterFunc(time.Duration(w*i*17)*time.Microsecond, cancel)
			defer leave.Stop()
			write := numbered(fmt.Sprintf("%d-%d", w, i), 0, 2)
			_, err := l.Append(ctx, write)
			mu.Lock()
			defer mu.Unlock()
			ends = append(ends, end{write, err})
			return nil
		})
		for _, e := range ends {
			n := len(l.Stream(e.write.Stream))
			switch {
			case e.err == nil && n != 2, e.err != nil && !errors.Is(e.err, commands.ErrUnknown) && n != 0:
				l.T.Errorf("answered %v, %d of 2 events are there", e.err, n)
			case e.err != nil && !errors.Is(e.err, commands.ErrUnknown) && !errors.Is(e.err, context.Canceled):
				l.T.Errorf("the error is %v", e.err)
			}
			l.Must(e.write)
		}
		l.Same("events", len(l.sound()), 2*writers*rounds)
	}},
	{"callers who leave take nobody along", func(l *Log) {
		l.crowd(func(w, i int) error {
			ctx, cancel := context.WithCancel(l.T.Context())
			defer cancel()
			if w%2 == 0 {
				go cancel()
			}
			_, err := l.Append(ctx, numbered(fmt.Sprintf("%d-%d", w, i), 0, 1))
			if w%2 == 0 {
				return nil
			}
			return err
		})
		for w := 1; w < writers; w += 2 {
			for i := range rounds {
				l.Same("events", len(l.Stream(Article(fmt.Sprintf("%d-%d", w, i)))), 1)
			}
		}
	}},
	{"readers who leave get an error or all of it", func(l *Log) {
		l.Must(numbered("a", 0, 200))
		l.crowd(func(w, i int) error {
			ctx, cancel := context.WithCancel(l.T.Context())
			defer cancel()
			leave := time.AfterFunc(time.Duration(w*i*31)*time.Microsecond, cancel)
			defer leave.Stop()
			var recs []domain.Record
			var err error
			if w%2 == 0 {
				recs, err = l.ReadStream(ctx, Article("a"), 0)
			} else {
				recs, err = l.ReadAll(ctx, 0, 1000)
			}
			if err == nil && len(recs) != 200 || err != nil && !errors.Is(err, context.Canceled) {
				return fmt.Errorf("%d events were read: %w", len(recs), err)
			}
			return nil
		})
		l.Same("events", len(l.All()), 200)
	}},
}
