package logtest

import (
	"errors"
	"strings"

	"assent/commands"
	"assent/domain"
)

var expectCases = []Case{
	{"version 0 means that the stream must not exist", func(l *Log) {
		l.Must(To("a", 0, "a1"))
		l.conflict("a", 0, 1, To("a", 0, "x1"))
	}},
	{"a version that was overtaken is a conflict", func(l *Log) {
		l.Must(To("a", 0, "a1", "a2"))
		l.conflict("a", 1, 2, To("a", 1, "x1"))
	}},
	{"a version not reached yet is a conflict", func(l *Log) {
		l.Must(To("a", 0, "a1"))
		l.conflict("a", 5, 1, To("a", 5, "x1"))
		l.conflict("b", 1, 0, To("b", 1, "x1"))
		l.conflict("b", 1<<63-1, 0, To("b", 1<<63-1, "x1"))
	}},
	{"a negative version is a fault", func(l *Log) { l.fault(To("a", -1, "a1")) }},
	{"the conflict is of the first stream that is elsewhere", func(l *Log) {
		l.Must(To("a", 0, "a1"), To("b", 0, "b1"))
		l.conflict("b", 0, 1, To("c", 0, "c1"), To("b", 0, "x1"), To("a", 0, "x2"))
	}},
	{"a check that holds lets the rest be written", func(l *Log) {
		l.Must(To("a", 0, "a1"))
		l.Must(To("a", 1), To("b", 0), To("c", 0, "c1"))
		l.Same("events", ids(l.All()), []string{"a@1 ev_a1", "c@1 ev_c1"})
	}},
	{"a check that fails keeps the rest from being written", func(l *Log) {
		l.Must(To("a", 0, "a1"))
		l.conflict("a", 0, 1, To("b", 0, "b1"), To("a", 0))
	}},
	{"a check of a stream nobody wrote to does not make it", func(l *Log) {
		l.Must(To("a", 0))
		l.Must(To("a", 0, "a1"))
	}},
	{"checks alone are answered with the head and write nothing", func(l *Log) {
		want := l.Must(To("a", 0, "a1"))
		err := l.Untouched(func() error {
			got, err := l.Append(l.T.Context(), To("a", 1), To("b", 0))
			l.Same("receipt", got, want)
			return err
		})
		if err != nil {
			l.T.Error(err)
		}
	}},
	{"checks alone that fail are a conflict", func(l *Log) {
		l.Must(To("a", 0, "a1"))
		l.conflict("a", 0, 1, To("a", 0))
	}},
	{"after a conflict the version it names is the one to expect", func(l *Log) {
		l.Must(To("a", 0, "a1", "a2"))
		var c *commands.Conflict
		if !errors.As(l.Fails(To("a", 1, "x1")), &c) {
			l.T.Fatal("no conflict")
		}
		l.Must(To("a", c.Actual, "x1"))
	}},
	{"streams whose names differ little are different streams", func(l *Log) {
		for _, s := range []domain.Stream{
			{Category: "article", Workspace: "home", ID: "a"},
			{Category: "article", Workspace: "home", ID: "A"},
			{Category: "article", Workspace: "home", ID: "a "},
			{Category: "article", Workspace: "home", ID: "a/"},
			{Category: "article", Workspace: "home", ID: "a\x00"},
			{Category: "article", Workspace: "home", ID: "á"},
			{Category: "article", Workspace: "home", ID: "a\u0301"},
			{Category: "article", Workspace: "home", ID: "a%"},
			{Category: "article", Workspace: "home-a", ID: "a"},
			{Category: "page", Workspace: "home", ID: "a"},
			{Category: "article", Workspace: "home", ID: strings.Repeat("a/", 2000)},
		} {
			e := Event(s.String())
			e.Data = []byte(`{}`)
			l.Must(commands.Write{Stream: s, Events: []domain.Fresh{e}})
			if got := l.Stream(s); len(got) != 1 || got[0].Stream != s || got[0].ID != e.ID {
				l.T.Errorf("%q holds %v", s, ids(got))
			}
		}
	}},
}

// conflict says that an append conflicts, and where.
func (l *Log) conflict(article string, expected, actual domain.Version, writes ...commands.Write) {
	l.T.Helper()
	err := l.Fails(writes...)
	var c *commands.Conflict
	if !errors.As(err, &c) {
		l.T.Fatalf("the error is %T: %v; it should be a conflict", err, err)
	}
	l.Same("conflict", *c, commands.Conflict{Stream: Article(article), Expected: expected, Actual: actual})
}

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
			l.fault(w)
		}
	}},
	{"an append of which only a part is in the log is a fault", func(l *Log) {
		l.Must(To("a", 0, "a1", "a2"))
		l.fault(To("a", 0, "a1", "x2"))
		l.fault(To("a", 0, "x1", "a2"))
		l.fault(To("a", 0, "a1", "a2", "a3"))
		l.fault(To("a", 0, "a1", "a2"), To("b", 0, "b1"))
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
