package httpapi

import (
	"net/http"

	"assent/domain/policy"
)

// arrival is what the pages show that let people in.
type arrival struct{ Token, Next, Name, Email string }

func (s *Server) setupPage(w http.ResponseWriter, r *http.Request, _ caller) error {
	token := r.URL.Query().Get("t")
	if _, err := s.peek(r, token, ForSetup); err != nil {
		return err
	}
	return s.put(w, r, http.StatusOK, "setup.html", frame{Title: "Set up", Body: arrival{Token: token}})
}

func (s *Server) setupForm(w http.ResponseWriter, r *http.Request, _ caller) error {
	in, err := form(w, r)
	if err != nil {
		return err
	}
	if err := s.setUp(w, r, newcomer{in.Get("token"), in.Get("name"), in.Get("email"), in.Get("password")}); err != nil {
		return s.again(w, r, err, "setup.html", frame{Title: "Set up", Body: arrival{Token: in.Get("token"), Name: in.Get("name"), Email: in.Get("email")}})
	}
	http.Redirect(w, r, "/agents?said=welcome", http.StatusSeeOther)
	return nil
}

func (s *Server) invitePage(w http.ResponseWriter, r *http.Request, _ caller) error {
	token := r.URL.Query().Get("t")
	link, err := s.peek(r, token, ForInvite)
	if err != nil {
		return err
	}
	names, err := s.named(r.Context(), link.Workspace, map[string]bool{link.Person: true})
	if err != nil {
		return err
	}
	return s.put(w, r, http.StatusOK, "invite.html", frame{Title: "Welcome", Body: arrival{Token: token, Name: names[link.Person]}})
}

func (s *Server) inviteForm(w http.ResponseWriter, r *http.Request, _ caller) error {
	in, err := form(w, r)
	if err != nil {
		return err
	}
	if err := s.accept(w, r, in.Get("token"), in.Get("password")); err != nil {
		return s.again(w, r, err, "invite.html", frame{Title: "Welcome", Body: arrival{Token: in.Get("token")}})
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
	return nil
}

func (s *Server) signInPage(w http.ResponseWriter, r *http.Request, _ caller) error {
	return s.put(w, r, http.StatusOK, "signin.html", frame{Title: "Sign in", Body: arrival{Next: within(r.URL.Query().Get("next"))}})
}

func (s *Server) signInForm(w http.ResponseWriter, r *http.Request, _ caller) error {
	in, err := form(w, r)
	if err != nil {
		return err
	}
	next := within(in.Get("next"))
	if err := s.signIn(w, r, in.Get("email"), in.Get("password")); err != nil {
		return s.again(w, r, err, "signin.html", frame{Title: "Sign in", Body: arrival{Next: next, Email: in.Get("email")}})
	}
	http.Redirect(w, r, next, http.StatusSeeOther)
	return nil
}

func (s *Server) signOutPage(w http.ResponseWriter, r *http.Request, who caller) error {
	return s.view(w, r, who, "", "Sign out", "signout.html", nil)
}

func (s *Server) signOutForm(w http.ResponseWriter, r *http.Request, _ caller) error {
	if err := s.signOut(w, r); err != nil {
		return err
	}
	http.Redirect(w, r, "/signin", http.StatusSeeOther)
	return nil
}

// peopleView is everybody with a seat, and the link of who was just invited.
type peopleView struct {
	People             []seatedLine
	Roles              []policy.Role
	Invited, Link      string
	Name, Email, Wrong string
}

// seatedLine is somebody with a seat, as somebody else sees them.
type seatedLine struct {
	Seated
	Self bool
}

func (s *Server) peoplePage(w http.ResponseWriter, r *http.Request, who caller) error {
	return s.peopleWith(w, r, who, peopleView{}, http.StatusOK)
}

func (s *Server) peopleWith(w http.ResponseWriter, r *http.Request, who caller, v peopleView, status int) (err error) {
	people, err := s.people(r.Context(), who.workspace)
	if err != nil {
		return err
	}
	for _, p := range people {
		v.People = append(v.People, seatedLine{p, p.ID == who.person.ID()})
	}
	v.Roles = []policy.Role{policy.Editor, policy.Auditor, policy.Operator, policy.Owner}
	f, err := s.framed(r, who, "people", "People", v)
	if err != nil {
		return err
	}
	f.Wrong = v.Wrong
	return s.put(w, r, status, "people.html", f)
}

func (s *Server) peopleForm(w http.ResponseWriter, r *http.Request, who caller) error {
	in, err := form(w, r)
	if err != nil {
		return err
	}
	name, email := in.Get("name"), in.Get("email")
	_, link, out, err := s.invite(r, who, name, email, policy.Role(in.Get("role")))
	if err != nil {
		p := s.problemOf(r, err)
		if p.Status != http.StatusBadRequest && p.Status != http.StatusConflict {
			return p
		}
		return s.peopleWith(w, r, who, peopleView{Name: name, Email: email, Wrong: p.Detail}, p.Status)
	}
	if err := s.seen(r, out); err != nil {
		return err
	}
	return s.peopleWith(w, r, who, peopleView{Invited: name, Link: link}, http.StatusOK)
}
