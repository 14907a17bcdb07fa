package memory_test

import (
	"errors"
	"testing"
	"time"

	"assent/commands"
	"assent/commands/eventlog/logtest"
	"assent/commands/eventlog/memory"
	"assent/domain"
)

var errKilled = errors.New("killed")

// three is an append to three streams.
func three() []commands.Write {
	return []commands.Write{logtest.To("a", 0, "a1"), logtest.To("b", 0, "b1", "b2"), logtest.To("c", 0, "c1")}
}

func TestAnAppendStopsWhereItIsKilledAndAskingAgainFinishesIt(t *testing.T) {
	for _, kind := range []struct {
		name    string
		options []memory.Option
		held    []int // events there when killed at each call
	}{
		{"atomic", nil, []int{0, 4}},
		{"weak", []memory.Option{memory.Weak()}, []int{0, 1, 3, 4}},
		{"sparse", []memory.Option{memory.Weak(), memory.Sparse()}, []int{0, 1, 3, 4}},
	} {
		for kill, held := range kind.held {
			calls := 0
			l := memory.New(time.Now, append(kind.options, memory.Between(func(int) error {
				if calls++; calls == kill+1 {
					return errKilled
				}
				return nil
			}))...)
			_, err := l.Append(t.Context(), three()...)
			if !errors.Is(err, commands.ErrUnknown) || !errors.Is(err, errKilled) {
				t.Errorf("%s, killed at call %d: the error is %v", kind.name, kill, err)
			}
			if n := count(t, l); n != held {
				t.Errorf("%s, killed at call %d: %d events are there, not %d", kind.name, kill, n, held)
			}
			receipt, err := l.Append(t.Context(), three()...)
			if head, _ := l.Head(t.Context()); err != nil || receipt.Position != head.Position {
				t.Errorf("%s, killed at call %d, asked again: %v, %v", kind.name, kill, receipt, err)
			}
			if n := count(t, l); n != 4 {
				t.Errorf("%s, killed at call %d, asked again: %d events are there", kind.name, kill, n)
			}
		}
	}
}

func TestBetweenTellsHowManyStreamsAreWritten(t *testing.T) {
	for _, kind := range []struct {
		options []memory.Option
		want    []int
	}{
		{nil, []int{0, 3}},
		{[]memory.Option{memory.Weak()}, []int{0, 1, 2, 3}},
	} {
		var told []int
		l := memory.New(time.Now, append(kind.options, memory.Between(func(i int) error {
			told = append(told, i)
			return nil
		}))...)
		log := &logtest.Log{Log: l, T: t}
		log.Must(logtest.To("z", 0)) // a check writes nothing and is not told
		log.Must(three()...)
		log.Same("told", told, kind.want)
	}
}

func TestWhoComesInBetweenStopsWhatFollows(t *testing.T) {
	for at, want := range []string{"conflict", "partly", "taken"} {
		var l *memory.Log
		entered := false
		l = memory.New(time.Now, memory.Weak(), memory.Between(func(i int) error {
			if entered || i != at {
				return nil
			}
			entered = true
			_, err := l.Append(t.Context(), logtest.To("b", []domain.Version{0, 0, 2}[at], "x1"))
			return err
		}))
		writes := three()
		if at == 0 { // nothing is written yet when the first of all is taken
			writes = append(writes[1:], writes[0])
		}
		_, err := l.Append(t.Context(), writes...)
		if got := answer(err); got != want {
			t.Errorf("somebody came in at %d: the answer is %s (%v), not %s", at, got, err, want)
		}
	}
}

func answer(err error) string {
	_, conflict := errors.AsType[*commands.Conflict](err)
	switch {
	case err == nil:
		return "taken"
	case conflict:
		return "conflict"
	case errors.Is(err, commands.ErrPartly):
		return "partly"
	}
	return "other"
}

func count(t *testing.T, l *memory.Log) int {
	t.Helper()
	all, err := l.ReadAll(t.Context(), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}
