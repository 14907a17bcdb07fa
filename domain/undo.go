package domain

import (
	"reflect"
	"slices"
	"strings"
)

// State is what a history adds up to. Fields are what a person would recognise
// it by: cards, audit details and diffs show these and nothing else. A thing
// that does not exist (yet, or any more) has none.
type State interface{ Fields() []Field }

// TakeBack decides how to undo the events at the given places of one stream's
// history: the reverse of each, newest first. Places count from 0, rising.
//
// It refuses when something done since would be lost. An event still stands if
// saying it again changes nothing now and at every version since, the undone
// group's own steps excepted: so a title edit can be undone after the body
// changed, not after the title did, nor after somebody chose the same title
// again on purpose.
func TakeBack[S State, E Event[S, E]](history []E, places ...int) ([]E, error) {
	var zero S
	rest := slices.Clone(history) // the history without what is already taken back
	now := Fold(zero, history...)
	var back []E
	for _, at := range slices.Backward(places) {
		done := rest[at]
		before := Fold(zero, rest[:at]...)
		if lost := overtaken(done, before, rest[at+1:]); len(lost) > 0 {
			return nil, Refuse("undo-conflict", "%s changed again since, so taking this back would lose later work. Change it by hand instead.", list(lost))
		}
		reverse := done.Reverse(before)
		if any(reverse) == nil {
			return nil, Refuse("final", "This cannot be taken back.")
		}
		now = reverse.Evolve(now)
		back = append(back, reverse)
		rest = slices.Delete(rest, at, at+1)
	}
	return back, nil
}

// overtaken names the fields of done that no longer stood at some version
// after it.
func overtaken[S State, E Event[S, E]](done E, before S, since []E) []string {
	s := done.Evolve(before)
	for _, e := range since {
		s = e.Evolve(s)
		again := done.Evolve(s)
		if reflect.DeepEqual(again, s) {
			continue
		}
		var names []string
		for _, l := range Diff(s.Fields(), again.Fields()) {
			names = append(names, l.Field)
		}
		if names == nil {
			names = []string{"it"}
		}
		return names
	}
	return nil
}

func list(names []string) string {
	text := strings.Join(names, ", ")
	if strings.Contains(names[0], "_") {
		return text // an id is copied as it stands
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
