package policy_test

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"assent/domain"
	"assent/domain/policy"
)

func TestWhoDecidesNext(t *testing.T) {
	alone := policy.Deciders{}
	two := policy.Deciders{{Roles: []policy.Role{policy.Owner, policy.Editor}, Need: 2}}
	staged := policy.Deciders{
		{Roles: []policy.Role{policy.Editor}, Need: 2},
		{People: []string{"ada"}, Need: 1},
	}
	owner, editor := policy.Owner, policy.Editor
	for name, c := range map[string]struct {
		deciders policy.Deciders
		so       policy.Yesses
		by       policy.Decider
		complete bool
		refused  string
	}{
		"anybody alone":                      {alone, nil, policy.Decider{ID: "ada", Role: owner}, true, ""},
		"the first of two":                   {two, nil, policy.Decider{ID: "ada", Role: owner}, false, ""},
		"the second of two":                  {two, policy.Yesses{"ada"}, policy.Decider{ID: "bo", Role: editor}, true, ""},
		"the first once more":                {two, policy.Yesses{"ada"}, policy.Decider{ID: "ada", Role: owner}, false, "already-decided"},
		"standing in for the first":          {two, policy.Yesses{"ada"}, policy.Decider{ID: "cy", Role: policy.Auditor, For: "ada", As: owner}, false, "already-decided"},
		"nobody of that step":                {two, nil, policy.Decider{ID: "cy", Role: policy.Auditor}, false, "permission"},
		"standing in for one of that step":   {two, policy.Yesses{"ada"}, policy.Decider{ID: "cy", Role: policy.Auditor, For: "bo", As: editor}, true, ""},
		"the second step before its turn":    {staged, policy.Yesses{"bo"}, policy.Decider{ID: "ada", Role: owner}, false, "permission"},
		"the first step":                     {staged, policy.Yesses{"bo"}, policy.Decider{ID: "cy", Role: editor}, false, ""},
		"the first step when it is over":     {staged, policy.Yesses{"bo", "cy"}, policy.Decider{ID: "di", Role: editor}, false, "permission"},
		"the second step":                    {staged, policy.Yesses{"bo", "cy"}, policy.Decider{ID: "ada", Role: owner}, true, ""},
		"more than are needed by now":        {two, policy.Yesses{"ada", "bo"}, policy.Decider{ID: "cy", Role: editor}, true, ""},
		"alone, once it took two":            {alone, policy.Yesses{"ada"}, policy.Decider{ID: "ada", Role: owner}, true, ""},
		"somebody named who has no role yet": {staged, policy.Yesses{"bo", "cy"}, policy.Decider{ID: "ada"}, true, ""},
	} {
		complete, err := c.deciders.Next(c.so, c.by)
		no, _ := errors.AsType[*domain.Refusal](err)
		switch {
		case err != nil && no == nil:
			t.Errorf("%s: %v", name, err)
		case (no == nil) != (c.refused == "") || no != nil && no.Code != c.refused:
			t.Errorf("%s: refused %v, not %q", name, no, c.refused)
		case complete != c.complete:
			t.Errorf("%s: complete is %v", name, complete)
		}
	}
}

func TestRulesThatMeanNothingAreRefused(t *testing.T) {
	noon := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	deciders := func(s policy.Stage) policy.Rules {
		if s.Of == "" {
			s.Of = "publish"
		}
		return policy.Rules{Stages: []policy.Stage{s}}
	}
	for name, r := range map[string]policy.Rules{
		"a limit of too many":        {AutoPublishLimit: 201},
		"a pace below none":          {Pace: -1},
		"a freeze that ends first":   {Freezes: []policy.Freeze{{From: noon, Until: noon}}},
		"a separation of its own":    {Separation: "sometimes"},
		"a decision of nobody":       deciders(policy.Stage{Roles: []policy.Role{policy.Owner}}),
		"more than there are":        deciders(policy.Stage{People: []string{"ada"}, Need: 2}),
		"a class nobody decides on":  deciders(policy.Stage{Of: "read", Roles: []policy.Role{policy.Owner}, Need: 1}),
		"a stage that names no one":  deciders(policy.Stage{Need: 1}),
		"a decision of fewer than 0": deciders(policy.Stage{Roles: []policy.Role{policy.Owner}, Need: -1}),
	} {
		if no, ok := errors.AsType[*domain.Refusal](r.Sound()); !ok || no.Code != "invalid" {
			t.Errorf("%s: %v", name, r.Sound())
		}
	}
	for name, r := range map[string]policy.Rules{
		"none":      {},
		"two names": deciders(policy.Stage{People: []string{"ada", "bo"}, Need: 2}),
		"roles":     deciders(policy.Stage{Roles: []policy.Role{policy.Owner}, Need: 2}),
	} {
		if err := r.Sound(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What is tighter says so: whenever a call is answered more strictly under one
// set of rules than under another, the first counts as tighter.
func TestTighteningIsNoticed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := anyRules(t), anyRules(t)
		if rapid.Bool().Draw(t, "adds") {
			after = before.With(after)
		}
		q := anyQuestion(t)
		q.Yes = nil
		q.Rules = before
		was := policy.Ask(q).Answer
		q.Rules = after
		if is := policy.Ask(q).Answer; is > was && !after.Tighter(before) {
			t.Fatalf("%s became %s, and the rules are not tighter\nbefore %+v\nafter  %+v", was, is, before, after)
		}
		if before.Tighter(before) {
			t.Fatalf("%+v is tighter than itself", before)
		}
	})
}

func TestRulesOfTwoPlacesHoldAsOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyRules(t), anyRules(t)
		q := anyQuestion(t)
		q.Yes = nil
		answer := func(r policy.Rules) domain.Answer {
			q.Rules = r
			return policy.Ask(q).Answer
		}
		both := answer(a.With(b))
		if both != answer(b.With(a)) || both < answer(a) || both < answer(b) || both > max(answer(a), answer(b), domain.Propose) {
			t.Fatalf("%s for both, %s and %s alone", both, answer(a), answer(b))
		}
		if a.With(policy.Rules{}).Tighter(a) || (policy.Rules{}).With(a).Tighter(a) {
			t.Fatalf("rules that say nothing tighten %+v", a)
		}
	})
}
