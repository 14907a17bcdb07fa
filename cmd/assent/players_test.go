package main

import (
	"bytes"
	"context"
	"encoding/json"

	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"assent/commands"
	"assent/commands/eventlog/eventstoredb/fake"
	"assent/commands/eventlog/memory"
	"assent/commands/eventlog/postgres/pgtest"
	"assent/commands/vault"
	"assent/domain"
	"assent/domain/policy"
	"assent/httpapi"
)

// cheap is what hashing a password costs in tests: nothing they are about.
var cheap = []vault.Option{vault.WithPasswordCost(argon2id.Params{Memory: 64, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32})}

// TestMain lets the test binary stand in for the real one: a process of its
// own, built with the race detector where the tests are.
func TestMain(m *testing.M) {
	switch as, word, _ := strings.Cut(os.Getenv("ASSENT_TEST_MAIN"), " "); as {
	case "assent":
		main()
		return
	case "mortal":
		beMortal(word, os.Args[3]) // serve --data DIR
	case "bare":
		beBare()
	}
	os.Exit(m.Run())
}

// command is the binary with these arguments, not yet started.
func command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), "ASSENT_TEST_MAIN=assent")
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// people are the signed-in persons of a story, over HTTP. They are the same
// for every player but the one in process.
type people struct {
	url     string
	links   map[string]string // workspace → set-up token
	clients map[string]*http.Client
	ids     map[string]string
	keys    map[string]string // of agents
	keyIDs  map[string]string
}

func newPeople(url string, links map[string]string) *people {
	return &people{url: url, links: links, clients: map[string]*http.Client{}, ids: map[string]string{}, keys: map[string]string{}, keyIDs: map[string]string{}}
}

func (p *people) owner(t testing.TB, name, workspace string) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	p.clients[name] = &http.Client{Jar: jar}
	p.must(t, name, "POST", "/setup", map[string]any{"token": p.links[workspace], "name": name, "email": name + "@example.org", "password": "correct horse battery"}, nil)
	var seated struct{ Items []httpapi.Seated }
	p.must(t, name, "GET", "/people", nil, &seated)
	p.ids[name] = seated.Items[0].ID
}

func (p *people) agent(t testing.TB, name, of, mode string, scopes []string) string {
	t.Helper()
	body := map[string]any{"name": name, "mode": mode}
	if scopes != nil {
		body["scopes"] = scopes
	}
	var agent, key struct{ ID, Key string }
	p.must(t, of, "POST", "/agents", body, &agent)
	p.must(t, of, "POST", "/agents/"+agent.ID+"/keys", map[string]any{}, &key)
	p.keys[name], p.keyIDs[name] = key.Key, key.ID
	return agent.ID
}

func (p *people) keyOf(name string) string { return p.keyIDs[name] }

// signIn opens a new session, as after a restart with a new address.
func (p *people) signIn(t testing.TB, name string) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	p.clients[name] = &http.Client{Jar: jar}
	p.must(t, name, "POST", "/session", map[string]any{"email": name + "@example.org", "password": "correct horse battery"}, nil)
}

// ask sends a request as a person and gives what came back.
func (p *people) ask(t testing.TB, name, method, path string, body any) (int, []byte) {
	t.Helper()
	return request(t, p.clients[name], method, p.url+"/api/v1"+path, body, nil)
}

func (p *people) must(t testing.TB, name, method, path string, body, into any) {
	t.Helper()
	status, text := p.ask(t, name, method, path, body)
	if status >= 300 {
		t.Fatalf("%s %s answered %d: %.300s", method, path, status, text)
	}
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			t.Fatalf("%s %s answered %.300s: %v", method, path, text, err)
		}
	}
}

func request(t testing.TB, client *http.Client, method, url string, body any, header map[string]string) (int, []byte) {
	t.Helper()
	var send io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		send = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, url, send)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for k, v := range header {
		req.Header.Set(k, v)
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, text
}

// outcome reads an outcome, alone or inside a problem.
func outcome(t testing.TB, text []byte) commands.Outcome {
	t.Helper()
	var problem struct {
		Code, Detail string
		Outcome      json.RawMessage
	}
	var out commands.Outcome
	if json.Unmarshal(text, &problem) == nil && len(problem.Outcome) > 0 && problem.Outcome[0] == '{' {
		text = problem.Outcome
	} else if problem.Code != "" {
		return commands.Outcome{Outcome: commands.Refused, Refusal: domain.Refuse(problem.Code, "%s", problem.Detail)}
	}
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatalf("no outcome: %v in %.300s", err, text)
	}
	return out
}

