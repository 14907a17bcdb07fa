package projections

import (
	"context"

	"assent/domain/policy"
	"assent/domain/rules"
	"assent/domain/workspace"
)

// siteRules are the rules of every site that has some of its own; its rows are
// the state itself.
var siteRules = Projection[rules.Rules]{
	Name: "rules", Version: 1,
	Keys: func(f Fact) []string {
		if _, ok := f.After.(rules.Rules); !ok {
			return nil
		}
		return []string{key(f.Stream.Workspace, f.Stream.ID)}
	},
	Fold: func(_ string, _ rules.Rules, f Fact) (rules.Rules, bool) {
		return f.After.(rules.Rules), true
	},
}

// Rules are those of a site, or of the workspace where site is empty. Of a
// site's own and its workspace's the stricter holds.
func (s *Store) Rules(ctx context.Context, ws, site string) (r policy.Rules, err error) {
	err = s.glance(ctx, "rules", func(a asking) error {
		if site == "" {
			w, _, err := byKey[workspace.Workspace](a, "settings", ws, workspace.ID)
			r = w.Rules
			return err
		}
		own, _, err := byKey[rules.Rules](a, "rules", ws, site)
		r = own.Rules
		return err
	})
	return r, err
}
