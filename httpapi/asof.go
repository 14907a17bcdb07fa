package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"

	"assent/commands"
	"assent/domain"
	"assent/domain/action"
	"assent/domain/article"
	"assent/domain/page"
)

// Past is a workspace as it was at a moment, or as it is. What it gives is
// spelled as the read actions of the same names spell it. What was not there
// then is a refusal with the code not-found.
type Past interface {
	Sites(ctx context.Context, p action.Page) (items []SiteRow, next string, err error)
	Site(ctx context.Context, handle string) (any, error)
	Pages(ctx context.Context, args page.ListArgs) (items any, next string, err error)
	Articles(ctx context.Context, args article.ListArgs) (items any, next string, err error)
	// Item is a page or an article with its body.
	Item(ctx context.Context, id string) (any, error)
	// Live is what the public saw of a site.
	Live(ctx context.Context, handle string) (LiveThen, error)
	// Agent is what an agent could do.
	Agent(ctx context.Context, id string) (commands.Authority, error)
}

// LiveThen is what the public saw of a site at a moment. What is at an address
// then is found with GET items/{item} and the version.
type LiveThen struct {
	Site    string      `json:"site"`
	Publish string      `json:"publish,omitempty"` // p12; empty when nothing had been published
	Title   string      `json:"title,omitempty"`
	Tagline string      `json:"tagline,omitempty"`
	Locale  string      `json:"locale,omitempty"`
	Shown   []ShownThen `json:"shown"` // by address
}

// ShownThen is one thing the public saw.
type ShownThen struct {
	Address string         `json:"address"`
	ID      string         `json:"id"`
	Version domain.Version `json:"version"`
	Title   string         `json:"title"`
}

// HistoryPage is what happened to an item, newest first.
type HistoryPage struct {
	Items []HistoryRow      `json:"items"`
	Next  string            `json:"next,omitempty"`
	Names map[string]string `json:"names,omitempty"`
}

// HistoryRow is one thing that happened to an item: a version was made, or a
// publish showed one to the public or took it off.
type HistoryRow struct {
	Position  commands.Position `json:"position"`
	At        time.Time         `json:"at"`
	Step      string            `json:"step"` // made, edited, removed, restored, published or taken-off
	Version   domain.Version    `json:"version,omitempty"`
	Publish   string            `json:"publish,omitempty"`
	Address   string            `json:"address,omitempty"`
	ID        domain.ID         `json:"id"` // of the action
	Action    string            `json:"action"`
	Principal domain.Principal  `json:"principal"`
	Person    string            `json:"person,omitempty"`
	Skill     string            `json:"skill,omitempty"`
	Reason    string            `json:"reason,omitempty"` // filled in here, from Sealed

	Sealed *domain.Sealed `json:"-"`
}

// momentOf reads as_of: a position, or a day or time. Without it, it is the
// present: the zero Moment. What is yet to come has no answer.
func (s *Server) momentOf(q url.Values) (m commands.Moment, err error) {
	text := q.Get("as_of")
	if len(q["as_of"]) > 1 {
		return m, domain.Refuse("invalid", "`as_of` is given twice.")
	}
	if !q.Has("as_of") {
		return m, nil
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 0 {
		return commands.Moment{Position: domain.Position(n)}, nil
	}
	if m.Time, err = timeOf(text); err != nil || m.Time.IsZero() {
		return m, domain.Refuse("invalid", "`as_of` is a position, as an answer gave it, or a day or time, as in 2026-12-31 or 2026-12-31T09:00:00Z.")
	}
	if m.Time.After(s.now()) {
		return m, domain.Refuse("invalid", "`as_of` is yet to come: nobody knows what there will be. Leave it out for the present.")
	}
	return m, nil
}

// asOf reads a query about the past: its moment, the part of a list, and what
// narrows it.
func (s *Server) asOf(r *http.Request, who caller, texts map[string]*string) (Past, action.Page, error) {
	q := r.URL.Query()
	m, err := s.momentOf(q)
	if err != nil {
		return nil, action.Page{}, err
	}
	q.Del("as_of")
	part, err := sectionOf(q, texts, nil)
	if err != nil {
		return nil, action.Page{}, err
	}
	if m.Position > 0 {
		if err := s.wait(r.Context(), m.Position); err != nil {
			return nil, action.Page{}, err
		}
	}
	past, err := s.queries.AsOf(r.Context(), who.workspace, m)
	return past, action.Page{Cursor: part.cursor, Limit: part.limit}, err
}

// listed is a page of a list.
type listed struct {
	Items any    `json:"items"`
	Next  string `json:"next,omitempty"`
}

func (s *Server) getSites(w http.ResponseWriter, r *http.Request, who caller) error {
	if !r.URL.Query().Has("as_of") {
		sites, err := s.queries.Sites(r.Context(), who.workspace)
		if err != nil {
			return err
		}
		return answer(w, http.StatusOK, list[SiteRow]{sites})
	}
	past, part, err := s.asOf(r, who, nil)
	if err != nil {
		return err
	}
	items, next, err := past.Sites(r.Context(), part)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, listed{items, next})
}

