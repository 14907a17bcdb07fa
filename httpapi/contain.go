package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"assent/commands"
	"assent/domain"
	"assent/domain/containment"
)

// takings are the addresses at which several doings are taken back together.
func (s *Server) takings() []route {
	const v1, audit = "/api/v1", "audit.read"
	return []route{
		{method: "GET", path: v1 + "/actions/{action}/undo", accepts: session, needs: audit, about: "Could this be taken back now, and what would become of each field?", do: s.getUndo},
		{method: "POST", path: v1 + "/proposals/{proposal}/undo", accepts: session, about: "Take back all that was done because of a proposal, within 15 minutes", do: s.postProposalUndo},
		{method: "GET", path: v1 + "/containments/plan", accepts: session, needs: audit, about: "What taking doings back together would come to, a line for each thing: ?agent=&key=&since= or ?session= or ?proposal= or ?batch=", do: s.getPlan},
		{method: "POST", path: v1 + "/containments", accepts: session, about: "Stop an agent or its key and take back what it did since a time; or take back a session, a proposal or a batch", do: s.postContainment},
		{method: "GET", path: v1 + "/containments/{containment}", accepts: session, needs: audit, about: "How far it has come, and what was left", do: s.getContainment},

		{method: "GET", path: "/contain", accepts: session, needs: audit, do: s.containPage, page: true},
		{method: "POST", path: "/contain", accepts: session, needs: audit, do: s.containForm, page: true},
		{method: "GET", path: "/containments/{containment}", accepts: session, needs: audit, do: s.containedPage, page: true},
	}
}

func (s *Server) getUndo(w http.ResponseWriter, r *http.Request, who caller) error {
	can, err := s.desk.Undoable(r.Context(), who.person, domain.ID(chi.URLParam(r, "action")))
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, can)
}

func (s *Server) contain(ctx context.Context, by domain.Person, wish commands.Containing) (commands.Outcome, error) {
	var err error
	if wish.Reason, err = wordsOf(wish.Reason); err != nil {
		return commands.Outcome{}, err
	}
	out, err := s.desk.Contain(ctx, by, wish)
	if err != nil {
		return out, err
	}
	return out, refused(out)
}

func (s *Server) postProposalUndo(w http.ResponseWriter, r *http.Request, who caller) error {
	in, err := read[struct {
		Reason    string `json:"reason"`
		Late      bool   `json:"late"`
		CommandID string `json:"command_id"`
	}](w, r)
	if err != nil {
		return err
	}
	out, err := s.contain(r.Context(), who.person, commands.Containing{
		Scope: containment.Scope{Proposal: chi.URLParam(r, "proposal")}, Late: in.Late, Reason: in.Reason, CommandID: in.CommandID,
	})
	if err != nil {
		return err
	}
	return conclude(w, out)
}

func (s *Server) postContainment(w http.ResponseWriter, r *http.Request, who caller) error {
	in, err := read[struct {
		Agent     string `json:"agent"`
		Key       string `json:"key"`
		Session   string `json:"session"`
		Proposal  string `json:"proposal"`
		Batch     string `json:"batch"`
		Since     string `json:"since"`
		Late      bool   `json:"late"`
		Reason    string `json:"reason"`
		CommandID string `json:"command_id"`
	}](w, r)
	if err != nil {
		return err
	}
	wish := commands.Containing{
		Scope: containment.Scope{Agent: in.Agent, Key: in.Key, Session: in.Session, Proposal: in.Proposal, Batch: in.Batch},
		Late:  in.Late, Reason: in.Reason, CommandID: in.CommandID,
	}
	if wish.Since, err = sinceOf(in.Since); err != nil {
		return err
	}
	out, err := s.contain(r.Context(), who.person, wish)
	if err != nil {
		return err
	}
	return conclude(w, out)
}

func sinceOf(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := timeOf(text)
	if err != nil {
		return t, domain.Refuse("invalid", "`since` must be a day or a time, as in 2026-12-31 or 2026-12-31T09:00:00Z.")
	}
	return t, nil
}

// wishOf is a scope as an address names it.
func wishOf(q url.Values) (wish commands.Containing, err error) {
	late := ""
	_, err = sectionOf(q, map[string]*string{
		"agent": &wish.Agent, "key": &wish.Key, "session": &wish.Session, "proposal": &wish.Proposal, "batch": &wish.Batch, "late": &late,
	}, map[string]*time.Time{"since": &wish.Since})
	wish.Late = late == "yes" || late == "true"
	return wish, err
}

