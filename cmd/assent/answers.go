package main

import (
	"context"
	"errors"
	"time"

	"assent/commands"
	"assent/domain"
	"assent/domain/action"
	"assent/domain/agent"
	"assent/domain/article"
	"assent/domain/page"
	"assent/domain/proposal"
	"assent/domain/site"
	"assent/httpapi"
	"assent/projections"
)

// patience is how long a read waits for the read models to see what the asker
// has seen.
const patience = 5 * time.Second

// bind lets the read models answer every read action.
func (r reader) bind(answers commands.Answers, signer *httpapi.Signer) {
	commands.Bind(answers, site.List, reading(r, func(ctx context.Context, who commands.Asker, a action.Page) (commands.Answer, error) {
		items, next, err := r.rows.Sites(ctx, who.Workspace, a)
		return commands.Answer{Items: onlySite(who, items), Next: next}, err
	}))
	commands.Bind(answers, site.Get, reading(r, func(ctx context.Context, who commands.Asker, a site.Which) (commands.Answer, error) {
		s, err := r.rows.Site(ctx, who.Workspace, a.Site)
		return commands.Answer{Site: s}, visible(who, a.Site, err)
	}))
	commands.Bind(answers, page.List, reading(r, func(ctx context.Context, who commands.Asker, a page.ListArgs) (commands.Answer, error) {
		items, next, err := r.rows.Pages(ctx, who.Workspace, a)
		return commands.Answer{Items: items, Next: next}, visible(who, a.Site, err)
	}))
	commands.Bind(answers, page.Get, reading(r, func(ctx context.Context, who commands.Asker, a page.GetArgs) (commands.Answer, error) {
		p, err := r.rows.Page(ctx, who.Workspace, a)
		return commands.Answer{Page: p}, visible(who, p.Site, err)
	}))
	commands.Bind(answers, article.List, reading(r, func(ctx context.Context, who commands.Asker, a article.ListArgs) (commands.Answer, error) {
		items, next, err := r.rows.Articles(ctx, who.Workspace, a)
		return commands.Answer{Items: items, Next: next}, visible(who, a.Site, err)
	}))
	commands.Bind(answers, article.Get, reading(r, func(ctx context.Context, who commands.Asker, a article.GetArgs) (commands.Answer, error) {
		it, err := r.rows.Article(ctx, who.Workspace, a)
		return commands.Answer{Article: it}, visible(who, it.Site, err)
	}))
	commands.Bind(answers, site.Versions, reading(r, r.versionList))
	commands.Bind(answers, site.Compare, reading(r, r.compare))
	commands.Bind(answers, site.Preview, reading(r, func(ctx context.Context, who commands.Asker, a site.PreviewArgs) (commands.Answer, error) {
		if err := r.mayPreview(ctx, who, a); err != nil {
			return commands.Answer{}, err
		}
		url, token, expires, err := signer.Create(who.Workspace, a, r.clock())
		return commands.Answer{Preview: preview{url, token, expires}}, err
	}))
	commands.Bind(answers, proposal.List, reading(r, func(ctx context.Context, who commands.Asker, a action.Page) (commands.Answer, error) {
		list, next, err := r.rows.Proposals(ctx, who.Workspace, projections.ProposalArgs{Asker: who.Principal, Page: a})
		items := make([]ownCard, len(list))
		for i, p := range list {
			items[i] = r.asked(p)
		}
		return commands.Answer{Items: items, Next: next}, err
	}))
	commands.Bind(answers, proposal.Get, reading(r, r.ownProposal))
	commands.Bind(answers, agent.Whoami, reading(r, r.whoami))
}

// reading answers once the read models have seen what the asker has, or cannot
// get there: reads go on when nothing can be written.
func reading[A any](r reader, f func(context.Context, commands.Asker, A) (commands.Answer, error)) func(context.Context, commands.Asker, A) (commands.Answer, error) {
	return func(ctx context.Context, who commands.Asker, a A) (commands.Answer, error) {
		waiting, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		if err := r.rows.Wait(waiting, who.Head); err != nil && ctx.Err() != nil {
			return commands.Answer{}, err
		} // when they cannot get on, what they have is better than nothing
		return f(ctx, who, a)
	}
}

// visible keeps an agent that is for one site from reading another: hidden and
// missing answer alike.
func visible(who commands.Asker, on string, err error) error {
	if no, meant := errors.AsType[*domain.Refusal](err); meant && no.Code == "not-found" && who.Agent != nil && who.Agent.Site != "" {
		return hidden
	}
	if err == nil && who.Agent != nil && who.Agent.Site != "" && on != "" && on != who.Agent.Site {
		return hidden
	}
	return err
}

var hidden = domain.Refuse("not-found", "There is nothing of that name. List what there is to find its id.")

func onlySite(who commands.Asker, sites []projections.Site) []projections.Site {
	kept := []projections.Site{}
	for _, s := range sites {
		if visible(who, s.ID, nil) == nil {
			kept = append(kept, s)
		}
	}
	return kept
}

