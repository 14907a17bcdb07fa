package commands

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/agent"
	"assent/domain/conduct"
	"assent/domain/pace"
	"assent/domain/person"
	"assent/domain/policy"
	"assent/domain/proposal"
)

// Simulation asks what would have come of what was asked, had something been
// otherwise.
type Simulation struct {
	Workspace string        `json:"workspace"`
	If        policy.WhatIf `json:"if"`
	Agent     string        `json:"agent,omitempty"` // only of this agent; empty: of everybody
	Since     time.Time     `json:"since,omitzero"`  // from then on
	Until     time.Time     `json:"until,omitzero"`  // before then

	// Review leaves out all but what was done, still stands, and would wait or be
	// refused now.
	Review bool `json:"review,omitempty"`

	// Advance is a yes in advance that might have been there; only what it is
	// about is asked again.
	Advance *Advance `json:"advance,omitempty"`
}

// Advance is what a person might say yes to in advance.
type Advance struct {
	Agent  string `json:"agent"`
	Key    string `json:"key"`
	Action string `json:"action"`
	Site   string `json:"site"`
}

// about says that a question is one that the yes would be about.
func (a *Advance) about(q policy.Question, e domain.Envelope) bool {
	return a == nil || e.Principal.IsAgent() && e.Principal.ID == a.Agent && e.Via.Key == a.Key && q.Action == a.Action && q.Site == a.Site
}

// Simulated is one action that would have come out differently.
type Simulated struct {
	Action    domain.ID        `json:"action"`
	Position  Position         `json:"position"`
	At        time.Time        `json:"at"`
	Name      string           `json:"name"`
	Principal domain.Principal `json:"principal"`
	Person    string           `json:"person,omitempty"`
	Mode      string           `json:"mode,omitempty"` // it was asked in
	Site      string           `json:"site,omitempty"`
	Target    *Target          `json:"target,omitempty"`
	Was       string           `json:"was"`             // done, waiting, refused or idle
	Would     string           `json:"would"`           // the same words, or unknown
	Cause     string           `json:"cause,omitempty"` // why it would wait, or the code of the refusal
	Reason    string           `json:"reason,omitempty"`
	Yes       *policy.Yes      `json:"yes,omitempty"` // in advance, that would have let it through
}

// Happened says that it was done, and would wait or be refused now: somebody may
// want to look at it.
func (s Simulated) Happened() bool { return s.Was == Done && s.Would != Done }

// Totals are what was asked again, and how it came out.
type Totals struct {
	Asked    int                       `json:"asked"`              // questions that were asked again
	Came     map[string]map[string]int `json:"came"`               // was → would → how many, those alike included
	Differ   int                       `json:"differ"`             // that came out differently
	Unknown  int                       `json:"unknown,omitempty"`  // publishes that nobody measured
	Carried  int                       `json:"carried,omitempty"`  // what was carried out after a person's yes: it follows from its asking
	SummedUp int                       `json:"summedUp,omitempty"` // refusals and idle calls of which only a count was kept
}

// simulatedPage is how many events are read at once.
const simulatedPage = 500

// Simulate asks every recorded question of a time again, as it would have been
// asked, under the present rules of the house, and calls each with every action
// that would have come out differently, oldest first. What needs no more than a
// page of the log and the agents' own streams is kept in memory.
//
// It answers what the rules would have said. Whether the change itself would
// have been refused is not decided again, and nothing follows from what would
// have been otherwise but an agent's pace. An approval is not asked again: what
// was carried out after it follows from its asking.
//
// Nothing is written but that who asked, which is counted as a read.
func (r *Records) Simulate(ctx context.Context, who Call, s Simulation, each func(Simulated) error) (Totals, error) {
	if err := s.sound(); err != nil {
		return Totals{}, err
	}
	r.asked(ctx, who, s.Workspace)
	m := &simulating{Records: r, ctx: ctx, asked: s, each: each, paces: map[string]pace.Pace{}, courses: map[domain.Stream]*course{}}
	m.totals.Came = map[string]map[string]int{}
	if err := m.run(); err != nil {
		return m.totals, err
	}
	return m.totals, m.hand()
}

