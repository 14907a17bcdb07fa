package skill_test

import (
	"strings"
	"testing"

	"assent/domain/domaintest"
	"assent/domain/skill"
)

var (
	one   = "sha256:" + strings.Repeat("1", 64)
	other = "sha256:" + strings.Repeat("2", 64)
)

func TestAccept(t *testing.T) {
	domaintest.Run(t, skill.Accept, map[string]domaintest.Case[skill.AcceptArgs]{
		"a first time":    {When: skill.AcceptArgs{Skill: "house-voice", Digest: one}, Then: []any{skill.Accepted{Digest: one}}},
		"already so":      {Given: []any{skill.Accepted{Digest: one}}, When: skill.AcceptArgs{Skill: "house-voice", Digest: one}},
		"another":         {Given: []any{skill.Accepted{Digest: one}}, When: skill.AcceptArgs{Skill: "house-voice", Digest: other}, Then: []any{skill.Accepted{Digest: other}}},
		"no digest":       {When: skill.AcceptArgs{Skill: "house-voice", Digest: "latest"}, Refused: "invalid"},
		"a path":          {When: skill.AcceptArgs{Skill: "../house-voice", Digest: one}, Refused: "invalid"},
		"capitals":        {When: skill.AcceptArgs{Skill: "House-Voice", Digest: one}, Refused: "invalid"},
		"a name too long": {When: skill.AcceptArgs{Skill: strings.Repeat("a", 65), Digest: one}, Refused: "invalid"},
	})
}

func TestChangedIsWhatNobodyHasLookedAtSinceSomebodyDid(t *testing.T) {
	for _, c := range []struct {
		accepted, now string
		changed       bool
	}{{"", one, false}, {one, one, false}, {one, other, true}} {
		if got := (skill.Skill{Accepted: c.accepted}).Changed(c.now); got != c.changed {
			t.Errorf("accepted %q, now %q: %v", c.accepted, c.now, got)
		}
	}
}
