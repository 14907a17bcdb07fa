package logtest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"assent/commands"
	"assent/domain"
)

// reference is the smallest log there is: what the others have to agree with.
type reference struct {
	clock *Clock
	all   []domain.Record
}

func (m *reference) version(s domain.Stream) (v domain.Version) {
	for _, r := range m.all {
		if r.Stream == s {
			v++
		}
	}
	return v
}

func (m *reference) append(writes []commands.Write) (domain.Position, *commands.Conflict) {
	for _, w := range writes {
		if v := m.version(w.Stream); v != w.Expect {
			return 0, &commands.Conflict{Stream: w.Stream, Expected: w.Expect, Actual: v}
		}
	}
	at := m.clock.Now()
	if n := len(m.all); n > 0 && at.Before(m.all[n-1].At) {
		at = m.all[n-1].At
	}
	for _, w := range writes {
		for _, e := range w.Events {
			m.all = append(m.all, domain.Record{
				Fresh: e, Stream: w.Stream, Version: m.version(w.Stream) + 1,
				Position: domain.Position(len(m.all) + 1), At: at,
			})
		}
	}
	return domain.Position(len(m.all)), nil
}

// model takes a log and the reference the same random ways, and compares all
// they say.
func model(t *testing.T, open Open) {
	rapid.Check(t, func(rt *rapid.T) {
		l := NewLog(t, open)
		defer l.Close()
		w := &walk{log: l, reference: reference{clock: l.Clock}}
		rt.Repeat(map[string]func(*rapid.T){
			"append": w.append,
			"repeat": w.repeat,
			"clock":  w.move,
			"stream": w.stream,
			"page":   w.page,
			"":       w.head,
		})
		got, err := l.ReadAll(t.Context(), 0, 1<<20)
		w.same(rt, "the whole log", got, w.all, err)
	})
}

type walk struct {
	reference
	log  *Log
	made int    // events, for their ids
	past []past // appends that were taken
}

type past struct {
	writes  []commands.Write
	receipt commands.Receipt
}

var articles = []string{"a", "b", "c", "d"}

func (w *walk) append(t *rapid.T) {
	var writes []commands.Write
	events := 0
	for _, name := range rapid.Permutation(articles).Draw(t, "streams")[:rapid.IntRange(0, 3).Draw(t, "writes")] {
		off := rapid.SampledFrom([]int{0, 0, 0, 0, 0, 0, -1, 1}).Draw(t, "off")
		write := To(name, max(w.version(Article(name))+domain.Version(off), 0))
		for range rapid.IntRange(0, 3).Draw(t, "events") {
			w.made++
			events++
			write.Events = append(write.Events, Event(fmt.Sprint(w.made)))
		}
		writes = append(writes, write)
	}
	position, conflict := w.reference.append(writes)
	got, err := w.log.Append(w.log.T.Context(), writes...)
	var told *commands.Conflict
	switch {
	case conflict != nil && (!errors.As(err, &told) || *told != *conflict):
		t.Fatalf("the error is %v; it should be %v", err, conflict)
	case conflict != nil:
	case err != nil:
		t.Fatalf("append: %v", err)
	case got.Position != position:
		t.Fatalf("the receipt is of %d; it should be of %d", got.Position, position)
	case events > 0:
		w.past = append(w.past, past{writes, got})
	}
}

func (w *walk) repeat(t *rapid.T) {
	if len(w.past) == 0 {
		t.Skip("nothing to repeat")
	}
	p := rapid.SampledFrom(w.past).Draw(t, "append")
	got, err := w.log.Append(w.log.T.Context(), p.writes...)
	w.same(t, "the repeated append", got, p.receipt, err)
}

func (w *walk) move(t *rapid.T) {
	w.clock.Move(time.Duration(rapid.IntRange(-5, 10).Draw(t, "seconds")) * time.Second)
}

func (w *walk) stream(t *rapid.T) {
	s := Article(rapid.SampledFrom(articles).Draw(t, "stream"))
	after := domain.Version(rapid.IntRange(0, 5).Draw(t, "after"))
	var want []domain.Record
	for _, r := range w.all {
		if r.Stream == s && r.Version > after {
			want = append(want, r)
		}
	}
	got, err := w.log.ReadStream(w.log.T.Context(), s, after)
	w.same(t, "the stream", got, want, err)
}

func (w *walk) page(t *rapid.T) {
	after := rapid.IntRange(0, len(w.all)).Draw(t, "after")
	limit := rapid.IntRange(1, 5).Draw(t, "limit")
	got, err := w.log.ReadAll(w.log.T.Context(), domain.Position(after), limit)
	w.same(t, "the page", got, w.all[after:min(after+limit, len(w.all))], err)
}

func (w *walk) head(t *rapid.T) {
	got, err := w.log.Head(w.log.T.Context())
	want := commands.Head{Position: domain.Position(len(w.all)), Chain: got.Chain}
	if n := len(w.all); n > 0 {
		want.At = w.all[n-1].At
	}
	w.same(t, "the head", got, want, err)
}

func (w *walk) same(t *rapid.T, what string, got, want any, err error) {
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if recs, ok := got.([]domain.Record); ok && len(recs) == 0 {
		got = []domain.Record(nil) // none is none
	}
	if recs, ok := want.([]domain.Record); ok && len(recs) == 0 {
		want = []domain.Record(nil)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("%s (-want +got):\n%s", what, d)
	}
}