// mayPreview lets an agent look at what it could read itself: not at another's
// proposal, and not at another site than its own.
func (r reader) mayPreview(ctx context.Context, who commands.Asker, a site.PreviewArgs) error {
	if err := visible(who, a.Site, nil); err != nil {
		return err
	}
	if a.Proposal != "" && who.Principal.IsAgent() {
		if _, err := r.ownProposal(ctx, who, proposal.Which{Proposal: a.Proposal}); err != nil {
			return err
		}
	}
	_, err := r.rows.SiteAt(ctx, who.Workspace, a)
	return err
}

// preview is where a site can be looked at.
type preview struct {
	URL     string    `json:"url"`
	Token   string    `json:"token"`
	Expires time.Time `json:"expires"`
}

func (r reader) versionList(ctx context.Context, who commands.Asker, a site.VersionsArgs) (commands.Answer, error) {
	list, next, err := r.rows.Versions(ctx, who.Workspace, a)
	if err := visible(who, a.Site, err); err != nil {
		return commands.Answer{}, err
	}
	if err := r.itemWithin(ctx, who, a.Item); err != nil {
		return commands.Answer{}, err
	}
	for i := range list {
		list[i].Reason = r.words(ctx, who.Workspace, list[i].Sealed)
	}
	return commands.Answer{Items: list, Next: next}, nil
}

func (r reader) compare(ctx context.Context, who commands.Asker, a site.CompareArgs) (commands.Answer, error) {
	for _, end := range []string{a.From, a.To} {
		if domain.ID(end).Kind() == proposal.Kind.Prefix && who.Principal.IsAgent() {
			if _, err := r.ownProposal(ctx, who, proposal.Which{Proposal: end}); err != nil {
				return commands.Answer{}, err
			}
		}
	}
	diff, err := r.rows.Compare(ctx, who.Workspace, a)
	if err := visible(who, a.Site, err); err != nil {
		return commands.Answer{}, err
	}
	return commands.Answer{Diff: diff}, r.itemWithin(ctx, who, a.Item)
}

// itemWithin is visible for an item named by its id.
func (r reader) itemWithin(ctx context.Context, who commands.Asker, id string) error {
	if id == "" || who.Agent == nil || who.Agent.Site == "" {
		return nil
	}
	it, err := r.rows.Item(ctx, who.Workspace, id, 1)
	return visible(who, it.Site, err)
}

// ownCard is a proposal as its asker is told of it.
type ownCard struct {
	projections.Proposal
	URL   string `json:"url"`
	State string `json:"state"`
}

func (r reader) asked(p projections.Proposal) ownCard {
	return ownCard{p, r.road.ProposalURL(p.ID), p.Status}
}

// ownProposal tells an asker what became of what it asked for, the words of a
// decline included.
func (r reader) ownProposal(ctx context.Context, who commands.Asker, a proposal.Which) (commands.Answer, error) {
	p, err := r.rows.Proposal(ctx, who.Workspace, a.Proposal)
	if err != nil || p.Asker != who.Principal {
		return commands.Answer{}, domain.Refuse("not-found", "You have no such proposal. List your proposals to find its id.")
	}
	p.Reason, p.Words = r.words(ctx, who.Workspace, p.Sealed), r.words(ctx, who.Workspace, p.SealedWords)
	return commands.Answer{Proposal: r.asked(p)}, nil
}

// me is the answer to whoami.
type me struct {
	Agent   string           `json:"agent"`
	Name    string           `json:"name,omitempty"`
	Person  string           `json:"person,omitempty"`
	Mode    string           `json:"mode,omitempty"`
	Scopes  []string         `json:"scopes"`
	Site    string           `json:"site,omitempty"`
	Limits  *commands.Limits `json:"limits"`
	Publish int              `json:"autoPublishLimit"`
	Waiting int              `json:"waiting"`

	Collection string `json:"collection,omitempty"`
	Notice     string `json:"notice,omitempty"` // about the key in use, when it has an end
}

func (r reader) whoami(ctx context.Context, who commands.Asker, _ struct{}) (commands.Answer, error) {
	waiting, err := r.rows.Waiting(ctx, who.Workspace, who.Principal)
	if err != nil {
		return commands.Answer{}, err
	}
	settings, err := r.rows.Workspace(ctx, who.Workspace)
	if err != nil {
		return commands.Answer{}, err
	}
	names, err := r.accounts.Names(ctx, who.Workspace, who.Principal.ID)
	if err != nil {
		return commands.Answer{}, err
	}
	m := me{Agent: who.Principal.ID, Name: names[who.Principal.ID], Person: who.Person, Scopes: []string{}, Publish: settings.Limit(), Waiting: waiting, Limits: who.Agent}
	if who.Agent != nil {
		m.Mode, m.Scopes, m.Site = who.Agent.Mode, who.Agent.Scopes, who.Agent.Site
		m.Collection = who.Agent.Collection
		if who.Agent.Key != nil {
			m.Notice = who.Agent.Key.Notice()
		}
	}
	return commands.Answer{Whoami: m}, nil
}
