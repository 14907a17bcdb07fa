package httpapi

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"assent/commands"
	"assent/domain"
)

// pageSize is how many items a list gives unless asked for fewer or more.
const pageSize = 50

// section is which part of a list is asked for.
type section struct {
	cursor string
	limit  int // 1 to 100
}

// sectionOf reads a list's query: which part of it, and what narrows it. An
// unknown name is refused: a list that is narrower or wider than its reader
// believes is worse than none.
func sectionOf(q url.Values, texts map[string]*string, times map[string]*time.Time) (section, error) {
	part := section{limit: pageSize}
	for name, values := range q {
		value := values[0]
		switch {
		case len(values) > 1:
			return part, domain.Refuse("invalid", "`%s` is given twice.", clip(name, 40))
		case name == "cursor":
			part.cursor = value
		case name == "limit":
			if value == "" {
				continue
			}
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 || n > 100 {
				return part, domain.Refuse("invalid", "`limit` is a number from 1 to 100.")
			}
			part.limit = n
		case texts[name] != nil:
			*texts[name] = value
		case times[name] != nil:
			if value == "" {
				continue
			}
			t, err := timeOf(value)
			if err != nil {
				return part, domain.Refuse("invalid", "`%s` must be a day or a time, as in 2026-12-31 or 2026-12-31T09:00:00Z.", name)
			}
			*times[name] = t
		case name == "after": // caughtUp waited for it
		default:
			known := slices.Collect(maps.Keys(texts))
			known = append(slices.AppendSeq(known, maps.Keys(times)), "cursor", "limit", "after")
			slices.Sort(known)
			return part, domain.Refuse("invalid", "There is no filter %q. There are: %s.", clip(name, 40), strings.Join(known, ", "))
		}
	}
	return part, nil
}

// filterOf reads an audit filter out of a query.
func filterOf(q url.Values) (AuditFilter, error) {
	var f AuditFilter
	part, err := sectionOf(q, f.texts(), map[string]*time.Time{"since": &f.Since, "until": &f.Until})
	f.Cursor, f.Limit = part.cursor, part.limit
	return f, err
}

// texts are the filters that a query can set, by their names there.
func (f *AuditFilter) texts() map[string]*string {
	return map[string]*string{
		"agent": &f.Agent, "person": &f.Person, "key": &f.Key, "session": &f.Session, "action": &f.Action, "target": &f.Target,
		"outcome": &f.Outcome, "cause": &f.Cause, "skill": &f.Skill, "proposal": &f.Proposal,
	}
}

func timeOf(text string) (time.Time, error) {
	if t, err := time.Parse(time.DateOnly, text); err == nil {
		return t, nil
	}
	return time.Parse(time.RFC3339, text)
}

// audit is one page of actions with the names and words people know.
func (s *Server) audit(ctx context.Context, workspace string, f AuditFilter) (AuditPage, error) {
	page, err := s.queries.Audit(ctx, workspace, f)
	if err != nil {
		return page, err
	}
	page.Names, err = s.dress(ctx, workspace, page.Items)
	return page, err
}

// auditOne is one action.
func (s *Server) auditOne(ctx context.Context, workspace string, id domain.ID) (AuditRow, map[string]string, error) {
	row, err := s.queries.AuditOne(ctx, workspace, id)
	if err != nil {
		return row, nil, err
	}
	rows := []AuditRow{row}
	names, err := s.dress(ctx, workspace, rows)
	return rows[0], names, err
}

// dress unseals the rows' words in place and gives the names of who is in them.
func (s *Server) dress(ctx context.Context, workspace string, rows []AuditRow) (map[string]string, error) {
	settings, err := s.queries.Workspace(ctx, workspace)
	if err != nil {
		return nil, err
	}
	ids := map[string]bool{}
	for i, row := range rows {
		for _, id := range row.Mentions() {
			ids[id] = true
		}
		rows[i].Undo = s.undoOf(row, time.Duration(settings.UndoHours)*time.Hour)
		if rows[i].Reason, err = s.unsealed(ctx, workspace, row.Sealed); err != nil {
			return nil, err
		}
	}
	return s.named(ctx, workspace, ids)
}

// undoOf says until when a person can take an action back, if they can. The
// desk has the last word: later work may stand in the way.
func (s *Server) undoOf(row AuditRow, window time.Duration) *commands.Undo {
	a, known := s.registry.Find(row.Action)
	until := row.At.Add(window)
	undone := row.Action == "action.undo" // an undo can be undone
	if row.Outcome != commands.Done || row.Undone != "" || !(undone || known && a.Writes() && !a.Final) || !s.now().Before(until) {
		return nil
	}
	return &commands.Undo{Until: until}
}

func (s *Server) getAudit(w http.ResponseWriter, r *http.Request, who caller) error {
	f, err := filterOf(r.URL.Query())
	if err != nil {
		return err
	}
	page, err := s.audit(r.Context(), who.workspace, f)
	if err != nil {
		return err
	}
	if page.Items == nil {
		page.Items = []AuditRow{}
	}
	return answer(w, http.StatusOK, page)
}

func (s *Server) getAction(w http.ResponseWriter, r *http.Request, who caller) error {
	row, names, err := s.auditOne(r.Context(), who.workspace, domain.ID(chi.URLParam(r, "action")))
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, struct {
		AuditRow
		Names map[string]string `json:"names,omitempty"`
	}{row, names})
}

func (s *Server) getPending(w http.ResponseWriter, r *http.Request, who caller) error {
	pending, err := s.queries.Pending(r.Context(), who.workspace, chi.URLParam(r, "site"))
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, pending)
}

func (s *Server) versions(ctx context.Context, workspace, site, cursor string, limit int) (VersionPage, error) {
	page, err := s.queries.Versions(ctx, workspace, site, cursor, limit)
	if err != nil {
		return page, err
	}
	for i, v := range page.Items {
		if page.Items[i].Reason, err = s.unsealed(ctx, workspace, v.Sealed); err != nil {
			return page, err
		}
	}
	return page, nil
}

func (s *Server) getVersions(w http.ResponseWriter, r *http.Request, who caller) error {
	part, err := sectionOf(r.URL.Query(), nil, nil)
	if err != nil {
		return err
	}
	page, err := s.versions(r.Context(), who.workspace, chi.URLParam(r, "site"), part.cursor, part.limit)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, page)
}
