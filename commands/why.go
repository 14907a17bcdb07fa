package commands

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/agent"
	"assent/domain/conduct"
	"assent/domain/policy"
	"assent/domain/proposal"
)

// Evidence finds where in the log something is recorded. It answers from a read
// model that has seen everything up to a position.
type Evidence interface {
	// Lines are the events behind each line that the audit holds of an action,
	// oldest line first. Most actions are one line; one that was refused and then
	// asked for again under its id is several.
	Lines(ctx context.Context, workspace string, act domain.ID, after domain.Position) ([][]Trace, error)
	// Before is a position that everything a workspace saw from a time on lies
	// behind.
	Before(ctx context.Context, workspace string, at time.Time, after domain.Position) (domain.Position, error)
	// TakenBack are those of some actions, a few hundred at most, that were taken
	// back and whose undo stands.
	TakenBack(ctx context.Context, workspace string, acts []domain.ID, after domain.Position) (map[domain.ID]bool, error)
}

// Records answers from what was recorded: why something was answered as it
// was, and what other rules would have said. It decides nothing and changes
// nothing.
type Records struct {
	road     *Road
	evidence Evidence
}

// NewRecords is the records beside a road.
func NewRecords(r *Road, e Evidence) *Records { return &Records{r, e} }

// Why is an action's recorded answers, each asked for again.
type Why struct {
	Action  domain.ID `json:"action"`
	Matches bool      `json:"matches"` // every answer that can be asked for again is as recorded
	Asked   []Asked   `json:"asked"`   // oldest first
}

// Asked is one thing that was asked, what was recorded of it, and what the rules
// of its time say to it now.
type Asked struct {
	Action    domain.ID        `json:"action"` // another one's where this decided about it
	Name      string           `json:"name"`
	Position  Position         `json:"position"`
	At        time.Time        `json:"at"`
	Principal domain.Principal `json:"principal"`
	Person    string           `json:"person,omitempty"`
	Outcome   string           `json:"outcome"` // done, waiting, refused, idle or read; a decision: approved, assented, declined, expired
	Code      string           `json:"code,omitempty"`
	Proposal  string           `json:"proposal,omitempty"`

	Question *policy.Question `json:"question,omitempty"`
	Recorded *domain.Verdict  `json:"recorded,omitempty"`
	Again    *domain.Verdict  `json:"again,omitempty"`  // under the rules of that time
	Passed   []string         `json:"passed,omitempty"` // rules that were asked and found nothing
	Lent     *Elevated        `json:"lent,omitempty"`   // the freer mode it was asked in

	Checked bool          `json:"checked"` // there was something to compare
	Matches bool          `json:"matches"`
	Differs []domain.Line `json:"differs,omitempty"` // before is the record, after what it should say
	Note    string        `json:"note,omitempty"`    // why there is nothing to ask again
}

// Elevated is a freer mode that an agent was lent.
type Elevated struct {
	ID    string      `json:"id"`
	Mode  policy.Mode `json:"mode"`
	By    string      `json:"by"`
	Until time.Time   `json:"until"`
}

// Why asks every recorded question of an action again, under the rules of the
// moment it was asked, and compares: the answer, what the record says was done
// about it, and the yes it rests on. Of a decision it is the question that the
// decision was about. An action that nobody took is refused as not-found.
func (r *Records) Why(ctx context.Context, workspace string, act domain.ID) (Why, error) {
	head, err := r.road.Log.Head(ctx)
	if err != nil {
		return Why{}, err
	}
	lines, err := r.evidence.Lines(ctx, workspace, act, head.Position)
	if err != nil {
		return Why{}, err
	}
	w := Why{Action: act, Matches: true}
	for _, traces := range lines {
		rec, found, err := r.asking(ctx, workspace, act, traces)
		if err != nil {
			return Why{}, err
		}
		if !found {
			continue
		}
		asked, err := r.judge(ctx, rec)
		if err != nil {
			return Why{}, err
		}
		w.Asked = append(w.Asked, asked...)
	}
	if len(w.Asked) == 0 || act == "" {
		return Why{}, domain.Refuse("not-found", "There is no such action. Look at the audit to find its id.")
	}
	for _, a := range w.Asked {
		w.Matches = w.Matches && (a.Matches || !a.Checked)
	}
	return w, nil
}

