package commands_test

import (
	"testing"
	"time"

	"assent/commands"
	"assent/domain/policy"
)

// TestAnUndoIsKilledOrMet: an undo takes its address first, and is done once.
func TestAnUndoIsKilledOrMet(t *testing.T) {
	for at := range 3 {
		for _, late := range []bool{false, true} {
			w := newTown(t)
			w.made("soil")
			removed := w.act(policy.Bypass, "article.remove", args{"article": "$soil"})
			w.meet(at, func() error { return errKilled })
			undo := func() commands.Outcome {
				out, err := w.desk.Undo(t.Context(), ana, removed.Action, commands.Taking{})
				if err != nil {
					t.Fatal(err)
				}
				return out
			}
			if out := undo(); out.Outcome != commands.Unknown {
				t.Fatalf("killed after %d: %s", at, says(out))
			}
			w.restart()
			if late {
				w.later(2 * time.Minute)
			}
			rival := w.create("soil", "")
			again := undo()
			want := map[int][2]string{0: {"done", "refused taken"}, 1: {"refused taken", "done"}, 2: {"refused taken", "refused already-decided"}}[at]
			if at == 1 && late {
				want = [2]string{"done", "refused taken"}
			}
			if got := [2]string{says(rival), says(again)}; got != want {
				t.Errorf("after %d, late %v: %v, not %v", at, late, got, want)
			}
			if homeless, stale := w.sound(); len(homeless)+len(stale) > 0 {
				t.Errorf("after %d: %v, %v", at, homeless, stale)
			}
		}
	}
}

// TestAnUndoIsOvertakenInBetween: when the thing moves on after the address was
// taken, or the address that is let go is somebody else's by then, the undo is
// taken again and ends as it would have.
func TestAnUndoIsOvertakenInBetween(t *testing.T) {
	for name, rival := range map[string]func(w *town) commands.Outcome{
		"by an edit": func(w *town) commands.Outcome {
			return w.act(policy.Bypass, "article.update", args{"article": "$soil", "title": "Rival"})
		},
		"by a newcomer": func(w *town) commands.Outcome { return w.create("menu", "") },
	} {
		for at := asked; at < 4; at++ {
			w := newTown(t)
			w.made("soil")
			moved := w.act(policy.Bypass, "article.update", args{"article": "$soil", "slug": "menu"})
			w.meet(at, func() error {
				w.later(2 * time.Minute)
				w.elsewhere(func() commands.Outcome { return rival(w) })
				return nil
			})
			out, err := w.desk.Undo(t.Context(), ana, moved.Action, commands.Taking{})
			if err != nil || out.Outcome != commands.Done {
				t.Errorf("%s after %d: %+v, %v", name, at, out, err)
			}
			if homeless, stale := w.sound(); len(homeless)+len(stale) > 0 {
				t.Errorf("%s after %d: %v, %v", name, at, homeless, stale)
			}
		}
	}
}

// TestAnApprovalIsKilledAnywhere: what was approved is carried out once,
// whoever finishes it.
func TestAnApprovalIsKilledAnywhere(t *testing.T) {
	steps := []struct{ appended, streams int }{{0, 1}, {1, 2}, {2, 1}} // approved; the address and the article; settled
	for _, s := range steps {
		for at := range s.streams + 1 {
			w := newTown(t)
			held := w.act(policy.Manual, "article.create", args{"site": "main", "slug": "menu", "title": "Menu", "body": ""})
			id := held.Proposal.(*commands.Held).ID
			appends := -1
			w.mu.Lock()
			w.between = func(i int) error {
				if i == 0 {
					appends++
				}
				if appends == s.appended && i == at {
					w.nobody()
					return errKilled
				}
				return nil
			}
			w.mu.Unlock()
			if out, err := w.desk.Approve(t.Context(), ana, id, ""); err == nil && out.Outcome != commands.Unknown {
				t.Fatalf("killed at %d of %d: %+v", at, s.appended, out)
			}
			w.nobody()
			w.restart()
			if err := w.road.TendOnce(t.Context()); err != nil {
				t.Error(err)
			}
			if out, err := w.desk.Approve(t.Context(), ana, id, ""); err != nil {
				t.Error(err)
			} else if s.appended == 0 && at == 0 && out.Outcome != commands.Done {
				t.Errorf("nothing was approved, and now: %+v", out)
			}
			if homeless, stale := w.sound(); len(homeless)+len(stale) > 0 || len(w.census().articles) != 1 {
				t.Errorf("killed at %d of %d: %v, %v, %d articles", at, s.appended, homeless, stale, len(w.census().articles))
			}
		}
	}
}
