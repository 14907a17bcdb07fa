package policy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/policy"
)

func TestWhatWasRecordedMatchesUntilSomebodyEditsIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := anyQuestion(t)
		recorded := policy.Ask(q)
		if r := policy.Again(q, recorded); !r.Matches() {
			t.Fatalf("%+v does not match: %v", recorded, r.Differs)
		}
		_, other := tighter(t, q)
		again := policy.Ask(other)
		if r := policy.Again(other, recorded); r.Matches() != cmp.Equal(recorded, again) {
			t.Fatalf("recorded %+v, another question gives %+v, matches: %v", recorded, again, r.Matches())
		}
		recorded.Rules = "rules-0"
		if r := policy.Again(q, recorded); r.Matches() || r.Known {
			t.Fatal("rules that never were vouch for a record")
		}
	})
}

// A mode or a rule that is tried out and is what there was changes nothing,
// where no yes in advance let it through.
func TestTryingOutWhatThereWasChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := anyQuestion(t)
		q.Yes = nil
		if q.Check != nil {
			check := policy.Remeasured(*q.Check, q.Rules.Limit())
			q.Check = &check
		}
		asked, measured := policy.WhatIf{Mode: q.Mode, Pace: q.Paced}.Of(q)
		before, after := policy.Ask(q), policy.Ask(asked)
		if measured && (before.Answer != after.Answer || before.Code != after.Code || before.Cause != after.Cause) {
			t.Fatalf("%+v becomes %+v", before, after)
		}
	})
}

func TestAMeasuredPublishIsMeasuredByTheNewLimit(t *testing.T) {
	limit := 3
	what := policy.WhatIf{Rules: policy.RulesChange{AutoPublishLimit: &limit}}
	q := policy.Question{
		Principal: domain.Principal{Kind: domain.KindAgent, ID: "agent_1"}, Mode: policy.Auto, Role: policy.Owner, Scopes: policy.Scopes,
		Action: "site.publish", Class: action.Publish, Scope: "publish", Permission: "publish",
	}
	for changes, want := range map[int]domain.Answer{3: domain.Act, 4: domain.Propose} {
		check := domain.AutoCheck{Rule: policy.LowRiskRule, LowRisk: true, Code: "low-risk", Changes: changes, Limit: 20}
		q.Check = &check
		asked, measured := what.Of(q)
		if v := policy.Ask(asked); !measured || v.Answer != want {
			t.Errorf("%d changes: %+v", changes, v)
		}
		if check.Limit != 20 {
			t.Error("the record itself was changed")
		}
	}
	q.Check = nil
	if _, measured := what.Of(q); measured {
		t.Error("a publish that nobody measured counts as measured")
	}
}
