package httpapi

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"assent/commands"
	"assent/domain"
	"assent/domain/agent"
	"assent/domain/policy"
	"assent/domain/workspace"
	"assent/httpapi/clients"
)

// agentsView is every agent, and the form for a new one.
type agentsView struct {
	Agents []namedAgent
	Modes  []modeChoice
	Scopes []scopeChoice
	Sites  []SiteRow
	Name   string
}

type namedAgent struct {
	Agent
	Behind string
	Living int // keys that are not revoked
}

// modeChoice is a mode as people choose it.
type modeChoice struct {
	Mode   policy.Mode
	Means  string
	Chosen bool
}

// scopeChoice is something an agent can be let do, by its name in the log.
type scopeChoice struct {
	Scope  string
	Chosen bool
}

var modeMeanings = map[policy.Mode]string{
	policy.Plan:   "Reads, previews and rehearses, and files plans for you to decide on. Changes nothing itself.",
	policy.Manual: "You decide about every change.",
	policy.Edits:  "Writes drafts on its own, each one undoable. Publishing, rolling back and removing wait for you.",
	policy.Auto:   "Also publishes small, low-risk changes on its own. The rest waits for you.",
}

func modeChoices(chosen string) (choices []modeChoice) {
	for _, m := range keyModes() {
		choices = append(choices, modeChoice{m, modeMeanings[m], string(m) == chosen})
	}
	return choices
}

func (s *Server) agentsPage(w http.ResponseWriter, r *http.Request, who caller) error {
	v, err := s.agentsView(r, who)
	if err != nil {
		return err
	}
	return s.view(w, r, who, "agents", "Agents", "agents.html", v)
}

func (s *Server) agentsView(r *http.Request, who caller) (agentsView, error) {
	ctx := r.Context()
	v := agentsView{Modes: modeChoices(string(policy.Edits))}
	agents, err := s.agents(ctx, who.workspace)
	if err != nil {
		return v, err
	}
	behind := map[string]bool{}
	for _, a := range agents {
		behind[a.Person] = true
	}
	names, err := s.named(ctx, who.workspace, behind)
	if err != nil {
		return v, err
	}
	for _, a := range agents {
		living := 0
		for _, k := range a.Keys {
			if !k.Revoked {
				living++
			}
		}
		v.Agents = append(v.Agents, namedAgent{a, nameIn(names, a.Person), living})
	}
	for _, scope := range policy.Scopes {
		v.Scopes = append(v.Scopes, scopeChoice{scope, slices.Contains(policy.DefaultScopes, scope)})
	}
	v.Sites, err = s.queries.Sites(ctx, who.workspace)
	return v, err
}

func (s *Server) agentsForm(w http.ResponseWriter, r *http.Request, who caller) error {
	in, err := form(w, r)
	if err != nil {
		return err
	}
	out, err := s.makeAgent(r, who, newAgent{Name: in.Get("name"), Mode: in.Get("mode"), Scopes: append([]string{}, in["scope"]...), Site: in.Get("site"), Collection: strings.TrimSpace(in.Get("collection"))})
	if err != nil {
		v, broken := s.agentsView(r, who)
		if broken != nil {
			return broken
		}
		v.Name = in.Get("name")
		f, broken := s.framed(r, who, "agents", "Agents", v)
		if broken != nil {
			return broken
		}
		return s.again(w, r, err, "agents.html", f)
	}
	if out.Target == nil {
		return see(w, r, "/agents", "", out)
	}
	return see(w, r, "/agents/"+out.Target.ID, "", out)
}

// agentView is one agent, its keys, and a key that was made just now.
type agentView struct {
	namedAgent
	Modes   []modeChoice
	Secret  string          // of the key just made: shown this once
	Connect []clients.Entry // what to paste into a client
	Sites   []SiteRow
	Once    string // lets the form that makes a key be sent once: a reload makes no second one
}

func (s *Server) agentPage(w http.ResponseWriter, r *http.Request, who caller) error {
	return s.agentWith(w, r, who, "")
}

func (s *Server) agentWith(w http.ResponseWriter, r *http.Request, who caller, secret string) error {
	a, err := s.agent(r.Context(), who.workspace, chi.URLParam(r, "agent"))
	if err != nil {
		return err
	}
	names, err := s.named(r.Context(), who.workspace, map[string]bool{a.Person: true})
	if err != nil {
		return err
	}
	v := agentView{namedAgent: namedAgent{Agent: a, Behind: nameIn(names, a.Person)}, Modes: modeChoices(a.Mode), Secret: secret, Connect: s.connect(a.ID), Once: mark(s.now())}
	if v.Sites, err = s.queries.Sites(r.Context(), who.workspace); err != nil {
		return err
	}
	return s.view(w, r, who, "agents", nameIn(map[string]string{a.ID: a.Name}, a.ID), "agent.html", v)
}

