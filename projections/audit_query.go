package projections

import (
	"context"
	"time"

	"assent/domain"
	"assent/domain/action"
)

// AuditArgs asks who did what. What is left empty does not filter.
type AuditArgs struct {
	Agent   string    // the agent's id
	Person  string    // the person's id: their own doing and that of their agents
	Action  string    // the action's name: article.update
	Target  string    // the id of what it is about
	Outcome string    // done, waiting, refused, idle or read
	Cause   string    // why it was held
	Since   time.Time // from then on
	Until   time.Time // before then
	action.Page
}

// Audit lists what was done, newest first. Lines that arrive meanwhile stand
// before the first page: walking on loses and repeats none.
func (s *Store) Audit(ctx context.Context, workspace string, args AuditArgs) (list []Entry, next string, err error) {
	list = []Entry{}
	c, err := cursorOf(workspace, "audit", args.Page)
	if err != nil {
		return list, "", err
	}
	f := query(`SELECT doc FROM {audit} WHERE workspace = ?`, workspace)
	f.equal("agent", args.Agent)
	f.equal("person", args.Person)
	f.equal("action", args.Action)
	f.equal("target", args.Target)
	f.equal("outcome", args.Outcome)
	f.equal("cause", args.Cause)
	if !args.Since.IsZero() {
		f.add(` AND at >= ?`, args.Since.UnixMicro())
	}
	if !args.Until.IsZero() {
		f.add(` AND at < ?`, args.Until.UnixMicro())
	}
	f.down("position", c)
	err = s.ask(ctx, "the audit", func(a asking) error {
		rows, more, err := pageOf(a, f, c, args.Page, func(r auditRow) int64 { return int64(r.Position) }, all)
		for _, r := range rows {
			e, err := a.entry(workspace, r)
			if err != nil {
				return err
			}
			list = append(list, e)
		}
		next = more
		return err
	})
	return list, next, err
}

// entry is a line for reading: one that waits, or waited, says who decided, and
// one that was taken back says so only as long as that stands.
func (a asking) entry(workspace string, r auditRow) (Entry, error) {
	e := r.entry()
	if e.Undone != "" {
		stands, err := a.stands(workspace, e.Undone)
		if err != nil {
			return e, err
		}
		if !stands {
			e.Undone = ""
		}
	}
	if e.Outcome != "waiting" || e.Proposal == "" {
		return e, nil
	}
	p, _, err := byKey[inboxRow](a, "inbox", workspace, e.Proposal)
	e.DecidedBy = p.DecidedBy
	return e, err
}

// stands says that an action was not taken back, or that its undo was. Nobody
// goes on undoing undos for long; a log in which two undo each other must not
// keep anybody waiting.
func (a asking) stands(workspace string, act domain.ID) (bool, error) {
	stands := true
	for range 100 {
		r, _, err := byKey[auditRow](a, audit.Name, workspace, string(act))
		if err != nil || r.Undone == "" {
			return stands, err
		}
		act, stands = r.Undone, !stands
	}
	return stands, nil
}

// Entry gives one action's line, or is refused not-found. Of an action that
// was asked for several times (refused, then done) it is the last.
func (s *Store) Entry(ctx context.Context, workspace string, act domain.ID) (e Entry, err error) {
	err = s.ask(ctx, "an action", func(a asking) error {
		r, found, err := one[auditRow](a, query(`SELECT doc FROM {audit} WHERE workspace = ? AND id = ? ORDER BY position DESC`, workspace, string(act)))
		if err != nil {
			return err
		}
		if !found || act == "" {
			return domain.Refuse("not-found", "There is no such action. Look at the audit to find its id.")
		}
		e, err = a.entry(workspace, r)
		return err
	})
	return e, err
}

// Trace lists every event an action appended, in the order they were, once the
// read models have seen everything up to a position; none for an action that
// nobody took.
func (s *Store) Trace(ctx context.Context, workspace string, act domain.ID, after domain.Position) ([]Trace, error) {
	if err := s.Wait(ctx, after); err != nil {
		return nil, err
	}
	var traces []Trace
	err := s.glance(ctx, "what an action did", func(a asking) error {
		r, _, err := byKey[auditRow](a, "audit", workspace, string(act))
		traces = r.Traces
		return err
	})
	return traces, err
}