// asking is the event of a line that carries what was asked, or else its first.
func (r *Records) asking(ctx context.Context, workspace string, act domain.ID, traces []Trace) (rec domain.Recorded, found bool, err error) {
	for _, t := range traces {
		if t.Stream.Workspace != workspace {
			continue
		}
		records, err := r.road.Log.ReadStream(ctx, t.Stream, t.Version-1)
		if err != nil {
			return rec, false, err
		}
		if len(records) == 0 || records[0].Envelope.Action != act {
			continue // the read models are of another log than this
		}
		has := len(records[0].Envelope.Question) > 0 || records[0].Envelope.Verdict != nil
		if found && !has {
			continue
		}
		if rec, err = r.road.Words.Read(records[0]); err != nil {
			return rec, false, err
		}
		found = true
		if has {
			break
		}
	}
	return rec, found, nil
}

// judge compares one record with what it should say. A decision comes after
// the asking it is about.
func (r *Records) judge(ctx context.Context, rec domain.Recorded) ([]Asked, error) {
	e := rec.Envelope
	a := Asked{
		Action: e.Action, Name: e.Name, Position: Position(rec.Position), At: rec.At, Principal: e.Principal, Person: e.Person,
		Outcome: outcomeOf(rec), Proposal: e.Proposal, Recorded: e.Verdict,
	}
	if no, ok := rec.Event.(conduct.Refused); ok {
		a.Code = no.Code
	}
	switch {
	case len(e.Question) > 0 && e.Verdict != nil:
		if err := r.replay(ctx, &a, rec); err != nil {
			return nil, err
		}
	case rec.Stream.Category == proposal.Kind.Category:
		return r.decided(ctx, a, rec)
	case rec.Stream.Category == conduct.Kind.Category || e.Name == takingBack:
		a.Note = unaskedOf(rec)
	default: // whatever takes the road is asked about, and that is recorded
		a.Checked, a.Differs = true, []domain.Line{{Field: "question", After: "recorded with what was done"}}
	}
	return []Asked{a}, nil
}

// takingBack is what the desk calls taking back. It did not record its question at
// first.
const takingBack = "action.undo"

// outcomeOf is what came of an asking, by the event it left.
func outcomeOf(rec domain.Recorded) string {
	switch rec.Event.(type) {
	case conduct.Refused:
		return Refused
	case conduct.Idle:
		return Idle
	case conduct.Read:
		return "read"
	case proposal.Filed, proposal.Called: // of several calls, each part carries its own question
		return Waiting
	case proposal.Approved:
		return string(proposal.IsApproved)
	case proposal.Assented:
		return "assented"
	case proposal.Declined:
		return string(proposal.IsDeclined)
	case proposal.Expired:
		return string(proposal.IsExpired)
	}
	return Done
}

// unaskedOf says why there is no question to ask again.
func unaskedOf(rec domain.Recorded) string {
	switch c := rec.Event.(type) {
	case conduct.Read:
		return "Reads are counted, and their questions are not kept."
	case conduct.Refused:
		if c.Count > 1 {
			return "This line sums up many alike. Those before it in the same minute were kept one by one."
		}
		return "It was turned away before the rules were asked."
	case conduct.Idle:
		return "This line sums up many alike. Those before it in the same minute were kept one by one."
	}
	return "No question was recorded with it, so the rules cannot be asked again."
}

