package logtest

import (
	"fmt"

	"assent/commands"
	"assent/domain"
)

var readCases = []Case{
	{"an empty log has the zero head and no events", func(l *Log) {
		l.Same("head", l.End(), commands.Head{})
		l.Same("events", len(l.All()), 0)
	}},
	{"a stream nobody wrote to has no events", func(l *Log) {
		l.Must(To("a", 0, "a1"))
		l.Same("events", len(l.Stream(Article("b"))), 0)
		l.Same("events of no stream", len(l.Stream(domain.Stream{})), 0)
	}},
	{"a stream is read from any version on", func(l *Log) {
		l.Must(To("a", 0, "a1", "a2"), To("b", 0, "b1"))
		l.Must(To("a", 2, "a3"))
		for after, want := range map[domain.Version][]string{
			-1: {"a@1 ev_a1", "a@2 ev_a2", "a@3 ev_a3"},
			0:  {"a@1 ev_a1", "a@2 ev_a2", "a@3 ev_a3"},
			1:  {"a@2 ev_a2", "a@3 ev_a3"},
			3:  nil,
			9:  nil,
		} {
			got, err := l.ReadStream(l.T.Context(), Article("a"), after)
			if err != nil {
				l.T.Fatal(err)
			}
			l.Same("events", ids(got), want)
		}
	}},
	{"the log is read from any position on, in pages of any size", func(l *Log) {
		l.Must(To("a", 0, "a1", "a2"), To("b", 0, "b1"))
		l.Must(To("a", 2, "a3"))
		all := l.All()
		for from := range len(all) + 1 {
			after := domain.Position(0)
			if from > 0 {
				after = all[from-1].Position
			}
			for _, limit := range []int{-1, 0, 1, 2, 4, 1<<63 - 1} {
				want := all[from:][:min(max(limit, 0), len(all)-from)]
				l.Same("events", ids(l.After(after, limit)), ids(want))
			}
		}
		l.Same("before all", ids(l.After(-1, 9)), ids(all))
	}},
	{"pages of any size make up the whole log", func(l *Log) {
		for i := range 40 {
			l.Must(numbered("a", domain.Version(2*i), 2), numbered(fmt.Sprint(i), 0, 1+i%3))
		}
		all := l.sound()
		for _, size := range []int{1, 2, 3, 7, 64, 1000} {
			l.Same("events", l.pages(0, size), all)
		}
		l.Same("the second half", l.pages(all[59].Position, 7), all[60:])
	}},
	{"pages do not shift while others write", func(l *Log) {
		l.Must(numbered("a", 0, 20))
		all := l.All()
		var got []domain.Record
		for i := range 10 {
			after := domain.Position(0)
			if i > 0 {
				after = got[len(got)-1].Position
			}
			got = append(got, l.After(after, 2)...)
			l.Must(numbered("b", domain.Version(i), 1))
		}
		l.Same("events", got, all)
	}},
	{"a stream of 1000 events that came one and many at a time is read whole", func(l *Log) {
		for at := 0; at < 1000; {
			n := min(1+at/3, 1000-at)
			l.Must(numbered("a", domain.Version(at), n), numbered("b", domain.Version(at), n))
			at += n
		}
		for i, r := range l.Stream(Article("a")) {
			if r.Version != domain.Version(i+1) || r.ID != domain.ID(fmt.Sprintf("ev_a-%d", i+1)) {
				l.T.Fatalf("event %d is %s at version %d", i+1, r.ID, r.Version)
			}
		}
		l.Same("events", len(l.Stream(Article("a"))), 1000)
		recs, err := l.ReadStream(l.T.Context(), Article("b"), 998)
		if err != nil {
			l.T.Fatal(err)
		}
		l.Same("the last", ids(recs), []string{"b@999 ev_b-999", "b@1000 ev_b-1000"})
	}},
	{"an append is there to read as soon as it is answered", func(l *Log) {
		for i := range 40 {
			r := l.Must(numbered("a", domain.Version(i), 1), numbered(fmt.Sprint(i), 0, 1))
			l.Same("stream", len(l.Stream(Article(fmt.Sprint(i)))), 1)
			l.Same("other stream", len(l.Stream(Article("a"))), i+1)
			l.Same("head", l.End().Position, r.Position)
			all := l.All()
			l.Same("last", all[len(all)-1].Position, r.Position)
		}
	}},
	{"what was refused is nowhere to read", func(l *Log) {
		l.Must(To("a", 0, "a1"))
		l.conflict("a", 0, 1, To("b", 0, "x1"), To("a", 0, "x2"))
		l.holds("a@1 ev_a1")
		l.Same("b", len(l.Stream(Article("b"))), 0)
	}},
	{"streams together are the log", func(l *Log) {
		for i := range 30 {
			l.Must(numbered(fmt.Sprint(i%4), domain.Version(2*(i/4)), 2))
		}
		of := make(map[domain.Stream][]domain.Record)
		for _, r := range l.All() {
			of[r.Stream] = append(of[r.Stream], r)
		}
		for s, want := range of {
			l.Same(s.ID, l.Stream(s), want)
		}
	}},
	{"a crowd of readers reads the same at the same time", func(l *Log) {
		l.Must(numbered("a", 0, 20), numbered("b", 0, 20))
		all, a := l.All(), l.Stream(Article("a"))
		l.crowd(func(w, i int) error {
			if w%2 == 0 {
				got, err := l.ReadAll(l.T.Context(), 0, 1000)
				l.Same("log", got, all)
				return err
			}
			got, err := l.ReadStream(l.T.Context(), Article("a"), 0)
			l.Same("stream", got, a)
			return err
		})
	}},
	{"stream and log tell the same of an event", func(l *Log) {
		l.Must(To("a", 0, "a1"), To("b", 0, "b1", "b2"))
		l.Same("events", l.Stream(Article("b")), l.All()[1:])
	}},
	{"two workspaces' streams of one name are apart", func(l *Log) {
		other := Article("a")
		other.Workspace = "away"
		l.Must(To("a", 0, "a1"))
		l.Must(commands.Write{Stream: other, Events: Events("o1", "o2")})
		l.Must(To("a", 1, "a2"))
		l.Same("home", ids(l.Stream(Article("a"))), []string{"a@1 ev_a1", "a@2 ev_a2"})
		l.Same("away", ids(l.Stream(other)), []string{"a@1 ev_o1", "a@2 ev_o2"})
		for _, r := range l.Stream(other) {
			l.Same("workspace", r.Stream, other)
		}
	}},
}

// pages reads the log from a position on, page by page.
func (l *Log) pages(after domain.Position, size int) []domain.Record {
	l.T.Helper()
	var recs []domain.Record
	for {
		page := l.After(after, size)
		if len(page) == 0 {
			return recs
		}
		if len(page) > size {
			l.T.Fatalf("a page of %d holds %d events", size, len(page))
		}
		recs = append(recs, page...)
		after = page[len(page)-1].Position
	}
}
