package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// ends runs the binary and tells how it ended and what it said.
func ends(t *testing.T, args ...string) (code int, out, said string) {
	t.Helper()
	cmd := command(t.Context(), args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return failed.ExitCode(), stdout.String(), stderr.String()
	}
	if err != nil {
		t.Fatal(err)
	}
	return 0, stdout.String(), stderr.String()
}

func TestHowCommandsEnd(t *testing.T) {
	good := t.TempDir()
	if code, _, said := ends(t, "import", "demosite", "--data", good); code != 0 {
		t.Fatalf("import ended %d: %s", code, said)
	}
	copyOf := func(change func(dir string)) string {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(good)); err != nil {
			t.Fatal(err)
		}
		change(dir)
		return dir
	}
	write := func(name, text string) func(string) {
		return func(dir string) {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	tests := map[string]struct {
		args []string
		code int
		says string
	}{
		"verify":                             {[]string{"verify", "--data", good}, exitDone, ""},
		"a second import changes nothing":    {[]string{"import", "demosite", "--data", good}, exitDone, ""},
		"no such command":                    {[]string{"frobnicate"}, exitUsage, "unexpected argument"},
		"no such folder":                     {[]string{"verify", "--data", filepath.Join(good, "nowhere")}, exitClosed, "there is no data"},
		"an audit of nothing":                {[]string{"audit", "--data", filepath.Join(good, "nowhere")}, exitClosed, "there is no data"},
		"a log that is another kind of file": {[]string{"verify", "--data", copyOf(write("log.db", "not a log"))}, exitClosed, "log.db"},
		"a log that was put away":            {[]string{"verify", "--data", copyOf(func(dir string) { remove(t, dir, "log.db"); write("log.db", "")(dir) })}, exitFound, "its end is missing"},
		"a secret that was put away":         {[]string{"audit", "--data", copyOf(func(dir string) { remove(t, dir, "secret") })}, exitClosed, "put it back"},
		"read models that were put away":     {[]string{"audit", "--data", copyOf(func(dir string) { remove(t, dir, "read-1.db") })}, exitDone, ""},
		"a person who is not there":          {[]string{"import", "demosite", "--data", good, "--as", "nobody@example.org"}, exitRefused, "not-found"},
		"an agent who is not there":          {[]string{"mcp", "--data", good, "--agent", "Jane Doe"}, exitRefused, "no such agent"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			code, out, said := ends(t, tt.args...)
			if code != tt.code || !strings.Contains(said, tt.says) || strings.Contains(said, "goroutine") {
				t.Errorf("ended %d, want %d\n%s\n%s", code, tt.code, out, said)
			}
		})
	}
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	for _, end := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(filepath.Join(dir, name+end)); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
}

// TestAChangedLogIsFound: verify says so with the exit code of a check.
func TestAChangedLogIsFound(t *testing.T) {
	dir := t.TempDir()
	if code, _, said := ends(t, "import", "demosite", "--data", dir); code != 0 {
		t.Fatalf("import ended %d: %s", code, said)
	}
	path := filepath.Join(dir, "log.db")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.Replace(text, []byte("Seed potatoes"), []byte("Weed potatoes"), 1)
	if bytes.Equal(text, changed) {
		t.Fatal("there was nothing to change")
	}
	if err := os.WriteFile(path, changed, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, said := ends(t, "verify", "--data", dir, "--json"); code != exitFound || !strings.Contains(out, `"ok":false`) || !strings.Contains(said, "broken at position") {
		t.Errorf("ended %d\n%s\n%s", code, out, said)
	}
}

// TestCommandsTakeTurns: several at once on a folder that nobody serves all
// come to their end.
func TestCommandsTakeTurns(t *testing.T) {
	dir := t.TempDir()
	if code, _, said := ends(t, "import", "demosite", "--data", dir); code != 0 {
		t.Fatalf("import ended %d: %s", code, said)
	}
	type end struct {
		code int
		said string
	}
	all := make(chan end, 4)
	for range cap(all) {
		go func() {
			out, err := command(t.Context(), "audit", "--data", dir).CombinedOutput()
			e := end{0, string(out)}
			if err != nil {
				e.code = 1
			}
			all <- e
		}()
	}
	for range cap(all) {
		select {
		case e := <-all:
			if e.code != 0 {
				t.Error(e.said)
			}
		case <-time.After(time.Minute):
			t.Fatal("one never ended")
		}
	}
}

// TestWhatWasAskedOnStdinIsAnswered: a client that closes its end hears what it
// asked before, whether a server has the folder or not; one that may not speak
// is told so.
func TestWhatWasAskedOnStdinIsAnswered(t *testing.T) {
	dir := t.TempDir()
	ask := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"site_list","arguments":null}}
`
	for _, served := range []bool{false, true} {
		if served {
			start(t, dir)
		}
		for range 3 {
			cmd := command(t.Context(), "mcp", "--data", dir)
			cmd.Stdin = strings.NewReader(ask)
			out, err := cmd.Output()
			if err != nil || !strings.Contains(string(out), `"id":2`) || !strings.Contains(string(out), `"outcome":"done"`) {
				t.Fatalf("served %v: %v\n%s", served, err, out)
			}
		}
		for _, args := range [][]string{{"--agent", "ghost"}, {"--workspace", "nowhere"}, {"--workspace", "Bad/../ws"}} {
			if code, _, said := ends(t, append([]string{"mcp", "--data", dir}, args...)...); code != exitRefused || said == "" {
				t.Errorf("served %v: %v ended %d: %s", served, args, code, said)
			}
		}
	}
}

// TestTwoFilesForOnePlace: a file that names the site's own language is no
// other page, and a second run has nothing to do.
func TestTwoFilesForOnePlace(t *testing.T) {
	dir, files := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"about.md": "# About\nOne.", "about.en.md": "# About\nTwo.", "über.md": "# Über", "\x1b[31mred.md": "# Red"} {
		if err := os.WriteFile(filepath.Join(files, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for run := range 2 {
		code, out, said := ends(t, "import", files, "--data", dir)
		if code != 0 && code != exitRefused || run == 1 && !strings.Contains(out, "0 new, 0 changed") || strings.Contains(out, "\x1b") {
			t.Errorf("run %d ended %d\n%q\n%s", run, code, out, said)
		}
	}
}

// TestFilesAreTheirOwnersOnly: nobody else on the machine reads drafts, people
// or the log.
func TestFilesAreTheirOwnersOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "open")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	start(t, dir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue // a file that was only there for a moment
		}
		if mode := info.Mode().Perm(); mode&0o077 != 0 && e.Name() != "lock" {
			t.Errorf("%s is %v", e.Name(), mode)
		}
	}
}

func TestACommandThatWasStoppedDoesNotEndLikeOneThatIsDone(t *testing.T) {
	for command, want := range map[string]int{
		"log copy <from> <to>": exitUnknown, "import <dir>": exitUnknown, "backup": exitUnknown, "verify": exitUnknown, "projections rebuild": exitUnknown,
		"serve": exitDone, "mcp": exitDone, "audit list": exitDone,
	} {
		var said bytes.Buffer
		stopped := fmt.Errorf("copy: %w", context.Canceled)
		if code := exitCode(&said, whole(command, stopped)); code != want || (code == exitDone) != (said.Len() == 0) {
			t.Errorf("%s ends with %d and says %q", command, code, said.String())
		}
		if code := exitCode(&said, whole(command, nil)); code != exitDone {
			t.Errorf("%s that is done ends with %d", command, code)
		}
	}
}
