package agent_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"assent/domain"
	"assent/domain/agent"
	"assent/domain/domaintest"
	"assent/domain/policy"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

var writer = agent.Created{Person: "person_1", Mode: policy.Edits, Scopes: []string{"content:read", "content:write"}}

func which(id string) agent.Which { return agent.Which{Agent: id} }

func TestCreate(t *testing.T) {
	domaintest.Run(t, agent.Create, map[string]domaintest.Case[agent.CreateArgs]{
		"with what is usual": {
			When: agent.CreateArgs{Person: "person_1"},
			Then: []any{agent.Created{Person: "person_1", Mode: policy.Edits, Scopes: policy.DefaultScopes}},
		},
		"with what is named": {
			When: agent.CreateArgs{Person: "person_1", Mode: "auto", Scopes: []string{"publish"}, Site: "main", Confirm: true},
			Then: []any{agent.Created{Person: "person_1", Mode: policy.Auto, Scopes: []string{"publish"}, Site: "main", Confirm: true}},
		},
		"that reaches nothing": {
			When: agent.CreateArgs{Person: "person_1", Scopes: []string{}},
			Then: []any{agent.Created{Person: "person_1", Mode: policy.Edits, Scopes: []string{}}},
		},
		"that bypasses":           {When: agent.CreateArgs{Person: "person_1", Mode: "bypass"}, Refused: "mode"},
		"that reaches the unreal": {When: agent.CreateArgs{Person: "person_1", Scopes: []string{"everything"}}, Refused: "invalid"},
		"that manages agents":     {When: agent.CreateArgs{Person: "person_1", Scopes: []string{"agents:manage"}}, Refused: "invalid"},
	})
}

func TestUpdate(t *testing.T) {
	domaintest.Run(t, agent.Update, map[string]domaintest.Case[agent.UpdateArgs]{
		"pauses":                  {Given: []any{writer}, When: agent.UpdateArgs{Which: which("x"), Paused: new(true)}, Then: []any{agent.Updated{Paused: new(true)}}},
		"another mode":            {Given: []any{writer}, When: agent.UpdateArgs{Which: which("x"), Mode: new("plan")}, Then: []any{agent.Updated{Mode: new(policy.Plan)}}},
		"takes all it reaches":    {Given: []any{writer}, When: agent.UpdateArgs{Which: which("x"), Scopes: &[]string{}}, Then: []any{agent.Updated{Scopes: &[]string{}}}},
		"already so":              {Given: []any{writer}, When: agent.UpdateArgs{Which: which("x"), Mode: new("edits"), Paused: new(false)}},
		"to bypass":               {Given: []any{writer}, When: agent.UpdateArgs{Which: which("x"), Mode: new("bypass")}, Refused: "mode"},
		"that reaches the unreal": {Given: []any{writer}, When: agent.UpdateArgs{Which: which("x"), Scopes: &[]string{"*"}}, Refused: "invalid"},
		"no such agent":           {When: agent.UpdateArgs{Which: which("x"), Paused: new(true)}, Refused: "not-found"},
	})
}