func (s *Server) getSettings(w http.ResponseWriter, r *http.Request, who caller) error {
	past, _, err := s.asOf(r, who, nil)
	if err != nil {
		return err
	}
	site, err := past.Site(r.Context(), chi.URLParam(r, "site"))
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, map[string]any{"site": site})
}

func (s *Server) getPages(w http.ResponseWriter, r *http.Request, who caller) error {
	args := page.ListArgs{Site: chi.URLParam(r, "site")}
	past, part, err := s.asOf(r, who, map[string]*string{"prefix": &args.Prefix})
	if err != nil {
		return err
	}
	args.Page = part
	items, next, err := past.Pages(r.Context(), args)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, listed{items, next})
}

func (s *Server) getArticles(w http.ResponseWriter, r *http.Request, who caller) error {
	args := article.ListArgs{Site: chi.URLParam(r, "site")}
	past, part, err := s.asOf(r, who, map[string]*string{"collection": &args.Collection, "tag": &args.Tag, "status": &args.Status, "query": &args.Query})
	if err != nil {
		return err
	}
	args.Page = part
	items, next, err := past.Articles(r.Context(), args)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, listed{items, next})
}

func (s *Server) getLive(w http.ResponseWriter, r *http.Request, who caller) error {
	past, _, err := s.asOf(r, who, nil)
	if err != nil {
		return err
	}
	live, err := past.Live(r.Context(), chi.URLParam(r, "site"))
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, live)
}

func (s *Server) getItem(w http.ResponseWriter, r *http.Request, who caller) error {
	past, _, err := s.asOf(r, who, nil)
	if err != nil {
		return err
	}
	item, err := past.Item(r.Context(), chi.URLParam(r, "item"))
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, item)
}

func (s *Server) getAgent(w http.ResponseWriter, r *http.Request, who caller) error {
	past, _, err := s.asOf(r, who, nil)
	if err != nil {
		return err
	}
	authority, err := past.Agent(r.Context(), chi.URLParam(r, "agent"))
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, authority)
}

func (s *Server) getHistory(w http.ResponseWriter, r *http.Request, who caller) error {
	part, err := sectionOf(r.URL.Query(), nil, nil)
	if err != nil {
		return err
	}
	page, err := s.queries.History(r.Context(), who.workspace, chi.URLParam(r, "item"), part.cursor, part.limit)
	if err != nil {
		return err
	}
	ids := map[string]bool{}
	for i, row := range page.Items {
		ids[row.Principal.ID], ids[row.Person] = true, true
		if page.Items[i].Reason, err = s.unsealed(r.Context(), who.workspace, row.Sealed); err != nil {
			return err
		}
	}
	if page.Names, err = s.named(r.Context(), who.workspace, ids); err != nil {
		return err
	}
	return answer(w, http.StatusOK, page)
}
