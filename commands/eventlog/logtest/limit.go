package logtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"assent/commands"
	"assent/domain"
)

var limitCases = []Case{
	{"an event of exactly the limit is taken and comes back", func(l *Log) {
		e := sized(l, "a1", commands.MaxEvent)
		l.Must(commands.Write{Stream: Article("a"), Events: []domain.Fresh{e}})
		l.Same("data", string(l.All()[0].Data) == string(e.Data), true)
	}},
	{"an event one byte above it is refused", func(l *Log) {
		l.tooLarge(commands.Write{Stream: Article("a"), Events: []domain.Fresh{sized(l, "a1", commands.MaxEvent+1)}})
	}},
	{"an append of exactly the limit is taken", func(l *Log) {
		l.Must(spread(l, commands.MaxAppend)...)
		l.Same("events", len(l.All()), 6)
	}},
	{"an append one byte above it is refused, all of it", func(l *Log) {
		l.tooLarge(spread(l, commands.MaxAppend+1)...)
	}},
	{"the envelope counts like the data", func(l *Log) {
		e := sized(l, "a1", commands.MaxEvent)
		e.Envelope.Mode = "edits"
		l.tooLarge(commands.Write{Stream: Article("a"), Events: []domain.Fresh{e}})
		e = Event("a1")
		e.Envelope.Question = e.Data
		e.Envelope.Question, e.Data = sized(l, "a1", commands.MaxEvent-200).Data, []byte(`0`)
		l.Must(commands.Write{Stream: Article("a"), Events: []domain.Fresh{e}})
		l.Same("question", string(l.All()[0].Envelope.Question) == string(e.Envelope.Question), true)
	}},
	{"bytes are counted, not letters", func(l *Log) {
		e := sized(l, "a1", commands.MaxEvent)
		e.Data = []byte(`"` + strings.Repeat("é", len(e.Data)/2) + `"`)
		l.tooLarge(commands.Write{Stream: Article("a"), Events: []domain.Fresh{e}})
	}},
	{"one event too large keeps the small ones from being written", func(l *Log) {
		l.tooLarge(To("b", 0, "b1"), commands.Write{Stream: Article("a"), Events: []domain.Fresh{sized(l, "a1", commands.MaxEvent+1)}})
	}},
	{"what is too large is refused even where it would conflict", func(l *Log) {
		l.Must(To("a", 0, "a1"))
		l.tooLarge(commands.Write{Stream: Article("a"), Events: []domain.Fresh{sized(l, "x1", commands.MaxEvent+1)}})
	}},
	{"checks do not count", func(l *Log) {
		writes := spread(l, commands.MaxAppend)
		for i := range 100 {
			writes = append(writes, To(fmt.Sprint(i), 0))
		}
		l.Must(writes...)
	}},
	{"a refusal says what to do", func(l *Log) {
		err := l.Fails(spread(l, commands.MaxAppend+1)...)
		if r, ok := errors.AsType[*domain.Refusal](err); !ok || !strings.Contains(r.Error(), fmt.Sprint(commands.MaxAppend)) {
			l.T.Errorf("the refusal is %v", err)
		}
	}},
	{"the smallest data there is is kept", func(l *Log) {
		w := To("a", 0, "a1")
		w.Events[0].Data = []byte("0")
		l.Must(w)
		l.Same("data", string(l.All()[0].Data), "0")
	}},
}

// spread is an append of several streams, of so many bytes together.
func spread(l *Log, total int) []commands.Write {
	var writes []commands.Write
	for i, part := range []string{"a", "b", "c"} {
		size := total/6 + (total%6)*(1-min(i, 1))
		writes = append(writes, commands.Write{Stream: Article(part), Events: []domain.Fresh{
			sized(l, part+"1", size), sized(l, part+"2", total/6),
		}})
	}
	return writes
}

// sized is an event that takes so many bytes with its envelope.
func sized(l *Log, id string, bytes int) domain.Fresh {
	e := Event(id)
	envelope, err := json.Marshal(e.Envelope)
	if err != nil {
		l.T.Fatal(err)
	}
	e.Data = []byte(`"` + strings.Repeat("x", bytes-len(envelope)-2) + `"`)
	return e
}

func (l *Log) tooLarge(writes ...commands.Write) {
	l.T.Helper()
	err := l.Fails(writes...)
	var r *domain.Refusal
	if !errors.As(err, &r) || r.Code != "limit" {
		l.T.Errorf("the error is %T: %v; it should be the refusal limit", err, err)
	}
}
