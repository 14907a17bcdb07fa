package agent_test

import (
	"testing"
	"time"

	"assent/domain/agent"
	"assent/domain/domaintest"
	"assent/domain/policy"
)

func TestPause(t *testing.T) {
	domaintest.Run(t, agent.Pause, map[string]domaintest.Case[agent.Which]{
		"one that works": {Given: []any{writer}, When: which("x"), Then: []any{agent.Updated{Paused: new(true)}}},
		"already so":     {Given: []any{writer, agent.Updated{Paused: new(true)}}, When: which("x")},
		"no such agent":  {When: which("x"), Refused: "not-found"},
	})
}

func TestNarrow(t *testing.T) {
	narrow := func(n agent.NarrowArgs) agent.NarrowArgs {
		n.Which, n.Signature = which("x"), signed
		return n
	}
	scopes := func(s ...string) *[]string { return &s }
	lent := agent.Elevated{ID: "act_0", Mode: policy.Auto, Until: noon.Add(time.Hour)}
	domaintest.Run(t, agent.Narrow, map[string]domaintest.Case[agent.NarrowArgs]{
		"to a stricter mode":           {Given: []any{writer}, When: narrow(agent.NarrowArgs{Mode: new("plan")}), Then: []any{agent.Updated{Mode: new(policy.Plan)}}},
		"to the mode it has":           {Given: []any{writer}, When: narrow(agent.NarrowArgs{Mode: new("edits")})},
		"to a freer mode":              {Given: []any{writer}, When: narrow(agent.NarrowArgs{Mode: new("auto")}), Refused: "person-only"},
		"what it was lent ends":        {Given: []any{writer, lent}, When: narrow(agent.NarrowArgs{Mode: new("edits")}), Then: []any{agent.ElevationEnded{ID: "act_0"}}},
		"to fewer scopes":              {Given: []any{writer}, When: narrow(agent.NarrowArgs{Scopes: scopes("content:read")}), Then: []any{agent.Updated{Scopes: scopes("content:read")}}},
		"to its own":                   {Given: []any{writer}, When: narrow(agent.NarrowArgs{Scopes: scopes("content:write:own")}), Then: []any{agent.Updated{Scopes: scopes("content:write:own")}}},
		"to none":                      {Given: []any{writer}, When: narrow(agent.NarrowArgs{Scopes: scopes()}), Then: []any{agent.Updated{Scopes: &[]string{}}}},
		"to others":                    {Given: []any{writer}, When: narrow(agent.NarrowArgs{Scopes: scopes("publish")}), Refused: "person-only"},
		"from its own to all":          {Given: []any{writer, agent.Updated{Scopes: scopes("content:write:own")}}, When: narrow(agent.NarrowArgs{Scopes: scopes("content:write")}), Refused: "person-only"},
		"to a site":                    {Given: []any{writer}, When: narrow(agent.NarrowArgs{Site: "main"}), Then: []any{agent.Updated{Site: new("main")}}},
		"to the site it is on":         {Given: []any{writer, agent.Updated{Site: new("main")}}, When: narrow(agent.NarrowArgs{Site: "main"})},
		"to another site":              {Given: []any{writer, agent.Updated{Site: new("main")}}, When: narrow(agent.NarrowArgs{Site: "other"}), Refused: "person-only"},
		"to a collection":              {Given: []any{writer}, When: narrow(agent.NarrowArgs{Collection: "news"}), Then: []any{agent.Confined{Collection: "news"}}},
		"to another collection":        {Given: []any{writer, agent.Confined{Collection: "news"}}, When: narrow(agent.NarrowArgs{Collection: "posts"}), Refused: "person-only"},
		"to what can be no collection": {Given: []any{writer}, When: narrow(agent.NarrowArgs{Collection: "../x"}), Refused: "invalid"},
		"to nothing new":               {Given: []any{writer}, When: narrow(agent.NarrowArgs{})},
		"no such agent":                {When: narrow(agent.NarrowArgs{Mode: new("plan")}), Refused: "not-found"},
	})
}