func (p *people) act(t *testing.T, name, action string, args map[string]any) commands.Outcome {
	t.Helper()
	_, text := p.ask(t, name, "POST", "/actions/"+action, args)
	return outcome(t, text)
}

func (p *people) approve(t *testing.T, name, proposal, digest string, parts ...int) commands.Outcome {
	t.Helper()
	body := map[string]any{"password": "correct horse battery"}
	if digest != "" {
		body["digest"] = digest
	}
	if len(parts) > 0 {
		body["parts"] = parts
	}
	_, text := p.ask(t, name, "POST", "/proposals/"+proposal+"/approve", body)
	return outcome(t, text)
}

func (p *people) decline(t *testing.T, name, proposal, reason string) commands.Outcome {
	t.Helper()
	_, text := p.ask(t, name, "POST", "/proposals/"+proposal+"/decline", map[string]any{"reason": reason})
	return outcome(t, text)
}

func (p *people) undo(t *testing.T, name string, action domain.ID) commands.Outcome {
	t.Helper()
	_, text := p.ask(t, name, "POST", "/actions/"+string(action)+"/undo", map[string]any{})
	return outcome(t, text)
}

func (p *people) choose(t *testing.T, name string, action domain.ID, wish commands.Taking) commands.Outcome {
	t.Helper()
	_, text := p.ask(t, name, "POST", "/actions/"+string(action)+"/undo", map[string]any{"keep": wish.Keep, "take": wish.Take, "digest": wish.Digest, "late": wish.Late})
	return outcome(t, text)
}

func (p *people) contain(t *testing.T, name string, wish commands.Containing) commands.Outcome {
	t.Helper()
	body := map[string]any{"agent": wish.Agent, "key": wish.Key, "session": wish.Session, "proposal": wish.Proposal, "batch": wish.Batch, "late": wish.Late}
	if !wish.Since.IsZero() {
		body["since"] = wish.Since
	}
	_, text := p.ask(t, name, "POST", "/containments", body)
	return outcome(t, text)
}

func (p *people) revoke(t *testing.T, name, agent string) commands.Outcome {
	t.Helper()
	var list struct {
		Items []httpapi.Agent `json:"items"`
	}
	p.must(t, name, "GET", "/agents", nil, &list)
	for _, a := range list.Items {
		if a.ID == agent {
			_, text := p.ask(t, name, "DELETE", "/agents/"+agent+"/keys/"+a.Keys[0].ID, nil)
			return outcome(t, text)
		}
	}
	t.Fatalf("no agent %s in %+v", agent, list)
	return commands.Outcome{}
}

func (p *people) audit(t *testing.T, name string) []httpapi.AuditRow {
	t.Helper()
	var rows []httpapi.AuditRow
	for cursor := ""; ; {
		var page httpapi.AuditPage
		p.must(t, name, "GET", "/audit?limit=100&cursor="+cursor, nil, &page)
		rows = append(page.Items, rows...)
		for i, j := 0, len(page.Items)-1; i < j; i, j = i+1, j-1 {
			rows[i], rows[j] = rows[j], rows[i]
		}
		if cursor = page.Next; cursor == "" {
			return rows
		}
	}
}

var title = regexp.MustCompile(`(?s)<h1[^>]*>(.*?)</h1>`)

func (p *people) live(t *testing.T, site, path string) (int, string) {
	t.Helper()
	status, text := request(t, http.DefaultClient, "GET", p.url+"/sites/"+site+path, nil, nil)
	found := title.FindSubmatch(text)
	if status != http.StatusOK || found == nil {
		return status, ""
	}
	return status, strings.TrimSpace(string(found[1]))
}

// serving is a server of the story's own, in this process.
func serving(t *testing.T) *server { return servingPlan(t, plan{dir: t.TempDir(), vault: cheap}) }

