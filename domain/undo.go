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

// Column is one field on its way back: what it was, what was set, what it is
// now. Clean says that what was set still stands, so that nobody's later work
// is lost.
type Column struct {
	Of     string `json:"of,omitempty"` // the thing, when an undo touches several
	Field  string `json:"field"`
	Before any    `json:"before,omitempty"`
	Set    any    `json:"set,omitempty"`
	Now    any    `json:"now,omitempty"`
	Clean  bool   `json:"clean"`
}

// Choice is what a person wants of single fields when something is taken back:
// keep leaves a field as it is now, take puts it back over later work.
type Choice struct {
	Keep []string `json:"keep,omitempty"`
	Take []string `json:"take,omitempty"`
}

// IsZero says that nothing was chosen.
func (c Choice) IsZero() bool { return len(c.Keep)+len(c.Take) == 0 }

// Way is how some events of a history are taken back.
type Way[E any] struct {
	Columns []Column     // every field they set, as a person compares it
	Open    []string     // the fields in conflict that nobody chose about
	Final   bool         // there is an event that nothing takes back
	Back    []Reverse[E] // newest first; all of it only if nothing is open or final
}

// Reverse is a fact that takes back what was done at a place of a history, or a
// part of it.
type Reverse[E any] struct {
	Place int
	Event E
}

// WayBack works out how to undo the events at the given places of one stream's
// history: the reverse of each, newest first. Places count from 0, rising.
//
// An event still stands if saying it again changes nothing now and at every
// version since, the undone group's own steps excepted: so a title edit can be
// undone after the body changed, not after the title did, nor after somebody
// chose the same title again on purpose. An event that sets several fields is
// judged field by field; what does not stand is in conflict and stays, unless
// the choice is to take it back nevertheless.
func WayBack[S State, E Event[S, E]](history []E, choice Choice, places ...int) Way[E] {
	states := make([]S, len(history)+1) // before each event, and at the end
	for i, e := range history {
		states[i+1] = e.Evolve(states[i])
	}
	w := way[S, E]{choice: choice, now: fieldsOf(states[len(history)]), seen: map[string]int{}, open: map[string]bool{}}
	for i := len(history) - 1; i >= 0 && len(places) > 0; i-- {
		if i != places[len(places)-1] {
			w.later = append(w.later, history[i])
			continue
		}
		places = places[:len(places)-1]
		w.take(i, history[i], states[i])
	}
	slices.Reverse(w.Columns) // as they were set
	for _, c := range w.Columns {
		if w.open[c.Field] {
			w.Open = append(w.Open, c.Field)
		}
	}
	return w.Way
}

// way is a way back as far as it was found, from the newest event on.
type way[S State, E Event[S, E]] struct {
	Way[E]
	choice Choice
	now    map[string]any
	later  []E            // that stay, newest first
	seen   map[string]int // which column a field has
	open   map[string]bool
}

// most is how many parts an event is split into: one that sets more fields is
// taken back as one or not at all.
const most = 500

// take judges one event, as a whole if it can, else part by part.
func (w *way[S, E]) take(place int, e E, before S) {
	set := setBy(e, before)
	whole := piece[E]{place, e, set, overtaken(e, before, w.later)}
	if len(whole.lost) == 0 && !slices.ContainsFunc(set, func(l Line) bool { return slices.Contains(w.choice.Keep, l.Field) }) {
		w.decide(whole, before)
		return
	}
	parts := apart(e, before)
	if len(parts) < 2 || len(parts) > most {
		w.decide(whole, before)
		return
	}
	for _, p := range slices.Backward(parts) {
		w.decide(piece[E]{place, p, setBy(p, before), overtaken(p, before, w.later)}, before)
	}
}

// piece is what is taken back as one: an event, or a part of it.
type piece[E any] struct {
	place int
	event E
	set   []Line
	lost  []string // fields that later work would be lost of
}

// decide takes a piece back or leaves it. What stays is later work for
// everything before it.
func (w *way[S, E]) decide(p piece[E], before S) {
	w.columns(p)
	var open []string
	for _, f := range p.lost {
		if !slices.Contains(w.choice.Take, f) {
			open = append(open, f)
		}
	}
	kept := slices.ContainsFunc(p.set, func(l Line) bool { return slices.Contains(w.choice.Keep, l.Field) }) ||
		slices.ContainsFunc(p.lost, func(f string) bool { return slices.Contains(w.choice.Keep, f) })
	switch back := p.event.Reverse(before); {
	case any(back) == nil:
		w.Final = true
	case !kept && len(open) == 0:
		w.Back = append(w.Back, Reverse[E]{p.place, back})
		return
	case !kept:
		for _, f := range open {
			w.open[f] = true
		}
	}
	w.later = append(w.later, p.event)
}

