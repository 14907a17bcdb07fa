package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"assent/commands"
	"assent/commands/vault"
	"assent/domain"
	"assent/domain/action"
	"assent/domain/agent"
	"assent/domain/live"
	"assent/domain/policy"
	"assent/domain/proposal"
	"assent/domain/site"
	"assent/domain/workspace"
	"assent/httpapi"
	"assent/httpapi/render"
	"assent/mcp"
	"assent/projections"
)

// reader is the read models as the doors ask them.
type reader struct {
	*house
	accounts accounts
}

// catchUp lets the read models see what is in the log by now, so that people
// find what they were just told of. When they cannot, what they have is shown.
func (r reader) catchUp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if head, err := r.log.Head(ctx); err == nil {
		_ = r.rows.Wait(ctx, head.Position)
	}
}

// rowsNow is a workspace's settings once everything in the log was seen.
func (h *house) rowsNow(ctx context.Context, ws string) (workspace.Workspace, error) {
	head, err := h.log.Head(ctx)
	if err != nil {
		return workspace.Workspace{}, err
	}
	err = h.rows.Wait(ctx, head.Position)
	if halt, stands := errors.AsType[*projections.Halt](err); stands { // a newer version wrote on: reads show what they can
		slog.WarnContext(ctx, "the read models stand still", "error", halt)
		err = nil
	}
	if err != nil {
		return workspace.Workspace{}, err
	}
	return h.rows.Workspace(ctx, ws)
}

// words opens sealed text for somebody who may read it.
func (r reader) words(ctx context.Context, ws string, s *domain.Sealed) string {
	text, there, err := r.accounts.Unseal(ctx, ws, s)
	switch {
	case err != nil:
		return "(this cannot be read)"
	case !there:
		return "(erased)"
	}
	return text
}

func (r reader) Wait(ctx context.Context, position domain.Position) error {
	return r.rows.Wait(ctx, position)
}

func (r reader) Role(ctx context.Context, ws, person string) (policy.Role, error) {
	r.catchUp(ctx)
	return r.rows.Role(ctx, ws, person)
}

func (r reader) Audit(ctx context.Context, ws string, f httpapi.AuditFilter) (httpapi.AuditPage, error) {
	r.catchUp(ctx)
	list, next, err := r.rows.Audit(ctx, ws, auditArgs(f))
	page := httpapi.AuditPage{Items: make([]httpapi.AuditRow, len(list)), Next: next}
	for i, e := range list {
		page.Items[i] = r.auditRow(e)
		page.Items[i].Title = r.title(ctx, ws, e.Target)
	}
	return page, err
}

func auditArgs(f httpapi.AuditFilter) projections.AuditArgs {
	return projections.AuditArgs{
		Agent: f.Agent, Person: f.Person, Key: f.Key, Session: f.Session, Action: f.Action, Target: f.Target, Outcome: f.Outcome,
		Cause: f.Cause, Skill: f.Skill, Proposal: f.Proposal, Since: f.Since, Until: f.Until,
		Page: action.Page{Cursor: f.Cursor, Limit: f.Limit},
	}
}

// title is what people called a thing when an action had been done to it.
func (r reader) title(ctx context.Context, ws string, t projections.Target) string {
	switch t.Kind {
	case "article", "page", "site":
		it, err := r.rows.Item(ctx, ws, t.ID, max(t.Version, 1))
		if err == nil {
			return it.Title
		}
	case "proposal":
		p, err := r.rows.Proposal(ctx, ws, t.ID)
		if err == nil {
			return p.Headline
		}
	}
	return "" // not of a kind that has one, or never there
}

func (r reader) AuditOne(ctx context.Context, ws string, id domain.ID) (httpapi.AuditRow, error) {
	r.catchUp(ctx)
	e, err := r.rows.Entry(ctx, ws, id)
	row := r.auditRow(e)
	row.Title = r.title(ctx, ws, e.Target)
	return row, err
}

// Why asks an action's recorded questions again.
func (r reader) Why(ctx context.Context, ws string, id domain.ID) (commands.Why, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return r.records.Why(ctx, ws, id)
}

