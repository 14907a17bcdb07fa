package httpapi

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/go-chi/chi/v5"

	"assent/commands"
	"assent/domain"
	"assent/httpapi/card"
)

// auditView is a list of actions under a filter that stands in the address.
type auditView struct {
	Filter   url.Values
	Filtered bool
	Rows     []auditLine
	Next     string // the address of older ones
	Agents   []Agent
	People   []Seated
	Outcomes []string
	Actions  []string // by name
	Exports  []exportLink
	Narrow   bool // it is filtered by what is folded away
}

// exportLink takes what the page is about away in one form.
type exportLink struct{ Name, Path string }

// exportNames are the forms as their makers write them.
var exportNames = map[string]string{"csv": "CSV", "jsonl": "JSON lines", "cloudevents": "CloudEvents", "ocsf": "OCSF"}

// folded are the filters that people need less often.
var folded = []string{"target", "cause", "key", "session", "proposal", "skill", "until"}

// auditLine is one action in a line.
type auditLine struct {
	AuditRow
	Who, Behind, Decider, What string
	Agent                      bool
}

// actionView is one action in full.
type actionView struct {
	auditLine
	Changed []card.Field
	Late    bool // its time to be taken back is over: only by right now
}

func lineOf(row AuditRow, names map[string]string) auditLine {
	l := auditLine{
		AuditRow: row, Agent: row.Principal.IsAgent(),
		Who: nameIn(names, row.Principal.ID), Behind: nameIn(names, row.Person), Decider: nameIn(names, row.DecidedBy),
	}
	if row.Target != nil {
		l.What = cmp.Or(row.Title, nameIn(names, row.Target.ID))
	}
	return l
}

func (s *Server) auditPage(w http.ResponseWriter, r *http.Request, who caller) error {
	q := r.URL.Query()
	q.Del("said")
	f, err := filterOf(q)
	if err != nil {
		return err
	}
	page, err := s.audit(r.Context(), who.workspace, f)
	if err != nil {
		return err
	}
	v := auditView{Filter: q, Outcomes: []string{commands.Done, commands.Waiting, commands.Refused, commands.Idle, "read"}}
	if v.Agents, err = s.agents(r.Context(), who.workspace); err != nil {
		return err
	}
	if v.People, err = s.people(r.Context(), who.workspace); err != nil {
		return err
	}
	for _, a := range s.registry.All() {
		v.Actions = append(v.Actions, a.Name)
	}
	for _, row := range page.Items {
		v.Rows = append(v.Rows, lineOf(row, page.Names))
	}
	asked := url.Values{}
	for name, values := range q {
		if values[0] != "" && name != "after" {
			asked[name] = values
		}
		v.Filtered = v.Filtered || name != "after" && name != "limit" && values[0] != ""
		v.Narrow = v.Narrow || slices.Contains(folded, name) && values[0] != ""
	}
	if page.Next != "" {
		older := maps.Clone(asked)
		older.Set("cursor", page.Next)
		v.Next = "/audit?" + older.Encode()
	}
	asked.Del("cursor")
	asked.Del("limit")
	for _, form := range ExportForms {
		asked.Set("format", form)
		v.Exports = append(v.Exports, exportLink{exportNames[form], "/api/v1/audit/export?" + asked.Encode()})
	}
	return s.view(w, r, who, "audit", "Audit", "audit.html", v)
}

func (s *Server) oneAction(r *http.Request, who caller) (actionView, error) {
	row, names, err := s.auditOne(r.Context(), who.workspace, domain.ID(chi.URLParam(r, "action")))
	return actionView{lineOf(row, names), card.Fields(row.Changes), s.tooLate(row)}, err
}

func (s *Server) actionPage(w http.ResponseWriter, r *http.Request, who caller) error {
	v, err := s.oneAction(r, who)
	if err != nil {
		return err
	}
	return s.view(w, r, who, "audit", v.Action, "action.html", v)
}
