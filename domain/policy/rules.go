package policy

import (
	"fmt"
	"slices"

	"assent/domain"
	"assent/domain/action"
)

// rule is one short function with a name. The order is that of ties: among
// refusals the first stands, among holds destructive, skill, tool, manual-mode.
type rule struct {
	name string
	says func(Question) domain.Finding
}

var rules = []rule{
	{"paused", paused},
	{"person-only", personOnly},
	{"scope", scope},
	{"site", site},
	{"skill", skill},
	{"permission", permission},
	{"mode", mode},
	{"bypass", bypass},
	{"hold-destructive", holdDestructive},
	{"hold-skill", holdSkill},
	{LowRiskRule, holdPublish},
	{"hold-manual", holdManual},
}

var fine domain.Finding

func refuse(code, format string, args ...any) domain.Finding {
	return domain.Finding{Answer: domain.Reject, Code: code, Reason: fmt.Sprintf(format, args...)}
}

func hold(cause, reason string) domain.Finding {
	return domain.Finding{Answer: domain.Propose, Code: cause, Reason: reason}
}

// writes says that a call is one that modes are about.
func writes(q Question) bool {
	return q.Class == action.Content || q.Class == action.Publish || q.Class == action.Destructive
}

// governed says that modes and scopes apply: to agents and local callers, not
// to a person at the console.
func governed(q Question) bool { return q.Principal.IsAgent() || q.Local }

func paused(q Question) domain.Finding {
	switch {
	case !q.Principal.IsAgent():
		return fine
	case q.PausedAgents:
		return refuse("paused", "All agents are paused in this workspace. A person can let them go on.")
	case q.PausedAgent:
		return refuse("paused", "This agent is paused. Its owner can let it go on.")
	}
	return fine
}

func personOnly(q Question) domain.Finding {
	if q.Class == action.People && (q.Principal.IsAgent() || q.Local) {
		return refuse("person-only", "Only a signed-in person does this. Ask your owner to do it in the console.")
	}
	return fine
}

func scope(q Question) domain.Finding {
	if !governed(q) || q.Scope == "any" || slices.Contains(q.Scopes, q.Scope) {
		return fine
	}
	return refuse("scope", "This needs `%s`, which this key does not have. Ask your owner for it, or do without.", q.Scope)
}

func site(q Question) domain.Finding {
	if q.OnlySite == "" || q.Site == "" || q.Site == q.OnlySite {
		return fine
	}
	return refuse("scope", "This agent works on the site %q only.", q.OnlySite)
}

func skill(q Question) domain.Finding {
	switch {
	case q.Skill == nil:
		return fine
	case !q.Skill.Known:
		return refuse("skill", "There is no such skill here. Leave it out, or use one that is listed.")
	case q.Scope != "any" && !slices.Contains(q.Skill.Scopes, q.Scope):
		return refuse("skill", "The skill %q does not reach this (it needs `%s`).", q.Skill.Name, q.Scope)
	}
	return fine
}

func permission(q Question) domain.Finding {
	switch {
	case q.Principal.Kind == domain.KindSystem:
		return fine
	case q.Role == "":
		return refuse("permission", "The person behind this call has no seat in this workspace.")
	case !q.Role.May(q.Permission):
		return refuse("permission", "The %s behind this call may not do this (it needs `%s`).", q.Role, q.Permission)
	}
	return fine
}

func mode(q Question) domain.Finding {
	if governed(q) && writes(q) && Effective(q.Mode, q.Local) == Plan {
		return refuse("mode", "This agent is in plan mode: it reads, previews and rehearses, and changes nothing.")
	}
	return fine
}

// bypass keeps a claim that does not count: a remote caller has no bypass.
func bypass(q Question) domain.Finding {
	if q.Mode == Bypass && !q.Local {
		return domain.Finding{Code: "bypass-is-local", Reason: "Bypass exists only for local callers; this call was treated as edits."}
	}
	return fine
}

func holdDestructive(q Question) domain.Finding {
	if governed(q) && q.Class == action.Destructive && Effective(q.Mode, q.Local) != Bypass {
		return hold("destructive", "It takes something away, so a person decides.")
	}
	return fine
}

func holdSkill(q Question) domain.Finding {
	if q.Skill != nil && writes(q) && slices.Contains(q.Skill.Approval, q.Action) && Effective(q.Mode, q.Local) != Bypass {
		return hold("skill", "The skill in use asks for a person here.")
	}
	return fine
}

func holdPublish(q Question) domain.Finding {
	if !governed(q) || q.Class != action.Publish {
		return fine
	}
	switch m := Effective(q.Mode, q.Local); {
	case m == Bypass:
		return fine
	case m != Auto:
		return hold("tool", "Publishing waits for a person.")
	case q.Check != nil && q.Check.LowRisk:
		return fine
	case q.Check != nil:
		return hold("tool", whyNot(*q.Check))
	}
	return hold("tool", "Publishing waits for a person.")
}

func whyNot(c domain.AutoCheck) string {
	switch c.Code {
	case "removes-content":
		return "It takes content off the site, so a person decides."
	case "structure":
		return "It changes pages or the site's settings, so a person decides."
	case "too-many":
		return fmt.Sprintf("It changes %d things at once, more than the %d that may go live by themselves, so a person decides.", c.Changes, c.Limit)
	}
	return "Publishing waits for a person."
}

func holdManual(q Question) domain.Finding {
	if governed(q) && writes(q) && Effective(q.Mode, q.Local) == Manual {
		return hold("manual-mode", "In manual mode a person decides about every change.")
	}
	return fine
}