func (r reader) auditRow(e projections.Entry) httpapi.AuditRow {
	row := httpapi.AuditRow{
		ID: e.ID, Position: commands.Position(e.Position), At: e.At, Action: e.Action, Principal: e.Principal, Person: e.Person,
		Mode: e.Mode, Skill: e.Skill, Via: e.Via, Client: e.Client, Outcome: e.Outcome, Verdict: e.Verdict, Changes: e.Changes, Clipped: e.Clipped,
		Proposal: e.Proposal, DecidedBy: e.DecidedBy, Undoes: e.Undoes, Undone: e.Undone, Chose: e.Chose, Batch: e.Batch, Count: e.Count,
		Sealed: e.Sealed, Refusal: e.Refusal,
	}
	if e.Yes != nil {
		yes := httpapi.Yes(*e.Yes)
		row.Yes = &yes
	}
	if e.Target.ID != "" {
		row.Target = &commands.Target{Kind: e.Target.Kind, ID: e.Target.ID, Version: e.Target.Version}
	}
	return row
}

func (r reader) Proposals(ctx context.Context, ws string, statuses ...proposal.Status) ([]httpapi.Proposal, error) {
	r.catchUp(ctx)
	if len(statuses) == 0 {
		statuses = []proposal.Status{proposal.Waiting, proposal.IsApproved, proposal.IsSettled, proposal.IsDeclined, proposal.IsWithdrawn, proposal.IsExpired}
	}
	var waiting, rest []httpapi.Proposal
	for _, status := range statuses {
		for cursor := ""; ; {
			list, next, err := r.rows.Proposals(ctx, ws, projections.ProposalArgs{Status: string(status), Page: action.Page{Cursor: cursor, Limit: 100}})
			if err != nil {
				return nil, err
			}
			for _, p := range list {
				if status == proposal.Waiting {
					waiting = append(waiting, proposalRow(p))
				} else {
					rest = append(rest, proposalRow(p))
				}
			}
			if cursor = next; cursor == "" || status != proposal.Waiting { // what is over: the newest hundred of each
				break
			}
		}
	}
	slices.Reverse(waiting)
	slices.SortStableFunc(rest, func(a, b httpapi.Proposal) int { return b.Filed.Compare(a.Filed) })
	return append(waiting, rest...), nil
}

// ProposalPage is a page of proposals, newest first.
func (r reader) ProposalPage(ctx context.Context, ws string, status proposal.Status, cursor string, limit int) (httpapi.ProposalPage, error) {
	r.catchUp(ctx)
	list, next, err := r.rows.Proposals(ctx, ws, projections.ProposalArgs{Status: string(status), Page: action.Page{Cursor: cursor, Limit: limit}})
	page := httpapi.ProposalPage{Items: make([]httpapi.Proposal, len(list)), Next: next}
	for i, p := range list {
		page.Items[i] = proposalRow(p)
	}
	return page, err
}

func (r reader) Proposal(ctx context.Context, ws, id string) (httpapi.Proposal, error) {
	r.catchUp(ctx)
	p, err := r.rows.Proposal(ctx, ws, id)
	return proposalRow(p), err
}

func proposalRow(p projections.Proposal) httpapi.Proposal {
	row := httpapi.Proposal{
		ID: p.ID, State: proposal.Status(p.Status), Headline: p.Headline, Cause: p.Cause, Action: p.Action,
		Principal: p.Asker, Person: p.Person, Mode: p.Mode, Skill: p.Skill,
		Changes: p.Changes, Counts: p.Counts, Clipped: p.Clipped, Verdict: p.Verdict, Digest: p.Digest,
		Filed: p.Filed, Expires: p.Expires, Reminded: p.Reminded, DecidedBy: p.DecidedBy, DecidedAt: p.DecidedAt, Code: p.Code, Results: p.Results,
		Sealed: p.Sealed, SealedWords: p.SealedWords,
	}
	for _, c := range p.Calls {
		row.Calls = append(row.Calls, proposal.Called{Part: c.Part, Action: c.Action, Args: c.Args, Target: c.Target, Needs: c.Needs})
		if s, err := domain.ParseStream(c.Target); err == nil && (s.Category == "live" || s.Category == "site") {
			row.Site = s.ID
		}
	}
	return row
}

