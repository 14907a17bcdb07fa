package httpapi

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/go-chi/chi/v5"

	"assent/domain"
	"assent/domain/action"
	"assent/httpapi/clients"
	"assent/httpapi/render"
)

// Config is what a server is built of. Everything but Hosts, Features, Kept and Now
// is needed.
type Config struct {
	Road     Road
	Desk     Desk
	Seater   Seater
	Accounts Accounts
	Queries  Queries
	Content  Content
	Health   Health
	Operator Operator
	Webhooks Webhooks
	Registry *action.Registry
	Signer   *Signer
	Log      *slog.Logger

	URL      string         // the public address, such as https://assent.example.org
	Hosts    []string       // further names this server answers to
	Local    clients.Server // this program and its data folder, for entries of local clients; may be left out
	Pace     *Pace          // of keys; left out: they may ask as fast as they like
	Home     string         // the workspace whose sites are at /sites
	Version  string
	Features []string         // told by GET instance
	Kept     Kept             // what keeps the log: told by GET instance
	Now      func() time.Time // the clock; time.Now when left out
}

// Server is the door. It is safe for any number of callers.
type Server struct {
	road     Road
	desk     Desk
	seater   Seater
	accounts Accounts
	queries  Queries
	content  Content
	health   Health
	operator Operator
	webhooks Webhooks
	registry *action.Registry
	signer   *Signer
	log      *slog.Logger
	public   *url.URL
	hosts    map[string]bool
	home     string
	version  string
	features []string
	kept     Kept
	local    clients.Server
	pace     *Pace
	now      func() time.Time

	door    doorkeeper
	once    once
	render  *render.Renderer
	pages   *pages
	handler http.Handler
}

// New builds a server. It fails on a public address that is not one.
func New(c Config) (*Server, error) {
	public, err := url.Parse(c.URL)
	if err != nil || public.Scheme != "http" && public.Scheme != "https" || public.Host == "" || public.Path != "" {
		return nil, fmt.Errorf("the public address %q is not like https://assent.example.org", c.URL)
	}
	if c.Signer == nil || c.Log == nil || c.Registry == nil {
		return nil, errors.New("a server needs a signer, a log and the registry of actions")
	}
	s := &Server{
		road: c.Road, desk: c.Desk, seater: c.Seater, accounts: c.Accounts, queries: c.Queries, content: c.Content, health: c.Health, operator: c.Operator, webhooks: c.Webhooks,
		registry: c.Registry, signer: c.Signer, log: c.Log,
		public: public, hosts: allowed(public, c.Hosts), home: c.Home, version: c.Version, features: c.Features, kept: c.Kept, local: c.Local, pace: c.Pace, now: c.Now,
		door: newDoorkeeper(), render: render.New(),
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.features == nil {
		s.features = []string{}
	}
	s.pages = newPages(s.now)
	s.handler = s.guard(s.router())
	return s, nil
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// route is one thing that can be asked for over HTTP, and who may.
type route struct {
	method, path string
	accepts      credential
	needs        string // permission a person needs to read it; the road and the desk ask for themselves
	about        string // in a few words, for the reference; empty for pages
	do           func(http.ResponseWriter, *http.Request, caller) error
	page         bool // of the console: what goes wrong is a page too
	public       bool // a site's: as page, with headers of its own
}

// router is chi with every route on it. An unknown address is a plain 404:
// clients look for well-known addresses and take any other answer for an offer.
func (s *Server) router() http.Handler {
	mux := chi.NewRouter()
	for _, rt := range s.routes() {
		mux.Method(rt.method, rt.path, s.serve(rt))
		if rt.method == http.MethodGet {
			mux.Method(http.MethodHead, rt.path, s.serve(rt))
		}
	}
	mux.NotFound(func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, r, domain.Refuse("not-found", "There is nothing at this address."))
	})
	mux.MethodNotAllowed(func(w http.ResponseWriter, r *http.Request) {
		p := newProblem("not-found", "This address does not take "+clip(r.Method, 20)+".")
		p.Status, p.Title = http.StatusMethodNotAllowed, http.StatusText(http.StatusMethodNotAllowed)
		s.fail(w, r, p)
	})
	return mux
}

