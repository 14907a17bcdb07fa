package logtest

import (
	"errors"
	"fmt"

	"assent/commands"
	"assent/domain"
)

var appendCases = []Case{
	{"the first event is version 1 of its stream, above position 0", func(l *Log) {
		r := l.Must(To("a", 0, "a1"))
		first := l.All()[0]
		l.Same("version", first.Version, domain.Version(1))
		if r.Position < 1 || r.Position != first.Position {
			l.T.Errorf("the receipt is of position %d, the event at %d", r.Position, first.Position)
		}
	}},
	{"the receipt is of the last event", func(l *Log) {
		r := l.Must(To("a", 0, "a1", "a2"), To("b", 0, "b1"))
		last := l.All()[2]
		l.Same("receipt", r, commands.Receipt{Position: last.Position, At: last.At})
	}},
	{"the receipt of an append that ends with a check is of the last event", func(l *Log) {
		r := l.Must(To("a", 0, "a1", "a2"), To("b", 0))
		l.Same("receipt", r.Position, l.All()[1].Position)
	}},
	{"several streams are written in the order given", func(l *Log) {
		l.Must(To("b", 0, "b1"), To("a", 0, "a1", "a2"))
		l.Must(To("a", 2, "a3"), To("c", 0, "c1"), To("b", 1, "b2"))
		l.holds("b@1 ev_b1", "a@1 ev_a1", "a@2 ev_a2", "a@3 ev_a3", "c@1 ev_c1", "b@2 ev_b2")
	}},
	{"versions of a stream have no gaps, however they came", func(l *Log) {
		for at := 0; at < 30; at += 1 + at%3 {
			l.Must(numbered("a", domain.Version(at), 1+at%3))
			l.Must(numbered("b"+fmt.Sprint(at), 0, 1))
		}
		l.sound()
		l.Same("events", len(l.Stream(Article("a"))), 30)
	}},
	{"when one stream of several is elsewhere, none is written", func(l *Log) {
		l.Must(To("a", 0, "a1"))
		l.Fails(To("b", 0, "b1"), To("a", 0, "x1"), To("c", 0, "c1"))
		l.Same("b", l.Stream(Article("b")), []domain.Record(nil))
		l.Must(To("b", 0, "b1"), To("c", 0, "c1"))
	}},
	{"when the last stream of 50 is elsewhere, none is written", func(l *Log) {
		l.Must(To("z", 0, "z1"))
		var writes []commands.Write
		for i := range 49 {
			writes = append(writes, numbered(fmt.Sprint(i), 0, 1))
		}
		l.conflict("z", 0, 1, append(writes, To("z", 0, "x1"))...)
		l.Must(append(writes, To("z", 1, "x1"))...)
	}},
	{"nothing to write and nothing to check is answered with the head", func(l *Log) {
		l.Same("empty log", l.Must(), commands.Receipt{})
		want := l.Must(To("a", 0, "a1"))
		l.Same("receipt", l.Must(), want)
	}},
	{"300 streams are written in one append", func(l *Log) {
		var writes []commands.Write
		for i := range 300 {
			writes = append(writes, numbered(fmt.Sprint(i), 0, 1+i%2))
		}
		r := l.Must(writes...)
		all := l.sound()
		l.Same("events", len(all), 450)
		l.Same("receipt", r.Position, all[449].Position)
		l.again(r, writes...)
	}},
	{"1500 events are written in one append", func(l *Log) {
		r := l.Must(numbered("a", 0, 1500))
		all := l.sound()
		l.Same("events", len(all), 1500)
		l.again(r, numbered("a", 0, 1500))
	}},
	{"one event after another is written 200 times", func(l *Log) {
		for i := range 200 {
			l.Must(numbered("a", domain.Version(i), 1))
		}
		l.Same("events", len(l.sound()), 200)
	}},
	{"a stream named twice in one append is a fault", func(l *Log) {
		l.fault(To("a", 0, "a1"), To("a", 1, "a2"))
		l.fault(To("a", 0, "a1"), To("a", 0))
		l.fault(To("a", 0), To("b", 0, "b1"), To("a", 0))
	}},
	{"an event id twice in one append is a fault", func(l *Log) {
		l.fault(To("a", 0, "a1", "a1"))
		l.fault(To("a", 0, "a1"), To("b", 0, "a1"))
	}},
	{"what is no stream name is a fault, to write and to check", func(l *Log) {
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
			l.fault(commands.Write{Stream: s}, To("a", 0, "a1"))
		}
	}},
	{"an event without id, word or revision is a fault", func(l *Log) {
		for _, spoil := range []func(*domain.Fresh){
			func(e *domain.Fresh) { e.ID = "" },
			func(e *domain.Fresh) { e.ID = "\xff" },
			func(e *domain.Fresh) { e.Word = "" },
			func(e *domain.Fresh) { e.Word = "\xff" },
			func(e *domain.Fresh) { e.Revision = 0 },
			func(e *domain.Fresh) { e.Revision = -1 },
		} {
			l.faulty(spoil)
		}
	}},
	{"data that is not JSON in UTF-8 is a fault", func(l *Log) {
		for _, data := range []string{"", "{", `{"a":1}{}`, "\"\xff\"", "\ufeff{}", "NaN", "'a'", "\"\x00\""} {
			l.faulty(func(e *domain.Fresh) { e.Data = []byte(data) })
		}
	}},
	{"an envelope that cannot be written is a fault", func(l *Log) {
		l.faulty(func(e *domain.Fresh) { e.Envelope.Question = []byte("{") })
	}},
	{"a fault in the last event keeps all others from being written", func(l *Log) {
		w := To("b", 0, "b1", "b2")
		w.Events[1].Word = ""
		l.fault(To("a", 0, "a1"), w)
		l.Must(To("a", 0, "a1"), To("b", 0, "b1", "b2"))
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
	_, refusal := errors.AsType[*domain.Refusal](err)
	_, conflict := isConflict(err)
	if refusal || conflict || errors.Is(err, commands.ErrReused) || l.own(err) {
		l.T.Errorf("the error is %T: %v; it should be a plain fault", err, err)
	}
}

// reused says that the ids of an append are in the log with something else.
func (l *Log) reused(writes ...commands.Write) {
	l.T.Helper()
	err := l.Fails(writes...)
	if _, conflict := isConflict(err); conflict || !errors.Is(err, commands.ErrReused) || l.own(err) {
		l.T.Errorf("the error is %T: %v; it should be ErrReused", err, err)
	}
}

// own says that an error is about the log and not about what was asked of it.
func (l *Log) own(err error) bool {
	for _, own := range []error{commands.ErrBusy, commands.ErrUnavailable, commands.ErrUnknown, commands.ErrPartly} {
		if errors.Is(err, own) {
			return true
		}
	}
	return false
}
