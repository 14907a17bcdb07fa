package rules_test

import (
	"testing"
	"time"

	"assent/domain/domaintest"
	"assent/domain/policy"
	"assent/domain/rules"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func set(c policy.RulesChange) rules.UpdateArgs {
	return rules.UpdateArgs{Site: "main", RulesChange: c}
}

func TestUpdate(t *testing.T) {
	freeze := []policy.Freeze{{From: noon, Until: noon.Add(time.Hour), Why: "the fair"}}
	backwards := []policy.Freeze{{From: noon, Until: noon}}
	nobody := []policy.Stage{{Of: "publish", Need: 1}}
	domaintest.Run(t, rules.Update, map[string]domaintest.Case[rules.UpdateArgs]{
		"a pace":                 {When: set(policy.RulesChange{Pace: new(5)}), Then: []any{rules.Updated{RulesChange: policy.RulesChange{Pace: new(5)}}}},
		"already so":             {Given: []any{rules.Updated{RulesChange: policy.RulesChange{Pace: new(5)}}}, When: set(policy.RulesChange{Pace: new(5)})},
		"nothing named":          {When: set(policy.RulesChange{})},
		"a freeze":               {When: set(policy.RulesChange{Freezes: &freeze}), Then: []any{rules.Updated{RulesChange: policy.RulesChange{Freezes: &freeze}}}},
		"a freeze that is none":  {When: set(policy.RulesChange{Freezes: &backwards}), Refused: "invalid"},
		"a decision of nobody":   {When: set(policy.RulesChange{Stages: &nobody}), Refused: "invalid"},
		"the site's own pause":   {When: set(policy.RulesChange{Paused: new(true)}), Then: []any{rules.Updated{RulesChange: policy.RulesChange{Paused: new(true)}}}},
		"a limit of none at all": {When: set(policy.RulesChange{AutoPublishLimit: new(0)}), Refused: "invalid"},
	})
}
