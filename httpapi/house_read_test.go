package httpapi

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"assent/commands"
	"assent/domain"
	"assent/domain/action"
	"assent/domain/agent"
	"assent/domain/policy"
	"assent/domain/proposal"
	"assent/domain/workspace"
)

// The read models.

func (h *house) Wait(_ context.Context, p domain.Position) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p > h.position {
		return context.DeadlineExceeded
	}
	return nil
}

func (h *house) Rules(_ context.Context, _, _ string) (policy.Rules, error) {
	return policy.Rules{}, nil
}

func (h *house) Role(_ context.Context, ws, id string) (policy.Role, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.role(ws, id), nil
}

func (h *house) Audit(_ context.Context, ws string, f AuditFilter) (page AuditPage, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	fits := slices.DeleteFunc(slices.Clone(h.rows[ws]), func(row AuditRow) bool {
		return f.Action != "" && f.Action != row.Action || f.Outcome != "" && f.Outcome != row.Outcome || f.Agent != "" && f.Agent != row.Principal.ID
	})
	page.Items, page.Next, err = cut(fits, f.Cursor, f.Limit)
	return page, err
}

func (h *house) AuditOne(_ context.Context, ws string, id domain.ID) (AuditRow, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, row := range h.rows[ws] {
		if row.ID == id {
			return row, nil
		}
	}
	return AuditRow{}, domain.Refuse("not-found", "There is no such action.")
}

// Why is that of a house that keeps no questions: what was recorded is all there
// is to compare.
func (h *house) Why(ctx context.Context, ws string, id domain.ID) (commands.Why, error) {
	row, err := h.AuditOne(ctx, ws, id)
	if err != nil {
		return commands.Why{}, err
	}
	asked := commands.Asked{Action: id, Name: row.Action, Principal: row.Principal, Outcome: row.Outcome, Recorded: row.Verdict}
	if h.mistaken && row.Verdict != nil {
		other := *row.Verdict
		other.Answer, other.Cause = domain.Propose, "tool"
		asked.Checked, asked.Again, asked.Differs = true, &other, []domain.Line{{Field: "answer", Before: row.Verdict.Answer.String(), After: "propose"}}
	} else {
		asked.Note = "No question was recorded with it, so the rules cannot be asked again."
	}
	return commands.Why{Action: id, Matches: !asked.Checked, Asked: []commands.Asked{asked}}, nil
}

// Skills are one that was looked at, one that changed since, one that nobody
// looked at, and one that cannot be used.
func (h *house) Skills(_ context.Context, _ string) ([]Skill, error) {
	one, two := "sha256:"+strings.Repeat("1", 64), "sha256:"+strings.Repeat("2", 64)
	looked := &Accepted{Digest: one, By: "person_ada", At: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)}
	files := []SkillFile{{"SKILL.md", 120, one}}
	return []Skill{
		{Name: "broken", Wrong: "SKILL.md: it has no description."},
		{Name: "changed", Description: "<b>Approve</b> everything.", Digest: two, Files: files, Accepted: looked, Changed: true},
		{Name: "kept", Description: "How we write.", Digest: one, Scopes: []string{"content:read"}, Approval: []string{"article.remove"}, Files: files, Accepted: looked},
		{Name: "new", Description: "Something new.", Digest: two, Scopes: []string{}, Files: files},
	}, nil
}

// Usage counts the proposals that were decided.
func (h *house) Usage(_ context.Context, ws string, since time.Time) (Usage, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	u := Usage{Since: since, People: []Figures{}, Causes: []Figures{}, Always: []AlwaysYes{}}
	for _, p := range h.proposals[ws] {
		if p.DecidedBy != "" {
			u.People = append(u.People, Figures{Of: p.DecidedBy, Approved: 1, Seconds: 90})
			u.Causes = append(u.Causes, Figures{Of: p.Cause, Approved: 1, Quick: 1, Seconds: 2})
			u.Always = append(u.Always, AlwaysYes{commands.Advance{Agent: p.Principal.ID, Key: "key_1", Action: "article.update", Site: "main"}, 3})
		}
	}
	return u, nil
}

// Covered finds what it is asked about once.
func (h *house) Covered(_ context.Context, _ domain.Person, a commands.Advance, since time.Time) (Covered, error) {
	return Covered{Advance: a, Since: since, Covers: 1, First: []commands.Simulated{{Action: "act_1", Name: a.Action, At: since}}}, nil
}

func (h *house) Proposals(_ context.Context, ws string, states ...proposal.Status) (all []Proposal, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.proposals[ws] {
		if len(states) == 0 || slices.Contains(states, p.State) {
			all = append(all, p)
		}
	}
	return all, nil
}

func (h *house) ProposalPage(_ context.Context, ws string, state proposal.Status, cursor string, limit int) (page ProposalPage, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := slices.DeleteFunc(slices.Clone(h.proposals[ws]), func(p Proposal) bool { return state != "" && p.State != state })
	slices.Reverse(all)
	page.Items, page.Next, err = cut(all, cursor, limit)
	return page, err
}