func TestMint(t *testing.T) {
	mint := func(m agent.MintArgs) agent.MintArgs {
		m.Which, m.Key = which("x"), "key_1"
		return m
	}
	domaintest.Run(t, agent.Mint, map[string]domaintest.Case[agent.MintArgs]{
		"a key as wide as the agent": {Given: []any{writer}, When: mint(agent.MintArgs{}), Then: []any{agent.Minted{Key: "key_1"}}},
		"a narrower key": {
			Given: []any{writer},
			When:  mint(agent.MintArgs{Mode: "plan", Scopes: []string{"content:read"}, Expires: "2026-12-31T01:00:00+01:00"}),
			Then:  []any{agent.Minted{Key: "key_1", Mode: policy.Plan, Scopes: []string{"content:read"}, Expires: time.Date(2026, 12, 31, 0, 0, 0, 0, time.UTC)}},
		},
		"a key for nothing yet": {
			Given: []any{writer}, When: mint(agent.MintArgs{Scopes: []string{}}),
			Then: []any{agent.Minted{Key: "key_1", Scopes: []string{}}},
		},
		"already so":                   {Given: []any{writer, agent.Minted{Key: "key_1"}}, When: mint(agent.MintArgs{})},
		"never again once revoked":     {Given: []any{writer, agent.Minted{Key: "key_1"}, agent.Revoked{Key: "key_1"}}, When: mint(agent.MintArgs{})},
		"wider than the agent":         {Given: []any{writer}, When: mint(agent.MintArgs{Scopes: []string{"publish"}}), Refused: "scope"},
		"that bypasses":                {Given: []any{writer}, When: mint(agent.MintArgs{Mode: "bypass"}), Refused: "mode"},
		"until a day that is none":     {Given: []any{writer}, When: mint(agent.MintArgs{Expires: "tomorrow"}), Refused: "invalid"},
		"until the beginning of time":  {Given: []any{writer}, When: mint(agent.MintArgs{Expires: "0001-01-01T00:00:00Z"}), Refused: "invalid"},
		"until after the end of time":  {Given: []any{writer}, When: mint(agent.MintArgs{Expires: "9999-12-31T23:59:59-12:00"}), Refused: "invalid"},
		"until before the log's years": {Given: []any{writer}, When: mint(agent.MintArgs{Expires: "0000-01-01T00:00:00+12:00"}), Refused: "invalid"},
		"no such agent":                {When: mint(agent.MintArgs{}), Refused: "not-found"},
	})
}

func TestRevoke(t *testing.T) {
	revoke := agent.RevokeArgs{Which: which("x"), Key: "key_1"}
	domaintest.Run(t, agent.Revoke, map[string]domaintest.Case[agent.RevokeArgs]{
		"ends the key":  {Given: []any{writer, agent.Minted{Key: "key_1"}}, When: revoke, Then: []any{agent.Revoked{Key: "key_1"}}},
		"already so":    {Given: []any{writer, agent.Minted{Key: "key_1"}, agent.Revoked{Key: "key_1"}}, When: revoke},
		"no such key":   {Given: []any{writer}, When: revoke, Refused: "not-found"},
		"no such agent": {When: revoke, Refused: "not-found"},
	})
}

func TestAllows(t *testing.T) {
	read, both := []string{"content:read"}, []string{"content:read", "content:write"}
	hour := time.Hour
	tests := map[string]struct {
		given  []any
		at     time.Time
		mode   policy.Mode
		scopes []string
		no     bool
	}{
		"all of the agent's":                    {[]any{writer, agent.Minted{Key: "k"}}, noon, policy.Edits, both, false},
		"the key's mode where it is stricter":   {[]any{writer, agent.Minted{Key: "k", Mode: policy.Plan}}, noon, policy.Plan, both, false},
		"the agent's mode where it is stricter": {[]any{writer, agent.Minted{Key: "k", Mode: policy.Auto}}, noon, policy.Edits, both, false},
		"narrowed":                              {[]any{writer, agent.Minted{Key: "k", Scopes: read}}, noon, policy.Edits, read, false},
		"narrowed to nothing":                   {[]any{writer, agent.Minted{Key: "k", Scopes: []string{}}}, noon, policy.Edits, []string{}, false},
		"no more than the agent has by now":     {[]any{writer, agent.Minted{Key: "k", Scopes: both}, agent.Updated{Scopes: &read}}, noon, policy.Edits, read, false},
		"nothing when the agent has nothing":    {[]any{writer, agent.Minted{Key: "k"}, agent.Updated{Scopes: &[]string{}}}, noon, policy.Edits, []string{}, false},
		"before its end":                        {[]any{writer, agent.Minted{Key: "k", Expires: noon}}, noon.Add(-1), policy.Edits, both, false},
		"not at its end":                        {[]any{writer, agent.Minted{Key: "k", Expires: noon}}, noon, "", nil, true},
		"not after its end":                     {[]any{writer, agent.Minted{Key: "k", Expires: noon}}, noon.Add(hour), "", nil, true},
		"not once revoked":                      {[]any{writer, agent.Minted{Key: "k"}, agent.Revoked{Key: "k"}}, noon, "", nil, true},
		"not though minted again":               {[]any{writer, agent.Minted{Key: "k"}, agent.Revoked{Key: "k"}, agent.Minted{Key: "k"}}, noon, "", nil, true},
		"not another key":                       {[]any{writer, agent.Minted{Key: "other"}}, noon, "", nil, true},
		"not without a key":                     {[]any{writer}, noon, "", nil, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			domaintest.Laws(t, agent.Kind, tt.given)
			state, err := agent.Kind.Fold(tt.given)
			if err != nil {
				t.Fatal(err)
			}
			mode, scopes, ok := state.(agent.Agent).Allows("k", tt.at)
			if ok == tt.no || mode != tt.mode {
				t.Errorf("works: %v, in mode %q", ok, mode)
			}
			if diff := cmp.Diff(tt.scopes, scopes); diff != "" {
				t.Errorf("reaches (-want +got):\n%s", diff)
			}
		})
	}
}

