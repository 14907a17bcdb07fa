package httpapi

import (
	"context"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"assent/commands"
	"assent/domain"
	"assent/domain/agent"
	"assent/domain/workspace"
)

// do takes one call down the road. The error is a problem when the outcome is
// a no, so that callers go on only when it happened or waits.
func (s *Server) do(r *http.Request, who caller, action string, args any) (commands.Outcome, error) {
	call, err := who.call(r, action, args)
	if err != nil {
		return commands.Outcome{}, err
	}
	out, err := s.road.Do(r.Context(), call)
	if err != nil {
		return out, err
	}
	return out, refused(out)
}

// rehearse asks what do would answer, and changes nothing. What is kept beside
// the log, a name or a key's hash, is written only after a rehearsal that was
// not refused.
func (s *Server) rehearse(r *http.Request, who caller, action string, args map[string]any) (commands.Outcome, error) {
	args["dry_run"] = true
	out, err := s.do(r, who, action, args)
	if err == nil && out.Verdict != nil && out.Verdict.Answer == domain.Reject {
		p := newProblem(out.Verdict.Code, out.Verdict.Reason)
		p.Outcome = &out
		return out, p
	}
	return out, err
}

// named looks up what some ids are called.
func (s *Server) named(ctx context.Context, workspace string, ids map[string]bool) (map[string]string, error) {
	delete(ids, "")
	if len(ids) == 0 {
		return nil, nil
	}
	return s.accounts.Names(ctx, workspace, slices.Sorted(maps.Keys(ids))...)
}

// agents is every agent of a workspace with its name.
func (s *Server) agents(ctx context.Context, workspace string) ([]Agent, error) {
	agents, err := s.queries.Agents(ctx, workspace)
	if err != nil {
		return nil, err
	}
	return agents, s.nameAgents(ctx, workspace, agents)
}

// nameAgents fills in what agents are called.
func (s *Server) nameAgents(ctx context.Context, workspace string, agents []Agent) error {
	ids := map[string]bool{}
	for _, a := range agents {
		ids[a.ID] = true
	}
	names, err := s.named(ctx, workspace, ids)
	for i := range agents {
		agents[i].Name = names[agents[i].ID]
	}
	return err
}

func (s *Server) agent(ctx context.Context, workspace, id string) (Agent, error) {
	agents, err := s.agents(ctx, workspace)
	if err != nil {
		return Agent{}, err
	}
	i := slices.IndexFunc(agents, func(a Agent) bool { return a.ID == id })
	if i < 0 {
		return Agent{}, domain.Refuse("not-found", "There is no such agent.")
	}
	return agents[i], nil
}

// newAgent is what is said of an agent when it is made. It acts for whoever
// makes it.
type newAgent struct {
	Name    string   `json:"name"`
	Mode    string   `json:"mode"`
	Scopes  []string `json:"scopes"`
	Site    string   `json:"site"`
	Confirm bool     `json:"confirm"`

	Collection string `json:"collection"`
}

func (s *Server) makeAgent(r *http.Request, who caller, in newAgent) (commands.Outcome, error) {
	if err := checkName(in.Name); err != nil {
		return commands.Outcome{}, err
	}
	if err := s.siteThere(r.Context(), who, in.Site); err != nil {
		return commands.Outcome{}, err
	}
	args := map[string]any{"person": who.person.ID(), "site": in.Site, "confirm": in.Confirm}
	if in.Collection != "" {
		args["collection"] = in.Collection
	}
	if in.Mode != "" {
		args["mode"] = in.Mode
	}
	if in.Scopes != nil { // an empty list is nothing, not what is usual
		args["scopes"] = in.Scopes
	}
	out, err := s.do(r, who, agent.Create.Name, args)
	if err != nil || out.Target == nil {
		return out, err
	}
	return out, s.accounts.SetName(r.Context(), who.workspace, out.Target.ID, strings.TrimSpace(in.Name))
}

// siteThere refuses to hold an agent to a site that is not there, where it
// could do nothing. Which sites there are is told only to who may see them.
func (s *Server) siteThere(ctx context.Context, who caller, site string) error {
	if site == "" { // it works on all of them
		return nil
	}
	if err := s.permit(ctx, who, "content.read"); err != nil {
		return err
	}
	sites, err := s.queries.Sites(ctx, who.workspace)
	if err == nil && !slices.ContainsFunc(sites, func(row SiteRow) bool { return row.ID == site }) {
		err = noSite
	}
	return err
}

func checkName(name string) error {
	if strings.TrimSpace(name) == "" || len(name) > maxName {
		return domain.Refuse("invalid", "Give it a name of at most %d characters, so that people know it when they see it.", maxName)
	}
	return nil
}

// newKey is what is said of a key when it is made.
type newKey struct {
	ExpiresInDays *int     `json:"expiresInDays"` // none: until it is revoked
	Mode          string   `json:"mode"`
	Scopes        []string `json:"scopes"`
	Site          string   `json:"site"`
	Collection    string   `json:"collection"`
	Rotates       string   `json:"rotates"`      // the key whose place it takes
	OverlapHours  *int     `json:"overlapHours"` // for how long that one still works
}

// maxKeyDays is the longest a key with an end lives.
const maxKeyDays = 3650