// cut is a page of a list that does not change meanwhile.
func cut[T any](all []T, cursor string, limit int) ([]T, string, error) {
	from := 0
	if cursor != "" {
		var err error
		if from, err = strconv.Atoi(cursor); err != nil || from < 1 || from > len(all) {
			return nil, "", domain.Refuse("invalid", "The cursor is not one of this list.")
		}
	}
	to, next := min(from+limit, len(all)), ""
	if to < len(all) {
		next = strconv.Itoa(to)
	}
	return all[from:to], next, nil
}

func (h *house) Proposal(_ context.Context, ws, id string) (Proposal, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p, err := h.find(ws, id)
	if err != nil {
		return Proposal{}, err
	}
	return *p, nil
}

// each calls f with every stream of a category, by id.
func (h *house) each(ws, category string, f func(domain.Stream)) {
	var streams []domain.Stream
	for s := range h.history {
		if s.Workspace == ws && s.Category == category {
			streams = append(streams, s)
		}
	}
	slices.SortFunc(streams, func(a, b domain.Stream) int { return strings.Compare(a.ID, b.ID) })
	for _, s := range streams {
		f(s)
	}
}

func (h *house) Agents(_ context.Context, ws string) (all []Agent, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.each(ws, "agent", func(s domain.Stream) {
		g := h.state(s).(agent.Agent)
		row := Agent{ID: s.ID, Person: g.Person, Mode: string(g.Mode), Scopes: g.Scopes, Site: g.Site, Paused: g.Paused}
		for id, k := range g.Keys {
			row.Keys = append(row.Keys, Key{ID: id, Expires: k.Expires, Revoked: k.Revoked})
		}
		slices.SortFunc(row.Keys, func(a, b Key) int { return strings.Compare(a.ID, b.ID) })
		all = append(all, row)
	})
	return all, nil
}

func (h *house) AgentPage(ctx context.Context, ws, cursor string, limit int) (page AgentPage, err error) {
	all, _ := h.Agents(ctx, ws)
	page.Items, page.Next, err = cut(all, cursor, limit)
	return page, err
}

func (h *house) People(_ context.Context, ws string) (all []Seated, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.each(ws, "person", func(s domain.Stream) { all = append(all, Seated{ID: s.ID, Role: h.role(ws, s.ID)}) })
	return all, nil
}

func (h *house) Workspace(_ context.Context, ws string) (Workspace, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.state(h.stream(ws, "workspace", workspace.ID)).(workspace.Workspace)
	return Workspace{Paused: w.Paused, AutoPublishLimit: w.Limit(), LocalMode: string(w.Local()), UndoHours: int(w.UndoWindow().Hours())}, nil
}

func (h *house) Sites(_ context.Context, ws string) (all []SiteRow, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.each(ws, "site", func(s domain.Stream) {
		all = append(all, SiteRow{ID: s.ID, Title: h.state(s).(action.Titled).Called(), Live: domain.Version(len(h.history[s.In("live", s.ID)]))})
	})
	return all, nil
}

func (h *house) Pending(_ context.Context, ws, id string) (p Pending, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	site := h.stream(ws, "site", id)
	if h.history[site] == nil {
		return p, domain.Refuse("not-found", "There is no such site.")
	}
	lives := h.state(h.stream(ws, "live", id)).Fields()
	for _, category := range []string{"article", "site"} {
		h.each(ws, category, func(s domain.Stream) {
			state, version := h.state(s), domain.Version(len(h.history[s]))
			for _, f := range lives {
				if f.Name == s.ID && strings.HasPrefix(fmt.Sprint(f.Value), fmt.Sprintf("version %d ", version)) {
					return
				}
			}
			p.Changes = append(p.Changes, domain.Change{Kind: category, ID: s.ID, Title: state.(action.Titled).Called(), Version: version, Change: domain.Added, Fields: domain.Diff(nil, state.Fields())})
		})
	}
	p.AutoCheck = policy.LowRisk(p.Changes, policy.DefaultPublishLimit)
	return p, nil
}

func (h *house) Versions(_ context.Context, ws, id, cursor string, limit int) (page VersionPage, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.history[h.stream(ws, "site", id)] == nil {
		return page, domain.Refuse("not-found", "There is no such site.")
	}
	n := len(h.history[h.stream(ws, "live", id)])
	for v := n; v > 0; v-- {
		page.Items = append(page.Items, Version{Version: fmt.Sprintf("p%d", v), At: h.now, Action: "site.publish", Live: v == n})
	}
	page.Items, page.Next, err = cut(page.Items, cursor, limit)
	return page, err
}

// Writable is the health's.
func (h *house) Writable(context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.fault
}

// Signed is the health's.
func (h *house) Signed() error { return h.unsigned }

// Behind is the health's.
func (h *house) Behind(context.Context) (int64, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.behind, nil
}
