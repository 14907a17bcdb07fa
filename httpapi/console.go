package httpapi

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"assent/commands"
	"assent/domain"
	"assent/domain/policy"
	"assent/domain/proposal"
	"assent/httpapi/card"
)

// console is every page people decide and look things up on. Forms post to the
// page they stand on, and to the same functions the interface calls.
func (s *Server) console() []route {
	const read, audit = "content.read", "audit.read"
	return []route{
		{method: "GET", path: "/setup", accepts: open, do: s.setupPage, page: true},
		{method: "POST", path: "/setup", accepts: open, do: s.setupForm, page: true},
		{method: "GET", path: "/invite", accepts: open, do: s.invitePage, page: true},
		{method: "POST", path: "/invite", accepts: open, do: s.inviteForm, page: true},
		{method: "GET", path: "/signin", accepts: open, do: s.signInPage, page: true},
		{method: "POST", path: "/signin", accepts: open, do: s.signInForm, page: true},
		{method: "GET", path: "/signout", accepts: session, do: s.signOutPage, page: true},
		{method: "POST", path: "/signout", accepts: open, do: s.signOutForm, page: true},

		{method: "GET", path: "/", accepts: session, needs: read, do: s.inboxPage, page: true},
		{method: "GET", path: "/proposals/{proposal}", accepts: session, needs: read, do: s.proposalPage, page: true},
		{method: "GET", path: "/proposals/{proposal}/approve", accepts: session, needs: "decide", do: s.approvePage, page: true},
		{method: "POST", path: "/proposals/{proposal}/approve", accepts: session, needs: read, do: s.approveForm, page: true},
		{method: "POST", path: "/proposals/{proposal}/decline", accepts: session, needs: read, do: s.declineForm, page: true},

		{method: "GET", path: "/changes", accepts: session, needs: read, do: s.sitesPage, page: true},
		{method: "GET", path: "/changes/{site}", accepts: session, needs: read, do: s.changesPage, page: true},
		{method: "GET", path: "/changes/{site}/rollback", accepts: session, needs: read, do: s.rollbackPage, page: true},
		{method: "POST", path: "/changes/{site}/rollback", accepts: session, needs: read, do: s.rollbackForm, page: true},
		{method: "POST", path: "/changes/{site}/publish", accepts: session, needs: read, do: s.publishForm, page: true},

		{method: "GET", path: "/audit", accepts: session, needs: audit, do: s.auditPage, page: true},
		{method: "GET", path: "/audit/{action}", accepts: session, needs: audit, do: s.actionPage, page: true},
		{method: "GET", path: "/audit/{action}/why", accepts: session, needs: audit, do: s.whyPage, page: true},
		{method: "GET", path: "/usage", accepts: session, needs: audit, do: s.usagePage, page: true},
		{method: "GET", path: "/audit/{action}/undo", accepts: session, needs: audit, do: s.undoPage, page: true},
		{method: "POST", path: "/audit/{action}/undo", accepts: session, needs: audit, do: s.undoForm, page: true},

		{method: "GET", path: "/agents", accepts: session, needs: audit, do: s.agentsPage, page: true},
		{method: "POST", path: "/agents", accepts: session, needs: audit, do: s.agentsForm, page: true},
		{method: "GET", path: "/agents/{agent}", accepts: session, needs: audit, do: s.agentPage, page: true},
		{method: "POST", path: "/agents/{agent}", accepts: session, needs: audit, do: s.agentForm, page: true},
		{method: "POST", path: "/agents/{agent}/keys", accepts: session, needs: audit, do: s.keyForm, page: true},
		{method: "POST", path: "/agents/{agent}/keys/{key}/revoke", accepts: session, needs: audit, do: s.revokeForm, page: true},
		{method: "GET", path: "/agents/{agent}/advance", accepts: session, needs: audit, do: s.advancePage, page: true},
		{method: "POST", path: "/agents/{agent}/advance", accepts: session, needs: audit, do: s.advanceForm, page: true},
		{method: "GET", path: "/lent", accepts: session, needs: audit, do: s.lentPage, page: true},
		{method: "POST", path: "/lent", accepts: session, needs: audit, do: s.lentForm, page: true},
		{method: "GET", path: "/rules", accepts: session, needs: audit, do: s.rulesPage, page: true},
		{method: "POST", path: "/rules", accepts: session, needs: audit, do: s.rulesForm, page: true},
		{method: "GET", path: "/rules/{site}", accepts: session, needs: audit, do: s.rulesPage, page: true},
		{method: "POST", path: "/rules/{site}", accepts: session, needs: audit, do: s.rulesForm, page: true},
		{method: "GET", path: "/skills", accepts: session, needs: audit, do: s.skillsPage, page: true},
		{method: "POST", path: "/skills/{skill}/accept", accepts: session, needs: audit, do: s.acceptForm, page: true},
		{method: "GET", path: "/system", accepts: session, needs: audit, do: s.systemPage, page: true},
		{method: "POST", path: "/system", accepts: session, needs: "system.operate", do: s.systemForm, page: true},
		{method: "POST", path: "/workspace", accepts: session, needs: audit, do: s.workspaceForm, page: true},
		{method: "GET", path: "/people", accepts: session, needs: read, do: s.peoplePage, page: true},
		{method: "POST", path: "/people", accepts: session, needs: read, do: s.peopleForm, page: true},
	}
}

