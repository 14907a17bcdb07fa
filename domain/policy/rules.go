package policy

import (
	"fmt"
	"slices"
	"strings"

	"assent/domain"
	"assent/domain/action"
)

// rule is one short function with a name. The order is that of ties: among
// refusals the first stands, among holds destructive, skill, tool, manual-mode.
type rule struct {
	name string
	says func(Question) domain.Finding
}

// revisions are the rules of every time: what was asked under one can be asked
// under it again. A change to what a rule says makes a new revision and keeps
// the old rule here.
var revisions = map[string][]rule{
	"rules-1": {
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
	},
	"rules-2": {
		{"paused", paused},
		{"person-only", personOnly},
		{"scope", scope},
		{"site", site},
		{"skill", skill},
		{"permission", permission},
		{"mode", mode},
		{"frozen", frozen},
		{"bypass", bypass},
		{"hold-destructive", holdDestructive},
		{"hold-skill", holdSkill},
		{LowRiskRule, holdPublish},
		{"hold-manual", holdManual},
		{"hold-rule", holdRule},
		{"hold-deciders", holdDeciders},
		{"hold-pace", holdPace},
		{"hold-outside", holdOutside},
		{"hold-gate", holdGate},
	},
	"rules-3": {
		{"paused", paused},
		{"person-only", personOnly},
		{"scope", scope},
		{"site", site},
		{"skill", skill},
		{"permission", permission},
		{"mode", mode},
		{"frozen", frozen},
		{"bypass", bypass},
		{"hold-destructive", holdDestructive},
		{"hold-skill", holdSkill},
		{"hold-changed-skill", holdChangedSkill},
		{LowRiskRule, holdPublish},
		{"hold-manual", holdManual},
		{"hold-rule", holdRule},
		{"hold-deciders", holdDeciders},
		{"hold-pace", holdPace},
		{"hold-outside", holdOutside},
		{"hold-gate", holdGate},
		{"hold-planned", holdPlanned},
	},
	Revision: rules,
}

var rules = []rule{
	{"paused", paused},
	{"person-only", onlyPeople},
	{"scope", reach},
	{"site", site},
	{"collection", collection},
	{"skill", skillReach},
	{"permission", permission},
	{"mode", mode},
	{"frozen", frozen},
	{"bypass", bypass},
	{"hold-destructive", holdDestructive},
	{"hold-skill", holdSkill},
	{"hold-changed-skill", holdChangedSkill},
	{LowRiskRule, holdPublish},
	{"hold-manual", holdManual},
	{"hold-rule", holdRule},
	{"hold-deciders", holdDeciders},
	{"hold-pace", holdPace},
	{"hold-outside", holdOutside},
	{"hold-gate", holdGate},
	{"hold-planned", holdPlanned},
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
	case q.Rules.Paused && writes(q):
		return refuse("paused", "All agents are paused on this site. A person can let them go on.")
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
	if governed(q) && writes(q) && q.Mode != "" && !q.Mode.Known() {
		return refuse("mode", "This agent's mode was set by a newer version of this server, and this one does not know it: until a person sets another, it reads and changes nothing.")
	}
	if governed(q) && writes(q) && !q.Planned && Effective(q.Mode, q.Local) == Plan {
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

func holdChangedSkill(q Question) domain.Finding {
	if q.Skill != nil && q.Skill.Changed && writes(q) && Effective(q.Mode, q.Local) != Bypass {
		return hold("skill", "The skill in use has changed since an owner looked at it.")
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

// frozen keeps everything as it is live. Only an owner, in person, may decide
// otherwise.
func frozen(q Question) domain.Finding {
	if q.Class != action.Publish && q.Action != "site.rollback" || !governed(q) && q.Role == Owner {
		return fine
	}
	f, now := q.Rules.Frozen(q.Now)
	if !now {
		return fine
	}
	return refuse("frozen", "Nothing goes live until %s. Ask again then; drafts can be worked on meanwhile.", f.Until.UTC().Format("2006-01-02 15:04 UTC"))
}

// watched says that holds apply beyond those of the mode itself.
func watched(q Question) bool {
	return governed(q) && writes(q) && Effective(q.Mode, q.Local) != Bypass
}

func holdRule(q Question) domain.Finding {
	if watched(q) && slices.Contains(q.Rules.Waits, q.Action) {
		return hold("project-rule", "The rules here say that this always waits for a person.")
	}
	return fine
}

// holdDeciders holds what takes more than one person, for people as well: a
// rule for two that one could walk around would be none.
func holdDeciders(q Question) domain.Finding {
	if q.Principal.Kind == domain.KindSystem || !writes(q) {
		return fine
	}
	if n := q.Rules.Deciders(string(q.Class)).Need(); n > 1 {
		return hold("project-rule", fmt.Sprintf("The rules here say that %d people decide about this.", n))
	}
	return fine
}

func holdPace(q Question) domain.Finding {
	if watched(q) && q.Principal.IsAgent() && q.Rules.Pace > 0 && q.Paced > q.Rules.Pace {
		return hold("many", fmt.Sprintf("This agent has changed %d different things within 10 minutes, and more than %d wait for a person.", q.Paced-1, q.Rules.Pace))
	}
	return fine
}

// holdOutside holds what somebody outside may have put an agent up to, unless
// it is low risk: a change to the draft of an article, or a low-risk publish.
func holdOutside(q Question) domain.Finding {
	if !q.Outside || !watched(q) || lowRisk(q) {
		return fine
	}
	return hold("outside-content", "The agent has read content from outside, so a person decides.")
}

func lowRisk(q Question) bool {
	switch q.Class {
	case action.Publish:
		return q.Check != nil && q.Check.LowRisk
	case action.Content:
		kind, _, _ := strings.Cut(q.Action, ".")
		return !Structural(kind)
	}
	return false
}

// holdGate holds what an agent may only ever ask for, such as reaching out of
// the house, or a freer mode for a while.
func holdPlanned(q Question) domain.Finding {
	if q.Planned && writes(q) {
		return hold("plan", "It is part of a plan that was filed for a person to decide.")
	}
	return fine
}

func holdGate(q Question) domain.Finding {
	if q.Gate != "" && governed(q) {
		return hold("gate", q.Gate)
	}
	return fine
}
