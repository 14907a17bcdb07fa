package commands

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"assent/domain"
	"assent/domain/action"
)

// maxCard is how much of a card is stored with a proposal or shown in an
// outcome; the rest is folded again from the named versions.
const maxCard = 16 << 10

// changes is what a person would see change.
func (r *Road) changes(t *trip) []domain.Change {
	if len(t.events) == 0 {
		return nil
	}
	if shown, ok := t.action.Show(t.thing.state, t.after, t.cmd.Args, t.known); ok {
		return shown
	}
	return []domain.Change{changeOf(t.thing, t.after, len(t.events))}
}

// changeOf is what happens to one thing.
func changeOf(before thing, after domain.State, events int) domain.Change {
	was, is := before.state.Fields(), after.Fields()
	c := domain.Change{
		Kind:    before.stream.Category,
		ID:      before.stream.ID,
		Version: before.version + domain.Version(events),
		Was:     before.version,
		Change:  domain.Edited,
		Fields:  domain.Diff(was, is),
	}
	switch {
	case len(was) == 0:
		c.Change = domain.Added
	case len(is) == 0:
		c.Change = domain.Removed
	}
	for _, s := range []domain.State{before.state, after} {
		if titled, ok := s.(action.Titled); ok && titled.Called() != "" {
			c.Title = titled.Called()
			break
		}
	}
	return c
}

// linesOf flattens changes into lines; with several things, each line says of
// which.
func linesOf(changes []domain.Change) []domain.Line {
	var lines []domain.Line
	for _, c := range changes {
		if len(c.Fields) == 0 {
			lines = append(lines, domain.Line{Of: c.ID, Field: c.Change})
		}
		for _, l := range c.Fields {
			if len(changes) > 1 {
				l.Of = c.ID
			}
			lines = append(lines, l)
		}
	}
	return lines
}

// clipLines keeps an outcome small: long texts lose their ends, long lists
// their tails, and both say so.
func clipLines(lines []domain.Line) []domain.Line {
	const each, most = 2000, 100
	var clipped []domain.Line
	for i, l := range lines {
		if i == most {
			return append(clipped, domain.Line{Field: fmt.Sprintf("and %d more", len(lines)-most)})
		}
		l.Before, l.After = clipValue(l.Before, each), clipValue(l.After, each)
		clipped = append(clipped, l)
	}
	return clipped
}

func clipValue(v any, most int) any {
	s, ok := v.(string)
	if !ok {
		text, err := json.Marshal(v)
		if err != nil || len(text) <= most {
			return v
		}
		s = string(text)
	}
	if len(s) <= most {
		return v
	}
	return strings.ToValidUTF8(s[:most], "") + fmt.Sprintf("… (%d bytes in all)", len(s))
}

// clipCard keeps what fits of a card.
func clipCard(changes []domain.Change) (kept []domain.Change, clipped bool) {
	left := maxCard
	for _, c := range changes {
		lines := make([]domain.Line, 0, len(c.Fields))
		for _, l := range c.Fields {
			before, after := clipValue(l.Before, 1500), clipValue(l.After, 1500)
			clipped = clipped || !sameText(before, l.Before) || !sameText(after, l.After)
			lines = append(lines, domain.Line{Of: l.Of, Field: l.Field, Before: before, After: after})
		}
		c.Fields = lines
		text, err := json.Marshal(c)
		if err != nil || len(text) > left {
			return kept, true
		}
		left -= len(text)
		kept = append(kept, c)
	}
	return kept, clipped
}

func sameText(a, b any) bool {
	s, ok := a.(string)
	t, ok2 := b.(string)
	return ok == ok2 && s == t
}

// cardDigest is what a yes is a yes to: the action, its target, its arguments
// and everything it would change. Version numbers are not part of it: a thing
// that moved on elsewhere still reads the same.
func cardDigest(a *action.Action, target domain.Stream, args json.RawMessage, changes []domain.Change) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n%s\n", a.Name, target, args)
	for _, c := range changes {
		lines, err := json.Marshal(c.Fields)
		if err != nil {
			lines = []byte(err.Error())
		}
		fmt.Fprintf(h, "%s %s %s %s\n", c.Kind, c.ID, c.Change, lines)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// headline is a card in a line, in our words.
func headline(a *action.Action, target domain.Stream, changes []domain.Change) string {
	if len(changes) == 1 && changes[0].Title != "" {
		return fmt.Sprintf("%s: “%s”", a.Title, clipText(changes[0].Title, 120))
	}
	if len(changes) == 1 {
		return fmt.Sprintf("%s: %s", a.Title, target.ID)
	}
	return fmt.Sprintf("%s: %d changes on %s", a.Title, len(changes), target.ID)
}

func clipText(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