func (r reader) Agents(ctx context.Context, ws string) ([]httpapi.Agent, error) {
	r.catchUp(ctx)
	var rows []httpapi.Agent
	for cursor := ""; ; {
		list, next, err := r.rows.Agents(ctx, ws, action.Page{Cursor: cursor, Limit: 100})
		if err != nil {
			return nil, err
		}
		for _, a := range list {
			row, err := r.agentRow(ctx, ws, a)
			if err != nil {
				return nil, err
			}
			rows = append(rows, row)
		}
		if cursor = next; cursor == "" {
			return rows, nil
		}
	}
}

// AgentPage is a page of agents, oldest first.
func (r reader) AgentPage(ctx context.Context, ws, cursor string, limit int) (httpapi.AgentPage, error) {
	r.catchUp(ctx)
	list, next, err := r.rows.Agents(ctx, ws, action.Page{Cursor: cursor, Limit: limit})
	if err != nil {
		return httpapi.AgentPage{}, err
	}
	page := httpapi.AgentPage{Items: make([]httpapi.Agent, len(list)), Next: next}
	for i, a := range list {
		if page.Items[i], err = r.agentRow(ctx, ws, a); err != nil {
			return httpapi.AgentPage{}, err
		}
	}
	return page, nil
}

// agentRow is an agent as people see it, with what is known of its keys beside
// the log.
func (r reader) agentRow(ctx context.Context, ws string, a projections.Agent) (httpapi.Agent, error) {
	row := httpapi.Agent{ID: a.ID, Person: a.Person, Mode: string(a.Mode), Scopes: a.Scopes, Site: a.Site, Collection: a.Collection, Confirm: a.Confirm, Paused: a.Paused, Made: a.Created, Last: a.LastSeen, Keys: []httpapi.Key{}}
	kept, err := r.people.Keys(ctx, ws, a.ID)
	if err != nil {
		return row, err
	}
	seen := map[string]vault.Key{}
	for _, k := range kept {
		seen[k.ID] = k
	}
	now := r.clock()
	for _, k := range a.Keys {
		row.Keys = append(row.Keys, httpapi.Key{
			ID: k.ID, Mode: string(k.Mode), Scopes: k.Scopes, Site: k.Site, Collection: k.Collection, Made: seen[k.ID].Created,
			Expires: k.Expires, Next: k.Next, Revoked: k.Revoked, Prefix: seen[k.ID].Prefix, LastUsed: seen[k.ID].LastUsed,
			EndsSoon: agent.Key{Expires: k.Expires, Revoked: k.Revoked, Next: k.Next}.EndsSoon(now),
		})
	}
	for _, l := range a.Lent {
		row.Lent = append(row.Lent, httpapi.Lent(l))
	}
	return row, nil
}

func (r reader) People(ctx context.Context, ws string) ([]httpapi.Seated, error) {
	r.catchUp(ctx)
	list, err := r.rows.People(ctx, ws)
	rows := make([]httpapi.Seated, len(list))
	for i, p := range list {
		rows[i] = httpapi.Seated{ID: p.ID, Role: p.Role}
	}
	return rows, err
}

func (r reader) Workspace(ctx context.Context, ws string) (httpapi.Workspace, error) {
	r.catchUp(ctx)
	w, err := r.rows.Workspace(ctx, ws)
	return httpapi.Workspace{Paused: w.Paused, AutoPublishLimit: w.Limit(), LocalMode: string(w.Local()), UndoHours: int(w.UndoWindow().Hours())}, err
}

func (r reader) Rules(ctx context.Context, ws, site string) (policy.Rules, error) {
	r.catchUp(ctx)
	return r.rows.Rules(ctx, ws, site)
}

func (r reader) Sites(ctx context.Context, ws string) ([]httpapi.SiteRow, error) {
	r.catchUp(ctx)
	var rows []httpapi.SiteRow
	for cursor := ""; ; {
		list, next, err := r.rows.Sites(ctx, ws, action.Page{Cursor: cursor, Limit: 100})
		if err != nil {
			return nil, err
		}
		for _, s := range list {
			rows = append(rows, siteRow(s))
		}
		if cursor = next; cursor == "" {
			return rows, nil
		}
	}
}