func TestAnAgentIsForOneCollection(t *testing.T) {
	domaintest.Run(t, agent.Create, map[string]domaintest.Case[agent.CreateArgs]{
		"from the start": {
			When: agent.CreateArgs{Person: "p", Scopes: []string{"publish:own"}, Collection: "news"},
			Then: []any{agent.Created{Person: "p", Mode: policy.Edits, Scopes: []string{"publish:own"}}, agent.Confined{Collection: "news"}},
		},
		"that can be none": {When: agent.CreateArgs{Person: "p", Collection: "No News"}, Refused: "invalid"},
	})
	domaintest.Run(t, agent.Update, map[string]domaintest.Case[agent.UpdateArgs]{
		"later":      {Given: []any{writer}, When: agent.UpdateArgs{Which: which("x"), Collection: new("news")}, Then: []any{agent.Confined{Collection: "news"}}},
		"no more":    {Given: []any{writer, agent.Confined{Collection: "news"}}, When: agent.UpdateArgs{Which: which("x"), Collection: new("")}, Then: []any{agent.Confined{}}},
		"already so": {Given: []any{writer, agent.Confined{Collection: "news"}}, When: agent.UpdateArgs{Which: which("x"), Collection: new("news")}},
		"and paused": {Given: []any{writer}, When: agent.UpdateArgs{Which: which("x"), Collection: new("news"), Paused: new(true)}, Then: []any{agent.Updated{Paused: new(true)}, agent.Confined{Collection: "news"}}},
	})
}

func TestAKeyWorksInOnePlace(t *testing.T) {
	mint := func(m agent.MintArgs) agent.MintArgs {
		m.Which, m.Key, m.Signature = which("x"), "key_1", signed
		return m
	}
	onMain := []any{writer, agent.Updated{Site: new("main")}, agent.Confined{Collection: "news"}}
	domaintest.Run(t, agent.Mint, map[string]domaintest.Case[agent.MintArgs]{
		"on a site": {
			Given: []any{writer}, When: mint(agent.MintArgs{Site: "main"}),
			Then: []any{agent.Minted{Key: "key_1"}, agent.KeyConfined{Key: "key_1", Bounds: agent.Bounds{Site: "main"}}},
		},
		"in a collection": {
			Given: []any{writer}, When: mint(agent.MintArgs{Collection: "news"}),
			Then: []any{agent.Minted{Key: "key_1"}, agent.KeyConfined{Key: "key_1", Bounds: agent.Bounds{Collection: "news"}}},
		},
		"on another site than its agent":    {Given: onMain, When: mint(agent.MintArgs{Site: "other"}), Refused: "scope"},
		"in another collection":             {Given: onMain, When: mint(agent.MintArgs{Collection: "posts"}), Refused: "scope"},
		"in what can be no collection":      {Given: []any{writer}, When: mint(agent.MintArgs{Collection: "No News"}), Refused: "invalid"},
		"for what the agent made":           {Given: []any{writer}, When: mint(agent.MintArgs{Scopes: []string{"content:write:own"}}), Then: []any{agent.Minted{Key: "key_1", Scopes: []string{"content:write:own"}}}},
		"for all, of an agent that has own": {Given: []any{writer, agent.Updated{Scopes: &[]string{"content:write:own"}}}, When: mint(agent.MintArgs{Scopes: []string{"content:write"}}), Refused: "scope"},
	})
	state, err := agent.Kind.Fold([]any{writer, agent.Minted{Key: "k"}, agent.KeyConfined{Key: "k", Bounds: agent.Bounds{Site: "main"}}, agent.Updated{Site: new("other")}})
	if err != nil {
		t.Fatal(err)
	}
	if _, scopes, ok := state.(agent.Agent).Allows("k", noon); !ok || len(scopes) != 0 {
		t.Errorf("on two sites at once it reaches %v (%v)", scopes, ok)
	}
}

