package logtest

import (
	"errors"
	"fmt"
	"sync"

	"assent/commands"
	"assent/domain"
)

// weakCases are what a log promises that is not Atomic, where another promises
// more. What an attempt left behind that was killed after some streams is made
// by appending just those.
var weakCases = []Case{
	{"an append that stopped after any of its streams is finished when asked again", func(l *Log) {
		for stop := range 5 {
			writes := l.four(fmt.Sprint(stop))
			for _, w := range writes[:stop] {
				l.Must(w)
			}
			r := l.Must(writes...)
			for _, w := range writes {
				l.Same("events", len(l.Stream(w.Stream)), len(w.Events))
			}
			l.again(r, writes...)
		}
		l.sound()
	}},
	{"the receipt of an append finished later is of its last event", func(l *Log) {
		writes := l.four("")
		l.Must(writes[0])
		l.Must(To("other", 0, "o1"))
		r := l.Must(writes...)
		last := l.All()[len(l.All())-1]
		l.Same("receipt", r, commands.Receipt{Position: last.Position, At: last.At})
		l.Must(To("other", 1, "o2"))
		l.again(r, writes...)
	}},
	{"what is there is not written again when the streams have moved on since", func(l *Log) {
		writes := l.four("")
		l.Must(writes[0])
		l.Must(To(writes[0].Stream.ID, domain.Version(len(writes[0].Events)), "more"))
		l.Must(writes...)
		l.sound()
	}},
	{"a stream that moved on behind what is there is ErrPartly, and nothing more is written", func(l *Log) {
		l.Must(To("a", 0, "a1"))
		l.Must(To("b", 0, "x1"))
		l.partly(To("a", 0, "a1"), To("b", 0, "b1"), To("c", 0, "c1"))
		l.partly(To("a", 0, "a1"), To("c", 0, "c1"), To("b", 0, "b1"))
		l.holds("a@1 ev_a1", "b@1 ev_x1")
	}},
	{"after ErrPartly, asking again in the new place finishes it", func(l *Log) {
		l.Must(To("a", 0, "a1"))
		l.Must(To("b", 0, "x1"))
		l.partly(To("a", 0, "a1"), To("b", 0, "b1"))
		r := l.Must(To("a", 0, "a1"), To("b", 1, "b1"))
		l.holds("a@1 ev_a1", "b@1 ev_x1", "b@2 ev_b1")
		l.again(r, To("a", 0, "a1"), To("b", 1, "b1"))
	}},
	{"a check that fails behind what is there is ErrPartly, wherever it stands", func(l *Log) {
		l.Must(To("a", 0, "a1"))
		l.Must(To("b", 0, "b1"))
		l.partly(To("a", 0, "a1"), To("b", 0), To("c", 0, "c1"))
		l.partly(To("b", 0), To("a", 0, "a1"), To("c", 0, "c1"))
		l.holds("a@1 ev_a1", "b@1 ev_b1")
	}},
	{"a check that fails matters no more when everything is there", func(l *Log) {
		l.Must(To("c", 0), To("a", 0, "a1"))
		r := l.Must(To("b", 0, "b1"))
		l.Must(To("c", 0, "c1"))
		l.again(r, To("c", 0), To("a", 0, "a1"), To("b", 0, "b1"))
	}},
	{"a conflict that is found before anything was written leaves nothing, wherever it is", func(l *Log) {
		l.Must(To("x", 0, "x1"))
		for at := range 5 {
			for _, moved := range []commands.Write{To("x", 0, "y1"), To("x", 0)} {
				writes := l.four(fmt.Sprint(at))
				writes = append(writes[:at:at], append([]commands.Write{moved}, writes[at:]...)...)
				l.conflict("x", 0, 1, writes...)
			}
		}
		l.holds("x@1 ev_x1")
	}},
	{"ids that say something else in a later stream are a fault, and nothing more is written", func(l *Log) {
		l.Must(To("a", 0, "a1"))
		l.Must(To("b", 0, "b1"))
		other := To("b", 0, "b1")
		other.Events[0].Data = []byte(`{}`)
		l.reused(To("a", 0, "a1"), To("c", 0, "c1"), other)
		l.reused(To("c", 0, "c1"), other)
		l.holds("a@1 ev_a1", "b@1 ev_b1")
	}},
	{"a crowd's appends leave each stream's events whole, and as much as each answer says", func(l *Log) {
		var mu sync.Mutex
		answers := make(map[string]error)
		l.crowd(func(w, i int) error {
			name := fmt.Sprintf("%d-%d", w, i)
			_, err := l.Append(l.T.Context(), numbered("own"+name, 0, 2), To("hot", domain.Version(2*i), "h"+name+"1", "h"+name+"2"), numbered("last"+name, 0, 1))
			if _, conflict := isConflict(err); err != nil && !conflict && !errors.Is(err, commands.ErrPartly) {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			answers[name] = err
			return nil
		}, inStep)
		hot := make(map[domain.ID]int)
		for _, r := range l.Stream(Article("hot")) {
			hot[r.ID[:len(r.ID)-1]]++
		}
		for name, err := range answers {
			got := []int{len(l.Stream(Article("own" + name))), hot[domain.ID("ev_h"+name)], len(l.Stream(Article("last" + name)))}
			want := []int{2, 2, 1}
			if _, conflict := isConflict(err); conflict {
				want = []int{0, 0, 0}
			} else if err != nil {
				want = []int{2, 0, 0}
			}
			l.Same(fmt.Sprintf("%s, answered %v", name, err), got, want)
		}
		l.sound()
	}},
	{"a crowd that asks again after ErrPartly gets all of it in, once", func(l *Log) {
		l.few(func(w, i int) error {
			name := fmt.Sprintf("%d-%d", w, i)
			for {
				hot, err := l.ReadStream(l.T.Context(), Article("hot"), 0)
				if err != nil {
					return err
				}
				at := domain.Version(len(hot))
				_, err = l.Append(l.T.Context(), numbered("own"+name, 0, 1), To("hot", at, "h"+name), numbered("last"+name, 0, 1))
				if _, conflict := isConflict(err); !conflict && !errors.Is(err, commands.ErrPartly) {
					return err
				}
			}
		})
		l.Same("events", len(l.sound()), 3*fewWriters*fewRounds)
	}},
}

// four is an append to four streams of its own, of one to three events.
func (l *Log) four(name string) []commands.Write {
	return []commands.Write{
		numbered("one"+name, 0, 1), numbered("two"+name, 0, 3), numbered("three"+name, 0, 2), numbered("four"+name, 0, 1),
	}
}

// partly says that an append is answered with ErrPartly and nothing more is
// written of it.
func (l *Log) partly(writes ...commands.Write) {
	l.T.Helper()
	err := l.Fails(writes...)
	if _, conflict := isConflict(err); conflict || !errors.Is(err, commands.ErrPartly) {
		l.T.Errorf("the error is %T: %v; it should be ErrPartly and no conflict, which would say that nothing is there", err, err)
	}
}