// Whatever is minted and changed in whatever order, a key reaches nothing the
// agent does not, works in no freer mode, and never bypasses.
func TestAKeyIsNeverWiderThanItsAgent(t *testing.T) {
	some := rapid.SliceOfN(rapid.SampledFrom(policy.Scopes), 0, 5)
	keys, places := rapid.SampledFrom([]string{"k", "l", ""}), rapid.SampledFrom([]string{"", "", "one", "two"})
	modes := rapid.SampledFrom([]string{"", "plan", "manual", "edits", "auto", "bypass"})
	rapid.Check(t, func(t *rapid.T) {
		var history []any
		say := func(events []any, err error) {
			if err == nil {
				history = append(history, events...)
			}
		}
		state := func() domain.State {
			s, err := agent.Kind.Fold(history)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		say(agent.Create.Decide(state(), agent.CreateArgs{Person: "p", Mode: modes.Draw(t, "mode"), Scopes: some.Draw(t, "scopes")}, nil))
		for range rapid.IntRange(0, 6).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "mints") {
				say(agent.Mint.Decide(state(), agent.MintArgs{
					Key: keys.Draw(t, "key"), Mode: modes.Draw(t, "key mode"), Scopes: some.Draw(t, "key scopes"), Site: places.Draw(t, "key site"), Collection: places.Draw(t, "key collection"),
					Rotates: keys.Draw(t, "in the place of"), Signature: agent.Signature{Now: noon},
				}, nil))
			} else {
				say(agent.Update.Decide(state(), agent.UpdateArgs{Mode: new(modes.Draw(t, "new mode")), Scopes: new(some.Draw(t, "new scopes")), Site: new(places.Draw(t, "site")), Collection: new(places.Draw(t, "collection"))}, nil))
			}
		}
		a := state().(agent.Agent)
		mode, scopes, ok := a.Allows("k", noon)
		if !ok {
			return
		}
		for _, s := range scopes {
			if need, own := strings.CutSuffix(s, policy.Own); !policy.Reaches(a.Scopes, need, own) {
				t.Fatalf("the key reaches %s, the agent does not", s)
			}
		}
		if at, somewhere := a.Bounds("k"); len(scopes) > 0 && (!somewhere || a.Site != "" && at.Site != a.Site || a.Collection != "" && at.Collection != a.Collection) {
			t.Fatalf("the key works at %+v (%v), the agent on %q in %q", at, somewhere, a.Site, a.Collection)
		}
		if policy.Stricter(mode, a.Mode) != mode || mode == policy.Bypass {
			t.Fatalf("the key works in mode %s, the agent in %s", mode, a.Mode)
		}
	})
}

func TestWhoMayActIsNeverUndoneByTheWay(t *testing.T) {
	history := []any{writer, agent.Updated{Paused: new(true)}, agent.Minted{Key: "k"}, agent.Revoked{Key: "k"}}
	for i := range history {
		if back, err := agent.Kind.TakeBack(history[:i+1], i); err == nil {
			t.Errorf("%T is taken back by %v", history[i], back)
		}
	}
}