//go:embed pages/*.html
var pageFiles embed.FS

//go:embed console.css
var stylesheet []byte

// pages are the console's templates, each with the layout around it.
type pages struct {
	all   map[string]*template.Template
	style string // the stylesheet's address
}

func newPages(now func() time.Time) *pages {
	funcs := template.FuncMap{
		"passed": policy.Passed,
		"shown":  func(most int, text any) template.HTML { return "<bdi>" + card.HTML(most, fmt.Sprint(text)) + "</bdi>" },
		"piece":  func(text string) template.HTML { return card.HTML(0, text) },
		"plain":  card.Plain,
		"ago":    func(t time.Time) string { return ago(now(), t) },
		"exact":  func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
		"iso":    func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"count":  count,
		"upper":  func(s string) string { return strings.ToUpper(s[:min(1, len(s))]) + s[min(1, len(s)):] },
	}
	p := &pages{all: map[string]*template.Template{}, style: "/assets/console." + hashed(stylesheet) + ".css"}
	files, _ := fs.Glob(pageFiles, "pages/*.html") // the pattern is a constant
	for _, file := range files {
		name := path.Base(file)
		if name == "layout.html" || name == "parts.html" {
			continue
		}
		p.all[name] = template.Must(template.New("layout.html").Funcs(funcs).ParseFS(pageFiles, "pages/layout.html", "pages/parts.html", file))
	}
	return p
}

// ago is how long something is away from now, as people say it.
func ago(now, t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	d := now.Sub(t)
	if d < 0 {
		return "in " + span(-d)
	}
	if d < time.Minute {
		return "just now"
	}
	return span(d) + " ago"
}

func span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "less than a minute"
	case d < time.Hour:
		return count(int(d.Minutes()), "minute", "minutes")
	case d < 48*time.Hour:
		return count(int(d.Hours()), "hour", "hours")
	}
	return count(int(d.Hours()/24), "day", "days")
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// frame is a page as the templates see it. Tab and the fields after it are
// filled in for signed-in people only.
type frame struct {
	Title, Style string
	Notice       string
	Wrong        string // what went wrong with a form that is shown again
	Body         any
	Again        int // seconds after which the page asks to be loaded again; 0: it does not

	Tab     string
	Person  string
	Role    policy.Role
	Waiting int
	Paused  bool
}

// May says whether the person reading may do what needs a permission. It only
// decides what is offered: the road and the desk decide what is done.
func (f frame) May(permission string) bool { return f.Role.May(permission) }

// notices are what a page can say after a form was sent. Only these: the
// address says which, and must not be able to say anything else.
var notices = map[string]string{
	"approved":   "Approved. It was carried out exactly as shown.",
	"assented":   "Your yes is noted. It is carried out once everybody the rules want has said yes.",
	"waits":      "It waits: the rules here want more people to say yes. It is in the inbox.",
	"declined":   "Declined. The agent is told why.",
	"published":  "Published.",
	"undone":     "Taken back.",
	"unseated":   "Their seat is ended. Their agents' next call is refused.",
	"erased":     "Forgotten. What they did stays, under an id.",
	"self":       "Done.",
	"rolled":     "Rolled back. You can go forward again from the list below.",
	"contained":  "Decided. What was clean is taken back, or is being so.",
	"idle":       "Nothing to do: it was already so.",
	"paused":     "All agents are paused. They can read; every change is refused.",
	"resumed":    "Agents go on.",
	"changed":    "Changed. It bites on the agent's next call.",
	"lent":       "Noted. It holds from the next call on, and stands in the audit.",
	"ruled":      "Changed. It holds from the next call on.",
	"revoked":    "The key is revoked. Its next call is refused.",
	"accepted":   "Noted. Changes made under any other version of these files wait for a person.",
	"rebuilding": "It has begun. This page shows how far it is.",
	"switched":   "The generation before is live again.",
	"hooked":     "It is told of what happens from now on. Its secret is shown when you ask for it.",
	"rotated":    "A new secret is in force. For a day messages are signed with the old one as well.",
	"sending":    "It is on its way. What does not arrive is listed here.",
	"advanced":   "From now on it does this without asking. Each time is in the audit.",
	"welcome":    "You are the owner. Next: make an agent and give it a key.",
}

