package httpapi

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"assent/commands"
	"assent/domain"
	"assent/domain/action"
	"assent/domain/agent"
	"assent/domain/article"
	"assent/domain/page"
	"assent/domain/site"
)

// Export is the audit to take away. That somebody takes it stands in it.
func (h *house) Export(ctx context.Context, by domain.Person, f AuditFilter, form string, each func(AuditRow) error) error {
	h.mu.Lock()
	if h.fault != nil {
		defer h.mu.Unlock()
		return h.fault
	}
	ws := by.Workspace()
	h.position++
	h.rows[ws] = append([]AuditRow{{
		ID: domain.ID("act_export"), Position: commands.Position(h.position), At: h.now, Action: commands.Exporting, Outcome: "read", Count: 1,
		Principal: domain.Principal{Kind: domain.KindPerson, ID: by.ID()}, Via: domain.Via{Session: by.Session()}, Target: &commands.Target{ID: strings.Join(f.About(form), " ")},
	}}, h.rows[ws]...)
	h.mu.Unlock()
	f.Limit = 1 << 30
	page, err := h.Audit(ctx, ws, f)
	if err != nil {
		return err
	}
	slices.Reverse(page.Items)
	for _, row := range page.Items {
		if err := each(row); err != nil {
			return err
		}
	}
	return nil
}

// present is a workspace as it is: the house keeps no times.
type present struct {
	*house
	ws string
}

func (h *house) AsOf(_ context.Context, ws string, _ commands.Moment) (Past, error) {
	return present{h, ws}, nil
}

// things are the states of a kind, by id.
func (p present) things(kind action.Kind) map[string]domain.State {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := map[string]domain.State{}
	for s := range p.history {
		if s.Category == kind.Category && s.Workspace == p.ws {
			found[s.ID] = p.state(s)
		}
	}
	return found
}

func (p present) list(kind action.Kind, on string) []object {
	list := []object{}
	for id, state := range p.things(kind) {
		of, title := "", ""
		switch s := state.(type) {
		case article.Article:
			of, title = s.Site, s.Title
		case page.Page:
			of, title = s.Site, s.Title
		case site.Site:
			of, title = on, s.Title
		}
		if of == on {
			list = append(list, object{"id": id, "title": title})
		}
	}
	slices.SortFunc(list, func(a, b object) int { return cmp.Compare(a["id"].(string), b["id"].(string)) })
	return list
}

func (p present) Sites(ctx context.Context, _ action.Page) ([]SiteRow, string, error) {
	rows, err := p.house.Sites(ctx, p.ws)
	return rows, "", err
}

func (p present) Site(_ context.Context, handle string) (any, error) {
	s, ok := p.things(site.Kind)[handle].(site.Site)
	if !ok {
		return nil, noSite
	}
	return object{"id": handle, "title": s.Title}, nil
}

func (p present) Pages(ctx context.Context, args page.ListArgs) (any, string, error) {
	_, err := p.Site(ctx, args.Site)
	return p.list(page.Kind, args.Site), "", err
}

func (p present) Articles(ctx context.Context, args article.ListArgs) (any, string, error) {
	_, err := p.Site(ctx, args.Site)
	return p.list(article.Kind, args.Site), "", err
}

func (p present) Item(_ context.Context, id string) (any, error) {
	a, ok := p.things(article.Kind)[id].(article.Article)
	if !ok {
		return nil, domain.Refuse("not-found", "There is no such article.")
	}
	return object{"article": object{"id": id, "title": a.Title, "body": a.Body}}, nil
}

func (p present) Live(ctx context.Context, handle string) (LiveThen, error) {
	_, err := p.Site(ctx, handle)
	return LiveThen{Site: handle, Shown: []ShownThen{}}, err
}

func (p present) Agent(_ context.Context, id string) (commands.Authority, error) {
	a, ok := p.things(agent.Kind)[id].(agent.Agent)
	if !ok {
		return commands.Authority{}, domain.Refuse("not-found", "There was no such agent then.")
	}
	return commands.Authority{Agent: id, Person: a.Person, Mode: a.Mode, Scopes: a.Scopes}, nil
}

// History is that of the actions whose target the item is.
func (h *house) History(_ context.Context, ws, item, cursor string, limit int) (page HistoryPage, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []HistoryRow
	for _, row := range h.rows[ws] {
		if row.Target != nil && row.Target.ID == item && row.Outcome == commands.Done {
			all = append(all, HistoryRow{Position: row.Position, At: row.At, Step: "edited", Version: row.Target.Version, ID: row.ID, Action: row.Action, Principal: row.Principal, Person: row.Person, Sealed: row.Sealed})
		}
	}
	if all == nil {
		return page, domain.Refuse("not-found", "There is nothing called that.")
	}
	page.Items, page.Next, err = cut(all, cursor, limit)
	return page, err
}
