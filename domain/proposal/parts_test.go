package proposal_test

import (
	"errors"
	"slices"
	"testing"

	"assent/domain"
	"assent/domain/proposal"
)

func TestWhatNeedsAPartThatWasLeftOutFallsWithIt(t *testing.T) {
	p := proposal.Proposal{Calls: []proposal.Called{{Part: 1}, {Part: 2, Needs: []int{1}}, {Part: 4, Needs: []int{2}}, {Part: 5}}} // part 3 was already so
	for name, c := range map[string]struct {
		chosen, keep, fall []int
		refused            string
	}{
		"all":                   {nil, []int{1, 2, 4, 5}, nil, ""},
		"all of them by name":   {[]int{5, 4, 2, 1}, []int{1, 2, 4, 5}, nil, ""},
		"one":                   {[]int{5}, []int{5}, nil, ""},
		"with what it needs":    {[]int{1, 2}, []int{1, 2}, nil, ""},
		"without what it needs": {[]int{2, 5}, []int{5}, []int{2}, ""},
		"a chain":               {[]int{1, 4}, []int{1}, []int{4}, ""},
		"twice":                 {[]int{1, 1}, []int{1}, nil, ""},
		"nothing is left":       {[]int{4}, nil, nil, "invalid"},
		"already so":            {[]int{3}, nil, nil, "invalid"},
		"none of that number":   {[]int{1, 9}, nil, nil, "invalid"},
		"zero":                  {[]int{0}, nil, nil, "invalid"},
	} {
		keep, fall, err := p.Keep(c.chosen)
		no, _ := errors.AsType[*domain.Refusal](err)
		if code := ""; no != nil && no.Code != c.refused || no == nil && c.refused != code {
			t.Errorf("%s: %v", name, err)
		}
		var kept []int
		for _, k := range keep {
			kept = append(kept, k.Part)
		}
		if !slices.Equal(kept, c.keep) || !slices.Equal(fall, c.fall) {
			t.Errorf("%s: kept are %v, %v fall", name, kept, fall)
		}
	}
}