// getPlan sends one line of JSON for each thing, as it is found: however many
// there are, they are not all in memory. What goes wrong in between is the last
// line.
func (s *Server) getPlan(w http.ResponseWriter, r *http.Request, who caller) error {
	wish, err := wishOf(r.URL.Query())
	if err != nil {
		return err
	}
	sent := 0
	send := func(line any) error {
		if sent == 0 {
			w.Header().Set("Content-Type", "application/x-ndjson")
			w.Header().Set("Cache-Control", "no-store")
		}
		if sent++; sent%100 == 0 {
			_ = http.NewResponseController(w).Flush() // only sooner
		}
		return json.NewEncoder(w).Encode(line)
	}
	err = s.desk.Plan(r.Context(), who.person, wish, func(l commands.PlanLine) error { return send(l) })
	switch {
	case err != nil && sent == 0:
		return err
	case err != nil:
		return send(s.problemOf(r, err))
	case sent == 0:
		w.Header().Set("Content-Type", "application/x-ndjson")
		w.WriteHeader(http.StatusOK)
	}
	return nil
}

func (s *Server) getContainment(w http.ResponseWriter, r *http.Request, who caller) error {
	got, err := s.desk.Contained(r.Context(), who.person, chi.URLParam(r, "containment"))
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, got)
}

// planView is what taking doings back together would come to.
type planView struct {
	commands.Containing
	Who    string // the agent's name
	Back   string // where the person came from
	Keys   []Key  // of the agent
	Asked  bool   // the time was given, so the plan is here
	Lines  []commands.PlanLine
	More   int // lines that are not shown
	Counts map[string]int
	Hours  string
	Stamp  string // the time, as a form sends it
	Once   string // lets it be sent once
}

// mostShown is how many lines of a plan a page shows.
const mostShown = 200

func (s *Server) containPage(w http.ResponseWriter, r *http.Request, who caller) error {
	v, err := s.planView(r, who, r.URL.Query())
	if err != nil {
		return err
	}
	return s.view(w, r, who, "agents", "Take back together", "contain.html", v)
}

func (s *Server) planView(r *http.Request, who caller, q url.Values) (planView, error) {
	hours := strings.TrimSpace(q.Get("hours"))
	wish, err := wishOf(without(q, "hours", "said", "once", "reason"))
	if err != nil {
		return planView{}, err
	}
	if hours != "" {
		d, err := time.ParseDuration(hours + "h")
		if err != nil || d <= 0 || d > 10*365*24*time.Hour {
			return planView{}, domain.Refuse("invalid", "Say how many hours back, as in 24.")
		}
		wish.Since = s.now().Add(-d).UTC().Truncate(time.Second)
	}
	v := planView{Containing: wish, Counts: map[string]int{}, Hours: hours, Back: "/audit", Once: mark(s.now())}
	switch {
	case wish.Agent != "":
		v.Back = "/agents/" + url.PathEscape(wish.Agent)
		a, err := s.agent(r.Context(), who.workspace, wish.Agent)
		if err != nil {
			return v, err
		}
		v.Who, v.Keys = nameIn(map[string]string{a.ID: a.Name}, a.ID), a.Keys
	case wish.Proposal != "":
		v.Back = "/proposals/" + url.PathEscape(wish.Proposal)
	}
	if wish.Agent != "" && wish.Since.IsZero() {
		return v, nil
	}
	v.Asked = true
	if !wish.Since.IsZero() {
		v.Stamp = wish.Since.UTC().Format(time.RFC3339)
	}
	return v, s.desk.Plan(r.Context(), who.person, wish, func(l commands.PlanLine) error {
		v.Counts[l.Mark]++
		if len(v.Lines) < mostShown {
			v.Lines = append(v.Lines, l)
		} else {
			v.More++
		}
		return nil
	})
}

// without is a query without some of its names.
func without(q url.Values, names ...string) url.Values {
	rest := url.Values{}
	for n, v := range q {
		rest[n] = v
	}
	for _, n := range names {
		rest.Del(n)
	}
	return rest
}

func (s *Server) containForm(w http.ResponseWriter, r *http.Request, who caller) error {
	in, err := form(w, r)
	if err != nil {
		return err
	}
	wish, err := wishOf(without(in, "hours", "said", "once", "reason"))
	if err != nil {
		return err
	}
	wish.Reason, wish.CommandID = in.Get("reason"), in.Get("once")
	out, err := s.contain(r.Context(), who.person, wish)
	if err != nil {
		return err
	}
	return see(w, r, "/containments/"+out.Target.ID, "contained", out)
}

func (s *Server) containedPage(w http.ResponseWriter, r *http.Request, who caller) error {
	got, err := s.desk.Contained(r.Context(), who.person, chi.URLParam(r, "containment"))
	if err != nil {
		return err
	}
	names, err := s.named(r.Context(), who.workspace, map[string]bool{got.By: true, got.Agent: true})
	if err != nil {
		return err
	}
	v := struct {
		commands.Contained
		Decider, Who string
	}{got, nameIn(names, got.By), ""}
	if got.Agent != "" {
		v.Who = nameIn(names, got.Agent)
	}
	return s.view(w, r, who, "agents", "Taken back together", "contained.html", v)
}
