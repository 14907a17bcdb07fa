package policy

import "assent/domain"

// LowRiskRule names the rule in verdicts.
const LowRiskRule = "low-risk-publish"

// DefaultPublishLimit is the most changes of a low-risk publish unless the
// workspace says otherwise.
const DefaultPublishLimit = 20

// LowRisk measures a publish: exactly the versions it names against what is
// live. The first code that fits stands, in the contract's order.
func LowRisk(changes []domain.Change, limit int) domain.AutoCheck {
	check := domain.AutoCheck{Rule: LowRiskRule, Code: "low-risk", Changes: len(changes), Limit: limit}
	removes, structure := false, false
	for _, c := range changes {
		removes = removes || c.Change == domain.Removed
		structure = structure || Structural(c.Kind)
	}
	switch {
	case len(changes) == 0:
		check.Code = "nothing"
	case removes:
		check.Code = "removes-content"
	case structure:
		check.Code = "structure"
	case len(changes) > limit:
		check.Code = "too-many"
	}
	check.LowRisk = check.Code == "low-risk"
	return check
}

// Structural says that a kind of thing holds the site together: a mistake in
// one shows everywhere.
func Structural(kind string) bool { return kind != "article" }
