package httpapi

import (
	"context"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-chi/chi/v5"

	"assent/commands"
	"assent/domain"
	"assent/domain/person"
	"assent/domain/policy"
)

// Names of the session's cookie. Browsers keep the first to this very host and
// to TLS; on this machine itself, without TLS, they would not take it.
const (
	secureCookie = "__Host-assent"
	plainCookie  = "assent_session"
)

// Bounds of what people say about themselves.
const (
	minPassword = 12
	maxPassword = 1024 // hashing more would be work for free
	maxName     = 100
	maxEmail    = 254
)

// cookieName is the cookie of this connection: secure wherever the server is
// reached over TLS, be it through a proxy that ends it.
func (s *Server) cookieName(r *http.Request) (name string, secure bool) {
	if r.TLS != nil || s.public.Scheme == "https" {
		return secureCookie, true
	}
	return plainCookie, false
}

func (s *Server) cookie(r *http.Request) string {
	name, _ := s.cookieName(r)
	c, err := r.Cookie(name)
	if err != nil {
		return ""
	}
	return c.Value
}

// setCookie hands the session to the browser, or, without a token, takes it
// back.
func (s *Server) setCookie(w http.ResponseWriter, r *http.Request, live Session) {
	name, secure := s.cookieName(r)
	c := &http.Cookie{Name: name, Value: live.Token, Path: "/", Secure: secure, HttpOnly: true, SameSite: http.SameSiteLaxMode, MaxAge: -1}
	if live.Token != "" {
		c.MaxAge = max(1, int(live.Expires.Sub(s.now())/time.Second))
	}
	http.SetCookie(w, c)
}

// signIn opens a session for whoever knows the password.
func (s *Server) signIn(w http.ResponseWriter, r *http.Request, email, password string) error {
	account := strings.ToLower(strings.TrimSpace(email))
	if len(account) > maxEmail || len(password) > maxPassword {
		return unknownPerson
	}
	if err := s.door.knock(r, account, s.now()); err != nil {
		return err
	}
	seat, err := s.accounts.SignIn(r.Context(), account, password)
	if isRefusal(err) {
		return unknownPerson // one sentence for all reasons: nobody learns which emails exist
	}
	if err != nil {
		return err
	}
	s.door.welcome(r, account)
	return s.open(w, r, seat)
}

var unknownPerson = domain.Refuse("unauthorised", "This email and password do not go together. Check both and try again.")

// open gives a browser a session.
func (s *Server) open(w http.ResponseWriter, r *http.Request, seat Seat) error {
	live, err := s.accounts.NewSession(r.Context(), seat)
	if err != nil {
		return err
	}
	s.setCookie(w, r, live)
	return nil
}

// signOut ends the session a request came with, if any.
func (s *Server) signOut(w http.ResponseWriter, r *http.Request) error {
	if token := s.cookie(r); token != "" {
		if err := s.accounts.EndSession(r.Context(), token); err != nil && !isRefusal(err) {
			return err
		}
	}
	s.setCookie(w, r, Session{})
	return nil
}

// newcomer is what a person says when they come in by a link.
type newcomer struct {
	Token    string `json:"token"`
	Name     string `json:"name"`
	Email    string `json:"email"`
	Password string `json:"password"`
}

// setUp makes the bearer of the set-up link the workspace's first owner. The
// log settles that there is one first owner; the link only lets somebody try.
// What fails on the way can be tried again with the same link.
func (s *Server) setUp(w http.ResponseWriter, r *http.Request, in newcomer) error {
	ctx := r.Context()
	link, err := s.peek(r, in.Token, ForSetup)
	if err != nil {
		return err
	}
	if err := checkIdentity(in.Name, in.Email); err != nil {
		return err
	}
	if err := checkPassword(in.Password); err != nil {
		return err
	}
	seat, err := s.register(ctx, link.Workspace, in)
	if err != nil {
		return err
	}
	position, err := s.seater.Seat(ctx, seat.Workspace, seat.Person)
	if isRefusal(err) {
		return usedLink
	}
	if err != nil {
		return err
	}
	if err := s.wait(ctx, position); err != nil {
		return err
	}
	if _, err := s.accounts.UseLink(ctx, in.Token); err != nil && !isRefusal(err) {
		return err
	}
	return s.open(w, r, seat)
}

// register makes the person of a set-up, or finds the one that an earlier try
// with the same email and password made.
func (s *Server) register(ctx context.Context, workspace string, in newcomer) (Seat, error) {
	person, err := s.accounts.AddPerson(ctx, workspace, in.Name, in.Email)
	if isRefusal(err) {
		if seat, again := s.accounts.SignInTo(ctx, workspace, in.Email, in.Password); again == nil {
			return seat, nil
		}
	}
	if err != nil {
		return Seat{}, err
	}
	return Seat{workspace, person}, s.accounts.SetPassword(ctx, workspace, person, in.Password)
}

var usedLink = domain.Refuse("expired", "This link was used or is over. A new one is needed: start the server again for set-up, or ask an owner for an invitation.")

// peek looks at a link without using it up.
func (s *Server) peek(r *http.Request, token string, purpose Purpose) (Link, error) {
	if err := s.door.knock(r, "", s.now()); err != nil {
		return Link{}, err
	}
	link, err := s.accounts.PeekLink(r.Context(), token)
	if isRefusal(err) || err == nil && link.Purpose != purpose {
		return Link{}, usedLink
	}
	return link, err
}

