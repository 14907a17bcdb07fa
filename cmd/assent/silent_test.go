package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"assent/commands/eventlog/postgres/pgtest"
)

// TestAServerLeavesADatabaseThatIsSilent: one that stands still gives no error
// that could end a wait.
func TestAServerLeavesADatabaseThatIsSilent(t *testing.T) {
	c := pgtest.Start(t)
	t.Setenv("ASSENT_LOG", c.Database(t))
	dir := t.TempDir()
	p := start(t, dir)
	thaw := c.Freeze(t)
	defer thaw()
	begun := time.Now()
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	err := p.Wait()
	if took := time.Since(begun); took > 12*time.Second {
		t.Errorf("it left after %v", took)
	}
	if code := (&exec.ExitError{}); err != nil && (!errors.As(err, &code) || code.ExitCode() != exitClosed) {
		t.Errorf("it ended with %v", err)
	}
	begun = time.Now()
	out, err := command(t.Context(), "projections", "rebuild", "--data", dir).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "cannot be reached") {
		t.Errorf("a rebuild says %v %s", err, out)
	}
	if took := time.Since(begun); took > 15*time.Second {
		t.Errorf("a rebuild gave up after %v", took)
	}
	thaw()
	start(t, dir).stop(t) // nothing is in the way
}

// TestACommandThatJoinsLeavesADatabaseThatIsSilent: also where the read models are
// there too.
func TestACommandThatJoinsLeavesADatabaseThatIsSilent(t *testing.T) {
	c := pgtest.Start(t)
	at := c.Database(t)
	t.Setenv("ASSENT_LOG", at)
	t.Setenv("ASSENT_READ", at)
	dir := t.TempDir()
	p := start(t, dir)
	thaw := c.Freeze(t)
	defer thaw()
	for _, verb := range []string{"rebuild", "compare", "status"} {
		begun := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		out, err := command(ctx, "projections", verb, "--data", dir).CombinedOutput()
		cancel()
		if took := time.Since(begun); err == nil || !strings.Contains(string(out), "does not answer") || took > 15*time.Second {
			t.Errorf("%s says after %v: %v %s", verb, took, err, out)
		}
	}
	thaw()
	if out, err := command(t.Context(), "projections", "rebuild", "--data", dir).CombinedOutput(); err != nil {
		t.Errorf("once it is back: %v %s", err, out)
	}
	p.stop(t)
}

// TestADatabaseThatIsAwayIsNoFaultOfOurs: whoever reads meanwhile is told to ask
// again, and is answered once it is back.
func TestADatabaseThatIsAwayIsNoFaultOfOurs(t *testing.T) {
	c := pgtest.Start(t)
	at := c.Database(t)
	t.Setenv("ASSENT_LOG", at)
	t.Setenv("ASSENT_READ", at)
	s := start(t, t.TempDir())
	p := newPeople(s.url, links(s.printed))
	p.owner(t, "ana", "home")
	p.agent(t, "bot", "ana", "edits", nil)
	asks := func(method, path string, body any) (int, string) {
		status, text := p.ask(t, "ana", method, path, body)
		return status, string(text)
	}
	c.Kill(t)
	for _, path := range []string{"/people", "/audit", "/proposals", "/sites/main/pending"} {
		if status, text := asks("GET", path, nil); status != 503 || !strings.Contains(text, `"busy"`) {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	if status, text := asks("POST", "/agents", map[string]any{"name": "other"}); status != 503 {
		t.Errorf("a change: %d %s", status, text)
	}
	c.Again(t)
	for begun := time.Now(); ; {
		status, text := asks("GET", "/audit", nil)
		if status == 200 && strings.Contains(text, "agent.create") {
			break
		}
		if time.Since(begun) > 30*time.Second {
			t.Fatalf("after it is back: %d %s", status, text)
		}
	}
}
