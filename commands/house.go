package commands

import (
	"errors"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/agent"
	"assent/domain/pace"
	"assent/domain/person"
	"assent/domain/policy"
	"assent/domain/rules"
	"assent/domain/skill"
)

// rulesOf are the rules that hold on a site: the workspace's and its own, of
// two the stricter. The workspace's pause is asked about by itself.
func (t *trip) rulesOf(site string) (policy.Rules, error) {
	r := t.authority.rules
	r.Paused = false
	if site == "" || !t.action.Writes() || !plainID.MatchString(site) {
		return r, nil
	}
	at, err := t.depend(rules.Of(site))
	if err != nil {
		return policy.Rules{}, err
	}
	return r.With(at.state.(rules.Rules).Rules), nil
}

// paced is how many different things the agent will have changed lately, once
// this one is; 0 where nobody counts.
func (t *trip) paced(r policy.Rules) (int, error) {
	if r.Pace == 0 || !t.call.Principal.IsAgent() || !t.action.Writes() || t.action.Class == action.Oneself || t.stream.ID == "" {
		return 0, nil
	}
	at, err := t.depend(pace.Of(t.call.Principal.ID))
	if err != nil {
		return 0, err
	}
	return at.state.(pace.Pace).With(t.stream.String(), t.now), nil
}

// spent is what an agent's pace is counted by, where it is.
func (t *trip) spent() ([]Write, error) {
	if t.question.Paced == 0 {
		return nil, nil
	}
	word, revision, data, err := t.road.Words.Spell(pace.Spent{Thing: t.stream.String(), At: t.now})
	if err != nil {
		return nil, err
	}
	s := t.streamOf(pace.Of(t.call.Principal.ID))
	return []Write{{s, t.checks[s], []domain.Fresh{{
		ID: domain.Derive("evt", string(t.id), "pace"), Word: word, Revision: revision, Envelope: t.envelope(), Data: data,
	}}}}, nil
}

// standing asks again with a yes that a person gave in advance, if there is one
// that fits. Its maker must still be somebody who may do this and decide on it.
func (t *trip) standing() error {
	if t.yes != nil || t.action.Class != action.Content || t.action.Final || t.call.Via.Key == "" {
		return nil
	}
	q, ok, err := inAdvance(t.question, t.authority.agent, t.call.Via.Key, func(maker string) (policy.Role, error) {
		seat, err := t.depend(action.Ref{Category: person.Kind.Category, ID: maker})
		if err != nil {
			return "", err
		}
		return seat.state.(person.Person).Role, nil
	})
	if err != nil || !ok {
		return err
	}
	if v := policy.Ask(q); v.Answer == domain.Act {
		t.question, t.verdict = q, v
	}
	return nil
}

// declared is the skill that a call says it works by, as its files are now. Of a
// name that means nothing here nothing is kept: it is only the caller's word.
func (t *trip) declared() (*policy.Skill, error) {
	if t.call.Skill == "" {
		return nil, nil
	}
	if t.road.Skills == nil {
		return &policy.Skill{}, nil
	}
	found, err := t.road.Skills.Skill(t.ctx, t.call.Workspace, t.call.Skill)
	if _, meant := errors.AsType[*domain.Refusal](err); meant {
		return &policy.Skill{}, nil
	}
	if err != nil {
		return nil, err
	}
	said, err := t.depend(action.Ref{Category: skill.Kind.Category, ID: found.Name})
	if err != nil {
		return nil, err
	}
	found.Changed = said.state.(skill.Skill).Changed(found.Digest)
	return &found, nil
}

// inAdvance is a question with the yes that somebody gave an agent's key in
// advance, where there is one that fits and its maker still has a role that
// may do this and decide on it.
func inAdvance(q policy.Question, a agent.Agent, key string, role func(maker string) (policy.Role, error)) (policy.Question, bool, error) {
	id, made, ok := a.Standing(q.Action, key, q.Site, q.Rules, q.Now)
	if !ok {
		return q, false, nil
	}
	if r, err := role(made.By); err != nil || !r.May("decide") || !r.May(q.Permission) {
		return q, false, err
	}
	q.Yes = &policy.Yes{Kind: policy.Standing, By: made.By, ID: id, Causes: standingLifts}
	return q, true, nil
}

// standingLifts are the holds that a yes in advance lifts.
var standingLifts = []string{"manual-mode", "project-rule"}

// sign fills in what only the road knows of whoever lends or asks to be lent.
func (t *trip) sign() error {
	if lends, ok := t.cmd.Args.(interface{ Signed(agent.Signature) any }); ok {
		t.cmd.Args = lends.Signed(agent.Signature{By: t.call.Principal, Now: t.now, ID: t.id})
	}
	about, ok := t.cmd.Args.(agent.Advance)
	if !ok {
		return nil
	}
	place, err := t.rulesOf(about.Place())
	if err != nil {
		return err
	}
	var facts *action.Facts
	if a, ok := t.road.Registry.Find(about.About()); ok {
		facts = &a.Facts
	}
	t.cmd.Args = about.Told(facts, place)
	return nil
}