func (s Simulation) sound() error {
	if m := s.If.Mode; m != "" && (!m.Known() || m == policy.Bypass) {
		return domain.Refuse("invalid", "What can be tried out is plan, manual, edits or auto.")
	}
	if err := s.If.Rules.To(policy.Rules{}).Sound(); err != nil {
		return err
	}
	if !s.Since.IsZero() && !s.Until.IsZero() && !s.Since.Before(s.Until) {
		return domain.Refuse("invalid", "That time ends before it begins.")
	}
	return nil
}

// Simulating is the name under which conduct counts who tried rules out.
const Simulating = "rules.simulate"

// asked counts that somebody asked, as reads are counted.
func (r *Records) asked(ctx context.Context, who Call, workspace string) {
	who.Workspace, who.Action = workspace, Simulating
	t := &trip{errand: errand{road: r.road, ctx: ctx, call: who}, now: r.road.now(ctx)}
	t.authority.person = who.Person
	l := r.road.conduct
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tally(t, "read", Simulating, "")
}

// simulating is a simulation under way.
type simulating struct {
	*Records
	ctx     context.Context
	asked   Simulation
	each    func(Simulated) error
	totals  Totals
	head    domain.Position      // where the log ended when it began
	kept    []Simulated          // for review: whether they still stand is asked of many at once
	paces   map[string]pace.Pace // of agents, as they would have been
	courses map[domain.Stream]*course
}

func (m *simulating) run() error {
	head, err := m.road.Log.Head(m.ctx)
	if err != nil {
		return err
	}
	m.head = head.Position
	at := domain.Position(0)
	if from := m.asked.Since; !from.IsZero() {
		from = from.Add(-policy.PaceWindow) // what an agent's pace was when it began
		at, err = m.evidence.Before(m.ctx, m.asked.Workspace, from, head.Position)
	}
	for err == nil && at < head.Position {
		var records []domain.Record
		if records, err = m.road.Log.ReadAll(m.ctx, at, simulatedPage); err != nil || len(records) == 0 {
			return err
		}
		for _, rec := range records {
			if rec.Position > head.Position || !m.asked.Until.IsZero() && !rec.At.Before(m.asked.Until) {
				return nil
			}
			if err = m.look(rec); err != nil {
				return err
			}
		}
		at = records[len(records)-1].Position
	}
	return err
}

// look asks one recorded question again.
func (m *simulating) look(rec domain.Record) error {
	e := rec.Envelope
	if rec.Stream.Workspace != m.asked.Workspace || m.asked.Agent != "" && (!e.Principal.IsAgent() || e.Principal.ID != m.asked.Agent) {
		return nil
	}
	within := m.asked.Since.IsZero() || !rec.At.Before(m.asked.Since)
	if len(e.Question) == 0 || e.Verdict == nil {
		if within {
			return m.count(rec)
		}
		return nil
	}
	var q policy.Question
	if err := json.Unmarshal(e.Question, &q); err != nil {
		return domain.Refuse("invalid", "The question at position %d cannot be read. `assent why %s` says more.", rec.Position, e.Action)
	}
	if !m.asked.Advance.about(q, e) {
		return nil
	}
	thing, err := m.thing(rec)
	if err != nil {
		return err
	}
	if q.Yes != nil && q.Yes.Kind == policy.Approval {
		m.spend(q, thing)
		if within {
			m.totals.Carried++
		}
		return nil
	}
	return m.ask(rec, q, thing, within)
}

