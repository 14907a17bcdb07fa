package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"assent/commands"
	"assent/domain"
)

// credential is a way of saying who calls.
type credential uint8

const (
	open    credential = 0         // whoever calls
	session credential = 1 << iota // a signed-in person's cookie
	key                            // an agent's key
)

// caller is who calls, as this package verified it: a signed-in person, an
// agent with a key, or nobody.
type caller struct {
	workspace string
	person    domain.Person
	proved    time.Time // when the person last showed that it is they
	keyed     Keyed
}

// call is a call of this caller's for the road.
func (c caller) call(r *http.Request, action string, args any) (commands.Call, error) {
	text, err := raw(args)
	if err != nil {
		return commands.Call{}, err
	}
	call := commands.Call{Workspace: c.workspace, Action: action, Args: text, Client: clientOf(r)}
	if c.person.IsZero() {
		call.Principal = domain.Principal{Kind: domain.KindAgent, ID: c.keyed.Agent}
		call.Person, call.Via = c.keyed.Person, domain.Via{Key: c.keyed.Key}
		return call, nil
	}
	call.Principal = domain.Principal{Kind: domain.KindPerson, ID: c.person.ID()}
	call.Person, call.Via = c.person.ID(), domain.Via{Session: c.person.Session()}
	return call, nil
}

// clientOf is what a program calls itself: the first word of its user agent.
func clientOf(r *http.Request) domain.Client {
	product, _, _ := strings.Cut(r.UserAgent(), " ")
	name, version, _ := strings.Cut(product, "/")
	return domain.Client{Name: clip(name, 60), Version: clip(version, 40)}
}

var unauthorised = domain.Refuse("unauthorised", "Sign in, or send the key of an agent where one is taken.")

// identify finds out who calls, among the credentials a route accepts; the
// others are not looked at. A key is said on purpose, so where both are
// accepted it goes before a cookie, and a wrong one is not made good by it.
func (s *Server) identify(r *http.Request, accepts credential) (caller, error) {
	if accepts == open {
		return caller{}, nil
	}
	if secret := keyOf(r); secret != "" && accepts&key != 0 {
		k, err := s.accounts.Key(r.Context(), secret)
		if isRefusal(err) {
			return caller{}, domain.Refuse("unauthorised", "This key is not known here. Ask the agent's owner for a new one.")
		}
		if err == nil {
			err = s.paced(r.Context(), k)
		}
		return caller{workspace: k.Workspace, keyed: k}, err
	}
	if token := s.cookie(r); token != "" && accepts&session != 0 {
		live, err := s.accounts.Session(r.Context(), token)
		if isRefusal(err) {
			return caller{}, unauthorised
		}
		if err != nil {
			return caller{}, err
		}
		return caller{workspace: live.Workspace, person: domain.SignedIn(live.Workspace, live.Person, live.ID), proved: live.Proved}, nil
	}
	return caller{}, unauthorised
}

func keyOf(r *http.Request) string {
	if scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " "); strings.EqualFold(scheme, "bearer") {
		return strings.TrimSpace(secret)
	}
	return strings.TrimSpace(r.Header.Get("X-Api-Key"))
}

func isRefusal(err error) bool {
	_, ok := errors.AsType[*domain.Refusal](err)
	return ok
}

// permit asks what the road does not: whether a person may read this. Their
// seat is looked up on every request, so losing it bites at once.
func (s *Server) permit(ctx context.Context, who caller, needs string) error {
	if needs == "" || who.person.IsZero() {
		return nil
	}
	role, err := s.queries.Role(ctx, who.workspace, who.person.ID())
	switch {
	case err != nil:
		return err
	case role == "":
		return domain.Refuse("permission", "You have no seat in this workspace (any more). Ask an owner for one.")
	case !role.May(needs):
		return domain.Refuse("permission", "As %s you may not see this (it needs `%s`).", role, needs)
	}
	return nil
}

// patience is how long a query waits for a position before it says that it has
// not been reached.
const patience = 5 * time.Second