// accept lets an invited person choose a password and come in.
func (s *Server) accept(w http.ResponseWriter, r *http.Request, token, password string) error {
	if _, err := s.peek(r, token, ForInvite); err != nil {
		return err
	}
	if err := checkPassword(password); err != nil {
		return err
	}
	link, err := s.accounts.UseLink(r.Context(), token)
	if isRefusal(err) {
		return usedLink
	}
	if err != nil {
		return err
	}
	if err := s.accounts.SetPassword(r.Context(), link.Workspace, link.Person, password); err != nil {
		return err
	}
	return s.open(w, r, link.Seat)
}

// invite seats a person and gives the link they come in by. The seat is
// rehearsed first, so that who may not invite leaves no trace of the invited.
func (s *Server) invite(r *http.Request, who caller, name, email string, role policy.Role) (person, link string, out commands.Outcome, err error) {
	ctx := r.Context()
	if err = checkIdentity(name, email); err != nil {
		return
	}
	if out, err = s.rehearse(r, who, "person.seat", map[string]any{"role": role}); err != nil {
		return
	}
	if person, err = s.accounts.AddPerson(ctx, who.workspace, name, email); err != nil {
		return
	}
	if out, err = s.do(r, who, "person.seat", map[string]any{"person": person, "role": role}); err != nil {
		return
	}
	token, err := s.accounts.MintLink(ctx, Link{ForInvite, Seat{who.workspace, person}}, s.now().Add(inviteLife))
	return person, s.public.String() + "/invite?t=" + token, out, err
}

// inviteLife is how long an invitation can be accepted.
const inviteLife = 7 * 24 * time.Hour

func checkIdentity(name, email string) error {
	at := strings.LastIndex(email, "@")
	switch {
	case strings.TrimSpace(name) == "" || len(name) > maxName || !utf8.ValidString(name):
		return domain.Refuse("invalid", "Give a name of at most %d characters.", maxName)
	case at < 1 || at == len(email)-1 || len(email) > maxEmail || strings.ContainsAny(email, " \t\r\n<>\""):
		return domain.Refuse("invalid", "Give an email address, as in ada@example.org.")
	}
	return nil
}

func checkPassword(password string) error {
	if len(password) < minPassword || len(password) > maxPassword {
		return domain.Refuse("invalid", "Choose a password of at least %d characters and at most %d. Four words you will remember make a good one.", minPassword, maxPassword)
	}
	return nil
}

// The same over HTTP for programs.

func (s *Server) postSetup(w http.ResponseWriter, r *http.Request, _ caller) error {
	in, err := read[newcomer](w, r)
	if err != nil {
		return err
	}
	if err := s.setUp(w, r, in); err != nil {
		return err
	}
	return answer(w, http.StatusOK, done{true})
}

// done is the answer when there is nothing else to say.
type done struct {
	Done bool `json:"done"`
}

type credentials struct {
	Email    string `json:"email"`
	Password string `json:"password"`
}

func (s *Server) postSession(w http.ResponseWriter, r *http.Request, _ caller) error {
	in, err := read[credentials](w, r)
	if err != nil {
		return err
	}
	if err := s.signIn(w, r, in.Email, in.Password); err != nil {
		return err
	}
	return answer(w, http.StatusOK, done{true})
}

func (s *Server) deleteSession(w http.ResponseWriter, r *http.Request, _ caller) error {
	if err := s.signOut(w, r); err != nil {
		return err
	}
	return answer(w, http.StatusOK, done{true})
}

type acceptance struct {
	Token    string `json:"token"`
	Password string `json:"password"`
}

func (s *Server) postInvitation(w http.ResponseWriter, r *http.Request, _ caller) error {
	in, err := read[acceptance](w, r)
	if err != nil {
		return err
	}
	if err := s.accept(w, r, in.Token, in.Password); err != nil {
		return err
	}
	return answer(w, http.StatusOK, done{true})
}

type invitation struct {
	Name  string      `json:"name"`
	Email string      `json:"email"`
	Role  policy.Role `json:"role"`
}

func (s *Server) postPeople(w http.ResponseWriter, r *http.Request, who caller) error {
	in, err := read[invitation](w, r)
	if err != nil {
		return err
	}
	person, link, out, err := s.invite(r, who, in.Name, in.Email, in.Role)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, struct {
		ID   string `json:"id"`
		Link string `json:"link"` // works once, for a week
		commands.Outcome
	}{person, link, out})
}

func (s *Server) getPeople(w http.ResponseWriter, r *http.Request, who caller) error {
	people, err := s.people(r.Context(), who.workspace)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, list[Seated]{people})
}

// patchPerson gives somebody who was let in another role.
func (s *Server) patchPerson(w http.ResponseWriter, r *http.Request, who caller) error {
	in, err := read[struct {
		Role string `json:"role"`
	}](w, r)
	if err != nil {
		return err
	}
	id := chi.URLParam(r, "person")
	if id == who.person.ID() {
		return ownSeat
	}
	names, err := s.accounts.Names(r.Context(), who.workspace, id)
	if err != nil {
		return err
	}
	if names[id] == "" {
		return domain.Refuse("not-found", "There is nobody of that id. List the people to find it.")
	}
	out, err := s.do(r, who, person.Seat.Name, person.SeatArgs{Person: id, Role: in.Role})
	if err != nil {
		return err
	}
	return conclude(w, out)
}

// list is a short list without pages.
type list[T any] struct {
	Items []T `json:"items"`
}

// people is everybody with a seat, by name.
func (s *Server) people(ctx context.Context, workspace string) ([]Seated, error) {
	people, err := s.queries.People(ctx, workspace)
	if err != nil {
		return nil, err
	}
	ids := map[string]bool{}
	for _, p := range people {
		ids[p.ID] = true
	}
	names, err := s.named(ctx, workspace, ids)
	for i := range people {
		people[i].Name = names[people[i].ID]
	}
	return people, err
}