// ask asks one question as it would have been asked.
func (m *simulating) ask(rec domain.Record, q policy.Question, thing domain.Stream, within bool) error {
	what := m.asked.If
	what.Pace = m.paces[q.Principal.ID].With(thing.String(), q.Now)
	would, measured := what.Of(q)
	v := policy.Ask(would)
	if v.Answer == domain.Propose {
		var err error
		if would, v, err = m.inAdvance(rec, would, v); err != nil {
			return err
		}
	}
	was, came := wasOf(rec), ""
	switch {
	case v.Answer == domain.Reject:
		came = Refused
	case was == Idle:
		came = Idle // there was nothing to hold
	case was == Refused && rec.Envelope.Verdict.Answer != domain.Reject:
		came = Refused // by the decision, whatever the rules say
	case !measured && v.Answer == domain.Propose && onlyUnmeasured(v):
		came = Unknown
	case v.Answer == domain.Propose:
		came = Waiting
	default:
		came = Done
		m.spend(would, thing)
	}
	if !within {
		return nil
	}
	return m.tell(rec, q, thing, was, came, would.Yes, v)
}

// onlyUnmeasured says that nothing holds a publish but that it was never
// measured.
func onlyUnmeasured(v domain.Verdict) bool {
	for _, f := range v.Findings {
		if f.Answer == domain.Propose && f.Rule != policy.LowRiskRule {
			return false
		}
	}
	return true
}

func (m *simulating) tell(rec domain.Record, q policy.Question, thing domain.Stream, was, came string, yes *policy.Yes, v domain.Verdict) error {
	m.totals.Asked++
	if m.totals.Came[was] == nil {
		m.totals.Came[was] = map[string]int{}
	}
	m.totals.Came[was][came]++
	if came == Unknown {
		m.totals.Unknown++
	}
	if was == came {
		return nil
	}
	m.totals.Differ++
	e := rec.Envelope
	s := Simulated{
		Action: e.Action, Position: Position(rec.Position), At: rec.At, Name: e.Name, Principal: e.Principal, Person: e.Person,
		Mode: e.Mode, Site: q.Site, Was: was, Would: came, Cause: cmp.Or(v.Code, v.Cause), Reason: v.Reason,
	}
	if came == Done {
		s.Cause, s.Reason, s.Yes = "", "", yes
	}
	if thing.ID != "" {
		s.Target = &Target{Kind: thing.Category, ID: thing.ID}
		if thing == rec.Stream {
			s.Target.Version = rec.Version
		}
	}
	if !m.asked.Review {
		return m.each(s)
	}
	if !s.Happened() {
		return nil
	}
	if m.kept = append(m.kept, s); len(m.kept) < simulatedPage {
		return nil
	}
	return m.hand()
}

// hand gives on what was kept, but for what was taken back since.
func (m *simulating) hand() error {
	ids := make([]domain.ID, len(m.kept))
	for i, s := range m.kept {
		ids[i] = s.Action
	}
	gone, err := m.evidence.TakenBack(m.ctx, m.asked.Workspace, ids, m.head)
	if err != nil {
		return err
	}
	for _, s := range m.kept {
		if gone[s.Action] {
			continue
		}
		if err := m.each(s); err != nil {
			return err
		}
	}
	m.kept = m.kept[:0]
	return nil
}

// wasOf is how an asking came out, by the event it left.
func wasOf(rec domain.Record) string {
	switch rec.Word {
	case "conduct.refused":
		return Refused
	case "conduct.idle":
		return Idle
	case "proposal.filed":
		return Waiting
	}
	return Done
}

// count is an event without a question: of most there is nothing to ask, and of
// some only how many they were.
func (m *simulating) count(rec domain.Record) error {
	if rec.Stream.Category != conduct.Kind.Category || wasOf(rec) == Done {
		return nil
	}
	var c struct {
		Count int `json:"count"`
	}
	if err := json.Unmarshal(rec.Data, &c); err != nil {
		return nil //nolint:nilerr // verify and the read models say so; a count is all that is missing
	}
	if c.Count > 1 {
		m.totals.SummedUp += c.Count
	}
	return nil
}

