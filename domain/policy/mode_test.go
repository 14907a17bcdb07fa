package policy_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/policy"
)

func TestStricter(t *testing.T) {
	tests := []struct{ a, b, want policy.Mode }{
		{policy.Plan, policy.Auto, policy.Plan}, {policy.Manual, policy.Edits, policy.Manual}, {policy.Edits, policy.Auto, policy.Edits},
		{policy.Auto, policy.Bypass, policy.Auto}, {policy.Auto, policy.Auto, policy.Auto}, {"", policy.Bypass, policy.Bypass}, {"", "", ""},
		// What a newer program wrote may mean anything, also less than plan.
		{"weird", policy.Plan, "weird"}, {"weird", policy.Manual, "weird"}, {"weird", policy.Auto, "weird"}, {"weird", policy.Bypass, "weird"}, {"weird", "", "weird"},
	}
	for _, tt := range tests {
		for _, got := range []policy.Mode{policy.Stricter(tt.a, tt.b), policy.Stricter(tt.b, tt.a)} {
			if got != tt.want {
				t.Errorf("of %q and %q the stricter is %q, want %q", tt.a, tt.b, got, tt.want)
			}
		}
	}
}

func TestEffective(t *testing.T) {
	tests := []struct {
		mode  policy.Mode
		local bool
		want  policy.Mode
	}{
		{policy.Bypass, true, policy.Bypass}, {policy.Bypass, false, policy.Edits}, {"", false, policy.Edits}, {"", true, policy.Edits},
		{"weird", true, policy.Plan}, {"weird", false, policy.Plan}, {policy.Plan, false, policy.Plan}, {policy.Auto, false, policy.Auto},
	}
	for _, tt := range tests {
		if got := policy.Effective(tt.mode, tt.local); got != tt.want {
			t.Errorf("%q (local: %v) works as %q, want %q", tt.mode, tt.local, got, tt.want)
		}
	}
}

// A log that a newer program wrote can name a mode that this one does not know.
// Reads go on, and nothing is changed on a guess.
func TestAModeThatIsNotKnownChangesNothing(t *testing.T) {
	for class, want := range map[action.Class]domain.Answer{action.Read: domain.Act, action.Content: domain.Reject, action.Publish: domain.Reject, action.Destructive: domain.Reject} {
		for _, q := range []policy.Question{{}, {Planned: true}, {Local: true}, {Yes: &policy.Yes{Kind: "approval", By: "person_1"}}} {
			q.Principal, q.Mode, q.Role = domain.Principal{Kind: domain.KindAgent, ID: "agent_1"}, "turbo", policy.Owner
			q.Action, q.Class, q.Scope, q.Permission, q.Scopes = "article.update", class, "content:write", "content.edit", policy.Scopes
			v := policy.Ask(q)
			if v.Answer != want || want == domain.Reject && (v.Code != "mode" || !strings.Contains(v.Reason, "newer")) {
				t.Errorf("%s, planned %v, local %v, with a yes %v: %+v", class, q.Planned, q.Local, q.Yes != nil, v)
			}
		}
	}
}

func TestBypassOfARemoteCallerIsRecorded(t *testing.T) {
	v := policy.Ask(policy.Question{
		Principal: domain.Principal{Kind: domain.KindAgent, ID: "agent_1"}, Mode: policy.Bypass, Role: policy.Owner,
		Action: "article.list", Class: action.Read, Scope: "any", Permission: "any",
	})
	noted := slices.ContainsFunc(v.Findings, func(f domain.Finding) bool { return f.Code == "bypass-is-local" && f.Answer == domain.Act })
	if v.Answer != domain.Act || !noted {
		t.Errorf("the verdict is %+v", v)
	}
}

func TestWhatIsUsuallyGivenCanBeGiven(t *testing.T) {
	for _, s := range policy.DefaultScopes {
		if !slices.Contains(policy.Scopes, s) {
			t.Errorf("%s is given and cannot be", s)
		}
	}
}

func TestForeignNamesAreClippedBetweenCharacters(t *testing.T) {
	v := policy.Ask(policy.Question{
		Principal: domain.Principal{Kind: domain.KindAgent, ID: "agent_1"}, Role: policy.Owner, Class: action.Read, Scope: "any", Permission: "any",
		Skill: &policy.Skill{Name: "x" + strings.Repeat("é", 500)},
	})
	if v.Code != "skill" || !utf8.ValidString(v.Reason) || strings.Contains(v.Reason, `\x`) || len(v.Reason) > 200 {
		t.Errorf("says %q", v.Reason)
	}
}
