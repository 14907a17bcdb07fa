package logtest

import (
	"encoding/json"
	"fmt"
	"sync"

	"assent/commands"
	"assent/commands/eventlog/chain"
	"assent/domain"
)

var headCases = []Case{
	{"the head is the last event's place, and moves with every append", func(l *Log) {
		for i, id := range []string{"1", "2", "3"} {
			before := l.End()
			r := l.Must(To("a", domain.Version(i), id))
			head := l.End()
			l.Same("place", commands.Receipt{Position: head.Position, At: head.At}, r)
			if l.chained() && head.Chain == before.Chain {
				l.T.Error("the chain did not move")
			}
		}
	}},
	{"the head's chain, if there is one, links every event", func(l *Log) {
		l.Must(To("a", 0, "a1", "a2"), To("b", 0, "b1"))
		l.Clock.Move(1)
		l.Must(To("b", 1, "b2"))
		l.linked(l.All(), l.End())
	}},
	{"the head's chain links odd bytes as they were given", func(l *Log) {
		w := To("a/'é\n", 0, "1", "2", "3")
		for i, data := range []string{` {"a" : 1.0}`, `"\u00e9<&>"`, "[\n]"} {
			w.Events[i].Data = []byte(data)
			w.Events[i].Word = "é\n"
		}
		l.Must(w)
		l.linked(l.All(), l.End())
	}},
	{"the head's chain links what a crowd wrote, in its order", func(l *Log) {
		l.crowd(func(w, i int) error {
			_, err := l.Append(l.T.Context(), numbered(fmt.Sprint(w), domain.Version(2*i), 2), numbered(fmt.Sprintf("%d-%d", w, i), 0, 1))
			return err
		})
		l.linked(l.sound(), l.End())
	}},
	{"an append that was answered is at or below the head", func(l *Log) {
		l.crowd(func(w, i int) error {
			r, err := l.Append(l.T.Context(), numbered(fmt.Sprint(w), domain.Version(i), 1))
			if err != nil {
				return err
			}
			head, err := l.Head(l.T.Context())
			if err == nil && head.Position < r.Position {
				err = fmt.Errorf("the head is at %d, behind the receipt of %d", head.Position, r.Position)
			}
			return err
		})
	}},
	{"the event at a head that was returned is there, and stays as it is", func(l *Log) {
		type seen struct {
			head commands.Head
			last domain.Record
		}
		var mu sync.Mutex
		var saw []seen
		l.crowd(func(w, i int) error {
			name := fmt.Sprintf("w%d", w)
			if _, err := l.Append(l.T.Context(), To(name, domain.Version(i), fmt.Sprintf("%s-%d", name, i))); err != nil {
				return err
			}
			head, err := l.Head(l.T.Context())
			if err != nil {
				return err
			}
			all, err := l.ReadAll(l.T.Context(), 0, 1<<20)
			if err != nil {
				return err
			}
			for _, r := range all {
				if r.Position == head.Position {
					mu.Lock()
					defer mu.Unlock()
					saw = append(saw, seen{head, r})
					return nil
				}
			}
			return fmt.Errorf("no event at the head %d", head.Position)
		})
		at := make(map[domain.Position]domain.Record)
		for _, r := range l.All() {
			at[r.Position] = r
		}
		for _, s := range saw {
			l.Same("event at the head", s.last, at[s.head.Position])
			l.Same("time", s.head.At, s.last.At)
		}
	}},
	{"nothing at or below a head that was returned changes or comes later, while a crowd writes", func(l *Log) {
		done := make(chan struct{})
		var readers sync.WaitGroup
		for range 3 {
			readers.Go(func() { l.watch(done) })
		}
		l.crowd(func(w, i int) error {
			_, err := l.Append(l.T.Context(), numbered(fmt.Sprint(w), domain.Version(i), 1), numbered(fmt.Sprintf("%d-%d", w, i), 0, 1+i%3))
			return err
		})
		close(done)
		readers.Wait()
	}},
}

// watch reads up to head after head while others write, and in the end all of
// it again: the parts have to be the whole.
func (l *Log) watch(done <-chan struct{}) {
	var seen []domain.Record
	var last commands.Head
	for more := true; more; {
		select {
		case <-done:
			more = false
		default:
		}
		head, err := l.Head(l.T.Context())
		if err != nil {
			l.T.Error(err)
			return
		}
		if head.Position < last.Position || head.At.Before(last.At) {
			l.T.Errorf("the head went back from %v to %v", last, head)
			return
		}
		recs, err := l.ReadAll(l.T.Context(), last.Position, 1<<20)
		if err != nil {
			l.T.Error(err)
			return
		}
		for _, r := range recs {
			if r.Position <= head.Position {
				seen = append(seen, r)
			}
		}
		if n := len(seen); n > 0 && seen[n-1].Position != head.Position {
			l.T.Errorf("the last event up to the head %d is at %d", head.Position, seen[n-1].Position)
			return
		}
		last = head
	}
	all, err := l.ReadAll(l.T.Context(), 0, len(seen))
	if err != nil {
		l.T.Error(err)
		return
	}
	l.Same("what was read up to each head, and all of it in the end", all, seen)
}

// chained says that the log's head carries a chain: one that is atomic has to.
func (l *Log) chained() bool {
	l.T.Helper()
	chained := l.End().Chain != [32]byte{}
	if l.Atomic() && !chained {
		l.T.Error("the head has no chain")
	}
	return chained
}

// linked says that a head's chain is what all events give.
func (l *Log) linked(all []domain.Record, head commands.Head) {
	l.T.Helper()
	if !l.chained() {
		return
	}
	var want [32]byte
	for _, r := range all {
		envelope, err := json.Marshal(r.Envelope)
		if err != nil {
			l.T.Fatal(err)
		}
		want = chain.Link(want, r, envelope)
	}
	l.Same("chain", head.Chain, want)
}