// routes is every address there is and which credentials it looks at.
func (s *Server) routes() []route {
	const v1 = "/api/v1"
	return append([]route{
		{method: "GET", path: "/healthz", accepts: open, about: "Does the process answer?", do: s.getHealth},
		{method: "GET", path: "/readyz", accepts: open, about: "Can changes be recorded, and are they seen?", do: s.getReady},

		{method: "GET", path: v1 + "/openapi.json", accepts: open, about: "This reference", do: s.getOpenAPI},
		{method: "GET", path: v1 + "/instance", accepts: session | key, about: "What this server can do", do: s.getInstance},
		{method: "POST", path: v1 + "/setup", accepts: open, about: "Become the first owner, once", do: s.postSetup},
		{method: "POST", path: v1 + "/session", accepts: open, about: "Sign in", do: s.postSession},
		{method: "DELETE", path: v1 + "/session", accepts: open, about: "Sign out", do: s.deleteSession},
		{method: "POST", path: v1 + "/invitation/accept", accepts: open, about: "Accept an invitation", do: s.postInvitation},

		{method: "GET", path: v1 + "/people", accepts: session, needs: "content.read", about: "Everybody with a seat", do: s.getPeople},
		{method: "POST", path: v1 + "/people", accepts: session, about: "Invite a person; the answer holds a link that works once", do: s.postPeople},
		{method: "PATCH", path: v1 + "/people/{person}", accepts: session, about: "Give a person another role, or their seat again", do: s.patchPerson},
		{method: "GET", path: v1 + "/agents", accepts: session, needs: "audit.read", about: "Every agent and its keys", do: s.getAgents},
		{method: "GET", path: v1 + "/agents/{agent}", accepts: session, needs: "audit.read", about: "What an agent may do; ?as_of= a position or a time", do: s.getAgent},
		{method: "POST", path: v1 + "/agents", accepts: session, about: "Make an agent", do: s.postAgents},
		{method: "PATCH", path: v1 + "/agents/{agent}", accepts: session, about: "Change or pause an agent", do: s.patchAgent},
		{method: "POST", path: v1 + "/agents/{agent}/keys", accepts: session, about: "Make a key; it is shown once", do: s.postKeys},
		{method: "DELETE", path: v1 + "/agents/{agent}/keys/{key}", accepts: session, about: "End a key", do: s.deleteKey},
		{method: "GET", path: v1 + "/workspace", accepts: session, needs: "content.read", about: "The rules for all agents", do: s.getWorkspace},
		{method: "PATCH", path: v1 + "/workspace", accepts: session, about: "Change them; pause everything", do: s.patchWorkspace},

		{method: "GET", path: v1 + "/audit", accepts: session, needs: "audit.read", about: "Who did what, newest first", do: s.getAudit},
		{method: "GET", path: v1 + "/audit/export", accepts: session, needs: "audit.read", about: "The whole audit, oldest first, to take away: ?format=csv, jsonl, cloudevents or ocsf, and the filters of the audit", do: s.getExport},
		{method: "GET", path: v1 + "/audit/{action}", accepts: session, needs: "audit.read", about: "One action", do: s.getAction},
		{method: "GET", path: v1 + "/audit/{action}/why", accepts: session, needs: "audit.read", about: "Ask the rules of that moment again, and compare with the record", do: s.getWhy},
		{method: "GET", path: v1 + "/usage", accepts: session, needs: "audit.read", about: "How people decided in the last 30 days, and what is always answered with yes", do: s.getUsage},
		{method: "GET", path: v1 + "/agents/{agent}/covered", accepts: session, needs: "audit.read", about: "What a yes in advance would have let through in the last 30 days: ?key=&action=&site=", do: s.getCovered},
		{method: "GET", path: v1 + "/projections", accepts: session, needs: "audit.read", about: "Where the log ends, how far the read models are, and how the last rebuild ended", do: s.getProjections},
		{method: "POST", path: v1 + "/projections/rebuild", accepts: session, needs: "system.operate", about: "Begin to fold the log into a new generation: {dryRun?, models?}", do: s.postRebuild},
		{method: "POST", path: v1 + "/projections/compare", accepts: session, needs: "system.operate", about: "Begin to compare the read models with the log: {models?}", do: s.postCompare},
		{method: "POST", path: v1 + "/projections/switch-back", accepts: session, needs: "system.operate", about: "Let the generation before the last swap take over again", do: s.postSwitchBack},
		{method: "GET", path: v1 + "/skills", accepts: session, needs: "audit.read", about: "Ways of working that agents can declare, and which were looked at", do: s.getSkills},
		{method: "GET", path: v1 + "/sites", accepts: session, needs: "content.read", about: "Every site, or with ?as_of= every site there was then", do: s.getSites},
		{method: "GET", path: v1 + "/sites/{site}", accepts: session, needs: "content.read", about: "A site's settings; ?as_of= a position or a time", do: s.getSettings},
		{method: "GET", path: v1 + "/sites/{site}/pages", accepts: session, needs: "content.read", about: "A site's pages; ?as_of= a position or a time", do: s.getPages},
		{method: "GET", path: v1 + "/sites/{site}/articles", accepts: session, needs: "content.read", about: "A site's articles; ?as_of= a position or a time", do: s.getArticles},
		{method: "GET", path: v1 + "/sites/{site}/live", accepts: session, needs: "content.read", about: "What the public sees of a site; ?as_of= a position or a time", do: s.getLive},
		{method: "GET", path: v1 + "/items/{item}", accepts: session, needs: "content.read", about: "A page or an article; ?as_of= a position or a time", do: s.getItem},
		{method: "GET", path: v1 + "/items/{item}/history", accepts: session, needs: "content.read", about: "Every version of an item and every publish that moved it, newest first", do: s.getHistory},
		{method: "GET", path: v1 + "/sites/{site}/pending", accepts: session, needs: "content.read", about: "What publishing now would change", do: s.getPending},
		{method: "GET", path: v1 + "/sites/{site}/rules", accepts: session, needs: "content.read", about: "What a site adds to the rules of the workspace; the stricter holds", do: s.getRules},
		{method: "GET", path: v1 + "/sites/{site}/versions", accepts: session, needs: "content.read", about: "A site's publishes", do: s.getVersions},

		{method: "GET", path: v1 + "/proposals", accepts: session, needs: "content.read", about: "What waits for a person, and what became of the rest", do: s.getProposals},
		{method: "GET", path: v1 + "/proposals/{proposal}", accepts: session, needs: "content.read", about: "One proposal", do: s.getProposal},
		{method: "POST", path: v1 + "/proposals/{proposal}/approve", accepts: session, about: "Say yes to what was shown", do: s.postApprove},
		{method: "POST", path: v1 + "/proposals/{proposal}/decline", accepts: session, about: "Say no, and why", do: s.postDecline},
		{method: "POST", path: v1 + "/actions/{action}/undo", accepts: session, about: "Take an action back, while its time is open: {reason?, keep?, take?, digest?, late?, command_id?}", do: s.postUndo},
		{method: "POST", path: v1 + "/actions/{action}", accepts: session | key, do: s.postAction}, // the reference lists each action

		{method: "GET", path: "/sites/{site}", accepts: open, do: s.toRoot, public: true},
		{method: "GET", path: "/sites/{site}/*", accepts: open, do: s.getSite, public: true},
		{method: "GET", path: "/w/{workspace}/sites/{site}", accepts: open, do: s.toRoot, public: true},
		{method: "GET", path: "/w/{workspace}/sites/{site}/*", accepts: open, do: s.getSite, public: true},
		{method: "GET", path: "/preview/{token}", accepts: open, do: s.toRoot, public: true},
		{method: "GET", path: "/preview/{token}/*", accepts: open, do: s.getPreview, public: true},
		{method: "GET", path: "/assets/{name}", accepts: open, do: s.getAsset, public: true},
	}, slices.Concat(s.console(), s.peopleRoutes(v1), s.takings(), s.webhookRoutes(v1), s.webhookPages())...)
}
