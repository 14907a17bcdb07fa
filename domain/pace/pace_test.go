package pace_test

import (
	"testing"
	"time"

	"assent/domain/domaintest"
	"assent/domain/pace"
	"assent/domain/policy"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func TestDifferentThingsCountWithinTheWindow(t *testing.T) {
	spent := func(thing string, after time.Duration) any { return pace.Spent{Thing: thing, At: noon.Add(after)} }
	for name, c := range map[string]struct {
		given []any
		thing string
		at    time.Duration
		want  int
	}{
		"the first":                  {nil, "a", 0, 1},
		"another":                    {[]any{spent("a", 0)}, "b", time.Minute, 2},
		"the same again":             {[]any{spent("a", 0), spent("b", 0)}, "a", time.Minute, 2},
		"just within the window":     {[]any{spent("a", 0)}, "b", policy.PaceWindow - 1, 2},
		"just out of the window":     {[]any{spent("a", 0)}, "b", policy.PaceWindow, 1},
		"changed again since":        {[]any{spent("a", 0), spent("a", time.Minute)}, "b", policy.PaceWindow, 2},
		"what came later came later": {[]any{spent("a", time.Minute), spent("a", 0)}, "b", policy.PaceWindow, 2},
	} {
		domaintest.Laws(t, pace.Kind, c.given)
		state, err := pace.Kind.Fold(c.given)
		if err != nil {
			t.Fatal(err)
		}
		if got := state.(pace.Pace).With(c.thing, noon.Add(c.at)); got != c.want {
			t.Errorf("%s: %d different things, not %d", name, got, c.want)
		}
	}
}

func TestWhatNoLongerMattersIsForgotten(t *testing.T) {
	state, err := pace.Kind.Fold([]any{pace.Spent{Thing: "a", At: noon}, pace.Spent{Thing: "b", At: noon.Add(policy.PaceWindow)}})
	if err != nil {
		t.Fatal(err)
	}
	if last := state.(pace.Pace).Last; len(last) != 1 {
		t.Errorf("it remembers %v", last)
	}
}
