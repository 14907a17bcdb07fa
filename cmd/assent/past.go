package main

import (
	"cmp"
	"context"
	"slices"

	"assent/commands"
	"assent/domain"
	"assent/domain/action"
	"assent/domain/article"
	"assent/domain/page"
	"assent/httpapi"
	"assent/projections"
)

// past is a workspace as it was at a moment, from the read models and, for who
// could do what, from the log itself.
type past struct {
	reader
	workspace string
	moment    commands.Moment
	then      projections.Past
}

// AsOf is a workspace as it was at a moment; of the zero Moment, as it is.
func (r reader) AsOf(ctx context.Context, ws string, m commands.Moment) (httpapi.Past, error) {
	r.catchUp(ctx)
	if m == (commands.Moment{}) {
		m.Position = max(r.rows.Status().Position, 1)
	}
	return past{r, ws, m, r.rows.AsOf(projections.Moment(m))}, nil
}

func (p past) Sites(ctx context.Context, pg action.Page) ([]httpapi.SiteRow, string, error) {
	items, next, err := p.then.Sites(ctx, p.workspace, pg)
	rows := make([]httpapi.SiteRow, len(items))
	for i, s := range items {
		rows[i] = siteRow(s)
	}
	return rows, next, err
}

func (p past) Site(ctx context.Context, handle string) (any, error) {
	return p.then.Site(ctx, p.workspace, handle)
}

func (p past) Pages(ctx context.Context, args page.ListArgs) (any, string, error) {
	items, next, err := p.then.Pages(ctx, p.workspace, args)
	return items, next, err
}

func (p past) Articles(ctx context.Context, args article.ListArgs) (any, string, error) {
	items, next, err := p.then.Articles(ctx, p.workspace, args)
	return items, next, err
}

func (p past) Item(ctx context.Context, id string) (any, error) {
	if domain.ID(id).Kind() == page.Kind.Prefix {
		it, err := p.then.Page(ctx, p.workspace, page.GetArgs{Page: id})
		return map[string]any{"page": it}, err
	}
	it, err := p.then.Article(ctx, p.workspace, article.GetArgs{Article: id})
	return map[string]any{"article": it}, err
}

func (p past) Live(ctx context.Context, handle string) (httpapi.LiveThen, error) {
	v, err := p.then.Live(ctx, p.workspace, handle)
	if err != nil {
		return httpapi.LiveThen{}, err
	}
	then := httpapi.LiveThen{Site: handle, Publish: v.Name(), Title: v.Settings.Title, Tagline: v.Settings.Tagline, Locale: v.Settings.Locale, Shown: []httpapi.ShownThen{}}
	shown, err := p.rows.Addresses(ctx, v)
	if err != nil {
		return then, err
	}
	for at, is := range shown {
		it, err := p.rows.Item(ctx, p.workspace, is.ID, is.Version)
		if err != nil {
			return then, err
		}
		then.Shown = append(then.Shown, httpapi.ShownThen{Address: at, ID: is.ID, Version: is.Version, Title: it.Title})
	}
	slices.SortFunc(then.Shown, func(a, b httpapi.ShownThen) int { return cmp.Compare(a.Address, b.Address) })
	return then, nil
}

func (p past) Agent(ctx context.Context, id string) (commands.Authority, error) {
	return p.records.Authority(ctx, p.workspace, id, p.moment)
}

// History is a page of what happened to an item.
func (r reader) History(ctx context.Context, ws, item, cursor string, limit int) (httpapi.HistoryPage, error) {
	r.catchUp(ctx)
	list, next, err := r.rows.History(ctx, ws, item, action.Page{Cursor: cursor, Limit: limit})
	page := httpapi.HistoryPage{Items: make([]httpapi.HistoryRow, len(list)), Next: next}
	for i, s := range list {
		page.Items[i] = httpapi.HistoryRow{
			Position: commands.Position(s.Position), At: s.At, Step: s.Step, Version: s.Version, Publish: s.Publish, Address: s.Address,
			ID: s.ID, Action: s.Action, Principal: s.Principal, Person: s.Person, Skill: s.Skill, Sealed: s.Sealed,
		}
	}
	return page, err
}