// replay asks the recorded question again, and holds the record against the
// answer, the envelope around it, and the yes it names.
func (r *Records) replay(ctx context.Context, a *Asked, rec domain.Recorded) error {
	e := rec.Envelope
	a.Checked = true
	var q policy.Question
	if err := json.Unmarshal(e.Question, &q); err != nil {
		a.Differs = []domain.Line{{Field: "question", Before: "cannot be read: " + err.Error()}}
		return nil
	}
	again := policy.Again
	if a.Outcome == Idle {
		again = policy.AgainIdle
	}
	replayed := again(q, *e.Verdict)
	a.Question, a.Differs = &q, replayed.Differs
	if replayed.Known {
		a.Again, a.Passed = &replayed.Again, policy.Passed(replayed.Again)
	}
	a.Differs = append(a.Differs, domain.Diff(aboutEnvelope(e), aboutQuestion(q))...)
	a.Differs = append(a.Differs, unlikely(rec, *e.Verdict)...)
	yes, err := r.given(ctx, q, rec)
	if err != nil {
		return err
	}
	a.Differs = append(a.Differs, yes...)
	a.Matches = len(a.Differs) == 0
	a.Lent, err = r.lent(ctx, q, rec)
	return err
}

// aboutEnvelope and aboutQuestion are what both say of one call.
func aboutEnvelope(e domain.Envelope) []domain.Field {
	kind, by, id := "", "", ""
	switch {
	case e.ApprovedBy != "":
		kind, by = policy.Approval, e.ApprovedBy
	case e.ConfirmedBy != "":
		kind, by = policy.Confirmation, e.ConfirmedBy
	case e.Standing != "":
		kind, id = policy.Standing, e.Standing
	}
	return about(e.Name, e.Principal, e.Mode, e.Via.Local != "", e.Outside, e.Skill, kind, by, id)
}

func aboutQuestion(q policy.Question) []domain.Field {
	kind, by, id, skill := "", "", "", ""
	if q.Yes != nil {
		kind, by, id = q.Yes.Kind, q.Yes.By, q.Yes.ID
	}
	if kind == policy.Standing {
		by = "" // the envelope names the yes, and whose it is stands with the agent
	}
	if q.Skill != nil && q.Skill.Known {
		skill = q.Skill.Name
	}
	return about(q.Action, q.Principal, string(q.Mode), q.Local, q.Outside, skill, kind, by, id)
}

func about(name string, who domain.Principal, mode string, local, outside bool, skill, kind, by, id string) []domain.Field {
	return []domain.Field{
		{Name: "question.action", Value: name},
		{Name: "question.principal", Value: who.String()},
		{Name: "question.mode", Value: mode},
		{Name: "question.local", Value: local},
		{Name: "question.outside", Value: outside},
		{Name: "question.skill", Value: skill},
		{Name: "question.yes.kind", Value: kind},
		{Name: "question.yes.by", Value: by},
		{Name: "question.yes.id", Value: id},
	}
}

// unlikely is where what was done is not what the recorded answer leads to.
func unlikely(rec domain.Recorded, v domain.Verdict) []domain.Line {
	no, refused := rec.Event.(conduct.Refused)
	_, filed := rec.Event.(proposal.Filed)
	if _, part := rec.Event.(proposal.Called); part {
		filed = true
	}
	_, idle := rec.Event.(conduct.Idle)
	should := v.Answer
	switch {
	case refused && v.Answer == domain.Reject && no.Code != v.Code:
		return []domain.Line{{Field: "refusal", Before: no.Code, After: v.Code}}
	case refused: // by the decision, whatever the rules said
		return nil
	case filed:
		should = domain.Propose
	case idle && v.Answer != domain.Reject:
		return nil
	default:
		should = domain.Act
	}
	if should == v.Answer {
		return nil
	}
	return []domain.Line{{Field: "outcome", Before: outcomeOf(rec), After: v.Answer.String()}}
}

// given looks for the yes that a question names where it was given: in the
// proposal, or among what the agent was lent. A confirmation leaves no event of
// its own.
func (r *Records) given(ctx context.Context, q policy.Question, rec domain.Recorded) ([]domain.Line, error) {
	yes, e := q.Yes, rec.Envelope
	if yes == nil {
		return nil, nil
	}
	missing := []domain.Line{{Field: "yes", Before: yes.Kind + " by " + yes.By, After: "not found where it would have been given"}}
	switch yes.Kind {
	case policy.Approval:
		p, err := r.until(ctx, streamIn(rec, proposal.Kind, e.Proposal), rec.Position)
		if err != nil || p.(proposal.Proposal).By == yes.By && p.(proposal.Proposal).Approval != "" {
			return nil, err
		}
		return missing, nil
	case policy.Standing:
		s, err := r.until(ctx, streamIn(rec, agent.Kind, e.Principal.ID), rec.Position)
		if err != nil {
			return nil, err
		}
		made, ok := s.(agent.Agent).Lent.Standings[yes.ID]
		if ok && made.By == yes.By && made.Action == q.Action && made.Site == q.Site && made.Key == e.Via.Key && q.Now.Before(made.Until) {
			return nil, nil
		}
		return missing, nil
	}
	return nil, nil
}

