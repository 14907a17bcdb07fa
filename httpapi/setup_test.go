package httpapi

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"assent/domain/person"
	"assent/domain/policy"
	"assent/httpapi/render"
)

// world is a server with two workspaces: Ada owns home, Bo owns away. What is
// Ada's carries a word that must never be seen by Bo.
type world struct {
	*house
	t      *testing.T
	server *Server
	shelf  *shelf
	keeper *keeper
	ada    Session
	bo     Session
	agent  string // Ada's
	key    string // its key
	act    string // an article Ada wrote, by its action
	held   string // a publish of the agent's, waiting
}

const canary = "Quagga"

const origin = "http://127.0.0.1:7300"

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, house: newHouse(), shelf: &shelf{mark: "p1"}, keeper: &keeper{}}
	signer, err := NewSigner([]byte(strings.Repeat("s", 32)), origin)
	if err != nil {
		t.Fatal(err)
	}
	w.server, err = New(Config{
		Road: w.house, Desk: w.house, Seater: w.house, Accounts: w.accounts, Queries: w.house, Content: w.shelf, Health: w.house, Operator: w.keeper, Webhooks: w.house,
		Registry: w.registry, Signer: signer, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		URL: origin, Home: "home", Version: "test", Now: w.clock,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.ada, w.bo = w.owner("home", "Ada "+canary, "ada@example.org"), w.owner("away", "Bo", "bo@example.org")
	w.furnish()
	return w
}

func (w *world) owner(ws, name, email string) Session {
	ctx := context.Background()
	id, err := w.accounts.AddPerson(ctx, ws, name, email)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.accounts.SetPassword(ctx, ws, id, "correct horse battery"); err != nil {
		w.t.Fatal(err)
	}
	w.history[w.stream(ws, "person", id)] = []any{person.Seated{Role: policy.Owner}}
	w.position++
	live, err := w.accounts.NewSession(ctx, Seat{ws, id})
	if err != nil {
		w.t.Fatal(err)
	}
	return live
}

// furnish makes a site, an article, an agent with a key, and a held publish.
func (w *world) furnish() {
	ctx := context.Background()
	for ws, s := range map[string]Session{"home": w.ada, "away": w.bo} {
		w.must(ws, s.Person, "site.create", object{"site": "main", "title": "The " + ws + " site"})
	}
	ada := w.ada.Person
	article := w.must("home", ada, "article.create", object{"site": "main", "slug": "opening", "title": canary + " opens", "body": "We open on 1 April at nine.\n\nEntry is free.", "reason": "the committee asked"})
	w.act = string(article.Action)
	made := w.must("home", ada, "agent.create", object{"person": ada})
	w.agent = made.Target.ID
	w.accounts.behind[w.agent] = ada
	_ = w.accounts.SetName(ctx, "home", w.agent, canary+" desk")
	id, secret, err := w.accounts.NewKey(ctx, "home", w.agent)
	if err != nil {
		w.t.Fatal(err)
	}
	w.key = secret
	w.must("home", ada, "key.mint", object{"agent": w.agent, "key": id})
	w.held = w.publish("Spring is here. " + canary)
	w.proposals["home"][0].Headline = "Publish: “" + canary + " opens”"
	w.shelf.site = map[Seat]render.Site{{"home", "main"}: {Handle: "main", Title: "The garden"}, {"away", "main"}: {Handle: "main", Title: "Away"}}
	w.shelf.items = map[Seat][]render.Item{{"home", "main"}: {
		{ID: "art_1", Kind: "article", Collection: "posts", Address: "/posts/opening", Title: "Opening", Body: "We open.", Date: "2026-11-01"},
		{ID: "page_1", Kind: "page", Address: "/about", Title: "About us", Body: "# Us"},
	}}
}

// publish has the agent ask for a publish, which waits.
func (w *world) publish(reason string) string {
	body := `{"site":"main","items":[{"id":"main","version":1}],"reason":` + quoted(reason) + `}`
	res := w.do("POST", "/api/v1/actions/site.publish", body, withKey(w.key))
	if res.Code != http.StatusAccepted {
		w.t.Fatalf("the agent's publish: %d %s", res.Code, res.Body)
	}
	var out struct{ Proposal struct{ ID string } }
	w.decode(res, &out)
	return out.Proposal.ID
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func (w *world) decode(res *httptest.ResponseRecorder, v any) {
	w.t.Helper()
	if err := json.Unmarshal(res.Body.Bytes(), v); err != nil {
		w.t.Fatalf("%v in %s", err, res.Body)
	}
}

// sent changes a request on its way.
type sent func(*http.Request)

func withKey(key string) sent {
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+key) }
}
func as(s Session) sent {
	return func(r *http.Request) { r.AddCookie(&http.Cookie{Name: plainCookie, Value: s.Token}) }
}
func header(name, value string) sent { return func(r *http.Request) { r.Header.Set(name, value) } }
func from(addr string) sent          { return func(r *http.Request) { r.RemoteAddr = addr } }

// do sends one request. A body that does not begin like JSON is a form.
func (w *world) do(method, path, body string, how ...sent) *httptest.ResponseRecorder {
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r := httptest.NewRequest(method, origin+path, reader)
	r.RemoteAddr = "192.0.2.1:1234"
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
		if body[0] != '{' && body[0] != '[' && body[0] != '"' {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
	}
	for _, change := range how {
		change(r)
	}
	res := httptest.NewRecorder()
	w.server.ServeHTTP(res, r)
	return res
}

func (w *world) problem(res *httptest.ResponseRecorder) Problem {
	w.t.Helper()
	var p Problem
	if kind := res.Header().Get("Content-Type"); kind != "application/problem+json" {
		w.t.Fatalf("%d %s is not a problem: %s", res.Code, kind, res.Body)
	}
	w.decode(res, &p)
	return p
}

func (w *world) invited() string {
	w.t.Helper()
	id, err := w.accounts.AddPerson(context.Background(), "home", "Cy", "cy@example.org")
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

func (w *world) link(purpose Purpose, ws, id string) string {
	token, err := w.accounts.MintLink(context.Background(), Link{purpose, Seat{ws, id}}, w.now.Add(30*time.Minute))
	if err != nil {
		w.t.Fatal(err)
	}
	return token
}
