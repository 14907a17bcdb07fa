package logtest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

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
		all := l.All()
		for i := range all {
			l.Same("next", l.follow(l.T.Context(), before(all, i))(1), all[i:i+1])
		}
		next := l.follow(l.T.Context(), all[2].Position)
		l.Must(To("b", 0, "b1"))
		l.Same("new", ids(next(1)), []string{"b@1 ev_b1"})
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
		l.Same("position", at, l.End().Position)
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
			if r.Version != domain.Version(i+1) {
				l.T.Fatalf("event %d is version %d", i+1, r.Version)
			}
		}
	}},
	{"a follower tells of an event what reading does", func(l *Log) {
		next := l.follow(l.T.Context(), 0)
		l.Must(commands.Write{Stream: Article("a"), Events: []domain.Fresh{full()}}, To("b", 0, "b1"))
		got := next(2)
		l.Same("events", got, l.All())
		got[0].Data[0] = 'X'
		l.Same("history", l.All()[0].Fresh, full())
	}},
	{"a follower is not told of checks, conflicts and what is asked again", func(l *Log) {
		next := l.follow(l.T.Context(), 0)
		r := l.Must(To("a", 0, "a1"))
		l.Must(To("a", 1), To("b", 0))
		l.conflict("a", 0, 1, To("a", 0, "x1"))
		l.again(r, To("a", 0, "a1"))
		l.Must(To("a", 1, "a2"))
		l.Same("events", ids(next(2)), []string{"a@1 ev_a1", "a@2 ev_a2"})
	}},
	{"a follower whose context has ended gets nothing but its error", func(l *Log) {
		l.Must(To("a", 0, "a1"))
		pairs := 0
		for r, err := range l.Follow(cancelled(l), 0) {
			if pairs++; !errors.Is(err, context.Canceled) {
				l.T.Errorf("it got %v, %v", r.ID, err)
			}
		}
		l.Same("pairs", pairs, 1)
	}},
	{"a follower who is slow keeps nobody waiting", func(l *Log) {
		l.Must(To("a", 0, "a1"))
		next := l.follow(l.T.Context(), 0)
		next(1)
		l.Must(numbered("b", 0, 600))
		for i := range 50 {
			l.Must(numbered("c", domain.Version(i), 1))
		}
		next(650)
	}},
	{"20 followers each get everything", func(l *Log) {
		const events = 100
		var wg sync.WaitGroup
		got := make([][]domain.Record, 20)
		for i := range got {
			wg.Go(func() { got[i] = l.collect(0, events) })
		}
		for i := range events / 2 {
			l.Must(numbered("a", domain.Version(i), 1), numbered("b", domain.Version(i), 1))
		}
		wg.Wait()
		all := l.All()
		for _, recs := range got {
			l.Same("followed", recs, all)
		}
	}},
	{"a follower under a crowd misses nothing and gets nothing twice", func(l *Log) {
		followed := make(chan []domain.Record, 1)
		go func() { followed <- l.collect(0, 2*writers*rounds) }()
		l.crowd(func(w, i int) error {
			_, err := l.Append(l.T.Context(), numbered(fmt.Sprint(w), domain.Version(2*i), 2))
			return err
		})
		l.Same("followed", <-followed, l.sound())
	}},
	{"a follower who starts again and again at the last place, under a crowd, misses nothing", func(l *Log) {
		followed := make(chan []domain.Record, 1)
		go func() {
			var recs []domain.Record
			after := domain.Position(0)
			for n := 1; len(recs) < writers*rounds; n = n%7 + 1 {
				part := l.collect(after, min(n, writers*rounds-len(recs)))
				if len(part) == 0 {
					break
				}
				recs = append(recs, part...)
				after = recs[len(recs)-1].Position
			}
			followed <- recs
		}()
		l.crowd(func(w, i int) error {
			_, err := l.Append(l.T.Context(), numbered(fmt.Sprint(w), domain.Version(i), 1))
			return err
		})
		l.Same("followed", <-followed, l.sound())
	}},
	{"a follower gets each event as it comes", func(l *Log) {
		next := l.follow(l.T.Context(), 0)
		for i := range 60 {
			l.Must(numbered("a", domain.Version(i), 1))
			l.Same("version", next(1)[0].Version, domain.Version(i+1))
		}
	}},
}

// before is the position in front of an event.
func before(all []domain.Record, i int) domain.Position {
	if i == 0 {
		return 0
	}
	return all[i-1].Position
}

// patience is how long an event that must come may take. What never comes
// should fail one case and not the whole run.
const patience = time.Minute

// collect follows the log until it has so many events.
func (l *Log) collect(after domain.Position, n int) []domain.Record {
	ctx, cancel := context.WithTimeout(l.T.Context(), patience)
	defer cancel()
	var recs []domain.Record
	for r, err := range l.Follow(ctx, after) {
		if err != nil {
			l.T.Errorf("following: %v", err)
			return recs
		}
		if recs = append(recs, r); len(recs) == n {
			return recs
		}
	}
	return recs
}

// follow starts a follower; each call waits for so many events more.
func (l *Log) follow(ctx context.Context, after domain.Position) func(n int) []domain.Record {
	ctx, cancel := context.WithTimeout(ctx, patience)
	next, stop := iter.Pull2(l.Follow(ctx, after))
	l.T.Cleanup(func() { cancel(); stop() })
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