func servingPlan(t testing.TB, p plan) *server {
	t.Helper()
	s, err := (&serveCmd{Listen: "127.0.0.1:0", Workspaces: []string{"home", "other"}}).open(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- s.serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

var setupLink = regexp.MustCompile(`/setup\?t=(\S+)\s+\(the workspace "(\w+)"`)

func links(printed string) map[string]string {
	found := map[string]string{}
	for _, m := range setupLink.FindAllStringSubmatch(printed, -1) {
		found[m[2]] = m[1]
	}
	return found
}

func greeted(t testing.TB, s *server) map[string]string {
	t.Helper()
	var b bytes.Buffer
	if err := s.greet(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return links(b.String())
}

// inProcess calls road and desk directly.
type inProcess struct {
	*people
	server *server
	calls  map[string]commands.Call
	seats  map[string]domain.Person
}

func newInProcess(t *testing.T) player {
	return inProcessOf(t, servingPlan(t, plan{dir: t.TempDir(), vault: cheap, clock: ticking()}))
}

func inProcessOf(t testing.TB, s *server) *inProcess {
	return &inProcess{newPeople(s.url, greeted(t, s)), s, map[string]commands.Call{}, map[string]domain.Person{}}
}

// newOnWeak is on a log that writes one stream after another, with gaps
// between positions.
func newOnWeak(t *testing.T) player {
	return inProcessOf(t, servingPlan(t, plan{dir: t.TempDir(), vault: cheap, clock: ticking(), log: func(_ context.Context, _ string, clock func() time.Time) (commands.Log, error) {
		return memory.New(clock, memory.Weak(), memory.Sparse()), nil
	}}))
}

// ticking is a clock that moves on by a millisecond whenever it is read: what
// is made one after another sorts so, on a log that is faster than that, too.
func ticking() func() time.Time {
	var ahead atomic.Int64
	return func() time.Time { return time.Now().Add(time.Duration(ahead.Add(1)) * time.Millisecond) }
}

// onPostgres plans servers on databases that have all tables already: to make
// them takes longer than a story.
func onPostgres(t *testing.T) func(testing.TB) plan {
	dir := t.TempDir()
	made := sync.OnceValue(func() string {
		at := pgtest.Shared(t).Database(t)
		h, err := plan{dir: dir, vault: cheap, at: at}.open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
		return at
	})
	return func(t testing.TB) plan {
		at := pgtest.Copy(t, made())
		return plan{dir: secretFrom(t, dir), vault: cheap, at: at}
	}
}

func newOnPostgres(t *testing.T) func(*testing.T) player {
	next := onPostgres(t)
	return func(t *testing.T) player { return inProcessOf(t, servingPlan(t, next(t))) }
}

// secretFrom is a new data folder with the secret of another, as whoever
// shares its people needs it.
func secretFrom(t testing.TB, dir string) string {
	t.Helper()
	secret, err := os.ReadFile(filepath.Join(dir, "secret"))
	if err != nil {
		t.Fatal(err)
	}
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "secret"), secret, 0o600); err != nil {
		t.Fatal(err)
	}
	return other
}

// newOnEventStoreDB is on the adapter and a server that behaves like one.
func newOnEventStoreDB(t *testing.T) player {
	return inProcessOf(t, servingPlan(t, plan{dir: t.TempDir(), vault: cheap, at: eventStoreDB(t)}))
}

func eventStoreDB(t testing.TB) (url string) {
	t.Helper()
	s, err := fake.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s.URL()
}

func (p *inProcess) owner(t testing.TB, name, workspace string) {
	p.people.owner(t, name, workspace)
	p.seats[name] = domain.SignedIn(workspace, p.ids[name], "sess_story")
	p.calls[name] = commands.Call{
		Workspace: workspace, Principal: domain.Principal{Kind: domain.KindPerson, ID: p.ids[name]},
		Person: p.ids[name], Via: domain.Via{Session: "sess_story"},
	}
}

func (p *inProcess) agent(t testing.TB, name, of, mode string, scopes []string) string {
	id := p.people.agent(t, name, of, mode, scopes)
	k, err := p.server.people.Key(t.Context(), p.keys[name])
	if err != nil {
		t.Fatal(err)
	}
	p.calls[name] = commands.Call{Workspace: k.Workspace, Principal: domain.Principal{Kind: domain.KindAgent, ID: k.Agent}, Via: domain.Via{Key: k.ID}}
	return id
}

func (p *inProcess) local(t *testing.T, name, mode string) {
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	p.calls[name] = commands.Call{
		Workspace: "home", Principal: domain.Principal{Kind: domain.KindAgent, ID: "local:" + u.Username},
		Person: p.ids["ana"], Via: domain.Via{Local: u.Username}, Mode: policy.Mode(mode), Joined: true,
	}
}

func (p *inProcess) act(t *testing.T, name, action string, args map[string]any) commands.Outcome {
	call := p.calls[name]
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	call.Action, call.Args = action, raw
	return p.got(t)(p.server.road.Do(t.Context(), call))
}

func (p *inProcess) got(t *testing.T) func(commands.Outcome, error) commands.Outcome {
	return func(out commands.Outcome, err error) commands.Outcome {
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(out)
		if err != nil {
			t.Fatal(err)
		}
		return outcome(t, text)
	}
}

func (p *inProcess) approve(t *testing.T, name, proposal, digest string, parts ...int) commands.Outcome {
	return p.got(t)(p.server.desk.Approve(t.Context(), p.seats[name], proposal, digest, parts...))
}

func (p *inProcess) decline(t *testing.T, name, proposal, reason string) commands.Outcome {
	return p.got(t)(p.server.desk.Decline(t.Context(), p.seats[name], proposal, "", reason))
}

func (p *inProcess) undo(t *testing.T, name string, action domain.ID) commands.Outcome {
	return p.got(t)(p.server.desk.Undo(t.Context(), p.seats[name], action, commands.Taking{}))
}

func (p *inProcess) choose(t *testing.T, name string, action domain.ID, wish commands.Taking) commands.Outcome {
	return p.got(t)(p.server.desk.Undo(t.Context(), p.seats[name], action, wish))
}

func (p *inProcess) contain(t *testing.T, name string, wish commands.Containing) commands.Outcome {
	return p.got(t)(p.server.desk.Contain(t.Context(), p.seats[name], wish))
}

// overMCP lets agents come through a real client; people use HTTP.
type overMCP struct {
	*people
	dir      string
	sessions map[string]*sdk.ClientSession
}

func newOverMCP(t *testing.T) player {
	s := serving(t)
	return &overMCP{newPeople(s.url, greeted(t, s)), s.dir, map[string]*sdk.ClientSession{}}
}

func (p *overMCP) agent(t testing.TB, name, of, mode string, scopes []string) string {
	id := p.people.agent(t, name, of, mode, scopes)
	p.connect(t, name, &sdk.StreamableClientTransport{Endpoint: p.url + "/mcp", HTTPClient: &http.Client{Transport: bearer{p.keys[name]}}})
	return id
}

func (p *overMCP) local(t *testing.T, name, mode string) {
	p.connect(t, name, &sdk.CommandTransport{Command: command(context.WithoutCancel(t.Context()), "mcp", "--data", p.dir, "--mode", mode)})
}

func (p *overMCP) connect(t testing.TB, name string, transport sdk.Transport) {
	t.Helper()
	session, err := sdk.NewClient(&sdk.Implementation{Name: name, Version: "1"}, nil).Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	p.sessions[name] = session
}

func (p *overMCP) act(t *testing.T, name, action string, args map[string]any) commands.Outcome {
	session, agent := p.sessions[name]
	if !agent {
		return p.people.act(t, name, action, args)
	}
	return callTool(t, session, action, args)
}

func callTool(t testing.TB, session *sdk.ClientSession, action string, args map[string]any) commands.Outcome {
	t.Helper()
	res, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: strings.ReplaceAll(action, ".", "_"), Arguments: args})
	if err != nil {
		return commands.Outcome{Outcome: noTool, Refusal: domain.Refuse("", "%s", err)}
	}
	text, err := json.Marshal(res.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	return outcome(t, text)
}

// noTool is how a client hears of a tool that does not exist.
const noTool = "no such tool"

// overHTTP lets agents use the HTTP door of the real binary.
type overHTTP struct {
	*people
	dir    string
	locals map[string]*sdk.ClientSession
}

func newOverHTTP(t *testing.T) player {
	dir := t.TempDir()
	s := start(t, dir)
	return &overHTTP{newPeople(s.url, links(s.printed)), dir, map[string]*sdk.ClientSession{}}
}

func (p *overHTTP) local(t *testing.T, name, mode string) {
	m := &overMCP{people: p.people, dir: p.dir, sessions: p.locals}
	m.local(t, name, mode)
}

func (p *overHTTP) act(t *testing.T, name, action string, args map[string]any) commands.Outcome {
	if session, ok := p.locals[name]; ok {
		return callTool(t, session, action, args)
	}
	key, agent := p.keys[name]
	if !agent {
		return p.people.act(t, name, action, args)
	}
	_, text := request(t, http.DefaultClient, "POST", p.url+"/api/v1/actions/"+action, args, map[string]string{"Authorization": "Bearer " + key})
	return outcome(t, text)
}