func siteRow(s projections.Site) httpapi.SiteRow {
	return httpapi.SiteRow{ID: s.ID, Title: s.Title, Live: live.PublishVersion(s.Published), Pending: s.Pending}
}

func (r reader) Pending(ctx context.Context, ws, handle string) (httpapi.Pending, error) {
	r.catchUp(ctx)
	p, err := r.rows.PendingChanges(ctx, ws, handle)
	return httpapi.Pending{Changes: p.Changes, AutoCheck: p.AutoCheck, Position: commands.Position(r.rows.Status().Position)}, err
}

func (r reader) Versions(ctx context.Context, ws, handle, cursor string, limit int) (httpapi.VersionPage, error) {
	r.catchUp(ctx)
	list, next, err := r.rows.Versions(ctx, ws, site.VersionsArgs{Site: handle, Page: action.Page{Cursor: cursor, Limit: limit}})
	page := httpapi.VersionPage{Items: []httpapi.Version{}, Next: next}
	for _, v := range list {
		name, _ := v.Version.(string)
		page.Items = append(page.Items, httpapi.Version{Version: name, At: v.At, Action: v.Action, ID: v.ID, Principal: v.Principal, Skill: v.Skill, Live: v.Live, Sealed: v.Sealed})
	}
	return page, err
}

// view is a site as it is looked at.
func (r reader) view(ctx context.Context, ws, handle string, v httpapi.View) (projections.View, error) {
	return r.rows.SiteAt(ctx, ws, site.PreviewArgs{Site: handle, Version: v.Version, Items: v.Items, Proposal: v.Proposal})
}

// Site is a site's settings in a view. Of a site that was never published the
// public sees nothing; of one whose settings were not, its handle.
func (r reader) Site(ctx context.Context, ws, handle string, v httpapi.View) (render.Site, string, error) {
	r.catchUp(ctx)
	at, err := r.view(ctx, ws, handle, v)
	if err != nil {
		return render.Site{}, "", err
	}
	now, err := r.rows.Site(ctx, ws, handle)
	if err != nil {
		return render.Site{}, "", err
	}
	if v.Version == "live" && now.Published == "" {
		return render.Site{}, "", domain.Refuse("not-found", "Nothing of this site has been published yet.")
	}
	mark := now.Published
	if v.Version != "live" {
		mark = string(domain.Derive("view", r.rows.Status().FoldedAt.String()))
	}
	s := render.Site{Handle: handle, Title: at.Settings.Title, Tagline: at.Settings.Tagline, Locale: at.Settings.Locale, Theme: at.Settings.Theme}
	if at.Settings.Version == 0 {
		s.Title, s.Locale = handle, "en"
	}
	for _, l := range at.Settings.Menu {
		s.Menu = append(s.Menu, render.Link{Label: l.Label, Path: l.Path})
	}
	return s, mark, nil
}

func (r reader) ResolvePath(ctx context.Context, ws, handle string, v httpapi.View, path string) (render.Item, error) {
	at, err := r.view(ctx, ws, handle, v)
	if err != nil {
		return render.Item{}, err
	}
	it, err := r.rows.Resolve(ctx, at, path)
	return shownItem(it), err
}

func (r reader) Listing(ctx context.Context, ws, handle string, v httpapi.View, collection, locale string) ([]render.Item, error) {
	at, err := r.view(ctx, ws, handle, v)
	if err != nil {
		return nil, err
	}
	list, _, err := r.rows.Listing(ctx, at, collection, 0, 0)
	var items []render.Item
	for _, it := range list {
		if it.Locale == locale || locale == at.Settings.Locale && it.Locale == "" {
			items = append(items, shownItem(it))
		}
	}
	return items, err
}

func shownItem(it projections.Item) render.Item {
	return render.Item{
		ID: it.ID, Kind: it.Kind, Collection: it.Collection, Locale: it.Locale, Address: it.Address, Title: it.Title,
		Summary: it.Summary, Body: it.Body, Tags: it.Tags, Authors: it.Authors, Date: it.Date,
	}
}

