package httpapi

import (
	"context"
	"net/http"
	"time"

	"assent/domain"
	"assent/projections"
)

// Operator looks after what the server runs on. Its refusals are busy (somebody
// rebuilds already), not-found (no such model, or nothing to switch back to) and
// invalid.
type Operator interface {
	System(ctx context.Context) (System, error)
	// Rebuild begins a rebuild that goes on by itself; System says how far it is
	// and, once it is over, how it ended.
	Rebuild(ctx context.Context, o RebuildAsked) error
	// SwitchBack lets the generation before the last swap take over again.
	SwitchBack(ctx context.Context) (projections.Rebuilt, error)
}

// RebuildAsked says how to rebuild the read models.
type RebuildAsked struct {
	DryRun bool     `json:"dryRun,omitempty"` // stop before the swap: compare only
	Models []string `json:"models,omitempty"` // to compare; all when left out
}

// System is what the server runs on, and how it is.
type System struct {
	Log        LogState         `json:"log"`
	ReadModels ReadModels       `json:"readModels"`
	Last       *RebuildFinished `json:"last,omitempty"` // the last rebuild of this process
}

// LogState is where the log ends.
type LogState struct {
	Kind     string          `json:"kind"` // sqlite, postgres, eventstoredb
	Position domain.Position `json:"position,string"`
	At       time.Time       `json:"at,omitzero"`
	Heads    string          `json:"heads,omitempty"` // why signed heads could not be put away
	Wrong    string          `json:"wrong,omitempty"` // why it takes no writes
}

// ReadModels are how far they are.
type ReadModels struct {
	projections.Status
	Lag         time.Duration            `json:"lag"`            // log time between the log's end and theirs
	Held        string                   `json:"held,omitempty"` // what keeps them from getting on
	Models      []projections.Model      `json:"models"`
	Generations []projections.Generation `json:"generations"`
}

// RebuildFinished is how a rebuild ended.
type RebuildFinished struct {
	At      time.Time            `json:"at"`
	Rebuilt *projections.Rebuilt `json:"rebuilt,omitempty"`
	Failed  string               `json:"failed,omitempty"`
}

func (s *Server) getProjections(w http.ResponseWriter, r *http.Request, _ caller) error {
	found, err := s.operator.System(r.Context())
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, found)
}

func (s *Server) postRebuild(w http.ResponseWriter, r *http.Request, who caller) error {
	in, err := read[RebuildAsked](w, r)
	if err != nil {
		return err
	}
	return s.beginRebuild(w, r, who, in)
}

func (s *Server) postCompare(w http.ResponseWriter, r *http.Request, who caller) error {
	in, err := read[struct {
		Models []string `json:"models,omitempty"`
	}](w, r)
	if err != nil {
		return err
	}
	return s.beginRebuild(w, r, who, RebuildAsked{DryRun: true, Models: in.Models})
}

func (s *Server) beginRebuild(w http.ResponseWriter, r *http.Request, who caller, in RebuildAsked) error {
	if err := s.operator.Rebuild(r.Context(), in); err != nil {
		return err
	}
	found, err := s.operator.System(r.Context())
	if err != nil {
		return err
	}
	return answer(w, http.StatusAccepted, found)
}

func (s *Server) postSwitchBack(w http.ResponseWriter, r *http.Request, _ caller) error {
	if _, err := read[struct{}](w, r); err != nil {
		return err
	}
	back, err := s.operator.SwitchBack(r.Context())
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, back)
}

// systemView is what the server runs on, for a person.
type systemView struct {
	System
	Percent int  // of a rebuild under way; -1 while nobody can say
	Back    bool // there is a generation to go back to
}

func (s *Server) systemPage(w http.ResponseWriter, r *http.Request, who caller) error {
	f, err := s.systemFrame(r, who)
	if err != nil {
		return err
	}
	return s.put(w, r, http.StatusOK, "system.html", f)
}

func (s *Server) systemFrame(r *http.Request, who caller) (frame, error) {
	found, err := s.operator.System(r.Context())
	if err != nil {
		return frame{}, err
	}
	v := systemView{System: found, Percent: -1}
	if p := found.ReadModels.Rebuild; p != nil && p.Of > 0 {
		v.Percent = int(min(99, 100*p.Events/p.Of))
	}
	for _, g := range found.ReadModels.Generations {
		v.Back = v.Back || g.State == "previous"
	}
	f, err := s.framed(r, who, "system", "System", v)
	if found.ReadModels.Rebuild != nil {
		f.Again = 2
	}
	return f, err
}

// systemForm does one of an operator's three things.
func (s *Server) systemForm(w http.ResponseWriter, r *http.Request, who caller) error {
	in, err := form(w, r)
	if err != nil {
		return err
	}
	said := "rebuilding"
	switch in.Get("do") {
	case "rebuild":
		err = s.operator.Rebuild(r.Context(), RebuildAsked{})
	case "compare":
		err = s.operator.Rebuild(r.Context(), RebuildAsked{DryRun: true})
	case "switch-back":
		said = "switched"
		_, err = s.operator.SwitchBack(r.Context())
	default:
		err = domain.Refuse("invalid", "The read models can be rebuilt, compared or switched back.")
	}
	if err != nil {
		f, broken := s.systemFrame(r, who)
		if broken != nil {
			return err
		}
		return s.again(w, r, err, "system.html", f)
	}
	http.Redirect(w, r, "/system?said="+said, http.StatusSeeOther)
	return nil
}