// mint makes a key. Its secret is in the answer and nowhere else afterwards.
func (s *Server) mint(r *http.Request, who caller, agentID string, in newKey) (id, secret string, out commands.Outcome, err error) {
	if err = s.siteThere(r.Context(), who, in.Site); err != nil {
		return
	}
	if err = s.asLong(r.Context(), who, agentID, &in); err != nil {
		return
	}
	args := map[string]any{"agent": agentID, "key": string(domain.NewID("key", s.now()))}
	if days := in.ExpiresInDays; days != nil {
		if *days < 1 || *days > maxKeyDays {
			err = domain.Refuse("invalid", "A key lives for 1 to %d days, or until it is revoked when no end is given.", maxKeyDays)
			return
		}
		args["expires"] = s.now().AddDate(0, 0, *days).UTC().Format(time.RFC3339)
	}
	for name, value := range map[string]string{"mode": in.Mode, "site": in.Site, "collection": in.Collection, "rotates": in.Rotates} {
		if value != "" {
			args[name] = value
		}
	}
	if in.OverlapHours != nil {
		args["overlapHours"] = *in.OverlapHours
	}
	if in.Scopes != nil {
		args["scopes"] = in.Scopes
	}
	if out, err = s.rehearse(r, who, agent.Mint.Name, args); err != nil {
		return
	}
	if id, secret, err = s.accounts.NewKey(r.Context(), who.workspace, agentID); err != nil {
		return
	}
	delete(args, "dry_run")
	args["key"] = id
	out, err = s.do(r, who, agent.Mint.Name, args)
	return
}

// asLong lets a key that takes another's place live as long as that one was made
// to, when nothing is said.
func (s *Server) asLong(ctx context.Context, who caller, agentID string, in *newKey) error {
	if in.Rotates == "" || in.ExpiresInDays != nil {
		return nil
	}
	a, err := s.agent(ctx, who.workspace, agentID)
	if err != nil {
		return err
	}
	for _, k := range a.Keys {
		if k.ID == in.Rotates && !k.Expires.IsZero() && !k.Made.IsZero() {
			in.ExpiresInDays = new(min(max(int(math.Ceil(k.Expires.Sub(k.Made).Hours()/24)), 1), maxKeyDays))
		}
	}
	return nil
}

func (s *Server) getAgents(w http.ResponseWriter, r *http.Request, who caller) error {
	part, err := sectionOf(r.URL.Query(), nil, nil)
	if err != nil {
		return err
	}
	page, err := s.queries.AgentPage(r.Context(), who.workspace, part.cursor, part.limit)
	if err != nil {
		return err
	}
	if page.Items == nil {
		page.Items = []Agent{}
	}
	if err := s.nameAgents(r.Context(), who.workspace, page.Items); err != nil {
		return err
	}
	return answer(w, http.StatusOK, page)
}

func (s *Server) postAgents(w http.ResponseWriter, r *http.Request, who caller) error {
	in, err := read[newAgent](w, r)
	if err != nil {
		return err
	}
	out, err := s.makeAgent(r, who, in)
	if err != nil {
		return err
	}
	var id string
	if out.Target != nil {
		id = out.Target.ID
	}
	return answer(w, http.StatusOK, struct {
		ID string `json:"id"`
		commands.Outcome
	}{id, out})
}

func (s *Server) patchAgent(w http.ResponseWriter, r *http.Request, who caller) error {
	in, err := read[struct {
		Name    *string   `json:"name"`
		Mode    *string   `json:"mode"`
		Scopes  *[]string `json:"scopes"`
		Site    *string   `json:"site"`
		Confirm *bool     `json:"confirm"`
		Paused  *bool     `json:"paused"`

		Collection *string `json:"collection"`
	}](w, r)
	if err != nil {
		return err
	}
	if in.Site != nil {
		if err := s.siteThere(r.Context(), who, *in.Site); err != nil {
			return err
		}
	}
	id := chi.URLParam(r, "agent")
	out, err := s.do(r, who, agent.Update.Name, agent.UpdateArgs{
		Which: agent.Which{Agent: id}, Mode: in.Mode, Scopes: in.Scopes, Site: in.Site, Collection: in.Collection, Confirm: in.Confirm, Paused: in.Paused,
	})
	if err != nil {
		return err
	}
	if in.Name != nil { // the road let this person change the agent, and found it
		if err := checkName(*in.Name); err != nil {
			return err
		}
		if err := s.accounts.SetName(r.Context(), who.workspace, id, strings.TrimSpace(*in.Name)); err != nil {
			return err
		}
	}
	return conclude(w, out)
}

func (s *Server) postKeys(w http.ResponseWriter, r *http.Request, who caller) error {
	in, err := read[newKey](w, r)
	if err != nil {
		return err
	}
	id, secret, out, err := s.mint(r, who, chi.URLParam(r, "agent"), in)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, struct {
		ID  string `json:"id"`
		Key string `json:"key"` // shown this once
		commands.Outcome
	}{id, secret, out})
}

func (s *Server) deleteKey(w http.ResponseWriter, r *http.Request, who caller) error {
	out, err := s.do(r, who, agent.Revoke.Name, agent.RevokeArgs{
		Which: agent.Which{Agent: chi.URLParam(r, "agent")}, Key: chi.URLParam(r, "key"),
	})
	if err != nil {
		return err
	}
	return conclude(w, out)
}

func (s *Server) getWorkspace(w http.ResponseWriter, r *http.Request, who caller) error {
	ws, err := s.queries.Workspace(r.Context(), who.workspace)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, ws)
}

func (s *Server) patchWorkspace(w http.ResponseWriter, r *http.Request, who caller) error {
	in, err := read[workspace.UpdateArgs](w, r)
	if err != nil {
		return err
	}
	out, err := s.do(r, who, workspace.Update.Name, in)
	if err != nil {
		return err
	}
	return conclude(w, out)
}