// thing is what a question was about, as far as its record says.
func (m *simulating) thing(rec domain.Record) (domain.Stream, error) {
	switch rec.Stream.Category {
	case conduct.Kind.Category:
		var c struct {
			Target string `json:"target"`
		}
		if err := json.Unmarshal(rec.Data, &c); err != nil {
			return domain.Stream{}, nil //nolint:nilerr // as in count
		}
		kind, id, both := strings.Cut(c.Target, "/")
		if !both {
			kind, id = "", ""
		}
		return domain.Stream{Category: kind, Workspace: rec.Stream.Workspace, ID: id}, nil
	case proposal.Kind.Category:
		if rec.Word != "proposal.filed" {
			return rec.Stream, nil
		}
		read, err := m.road.Words.Read(domain.Record{Fresh: rec.Fresh, Position: rec.Position})
		if err != nil {
			return domain.Stream{}, err
		}
		if f, ok := read.Event.(proposal.Filed); ok && len(f.Reads) > 0 {
			return domain.ParseStream(f.Reads[0].Stream)
		}
		return domain.Stream{}, nil
	}
	return rec.Stream, nil
}

// spend counts a thing that would have been changed by then.
func (m *simulating) spend(q policy.Question, thing domain.Stream) {
	if q.Rules.Pace == 0 && m.asked.If.Rules.Pace == nil || !q.Principal.IsAgent() || q.Class == action.Read || q.Class == action.Oneself || thing.ID == "" {
		return
	}
	m.paces[q.Principal.ID] = pace.Spent{Thing: thing.String(), At: q.Now}.Evolve(m.paces[q.Principal.ID])
}

// inAdvance asks with the yes that somebody had given by then, as the road
// would have.
func (m *simulating) inAdvance(rec domain.Record, q policy.Question, v domain.Verdict) (policy.Question, domain.Verdict, error) {
	key := rec.Envelope.Via.Key
	a, known := m.road.Registry.Find(q.Action)
	if q.Yes != nil || q.Class != action.Content || !known || a.Final || key == "" || !isAgentID(q.Principal.ID) {
		return q, v, nil
	}
	if m.asked.Advance != nil {
		with := q
		with.Yes = &policy.Yes{Kind: policy.Standing, Causes: standingLifts}
		if lifted := policy.Ask(with); lifted.Answer == domain.Act {
			return with, lifted, nil
		}
	}
	state, err := m.at(domain.Stream{Category: agent.Kind.Category, Workspace: rec.Stream.Workspace, ID: q.Principal.ID}, rec.Position)
	if err != nil {
		return q, v, err
	}
	with, ok, err := inAdvance(q, state.(agent.Agent), key, func(maker string) (policy.Role, error) {
		seat, err := m.at(domain.Stream{Category: person.Kind.Category, Workspace: rec.Stream.Workspace, ID: maker}, rec.Position)
		if err != nil {
			return "", err
		}
		return seat.(person.Person).Role, nil
	})
	if err != nil || !ok {
		return q, v, err
	}
	if lifted := policy.Ask(with); lifted.Answer == domain.Act {
		return with, lifted, nil
	}
	return q, v, nil
}

// course is a stream that is followed along with the log.
type course struct {
	state domain.State
	ahead []domain.Recorded // what is yet to come
}

// at is a stream's state as it was before a position. Positions only grow.
func (m *simulating) at(s domain.Stream, before domain.Position) (domain.State, error) {
	kind := m.road.Kinds[s.Category]
	c := m.courses[s]
	if c == nil {
		zero, err := kind.Fold(nil)
		if err != nil {
			return nil, err
		}
		history, err := m.road.things.history(m.ctx, s)
		if err != nil {
			return nil, err
		}
		c = &course{zero, history}
		m.courses[s] = c
	}
	for len(c.ahead) > 0 && c.ahead[0].Position < before {
		var err error
		if c.state, err = kind.Evolve(c.state, c.ahead[0].Event); err != nil {
			return nil, err
		}
		c.ahead = c.ahead[1:]
	}
	return c.state, nil
}
