package logtest

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"assent/commands"
	"assent/domain"
)

var followCases = []Case{
	{"a follower gets what is there, then what comes", func(l *Log) {
		l.Must(To("a", 0, "a1", "a2"))
		next := l.follow(l.T.Context(), 0)
		l.Same("first", ids(next(2)), []string{"a@1 ev_a1", "a@2 ev_a2"})
		l.Must(To("b", 0, "b1"))
		l.Same("then", ids(next(1)), []string{"b@1 ev_b1"})
		l.Must(To("a", 2, "a3"), To("b", 1, "b2"))
		l.Same("later", ids(next(2)), []string{"a@3 ev_a3", "b@2 ev_b2"})
	}},
	{"a follower starts after any position", func(l *Log) {
		l.Must(To("a", 0, "a1", "a2", "a3"))
		l.Same("events", ids(l.follow(l.T.Context(), 2)(1)), []string{"a@3 ev_a3"})
	}},
	{"a follower ahead of the log waits for its place", func(l *Log) {
		next := l.follow(l.T.Context(), 2)
		l.Must(To("a", 0, "a1", "a2"))
		l.Must(To("a", 2, "a3"))
		l.Same("events", ids(next(1)), []string{"a@3 ev_a3"})
	}},
	{"a follower that waits is woken by an append", func(l *Log) {
		got := make(chan domain.Record)
		go func() {
			defer close(got)
			for r, err := range l.Follow(l.T.Context(), 0) {
				if err == nil {
					got <- r
				}
				return
			}
		}()
		l.Must(To("a", 0, "a1"))
		if r, ok := <-got; !ok || r.ID != "ev_a1" {
			l.T.Errorf("it got %v", r)
		}
	}},
	{"the end of its context ends a follower that waits", func(l *Log) {
		l.Must(To("a", 0, "a1"))
		ctx, cancel := context.WithCancel(l.T.Context())
		defer cancel()
		next, stop := iter.Pull2(l.Follow(ctx, 0))
		defer stop()
		if _, err, ok := next(); err != nil || !ok {
			l.T.Fatalf("first: %v %v", err, ok)
		}
		cancel()
		if r, err, ok := next(); !ok || !errors.Is(err, context.Canceled) || r.ID != "" {
			l.T.Errorf("the last pair is %v, %v", r.ID, err)
		}
		if _, _, ok := next(); ok {
			l.T.Error("there is more after the context's error")
		}
	}},
	{"the end of its context ends a follower in the middle", func(l *Log) {
		l.Must(To("a", 0, "a1", "a2", "a3"))
		ctx, cancel := context.WithCancel(l.T.Context())
		defer cancel()
		var seen []string
		var last error
		for r, err := range l.Follow(ctx, 0) {
			if last = err; err == nil {
				seen = append(seen, string(r.ID))
			}
			cancel()
		}
		l.Same("seen", seen, []string{"ev_a1"})
		if !errors.Is(last, context.Canceled) {
			l.T.Errorf("the last error is %v", last)
		}
	}},
	{"a follower can leave at any time, and come again", func(l *Log) {
		l.Must(To("a", 0, "a1", "a2", "a3"))
		var at domain.Position
		for range 3 {
			for r, err := range l.Follow(l.T.Context(), at) {
				if err != nil {
					l.T.Fatal(err)
				}
				at = r.Position
				break
			}
		}
		l.Same("position", at, domain.Position(3))
	}},
	{"closing the log ends its followers", func(l *Log) {
		l.Must(To("a", 0, "a1"))
		next, stop := iter.Pull2(l.Follow(l.T.Context(), 0))
		defer stop()
		next()
		if err := l.Close(); err != nil {
			l.T.Fatal(err)
		}
		_, err, ok := next()
		if !ok {
			l.T.Fatal("it ended without a word")
		}
		l.unavailable("follow", err)
	}},
	{"a follower of more than a page misses nothing", func(l *Log) {
		for i := range 7 {
			w := commands.Write{Stream: Article("a"), Expect: domain.Version(i * 100)}
			for j := range 100 {
				w.Events = append(w.Events, Event(fmt.Sprint(i*100+j)))
			}
			l.Must(w)
		}
		for i, r := range l.follow(l.T.Context(), 0)(700) {
			if r.Position != domain.Position(i+1) {
				l.T.Fatalf("event %d is at position %d", i+1, r.Position)
			}
		}
	}},
}

// follow starts a follower; each call waits for so many events more.
func (l *Log) follow(ctx context.Context, after domain.Position) func(n int) []domain.Record {
	next, stop := iter.Pull2(l.Follow(ctx, after))
	l.T.Cleanup(stop)
	return func(n int) []domain.Record {
		l.T.Helper()
		recs := make([]domain.Record, n)
		for i := range recs {
			r, err, ok := next()
			if err != nil || !ok {
				l.T.Fatalf("following: %v", err)
			}
			recs[i] = r
		}
		return recs
	}
}
