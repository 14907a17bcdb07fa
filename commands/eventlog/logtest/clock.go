package logtest

import (
	"fmt"
	"runtime"
	"sync"
	"time"

	"assent/domain"
)

var timeCases = []Case{
	{"recorded-at is the clock's time to the nanosecond, in UTC", func(l *Log) {
		want := l.Clock.Now()
		l.Same("receipt", l.Must(To("a", 0, "a1")).At, want)
		l.Same("record", l.All()[0].At, want)
		l.Same("head", l.End().At, want)
		l.Same("zone", l.All()[0].At.Location().String(), "UTC")
	}},
	{"a stream's events of one append were recorded at one time", func(l *Log) {
		l.Must(To("a", 0, "a1", "a2", "a3"))
		for _, r := range l.All() {
			l.Same("time", r.At, l.Clock.Now())
		}
	}},
	{"a clock that jumps about is followed onwards only", func(l *Log) {
		last := l.Must(To("b", 0, "b1")).At
		for i := range 60 {
			l.Clock.Move(time.Duration((i*7919)%2001-1000) * time.Millisecond)
			if now := l.Clock.Now(); now.After(last) {
				last = now
			}
			l.Same("receipt", l.Must(numbered("a", domain.Version(i), 1)).At, last)
		}
		l.sound()
	}},
	{"a clock that jumps about under a crowd never takes the log back", func(l *Log) {
		done := make(chan struct{})
		var clock sync.WaitGroup
		clock.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
					l.Clock.Move(time.Duration((i*7919)%2001-1000) * time.Second)
					runtime.Gosched()
				}
			}
		})
		l.crowd(func(w, i int) error {
			_, err := l.Append(l.T.Context(), numbered(fmt.Sprint(w), domain.Version(i), 1))
			return err
		})
		close(done)
		clock.Wait()
		l.Same("events", len(l.sound()), writers*rounds)
	}},
	{"what is refused does not move the log's time", func(l *Log) {
		l.Must(To("a", 0, "a1"))
		l.Clock.Move(time.Hour)
		l.conflict("a", 0, 1, To("a", 0, "x1"))
		l.Must(To("a", 1))
		l.Clock.Move(-time.Minute)
		l.Same("time", l.Must(To("a", 1, "a2")).At, l.Clock.Now())
	}},
	{"a time before 1970 is a time", func(l *Log) {
		l.Clock.Move(-70 * 365 * 24 * time.Hour)
		l.Same("receipt", l.Must(To("a", 0, "a1")).At, l.Clock.Now())
		l.Same("record", l.Stream(Article("a"))[0].At, l.Clock.Now())
	}},
	{"a clock that jumps back does not take the log along", func(l *Log) {
		first := l.Must(To("a", 0, "a1")).At
		l.Clock.Move(-time.Hour)
		l.Same("then", l.Must(To("a", 1, "a2")).At, first)
		l.Clock.Move(time.Minute)
		l.Same("still", l.Must(To("b", 0, "b1")).At, first)
		l.Clock.Move(time.Hour)
		l.Same("on again", l.Must(To("b", 1, "b2")).At, first.Add(time.Minute))
	}},
	{"a repeated append keeps the time of the first", func(l *Log) {
		want := l.Must(To("a", 0, "a1"))
		l.Clock.Move(time.Hour)
		l.again(want, To("a", 0, "a1"))
		l.Same("record", l.All()[0].At, want.At)
	}},
	{"a clock of another zone is read in UTC", func(l *Log) {
		l.Clock.mu.Lock()
		l.Clock.now = l.Clock.now.In(time.FixedZone("far", 9*3600))
		l.Clock.mu.Unlock()
		l.Same("zone", l.Must(To("a", 0, "a1")).At.Location().String(), "UTC")
	}},
}
