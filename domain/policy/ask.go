package policy

import (
	"slices"
	"time"

	"assent/domain"
	"assent/domain/action"
)

// Revision names the present rules. A verdict carries it, so that "the rules
// that said act" can be read as a set.
const Revision = "rules-4"

// Question is everything the rules may look at: values, nothing fetched. It is
// recorded with the verdict, so that the answer can be asked for again.
type Question struct {
	Now       time.Time        `json:"now"`
	Principal domain.Principal `json:"principal"`
	Local     bool             `json:"local,omitempty"` // came from this machine's own user

	Action     string       `json:"action"`
	Class      action.Class `json:"class"`
	Scope      string       `json:"scope"`
	Permission string       `json:"permission"`
	Site       string       `json:"site,omitempty"` // that the target is on

	Mode         Mode     `json:"mode,omitempty"`     // as stored; empty for a person at the console
	Scopes       []string `json:"scopes,omitempty"`   // what agent and key both have
	OnlySite     string   `json:"onlySite,omitempty"` // the one site the agent is for
	Role         Role     `json:"role,omitempty"`     // of the person behind; empty without a seat
	PausedAgents bool     `json:"pausedAgents,omitempty"`
	PausedAgent  bool     `json:"pausedAgent,omitempty"`

	OnlyCollection string `json:"onlyCollection,omitempty"` // the one collection of articles the agent is for
	Stray          bool   `json:"stray,omitempty"`          // it is about something outside that collection
	Own            bool   `json:"own,omitempty"`            // everything it is about was made by the agent or its person, as far as that counts
	Tightens       bool   `json:"tightens,omitempty"`       // it only takes something away from programs

	Rules   Rules  `json:"rules,omitzero"`    // of the workspace and the site, where they say something
	Paced   int    `json:"paced,omitempty"`   // different things the agent has changed in PaceWindow, with this one
	Outside bool   `json:"outside,omitempty"` // influenced by content from outside
	Gate    string `json:"gate,omitempty"`    // why an agent may only ever ask for this
	Planned bool   `json:"planned,omitempty"` // part of a plan that is filed for a person

	Skill *Skill            `json:"skill,omitempty"`
	Check *domain.AutoCheck `json:"autoCheck,omitempty"` // of a publish in auto mode
	Yes   *Yes              `json:"yes,omitempty"`
}

// Skill is a declared way of working: it narrows a call and may ask for a
// person, and never widens.
type Skill struct {
	Name     string   `json:"name"`
	Known    bool     `json:"known"`
	Digest   string   `json:"digest,omitempty"`
	Scopes   []string `json:"scopes,omitempty"`
	Approval []string `json:"approval,omitempty"` // actions it wants a person for
	Changed  bool     `json:"changed,omitempty"`  // since an owner looked at it
}

// Yes is what lifts a hold. The three kinds are never mixed.
type Yes struct {
	Kind   string   `json:"kind"` // approval | confirmation | standing
	By     string   `json:"by"`
	ID     string   `json:"id,omitempty"`     // of the standing approval
	Causes []string `json:"causes,omitempty"` // of the holds it lifts; nil: all, which only an approval does
}

// lifts says that a yes is enough for every hold among some findings. What it
// does not name, it does not lift.
func (y Yes) lifts(q Question, findings []domain.Finding) bool {
	switch {
	case y.Kind == Approval:
		return true
	case y.Kind == Confirmation && !confirmable(q):
		return false
	}
	return !slices.ContainsFunc(findings, func(f domain.Finding) bool {
		return f.Answer == domain.Propose && !y.names(f.Code)
	})
}

// names says that a yes is about holds with this cause.
func (y Yes) names(cause string) bool {
	return slices.Contains(y.Causes, cause) && (y.Kind != Confirmation || slices.Contains(Confirmable, cause))
}

// The kinds of yes.
const (
	Approval     = "approval"     // of a signed-in person, for this very call
	Confirmation = "confirmation" // through the agent's own client
	Standing     = "standing"     // of a person, in advance
)

// Ask asks every rule, keeps what each finds, and lets the strictest stand. No
// rule can loosen what another tightened; their order only breaks ties. A yes
// lifts a hold, never a refusal.
func Ask(q Question) domain.Verdict { return ask(Revision, rules, q) }

// AskAgain asks under the rules of another time, by the revision a verdict
// carries. It is false for a revision this program does not know.
func AskAgain(revision string, q Question) (domain.Verdict, bool) {
	old, known := revisions[revision]
	if !known {
		return domain.Verdict{}, false
	}
	return ask(revision, old, q), true
}

// Passed are the rules that were asked and found nothing, by name. There are
// none for a verdict of rules this program does not know.
func Passed(v domain.Verdict) (names []string) {
	for _, r := range revisions[v.Rules] {
		if !slices.ContainsFunc(v.Findings, func(f domain.Finding) bool { return f.Rule == r.name }) {
			names = append(names, r.name)
		}
	}
	return names
}

func ask(revision string, rules []rule, q Question) domain.Verdict {
	v := domain.Verdict{Rules: revision, AutoCheck: q.Check}
	for _, r := range rules {
		f := r.says(q)
		if f.Answer == domain.Act && f.Code == "" {
			continue
		}
		f.Rule = r.name
		v.Findings = append(v.Findings, f)
		if f.Answer > v.Answer {
			v.Answer, v.Reason = f.Answer, f.Reason
			v.Code, v.Cause = "", ""
			if f.Answer == domain.Reject {
				v.Code = f.Code
			} else {
				v.Cause = f.Code
			}
		}
	}
	if q.Yes != nil && v.Answer == domain.Propose && q.Yes.lifts(q, v.Findings) {
		v.Answer, v.Lifted = domain.Act, q.Yes.Kind
	}
	return v
}