// columns notes the fields of a piece. The newest of the group says what was
// set, the oldest what was there before.
func (w *way[S, E]) columns(p piece[E]) {
	lines := p.set
	for _, f := range p.lost { // also what the piece only rests on
		if !slices.ContainsFunc(lines, func(l Line) bool { return l.Field == f }) {
			lines = append(lines[:len(lines):len(lines)], Line{Field: f})
		}
	}
	for _, l := range slices.Backward(lines) {
		i, known := w.seen[l.Field]
		if !known {
			i = len(w.Columns)
			w.seen[l.Field] = i
			w.Columns = append(w.Columns, Column{Field: l.Field, Set: l.After, Now: shown(w.now[l.Field]), Clean: true})
		}
		w.Columns[i].Before = l.Before
		w.Columns[i].Clean = w.Columns[i].Clean && !slices.Contains(p.lost, l.Field)
	}
}

// TakeBack decides how to undo the events at the given places, as WayBack does,
// when nobody is there to choose. It refuses when something done since would be
// lost, or when nothing takes one of them back.
func TakeBack[S State, E Event[S, E]](history []E, places ...int) ([]E, error) {
	w := WayBack[S](history, Choice{}, places...)
	if err := w.Refusal(); err != nil {
		return nil, err
	}
	back := make([]E, len(w.Back))
	for i, r := range w.Back {
		back[i] = r.Event
	}
	return back, nil
}

// Refusal is why this way cannot be gone; nil when it can.
func (w Way[E]) Refusal() error {
	switch {
	case w.Final:
		return Refuse("final", "This cannot be taken back.")
	case len(w.Open) > 0:
		return Refuse("undo-conflict", "%s changed again since, so taking this back would lose later work. Choose for each field what stays.", list(w.Open))
	}
	return nil
}

// setBy is what an event changed.
func setBy[S State, E Event[S, E]](e E, before S) []Line {
	return Diff(before.Fields(), e.Evolve(before).Fields())
}

func fieldsOf(s State) map[string]any {
	fields := map[string]any{}
	for _, f := range s.Fields() {
		fields[f.Name] = f.Value
	}
	return fields
}

// overtaken names the fields of done that no longer stood at some version
// after it. later is newest first.
func overtaken[S State, E Event[S, E]](done E, before S, later []E) []string {
	s := done.Evolve(before)
	var names []string
	for _, e := range slices.Backward(later) {
		s = e.Evolve(s)
		again := done.Evolve(s)
		if reflect.DeepEqual(again, s) {
			continue
		}
		lines := Diff(s.Fields(), again.Fields())
		if lines == nil {
			lines = []Line{{Field: "it"}}
		}
		for _, l := range lines {
			if !slices.Contains(names, l.Field) {
				names = append(names, l.Field)
			}
		}
	}
	return names
}

// apart splits an event into parts that can be taken back one by one: an event
// that says how, and one that is nothing but fields it may name or leave out.
// Said one after another they are the event; if they are not, it has none.
func apart[S State, E Event[S, E]](e E, before S) []E {
	var parts []E
	if s, ok := any(e).(interface{ Apart() []E }); ok {
		parts = s.Apart()
	} else if v := reflect.ValueOf(e); v.Kind() == reflect.Struct {
		for _, at := range named(v, nil) {
			one := reflect.New(v.Type()).Elem()
			one.FieldByIndex(at).Set(v.FieldByIndex(at))
			parts = append(parts, one.Interface().(E))
		}
	}
	if !reflect.DeepEqual(Fold(before, parts...), e.Evolve(before)) {
		return nil
	}
	return parts
}

// named are the fields that a struct names, those of embedded ones included;
// none when it has fields that cannot be left out.
func named(v reflect.Value, at []int) (fields [][]int) {
	for i := range v.NumField() {
		f, here := v.Type().Field(i), append(slices.Clone(at), i)
		switch {
		case !f.IsExported():
			return nil
		case f.Anonymous && f.Type.Kind() == reflect.Struct:
			fields = append(fields, named(v.Field(i), here)...)
		case f.Type.Kind() != reflect.Pointer:
			return nil
		case !v.Field(i).IsNil():
			fields = append(fields, here)
		}
	}
	return fields
}

func list(names []string) string {
	text := strings.Join(names, ", ")
	if strings.Contains(names[0], "_") {
		return text // an id is copied as it stands
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
