package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/go-chi/chi/v5"

	"assent/commands"
	"assent/domain"
	"assent/domain/person"
)

// Ending a seat, forgetting a person, and what a person can see and do about
// their own signing in.

// peopleRoutes are those of people after they were let in.
func (s *Server) peopleRoutes(v1 string) []route {
	return []route{
		{method: "DELETE", path: v1 + "/people/{person}", accepts: session, about: "End a person's seat; their agents stop at once", do: s.deletePerson},
		{method: "POST", path: v1 + "/people/{person}/erase", accepts: session, about: "Forget a person's name, email and words for ever; what they did stays, under an id", do: s.postErase},
		{method: "GET", path: v1 + "/sessions", accepts: session, about: "Where you are signed in", do: s.getSessions},
		{method: "DELETE", path: v1 + "/sessions/{session}", accepts: session, about: "End one of your sessions", do: s.deleteSessionOf},
		{method: "POST", path: "/people/{person}", accepts: session, needs: "content.read", do: s.personForm, page: true},
		{method: "GET", path: "/you", accepts: session, do: s.youPage, page: true},
		{method: "POST", path: "/you", accepts: session, do: s.youForm, page: true},
	}
}

// other is a person that somebody else decides about.
func (s *Server) other(r *http.Request, who caller) (string, error) {
	id := chi.URLParam(r, "person")
	if id == who.person.ID() {
		return "", ownSeat
	}
	known, err := s.queries.Role(r.Context(), who.workspace, id)
	if err != nil || known != "" {
		return id, err
	}
	names, err := s.accounts.Names(r.Context(), who.workspace, id)
	if err == nil && names[id] == "" {
		err = domain.Refuse("not-found", "There is nobody of that id. List the people to find it.")
	}
	return id, err
}

func (s *Server) unseat(r *http.Request, who caller, id string) (commands.Outcome, error) {
	return s.do(r, who, person.Unseat.Name, person.UnseatArgs{Person: id})
}

// erase records that a person is forgotten and forgets them. Where it stops in
// between, asking again finishes it: the record says that somebody wanted it.
func (s *Server) erase(r *http.Request, who caller, id string) (commands.Outcome, error) {
	out, err := s.do(r, who, person.Erase.Name, person.EraseArgs{Person: id})
	if err != nil {
		return out, err
	}
	return out, s.accounts.Erase(r.Context(), Seat{who.workspace, id})
}

func (s *Server) deletePerson(w http.ResponseWriter, r *http.Request, who caller) error {
	return s.decideOn(w, r, who, s.unseat)
}

func (s *Server) postErase(w http.ResponseWriter, r *http.Request, who caller) error {
	return s.decideOn(w, r, who, s.erase)
}

func (s *Server) decideOn(w http.ResponseWriter, r *http.Request, who caller, do func(*http.Request, caller, string) (commands.Outcome, error)) error {
	id, err := s.other(r, who)
	if err != nil {
		return err
	}
	out, err := do(r, who, id)
	if err != nil {
		return err
	}
	return conclude(w, out)
}

// personForm is what the page of people can ask about one of them.
func (s *Server) personForm(w http.ResponseWriter, r *http.Request, who caller) error {
	in, err := form(w, r)
	if err != nil {
		return err
	}
	id, err := s.other(r, who)
	var out commands.Outcome
	switch {
	case err != nil:
	case in.Get("do") == "unseat":
		out, err = s.unseat(r, who, id)
	case in.Get("do") == "erase" && !same(in.Get("retype"), in.Get("retyped")):
		err = domain.Refuse("invalid", "What you typed is not their name. Type it as it is shown, or leave it.")
	case in.Get("do") == "erase":
		out, err = s.erase(r, who, id)
	default:
		out, err = s.do(r, who, person.Seat.Name, person.SeatArgs{Person: id, Role: in.Get("role")})
	}
	if err != nil {
		p := s.problemOf(r, err)
		if p.Status != http.StatusBadRequest && p.Status != http.StatusConflict && p.Status != http.StatusGone {
			return p
		}
		return s.peopleWith(w, r, who, peopleView{Wrong: p.Detail}, p.Status)
	}
	return see(w, r, "/people", map[string]string{"unseat": "unseated", "erase": "erased"}[in.Get("do")], out)
}

