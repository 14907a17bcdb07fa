package logtest

import (
	"fmt"
	"time"

	"assent/commands"
	"assent/domain"
)

var replayCases = []Case{
	{"the same append again is answered as the first time", func(l *Log) {
		want := l.Must(To("a", 0, "a1", "a2"), To("b", 0, "b1"))
		l.again(want, To("a", 0, "a1", "a2"), To("b", 0, "b1"))
	}},
	{"also after time went by and the streams moved on", func(l *Log) {
		want := l.Must(To("a", 0, "a1"), To("b", 0, "b1"))
		l.Clock.Move(1e9)
		l.Must(To("a", 1, "a2", "a3"), To("c", 0, "c1"))
		l.Must(To("b", 1, "b2"))
		l.again(want, To("a", 0, "a1"), To("b", 0, "b1"))
	}},
	{"whatever its checks would say now", func(l *Log) {
		want := l.Must(To("c", 0), To("a", 0, "a1"))
		l.Must(To("c", 0, "c1"))
		l.again(want, To("c", 0), To("a", 0, "a1"))
	}},
	{"in the middle of a stream too", func(l *Log) {
		l.Must(To("a", 0, "a1"))
		want := l.Must(To("a", 1, "a2", "a3"))
		l.Must(To("a", 3, "a4"))
		l.again(want, To("a", 1, "a2", "a3"))
	}},
	{"whatever checks it brings along now", func(l *Log) {
		want := l.Must(To("a", 0, "a1"))
		l.Must(To("c", 0, "c1"))
		l.again(want, To("c", 0), To("a", 0, "a1"))
		l.again(want, To("a", 0, "a1"), To("c", 7))
	}},
	{"in whatever order its streams are named", func(l *Log) {
		want := l.Must(To("a", 0, "a1"), To("b", 0, "b1"), To("c", 0, "c1"))
		l.again(want, To("c", 0, "c1"), To("a", 0, "a1"), To("b", 0, "b1"))
	}},
	{"as often as it is asked", func(l *Log) {
		want := l.Must(To("a", 0, "a1"), To("b", 0, "b1"))
		for i := range 20 {
			l.Must(numbered("c", domain.Version(i), 1))
			l.again(want, To("a", 0, "a1"), To("b", 0, "b1"))
		}
	}},
	{"every append of a long history, each with its own answer", func(l *Log) {
		var receipts []commands.Receipt
		for i := range 40 {
			receipts = append(receipts, l.Must(numbered("a", domain.Version(2*i), 2), numbered(fmt.Sprint(i%7), domain.Version(i/7), 1)))
			l.Clock.Move(time.Second)
		}
		err := l.Untouched(func() error {
			for i, want := range receipts {
				got, err := l.Append(l.T.Context(), numbered("a", domain.Version(2*i), 2), numbered(fmt.Sprint(i%7), domain.Version(i/7), 1))
				if err != nil {
					return err
				}
				l.Same("receipt", got, want)
			}
			return nil
		})
		if err != nil {
			l.T.Error(err)
		}
	}},
	{"what was the first part of a longer append is answered where that part ends", func(l *Log) {
		l.Must(To("a", 0, "a1", "a2", "a3"))
		second := l.All()[1]
		l.again(commands.Receipt{Position: second.Position, At: second.At}, To("a", 0, "a1", "a2"))
	}},
	{"an append that was refused as too large is taken once it is smaller", func(l *Log) {
		l.tooLarge(commands.Write{Stream: Article("a"), Events: []domain.Fresh{sized(l, "a1", commands.MaxEvent+1)}})
		l.Must(To("a", 0, "a1"))
	}},
	{"an append that lost is taken later, in its new place", func(l *Log) {
		l.Must(To("a", 0, "a1"))
		l.conflict("a", 0, 1, To("a", 0, "x1"))
		l.Must(To("a", 1, "x1"))
		l.Same("events", ids(l.All()), []string{"a@1 ev_a1", "a@2 ev_x1"})
	}},
	{"the same ids with other data are a fault", func(l *Log) {
		l.Must(To("a", 0, "a1"))
		for _, change := range []func(*domain.Fresh){
			func(e *domain.Fresh) { e.Data = []byte(`{"title": "other"}`) },
			func(e *domain.Fresh) { e.Data = []byte(`{"title":"a1"}`) }, // one space less
			func(e *domain.Fresh) { e.Word = "article.removed" },
			func(e *domain.Fresh) { e.Revision = 2 },
			func(e *domain.Fresh) { e.Envelope.Mode = "auto" },
		} {
			w := To("a", 0, "a1")
			change(&w.Events[0])
			l.reused(w)
		}
	}},
	{"a stream that holds only some of an append's events is a fault", func(l *Log) {
		l.Must(To("a", 0, "a1", "a2"))
		l.reused(To("a", 0, "a1", "x2"))
		l.reused(To("a", 0, "x1", "a2"))
		l.reused(To("a", 0, "a1", "a2", "a3"))
	}},
	{"events in another order are a conflict or a fault, and not written", func(l *Log) {
		l.Must(To("a", 0, "a1", "a2"))
		l.conflict("a", 0, 2, To("a", 0, "a2", "a1"))
	}},
	{"after the same ids with other data, the first append is still answered", func(l *Log) {
		want := l.Must(To("a", 0, "a1"))
		other := To("a", 0, "a1")
		other.Events[0].Data = []byte(`{}`)
		l.reused(other)
		l.again(want, To("a", 0, "a1"))
	}},
}

// again says that an append is answered as it was the first time.
func (l *Log) again(want commands.Receipt, writes ...commands.Write) {
	l.T.Helper()
	err := l.Untouched(func() error {
		got, err := l.Append(l.T.Context(), writes...)
		l.Same("receipt", got, want)
		return err
	})
	if err != nil {
		l.T.Errorf("the repeated append: %v", err)
	}
}