func TestAKeyIsRotated(t *testing.T) {
	rotate := func(m agent.MintArgs) agent.MintArgs {
		m.Which, m.Key, m.Rotates, m.Signature = which("x"), "key_2", "key_1", signed
		return m
	}
	first := agent.Minted{Key: "key_1", Mode: policy.Plan, Scopes: []string{"content:read"}}
	confined := agent.KeyConfined{Key: "key_1", Bounds: agent.Bounds{Site: "main"}}
	next := agent.Minted{Key: "key_2", Mode: policy.Plan, Scopes: []string{"content:read"}}
	ending := func(hours int) agent.Ending {
		return agent.Ending{Key: "key_1", At: noon.Add(time.Duration(hours) * time.Hour), For: "key_2"}
	}
	given := []any{writer, first}
	domaintest.Run(t, agent.Mint, map[string]domaintest.Case[agent.MintArgs]{
		"as it was, within a day": {Given: given, When: rotate(agent.MintArgs{}), Then: []any{next, ending(24)}},
		"where it was": {
			Given: []any{writer, first, confined}, When: rotate(agent.MintArgs{}),
			Then: []any{next, agent.KeyConfined{Key: "key_2", Bounds: confined.Bounds}, ending(24)},
		},
		"at once":          {Given: given, When: rotate(agent.MintArgs{Overlap: new(0)}), Then: []any{next, ending(0)}},
		"within a week":    {Given: given, When: rotate(agent.MintArgs{Overlap: new(168)}), Then: []any{next, ending(168)}},
		"within longer":    {Given: given, When: rotate(agent.MintArgs{Overlap: new(169)}), Refused: "invalid"},
		"in the past":      {Given: given, When: rotate(agent.MintArgs{Overlap: new(-1)}), Refused: "invalid"},
		"one that is over": {Given: []any{writer, agent.Minted{Key: "key_1", Expires: noon}}, When: rotate(agent.MintArgs{}), Refused: "not-found"},
		"one revoked":      {Given: []any{writer, first, agent.Revoked{Key: "key_1"}}, When: rotate(agent.MintArgs{}), Refused: "not-found"},
		"none there is":    {Given: []any{writer}, When: rotate(agent.MintArgs{}), Refused: "not-found"},
		"hours for none":   {Given: given, When: agent.MintArgs{Which: which("x"), Key: "key_2", Overlap: new(1)}, Refused: "invalid"},
		"already so":       {Given: append(given[:2:2], next, ending(24)), When: rotate(agent.MintArgs{})},
	})
}

// Whichever comes first ends the key: its own end, that of the overlap, or
// somebody who revokes it.
func TestTheOldKeyEnds(t *testing.T) {
	hour := noon.Add(time.Hour)
	for name, c := range map[string]struct {
		given []any
		at    time.Time
		works bool
	}{
		"not before the overlap is over": {[]any{agent.Minted{Key: "k"}, agent.Ending{Key: "k", At: hour, For: "n"}}, hour.Add(-1), true},
		"when it is":                     {[]any{agent.Minted{Key: "k"}, agent.Ending{Key: "k", At: hour, For: "n"}}, hour, false},
		"at its own end":                 {[]any{agent.Minted{Key: "k", Expires: noon}, agent.Ending{Key: "k", At: hour, For: "n"}}, noon, false},
		"once revoked":                   {[]any{agent.Minted{Key: "k"}, agent.Ending{Key: "k", At: hour, For: "n"}, agent.Revoked{Key: "k"}}, noon, false},
		"though minted again":            {[]any{agent.Minted{Key: "k"}, agent.Ending{Key: "k", At: hour, For: "n"}, agent.Minted{Key: "k"}}, hour, false},
	} {
		history := append([]any{writer}, c.given...)
		domaintest.Laws(t, agent.Kind, history)
		state, err := agent.Kind.Fold(history)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, works := state.(agent.Agent).Allows("k", c.at); works != c.works {
			t.Errorf("%s: works is %v", name, works)
		}
	}
}

func TestAKeyIsBroughtUpOnceBeforeItEnds(t *testing.T) {
	end := noon.Add(agent.Notice)
	key := agent.Minted{Key: "k", Expires: end}
	for name, c := range map[string]struct {
		given []any
		at    time.Time
		want  int
	}{
		"not yet":               {[]any{key}, noon.Add(-1), 0},
		"a week before":         {[]any{key}, noon, 1},
		"shortly before":        {[]any{key}, end.Add(-1), 1},
		"not when it is over":   {[]any{key}, end, 0},
		"once":                  {[]any{key, agent.Reminded{Key: "k", Ends: end}}, end.Add(-1), 0},
		"not one without end":   {[]any{agent.Minted{Key: "k"}}, noon, 0},
		"not one revoked":       {[]any{key, agent.Revoked{Key: "k"}}, noon, 0},
		"not one with a next":   {[]any{key, agent.Ending{Key: "k", At: end, For: "n"}}, noon, 0},
		"each that ends by now": {[]any{key, agent.Minted{Key: "l", Expires: end}, agent.Minted{Key: "m", Expires: end.Add(1)}}, noon, 2},
	} {
		history := append([]any{writer}, c.given...)
		domaintest.Laws(t, agent.Kind, history)
		state, err := agent.Kind.Fold(history)
		if err != nil {
			t.Fatal(err)
		}
		if got := agent.Remind(state.(agent.Agent), c.at); len(got) != c.want {
			t.Errorf("%s: brought up %v", name, got)
		}
	}
}
