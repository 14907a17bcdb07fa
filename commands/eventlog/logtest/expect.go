package logtest

import (
	"fmt"
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
	{"of all versions only the one a stream is at is taken", func(l *Log) {
		for at := range domain.Version(6) {
			for expect := range domain.Version(8) {
				if expect != at {
					l.conflict("a", expect, at, To("a", expect, "x"))
				}
			}
			l.Must(numbered("a", at, 1))
		}
	}},
	{"a check tells the same versions apart", func(l *Log) {
		l.Must(To("a", 0, "a1", "a2"))
		for _, expect := range []domain.Version{0, 1, 3, 1<<63 - 1} {
			l.conflict("a", expect, 2, To("a", expect))
		}
		l.again(l.Must(), To("a", 2))
	}},
	{"a check of a negative version is a fault", func(l *Log) { l.fault(To("a", -1), To("b", 0, "b1")) }},
	{"a conflict names the stream with its workspace", func(l *Log) {
		away := domain.Stream{Category: "page", Workspace: "away", ID: "a/b"}
		l.Must(commands.Write{Stream: away, Events: Events("p1")})
		c, _ := isConflict(l.Fails(commands.Write{Stream: away, Events: Events("p2")}))
		l.Same("conflict", c, &commands.Conflict{Stream: away, Expected: 0, Actual: 1})
	}},
	{"a conflict over a check comes before one over a write that follows", func(l *Log) {
		l.Must(To("a", 0, "a1"), To("b", 0, "b1"))
		l.conflict("b", 5, 1, To("b", 5), To("a", 0, "x1"))
		l.conflict("a", 0, 1, To("a", 0, "x1"), To("b", 5))
	}},
	{"300 checks that hold let one event be written, and one that fails does not", func(l *Log) {
		var checks []commands.Write
		for i := range 150 {
			l.Must(numbered(fmt.Sprint(i), 0, 1))
			checks = append(checks, To(fmt.Sprint(i), 1), To("never"+fmt.Sprint(i), 0))
		}
		l.conflict("never", 1, 0, append(checks, To("never", 1), To("a", 0, "a1"))...)
		l.Must(append(checks, To("a", 0, "a1"))...)
	}},
	{"a stream can be checked while another of its name in another workspace is written", func(l *Log) {
		away := Article("a")
		away.Workspace = "away"
		l.Must(To("a", 0), commands.Write{Stream: away, Events: Events("o1")})
		l.conflict("a", 1, 0, To("a", 1), commands.Write{Stream: away, Expect: 1, Events: Events("o2")})
	}},
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
		c, conflict := isConflict(l.Fails(To("a", 1, "x1")))
		if !conflict {
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
			{Category: "article", Workspace: "home", ID: "%61"},
			{Category: "article", Workspace: "home", ID: "a_"},
			{Category: "article", Workspace: "home", ID: "/a"},
			{Category: "article", Workspace: "home", ID: "a\n"},
			{Category: "article", Workspace: "home", ID: "a'--"},
			{Category: "article", Workspace: "home", ID: `a"\`},
			{Category: "article", Workspace: "home", ID: "$all"},
			{Category: "article", Workspace: "home", ID: ".."},
			{Category: "article", Workspace: "home", ID: "ａ"},
			{Category: "article", Workspace: "home", ID: "а"}, // Cyrillic
			{Category: "article", Workspace: "home", ID: "\u202ea"},
			{Category: "article", Workspace: "home", ID: "😀"},
			{Category: "article", Workspace: "Home", ID: "a"},
			{Category: "article", Workspace: " home", ID: "a"},
			{Category: "$article", Workspace: "home", ID: "a"},
			{Category: "Article", Workspace: "home", ID: "a"},
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
	c, conflict := isConflict(err)
	if !conflict {
		l.T.Fatalf("the error is %T: %v; it should be a conflict", err, err)
	}
	l.Same("conflict", *c, commands.Conflict{Stream: Article(article), Expected: expected, Actual: actual})
}
