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
)

// Usage is how people decide, and what they might say yes to in advance.
type Usage struct {
	Since  time.Time         `json:"since"`
	People []Figures         `json:"people"` // by person
	Causes []Figures         `json:"causes"` // by the cause of the hold
	Always []AlwaysYes       `json:"always"` // what nobody ever said no to
	Names  map[string]string `json:"names,omitempty"`
}

// Figures are how somebody decided, or how what one rule held was decided.
type Figures struct {
	Of       string  `json:"of"`
	Approved int     `json:"approved"`
	Declined int     `json:"declined"`
	Quick    int     `json:"quick"`   // decided within 3 s of being asked
	Seconds  float64 `json:"seconds"` // from asking to deciding, in the middle of all
}

// AlwaysYes is a kind of asking that was always answered with yes.
type AlwaysYes struct {
	commands.Advance
	Times int `json:"times"`
}

// Covered is what a yes in advance would have let through, had it been there.
type Covered struct {
	commands.Advance
	Since  time.Time            `json:"since"`
	Covers int                  `json:"covers"`
	First  []commands.Simulated `json:"first"` // a few of them, oldest first
}

// usageDays is how far back people's deciding is looked at.
const usageDays = 30

func (s *Server) usage(ctx context.Context, workspace string) (Usage, error) {
	u, err := s.queries.Usage(ctx, workspace, s.now().AddDate(0, 0, -usageDays))
	if err != nil {
		return u, err
	}
	ids := map[string]bool{}
	for _, f := range u.People {
		ids[f.Of] = true
	}
	for _, a := range u.Always {
		ids[a.Agent], ids[a.Key] = true, true
	}
	u.Names, err = s.named(ctx, workspace, ids)
	return u, err
}

func (s *Server) getUsage(w http.ResponseWriter, r *http.Request, who caller) error {
	u, err := s.usage(r.Context(), who.workspace)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, u)
}

// covered asks what a yes in advance would have let through in the last 30
// days.
func (s *Server) covered(r *http.Request, who caller, q url.Values) (Covered, error) {
	a := commands.Advance{Agent: chi.URLParam(r, "agent"), Key: q.Get("key"), Action: q.Get("action"), Site: q.Get("site")}
	for name, value := range map[string]string{"key": a.Key, "action": a.Action, "site": a.Site} {
		if value == "" {
			return Covered{}, domain.Refuse("invalid", "Say which `%s` the yes would be for.", name)
		}
	}
	if _, err := s.agent(r.Context(), who.workspace, a.Agent); err != nil {
		return Covered{}, err
	}
	return s.queries.Covered(r.Context(), who.person, a, s.now().AddDate(0, 0, -usageDays))
}

func (s *Server) getCovered(w http.ResponseWriter, r *http.Request, who caller) error {
	c, err := s.covered(r, who, r.URL.Query())
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, c)
}

// usageView is how people decide, for a person.
type usageView struct {
	Usage
	Days   int
	People []figuresLine
	Causes []figuresLine
	Always []alwaysLine
}

// figuresTable is a table of figures.
type figuresTable struct {
	Rule  bool // of rules, not of people
	Lines []figuresLine
}

// ByPerson is a table.
func (v usageView) ByPerson() figuresTable { return figuresTable{false, v.People} }

// ByRule is a table.
func (v usageView) ByRule() figuresTable { return figuresTable{true, v.Causes} }

type figuresLine struct {
	Figures
	Name string
	Took string
}

type alwaysLine struct {
	AlwaysYes
	Name string
	Link string // where to say yes in advance
}

func (s *Server) usagePage(w http.ResponseWriter, r *http.Request, who caller) error {
	u, err := s.usage(r.Context(), who.workspace)
	if err != nil {
		return err
	}
	v := usageView{Usage: u, Days: usageDays}
	for _, f := range u.People {
		v.People = append(v.People, figuresLine{f, nameIn(u.Names, f.Of), tookOf(f)})
	}
	for _, f := range u.Causes {
		v.Causes = append(v.Causes, figuresLine{f, f.Of, tookOf(f)})
	}
	for _, a := range u.Always {
		l := alwaysLine{AlwaysYes: a, Name: nameIn(u.Names, a.Agent)}
		if act, known := s.registry.Find(a.Action); known && act.Class == action.Content && !act.Final && act.Gate == "" && a.Key != "" && a.Site != "" {
			l.Link = "/agents/" + url.PathEscape(a.Agent) + "/advance?" + url.Values{"key": {a.Key}, "action": {a.Action}, "site": {a.Site}}.Encode()
		}
		v.Always = append(v.Always, l)
	}
	return s.view(w, r, who, "audit", "How people decide", "usage.html", v)
}

func tookOf(f Figures) string {
	d := time.Duration(f.Seconds * float64(time.Second))
	if d < time.Minute {
		return d.Round(time.Second / 10).String()
	}
	return span(d)
}

// advanceView is a yes in advance before it is given.
type advanceView struct {
	Covered
	Name string
	Days int
}

func (s *Server) advancePage(w http.ResponseWriter, r *http.Request, who caller) error {
	v, err := s.advance(r, who, r.URL.Query())
	if err != nil {
		return err
	}
	return s.view(w, r, who, "agents", "Say yes in advance?", "advance.html", v)
}

func (s *Server) advance(r *http.Request, who caller, q url.Values) (advanceView, error) {
	c, err := s.covered(r, who, q)
	if err != nil {
		return advanceView{}, err
	}
	names, err := s.named(r.Context(), who.workspace, map[string]bool{c.Agent: true})
	return advanceView{c, nameIn(names, c.Agent), usageDays}, err
}

func (s *Server) advanceForm(w http.ResponseWriter, r *http.Request, who caller) error {
	in, err := form(w, r)
	if err != nil {
		return err
	}
	id := chi.URLParam(r, "agent")
	days, err := strconv.Atoi(in.Get("days"))
	if err != nil {
		days = 0 // which the decision refuses, and says what it may be
	}
	out, err := s.do(r, who, "standing.make", map[string]any{"agent": id, "key": in.Get("key"), "action": in.Get("action"), "site": in.Get("site"), "days": days})
	if err != nil {
		v, broken := s.advance(r, who, in)
		if broken != nil {
			return err
		}
		f, broken := s.framed(r, who, "agents", "Say yes in advance?", v)
		if broken != nil {
			return broken
		}
		return s.again(w, r, err, "advance.html", f)
	}
	return see(w, r, "/agents/"+url.PathEscape(id), "advanced", out)
}
