package commands_test

import (
	"testing"

	"assent/commands"
	"assent/commands/eventlog/memory"
	"assent/domain"
	"assent/domain/policy"
)

func TestAProposalWhoseCauseIsGoneIsWithdrawnByTheSystem(t *testing.T) {
	for name, options := range map[string][]memory.Option{"atomic": nil, "weak": {memory.Weak(), memory.Sparse()}} {
		t.Run(name, func(t *testing.T) {
			w := newTownOn(t, options...)
			for _, name := range []string{"gone", "same", "open"} {
				w.made(name)
			}
			ask := func(name, title string) string {
				return heldID(t, w.act(policy.Manual, "article.update", args{"article": "$" + name, "title": title}))
			}
			asked := map[string]string{"gone": ask("gone", "New"), "same": ask("same", "New"), "open": ask("open", "New")}
			if err := w.road.RemindOnce(t.Context()); err != nil {
				t.Fatal(err)
			}
			w.act(policy.Bypass, "article.remove", args{"article": "$gone"})
			w.act(policy.Bypass, "article.update", args{"article": "$same", "title": "New"})
			w.act(policy.Bypass, "article.update", args{"article": "$open", "summary": "Elsewhere"})
			for range 2 {
				if err := w.road.RemindOnce(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			for name, want := range map[string]string{"gone": "refused withdrawn", "same": "refused withdrawn", "open": "done"} {
				out, err := w.desk.Approve(t.Context(), ana, asked[name], "")
				if err != nil || says(out) != want {
					t.Errorf("%s: %s %+v, %v", name, says(out), out.Refusal, err)
				}
			}
			released := 0
			all, err := w.log.ReadAll(t.Context(), 0, 1e6)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range all {
				if r.Envelope.Name == "proposal.release" {
					released++
					if r.Envelope.Principal.Kind != domain.KindSystem {
						t.Errorf("released by %+v", r.Envelope.Principal)
					}
				}
			}
			if released != 2 {
				t.Errorf("%d were released", released)
			}
			if out := w.act(policy.Manual, "proposal.refile", args{"proposal": asked["same"]}); out.Outcome != commands.Idle {
				t.Errorf("%s %+v", says(out), out.Refusal)
			}
		})
	}
}
