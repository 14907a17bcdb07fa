package logtest

import (
	"time"

	"assent/domain"
)

var reopenCases = []struct {
	name  string
	holds func(l *Log, again func())
}{
	{"a log that was closed holds what it held", func(l *Log, again func()) {
		l.Must(To("a", 0, "a1", "a2"), To("b", 0, "b1"))
		all, head := l.All(), l.End()
		again()
		l.Same("events", l.All(), all)
		l.Same("head", l.End(), head)
	}},
	{"an empty log stays empty", func(l *Log, again func()) {
		again()
		l.Same("events", len(l.All()), 0)
		l.Same("position", l.Must(To("a", 0, "a1")).Position, domain.Position(1))
	}},
	{"streams go on where they were", func(l *Log, again func()) {
		l.Must(To("a", 0, "a1", "a2"))
		again()
		l.conflict("a", 0, 2, To("a", 0, "x1"))
		l.Same("position", l.Must(To("a", 2, "a3"), To("b", 0, "b1")).Position, domain.Position(4))
	}},
	{"a repeated append is answered as the first time", func(l *Log, again func()) {
		want := l.Must(To("a", 0, "a1", "a2"))
		again()
		l.again(want, To("a", 0, "a1", "a2"))
	}},
	{"log time does not run backwards", func(l *Log, again func()) {
		first := l.Must(To("a", 0, "a1")).At
		l.Clock.Move(-time.Hour)
		again()
		l.Same("time", l.Must(To("a", 1, "a2")).At, first)
	}},
	{"a follower goes on from its place", func(l *Log, again func()) {
		l.Must(To("a", 0, "a1", "a2"))
		again()
		next := l.follow(l.T.Context(), 1)
		l.Same("there", ids(next(1)), []string{"a@2 ev_a2"})
		l.Must(To("a", 2, "a3"))
		l.Same("new", ids(next(1)), []string{"a@3 ev_a3"})
	}},
}
