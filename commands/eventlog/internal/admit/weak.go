package admit

import (
	"errors"
	"fmt"

	"assent/commands"
	"assent/commands/eventlog/chain"
)

// Weakly decides what becomes of an append on a log that is not atomic, which
// looks at every expectation before it writes one stream after another. No
// answer: the writes it returns are still to be written, in this order; the
// others are checks that hold, or are there, and the row is the last event of
// those. The error is the view's.
func (a *Append) Weakly(v View) (left []Write, last chain.Row, answer *Answer, err error) {
	var amiss error // of the first write that cannot be
	missing := 0
	for _, w := range a.Writes {
		there, fault, err := w.Stands(v)
		switch {
		case err != nil:
			return nil, last, nil, err
		case errors.Is(fault, ErrReused):
			return nil, last, &Answer{Err: fault}, nil
		case fault != nil && amiss == nil:
			amiss = fault
		}
		switch {
		case there.Position > last.Position:
			last = there
		case there.Position == 0 && len(w.Rows) > 0:
			missing++
			left = append(left, w)
		}
	}
	switch {
	case last.Position > 0 && missing == 0:
		return nil, last, &Answer{Receipt: commands.Receipt{Position: last.Position, At: last.At}}, nil
	case last.Position > 0 && amiss != nil:
		return nil, last, &Answer{Err: Partly(amiss)}, nil
	case amiss != nil:
		return nil, last, &Answer{Err: amiss}, nil
	}
	return left, last, nil, nil
}

// Stands says how one write of an append stands: the last of its events if
// they are there; what is amiss if they can neither be there nor be written,
// which is a *commands.Conflict or wraps ErrReused; neither if the stream is
// where the write expects it. The error is the view's.
func (w Write) Stands(v View) (there chain.Row, amiss, err error) {
	actual, err := v.Version(w.Name)
	if err != nil || actual == w.Expect {
		return chain.Row{}, nil, err
	}
	found, alike := 0, 0
	if len(w.Rows) > 0 && actual > w.Expect {
		stored, err := v.Rows(w.Name, w.Expect, len(w.Rows))
		if err != nil {
			return chain.Row{}, nil, err
		}
		for i, r := range stored {
			if r.ID != w.Rows[i].ID {
				continue
			}
			found++
			if same(r, w.Rows[i]) {
				alike++
			}
			there = r
		}
	}
	switch {
	case found == 0:
		return chain.Row{}, &commands.Conflict{Stream: w.Stream, Expected: w.Expect, Actual: actual}, nil
	case alike < len(w.Rows):
		return chain.Row{}, fmt.Errorf("%w: %s holds %d of %d events, and %d as they are here", ErrReused, w.Name, found, len(w.Rows), alike), nil
	}
	return there, nil, nil
}

// Partly is the answer to an append of which something is in the log and the
// rest cannot be. It does not wrap why: a conflict would say that nothing was
// written.
func Partly(why error) error { return fmt.Errorf("%w: %v", commands.ErrPartly, why) }
