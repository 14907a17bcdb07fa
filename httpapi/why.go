package httpapi

import (
	"context"
	"net/http"

	"github.com/go-chi/chi/v5"

	"assent/commands"
	"assent/domain"
)

// whyAnswer is why an action was answered as it was, with the names of who is in
// it.
type whyAnswer struct {
	commands.Why
	Names map[string]string `json:"names,omitempty"`
}

func (s *Server) why(ctx context.Context, workspace string, id domain.ID) (whyAnswer, error) {
	why, err := s.queries.Why(ctx, workspace, id)
	if err != nil {
		return whyAnswer{}, err
	}
	ids := map[string]bool{}
	for _, a := range why.Asked {
		ids[a.Principal.ID], ids[a.Person] = true, true
		if a.Question != nil && a.Question.Yes != nil {
			ids[a.Question.Yes.By] = true
		}
		if a.Lent != nil {
			ids[a.Lent.By] = true
		}
	}
	names, err := s.named(ctx, workspace, ids)
	return whyAnswer{why, names}, err
}

func (s *Server) getWhy(w http.ResponseWriter, r *http.Request, who caller) error {
	why, err := s.why(r.Context(), who.workspace, domain.ID(chi.URLParam(r, "action")))
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, why)
}

// whyView is why an action was answered as it was, for a person.
type whyView struct {
	ID      domain.ID
	Matches bool
	Checked bool // something could be compared
	Asked   []whyLine
}

// whyLine is one thing that was asked.
type whyLine struct {
	commands.Asked
	Who, Behind, YesBy, LentBy string
	Other                      bool // it was asked in another action
}

func (s *Server) whyPage(w http.ResponseWriter, r *http.Request, who caller) error {
	why, err := s.why(r.Context(), who.workspace, domain.ID(chi.URLParam(r, "action")))
	if err != nil {
		return err
	}
	v := whyView{ID: why.Action, Matches: why.Matches}
	for _, a := range why.Asked {
		l := whyLine{Asked: a, Who: nameIn(why.Names, a.Principal.ID), Behind: nameIn(why.Names, a.Person), Other: a.Action != why.Action}
		if a.Question != nil && a.Question.Yes != nil {
			l.YesBy = nameIn(why.Names, a.Question.Yes.By)
		}
		if a.Lent != nil {
			l.LentBy = nameIn(why.Names, a.Lent.By)
		}
		v.Checked = v.Checked || a.Checked
		v.Asked = append(v.Asked, l)
	}
	return s.view(w, r, who, "audit", "Why?", "why.html", v)
}
