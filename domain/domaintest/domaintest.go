// Package domaintest says how a kind's tests are written: decisions as
// given/when/then, and the laws that every event keeps.
package domaintest

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assent/domain"
	"assent/domain/action"
)

// Case is one decision: what had happened, what was asked, what follows. With
// neither Then nor Refused it was already so.
type Case[A any] struct {
	Given   []any
	When    A
	Known   action.Known
	Then    []any
	Refused string // the code of the no
}

// Run decides each case through the declared action, and holds every event it
// meets to the laws.
func Run[A action.Args](t *testing.T, a *action.Action, cases map[string]Case[A]) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			before, err := a.Kind.Fold(c.Given)
			if err != nil {
				t.Fatal(err)
			}
			events, err := a.Decide(before, c.When, c.Known)
			if code := codeOf(err); code != c.Refused {
				t.Fatalf("refused with %q (%v), want %q", code, err, c.Refused)
			}
			if err != nil {
				return
			}
			if diff := cmp.Diff(nilIfEmpty(c.Then), nilIfEmpty(events)); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			Laws(t, a.Kind, slices.Concat(c.Given, events))
		})
	}
}

func nilIfEmpty(events []any) []any {
	if len(events) == 0 {
		return nil
	}
	return append([]any{}, events...)
}

// Laws holds each event of a history to what the catalogue promises: written
// to the log and read again it is the same; said twice is said once; taken
// back, by events that went through the log as well, leads back to what people
// saw before.
func Laws(t *testing.T, kind action.Kind, history []any) {
	t.Helper()
	for i, event := range history {
		before := fold(t, kind, history[:i])
		once := fold(t, kind, history[:i+1])
		if diff := cmp.Diff(once, fold(t, kind, with(history[:i], respelt(t, event)))); diff != "" {
			t.Errorf("%T means something else when it is read again:\n%s", event, diff)
		}
		if diff := cmp.Diff(once, fold(t, kind, with(history[:i+1], event))); diff != "" {
			t.Errorf("%T said twice is not said once:\n%s", event, diff)
		}
		back, err := kind.TakeBack(history[:i+1], i)
		switch codeOf(err) {
		case "final":
			continue
		case "":
		default:
			t.Errorf("%T cannot be taken back at once: %v", event, err)
			continue
		}
		after := fold(t, kind, with(history[:i+1], respelt(t, back[0])))
		if diff := cmp.Diff(shown(before), shown(after)); diff != "" {
			t.Errorf("%T taken back does not lead back:\n%s", event, diff)
		}
	}
}

func with(history []any, event any) []any { return append(slices.Clone(history), event) }

// respelt is an event as the log gives it back.
func respelt(t *testing.T, event any) any {
	t.Helper()
	text, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	again := reflect.New(reflect.TypeOf(event))
	if err := json.Unmarshal(text, again.Interface()); err != nil {
		t.Fatal(err)
	}
	second, err := json.Marshal(again.Elem().Interface())
	if err != nil || string(second) != string(text) {
		t.Errorf("%T reads back as %s, not %s", event, second, text)
	}
	return again.Elem().Interface()
}

func fold(t *testing.T, kind action.Kind, history []any) domain.State {
	t.Helper()
	s, err := kind.Fold(history)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func shown(s domain.State) []domain.Line { return domain.Diff(nil, s.Fields()) }

func codeOf(err error) string {
	if err == nil {
		return ""
	}
	if r, ok := err.(*domain.Refusal); ok {
		return r.Code
	}
	return "fault: " + err.Error()
}

// Known makes what a decision is told of other things out of their histories.
func Known(t *testing.T, things map[action.Ref][]any, kinds ...action.Kind) action.Known {
	t.Helper()
	known := action.Known{}
	for ref, history := range things {
		for _, k := range kinds {
			if k.Category != ref.Category {
				continue
			}
			known[ref] = action.Thing{
				State:   fold(t, k, history),
				Version: domain.Version(len(history)),
				At:      func(v domain.Version) (domain.State, error) { return k.Fold(history[:v]) },
			}
		}
	}
	return known
}
