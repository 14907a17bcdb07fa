package chain

import (
	"fmt"
	"iter"

	"assent/commands"
	"assent/domain"
)

// Broken says where a log stops being what was written. What came before
// Position is as it was; from there on nothing is certain.
type Broken struct {
	Position domain.Position
	What     string
}

// Error names the position and what is wrong there.
func (b *Broken) Error() string {
	if b.Position == 0 {
		return "the log is broken: " + b.What
	}
	return fmt.Sprintf("the log is broken at position %d: %s", b.Position, b.What)
}

// Walk checks the rows of a log one after another, from the first on. The zero
// Walk is before the first.
type Walk struct {
	head   commands.Head
	heads  map[string]domain.Version
	broken *Broken
}

// Next checks one more row: that its position and its version follow, that
// time does not run backwards and that its hash is what its bytes give. The
// error is a *Broken, and stays.
func (w *Walk) Next(r Row) error {
	if w.broken != nil {
		return w.broken
	}
	if w.heads == nil {
		w.heads = make(map[string]domain.Version)
	}
	name, want := r.Stream.String(), w.head.Position+1
	link := Link(w.head.Chain, r.Record, r.Text)
	switch {
	case r.Position != want:
		return w.fail(want, "the next event found is at position %d", r.Position)
	case r.Version != w.heads[name]+1:
		return w.fail(want, "%s goes from version %d to %d", name, w.heads[name], r.Version)
	case r.At.Before(w.head.At):
		return w.fail(want, "it was recorded before the event in front of it")
	case link != r.Link:
		return w.fail(want, "the bytes stored do not give the hash stored (%s, %s)", name, r.ID)
	}
	w.heads[name] = r.Version
	w.head = commands.Head{Position: r.Position, At: r.At, Chain: r.Link}
	return nil
}

// End checks that the log ends where its head says.
func (w *Walk) End(head commands.Head) error {
	switch {
	case w.broken != nil:
		return w.broken
	case head.Position != w.head.Position:
		return w.fail(min(head.Position, w.head.Position)+1, "the log's head is at %d, its last event at %d", head.Position, w.head.Position)
	case head.Chain != w.head.Chain:
		return w.fail(head.Position, "the log's head holds another hash than its last event")
	case !head.At.Equal(w.head.At):
		return w.fail(head.Position, "the log's head holds another time than its last event")
	}
	return nil
}

func (w *Walk) fail(at domain.Position, format string, args ...any) error {
	w.broken = &Broken{Position: at, What: fmt.Sprintf(format, args...)}
	return w.broken
}

// Verify walks all rows of a log and compares where they end with the head.
// The error is a *Broken that names the first wrong position, or whatever kept
// the rows from being read.
func Verify(rows iter.Seq2[Row, error], head commands.Head) error {
	var w Walk
	for r, err := range rows {
		if err != nil {
			return err
		}
		if err := w.Next(r); err != nil {
			return err
		}
	}
	return w.End(head)
}
