package mcp

import (
	"bytes"
	"context"
	"flag"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"assent/commands"
	"assent/domain"
	"assent/domain/action"
	"assent/domain/catalogue"
	"assent/domain/policy"
)

var update = flag.Bool("update", false, "write the golden files")

// road is a road that answers as a test says and keeps what was asked.
type road struct {
	answer func(commands.Call) (commands.Outcome, error)

	mu     sync.Mutex
	calls  []commands.Call
	turned []commands.Call // away by the door
}

func (r *road) Do(_ context.Context, c commands.Call) (commands.Outcome, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.Refusal != nil {
		r.turned = append(r.turned, c)
		return commands.Outcome{Outcome: commands.Refused, Refusal: c.Refusal}, nil
	}
	r.calls = append(r.calls, c)
	r.mu.Unlock()
	defer r.mu.Lock()
	return r.answer(c)
}

func (r *road) asked() []commands.Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]commands.Call{}, r.calls...)
}

// turnedAway are the codes of the refusals that the door had recorded.
func (r *road) turnedAway() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var codes []string
	for _, c := range r.turned {
		codes = append(codes, c.Refusal.Code)
	}
	return codes
}

// always answers everything in one way.
func always(out commands.Outcome) *road {
	return &road{answer: func(commands.Call) (commands.Outcome, error) { return out, nil }}
}

// ruled answers as the policy does to an agent with these limits.
func ruled(registry *action.Registry, b Brief) *road {
	return &road{answer: func(c commands.Call) (commands.Outcome, error) {
		a, ok := registry.Find(c.Action)
		switch {
		case !ok && action.NeverListed(c.Action):
			return refusedBecause("never", "This is never done here."), nil
		case !ok:
			return refusedBecause("unknown-action", "There is no such action."), nil
		}
		v := policy.Ask(policy.Question{
			Principal: c.Principal, Action: a.Name, Class: a.Class, Scope: a.Scope, Permission: a.Permission,
			Mode: policy.Mode(b.Mode), Scopes: b.Scopes, Role: policy.Owner,
		})
		if v.Answer == domain.Reject {
			return commands.Outcome{Outcome: commands.Refused, Refusal: domain.Refuse(v.Code, "%s", v.Reason), Verdict: &v}, nil
		}
		return commands.Outcome{Outcome: commands.Done, Verdict: &v}, nil
	}}
}

type briefing func(Caller) (Brief, error)

func (f briefing) Brief(_ context.Context, who Caller) (Brief, error) { return f(who) }

func told(b Brief) briefing { return func(Caller) (Brief, error) { return b, nil } }

// keys opens for the keys a test hands out.
type keys map[string]KeyHolder

func (k keys) Key(_ context.Context, secret string) (KeyHolder, error) {
	h, ok := k[secret]
	if !ok {
		return KeyHolder{}, domain.Refuse("unauthorised", "No such key.")
	}
	return h, nil
}

const secret = "assent_test"

var editor = Brief{
	Limits: commands.Limits{Mode: string(policy.Edits), Scopes: policy.DefaultScopes},
	Agent:  "writer", Person: "Mia", Role: policy.Owner,
}

func registry(t testing.TB) *action.Registry {
	t.Helper()
	r, err := catalogue.Actions()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// open builds a door with a key for agent_a and one for agent_b, in two
// workspaces.
func open(t testing.TB, r Road, b Briefing, change ...func(*Options)) *Door {
	t.Helper()
	o := Options{
		Road: r, Registry: registry(t), Briefing: b, Version: "0.0.0-test", URL: "http://assent.test",
		Keys: keys{
			secret:          {Workspace: "home", Agent: "agent_a", Key: "key_a"},
			secret + "two":  {Workspace: "home", Agent: "agent_a", Key: "key_a2"},
			secret + "away": {Workspace: "away", Agent: "agent_b", Key: "key_b"},
		},
	}
	for _, c := range change {
		c(&o)
	}
	d, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

func logTo(w *bytes.Buffer) func(*Options) {
	return func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(w, nil)) }
}

func serve(t testing.TB, d *Door) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(d.Handler())
	t.Cleanup(func() { d.Close(); s.Close() }) // in this order: a server waits for open streams
	return s
}

// withKey adds a key to everything that is sent.
type withKey string

func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Api-Key", string(k))
	return http.DefaultTransport.RoundTrip(r)
}

// connect is a real client of one age over HTTP.
func connect(t testing.TB, url, version string) *sdk.ClientSession {
	t.Helper()
	return dial(t, keyed(url, secret), version)
}

func keyed(url, key string) *sdk.StreamableClientTransport {
	return &sdk.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: withKey(key)}}
}

func dial(t testing.TB, transport sdk.Transport, version string) *sdk.ClientSession {
	t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "test\x1b[31m client", Version: "1.2"}, nil)
	s, err := client.Connect(t.Context(), transport, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func ages() []string {
	return []string{modern, lastHandshake, "2025-06-18", "2025-03-26", "2024-11-05"}
}

// golden compares with a file, or writes it under -update.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-file +now):\n%s", name, diff)
	}
}

func textOf(t testing.TB, res *sdk.CallToolResult) string {
	t.Helper()
	if len(res.Content) != 1 {
		t.Fatalf("%d contents, want one", len(res.Content))
	}
	text, ok := res.Content[0].(*sdk.TextContent)
	if !ok {
		t.Fatalf("content is a %T", res.Content[0])
	}
	return text.Text
}