// Writable is nil when the log takes appends.
func (r reader) Writable(ctx context.Context) error { return r.road.Writable(ctx) }

// Signed is nil when every place has the log's last signed head.
func (r reader) Signed() error {
	if r.heads == nil {
		return nil
	}
	return r.heads.Failing()
}

// Behind is how many events the read models have not seen, as far as it is
// worth counting: positions may be far apart, so the events are looked at.
func (r reader) Behind(ctx context.Context) (int64, error) {
	status := r.rows.Status()
	if status.Stuck != nil {
		return 0, status.Stuck
	}
	if head, err := r.log.Head(ctx); err != nil || head.Position <= status.Position {
		return 0, err
	}
	unseen, err := r.log.ReadAll(ctx, status.Position, 1000)
	return int64(len(unseen)), err
}

// Brief is what an agent is told of itself. The road asks the log again on
// every call; this only has to know an agent that was just made.
func (r reader) Brief(ctx context.Context, who mcp.Caller) (mcp.Brief, error) {
	r.catchUp(ctx)
	settings, err := r.rows.Workspace(ctx, who.Workspace)
	if err != nil {
		return mcp.Brief{}, err
	}
	b := mcp.Brief{PublishLimit: settings.Limit()}
	b.Mode, b.Scopes, b.Site, b.Paused = string(policy.Effective(who.Mode, true)), who.Scopes, who.Site, settings.Paused
	if b.Scopes == nil {
		b.Scopes = policy.Scopes
	}
	person := who.Person
	if domain.ID(who.Principal.ID).Kind() == "agent" {
		a, err := r.rows.Agent(ctx, who.Workspace, who.Principal.ID)
		if err != nil {
			return mcp.Brief{}, err
		}
		if who.Via.Key != "" && !living(a, who.Via.Key, r.clock()) {
			return mcp.Brief{}, domain.Refuse("revoked", "This key was revoked or is over. Ask your owner for a new one.")
		}
		person = a.Person
		b.Limits = limitsOf(a, who.Via.Key, settings.Paused, r.clock())
		if who.Via.Local != "" {
			b.Mode = string(policy.Stricter(policy.Mode(b.Mode), who.Mode))
		}
	}
	if who.Joined {
		b.Mode = string(policy.Stricter(policy.Mode(b.Mode), settings.Local()))
	}
	b.Role = policy.Owner // before set-up a local caller works as the owner will
	if person != "" {
		if b.Role, err = r.rows.Role(ctx, who.Workspace, person); err != nil {
			return mcp.Brief{}, err
		}
	}
	names, err := r.accounts.Names(ctx, who.Workspace, who.Principal.ID, person)
	if err != nil {
		return mcp.Brief{}, err
	}
	b.Agent, b.Person = names[who.Principal.ID], names[person]
	b.Waiting, err = r.rows.Waiting(ctx, who.Workspace, who.Principal)
	return b, err
}

// living says that a key of an agent works.
func living(a projections.Agent, key string, now time.Time) bool {
	return slices.ContainsFunc(a.Keys, func(k projections.AgentKey) bool {
		return k.ID == key && !k.Revoked && (k.Expires.IsZero() || now.Before(k.Expires))
	})
}

// limitsOf is what an agent works within through one of its keys.
func limitsOf(a projections.Agent, key string, paused bool, now time.Time) commands.Limits {
	l := commands.Limits{Mode: string(a.Mode), Scopes: a.Scopes, Site: a.Site, Collection: a.Collection, Paused: a.Paused || paused}
	for _, k := range a.Keys {
		if k.ID != key {
			continue
		}
		l.Mode = string(policy.Stricter(a.Mode, k.Mode))
		l.Scopes = policy.Narrowed(a.Scopes, k.Scopes)
		l.Site, l.Collection = cmp.Or(a.Site, k.Site), cmp.Or(a.Collection, k.Collection)
		if k.Site != "" && k.Site != l.Site || k.Collection != "" && k.Collection != l.Collection { // nowhere
			l.Scopes = []string{}
		}
		l.Key = commands.EndsOf(k.ID, agent.Key{Expires: k.Expires, Revoked: k.Revoked, Next: k.Next}, now)
	}
	return l
}
