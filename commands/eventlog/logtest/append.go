package logtest

import (
	"context"
	"errors"

	"assent/commands"
	"assent/domain"
)

var appendCases = []Case{
	{"the first event is at position 1 and version 1", func(l *Log) {
		l.Same("receipt", l.Must(To("a", 0, "a1")).Position, domain.Position(1))
		r := l.All()[0]
		l.Same("place", []int64{int64(r.Position), int64(r.Version)}, []int64{1, 1})
	}},
	{"the receipt is of the last event", func(l *Log) {
		r := l.Must(To("a", 0, "a1", "a2"), To("b", 0, "b1"))
		last := l.All()[2]
		l.Same("receipt", r, commands.Receipt{Position: last.Position, At: last.At})
	}},
	{"several streams are written at once, in the order given", func(l *Log) {
		l.Must(To("b", 0, "b1"), To("a", 0, "a1", "a2"))
		l.Must(To("a", 2, "a3"), To("c", 0, "c1"), To("b", 1, "b2"))
		l.Same("events", ids(l.All()), []string{"b@1 ev_b1", "a@1 ev_a1", "a@2 ev_a2", "a@3 ev_a3", "c@1 ev_c1", "b@2 ev_b2"})
	}},
	{"when one stream of several is elsewhere, none is written", func(l *Log) {
		l.Must(To("a", 0, "a1"))
		l.Fails(To("b", 0, "b1"), To("a", 0, "x1"), To("c", 0, "c1"))
		l.Same("b", l.Stream(Article("b")), []domain.Record(nil))
		l.Must(To("b", 0, "b1"), To("c", 0, "c1"))
	}},
	{"nothing to write and nothing to check is answered with the head", func(l *Log) {
		l.Same("empty log", l.Must(), commands.Receipt{})
		want := l.Must(To("a", 0, "a1"))
		l.Same("receipt", l.Must(), want)
	}},
	{"a context that has ended writes nothing", func(l *Log) {
		err := l.Untouched(func() error {
			_, err := l.Append(cancelled(l), To("a", 0, "a1"))
			return err
		})
		if !errors.Is(err, context.Canceled) {
			l.T.Errorf("the error is %v", err)
		}
	}},
	{"a stream named twice in one append is a fault", func(l *Log) {
		l.fault(To("a", 0, "a1"), To("a", 1, "a2"))
		l.fault(To("a", 0, "a1"), To("a", 0))
	}},
	{"an event id twice in one append is a fault", func(l *Log) {
		l.fault(To("a", 0, "a1", "a1"))
		l.fault(To("a", 0, "a1"), To("b", 0, "a1"))
	}},
	{"what is no stream name is a fault", func(l *Log) {
		for _, s := range []domain.Stream{
			{},
			{Workspace: "home", ID: "a"},
			{Category: "article", ID: "a"},
			{Category: "article", Workspace: "home"},
			{Category: "art-icle", Workspace: "home", ID: "a"},
			{Category: "article", Workspace: "ho/me", ID: "a"},
			{Category: "article", Workspace: "home", ID: "\xff"},
		} {
			l.fault(commands.Write{Stream: s, Events: Events("a1")})
		}
	}},
	{"an event without id, word or revision is a fault", func(l *Log) {
		for _, spoil := range []func(*domain.Fresh){
			func(e *domain.Fresh) { e.ID = "" },
			func(e *domain.Fresh) { e.ID = "\xff" },
			func(e *domain.Fresh) { e.Word = "" },
			func(e *domain.Fresh) { e.Revision = 0 },
		} {
			l.faulty(spoil)
		}
	}},
	{"data that is not JSON in UTF-8 is a fault", func(l *Log) {
		for _, data := range []string{"", "{", `{"a":1}{}`, "\"\xff\""} {
			l.faulty(func(e *domain.Fresh) { e.Data = []byte(data) })
		}
	}},
	{"an envelope that cannot be written is a fault", func(l *Log) {
		l.faulty(func(e *domain.Fresh) { e.Envelope.Question = []byte("{") })
	}},
	{"a closed log takes nothing and tells so", func(l *Log) {
		l.Must(To("a", 0, "a1"))
		for range 2 {
			if err := l.Close(); err != nil {
				l.T.Fatalf("close: %v", err)
			}
		}
		_, err := l.Append(l.T.Context(), To("a", 1, "a2"))
		l.unavailable("append", err)
		_, err = l.Head(l.T.Context())
		l.unavailable("head", err)
		_, err = l.ReadAll(l.T.Context(), 0, 1)
		l.unavailable("read all", err)
		_, err = l.ReadStream(l.T.Context(), Article("a"), 0)
		l.unavailable("read stream", err)
	}},
}

// faulty appends one spoilt event.
func (l *Log) faulty(spoil func(*domain.Fresh)) {
	l.T.Helper()
	w := To("a", 0, "a1")
	spoil(&w.Events[0])
	l.fault(w)
}

// fault says that an append is a mistake of its caller: neither a refusal nor
// one of the log's own answers.
func (l *Log) fault(writes ...commands.Write) {
	l.T.Helper()
	err := l.Fails(writes...)
	var refusal *domain.Refusal
	var conflict *commands.Conflict
	if errors.As(err, &refusal) || errors.As(err, &conflict) ||
		errors.Is(err, commands.ErrBusy) || errors.Is(err, commands.ErrUnavailable) || errors.Is(err, commands.ErrUnknown) {
		l.T.Errorf("the error is %T: %v; it should be a plain fault", err, err)
	}
}

func (l *Log) unavailable(what string, err error) {
	l.T.Helper()
	if !errors.Is(err, commands.ErrUnavailable) {
		l.T.Errorf("%s on a closed log: %v", what, err)
	}
}
