// Package policy answers whether a call happens, waits for a person, or is
// refused. It is a value: pure, asked in one place, replayable from the
// question that was recorded.
package policy

import "slices"

// Mode is how independently an agent works. A mode narrows, never grants.
type Mode string

// The modes, from the most careful on. Bypass exists only for local callers.
const (
	Plan   Mode = "plan"
	Manual Mode = "manual"
	Edits  Mode = "edits"
	Auto   Mode = "auto"
	Bypass Mode = "bypass"
)

// Modes are all modes, in the order of independence.
var Modes = []Mode{Plan, Manual, Edits, Auto, Bypass}

// Known says that there is such a mode.
func (m Mode) Known() bool { return slices.Contains(Modes, m) }

// Stricter is the more careful of two modes. An empty mode is no limit; one
// that is not known, which a newer program wrote, may be meant more carefully
// than any, and is kept.
func Stricter(a, b Mode) Mode {
	switch {
	case a == "":
		return b
	case b == "":
		return a
	case independence(a) < independence(b):
		return a
	}
	return b
}

func independence(m Mode) int { return slices.Index(Modes, m) }

// Effective is the mode that counts: what is not stored is edits, and bypass
// anywhere but at a local caller is edits too. What is not known is plan:
// nothing is changed on a guess.
func Effective(m Mode, local bool) Mode {
	switch {
	case m == "", m == Bypass && !local:
		return Edits
	case !m.Known():
		return Plan
	}
	return m
}
