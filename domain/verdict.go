package domain

import "fmt"

// Answer is what policy says to a call. It is ordered: each is stricter than
// the one before, and the strictest finding stands.
type Answer int

// The three answers.
const (
	Act     Answer = iota // it happens now
	Propose               // it waits for a person
	Reject                // it does not happen
)

var answerNames = [...]string{"act", "propose", "refuse"}

// String is the word in the log and at the doors.
func (a Answer) String() string { return answerNames[a] }

// MarshalText writes the answer as its word.
func (a Answer) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads the word back.
func (a *Answer) UnmarshalText(text []byte) error {
	for i, name := range answerNames {
		if name == string(text) {
			*a = Answer(i)
			return nil
		}
	}
	return fmt.Errorf("no answer is called %q", text)
}

// Finding is what one rule says to one question.
type Finding struct {
	Rule   string `json:"rule"`
	Answer Answer `json:"answer"`
	Code   string `json:"code,omitempty"`   // a refusal's code, or the cause of a hold
	Reason string `json:"reason,omitempty"` // a sentence for people
}

// AutoCheck is what the low-risk rule measured on a publish: the versions it
// names against what is live.
type AutoCheck struct {
	Rule    string `json:"rule"` // low-risk-publish
	LowRisk bool   `json:"lowRisk"`
	Code    string `json:"code"` // nothing | removes-content | structure | too-many | low-risk
	Changes int    `json:"changes"`
	Limit   int    `json:"limit"`
}

// Verdict is the whole answer: what stands, why, and what the rules found. Those
// that found nothing are the rest of the rules of that revision.
type Verdict struct {
	Answer    Answer     `json:"answer"`
	Code      string     `json:"code,omitempty"`  // the refusal's code when the answer is refuse
	Cause     string     `json:"cause,omitempty"` // the hold's cause, kept when a yes lifted it
	Lifted    string     `json:"lifted,omitempty"`
	Reason    string     `json:"reason,omitempty"`
	AutoCheck *AutoCheck `json:"autoCheck,omitempty"`
	Rules     string     `json:"rules"`              // the revision of the rules that were asked
	Findings  []Finding  `json:"findings,omitempty"` // in the rules' order
}
