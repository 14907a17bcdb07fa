package domain

import "fmt"

// Refusal is a meant no: a stable code and a sentence a project manager would
// write. Anything else that goes wrong is a fault.
//
// The codes are those of the contract (§7); a sentence says what to do next.
type Refusal struct {
	Code   string `json:"code"`
	Reason string `json:"reason"`
}

// Error is the sentence, so a refusal can travel as an error.
func (r *Refusal) Error() string { return r.Reason }

// Is makes two refusals with one code the same to errors.Is.
func (r *Refusal) Is(target error) bool {
	t, ok := target.(*Refusal)
	return ok && t.Code == r.Code
}

// Refuse is a no with a code and a sentence.
func Refuse(code, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Reason: fmt.Sprintf(format, args...)}
}
