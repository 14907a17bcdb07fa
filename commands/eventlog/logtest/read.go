package logtest

import (
	"context"
	"encoding/json"
	"errors"

	"assent/commands"
	"assent/commands/eventlog/chain"
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
		for after := domain.Position(-1); after <= 6; after++ {
			for _, limit := range []int{-1, 0, 1, 2, 4, 1<<63 - 1} {
				from := min(max(int(after), 0), len(all))
				want := all[from:][:min(max(limit, 0), len(all)-from)]
				got, err := l.ReadAll(l.T.Context(), after, limit)
				if err != nil {
					l.T.Fatal(err)
				}
				l.Same("events", ids(got), ids(want))
			}
		}
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
	{"a context that has ended reads nothing and tells so", func(l *Log) {
		l.Must(To("a", 0, "a1"))
		_, one := l.ReadStream(cancelled(l), Article("a"), 0)
		_, two := l.ReadAll(cancelled(l), 0, 10)
		_, three := l.Head(cancelled(l))
		for _, err := range []error{one, two, three} {
			if !errors.Is(err, context.Canceled) {
				l.T.Errorf("the error is %v", err)
			}
		}
	}},
}

var keepCases = []Case{
	{"an event comes back as it was given", func(l *Log) {
		w := commands.Write{Stream: Article("a"), Events: []domain.Fresh{full()}}
		l.Must(w)
		r := l.All()[0]
		l.Same("event", r.Fresh, full())
		l.Same("stream", r.Stream, Article("a"))
	}},
	{"data is kept to the byte, odd as it may look", func(l *Log) {
		texts := []string{
			" {\"b\" :1,\t\"a\":\r\n2 }\n", `{"a":1,"a":2}`, `{"a":1.0e+00}`, `"\u00e9é\/<&>\u2028"`, "null", "[]",
			`"` + "\u2028\u00a0\x7f" + `"`, `12345678901234567890.0`, `"\u0000"`,
		}
		w := commands.Write{Stream: Article("a")}
		for i, text := range texts {
			e := Event(string(rune('a' + i)))
			e.Data = []byte(text)
			w.Events = append(w.Events, e)
		}
		l.Must(w)
		for i, r := range l.All() {
			l.Same("data", string(r.Data), texts[i])
		}
	}},
	{"an envelope of nothing but what it must have is kept", func(l *Log) {
		e := Event("a1")
		e.Envelope = domain.Envelope{}
		l.Must(commands.Write{Stream: Article("a"), Events: []domain.Fresh{e}})
		l.Same("envelope", l.All()[0].Envelope, domain.Envelope{})
	}},
	{"the caller's bytes can change without changing history", func(l *Log) {
		w := commands.Write{Stream: Article("a"), Events: []domain.Fresh{full()}}
		l.Must(w)
		e := &w.Events[0]
		e.Data[0], e.Envelope.Question[0], e.Envelope.Reason.Box[0] = 'X', 'X', 'X'
		e.Envelope.Verdict.Rules, e.Word = "X", "X"
		l.Same("event", l.All()[0].Fresh, full())
	}},
	{"the reader's bytes can change without changing history", func(l *Log) {
		l.Must(commands.Write{Stream: Article("a"), Events: []domain.Fresh{full()}})
		for _, read := range []func() []domain.Record{l.All, func() []domain.Record { return l.Stream(Article("a")) }} {
			r := read()[0]
			r.Data[0], r.Envelope.Question[0], r.Envelope.Reason.Box[0] = 'X', 'X', 'X'
			r.Envelope.Verdict.Findings[0].Rule = "X"
			l.Same("event", read()[0].Fresh, full())
		}
	}},
	{"the head's chain links every event", func(l *Log) {
		l.Must(To("a", 0, "a1", "a2"), To("b", 0, "b1"))
		l.Clock.Move(1)
		l.Must(To("b", 1, "b2"))
		var want [32]byte
		for _, r := range l.All() {
			envelope, err := json.Marshal(r.Envelope)
			if err != nil {
				l.T.Fatal(err)
			}
			want = chain.Link(want, r, envelope)
		}
		l.Same("chain", l.End().Chain, want)
	}},
	{"the head is the last event's place, and moves with every append", func(l *Log) {
		for i, id := range []string{"1", "2", "3"} {
			before := l.End()
			r := l.Must(To("a", domain.Version(i), id))
			head := l.End()
			l.Same("place", commands.Receipt{Position: head.Position, At: head.At}, r)
			if head.Chain == before.Chain {
				l.T.Error("the chain did not move")
			}
		}
	}},
}

// full is an event with something in every field.
func full() domain.Fresh {
	e := Event("full")
	e.Revision = 3
	e.Data = []byte(`{"title": "é <b>"}`)
	v := &e.Envelope
	v.Via = domain.Via{Key: "key_1", Grant: "grant_1"}
	v.Client = domain.Client{Name: "<client>", Version: "1"}
	v.Mode, v.Skill, v.SkillDigest = "edits", "skill_1", "digest"
	v.Proposal, v.ApprovedBy, v.ConfirmedBy = "prop_1", "person_2", "person_3"
	v.Undoes, v.Correlation, v.Causation = "act_1", "act_2", "act_3"
	v.Outside = true
	v.Question = []byte(`{"mode":"edits"}`)
	v.Args = "digest"
	v.Verdict = &domain.Verdict{
		Answer: domain.Reject, Code: "scope", Cause: "tool", Lifted: "approval", Reason: "No.", Rules: "7",
		AutoCheck: &domain.AutoCheck{Rule: "low-risk-publish", Code: "nothing", Changes: 1, Limit: 20},
		Passed:    []string{"mode"},
		Findings:  []domain.Finding{{Rule: "scope", Answer: domain.Propose, Code: "scope", Reason: "Because."}},
	}
	return e
}
