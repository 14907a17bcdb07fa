package commands_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assent/commands"
	"assent/commands/eventlog/memory"
	"assent/domain"
	"assent/domain/agent"
	"assent/domain/catalogue"
	"assent/domain/person"
	"assent/domain/policy"
	"assent/domain/workspace"
)

// lives is an agent's life on a log, an event a minute, with the moments at
// which something else held.
func lives(t *testing.T, until int) (*commands.Records, []time.Time) {
	t.Helper()
	words, registry, err := joined()
	if err != nil {
		t.Fatal(err)
	}
	start := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	n := 0
	log := memory.New(func() time.Time { return start.Add(time.Duration(n) * time.Minute) })
	versions := map[domain.Stream]domain.Version{}
	var times []time.Time
	for _, e := range []struct {
		category, id string
		event        any
	}{
		{"person", "person_ana", person.Seated{Role: policy.Owner}},
		{"agent", "agent_1", agent.Created{Person: "person_ana", Mode: policy.Manual, Scopes: []string{"content:read", "publish"}}},
		{"agent", "agent_1", agent.Minted{Key: "key_1", Scopes: []string{"publish"}, Expires: start.Add(9 * time.Minute)}},
		{"agent", "agent_1", agent.Elevated{ID: "act_e", Mode: policy.Auto, Until: start.Add(6 * time.Minute), By: "person_ana"}},
		{"agent", "agent_1", agent.StandingMade{ID: "act_s", Action: "article.update", Key: "key_1", Site: "main", By: "person_ana", Until: start.Add(time.Hour)}},
		{"agent", "agent_1", agent.Updated{Paused: new(true)}},
		{"workspace", workspace.ID, workspace.Updated{RulesChange: policy.RulesChange{Paused: new(true)}}},
		{"agent", "agent_1", agent.Revoked{Key: "key_1"}},
		{"person", "person_ana", person.Unseated{}},
	}[:until] {
		n++
		s := domain.Stream{Category: e.category, Workspace: ws, ID: e.id}
		word, revision, data, err := words.Spell(e.event)
		if err != nil {
			t.Fatal(err)
		}
		fresh := domain.Fresh{ID: domain.Derive("evt", s.String(), word, string(data)), Word: word, Revision: revision, Data: data, Envelope: domain.Envelope{Action: "act_1", Name: "test", Principal: domain.Principal{Kind: domain.KindSystem, ID: "test"}}}
		receipt, err := log.Append(t.Context(), commands.Write{Stream: s, Expect: versions[s], Events: []domain.Fresh{fresh}})
		if err != nil {
			t.Fatal(err)
		}
		versions[s]++
		times = append(times, receipt.At)
	}
	road := commands.NewRoad(commands.Parts{Log: log, Words: words, Kinds: catalogue.Kinds(), Registry: registry, Clock: time.Now})
	return commands.NewRecords(road, nil), times
}

func TestAnAgentsAuthorityIsWhatTheLogUpToThenGives(t *testing.T) {
	const events = 9
	whole, times := lives(t, events)
	var modes []policy.Mode
	for n := 1; n <= events; n++ {
		prefix, _ := lives(t, n)
		end := commands.Moment{Position: domain.Position(n)}
		want, missing := prefix.Authority(t.Context(), ws, "agent_1", end)
		if n == 1 {
			if !errors.Is(missing, domain.Refuse("not-found", "")) {
				t.Errorf("before it was made: %+v %v", want, missing)
			}
			continue
		}
		if missing != nil {
			t.Fatal(missing)
		}
		modes = append(modes, want.Mode)
		for name, m := range map[string]commands.Moment{"position": end, "time": {Time: times[n-1]}} {
			got, err := whole.Authority(t.Context(), ws, "agent_1", m)
			if d := cmp.Diff(want, got); d != "" || err != nil {
				t.Errorf("by %s, after %d events: %s %v", name, n, d, err)
			}
		}
	}
	if d := cmp.Diff([]policy.Mode{"manual", "manual", "auto", "auto", "manual", "manual", "manual", "manual"}, modes); d != "" {
		t.Errorf("what was lent: %s", d)
	}
}

func TestAnAgentsAuthoritySaysWhatHeldThen(t *testing.T) {
	r, times := lives(t, 9)
	at := func(n int) commands.Authority {
		v, err := r.Authority(t.Context(), ws, "agent_1", commands.Moment{Position: domain.Position(n)})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	want := commands.Authority{
		Agent: "agent_1", At: times[4], Person: "person_ana", Role: policy.Owner, Mode: policy.Auto, Own: policy.Manual, Scopes: []string{"content:read", "publish"},
		Keys:  []commands.KeyThen{{ID: "key_1", Works: true, Mode: policy.Auto, Scopes: []string{"publish"}, Expires: times[8]}},
		Lent:  []commands.Elevated{{ID: "act_e", Mode: policy.Auto, By: "person_ana", Until: times[5]}},
		Ahead: []commands.YesThen{{ID: "act_s", Action: "article.update", Key: "key_1", Site: "main", By: "person_ana", Until: times[0].Add(59 * time.Minute)}},
	}
	if d := cmp.Diff(want, at(5)); d != "" {
		t.Error(d)
	}
	if v := at(6); v.Paused != "agent" || len(v.Lent) != 0 || v.Mode != policy.Manual {
		t.Errorf("paused, and no longer lent: %+v", v)
	}
	if v := at(8); v.Paused != "workspace" || v.Keys[0].Works || !v.Keys[0].Revoked {
		t.Errorf("everything paused, and the key revoked: %+v", v)
	}
	if v := at(9); v.Role != "" {
		t.Errorf("its person lost their seat: %+v", v)
	}
	for _, id := range []string{"agent_2", "", "../x"} {
		if _, err := r.Authority(t.Context(), ws, id, commands.Moment{Position: 9}); !errors.Is(err, domain.Refuse("not-found", "")) {
			t.Errorf("%q: %v", id, err)
		}
	}
}
