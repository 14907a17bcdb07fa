package commands_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"assent/commands"
	"assent/domain"
	"assent/domain/policy"
)

func calls(list ...args) []any {
	var all []any
	for _, a := range list {
		tool := a["tool"]
		delete(a, "tool")
		all = append(all, args{"tool": tool, "arguments": a})
	}
	return all
}

func creating(slug string) args {
	return args{"tool": "article_create", "site": "main", "slug": slug, "title": "Of " + slug, "body": ""}
}

// heldID is the proposal that a call became.
func heldID(t *testing.T, out commands.Outcome) string {
	t.Helper()
	held, ok := out.Proposal.(*commands.Held)
	if !ok {
		t.Fatalf("%+v", out)
	}
	return held.ID
}

func TestAllOrNothingIsNotPromisedWhereTheLogIsNotAtomic(t *testing.T) {
	w := newTown(t)
	out := w.act(policy.Bypass, "batch", args{"atomic": true, "calls": calls(creating("a"))})
	if says(out) != "refused unsupported" {
		t.Errorf("%+v", out)
	}
	if out := w.act(policy.Bypass, "batch", args{"calls": calls(creating("a"), creating("b"))}); says(out) != "done" {
		t.Errorf("%+v", out)
	}
}

func TestOneOfManyWhoDecideAtOnceWins(t *testing.T) {
	w := newTownOn(t)
	for round := range 20 {
		id := heldID(t, w.act(policy.Manual, "plan.file", args{"title": "Two", "calls": calls(creating(fmt.Sprint("a", round)), creating(fmt.Sprint("b", round)))}))
		bo := domain.SignedIn(ws, ana.ID(), "sess_2") // the same owner at another screen
		var mu sync.Mutex
		ended := map[string]int{}
		var all sync.WaitGroup
		for _, decide := range []func() (commands.Outcome, error){
			func() (commands.Outcome, error) { return w.desk.Approve(t.Context(), ana, id, "") },
			func() (commands.Outcome, error) { return w.desk.Approve(t.Context(), bo, id, "", 1) },
			func() (commands.Outcome, error) { return w.desk.Decline(t.Context(), bo, id, "wrong", "") },
			func() (commands.Outcome, error) {
				return w.road.Do(t.Context(), commands.Call{
					Workspace: ws, Action: "proposal.withdraw", Args: json.RawMessage(`{"proposal":"` + id + `"}`), Mode: policy.Manual,
					Principal: domain.Principal{Kind: domain.KindAgent, ID: "local:me"}, Via: domain.Via{Local: "me"},
				})
			},
		} {
			all.Go(func() {
				out, err := decide()
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				ended[says(out)]++
			})
		}
		all.Wait()
		if ended["done"] != 1 || ended["done"]+ended["refused already-decided"]+ended["refused withdrawn"] != 4 {
			t.Fatalf("of four, %v", ended)
		}
	}
}

func TestApprovedPartsAreCarriedOutOnceWhoeverIsKilled(t *testing.T) {
	for _, atomic := range []bool{true, false} {
		for at := range 6 {
			t.Run(fmt.Sprintf("atomic %v, after %d", atomic, at), func(t *testing.T) {
				w := newTownOn(t)
				w.made("menu")
				action := map[bool]string{true: "batch", false: "plan.file"}[atomic]
				asked := args{"calls": calls(creating("a"), args{"tool": "article_update", "article": "$part.1", "summary": "Of one"}, args{"tool": "article_update", "article": w.named["$menu"], "title": "New"})}
				if atomic {
					asked["atomic"] = true
				} else {
					asked["title"] = "Three"
				}
				id := heldID(t, w.act(policy.Manual, action, asked))
				appends := 0
				w.mu.Lock()
				w.between = func(int) error { // the process ends at one of the appends that follow
					if appends++; appends > at {
						return errKilled
					}
					return nil
				}
				w.mu.Unlock()
				_, _ = w.desk.Approve(t.Context(), ana, id, "")
				w.nobody()
				if at == 0 && appends == 0 {
					t.Fatal("nobody was killed")
				}
				w.restart()
				out, err := w.desk.Approve(t.Context(), ana, id, "")
				if err != nil {
					t.Fatal(err)
				}
				for range 2 { // whoever comes next, and next again
					if err := w.road.TendOnce(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				c := w.census()
				for act, n := range c.effects {
					if n != 1 {
						t.Errorf("%s was done %d times", act, n)
					}
				}
				found := 0
				for name, a := range c.articles {
					if a.Summary == "Of one" || name == w.named["$menu"] && a.Title == "New" {
						found++
					}
				}
				if found != 2 || len(c.articles) != 2 {
					t.Errorf("%s: %+v", says(out), c.articles)
				}
			})
		}
	}
}

func TestWhatChangedUnderOnePartStopsAllThatGoTogether(t *testing.T) {
	w := newTownOn(t)
	w.made("menu")
	id := heldID(t, w.act(policy.Manual, "batch", args{"atomic": true, "calls": calls(creating("a"), args{"tool": "article_update", "article": w.named["$menu"], "title": "New"})}))
	w.act(policy.Bypass, "article.update", args{"article": "$menu", "title": "Mine"})
	out, err := w.desk.Approve(t.Context(), ana, id, "")
	if err != nil || says(out) != "refused changed-since-shown" {
		t.Fatalf("%+v, %v", out, err)
	}
	moved := out.Proposal.(commands.Moved)
	if out, err = w.desk.Approve(t.Context(), ana, id, moved.Digest); err != nil || says(out) != "done" {
		t.Fatalf("%+v, %v", out, err)
	}
	if c := w.census(); c.articles[w.named["$menu"]].Title != "New" || len(c.articles) != 2 {
		t.Errorf("%+v", c.articles)
	}
}

func TestADraftWritesNothingBelow(t *testing.T) {
	w := newTownOn(t)
	w.made("menu")
	before, err := w.log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []args{
		{"atomic": true, "dry_run": true, "calls": calls(creating("a"), creating("b"))},
		{"atomic": true, "calls": calls(creating("a"), creating("a"))}, // refused: the address is taken by part 1
	} {
		out := w.act(policy.Bypass, "batch", a)
		if out.Outcome == commands.Done {
			t.Errorf("%+v", out)
		}
	}
	if c := w.census(); len(c.articles) != 1 {
		t.Errorf("%+v", c.articles)
	}
	after, err := w.log.Head(t.Context())
	if err != nil || after.Position > before.Position+2 { // a line of conduct each
		t.Errorf("from %d to %d, %v", before.Position, after.Position, err)
	}
}
