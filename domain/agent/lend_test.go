package agent_test

import (
	"testing"
	"time"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/agent"
	"assent/domain/domaintest"
	"assent/domain/policy"
)

var (
	careful = agent.Created{Person: "person_1", Mode: policy.Manual, Scopes: []string{"content:read", "content:write"}}
	keyed   = []any{careful, agent.Minted{Key: "key_1"}}
	signed  = agent.Signature{By: domain.Principal{Kind: domain.KindPerson, ID: "person_1"}, Now: noon, ID: "act_1"}
)

func TestElevate(t *testing.T) {
	give := func(mode string, minutes int) agent.ElevateArgs {
		return agent.ElevateArgs{Which: which("x"), Mode: mode, Minutes: minutes, Signature: signed}
	}
	hour := agent.Elevated{ID: "act_1", Mode: policy.Auto, Until: noon.Add(time.Hour), By: "person_1"}
	domaintest.Run(t, agent.Elevate, map[string]domaintest.Case[agent.ElevateArgs]{
		"for an hour":         {Given: []any{careful}, When: give("auto", 60), Then: []any{hour}},
		"as free already":     {Given: []any{agent.Created{Person: "p", Mode: policy.Auto}}, When: give("auto", 60)},
		"lent already":        {Given: []any{careful, agent.Elevated{ID: "act_0", Mode: policy.Auto, Until: noon.Add(1)}}, When: give("edits", 60)},
		"again once it ended": {Given: []any{careful, agent.Elevated{ID: "act_0", Mode: policy.Auto, Until: noon}}, When: give("auto", 60), Then: []any{hour}},
		"again once taken":    {Given: []any{careful, agent.Elevated{ID: "act_0", Mode: policy.Auto, Until: noon.Add(1)}, agent.ElevationEnded{ID: "act_0"}}, When: give("auto", 60), Then: []any{hour}},
		"for no time":         {Given: []any{careful}, When: give("auto", 0), Refused: "invalid"},
		"for a day":           {Given: []any{careful}, When: give("auto", 24*60), Refused: "invalid"},
		"for longer than any": {Given: []any{careful}, When: give("auto", 1<<40), Refused: "invalid"},
		"nobody":              {When: give("auto", 60), Refused: "not-found"},
	})
	end := agent.EndArgs{Which: which("x"), ID: "act_1"}
	domaintest.Run(t, agent.EndElevation, map[string]domaintest.Case[agent.EndArgs]{
		"before its time": {Given: []any{careful, hour}, When: end, Then: []any{agent.ElevationEnded{ID: "act_1"}}},
		"already so":      {Given: []any{careful, hour, agent.ElevationEnded{ID: "act_1"}}, When: end},
		"never lent":      {Given: []any{careful}, When: end, Refused: "not-found"},
	})
}

func TestAFreerModeLastsAsLongAsItWasLent(t *testing.T) {
	lent := agent.Elevated{ID: "act_1", Mode: policy.Auto, Until: noon.Add(time.Hour)}
	for name, c := range map[string]struct {
		given []any
		at    time.Time
		want  policy.Mode
	}{
		"before its end":                {[]any{careful, lent}, noon.Add(time.Hour - 1), policy.Auto},
		"not at its end":                {[]any{careful, lent}, noon.Add(time.Hour), policy.Manual},
		"not once taken back":           {[]any{careful, lent, agent.ElevationEnded{ID: "act_1"}}, noon, policy.Manual},
		"not though lent again":         {[]any{careful, lent, agent.ElevationEnded{ID: "act_1"}, lent}, noon, policy.Manual},
		"the freest of two":             {[]any{careful, lent, agent.Elevated{ID: "act_2", Mode: policy.Edits, Until: noon.Add(time.Hour)}}, noon, policy.Auto},
		"never stricter than it is":     {[]any{agent.Created{Person: "p", Mode: policy.Auto}, agent.Elevated{ID: "a", Mode: policy.Edits, Until: noon.Add(1)}}, noon, policy.Auto},
		"not over one nobody knows":     {[]any{careful, agent.Updated{Mode: new(policy.Mode("turbo"))}, lent}, noon, "turbo"},
		"to one nobody knows":           {[]any{careful, agent.Elevated{ID: "act_1", Mode: "turbo", Until: noon.Add(time.Hour)}}, noon, policy.Manual},
		"a key that is narrower is not": {[]any{careful, agent.Minted{Key: "k", Mode: policy.Plan}, lent}, noon, policy.Auto},
	} {
		domaintest.Laws(t, agent.Kind, c.given)
		state, err := agent.Kind.Fold(c.given)
		if err != nil {
			t.Fatal(err)
		}
		a := state.(agent.Agent)
		if got := a.ModeAt(c.at); got != c.want {
			t.Errorf("%s: it works in mode %s, not %s", name, got, c.want)
		}
		if mode, _, ok := a.Allows("k", c.at); ok && mode != policy.Plan {
			t.Errorf("%s: the narrow key works in mode %s", name, mode)
		}
	}
}