// caughtUp waits for the position a query names in after, so that people and
// programs see what they just did.
func (s *Server) caughtUp(r *http.Request) error {
	text := r.URL.Query().Get("after")
	if text == "" || r.Method != http.MethodGet {
		return nil
	}
	position, err := strconv.ParseInt(text, 10, 64)
	if err != nil || position < 0 {
		return domain.Refuse("invalid", "`after` must be a position, as an answer gave it.")
	}
	return s.wait(r.Context(), domain.Position(position))
}

// wait waits for a position, but not for long: one that is beyond the end of
// the log looks from here like one that is about to be seen.
func (s *Server) wait(ctx context.Context, position domain.Position) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := s.queries.Wait(ctx, position)
	if errors.Is(err, context.DeadlineExceeded) {
		return newProblem("busy", fmt.Sprintf("Position %d has not been reached yet, so what could be shown is older than what was asked for. Ask again in a moment, or leave `after` out.", position))
	}
	return err
}

// serve is a route as chi takes it: who calls, may they, and then the route's
// own work. What goes wrong is told to a program as a problem and to a person
// as a page.
func (s *Server) serve(rt route) http.HandlerFunc {
	fail := s.fail
	if rt.page || rt.public {
		fail = s.failPage
	}
	return func(w http.ResponseWriter, r *http.Request) {
		if rt.page {
			pageHeaders(w.Header())
		}
		who, err := s.identify(r, rt.accepts)
		if err == nil {
			err = s.caughtUp(r)
		}
		if err == nil {
			err = s.permit(r.Context(), who, rt.needs)
		}
		if err == nil {
			err = rt.do(w, r, who)
		}
		if err != nil {
			fail(w, r, err)
		}
	}
}

// guard is what every request passes before any route.
func (s *Server) guard(next http.Handler) http.Handler {
	origins := http.NewCrossOriginProtection()
	origins.SetDenyHandler(http.HandlerFunc(s.elsewhere))
	checked := origins.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		defer s.recovered(w, r)
		switch {
		case !s.hosts[hostOf(r.Host)]:
			s.fail(w, r, domain.Refuse("malformed", "This server does not go by the name %q. Add the name to ASSENT_ALLOWED_HOSTS if it should.", clip(r.Host, 60)))
		case r.Header.Get("Origin") == "null" && unsafe(r):
			s.elsewhere(w, r)
		default:
			checked.ServeHTTP(w, r)
		}
	})
}

// elsewhere turns away a change that another site's page asks a browser for.
func (s *Server) elsewhere(w http.ResponseWriter, r *http.Request) {
	s.fail(w, r, domain.Refuse("permission", "This was sent from another site's page, so nothing was done. Open the console itself and do it there."))
}

func unsafe(r *http.Request) bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodOptions
}

// recovered turns a panic into a fault like any other. http.ErrAbortHandler
// keeps its meaning.
func (s *Server) recovered(w http.ResponseWriter, r *http.Request) {
	switch v := recover(); v {
	case nil:
	case http.ErrAbortHandler:
		panic(v)
	default:
		s.fail(w, r, fmt.Errorf("panic: %v\n%s", v, debug.Stack()))
	}
}

func routeOf(r *http.Request) string {
	if c := chi.RouteContext(r.Context()); c != nil && c.RoutePattern() != "" {
		return c.RoutePattern() // never the path itself: it can hold a preview's secret
	}
	return "none"
}

func hostOf(hostport string) string {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

// allowed is the set of names this server answers to: this machine's own, its
// public address, and what was configured.
func allowed(public *url.URL, more []string) map[string]bool {
	hosts := map[string]bool{"localhost": true, "127.0.0.1": true, "::1": true, hostOf(public.Host): true}
	for _, h := range more {
		hosts[hostOf(h)] = true
	}
	return hosts
}

// pageHeaders keep a console page to itself: nothing is loaded but our own
// stylesheet, nothing is sent anywhere else, nobody frames it, no script runs.
// The referrer stays within the server, and is needed there: without it a
// browser calls a form's origin null.
func pageHeaders(h http.Header) {
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; frame-src 'self'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	h.Set("Cache-Control", "no-store")
}
