package commands

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/agent"
	"assent/domain/person"
	"assent/domain/policy"
	"assent/domain/vocab"
	"assent/domain/workspace"
)

// identify reads from the log what the caller may do: agent, key, person and
// the workspace's rules. Their versions become checks of the append, so a key
// that is revoked meanwhile stops it. A log that is not Atomic looks at them
// once more directly before it writes; what is revoked between that look and
// the write comes too late, and this is the only window there is.
func (t *trip) identify() error {
	settings, err := t.depend(workspace.Ref)
	if err != nil {
		return err
	}
	ws := settings.state.(workspace.Workspace)
	a := &t.authority
	a.pausedAgents, a.rules, a.undo, a.person = ws.Paused, ws.Rules, ws.UndoWindow(), t.call.Person

	switch who := t.call.Principal; {
	case who.Kind == domain.KindSystem:
		return nil
	case who.IsAgent() && isAgentID(who.ID):
		err = t.identifyAgent(who.ID)
	case t.call.Via.Local != "":
		err = t.identifyLocal(who.ID)
	case who.IsAgent():
		err = unknownCaller
	}
	if err != nil {
		return err
	}
	if t.call.Joined {
		a.mode = policy.Stricter(a.mode, ws.Local())
	}
	return t.seat()
}

// identifyLocal lets a local process be its user, or the person it works for.
func (t *trip) identifyLocal(id string) error {
	a := &t.authority
	if id != "local:"+t.call.Via.Local && id != a.person {
		return unknownCaller
	}
	a.mode, a.scopes, a.site = policy.Effective(t.call.Mode, true), t.call.Scopes, t.call.Site
	if a.scopes == nil {
		a.scopes = policy.Scopes
	}
	return nil
}

// identifyAgent reads what an agent may do through its key, or as a local
// process that works as it.
func (t *trip) identifyAgent(id string) error {
	loaded, err := t.depend(action.Ref{Category: agent.Kind.Category, ID: id})
	if err != nil {
		return err
	}
	ag := loaded.state.(agent.Agent)
	a := &t.authority
	a.agent, a.person, a.site, a.collection, a.pausedAgent = ag, ag.Person, ag.Site, ag.Collection, ag.Paused
	if t.call.Via.Local != "" && t.call.Via.Key == "" {
		if ag.Person == "" {
			return unknownCaller
		}
		a.mode, a.scopes, a.site = policy.Stricter(ag.ModeAt(t.now), t.call.Mode), policy.Narrowed(ag.Scopes, t.call.Scopes), cmp.Or(ag.Site, t.call.Site)
		return nil
	}
	mode, scopes, ok := ag.Allows(t.call.Via.Key, t.now)
	if !ok {
		_ = t.find() // what it asked for is worth recording
		return domain.Refuse("revoked", "This key was revoked or is over. Ask your owner for a new one.")
	}
	at, _ := ag.Bounds(t.call.Via.Key)
	a.mode, a.scopes, a.site, a.collection = mode, scopes, at.Site, at.Collection
	return nil
}

// seat reads the role of the person behind. A local caller before set-up has
// nobody behind it and works as the owner will.
func (t *trip) seat() error {
	if t.authority.person == "" {
		if t.call.Via.Local != "" {
			t.authority.role = policy.Owner
		}
		return nil
	}
	seat, err := t.depend(action.Ref{Category: person.Kind.Category, ID: t.authority.person})
	if err != nil {
		return err
	}
	t.authority.role = seat.state.(person.Person).Role
	return nil
}

// admit ends a call that its door turned away, under the name it has here, if
// it has one.
func (t *trip) admit() error {
	if t.call.Refusal == nil {
		return nil
	}
	_ = t.find() // it goes nowhere either way
	return t.call.Refusal
}

// find looks the action up. What is not in the registry does not exist.
func (t *trip) find() error {
	if !strings.Contains(t.call.Action, ".") { // asked for by its tool name
		t.call.Action = strings.Replace(t.call.Action, "_", ".", 1)
	}
	a, ok := t.road.Registry.Find(t.call.Action)
	switch {
	case ok:
		t.action = a
		return nil
	case action.NeverListed(t.call.Action):
		return domain.Refuse("never", "This is never done here, by nobody's permission.")
	}
	return domain.Refuse("unknown-action", "There is no such action. Look at the list of tools for what can be asked.")
}

// read checks the arguments and gives the call its id.
func (t *trip) read() error {
	cmd, err := t.action.Parse(t.call.Args)
	if err != nil {
		return err
	}
	if signed, ok := cmd.Args.(interface{ SignedBy(domain.Principal) any }); ok {
		cmd.Args = signed.SignedBy(t.call.Principal)
	}
	if noted, ok := cmd.Args.(action.Noted); ok && noted.Words() != "" {
		if cmd.Reason == "" {
			cmd.Reason = noted.Words()
		}
		cmd.Args = noted.Wordless()
		if cmd.Raw, err = action.Canonical(cmd.Args); err != nil {
			return err
		}
	}
	t.cmd = cmd
	if cmd.ConfirmToken != "" {
		return domain.Refuse("not-a-person", "Nothing is confirmed in an agent's own client here. Leave `confirm_token` out: what has to wait is then filed, and a person decides in the console.")
	}
	switch {
	case t.derived:
	case cmd.CommandID != "" && !cmd.DryRun:
		t.commanded = true
		t.id = domain.ActionFor(t.call.Workspace, t.call.Principal.String(), t.action.Name, cmd.CommandID)
	case t.id == "": // otherwise it is taken again
		t.id = domain.NewAction(t.now)
	}
	return t.sign()
}

