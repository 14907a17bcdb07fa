package projections

import (
	"context"
	"time"

	"assent/domain"
	"assent/domain/action"
)

// AuditArgs asks who did what. What is left empty does not filter.
type AuditArgs struct {
	Agent    string    // the agent's id
	Person   string    // the person's id: their own doing and that of their agents
	Key      string    // the id of the key it came through
	Session  string    // the id of the signed-in session it came through
	Action   string    // the action's name: article.update
	Target   string    // the id of what it is about
	Outcome  string    // done, waiting, refused, idle or read
	Cause    string    // why it was held
	Skill    string    // under which it was asked
	Proposal string    // the id of the proposal it became, decided, or carried out
	Since    time.Time // from then on
	Until    time.Time // before then
	action.Page
}

// Audit lists what was done, newest first. Lines that arrive meanwhile stand
// before the first page: walking on loses and repeats none.
func (s *Store) Audit(ctx context.Context, workspace string, args AuditArgs) (list []Entry, next string, err error) {
	c, err := cursorOf(workspace, "audit", args.Page)
	if err != nil {
		return []Entry{}, "", err
	}
	err = s.ask(ctx, "the audit", func(a asking) error {
		args, fits, err := a.settled(workspace, args)
		if err != nil || !fits {
			return err
		}
		w, some, err := a.window(workspace, args)
		if err != nil || !some {
			return err
		}
		if c.given {
			w.last = min(w.last, domain.Position(c.after)-1)
		}
		f := auditQuery(workspace, args, w)
		f.add(` LIMIT ?`, args.Size()+1)
		rows, more, err := pageOf(a, f, c, args.Page, auditAt, all)
		if err != nil {
			return err
		}
		list, err = a.entries(workspace, rows)
		next = more
		return err
	})
	return some(list), next, err
}

func auditAt(r auditRow) int64 { return int64(r.Position) }

// EachAudit calls each with every line that Audit would list, oldest first,
// those up to a position, however many: it reads them in portions and keeps
// none. What is folded meanwhile shows in the lines still to come, but no line
// is lost or repeated. It ends with the first error that each gives.
func (s *Store) EachAudit(ctx context.Context, workspace string, args AuditArgs, upTo domain.Position, each func(Entry) error) error {
	for from := domain.Position(1); from > 0; {
		var list []Entry
		err := s.ask(ctx, "the audit", func(a asking) error {
			args, fits, err := a.settled(workspace, args)
			if err != nil || !fits {
				from = 0
				return err
			}
			w, some, err := a.window(workspace, args)
			if err != nil || !some {
				from = 0
				return err
			}
			w.first, w.last, w.up = max(w.first, from), min(w.last, upTo), true
			f := auditQuery(workspace, args, w)
			f.add(` LIMIT ?`, auditPortion)
			var rows []auditRow
			if err := docs(a, f, func(r auditRow) bool { rows = append(rows, r); return true }); err != nil {
				return err
			}
			from = 0
			if len(rows) == auditPortion {
				from = rows[len(rows)-1].Position + 1
			}
			list, err = a.entries(workspace, rows)
			return err
		})
		if err != nil {
			return err
		}
		for _, e := range list {
			if err := each(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// auditPortion is how many lines EachAudit has in memory at once.
const auditPortion = 200

// entries are lines for reading: one that waits, or waited, says who decided,
// and one that was taken back says so only as long as that stands.
func (a asking) entries(workspace string, rows []auditRow) ([]Entry, error) {
	deciders, err := a.deciders(workspace, rows)
	if err != nil {
		return nil, err
	}
	list := make([]Entry, len(rows))
	for i, r := range rows {
		e := r.entry()
		if e.Undone != "" {
			stands, err := a.stands(workspace, e.Undone)
			if err != nil {
				return nil, err
			}
			if !stands {
				e.Undone = ""
			}
		}
		if e.Outcome == "waiting" && e.Proposal != "" {
			e.DecidedBy = deciders[e.Proposal]
		}
		list[i] = e
	}
	return list, nil
}

// deciders says who decided on the proposals that lines wait for, by their ids.
func (a asking) deciders(workspace string, rows []auditRow) (map[string]string, error) {
	deciders := map[string]string{}
	var keys []any
	for _, r := range rows {
		if r.Outcome == "waiting" && r.Proposal != "" {
			keys = append(keys, key(workspace, r.Proposal))
		}
	}
	err := inPortions(keys, func(_ int, keys []any) error {
		f := query(`SELECT doc FROM {inbox} WHERE key IN (?`, keys[0])
		for _, k := range keys[1:] {
			f.add(`, ?`, k)
		}
		f.add(`)`)
		return docs(a, f, func(p inboxRow) bool {
			deciders[p.ID] = p.DecidedBy
			return true
		})
	})
	return deciders, err
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
		list, err := a.entries(workspace, []auditRow{r})
		if err == nil {
			e = list[0]
		}
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
