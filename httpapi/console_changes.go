package httpapi

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"

	"assent/commands"
	"assent/domain"
	"assent/domain/live"
	"assent/domain/site"
	"assent/httpapi/card"
)

// changesView is a site's draft against what is live.
type changesView struct {
	Site     SiteRow
	Pending  Pending
	Changes  []pendingChange
	Preview  string
	Live     string // the site's public address
	Versions []Version
	Folded   bool // only the first inFull changes show what is in them
}

// inFull is how many changes a page shows field by field. Of more than that
// nobody reads a page: the preview shows them all.
const inFull = 50

// pendingChange is one thing that would change, and the version a publish of
// what is on this page names.
type pendingChange struct {
	card.Change
	Named string // id@version
}

func (s *Server) sitesPage(w http.ResponseWriter, r *http.Request, who caller) error {
	sites, err := s.queries.Sites(r.Context(), who.workspace)
	if err != nil {
		return err
	}
	if len(sites) == 1 {
		return see(w, r, "/changes/"+sites[0].ID, "", commands.Outcome{})
	}
	return s.view(w, r, who, "changes", "Changes", "sites.html", sites)
}

func (s *Server) changesPage(w http.ResponseWriter, r *http.Request, who caller) error {
	v, err := s.changesView(r, who)
	if err != nil {
		return err
	}
	return s.view(w, r, who, "changes", "Changes", "changes.html", v)
}

func (s *Server) changesView(r *http.Request, who caller) (v changesView, err error) {
	ctx, id := r.Context(), chi.URLParam(r, "site")
	sites, err := s.queries.Sites(ctx, who.workspace)
	if err != nil {
		return v, err
	}
	for _, row := range sites {
		if row.ID == id {
			v.Site = row
		}
	}
	if v.Site.ID == "" {
		return v, noSite
	}
	if v.Pending, err = s.queries.Pending(ctx, who.workspace, id); err != nil {
		return v, err
	}
	for i := range v.Pending.Changes {
		if i >= inFull {
			v.Pending.Changes[i].Fields, v.Folded = nil, true
		}
	}
	for i, c := range card.Of(v.Pending.Changes) {
		named := v.Pending.Changes[i]
		v.Changes = append(v.Changes, pendingChange{c, named.ID + "@" + strconv.FormatInt(int64(named.Version), 10)})
	}
	page, err := s.versions(ctx, who.workspace, id, "", 10)
	if err != nil {
		return v, err
	}
	v.Versions = page.Items
	v.Live = "/sites/" + id + "/"
	if who.workspace != s.home {
		v.Live = "/w/" + who.workspace + v.Live
	}
	v.Preview, _, _, err = s.signer.Create(who.workspace, site.PreviewArgs{Site: id}, s.now())
	return v, err
}

// publishForm publishes exactly the versions that were ticked on the page.
func (s *Server) publishForm(w http.ResponseWriter, r *http.Request, who caller) error {
	in, err := form(w, r)
	if err != nil {
		return err
	}
	args := live.PublishArgs{Site: chi.URLParam(r, "site"), Note: strings.TrimSpace(in.Get("note"))}
	for _, named := range in["item"] {
		id, version, _ := strings.Cut(named, "@")
		n, err := strconv.ParseInt(version, 10, 64)
		if err != nil {
			return domain.Refuse("invalid", "The page did not say which version was shown. Open it again.")
		}
		args.Items = append(args.Items, live.Wanted{ID: id, Version: n})
	}
	if args.Items == nil {
		err = domain.Refuse("invalid", "Nothing is ticked, so there is nothing to publish.")
	}
	var out commands.Outcome
	if err == nil {
		out, err = s.do(r, who, live.Publish.Name, args)
	}
	if err != nil {
		v, broken := s.changesView(r, who)
		if broken != nil {
			return broken
		}
		f, broken := s.framed(r, who, "changes", "Changes", v)
		if broken != nil {
			return broken
		}
		return s.again(w, r, err, "changes.html", f)
	}
	return see(w, r, "/changes/"+args.Site, "published", out)
}

// rollbackView is a roll back before it is done: what it would change.
type rollbackView struct {
	Site SiteRow
	To   string
	What []card.Field
}

// rollbackPage rehearses a roll back, and shows what the public would see change.
func (s *Server) rollbackPage(w http.ResponseWriter, r *http.Request, who caller) error {
	return s.rollbackWith(w, r, who, r.URL.Query().Get("to"))
}

func (s *Server) rollbackWith(w http.ResponseWriter, r *http.Request, who caller, to string) error {
	id := chi.URLParam(r, "site")
	out, err := s.rehearse(r, who, live.Rollback.Name, map[string]any{"site": id, "to": to})
	if err != nil {
		return err
	}
	v := rollbackView{Site: SiteRow{ID: id}, To: to, What: card.Fields(out.Changes)}
	return s.view(w, r, who, "changes", "Roll back?", "rollback.html", v)
}

func (s *Server) rollbackForm(w http.ResponseWriter, r *http.Request, who caller) error {
	in, err := form(w, r)
	if err != nil {
		return err
	}
	id := chi.URLParam(r, "site")
	out, err := s.do(r, who, live.Rollback.Name, map[string]any{"site": id, "to": in.Get("to"), "reason": strings.TrimSpace(in.Get("reason"))})
	if err != nil {
		return err
	}
	return see(w, r, "/changes/"+id, "rolled", out)
}