var plainID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$`)

// look asks whether the person behind may see what the call is about, before
// anything about it can be told. A read is answered here.
func (t *trip) look() error {
	id := t.action.Target(t.cmd.Args)
	if id != "" && !plainID.MatchString(id) {
		return nothing
	}
	if !t.action.Writes() {
		return t.answerRead()
	}
	if id == "" {
		t.fresh = !t.derived
		if t.target == "" {
			t.target = string(domain.NewID(t.action.Kind.Prefix, t.now))
		}
		id = t.target
	}
	t.stream = t.streamOf(action.Ref{Category: t.action.Kind.Category, ID: id})
	if t.authority.role != "" && !t.authority.role.May("content.read") {
		return nothing
	}
	return nil
}

func (t *trip) answerRead() error {
	if err := t.bounded(); err != nil {
		return err
	}
	if err := t.ask(); err != nil {
		return err
	}
	t.narrowed()
	answer, ok := t.road.Answers[t.action]
	if !ok {
		return fmt.Errorf("nobody answers %s", t.action.Name)
	}
	head, err := t.road.Log.Head(t.ctx)
	if err != nil {
		return err
	}
	got, err := answer(t.ctx, t.asker(head.Position), t.cmd.Args)
	if err != nil {
		return err
	}
	t.answer = &Outcome{Outcome: Done, Answer: &got, Proposal: got.Proposal}
	t.road.conduct.read(t)
	return nil
}

func (t *trip) asker(head domain.Position) Asker {
	who := Asker{Workspace: t.call.Workspace, Principal: t.call.Principal, Person: t.authority.person, Head: head}
	if t.authority.mode != "" {
		who.Agent = &Limits{
			Mode:   string(policy.Effective(t.authority.mode, t.call.Via.Local != "")),
			Scopes: t.authority.scopes,
			Site:   t.authority.site,
			Paused: t.authority.pausedAgent || t.authority.pausedAgents,

			Collection: t.authority.collection,
			Key:        t.keyEnds(),
		}
	}
	return who
}

// rehearse decides without appending: the events, the state they lead to, and
// what a person would see change. A decision's refusal is kept for ask, since
// what policy refuses, it refuses first.
func (t *trip) rehearse() (err error) {
	if t.commanded {
		if err := t.sameCommand(); err != nil || t.answer != nil {
			return err
		}
	}
	if t.thing, err = t.subject(); err != nil {
		return err
	}
	if t.shared() {
		if err := t.sameAction(t.stream, t.begun); err != nil || t.answer != nil {
			return err
		}
	}
	if err := t.fill(); err != nil {
		return err
	}
	if rev, ok := t.cmd.Args.(action.Revised); ok {
		if v, given := rev.Against(); given && v != t.thing.version && t.thing.version > 0 {
			return t.decided(domain.Refuse("stale", "It has moved on since you read it: it is at rev %d, not %d. Read it again and redo your change.", t.thing.version, v))
		}
	}
	if err := t.learn(); err != nil {
		return err
	}
	if err := t.pin(); err != nil {
		return err
	}
	if t.events, err = t.action.Decide(t.thing.state, t.cmd.Args, t.known); err != nil {
		return t.decided(err)
	}
	if err := t.evolve(); err != nil {
		return t.decided(err)
	}
	if err := t.housed(); err != nil {
		return t.decided(err)
	}
	return nil
}

// shared says that others may be doing this very thing, under the same ids, or
// did some of it: what they did is looked for once the target was read, so
// that whatever comes later is a conflict.
func (t *trip) shared() bool { return t.derived || t.begun > 0 || t.partly }

// subject is the thing the call would change. One whose id was only just made
// up needs no looking for: the append sees to it that there is none.
func (t *trip) subject() (thing, error) {
	if t.fresh {
		zero, err := t.action.Kind.Fold(nil)
		return thing{stream: t.stream, state: zero}, err
	}
	return t.road.things.load(t.ctx, t.stream)
}

// fill names what a left-out list stands for.
func (t *trip) fill() error {
	f, ok := t.cmd.Args.(action.Filler)
	if !ok {
		return nil
	}
	site, missing := f.Missing()
	if !missing {
		return nil
	}
	head, err := t.road.Log.Head(t.ctx)
	if err != nil {
		return err
	}
	pending, err := t.road.Pending.Pending(t.ctx, t.call.Workspace, site, head.Position)
	if err != nil {
		return err
	}
	if pending, err = t.reachable(pending); err != nil {
		return err
	}
	t.cmd.Args = f.Filled(pending)
	t.cmd.Raw, err = action.Canonical(t.cmd.Args)
	return err
}

// learn reads what the decision needs to know of other things.
func (t *trip) learn() error {
	t.known = action.Known{}
	for range 4 { // a decision may learn what to ask next, not for ever
		news := false
		for _, ref := range t.action.Needs(t.thing.state, t.cmd.Args, t.known) {
			if _, knows := t.known[ref]; knows {
				continue
			}
			if !plainID.MatchString(ref.ID) {
				return t.decided(nothing)
			}
			loaded, err := t.depend(ref)
			if err != nil {
				return err
			}
			t.known[ref], news = t.road.things.known(t.ctx, loaded), true
		}
		if !news {
			break
		}
	}
	return nil
}

// pin names the versions that arguments left to be the latest, so that what is
// shown, filed and approved is what will be done.
func (t *trip) pin() (err error) {
	if p, ok := t.cmd.Args.(action.Pinner); ok {
		t.cmd.Args = p.Pinned(t.known)
		t.cmd.Raw, err = action.Canonical(t.cmd.Args)
	}
	return err
}

// evolve says the events to the state and sees what they change.
func (t *trip) evolve() (err error) {
	t.after = t.thing.state
	for _, e := range t.events {
		if t.after, err = t.action.Kind.Evolve(t.after, e); err != nil {
			return err
		}
	}
	if size := sizeOf(t.after); size > MaxState && t.action.Class == action.Content {
		return domain.Refuse("limit", "This would make it %d bytes; at most %d are kept. Split it.", size, MaxState)
	}
	if s, ok := t.after.(action.Sound); ok {
		if err := s.Sound(); err != nil {
			return err
		}
	}
	t.changes = t.road.changes(t)
	t.claims, err = t.road.claim(t.ctx, t.now, t.stream, t.thing.state, t.after)
	return err
}

// sizeOf is how long a state is as the log would spell it.
func sizeOf(s domain.State) int {
	text, err := vocab.Text(s)
	if err != nil {
		return 0
	}
	return len(text)
}

// decided keeps a decision's no until policy was asked.
func (t *trip) decided(err error) error {
	if _, meant := errors.AsType[*domain.Refusal](err); !meant {
		return err
	}
	if asked := t.ask(); asked != nil {
		return asked
	}
	return err
}

// ask puts the question to the policy, and keeps both.
func (t *trip) ask() error {
	a := &t.authority
	here, err := t.rulesOf(t.site())
	if err != nil {
		return err
	}
	paced, err := t.paced(here)
	if err != nil {
		return err
	}
	t.question = policy.Question{
		Now:          t.now,
		Principal:    t.call.Principal,
		Local:        t.call.Via.Local != "",
		Action:       t.action.Name,
		Class:        t.action.Class,
		Scope:        t.action.Scope,
		Permission:   t.action.Permission,
		Site:         t.site(),
		Mode:         a.mode,
		Scopes:       a.scopes,
		OnlySite:     a.site,
		Role:         a.role,
		PausedAgents: a.pausedAgents,
		PausedAgent:  a.pausedAgent,
		Rules:        here,
		Paced:        paced,
		Outside:      t.call.Outside,
		Gate:         t.action.Gate,
		Planned:      t.call.Planned,
		Yes:          t.yes,
	}
	if t.question.Skill, err = t.declared(); err != nil {
		return err
	}
	if err := t.reach(&t.question); err != nil {
		return err
	}
	if t.action.Class == action.Publish && policy.Effective(a.mode, t.question.Local) == policy.Auto {
		check := policy.LowRisk(t.changes, here.Limit())
		t.question.Check = &check
	}
	t.verdict = policy.Ask(t.question)
	if t.verdict.Answer == domain.Propose {
		if err := t.standing(); err != nil {
			return err
		}
	}
	if t.verdict.Answer == domain.Reject && !(t.cmd.DryRun && t.verdict.Code == "mode") {
		return domain.Refuse(t.verdict.Code, "%s", t.verdict.Reason)
	}
	return nil
}

// site is the site a call is about, as far as it is known by now.
func (t *trip) site() string {
	for _, s := range []domain.State{t.after, t.thing.state} {
		if placed, ok := s.(action.Placed); ok {
			if site, _ := placed.Place(); site != "" {
				return site
			}
		}
	}
	if on, ok := t.cmd.Args.(interface{ OnSite() string }); ok {
		return on.OnSite()
	}
	switch t.stream.Category {
	case "site", "live":
		return t.stream.ID
	}
	return ""
}

// depend loads a thing and makes its version a check of the append.
func (t *trip) depend(ref action.Ref) (thing, error) {
	s := t.streamOf(ref)
	loaded, err := t.road.things.load(t.ctx, s)
	if err != nil {
		return thing{}, err
	}
	t.checks[s] = loaded.version
	return loaded, nil
}

var unknownCaller = domain.Refuse("unauthorised", "This caller is not known here.")

func isAgentID(id string) bool { return domain.ID(id).Kind() == agent.Kind.Prefix }
