package logtest

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"assent/commands"
	"assent/domain"
)

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
	{"data of letters from every plane is kept", func(l *Log) {
		for plane := range rune(17) {
			var text strings.Builder
			for r := plane << 16; r < (plane+1)<<16; r += 7 {
				if utf8.ValidRune(r) && r >= ' ' && r != '"' && r != '\\' {
					text.WriteRune(r)
				}
			}
			w := To(fmt.Sprint(plane), 0, "e"+fmt.Sprint(plane))
			w.Events[0].Data = []byte(`"` + text.String() + `"`)
			l.Must(w)
			got := l.Stream(w.Stream)[0].Data
			l.Same(fmt.Sprintf("plane %d", plane), string(got) == string(w.Events[0].Data), true)
		}
	}},
	{"data nested 5000 deep is kept", func(l *Log) {
		w := To("a", 0, "a1")
		w.Events[0].Data = []byte(strings.Repeat("[", 5000) + strings.Repeat("]", 5000))
		l.Must(w)
		l.Same("data", string(l.All()[0].Data), string(w.Events[0].Data))
	}},
	{"half a pair of surrogates stays as it was spelt", func(l *Log) {
		w := To("a", 0, "a1")
		w.Events[0].Data = []byte(`"\ud800 \udc00\ud800"`)
		l.Must(w)
		l.Same("data", string(l.All()[0].Data), string(w.Events[0].Data))
	}},
	{"odd ids, words and names are kept", func(l *Log) {
		for i, odd := range []string{"é", "😀", "'; DROP TABLE events; --", `"\`, "a b", "\n\t\r", "\u202e", "%s%00", "$et", strings.Repeat("x", 500)} {
			w := To(fmt.Sprint(i), 0, odd)
			e := &w.Events[0]
			e.Data = []byte("{}")
			e.Word, e.Envelope.Name, e.Envelope.Client.Name, e.Envelope.Principal.ID = odd, odd, odd, odd
			l.Must(w)
			l.Same("event", l.Stream(w.Stream)[0].Fresh, w.Events[0])
		}
		l.sound()
	}},
	{"the largest revision is kept", func(l *Log) {
		w := To("a", 0, "a1")
		w.Events[0].Revision = 1<<31 - 1
		l.Must(w)
		l.Same("revision", l.All()[0].Revision, w.Events[0].Revision)
	}},
	{"sealed bytes of every value are kept", func(l *Log) {
		w := To("a", 0, "a1")
		w.Events[0].Envelope.Reason.Box = nil
		for b := range 256 {
			w.Events[0].Envelope.Reason.Box = append(w.Events[0].Envelope.Reason.Box, byte(b))
		}
		l.Must(w)
		l.Same("box", l.All()[0].Envelope.Reason.Box, w.Events[0].Envelope.Reason.Box)
	}},
	{"events of every word in one stream come back each as itself", func(l *Log) {
		w := numbered("a", 0, 50)
		for i := range w.Events {
			w.Events[i].Word, w.Events[i].Revision = fmt.Sprintf("word.%d", i), i+1
		}
		l.Must(w)
		for i, r := range l.Stream(Article("a")) {
			l.Same("event", r.Fresh, w.Events[i])
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
		Findings:  []domain.Finding{{Rule: "scope", Answer: domain.Propose, Code: "scope", Reason: "Because."}},
	}
	return e
}
