package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// binary is assent itself, built once for all tests of this package.
var binary string

func TestMain(m *testing.M) {
	code, err := built(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

func built(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "assent")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "assent")
	cmd := exec.Command("go", "build", "-o", binary, "assent/cmd/assent")
	if out, err := cmd.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("build: %w\n%s", err, out)
	}
	return m.Run(), nil
}

// house is a server that runs, and what it printed.
type house struct {
	*testing.T
	url, setup string
	keys       map[string]string // agents' keys, by name
}

// serve starts one in a folder of its own.
func serve(t *testing.T) *house {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), binary, "serve", "--data", t.TempDir(), "--listen", "127.0.0.1:0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var problems bytes.Buffer
	cmd.Stderr = &problems
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil || strings.Contains(problems.String(), "panic") {
			t.Errorf("serve ended with %v\n%s", err, problems.String())
		}
	})
	var printed strings.Builder
	buf := make([]byte, 4096)
	for !strings.Contains(printed.String(), "ASSENT_KEY") {
		n, err := out.Read(buf)
		printed.Write(buf[:n])
		if err != nil {
			t.Fatalf("serve printed %s\n%s", printed.String(), problems.String())
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return &house{t, regexp.MustCompile(`Console\s+(\S+)`).FindStringSubmatch(printed.String())[1],
		regexp.MustCompile(`Set up\s+(\S+)`).FindStringSubmatch(printed.String())[1], map[string]string{}}
}

const password = "correct horse battery staple"

// owner sets the house up in a browser, as the first person does.
func (h *house) owner() *tab {
	h.Helper()
	b := browse(h.T, h.url)
	b.open(strings.TrimPrefix(h.setup, h.url))
	b.fill("Your name", "Ana Lind")
	b.fill("Email", "ana@example.org")
	b.fill("Password", password)
	b.press("Become the owner")
	b.says("You are the owner")
	return b
}

// signIn signs the owner in, in a browser of its own.
func (h *house) signIn() *tab {
	h.Helper()
	b := browse(h.T, h.url)
	b.open("/signin")
	b.fill("Email", "ana@example.org")
	b.fill("Password", password)
	b.press("Sign in")
	b.says("Inbox")
	return b
}

var secret = regexp.MustCompile(`assent_[0-9A-Za-z_-]{20,}`)

// agent makes one and its key, by hand.
func (h *house) agent(b *tab, name, mode string) {
	h.Helper()
	b.open("/agents")
	b.fill("Name", name)
	b.tick(mode + " ")
	b.press("Make the agent")
	b.says("It has none, so it cannot call.")
	b.press("Make a key")
	b.says("shown only now")
	if h.keys[name] = secret.FindString(b.seen()); h.keys[name] == "" {
		h.Fatalf("no key on %s", b.seen())
	}
}

// answered is what of an outcome these tests look at.
type answered struct {
	Outcome  string
	Action   string
	Target   struct{ ID string }
	Refusal  struct{ Code, Reason string }
	Proposal struct {
		ID, State, Decline string
	}
	raw string
}

// act is a call of an agent.
func (h *house) act(agent, action string, args map[string]any) answered {
	h.Helper()
	text, err := json.Marshal(args)
	if err != nil {
		h.Fatal(err)
	}
	req, err := http.NewRequestWithContext(h.Context(), http.MethodPost, h.url+"/api/v1/actions/"+action, bytes.NewReader(text))
	if err != nil {
		h.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+h.keys[agent])
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		h.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		h.Fatal(err)
	}
	var a answered
	var problem struct{ Outcome json.RawMessage }
	if err := json.Unmarshal(body, &problem); err != nil {
		h.Fatalf("%s answered %s", action, body)
	}
	text = body
	if problem.Outcome[0] == '{' {
		text = problem.Outcome
	}
	if err := json.Unmarshal(text, &a); err != nil {
		h.Fatalf("%s answered %s", action, body)
	}
	a.raw = string(body)
	return a
}

// must is a call that has to come to something.
func (h *house) must(outcome, agent, action string, args map[string]any) answered {
	h.Helper()
	a := h.act(agent, action, args)
	if a.Outcome != outcome {
		h.Fatalf("%s of %s came to %s, not %s", action, agent, a.raw, outcome)
	}
	return a
}

// article is one an agent wrote.
func (h *house) article(agent, slug, title, body string) string {
	h.Helper()
	return h.must("done", agent, "article.create", map[string]any{"site": "main", "slug": slug, "title": title, "body": body}).Target.ID
}

// publish is an agent's wish to publish what is pending.
func (h *house) publish(agent, why string) string {
	h.Helper()
	return h.must("waiting", agent, "site.publish", map[string]any{"site": "main", "reason": why}).Proposal.ID
}

// download is what the owner gets from an address. The pages themselves may
// fetch nothing, so this is a session of its own.
func (h *house) download(address string) string {
	h.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		h.Fatal(err)
	}
	client := &http.Client{Jar: jar}
	res, err := client.Post(h.url+"/api/v1/session", "application/json", strings.NewReader(`{"email":"ana@example.org","password":"`+password+`"}`))
	if err != nil {
		h.Fatal(err)
	}
	_ = res.Body.Close()
	if res, err = client.Get(address); err != nil {
		h.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		h.Fatal(err)
	}
	return string(body)
}

// page is what the site shows at an address.
func (h *house) page(address string) string {
	h.Helper()
	req, err := http.NewRequestWithContext(h.Context(), http.MethodGet, h.url+"/sites/main"+address, nil)
	if err != nil {
		h.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		h.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		h.Fatal(err)
	}
	return fmt.Sprintf("%d %s", res.StatusCode, body)
}
