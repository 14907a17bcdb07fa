package httpapi

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"assent/domain/action"
	"assent/domain/policy"
	"assent/domain/rules"
	"assent/domain/workspace"
)

// rulesView is the rules of the workspace, or what one site adds to them.
type rulesView struct {
	policy.Rules
	Site      *SiteRow // nil: of the workspace
	Sites     []SiteRow
	Workspace Workspace
	Waiting   []waitChoice
	Modes     []modeChoice // of local callers
	Roles     []policy.Role
	Names     map[string]string
}

// waitChoice is an action that can be made to wait always.
type waitChoice struct {
	Name, Title string
	Chosen      bool
}

// Path is where the page stands and its forms are sent.
func (v rulesView) Path() string {
	if v.Site == nil {
		return "/rules"
	}
	return "/rules/" + url.PathEscape(v.Site.ID)
}

// getRules answers with what a site adds. They are changed by the action
// rules.update.
func (s *Server) getRules(w http.ResponseWriter, r *http.Request, who caller) error {
	site := chi.URLParam(r, "site")
	if err := s.siteThere(r.Context(), who, site); err != nil {
		return err
	}
	own, err := s.queries.Rules(r.Context(), who.workspace, site)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, own)
}

func (s *Server) rulesPage(w http.ResponseWriter, r *http.Request, who caller) error {
	v, err := s.rulesView(r, who)
	if err != nil {
		return err
	}
	return s.view(w, r, who, "rules", "Rules", "rules.html", v)
}

func (s *Server) rulesView(r *http.Request, who caller) (v rulesView, err error) {
	ctx := r.Context()
	if v.Sites, err = s.queries.Sites(ctx, who.workspace); err != nil {
		return v, err
	}
	site := chi.URLParam(r, "site")
	if site != "" {
		i := slices.IndexFunc(v.Sites, func(row SiteRow) bool { return row.ID == site })
		if i < 0 {
			return v, noSite
		}
		v.Site = &v.Sites[i]
	}
	if v.Rules, err = s.queries.Rules(ctx, who.workspace, site); err != nil {
		return v, err
	}
	if v.Workspace, err = s.queries.Workspace(ctx, who.workspace); err != nil {
		return v, err
	}
	for _, a := range s.registry.All() {
		if a.Class == action.Content || a.Class == action.Publish || a.Class == action.Destructive {
			v.Waiting = append(v.Waiting, waitChoice{a.Name, a.Title, slices.Contains(v.Waits, a.Name)})
		}
	}
	for _, m := range keyModes() {
		v.Modes = append(v.Modes, modeChoice{Mode: m, Chosen: string(m) == v.Workspace.LocalMode})
	}
	v.Roles = decidingRoles
	people := map[string]bool{}
	for _, st := range v.Stages {
		for _, id := range st.People {
			people[id] = true
		}
	}
	v.Names, err = s.named(ctx, who.workspace, people)
	return v, err
}

// decidingRoles are those that can be named where people decide in steps.
var decidingRoles = []policy.Role{policy.Owner, policy.Editor}

func (s *Server) rulesForm(w http.ResponseWriter, r *http.Request, who caller) error {
	in, err := form(w, r)
	if err != nil {
		return err
	}
	site := chi.URLParam(r, "site")
	now, err := s.queries.Rules(r.Context(), who.workspace, site)
	if err != nil {
		return err
	}
	ask := workspace.UpdateArgs{}
	if change, known := rulesForms[in.Get("do")]; known {
		ask.RulesChange = change(now, in)
	}
	if in.Get("do") == "limits" && site == "" {
		ask.UndoHours, ask.LocalMode = numbered(in, "undo"), new(in.Get("local"))
	}
	name, args := workspace.Update.Name, any(ask)
	if site != "" {
		name, args = rules.Update.Name, rules.UpdateArgs{Site: site, RulesChange: ask.RulesChange}
	}
	out, err := s.do(r, who, name, args)
	if err != nil {
		v, broken := s.rulesView(r, who)
		if broken != nil {
			return broken
		}
		f, broken := s.framed(r, who, "rules", "Rules", v)
		if broken != nil {
			return broken
		}
		return s.again(w, r, err, "rules.html", f)
	}
	return see(w, r, strings.TrimSuffix("/rules/"+url.PathEscape(site), "/"), "ruled", out)
}

// rulesForms are the forms of the page by what their button says to do: what
// each makes of the rules there are. A list is replaced as a whole.
var rulesForms = map[string]func(now policy.Rules, in url.Values) policy.RulesChange{
	"limits": func(_ policy.Rules, in url.Values) policy.RulesChange {
		c := policy.RulesChange{AutoPublishLimit: numbered(in, "limit"), Pace: numbered(in, "pace")}
		if in.Has("separation") {
			c.Separation = new(policy.Separation(in.Get("separation")))
		}
		return c
	},
	"waits": func(_ policy.Rules, in url.Values) policy.RulesChange {
		return policy.RulesChange{Waits: new(append([]string{}, in["waits"]...))}
	},
	"pause": func(_ policy.Rules, in url.Values) policy.RulesChange {
		return policy.RulesChange{Paused: new(in.Get("paused") == "yes")}
	},
	"freeze": func(now policy.Rules, in url.Values) policy.RulesChange {
		f := policy.Freeze{From: minute(in.Get("from")), Until: minute(in.Get("until")), Why: strings.TrimSpace(in.Get("why"))}
		return policy.RulesChange{Freezes: new(append(slices.Clone(now.Freezes), f))}
	},
	"unfreeze": func(now policy.Rules, in url.Values) policy.RulesChange {
		return policy.RulesChange{Freezes: new(slices.DeleteFunc(slices.Clone(now.Freezes), func(f policy.Freeze) bool {
			return f.From.Format(time.RFC3339) == in.Get("from") && f.Until.Format(time.RFC3339) == in.Get("until")
		}))}
	},
	"stage": func(now policy.Rules, in url.Values) policy.RulesChange {
		st := policy.Stage{Of: in.Get("of")}
		if n := numbered(in, "need"); n != nil {
			st.Need = *n
		}
		for _, role := range in["role"] {
			st.Roles = append(st.Roles, policy.Role(role))
		}
		return policy.RulesChange{Stages: new(append(slices.Clone(now.Stages), st))}
	},
	"unstage": func(now policy.Rules, in url.Values) policy.RulesChange {
		stages := slices.Clone(now.Stages)
		if n := numbered(in, "n"); n != nil && *n >= 0 && *n < len(stages) && stages[*n].Of == in.Get("of") {
			stages = slices.Delete(stages, *n, *n+1)
		}
		return policy.RulesChange{Stages: &stages}
	},
}

// numbered is a number of a form; nil where nothing was said. What is no number
// is one that no rule takes, and says so.
func numbered(in url.Values, name string) *int {
	text := strings.TrimSpace(in.Get(name))
	if text == "" {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		n = -1
	}
	return &n
}

// minute is a moment as a form sends it, in UTC; zero when it is none.
func minute(text string) time.Time {
	t, err := time.Parse("2006-01-02T15:04", text)
	if err != nil {
		return time.Time{}
	}
	return t
}
