package logtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

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
	{"many small events in one append are taken", func(l *Log) {
		w := commands.Write{Stream: Article("a")}
		for i := range 1000 {
			w.Events = append(w.Events, Event(fmt.Sprint(i)))
		}
		l.Same("position", l.Must(w).Position, domain.Position(1000))
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

var timeCases = []Case{
	{"recorded-at is the clock's time to the nanosecond, in UTC", func(l *Log) {
		want := l.Clock.Now()
		l.Same("receipt", l.Must(To("a", 0, "a1")).At, want)
		l.Same("record", l.All()[0].At, want)
		l.Same("head", l.End().At, want)
		l.Same("zone", l.All()[0].At.Location().String(), "UTC")
	}},
	{"events of one append were recorded at one time", func(l *Log) {
		l.Must(To("a", 0, "a1", "a2"), To("b", 0, "b1"))
		all := l.All()
		l.Same("times", []time.Time{all[0].At, all[1].At}, []time.Time{all[2].At, all[2].At})
	}},
	{"a clock that jumps back does not take the log along", func(l *Log) {
		first := l.Must(To("a", 0, "a1")).At
		l.Clock.Move(-time.Hour)
		l.Same("then", l.Must(To("a", 1, "a2")).At, first)
		l.Clock.Move(time.Minute)
		l.Same("still", l.Must(To("b", 0, "b1")).At, first)
		l.Clock.Move(time.Hour)
		l.Same("on again", l.Must(To("b", 1, "b2")).At, first.Add(time.Minute))
	}},
	{"a repeated append keeps the time of the first", func(l *Log) {
		want := l.Must(To("a", 0, "a1"))
		l.Clock.Move(time.Hour)
		l.again(want, To("a", 0, "a1"))
		l.Same("record", l.All()[0].At, want.At)
	}},
	{"a clock of another zone is read in UTC", func(l *Log) {
		l.Clock.mu.Lock()
		l.Clock.now = l.Clock.now.In(time.FixedZone("far", 9*3600))
		l.Clock.mu.Unlock()
		l.Same("zone", l.Must(To("a", 0, "a1")).At.Location().String(), "UTC")
	}},
}
