package policy

import (
	"slices"
	"strings"

	"assent/domain"
)

// Own ends a scope's narrower form: it reaches only what the agent, or the
// person behind it, made.
const Own = ":own"

// Reaches says that some scopes are enough for what needs one. Their own forms
// are when everything it is about is the caller's own.
func Reaches(scopes []string, need string, own bool) bool {
	return slices.Contains(scopes, need) || own && slices.Contains(scopes, need+Own)
}

// OwnOnly says that some scopes are enough for what needs one as far as it is
// about the caller's own, and no further.
func OwnOnly(scopes []string, need string) bool {
	return !slices.Contains(scopes, need) && slices.Contains(scopes, need+Own)
}

// Narrowed is what of some scopes is left when only these may be used: all of
// them for nil, none for an empty list. Of a scope and its own form, the own
// form is left.
func Narrowed(scopes, only []string) []string {
	if only == nil {
		return scopes
	}
	left := []string{}
	for _, s := range scopes {
		switch wide, isOwn := strings.CutSuffix(s, Own); {
		case slices.Contains(only, s), isOwn && slices.Contains(only, wide):
		case slices.Contains(only, s+Own):
			s += Own
		default:
			continue
		}
		if !slices.Contains(left, s) {
			left = append(left, s)
		}
	}
	return left
}

// wide are actions about more than any one collection of articles.
var wide = []string{
	"page.list", "page.get", "page.create", "page.update", "page.remove",
	"site.create", "site.update", "site.rollback",
}

// Wide says that an action is about more than any one collection of articles,
// whatever it is asked about: who is for one has no use of it.
func Wide(action string) bool { return slices.Contains(wide, action) }

// taking says that a local person only takes something away from programs. That
// needs no signing in: whoever runs things here could stop the server as well.
func taking(q Question) bool { return q.Tightens && !q.Principal.IsAgent() }

func onlyPeople(q Question) domain.Finding {
	if taking(q) {
		return fine
	}
	return personOnly(q)
}

func reach(q Question) domain.Finding {
	switch {
	case !governed(q) || taking(q) || q.Scope == "any" || Reaches(q.Scopes, q.Scope, q.Own):
		return fine
	case OwnOnly(q.Scopes, q.Scope):
		return refuse("scope", "This key has `%s` only for what this agent or the person behind it made, and this is something else. Leave it as it is, or ask your owner.", q.Scope)
	}
	return scope(q)
}

func collection(q Question) domain.Finding {
	if q.OnlyCollection == "" || !q.Stray {
		return fine
	}
	return refuse("scope", "This agent works on the articles of the collection %q only.", q.OnlyCollection)
}

func skillReach(q Question) domain.Finding {
	if q.Skill != nil && q.Skill.Known && q.Scope != "any" && Reaches(q.Skill.Scopes, q.Scope, q.Own) {
		return fine
	}
	return skill(q)
}