func TestStand(t *testing.T) {
	plain := &action.Facts{Name: "article.update", Class: action.Content}
	stand := func(change func(*agent.StandArgs)) agent.StandArgs {
		s := agent.StandArgs{Which: which("x"), Key: "key_1", Action: "article.update", Site: "main", Days: 30, Signature: signed, Facts: plain}
		if change != nil {
			change(&s)
		}
		return s
	}
	made := agent.StandingMade{ID: "act_1", Action: "article.update", Key: "key_1", Site: "main", By: "person_1", Until: noon.AddDate(0, 0, 30)}
	facts := func(f *action.Facts) agent.StandArgs { return stand(func(s *agent.StandArgs) { s.Facts = f }) }
	domaintest.Run(t, agent.Stand, map[string]domaintest.Case[agent.StandArgs]{
		"to one kind of change":      {Given: keyed, When: stand(nil), Then: []any{made}},
		"already so":                 {Given: append(keyed[:2:2], made), When: stand(nil)},
		"for longer":                 {Given: append(keyed[:2:2], agent.StandingMade{ID: "act_0", Action: "article.update", Key: "key_1", Site: "main", By: "person_1", Until: noon.Add(1)}), When: stand(nil), Then: []any{made}},
		"to what goes live":          {Given: keyed, When: facts(&action.Facts{Class: action.Publish}), Refused: "invalid"},
		"to what takes away":         {Given: keyed, When: facts(&action.Facts{Class: action.Destructive}), Refused: "invalid"},
		"to what is for people":      {Given: keyed, When: facts(&action.Facts{Class: action.People}), Refused: "invalid"},
		"to what cannot be undone":   {Given: keyed, When: facts(&action.Facts{Class: action.Content, Final: true}), Refused: "invalid"},
		"to what is only asked for":  {Given: keyed, When: facts(&action.Facts{Class: action.Content, Gate: "Because."}), Refused: "invalid"},
		"to nothing there is":        {Given: keyed, When: facts(nil), Refused: "invalid"},
		"everywhere":                 {Given: keyed, When: stand(func(s *agent.StandArgs) { s.Site = "" }), Refused: "invalid"},
		"for ever":                   {Given: keyed, When: stand(func(s *agent.StandArgs) { s.Days = 91 }), Refused: "invalid"},
		"for no day":                 {Given: keyed, When: stand(func(s *agent.StandArgs) { s.Days = 0 }), Refused: "invalid"},
		"for a key that is none":     {Given: keyed, When: stand(func(s *agent.StandArgs) { s.Key = "key_2" }), Refused: "not-found"},
		"for a key that was revoked": {Given: append(keyed[:2:2], agent.Revoked{Key: "key_1"}), When: stand(nil), Refused: "not-found"},
		"for nobody":                 {When: stand(nil), Refused: "not-found"},
	})
}

func TestAYesInAdvanceFitsWhatItWasGivenFor(t *testing.T) {
	loose := policy.Rules{Pace: 10}
	made := agent.StandingMade{ID: "act_1", Action: "article.update", Key: "key_1", Site: "main", Until: noon.Add(time.Hour), Rules: loose}
	for name, c := range map[string]struct {
		action, key, site string
		rules             policy.Rules
		after             time.Duration
		more              []any
		fits              bool
	}{
		"what it was given for":       {"article.update", "key_1", "main", loose, 0, nil, true},
		"under looser rules":          {"article.update", "key_1", "main", policy.Rules{}, 0, nil, true},
		"not another action":          {"article.create", "key_1", "main", loose, 0, nil, false},
		"not another key":             {"article.update", "key_2", "main", loose, 0, nil, false},
		"not another site":            {"article.update", "key_1", "other", loose, 0, nil, false},
		"not under tighter rules":     {"article.update", "key_1", "main", policy.Rules{Pace: 5}, 0, nil, false},
		"not at its end":              {"article.update", "key_1", "main", loose, time.Hour, nil, false},
		"not once ended":              {"article.update", "key_1", "main", loose, 0, []any{agent.StandingEnded{ID: "act_1"}}, false},
		"not though made again":       {"article.update", "key_1", "main", loose, 0, []any{agent.StandingEnded{ID: "act_1"}, made}, false},
		"another that was made since": {"article.update", "key_1", "main", loose, 0, []any{agent.StandingEnded{ID: "act_1"}, agent.StandingMade{ID: "act_2", Action: "article.update", Key: "key_1", Site: "main", Until: noon.Add(time.Hour)}}, false},
	} {
		given := append([]any{keyed[0], keyed[1], made}, c.more...)
		domaintest.Laws(t, agent.Kind, given)
		state, err := agent.Kind.Fold(given)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, fits := state.(agent.Agent).Standing(c.action, c.key, c.site, c.rules, noon.Add(c.after)); fits != c.fits {
			t.Errorf("%s: fits is %v", name, fits)
		}
	}
}
