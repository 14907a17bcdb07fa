package logtest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"

	"assent/commands"
	"assent/domain"
)

var closeCases = []Case{
	{"a closed log takes nothing and tells so", func(l *Log) {
		l.Must(To("a", 0, "a1"))
		for range 2 {
			l.shut()
		}
		_, err := l.Append(l.T.Context(), To("a", 1, "a2"))
		l.unavailable("append", err)
		_, err = l.Append(l.T.Context(), To("a", 1))
		l.unavailable("check", err)
		_, err = l.Append(l.T.Context(), To("a", 0, "a1"))
		l.unavailable("append asked again", err)
	}},
	{"a closed log reads nothing and tells so", func(l *Log) {
		l.Must(To("a", 0, "a1"))
		l.shut()
		_, err := l.Head(l.T.Context())
		l.unavailable("head", err)
		_, err = l.ReadAll(l.T.Context(), 0, 1)
		l.unavailable("read all", err)
		_, err = l.ReadStream(l.T.Context(), Article("a"), 0)
		l.unavailable("read stream", err)
		for _, err := range l.Follow(l.T.Context(), 0) {
			l.unavailable("follow", err)
		}
	}},
	{"a closed log still says what kind it is", func(l *Log) {
		before := l.Atomic()
		l.shut()
		l.Same("atomic", l.Atomic(), before)
	}},
	{"a closed log still tells its caller's faults from its own", func(l *Log) {
		l.shut()
		if _, err := l.Append(l.T.Context(), To("a", -1, "a1")); err == nil {
			l.T.Error("a fault was taken")
		}
	}},
	{"closing a log that nobody used is no error", func(l *Log) { l.shut() }},
	{"many can close it at once", func(l *Log) {
		l.Must(To("a", 0, "a1"))
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if err := l.Close(); err != nil {
					l.T.Errorf("close: %v", err)
				}
			})
		}
		wg.Wait()
		_, err := l.Head(l.T.Context())
		l.unavailable("head", err)
	}},
	{"closing the log ends its followers, those that wait and those that read", func(l *Log) {
		l.Must(numbered("a", 0, 300))
		var nexts []func() (domain.Record, error, bool)
		for i := range 6 {
			next, stop := iter.Pull2(l.Follow(l.T.Context(), 0))
			defer stop()
			for range 300 * (i % 2) {
				next()
			}
			nexts = append(nexts, next)
		}
		l.shut()
		for _, next := range nexts {
			err := error(nil)
			for n := 0; err == nil && n <= 300; n++ {
				var ok bool
				if _, err, ok = next(); !ok {
					l.T.Fatal("it ended without a word")
				}
			}
			l.unavailable("follow", err)
		}
	}},
	{"a follower that waits in another goroutine is woken by closing", func(l *Log) {
		ended := make(chan error)
		go func() {
			var last error
			for _, last = range l.Follow(l.T.Context(), 0) {
			}
			ended <- last
		}()
		l.shut()
		l.unavailable("follow", <-ended)
	}},
	{"appends under way are answered, and then all are told that it is closed", func(l *Log) {
		var taken atomic.Int64
		ready := make(chan struct{})
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				for i := 0; ; i++ {
					_, err := l.Append(l.T.Context(), numbered(fmt.Sprint(w), domain.Version(i), 1), numbered(fmt.Sprintf("%d'", w), domain.Version(i), 1))
					if err != nil {
						if !errors.Is(err, commands.ErrUnavailable) && !errors.Is(err, commands.ErrUnknown) {
							l.T.Errorf("the error is %v", err)
						}
						return
					}
					if taken.Add(1) == int64(writers) {
						close(ready)
					}
				}
			})
		}
		<-ready
		l.shut()
		wg.Wait()
	}},
	{"reads under way end well or are told", func(l *Log) {
		l.Must(numbered("a", 0, 100))
		var wg sync.WaitGroup
		started := make(chan struct{}, writers)
		for w := range writers {
			wg.Go(func() {
				for first := true; ; first = false {
					var recs []domain.Record
					var err error
					if w%2 == 0 {
						recs, err = l.ReadAll(l.T.Context(), 0, 1000)
					} else {
						recs, err = l.ReadStream(l.T.Context(), Article("a"), 0)
					}
					if first {
						started <- struct{}{}
					}
					if errors.Is(err, commands.ErrUnavailable) {
						return
					}
					if err != nil || len(recs) != 100 {
						l.T.Errorf("%d events were read: %v", len(recs), err)
						return
					}
				}
			})
		}
		for range writers {
			<-started
		}
		l.shut()
		wg.Wait()
	}},
	{"an ended context on a closed log is an error all the same", func(l *Log) {
		l.shut()
		_, err := l.Append(cancelled(l), To("a", 0, "a1"))
		if !errors.Is(err, context.Canceled) && !errors.Is(err, commands.ErrUnavailable) {
			l.T.Errorf("the error is %v", err)
		}
	}},
}

func (l *Log) shut() {
	l.T.Helper()
	if err := l.Close(); err != nil {
		l.T.Fatalf("close: %v", err)
	}
}

func (l *Log) unavailable(what string, err error) {
	l.T.Helper()
	if !errors.Is(err, commands.ErrUnavailable) {
		l.T.Errorf("%s on a closed log: %v", what, err)
	}
}
