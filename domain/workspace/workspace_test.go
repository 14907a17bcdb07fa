package workspace_test

import (
	"testing"

	"assent/domain/domaintest"
	"assent/domain/policy"
	"assent/domain/workspace"
)

func TestUpdate(t *testing.T) {
	domaintest.Run(t, workspace.Update, map[string]domaintest.Case[workspace.UpdateArgs]{
		"pauses all agents":    {When: workspace.UpdateArgs{RulesChange: policy.RulesChange{Paused: new(true)}}, Then: []any{workspace.Updated{RulesChange: policy.RulesChange{Paused: new(true)}}}},
		"lets them go on":      {Given: []any{workspace.Updated{RulesChange: policy.RulesChange{Paused: new(true)}}}, When: workspace.UpdateArgs{RulesChange: policy.RulesChange{Paused: new(false)}}, Then: []any{workspace.Updated{RulesChange: policy.RulesChange{Paused: new(false)}}}},
		"not paused already":   {When: workspace.UpdateArgs{RulesChange: policy.RulesChange{Paused: new(false)}}},
		"another limit":        {When: workspace.UpdateArgs{RulesChange: policy.RulesChange{AutoPublishLimit: new(5)}}, Then: []any{workspace.Updated{RulesChange: policy.RulesChange{AutoPublishLimit: new(5)}}}},
		"the default limit":    {When: workspace.UpdateArgs{RulesChange: policy.RulesChange{AutoPublishLimit: new(policy.DefaultPublishLimit)}}},
		"no limit":             {When: workspace.UpdateArgs{RulesChange: policy.RulesChange{AutoPublishLimit: new(0)}}, Refused: "invalid"},
		"too high a limit":     {When: workspace.UpdateArgs{RulesChange: policy.RulesChange{AutoPublishLimit: new(201)}}, Refused: "invalid"},
		"more for local ones":  {When: workspace.UpdateArgs{LocalMode: new("auto")}, Then: []any{workspace.Updated{LocalMode: new(policy.Auto)}}},
		"a pace":               {When: workspace.UpdateArgs{RulesChange: policy.RulesChange{Pace: new(10)}}, Then: []any{workspace.Updated{RulesChange: policy.RulesChange{Pace: new(10)}}}},
		"a pace nobody keeps":  {When: workspace.UpdateArgs{RulesChange: policy.RulesChange{Pace: new(-1)}}, Refused: "invalid"},
		"longer to undo":       {When: workspace.UpdateArgs{UndoHours: new(72)}, Then: []any{workspace.Updated{UndoHours: new(72)}}},
		"the usual time":       {When: workspace.UpdateArgs{UndoHours: new(24)}},
		"too long to undo":     {When: workspace.UpdateArgs{UndoHours: new(169)}, Refused: "invalid"},
		"edits for local ones": {When: workspace.UpdateArgs{LocalMode: new("edits")}},
	})
}

func TestFound(t *testing.T) {
	domaintest.Run(t, workspace.Found, map[string]domaintest.Case[workspace.FoundArgs]{
		"once":            {When: workspace.FoundArgs{Founder: "person_1"}, Then: []any{workspace.Founded{Founder: "person_1"}}},
		"already so":      {Given: []any{workspace.Founded{Founder: "person_1"}}, When: workspace.FoundArgs{Founder: "person_1"}},
		"by another":      {Given: []any{workspace.Founded{Founder: "person_1"}}, When: workspace.FoundArgs{Founder: "person_2"}, Refused: "final"},
		"keeps the rules": {Given: []any{workspace.Updated{RulesChange: policy.RulesChange{Paused: new(true)}}}, When: workspace.FoundArgs{Founder: "person_1"}, Then: []any{workspace.Founded{Founder: "person_1"}}},
	})
}

func TestAWorkspaceNobodyTouchedHasTheDefaults(t *testing.T) {
	var w workspace.Workspace
	if w.Paused || w.Limit() != 20 || w.Local() != policy.Edits {
		t.Errorf("paused %v, limit %d, local %s", w.Paused, w.Limit(), w.Local())
	}
}
