package policy

import (
	"slices"

	"assent/domain"
	"assent/domain/action"
)

// Replay is a recorded answer beside what the rules of its time say now to the
// question that was recorded with it.
type Replay struct {
	Known   bool           // this program knows the rules of that time; Again is empty otherwise
	Again   domain.Verdict // what they say
	Differs []domain.Line  // what of the answer is not as recorded: before is the record, after the rules
}

// Matches says that the record is what the rules of its time say. What cannot
// be asked again does not match: nothing vouches for it.
func (r Replay) Matches() bool { return r.Known && len(r.Differs) == 0 }

// Again asks a recorded question again, under the rules of its own time.
func Again(q Question, recorded domain.Verdict) Replay {
	again, known := AskAgain(recorded.Rules, q)
	if !known {
		return Replay{Differs: []domain.Line{{Field: "rules", Before: recorded.Rules, After: "not known to this program"}}}
	}
	return Replay{Known: true, Again: again, Differs: differences(recorded, again)}
}

// AgainIdle is Again for a call that found everything already so: whatever was
// held there, there was nothing to hold, and the record keeps no finding. Only a
// refusal would have come before that.
func AgainIdle(q Question, recorded domain.Verdict) Replay {
	r := Again(q, recorded)
	if r.Known && r.Again.Answer != domain.Reject {
		r.Differs = differences(recorded, domain.Verdict{Rules: r.Again.Rules, AutoCheck: r.Again.AutoCheck})
	}
	return r
}

// differences are what of a verdict another does not say.
func differences(recorded, again domain.Verdict) []domain.Line {
	lines := domain.Diff(fieldsOf(recorded), fieldsOf(again))
	if lines == nil && !slices.Equal(recorded.Findings, again.Findings) { // the same ones, in another order
		lines = []domain.Line{{Field: "findings", Before: namesOf(recorded), After: namesOf(again)}}
	}
	return lines
}

// fieldsOf is a verdict as people would compare it, a field for each finding.
func fieldsOf(v domain.Verdict) []domain.Field {
	fields := []domain.Field{
		{Name: "answer", Value: v.Answer.String()},
		{Name: "code", Value: v.Code},
		{Name: "cause", Value: v.Cause},
		{Name: "lifted", Value: v.Lifted},
		{Name: "reason", Value: v.Reason},
	}
	if c := v.AutoCheck; c != nil {
		fields = append(fields, domain.Field{Name: "autoCheck", Value: *c})
	}
	for _, f := range v.Findings {
		fields = append(fields, domain.Field{Name: f.Rule, Value: f.Answer.String() + " " + f.Code + ": " + f.Reason})
	}
	return fields
}

func namesOf(v domain.Verdict) (names []string) {
	for _, f := range v.Findings {
		names = append(names, f.Rule)
	}
	return names
}

// WhatIf is what might have been otherwise when something was asked. The zero
// WhatIf is the present rules of the house and nothing else.
type WhatIf struct {
	Mode  Mode        `json:"mode,omitempty"` // of every agent and local caller
	Rules RulesChange `json:"rules,omitzero"` // to the rules that held, the workspace's and the site's together
	Pace  int         `json:"-"`              // different things the agent would have changed by then, where the rules set a pace
}

// Of is a question as it would have been asked. A yes in advance is left out:
// whether there would have been one is for who knows the agent. It is false for
// a publish that would have been measured and never was: nobody knows whether
// it would have been low risk.
func (w WhatIf) Of(q Question) (asked Question, measured bool) {
	if w.Mode != "" && governed(q) {
		q.Mode = w.Mode
	}
	q.Rules = w.Rules.To(q.Rules)
	q.Paced = 0
	if q.Rules.Pace > 0 {
		q.Paced = w.Pace
	}
	if q.Yes != nil && q.Yes.Kind == Standing {
		q.Yes = nil
	}
	if q.Class != action.Publish || !governed(q) {
		return q, true
	}
	if Effective(q.Mode, q.Local) != Auto {
		q.Check = nil
		return q, true
	}
	if q.Check == nil {
		return q, false
	}
	check := Remeasured(*q.Check, q.Rules.Limit())
	q.Check = &check
	return q, true
}

// Remeasured is what a measured publish would have been found under another
// limit. What it changes stays what it is.
func Remeasured(c domain.AutoCheck, limit int) domain.AutoCheck {
	c.Limit = limit
	if c.Code == "low-risk" || c.Code == "too-many" {
		c.Code = "low-risk"
		if c.Changes > limit {
			c.Code = "too-many"
		}
	}
	c.LowRisk = c.Code == "low-risk"
	return c
}