// signedIn is one of a person's sessions as they see it.
type signedIn struct {
	ID      string    `json:"id"`
	Begun   time.Time `json:"begun"`
	Seen    time.Time `json:"seen"`
	Expires time.Time `json:"expires"`
	This    bool      `json:"this,omitempty"` // it is the one that asks
}

func (s *Server) sessions(ctx context.Context, who caller) ([]signedIn, error) {
	kept, err := s.accounts.Sessions(ctx, seatOf(who))
	shown := make([]signedIn, len(kept))
	for i, k := range kept {
		shown[i] = signedIn{k.ID, k.Begun, k.Seen, k.Expires, k.ID == who.person.Session()}
	}
	return shown, err
}

func seatOf(who caller) Seat { return Seat{who.workspace, who.person.ID()} }

func (s *Server) getSessions(w http.ResponseWriter, r *http.Request, who caller) error {
	shown, err := s.sessions(r.Context(), who)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, list[signedIn]{shown})
}

func (s *Server) deleteSessionOf(w http.ResponseWriter, r *http.Request, who caller) error {
	if err := s.accounts.EndSessionOf(r.Context(), seatOf(who), chi.URLParam(r, "session")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// youView is what a person sees about their own signing in.
type youView struct {
	Sessions []signedIn
	Others   int // of them
}

func (s *Server) youPage(w http.ResponseWriter, r *http.Request, who caller) error {
	v, err := s.youView(r, who)
	if err != nil {
		return err
	}
	return s.view(w, r, who, "you", "You", "you.html", v)
}

func (s *Server) youView(r *http.Request, who caller) (v youView, err error) {
	v.Sessions, err = s.sessions(r.Context(), who)
	v.Others = max(len(v.Sessions)-1, 0)
	return v, err
}

// youForms are what the page can ask, by what its button says to do.
var youForms = map[string]func(*Server, *http.Request, caller, url.Values) error{
	"end": func(s *Server, r *http.Request, who caller, in url.Values) error {
		return s.accounts.EndSessionOf(r.Context(), seatOf(who), in.Get("session"))
	},
	"end-others": func(s *Server, r *http.Request, who caller, _ url.Values) error { return s.endOthers(r.Context(), who) },
	"password":   (*Server).newPassword,
}

func (s *Server) youForm(w http.ResponseWriter, r *http.Request, who caller) error {
	in, err := form(w, r)
	if err != nil {
		return err
	}
	do, known := youForms[in.Get("do")]
	if !known {
		return domain.Refuse("invalid", "The page did not say what to do. Open it again.")
	}
	if err := do(s, r, who, in); err != nil {
		v, broken := s.youView(r, who)
		if broken != nil {
			return broken
		}
		f, broken := s.framed(r, who, "you", "You", v)
		if broken != nil {
			return broken
		}
		return s.again(w, r, err, "you.html", f)
	}
	return see(w, r, "/you", "self", commands.Outcome{})
}

// newPassword is for somebody who knows the old one. Whoever is signed in
// elsewhere with it is so no longer.
func (s *Server) newPassword(r *http.Request, who caller, in url.Values) error {
	if err := checkPassword(in.Get("password")); err != nil {
		return err
	}
	if err := s.showPassword(r, who, in.Get("old")); err != nil {
		return err
	}
	if err := s.accounts.SetPassword(r.Context(), who.workspace, who.person.ID(), in.Get("password")); err != nil {
		return err
	}
	return s.endOthers(r.Context(), who)
}

func (s *Server) endOthers(ctx context.Context, who caller) error {
	kept, err := s.accounts.Sessions(ctx, seatOf(who))
	for _, k := range kept {
		if err == nil && k.ID != who.person.Session() {
			err = s.accounts.EndSessionOf(ctx, seatOf(who), k.ID)
		}
	}
	return err
}