// framed is the frame of a signed-in person's page.
func (s *Server) framed(r *http.Request, who caller, tab, title string, body any) (frame, error) {
	f := frame{Title: title, Tab: tab, Body: body, Notice: notices[r.URL.Query().Get("said")]}
	ctx, id := r.Context(), who.person.ID()
	waiting, err := s.queries.Proposals(ctx, who.workspace, proposal.Waiting)
	if err != nil {
		return f, err
	}
	ws, err := s.queries.Workspace(ctx, who.workspace)
	if err != nil {
		return f, err
	}
	if f.Role, err = s.queries.Role(ctx, who.workspace, id); err != nil {
		return f, err
	}
	names, err := s.named(ctx, who.workspace, map[string]bool{id: true})
	f.Waiting, f.Paused, f.Person = len(waiting), ws.Paused, cmp.Or(names[id], id)
	return f, err
}

// view writes a signed-in person's page.
func (s *Server) view(w http.ResponseWriter, r *http.Request, who caller, tab, title, name string, body any) error {
	f, err := s.framed(r, who, tab, title, body)
	if err != nil {
		return err
	}
	return s.put(w, r, http.StatusOK, name, f)
}

// put fills a page completely before any of it is sent.
func (s *Server) put(w http.ResponseWriter, r *http.Request, status int, name string, f frame) error {
	f.Style = s.pages.style
	var page bytes.Buffer
	if err := s.pages.all[name].Execute(&page, f); err != nil {
		return fmt.Errorf("fill the page %s: %w", name, err)
	}
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = page.WriteTo(w)
	}
	return nil
}

// failPage tells a person what went wrong. Who is not signed in is asked to,
// and comes back to where they were going.
func (s *Server) failPage(w http.ResponseWriter, r *http.Request, err error) {
	pageHeaders(w.Header())
	p := s.problemOf(r, err)
	p.headers(w, r)
	w.Header().Del("WWW-Authenticate")
	if p.Code == unauthorised.Code {
		next := ""
		if r.Method == http.MethodGet && r.URL.Path != "/" {
			next = "?" + url.Values{"next": {r.URL.RequestURI()}}.Encode()
		}
		http.Redirect(w, r, "/signin"+next, http.StatusSeeOther)
		return
	}
	if err := s.put(w, r, p.Status, "problem.html", frame{Title: p.Title, Body: p}); err != nil {
		s.fail(w, r, err)
	}
}

// again shows a form once more with what was wrong about it, when that is for
// the person to mend; other failures are passed on.
func (s *Server) again(w http.ResponseWriter, r *http.Request, err error, name string, f frame) error {
	p := s.problemOf(r, err)
	if p.Status == http.StatusUnauthorized {
		p.Status = http.StatusForbidden // there is nothing to sign in to again
	}
	if p.Code == fault || p.Code == "expired" {
		return p
	}
	p.headers(w, r)
	f.Wrong = p.Detail
	return s.put(w, r, p.Status, name, f)
}

// form reads what a page's form sent.
func form(w http.ResponseWriter, r *http.Request) (url.Values, error) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	if err := r.ParseForm(); err != nil {
		return nil, err
	}
	return r.PostForm, nil
}

// see sends the browser on to a page that has seen an outcome.
func see(w http.ResponseWriter, r *http.Request, to, said string, out commands.Outcome) error {
	q := url.Values{}
	switch {
	case out.Outcome == commands.Idle:
		said = "idle"
	case out.Outcome == commands.Waiting && said != "assented":
		said = "waits"
	}
	if said != "" {
		q.Set("said", said)
	}
	if out.Position != 0 {
		q.Set("after", fmt.Sprint(int64(out.Position)))
	}
	if len(q) > 0 {
		to += "?" + q.Encode()
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
	return nil
}

// seen waits until pages know of an outcome.
func (s *Server) seen(r *http.Request, out commands.Outcome) error {
	return s.wait(r.Context(), domain.Position(out.Position))
}

// within is an address on this server, or the front page.
func within(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(address, "/") || strings.HasPrefix(address, "//") || strings.ContainsAny(address, "\\\r\n\t") {
		return "/"
	}
	return address
}
