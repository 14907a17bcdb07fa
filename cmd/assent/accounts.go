package main

import (
	"context"
	"errors"
	"time"

	"assent/commands/vault"
	"assent/domain"
	"assent/httpapi"
	"assent/mcp"
)

// sessionLife is how long a sign-in lasts.
const sessionLife = 14 * 24 * time.Hour

// accounts is the vault as the doors know it.
type accounts struct {
	vault *vault.Vault
	clock func() time.Time
}

func (a accounts) AddPerson(ctx context.Context, workspace, name, email string) (string, error) {
	id := string(domain.NewID("person", a.clock()))
	return id, a.vault.AddPerson(ctx, vault.Person{Workspace: workspace, ID: id, Name: name, Email: email})
}

func (a accounts) SetPassword(ctx context.Context, workspace, person, password string) error {
	return a.vault.SetPassword(ctx, workspace, person, password)
}

func (a accounts) SignIn(ctx context.Context, email, password string) (httpapi.Seat, error) {
	p, err := a.vault.SignIn(ctx, email, password)
	return httpapi.Seat{Workspace: p.Workspace, Person: p.ID}, err
}

func (a accounts) SignInTo(ctx context.Context, workspace, email, password string) (httpapi.Seat, error) {
	p, err := a.vault.SignInTo(ctx, workspace, email, password)
	return httpapi.Seat{Workspace: p.Workspace, Person: p.ID}, err
}

func (a accounts) MintLink(ctx context.Context, link httpapi.Link, until time.Time) (string, error) {
	return a.vault.MintLink(ctx, link.Workspace, string(link.Purpose), link.Person, until)
}

func (a accounts) PeekLink(ctx context.Context, token string) (httpapi.Link, error) {
	return a.link(ctx, token, a.vault.PeekLink)
}

func (a accounts) UseLink(ctx context.Context, token string) (httpapi.Link, error) {
	return a.link(ctx, token, a.vault.UseLink)
}

// link tries what a link may be for: its holder knows only the link.
func (a accounts) link(ctx context.Context, token string, get func(context.Context, string, string, time.Time) (string, string, error)) (httpapi.Link, error) {
	var last error
	for _, purpose := range []httpapi.Purpose{httpapi.ForSetup, httpapi.ForInvite} {
		workspace, person, err := get(ctx, token, string(purpose), a.clock())
		if err == nil {
			return httpapi.Link{Purpose: purpose, Seat: httpapi.Seat{Workspace: workspace, Person: person}}, nil
		}
		if last == nil || errors.Is(err, domain.Refuse("expired", "")) {
			last = err
		}
	}
	return httpapi.Link{}, last
}

func (a accounts) NewSession(ctx context.Context, seat httpapi.Seat) (httpapi.Session, error) {
	token, err := a.vault.NewSession(ctx, seat.Workspace, seat.Person, a.clock(), sessionLife)
	if err != nil {
		return httpapi.Session{}, err
	}
	return a.Session(ctx, token)
}

func (a accounts) Session(ctx context.Context, token string) (httpapi.Session, error) {
	s, err := a.vault.Session(ctx, token, a.clock())
	return sessionOf(s, token), err
}

func sessionOf(s vault.Session, token string) httpapi.Session {
	return httpapi.Session{ID: s.ID, Token: token, Seat: httpapi.Seat{Workspace: s.Workspace, Person: s.Person}, Expires: s.Expires, Proved: s.Proved, Begun: s.Created, Seen: s.LastSeen}
}

func (a accounts) Sessions(ctx context.Context, seat httpapi.Seat) ([]httpapi.Session, error) {
	kept, err := a.vault.SessionsOf(ctx, seat.Workspace, seat.Person, a.clock())
	list := make([]httpapi.Session, len(kept))
	for i, s := range kept {
		list[i] = sessionOf(s, "")
	}
	return list, err
}

func (a accounts) EndSessionOf(ctx context.Context, seat httpapi.Seat, id string) error {
	return a.vault.EndSessionOf(ctx, seat.Workspace, seat.Person, id)
}

func (a accounts) Erase(ctx context.Context, seat httpapi.Seat) error {
	return a.vault.Erase(ctx, seat.Workspace, seat.Person)
}

func (a accounts) Prove(ctx context.Context, token, password string) error {
	return a.vault.Prove(ctx, token, password, a.clock())
}

func (a accounts) EndSession(ctx context.Context, token string) error {
	return a.vault.EndSession(ctx, token)
}

func (a accounts) NewKey(ctx context.Context, workspace, agent string) (id, key string, err error) {
	id = string(domain.NewID("key", a.clock()))
	key, err = a.vault.NewKey(ctx, workspace, agent, id, a.clock())
	return id, key, err
}

func (a accounts) Key(ctx context.Context, key string) (httpapi.Keyed, error) {
	k, err := a.vault.Key(ctx, key)
	return httpapi.Keyed{Workspace: k.Workspace, Agent: k.Agent, Key: k.ID}, err
}

func (a accounts) SetName(ctx context.Context, workspace, id, name string) error {
	return a.vault.SetName(ctx, workspace, id, name)
}

func (a accounts) Names(ctx context.Context, workspace string, ids ...string) (map[string]string, error) {
	return a.vault.Names(ctx, workspace, ids...)
}

func (a accounts) Unseal(ctx context.Context, workspace string, s *domain.Sealed) (string, bool, error) {
	if s == nil {
		return "", true, nil
	}
	text, err := a.vault.Unseal(ctx, workspace, s)
	if errors.Is(err, vault.ErrErased) {
		return "", false, nil
	}
	return text, err == nil, err
}

// keyring is the vault as agents' doors know it.
type keyring struct{ vault *vault.Vault }

func (k keyring) Key(ctx context.Context, secret string) (mcp.KeyHolder, error) {
	key, err := k.vault.Key(ctx, secret)
	return mcp.KeyHolder{Workspace: key.Workspace, Agent: key.Agent, Key: key.ID}, err
}
