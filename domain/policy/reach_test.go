package policy_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"assent/domain/policy"
)

func TestNarrowed(t *testing.T) {
	for name, c := range map[string]struct{ scopes, only, want []string }{
		"to nothing said":         {[]string{"publish"}, nil, []string{"publish"}},
		"to nothing":              {[]string{"publish"}, []string{}, []string{}},
		"to what both have":       {[]string{"publish", "rollback"}, []string{"rollback", "site:read"}, []string{"rollback"}},
		"to one's own":            {[]string{"publish"}, []string{"publish:own"}, []string{"publish:own"}},
		"to what was wider":       {[]string{"publish:own"}, []string{"publish"}, []string{"publish:own"}},
		"to both forms":           {[]string{"publish"}, []string{"publish:own", "publish"}, []string{"publish"}},
		"both forms to one's own": {[]string{"publish", "publish:own"}, []string{"publish:own"}, []string{"publish:own"}},
		"to another's own":        {[]string{"publish"}, []string{"content:write:own"}, []string{}},
	} {
		if diff := cmp.Diff(c.want, policy.Narrowed(c.scopes, c.only)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// What is left reaches only what both reach.
func TestNarrowedNeverReachesMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scopes, only := someScope.Draw(t, "scopes"), someScope.Draw(t, "only")
		left := policy.Narrowed(scopes, only)
		for _, need := range policy.Scopes {
			if strings.HasSuffix(need, policy.Own) { // nothing needs an own form
				continue
			}
			for _, own := range []bool{false, true} {
				both := policy.Reaches(scopes, need, own) && policy.Reaches(only, need, own)
				if got := policy.Reaches(left, need, own); got != both {
					t.Fatalf("%v of %v reaches %s (own: %v): %v; both do: %v", only, scopes, need, own, got, both)
				}
			}
		}
	})
}
