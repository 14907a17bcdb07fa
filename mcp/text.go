package mcp

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"assent/commands"
	"assent/domain"
	"assent/domain/action"
	"assent/domain/vocab"
)

// teller says in plain sentences what came of one call, with every id, address
// and code that going on needs.
type teller struct {
	action    *action.Action
	url       string
	commandID string // that the caller gave
	b         strings.Builder
}

func (t *teller) line(format string, args ...any) {
	fmt.Fprintf(&t.b, format, args...)
	t.b.WriteByte('\n')
}

func (t *teller) text() string { return strings.TrimRight(t.b.String(), "\n") }

func (t *teller) outcome(out commands.Outcome) string {
	switch out.Outcome {
	case commands.Done:
		t.done(out)
	case commands.Idle:
		t.line("Nothing to do: it is already so (`%s`%s).", t.action.Tool(), t.at(out.Target))
		t.recorded(out)
	case commands.Waiting:
		t.waiting(out)
	case commands.Refused:
		t.refused(out)
	case commands.Rehearsed:
		t.rehearsed(out)
	default:
		t.unknown(out)
	}
	t.parts(out.Parts)
	return t.text()
}

func (t *teller) done(out commands.Outcome) {
	switch target := out.Target; {
	case target != nil && target.Kind == "live":
		t.line("Done (`%s`): the site %q now shows p%d, at %s/sites/%s/.", t.action.Tool(), target.ID, target.Version, t.url, target.ID)
	default:
		t.line("Done (`%s`)%s.", t.action.Tool(), t.at(target))
	}
	t.changes("Changed:", out.Changes)
	t.check(out.Verdict)
	if t.action.Class == action.Content {
		t.line("It is in the draft; the public sees it when it is published.")
	}
	if out.Undo != nil {
		t.line("A person can take it back until %s.", moment(out.Undo.Until))
	}
	t.recorded(out)
}

func (t *teller) waiting(out commands.Outcome) {
	held := heldOf(out.Proposal)
	if held.State != "" && held.State != string(commands.Waiting) {
		t.line("This was asked before, as proposal %s, and is now %s. `proposal_get` says more.", held.ID, held.State)
		t.recorded(out)
		return
	}
	if slices.ContainsFunc(out.Parts, func(p commands.Outcome) bool { return p.Outcome == commands.Done }) {
		t.line("Some of it waits for a person (`%s`): proposal %s. The rest is done.", t.action.Tool(), held.ID)
	} else {
		t.line("Waits for a person (`%s`): proposal %s. Nothing has changed yet.", t.action.Tool(), held.ID)
	}
	if reason := reasonOf(out.Verdict); reason != "" {
		t.line("%s (cause: `%s`)", reason, held.Cause)
	} else if held.Cause != "" {
		t.line("Cause: `%s`.", held.Cause)
	}
	t.changes("It would change:", out.Changes)
	t.check(out.Verdict)
	if held.Expires.IsZero() {
		t.line("A person decides at %s.", held.URL)
	} else {
		t.line("A person decides at %s, until %s.", held.URL, moment(held.Expires))
	}
	t.line("Tell your person and go on with something else; do not send it again. `proposal_get` says what became of it.")
	t.recorded(out)
}

// parts says of each of several calls what came of it.
func (t *teller) parts(list []commands.Outcome) {
	for i, p := range list {
		said := p.Outcome
		if p.Target != nil {
			said += t.at(p.Target)
		}
		if p.Refusal != nil {
			said += fmt.Sprintf(" (`%s`): %s", p.Refusal.Code, p.Refusal.Reason)
		}
		if held := heldOf(p.Proposal); held.ID != "" {
			said += fmt.Sprintf(", proposal %s at %s", held.ID, held.URL)
		}
		t.line("Part %d: %s", i+1, said)
	}
}

