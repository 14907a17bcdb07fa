package main

import (
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
