package commands_test

import (
	"testing"
	"time"

	"assent/commands"
	"assent/domain/policy"
	"assent/domain/proposal"
)

// reminders is how often a proposal was brought up again.
func (w *town) reminders() (n int) {
	w.t.Helper()
	all, err := w.log.ReadAll(w.t.Context(), 0, 1e6)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range all {
		if r.Envelope.Name == "proposal.remind" {
			n++
		}
	}
	return n
}

func TestWhatStillWaitsIsBroughtUpOnceBeforeItsEnd(t *testing.T) {
	for name, newTown := range map[string]func(*testing.T) *town{"atomic": func(t *testing.T) *town { return newTownOn(t) }, "weak": newTown} {
		t.Run(name, func(t *testing.T) {
			w := newTown(t)
			open := heldID(t, w.act(policy.Manual, "article.create", args{"site": "main", "slug": "open", "title": "Open", "body": ""}))
			over := heldID(t, w.act(policy.Manual, "article.create", args{"site": "main", "slug": "over", "title": "Over", "body": ""}))
			if out, err := w.desk.Decline(t.Context(), ana, over, "not-now", ""); err != nil || out.Outcome != commands.Done {
				t.Fatalf("%+v, %v", out, err)
			}
			remind := func(want int, when string) {
				t.Helper()
				if err := w.road.RemindOnce(t.Context()); err != nil {
					t.Fatal(err)
				}
				if n := w.reminders(); n != want {
					t.Errorf("%s: brought up %d times, want %d", when, n, want)
				}
			}
			remind(0, "just filed")
			w.later(proposal.Lifetime - proposal.Notice - time.Minute)
			remind(0, "a minute early")
			w.later(2 * time.Minute)
			remind(1, "its last day")
			w.restart()
			remind(1, "another process")
			if out, err := w.desk.Approve(t.Context(), ana, open, ""); err != nil || says(out) != "done" {
				t.Errorf("a reminder is no answer: %+v, %v", out, err)
			}
		})
	}
}
