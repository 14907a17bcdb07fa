package httpapi

import (
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"
)

// Skill is a way of working that agents can declare, as its files are now.
type Skill struct {
	Name        string      `json:"name"`
	Description string      `json:"description,omitempty"`
	Digest      string      `json:"digest,omitempty"`
	Scopes      []string    `json:"scopes,omitzero"`    // what it narrows a call to; left out: it does not
	Approval    []string    `json:"approval,omitempty"` // actions that wait under it
	Files       []SkillFile `json:"files,omitempty"`
	Wrong       string      `json:"wrong,omitempty"` // why it cannot be used; then the rest is missing
	Accepted    *Accepted   `json:"accepted,omitempty"`
	Changed     bool        `json:"changed,omitempty"` // since it was accepted: changes under it wait
}

// SkillFile is one file of a skill.
type SkillFile struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"` // bytes
	Digest string `json:"digest"`
}

// Accepted is who looked at which files of a skill, and when.
type Accepted struct {
	Digest string    `json:"digest"`
	By     string    `json:"by"`
	At     time.Time `json:"at"`
}

func (s *Server) getSkills(w http.ResponseWriter, r *http.Request, who caller) error {
	list, err := s.queries.Skills(r.Context(), who.workspace)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, struct {
		Items []Skill `json:"items"`
	}{list})
}

// skillsView is the skills, for a person.
type skillsView struct {
	Skills []skillLine
}

type skillLine struct {
	Skill
	By string // who accepted it
}

// Narrows says that it takes something away from what its caller reaches.
func (l skillLine) Narrows() bool { return l.Scopes != nil }

func (s *Server) skillsPage(w http.ResponseWriter, r *http.Request, who caller) error {
	v, err := s.skillsView(r, who)
	if err != nil {
		return err
	}
	return s.view(w, r, who, "skills", "Skills", "skills.html", v)
}

func (s *Server) skillsView(r *http.Request, who caller) (v skillsView, err error) {
	list, err := s.queries.Skills(r.Context(), who.workspace)
	if err != nil {
		return v, err
	}
	ids := map[string]bool{}
	for _, l := range list {
		if l.Accepted != nil {
			ids[l.Accepted.By] = true
		}
	}
	names, err := s.named(r.Context(), who.workspace, ids)
	for _, l := range list {
		line := skillLine{Skill: l}
		if l.Accepted != nil {
			line.By = nameIn(names, l.Accepted.By)
		}
		v.Skills = append(v.Skills, line)
	}
	return v, err
}

// acceptForm keeps to a skill as it was on the page that was sent.
func (s *Server) acceptForm(w http.ResponseWriter, r *http.Request, who caller) error {
	in, err := form(w, r)
	if err != nil {
		return err
	}
	out, err := s.do(r, who, "skill.accept", map[string]any{"skill": chi.URLParam(r, "skill"), "digest": in.Get("digest")})
	if err != nil {
		v, broken := s.skillsView(r, who)
		if broken != nil {
			return err
		}
		f, broken := s.framed(r, who, "skills", "Skills", v)
		if broken != nil {
			return broken
		}
		return s.again(w, r, err, "skills.html", f)
	}
	return see(w, r, "/skills", "accepted", out)
}
