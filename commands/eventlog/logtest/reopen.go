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

// reopenCases are for logs that outlive their process.
var reopenCases = []Case{
	{"a log that was closed holds what it held", func(l *Log) {
		l.Must(To("a", 0, "a1", "a2"), To("b", 0, "b1"))
		all, head := l.All(), l.End()
		l.reopen()
		l.Same("events", l.All(), all)
		l.Same("head", l.End(), head)
	}},
	{"an empty log stays empty", func(l *Log) {
		l.reopen()
		l.Same("events", len(l.All()), 0)
		l.Same("head", l.End(), commands.Head{})
		l.Must(To("a", 0, "a1"))
		l.sound()
	}},
	{"streams go on where they were", func(l *Log) {
		l.Must(To("a", 0, "a1", "a2"))
		l.reopen()
		l.conflict("a", 0, 2, To("a", 0, "x1"))
		l.Must(To("a", 2, "a3"), To("b", 0, "b1"))
		l.sound()
	}},
	{"a check is of what was there", func(l *Log) {
		l.Must(To("a", 0, "a1"))
		l.reopen()
		l.conflict("a", 0, 1, To("a", 0), To("b", 0, "b1"))
		l.Must(To("a", 1), To("b", 0, "b1"))
	}},
	{"a repeated append is answered as the first time", func(l *Log) {
		want := l.Must(To("a", 0, "a1", "a2"), To("b", 0, "b1"))
		l.reopen()
		l.again(want, To("a", 0, "a1", "a2"), To("b", 0, "b1"))
		l.Must(To("a", 2, "a3"))
		l.reopen()
		l.again(want, To("a", 0, "a1", "a2"), To("b", 0, "b1"))
	}},
	{"ids used for something else are still a fault", func(l *Log) {
		l.Must(To("a", 0, "a1"))
		l.reopen()
		other := To("a", 0, "a1")
		other.Events[0].Data = []byte(`{}`)
		l.reused(other)
	}},
	{"log time does not run backwards", func(l *Log) {
		first := l.Must(To("a", 0, "a1")).At
		l.Clock.Move(-time.Hour)
		l.reopen()
		l.Same("time", l.Must(To("a", 1, "a2")).At, first)
	}},
	{"odd bytes and names are as they were", func(l *Log) {
		s := Article("é\n'\"\\/😀")
		l.Must(commands.Write{Stream: s, Events: []domain.Fresh{full()}})
		l.Must(To("a", 0, "a1"))
		l.reopen()
		l.Same("event", l.Stream(s)[0].Fresh, full())
		l.linked(l.All(), l.End())
	}},
	{"a large append is as it was", func(l *Log) {
		l.Must(spread(l, commands.MaxAppend)...)
		all := l.All()
		l.reopen()
		l.Same("events", l.All(), all)
	}},
	{"a follower goes on from its place", func(l *Log) {
		l.Must(To("a", 0, "a1", "a2"))
		first := l.All()[0]
		l.reopen()
		next := l.follow(l.T.Context(), first.Position)
		l.Same("there", ids(next(1)), []string{"a@2 ev_a2"})
		l.Must(To("a", 2, "a3"))
		l.Same("new", ids(next(1)), []string{"a@3 ev_a3"})
	}},
	{"a follower over many restarts gets each event once", func(l *Log) {
		var followed []domain.Record
		after := domain.Position(0)
		for i := range 6 {
			l.Must(numbered("a", domain.Version(5*i), 5))
			part := l.collect(after, 3+i%3)
			followed = append(followed, part...)
			after = part[len(part)-1].Position
			l.reopen()
		}
		all := l.sound()
		followed = append(followed, l.collect(after, len(all)-len(followed))...)
		l.Same("followed", followed, all)
	}},
	{"a log that is opened before every append is one log", func(l *Log) {
		for i := range 8 {
			l.Must(numbered("a", domain.Version(2*i), 2), numbered(fmt.Sprint(i), 0, 1))
			l.reopen()
		}
		l.Same("events", len(l.sound()), 24)
		l.linked(l.All(), l.End())
	}},
	{"a head that was returned is still there", func(l *Log) {
		l.Must(numbered("a", 0, 10))
		heads := []commands.Head{l.End()}
		for i := range 4 {
			l.reopen()
			l.Same("head", l.End(), heads[len(heads)-1])
			l.Must(numbered("b", domain.Version(i), 1))
			heads = append(heads, l.End())
		}
		all := l.sound()
		for i, head := range heads {
			l.Same("event at the head", all[9+i].Position, head.Position)
		}
	}},
	{"what was answered while it was being closed is there, and what was refused is not", func(l *Log) {
		var mu sync.Mutex
		answers := make(map[string]error)
		var taken atomic.Int64
		ready := make(chan struct{})
		var wg sync.WaitGroup
		log := l.Log
		for w := range writers {
			wg.Go(func() {
				for i := 0; ; i++ {
					name := fmt.Sprintf("%d-%d", w, i)
					_, err := log.Append(l.T.Context(), numbered(name, 0, 2), numbered(name+"'", 0, 1))
					mu.Lock()
					answers[name] = err
					mu.Unlock()
					if err != nil {
						return
					}
					if taken.Add(1) == int64(2*writers) {
						close(ready)
					}
				}
			})
		}
		<-ready
		l.reopen()
		wg.Wait()
		for name, err := range answers {
			n := len(l.Stream(Article(name))) + len(l.Stream(Article(name+"'")))
			if err == nil && n != 3 || errors.Is(err, commands.ErrUnavailable) && n != 0 {
				l.T.Errorf("%s was answered %v and %d of 3 events are there", name, err, n)
			}
			l.Must(numbered(name, 0, 2), numbered(name+"'", 0, 1))
		}
		l.Same("events", len(l.sound()), 3*len(answers))
	}},
}
