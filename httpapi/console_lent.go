package httpapi

import (
	"net/http"
	"slices"
	"strings"

	"assent/domain/agent"
)

// lentView is what agents were lent and what of it still holds.
type lentView struct {
	Holds, Over []lentLine
	Agents      []Agent
}

// lentLine is one thing that was lent, with its names.
type lentLine struct {
	Lent
	Agent, Name, Giver string
	Ends               bool // it still holds, and can be ended
}

// shownOver is how many that are over are shown.
const shownOver = 50

func (s *Server) lentPage(w http.ResponseWriter, r *http.Request, who caller) error {
	v, err := s.lentView(r, who)
	if err != nil {
		return err
	}
	return s.view(w, r, who, "lent", "Lent", "lent.html", v)
}

func (s *Server) lentView(r *http.Request, who caller) (v lentView, err error) {
	if v.Agents, err = s.agents(r.Context(), who.workspace); err != nil {
		return v, err
	}
	givers := map[string]bool{}
	for _, a := range v.Agents {
		for _, l := range a.Lent {
			givers[l.By] = true
		}
	}
	names, err := s.named(r.Context(), who.workspace, givers)
	for _, a := range v.Agents {
		for _, l := range a.Lent {
			line := lentLine{l, a.ID, nameIn(map[string]string{a.ID: a.Name}, a.ID), nameIn(names, l.By), !l.Ended && s.now().Before(l.Until)}
			if line.Ends {
				v.Holds = append(v.Holds, line)
			} else {
				v.Over = append(v.Over, line)
			}
		}
	}
	newest := func(a, b lentLine) int { return strings.Compare(b.ID, a.ID) }
	slices.SortFunc(v.Holds, newest)
	slices.SortFunc(v.Over, newest)
	v.Over = v.Over[:min(len(v.Over), shownOver)]
	return v, err
}

// lendings are the forms of the page by what their button says to do.
var lendings = map[string]string{"give": agent.Elevate.Name, "end-mode": agent.EndElevation.Name, "end-yes": agent.EndStanding.Name}

func (s *Server) lentForm(w http.ResponseWriter, r *http.Request, who caller) error {
	in, err := form(w, r)
	if err != nil {
		return err
	}
	args := map[string]any{"agent": in.Get("agent")}
	if in.Get("do") == "give" {
		args["mode"], args["reason"] = in.Get("mode"), in.Get("reason")
		if n := numbered(in, "minutes"); n != nil {
			args["minutes"] = *n
		}
	} else {
		args["id"] = in.Get("id")
	}
	out, err := s.do(r, who, lendings[in.Get("do")], args)
	if err != nil {
		v, broken := s.lentView(r, who)
		if broken != nil {
			return broken
		}
		f, broken := s.framed(r, who, "lent", "Lent", v)
		if broken != nil {
			return broken
		}
		return s.again(w, r, err, "lent.html", f)
	}
	return see(w, r, "/lent", "lent", out)
}
