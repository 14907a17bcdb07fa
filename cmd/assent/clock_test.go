package main

import (
	"sync/atomic"
	"testing"
	"time"

	"assent/commands"
	"assent/domain/proposal"
)

// TestTimeGoesBy: an action can be taken back for 24 hours and not longer, a
// proposal that nobody decides expires, and a clock that jumps back revives
// neither.
func TestTimeGoesBy(t *testing.T) {
	var ahead atomic.Int64
	s := servingPlan(t, plan{dir: t.TempDir(), vault: cheap, notend: true, clock: func() time.Time {
		return time.Now().Add(time.Duration(ahead.Load()))
	}})
	p := inProcessOf(t, s)
	p.owner(t, "ana", "home")
	p.agent(t, "bot", "ana", "edits", nil)
	made := p.act(t, "bot", "article.create", map[string]any{"site": "main", "slug": "one", "title": "One", "body": ""})
	edit := p.act(t, "bot", "article.update", map[string]any{"article": made.Target.ID, "title": "Two"})
	held := p.act(t, "bot", "site.publish", map[string]any{"site": "main"})
	var waits commands.Held
	if err := respell(held.Proposal, &waits); err != nil {
		t.Fatal(err)
	}

	ahead.Store(int64(24*time.Hour - time.Minute))
	if out := p.undo(t, "ana", edit.Action); out.Outcome != commands.Done {
		t.Errorf("within 24 hours: %+v", out)
	}
	again := p.act(t, "bot", "article.update", map[string]any{"article": made.Target.ID, "title": "Three"})
	ahead.Add(int64(24*time.Hour + time.Minute))
	if out := p.undo(t, "ana", again.Action); out.Refusal == nil || out.Refusal.Code != "undo-window" {
		t.Errorf("after 24 hours: %+v", out)
	}

	ahead.Store(0)
	if out := p.act(t, "ana", "workspace.update", map[string]any{"undoHours": 72}); out.Outcome != commands.Done {
		t.Fatalf("%+v", out)
	}
	ahead.Store(int64(48 * time.Hour))
	if out := p.undo(t, "ana", again.Action); out.Outcome != commands.Done {
		t.Errorf("after 48 of 72 hours: %+v", out)
	}

	ahead.Store(int64(proposal.Lifetime + time.Minute))
	if out := p.approve(t, "ana", waits.ID, ""); out.Refusal == nil || out.Refusal.Code != "expired" {
		t.Errorf("after its time, before anybody tended: %+v", out)
	}
	if err := s.road.TendOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	ahead.Store(0)
	if out := p.approve(t, "ana", waits.ID, ""); out.Refusal == nil || out.Refusal.Code != "expired" {
		t.Errorf("with the clock put back: %+v", out)
	}
	if out := p.undo(t, "ana", again.Action); out.Refusal == nil || out.Refusal.Code != "undo-window" {
		t.Errorf("undo with the clock put back: %+v", out)
	}
	var row struct{ State string }
	p.must(t, "ana", "GET", "/proposals/"+waits.ID, nil, &row)
	if row.State != string(proposal.IsExpired) {
		t.Errorf("the proposal is %s", row.State)
	}
}
