package httpapi

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"assent/domain"
	"assent/httpapi/render"
)

// accounts keeps accounts in memory: passwords, links, sessions and keys work,
// and what is over or used does not.
type accounts struct {
	mu       sync.Mutex
	now      func() time.Time
	serial   int
	emails   map[string][]Seat // of all workspaces
	password map[Seat]string
	names    map[Seat]string
	links    map[string]timedLink
	sessions map[string]Session
	keys     map[string]Keyed
	behind   map[string]string // the person behind an agent
	tries    int               // how often a password was looked at
}

type timedLink struct {
	Link
	until time.Time
	used  bool
}

func newAccounts(now func() time.Time) *accounts {
	return &accounts{
		now: now, emails: map[string][]Seat{}, password: map[Seat]string{}, names: map[Seat]string{}, links: map[string]timedLink{},
		sessions: map[string]Session{}, keys: map[string]Keyed{}, behind: map[string]string{},
	}
}

func (a *accounts) next(kind string) string {
	a.serial++
	return fmt.Sprintf("%s_%d", kind, a.serial)
}

func (a *accounts) AddPerson(_ context.Context, ws, name, email string) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	email = strings.ToLower(strings.TrimSpace(email))
	if slices.ContainsFunc(a.emails[email], func(s Seat) bool { return s.Workspace == ws }) {
		return "", domain.Refuse("taken", "This email is in use. Sign in with it.")
	}
	seat := Seat{ws, a.next("person")}
	a.emails[email], a.names[seat] = append(a.emails[email], seat), name
	return seat.Person, nil
}

func (a *accounts) SetPassword(_ context.Context, ws, person, password string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.password[Seat{ws, person}] = password
	return nil
}

func (a *accounts) SignIn(_ context.Context, email, password string) (Seat, error) {
	return a.signIn(email, password, func(Seat) bool { return true })
}

func (a *accounts) SignInTo(_ context.Context, ws, email, password string) (Seat, error) {
	return a.signIn(email, password, func(s Seat) bool { return s.Workspace == ws })
}

func (a *accounts) signIn(email, password string, fits func(Seat) bool) (Seat, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tries++
	for _, seat := range a.emails[strings.ToLower(strings.TrimSpace(email))] {
		if p, set := a.password[seat]; set && p == password && fits(seat) {
			return seat, nil
		}
	}
	return Seat{}, domain.Refuse("unauthorised", "wrong")
}

func (a *accounts) MintLink(_ context.Context, link Link, until time.Time) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	token := a.next("link-" + string(link.Purpose))
	a.links[token] = timedLink{link, until, false}
	return token, nil
}

func (a *accounts) PeekLink(_ context.Context, token string) (Link, error) {
	now := a.now()
	a.mu.Lock()
	defer a.mu.Unlock()
	l, there := a.links[token]
	if !there || l.used || !now.Before(l.until) {
		return Link{}, domain.Refuse("expired", "This link is over.")
	}
	return l.Link, nil
}

func (a *accounts) UseLink(ctx context.Context, token string) (Link, error) {
	link, err := a.PeekLink(ctx, token)
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.links[token]
	if err == nil && l.used {
		err = domain.Refuse("expired", "This link was used.")
	}
	l.used = true
	a.links[token] = l
	return link, err
}

func (a *accounts) NewSession(_ context.Context, seat Seat) (Session, error) {
	now := a.now()
	a.mu.Lock()
	defer a.mu.Unlock()
	s := Session{ID: a.next("sess"), Token: a.next("token"), Seat: seat, Expires: now.Add(12 * time.Hour), Proved: now, Begun: now.Add(time.Duration(a.serial))}
	a.sessions[s.Token] = s
	return s, nil
}

func (a *accounts) Session(_ context.Context, token string) (Session, error) {
	now := a.now()
	a.mu.Lock()
	defer a.mu.Unlock()
	s, there := a.sessions[token]
	if !there || !now.Before(s.Expires) {
		return Session{}, domain.Refuse("unauthorised", "no session")
	}
	return s, nil
}

func (a *accounts) Sessions(_ context.Context, seat Seat) (list []Session, _ error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.sessions {
		if s.Seat == seat {
			s.Token = ""
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(x, y Session) int { return y.Begun.Compare(x.Begun) })
	return list, nil
}

func (a *accounts) EndSessionOf(_ context.Context, seat Seat, id string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for token, s := range a.sessions {
		if s.Seat == seat && s.ID == id {
			delete(a.sessions, token)
		}
	}
	return nil
}

func (a *accounts) Erase(_ context.Context, seat Seat) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.names, seat)
	delete(a.password, seat)
	for token, s := range a.sessions {
		if s.Seat == seat {
			delete(a.sessions, token)
		}
	}
	return nil
}

func (a *accounts) Prove(_ context.Context, token, password string) error {
	now := a.now()
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.sessions[token]
	if a.tries++; password == "" || a.password[s.Seat] != password {
		return domain.Refuse("unauthorised", "wrong")
	}
	s.Proved = now
	a.sessions[token] = s
	return nil
}

func (a *accounts) EndSession(_ context.Context, token string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.sessions, token)
	return nil
}

func (a *accounts) NewKey(_ context.Context, ws, agent string) (id, key string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	id = a.next("key")
	key = "assent_" + id
	a.keys[key] = Keyed{Workspace: ws, Agent: agent, Key: id, Person: a.behind[agent]}
	return id, key, nil
}

func (a *accounts) Key(_ context.Context, key string) (Keyed, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	k, known := a.keys[key]
	if !known {
		return Keyed{}, domain.Refuse("unauthorised", "unknown key")
	}
	return k, nil
}

func (a *accounts) SetName(_ context.Context, ws, id, name string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.names[Seat{ws, id}] = name
	return nil
}

func (a *accounts) Names(_ context.Context, ws string, ids ...string) (map[string]string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	names := map[string]string{}
	for _, id := range ids {
		if name, known := a.names[Seat{ws, id}]; known {
			names[id] = name
		}
	}
	return names, nil
}

func (a *accounts) Unseal(_ context.Context, _ string, s *domain.Sealed) (string, bool, error) {
	return string(s.Box), s.Box != nil, nil
}

// shelf is content in memory: a site's items by path, for every view the same
// except that a draft has its own titles.
type shelf struct {
	site  map[Seat]render.Site // by workspace and handle
	items map[Seat][]render.Item
	mark  string
}

func (c *shelf) Site(_ context.Context, ws, site string, _ View) (render.Site, string, error) {
	s, there := c.site[Seat{ws, site}]
	if !there {
		return s, "", domain.Refuse("not-found", "no site")
	}
	return s, c.mark, nil
}

func (c *shelf) ResolvePath(_ context.Context, ws, site string, v View, path string) (render.Item, error) {
	for _, it := range c.items[Seat{ws, site}] {
		if it.Address == path {
			if v.Version != "live" {
				it.Title = "Draft: " + it.Title
			}
			return it, nil
		}
	}
	return render.Item{}, domain.Refuse("not-found", "no item")
}

func (c *shelf) Listing(_ context.Context, ws, site string, _ View, collection, _ string) (items []render.Item, err error) {
	for _, it := range c.items[Seat{ws, site}] {
		if it.Kind == "article" && (collection == "" || it.Collection == collection) {
			items = append(items, it)
		}
	}
	return items, nil
}
