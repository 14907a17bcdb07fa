package logtest

import (
	"errors"
	"fmt"
	"time"

	"assent/commands"
	"assent/domain"
)

// doubtCases are for appends whose answer was lost.
var doubtCases = []Case{
	{"an append whose answer is lost is there once when it is asked again", func(l *Log) {
		l.doubt(To("a", 0, "a1", "a2"))
		r := l.resolve(To("a", 0, "a1", "a2"))
		l.holds("a@1 ev_a1", "a@2 ev_a2")
		l.again(r, To("a", 0, "a1", "a2"))
	}},
	{"an append to several streams whose answer is lost is finished when it is asked again", func(l *Log) {
		writes := l.four("")
		l.doubt(writes...)
		r := l.resolve(writes...)
		l.Same("events", len(l.sound()), 7)
		l.again(r, writes...)
	}},
	{"answers can be lost again and again", func(l *Log) {
		for i := range 10 {
			w := []commands.Write{numbered("a", domain.Version(i), 1), numbered(fmt.Sprint(i), 0, 2)}
			l.doubt(w...)
			l.doubt(w...)
			l.resolve(w...)
		}
		l.Same("events", len(l.sound()), 30)
	}},
	{"others can write before it is asked again", func(l *Log) {
		l.doubt(To("a", 0, "a1"))
		l.Must(To("b", 0, "b1"))
		l.resolve(To("a", 0, "a1"))
		l.Must(To("a", 1, "a2"))
		l.Same("events", len(l.sound()), 3)
	}},
	{"of the lost append and another at the same version, one is there and the other is told", func(l *Log) {
		l.doubt(To("a", 0, "a1"))
		_, err := l.Append(l.T.Context(), To("a", 0, "x1"))
		c, conflict := isConflict(err)
		if err != nil && !conflict {
			l.T.Fatalf("the error is %v", err)
		}
		want := "a@1 ev_x1"
		if conflict {
			l.Same("conflict", *c, commands.Conflict{Stream: Article("a"), Expected: 0, Actual: 1})
			want = "a@1 ev_a1"
			l.resolve(To("a", 0, "a1"))
		} else {
			l.conflict("a", 0, 1, To("a", 0, "a1"))
		}
		l.holds(want)
	}},
	{"a lost append that was answered in the end stays so when the stream moves on", func(l *Log) {
		l.doubt(To("a", 0, "a1"), To("b", 0, "b1"))
		r := l.resolve(To("a", 0, "a1"), To("b", 0, "b1"))
		l.Must(To("a", 1, "a2"), To("b", 1, "b2"))
		l.Clock.Move(time.Hour)
		l.again(r, To("a", 0, "a1"), To("b", 0, "b1"))
	}},
	{"time does not run backwards over a lost answer", func(l *Log) {
		l.doubt(To("a", 0, "a1"))
		l.Clock.Move(-time.Hour)
		l.resolve(To("a", 0, "a1"))
		l.Must(To("b", 0, "b1"))
		l.sound()
	}},
	{"a follower gets a lost append once", func(l *Log) {
		next := l.follow(l.T.Context(), 0)
		l.doubt(To("a", 0, "a1", "a2"))
		l.resolve(To("a", 0, "a1", "a2"))
		l.Must(To("b", 0, "b1"))
		l.Same("events", ids(next(3)), []string{"a@1 ev_a1", "a@2 ev_a2", "b@1 ev_b1"})
	}},
	{"what was lost and asked again says something else only as a fault", func(l *Log) {
		l.doubt(To("a", 0, "a1"))
		l.resolve(To("a", 0, "a1"))
		other := To("a", 0, "a1")
		other.Events[0].Data = []byte(`{}`)
		l.reused(other)
	}},
	{"a crowd whose answers are lost now and then gets everything in, once", func(l *Log) {
		l.crowd(func(w, i int) error {
			if w == 0 {
				l.lose()
			}
			writes := []commands.Write{numbered(fmt.Sprint(w), domain.Version(i), 1), numbered(fmt.Sprintf("%d-%d", w, i), 0, 1)}
			for {
				_, err := l.Append(l.T.Context(), writes...)
				if !errors.Is(err, commands.ErrUnknown) {
					return err
				}
			}
		})
		l.Same("events", len(l.sound()), 2*writers*rounds)
	}},
	{"a lost append is resolved after the log was opened anew", func(l *Log) {
		if l.suite.again == nil {
			l.T.Skip("this log ends with its process")
		}
		l.doubt(To("a", 0, "a1"), To("b", 0, "b1", "b2"))
		l.reopen()
		r := l.resolve(To("a", 0, "a1"), To("b", 0, "b1", "b2"))
		l.Same("events", len(l.sound()), 3)
		l.again(r, To("a", 0, "a1"), To("b", 0, "b1", "b2"))
	}},
}

// doubt appends, and the answer is lost, unless the log found out by itself
// that all of it was written.
func (l *Log) doubt(writes ...commands.Write) {
	l.T.Helper()
	l.lose()
	if _, err := l.Append(l.T.Context(), writes...); err != nil && !errors.Is(err, commands.ErrUnknown) {
		l.T.Fatalf("the error is %v; it should be ErrUnknown", err)
	}
}

// resolve asks for an append until its answer is known. It has to be taken.
func (l *Log) resolve(writes ...commands.Write) commands.Receipt {
	l.T.Helper()
	var err error
	for range 10 {
		var r commands.Receipt
		if r, err = l.Append(l.T.Context(), writes...); err == nil {
			return r
		}
		if !errors.Is(err, commands.ErrUnknown) && !errors.Is(err, commands.ErrUnavailable) {
			break
		}
	}
	l.T.Fatalf("asked again: %v", err)
	return commands.Receipt{}
}