func (t *teller) refused(out commands.Outcome) {
	no := out.Refusal
	if no == nil {
		no = domain.Refuse("invalid", "It was refused.")
	}
	t.line("Refused (`%s`): %s", no.Code, no.Reason)
	if out.Target != nil {
		t.line("It is about %s.", strings.TrimPrefix(t.at(out.Target), ": "))
	}
	t.recorded(out)
}

func (t *teller) rehearsed(out commands.Outcome) {
	t.line("Rehearsed (`%s`): nothing was changed.", t.action.Tool())
	if len(out.Changes) == 0 {
		t.line("It would change nothing.")
	}
	t.changes("It would change:", out.Changes)
	t.check(out.Verdict)
	switch v := out.Verdict; {
	case out.Refusal != nil:
		t.line("Asked for in earnest it would be refused (`%s`): %s", out.Refusal.Code, out.Refusal.Reason)
	case v == nil:
	case v.Answer == domain.Propose:
		t.line("Asked for in earnest it would wait for a person: %s (cause: `%s`)", v.Reason, v.Cause)
	case v.Answer == domain.Act:
		t.line("Asked for in earnest it would happen at once.")
	}
}

func (t *teller) unknown(out commands.Outcome) {
	switch {
	case !t.action.Writes():
		t.line("There is no answer. Ask again; reading changes nothing.")
	case t.commandID != "":
		t.line("Whether it happened is not known. Ask again for exactly the same with the same `command_id` (%q): if it happened, you get the first answer, and it does not happen twice.", clip(t.commandID, 200))
	default:
		t.line("Whether it happened is not known, and no `command_id` was given to ask with. Read what it was about before you ask again, and pass a `command_id` then.")
	}
	t.recorded(out)
}

func (t *teller) recorded(out commands.Outcome) {
	switch {
	case out.Action != "" && out.Position != 0:
		t.line("Recorded as %s at position %d.", out.Action, out.Position)
	case out.Action != "":
		t.line("Recorded as %s.", out.Action)
	}
}

func (t *teller) at(target *commands.Target) string {
	if target == nil {
		return ""
	}
	return fmt.Sprintf(": %s %s at version %d", target.Kind, target.ID, target.Version)
}

func (t *teller) check(v *domain.Verdict) {
	if v == nil || v.AutoCheck == nil {
		return
	}
	c := v.AutoCheck
	t.line("Low-risk check: `%s` (changes: %d, most that go live by themselves: %d).", c.Code, c.Changes, c.Limit)
}

// How much of what changed a text tells: so many fields, and of each value so
// many bytes.
const (
	maxLines = 40
	maxQuote = 200
)

func (t *teller) changes(head string, lines []domain.Line) {
	if len(lines) == 0 {
		return
	}
	t.line("%s", head)
	for i, l := range lines {
		if i == maxLines {
			t.line("- and %d more", len(lines)-maxLines)
			return
		}
		field := l.Field
		if l.Of != "" {
			field = l.Of + ", " + field
		}
		t.line("- %s", changed(field, quote(l.Before), quote(l.After)))
	}
}

// changed is one field that differs, in one line. What is empty was or is not
// there.
func changed(field, before, after string) string {
	switch {
	case before == "":
		return field + ": " + after
	case after == "":
		return field + ": no longer " + before
	}
	return field + ": " + before + " → " + after
}

// quote is a value of a changed field.
func quote(v any) string {
	text, err := vocab.Text(v)
	if err != nil || v == nil {
		return ""
	}
	return short(text, maxQuote)
}

func reasonOf(v *domain.Verdict) string {
	if v == nil {
		return ""
	}
	return v.Reason
}

func heldOf(proposal any) commands.Held {
	switch p := proposal.(type) {
	case *commands.Held:
		if p != nil {
			return *p
		}
	case commands.Held:
		return p
	}
	return commands.Held{}
}

func moment(at time.Time) string { return at.UTC().Format("2006-01-02 15:04 UTC") }
