package workspace_test

import (
	"testing"

	"assent/domain/domaintest"
	"assent/domain/policy"
	"assent/domain/workspace"
)

func TestUpdate(t *testing.T) {
	domaintest.Run(t, workspace.Update, map[string]domaintest.Case[workspace.UpdateArgs]{
		"pauses all agents":    {When: workspace.UpdateArgs{Paused: new(true)}, Then: []any{workspace.Updated{Paused: new(true)}}},
		"lets them go on":      {Given: []any{workspace.Updated{Paused: new(true)}}, When: workspace.UpdateArgs{Paused: new(false)}, Then: []any{workspace.Updated{Paused: new(false)}}},
		"not paused already":   {When: workspace.UpdateArgs{Paused: new(false)}},
		"another limit":        {When: workspace.UpdateArgs{AutoPublishLimit: new(5)}, Then: []any{workspace.Updated{AutoPublishLimit: new(5)}}},
		"the default limit":    {When: workspace.UpdateArgs{AutoPublishLimit: new(policy.DefaultPublishLimit)}},
		"no limit":             {When: workspace.UpdateArgs{AutoPublishLimit: new(0)}, Refused: "invalid"},
		"too high a limit":     {When: workspace.UpdateArgs{AutoPublishLimit: new(201)}, Refused: "invalid"},
		"more for local ones":  {When: workspace.UpdateArgs{LocalMode: new("auto")}, Then: []any{workspace.Updated{LocalMode: new(policy.Auto)}}},
		"edits for local ones": {When: workspace.UpdateArgs{LocalMode: new("edits")}},
	})
}

func TestFound(t *testing.T) {
	domaintest.Run(t, workspace.Found, map[string]domaintest.Case[workspace.FoundArgs]{
		"once":            {When: workspace.FoundArgs{Founder: "person_1"}, Then: []any{workspace.Founded{Founder: "person_1"}}},
		"already so":      {Given: []any{workspace.Founded{Founder: "person_1"}}, When: workspace.FoundArgs{Founder: "person_1"}},
		"by another":      {Given: []any{workspace.Founded{Founder: "person_1"}}, When: workspace.FoundArgs{Founder: "person_2"}, Refused: "final"},
		"keeps the rules": {Given: []any{workspace.Updated{Paused: new(true)}}, When: workspace.FoundArgs{Founder: "person_1"}, Then: []any{workspace.Founded{Founder: "person_1"}}},
	})
}

func TestAWorkspaceNobodyTouchedHasTheDefaults(t *testing.T) {
	var w workspace.Workspace
	if w.Paused || w.Limit() != 20 || w.Local() != policy.Edits {
		t.Errorf("paused %v, limit %d, local %s", w.Paused, w.Limit(), w.Local())
	}
}
