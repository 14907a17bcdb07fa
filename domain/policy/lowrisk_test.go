package policy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"assent/domain"
	"assent/domain/policy"
)

// checks is one measure for each code.
var checks = map[string]domain.AutoCheck{
	"nothing":         policy.LowRisk(nil, 20),
	"removes-content": policy.LowRisk([]domain.Change{removed}, 20),
	"structure":       policy.LowRisk([]domain.Change{pageEdited}, 20),
	"too-many":        policy.LowRisk(articles(21), 20),
	"low-risk":        policy.LowRisk(articles(20), 20),
}

var (
	removed     = domain.Change{Kind: "article", ID: "art_gone", Change: domain.Removed}
	pageEdited  = domain.Change{Kind: "page", ID: "page_1", Change: domain.Edited}
	settings    = domain.Change{Kind: "site", ID: "main", Change: domain.Edited}
	pageRemoved = domain.Change{Kind: "page", ID: "page_2", Change: domain.Removed}
)

func articles(n int) []domain.Change {
	changes := make([]domain.Change, n)
	for i := range changes {
		changes[i] = domain.Change{Kind: "article", Change: []string{domain.Added, domain.Edited}[i%2]}
	}
	return changes
}

func TestLowRisk(t *testing.T) {
	with := func(n int, more ...domain.Change) []domain.Change { return append(articles(n), more...) }
	tests := map[string]struct {
		changes []domain.Change
		limit   int
		code    string
	}{
		"nothing":                            {nil, 20, "nothing"},
		"nothing, under no limit":            {nil, 0, "nothing"},
		"one article":                        {articles(1), 20, "low-risk"},
		"as many as may be":                  {articles(20), 20, "low-risk"},
		"one more":                           {articles(21), 20, "too-many"},
		"another limit":                      {articles(3), 2, "too-many"},
		"an article removed":                 {with(1, removed), 20, "removes-content"},
		"a page":                             {with(1, pageEdited), 20, "structure"},
		"the site's settings":                {[]domain.Change{settings}, 20, "structure"},
		"a page removed":                     {[]domain.Change{pageRemoved}, 20, "removes-content"},
		"removal comes before structure":     {with(1, pageEdited, removed), 20, "removes-content"},
		"removal comes before too many":      {with(30, removed), 20, "removes-content"},
		"structure comes before too many":    {with(30, settings), 20, "structure"},
		"removal, structure and too many":    {with(30, settings, removed), 20, "removes-content"},
		"what kind it is decides, not where": {[]domain.Change{{Kind: "", Change: domain.Edited}}, 20, "structure"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			want := domain.AutoCheck{Rule: "low-risk-publish", LowRisk: tt.code == "low-risk", Code: tt.code, Changes: len(tt.changes), Limit: tt.limit}
			if diff := cmp.Diff(want, policy.LowRisk(tt.changes, tt.limit)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	for code, check := range checks {
		if check.Code != code {
			t.Errorf("%s is measured as %s", code, check.Code)
		}
	}
}