// connect is what to paste into a client's settings. The key is not in it: it
// goes where the client keeps secrets.
func (s *Server) connect(agent string) []clients.Entry {
	at := s.local
	at.URL, at.Agent = s.public.String()+"/mcp", agent
	return at.Entries()
}

// ownScopes are what the agent has, as far as it is about its own.
func (s *Server) ownScopes(r *http.Request, who caller) ([]string, error) {
	a, err := s.agent(r.Context(), who.workspace, chi.URLParam(r, "agent"))
	if err != nil {
		return nil, err
	}
	own := slices.DeleteFunc(slices.Clone(policy.Scopes), func(scope string) bool { return slices.Contains(policy.Scopes, scope+policy.Own) })
	return policy.Narrowed(append([]string{}, a.Scopes...), own), nil
}

// endingKey is a key that stops working soon, with nothing in its place.
type endingKey struct {
	Agent, Name string
	Ends        time.Time
}

// endingKeys are those that whoever may make others should know of.
func (s *Server) endingKeys(r *http.Request, who caller) (list []endingKey, err error) {
	role, err := s.queries.Role(r.Context(), who.workspace, who.person.ID())
	if err != nil || !role.May("agents.manage") {
		return nil, err
	}
	agents, err := s.agents(r.Context(), who.workspace)
	for _, a := range agents {
		for _, k := range a.Keys {
			if k.EndsSoon {
				list = append(list, endingKey{a.ID, nameIn(map[string]string{a.ID: a.Name}, a.ID), k.Expires})
			}
		}
	}
	return list, err
}

func (s *Server) agentForm(w http.ResponseWriter, r *http.Request, who caller) error {
	in, err := form(w, r)
	if err != nil {
		return err
	}
	id := chi.URLParam(r, "agent")
	args := agent.UpdateArgs{Which: agent.Which{Agent: id}}
	if in.Has("mode") {
		args.Mode = new(in.Get("mode"))
	}
	if in.Has("site") || in.Has("collection") {
		if err := s.siteThere(r.Context(), who, in.Get("site")); err != nil {
			return err
		}
		args.Site, args.Collection = new(in.Get("site")), new(strings.TrimSpace(in.Get("collection")))
	}
	if in.Has("paused") {
		args.Paused = new(in.Get("paused") == "yes")
	}
	out, err := s.do(r, who, agent.Update.Name, args)
	if err != nil {
		return err
	}
	return see(w, r, "/agents/"+id, "changed", out)
}

func (s *Server) keyForm(w http.ResponseWriter, r *http.Request, who caller) error {
	in, err := form(w, r)
	if err != nil {
		return err
	}
	if !s.once.use(in.Get("once"), s.now()) {
		return see(w, r, "/agents/"+chi.URLParam(r, "agent"), "", commands.Outcome{})
	}
	var asked newKey
	if text := strings.TrimSpace(in.Get("days")); text != "" {
		days, err := strconv.Atoi(text)
		if err != nil {
			return domain.Refuse("invalid", "Say in how many days the key ends, or leave it empty for a key without an end.")
		}
		asked.ExpiresInDays = &days
	}
	asked.Site, asked.Collection, asked.Rotates = in.Get("site"), strings.TrimSpace(in.Get("collection")), in.Get("rotates")
	if in.Get("own") != "" {
		if asked.Scopes, err = s.ownScopes(r, who); err != nil {
			return err
		}
	}
	_, secret, out, err := s.mint(r, who, chi.URLParam(r, "agent"), asked)
	if err != nil {
		return err
	}
	if err := s.seen(r, out); err != nil {
		return err
	}
	return s.agentWith(w, r, who, secret)
}

func (s *Server) revokeForm(w http.ResponseWriter, r *http.Request, who caller) error {
	id := chi.URLParam(r, "agent")
	out, err := s.do(r, who, agent.Revoke.Name, agent.RevokeArgs{Which: agent.Which{Agent: id}, Key: chi.URLParam(r, "key")})
	if err != nil {
		return err
	}
	return see(w, r, "/agents/"+id, "revoked", out)
}

// workspaceForm pauses all agents or lets them go on.
func (s *Server) workspaceForm(w http.ResponseWriter, r *http.Request, who caller) error {
	in, err := form(w, r)
	if err != nil {
		return err
	}
	paused := in.Get("paused") == "yes"
	out, err := s.do(r, who, workspace.Update.Name, workspace.UpdateArgs{RulesChange: policy.RulesChange{Paused: &paused}})
	if err != nil {
		return err
	}
	return see(w, r, "/agents", map[bool]string{true: "paused", false: "resumed"}[paused], out)
}