// lent is the elevation that an agent worked under.
func (r *Records) lent(ctx context.Context, q policy.Question, rec domain.Recorded) (*Elevated, error) {
	if !rec.Envelope.Principal.IsAgent() || !isAgentID(rec.Envelope.Principal.ID) {
		return nil, nil
	}
	s, err := r.until(ctx, streamIn(rec, agent.Kind, rec.Envelope.Principal.ID), rec.Position)
	if err != nil {
		return nil, err
	}
	a := s.(agent.Agent)
	if q.Mode == a.Mode || q.Mode != a.ModeAt(q.Now) {
		return nil, nil // not freer than it is anyhow
	}
	for id, l := range a.Lent.Elevations {
		if !l.Ended && l.Mode == q.Mode && q.Now.Before(l.Until) {
			return &Elevated{ID: id, Mode: l.Mode, By: l.By, Until: l.Until}, nil
		}
	}
	return nil, nil
}

func streamIn(rec domain.Recorded, k action.Kind, id string) domain.Stream {
	return domain.Stream{Category: k.Category, Workspace: rec.Stream.Workspace, ID: id}
}

// until is a stream's state as it was before a position.
func (r *Records) until(ctx context.Context, s domain.Stream, before domain.Position) (domain.State, error) {
	kind := r.road.Kinds[s.Category]
	if !plainID.MatchString(s.ID) {
		return kind.Fold(nil)
	}
	history, err := r.road.things.history(ctx, s)
	if err != nil {
		return nil, err
	}
	n := 0
	for n < len(history) && history[n].Position < before {
		n++
	}
	return kind.Fold(eventsOf(history[:n]))
}

// decided is a decision about a proposal, after the asking it is about. A
// decision is a person's: no rule is asked whether it is the right one.
func (r *Records) decided(ctx context.Context, a Asked, rec domain.Recorded) ([]Asked, error) {
	a.Proposal = rec.Stream.ID
	by, who := "", ""
	switch d := rec.Event.(type) {
	case proposal.Approved:
		by, who = d.By, a.Principal.ID
	case proposal.Assented:
		by, who = d.By, a.Principal.ID
	case proposal.Declined:
		by, who, a.Code = d.By, a.Principal.ID, d.Code
	case proposal.Expired:
		a.Note = "Nobody answered in time."
	default:
		a.Note = unaskedOf(rec)
	}
	if by != "" {
		a.Note = "A person decided. What they decided about was asked before; that question is asked again here."
		a.Checked = true
		a.Differs = domain.Diff([]domain.Field{{Name: "by", Value: who}}, []domain.Field{{Name: "by", Value: by}})
		if a.Principal.Kind != domain.KindPerson {
			a.Differs = append(a.Differs, domain.Line{Field: "principal", Before: a.Principal.String(), After: "person:" + by})
		}
		a.Matches = len(a.Differs) == 0
	}
	records, err := r.road.Log.ReadStream(ctx, rec.Stream, 0)
	if err != nil || len(records) == 0 {
		return []Asked{a}, err
	}
	filed, err := r.road.Words.Read(records[0])
	if err != nil {
		return nil, err
	}
	if filed.Position == rec.Position || len(filed.Envelope.Question) == 0 {
		a.Note = "The question behind version " + strconv.FormatInt(int64(rec.Version), 10) + " of this proposal was not recorded."
		return []Asked{a}, nil
	}
	asked, err := r.judge(ctx, filed)
	return append(asked, a), err
}
