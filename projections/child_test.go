package projections_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"assent/commands/eventlog/sqlite"
	"assent/projections"
)

// asChild makes this test program a process that folds and rebuilds until it is
// killed.
const asChild = "ASSENT_TEST_CHILD"

func TestMain(m *testing.M) {
	where, child := os.LookupEnv(asChild)
	if !child {
		os.Exit(m.Run())
	}
	fmt.Fprintln(os.Stderr, rebuilding(where, os.Getenv(asChild+"_LOG")))
	os.Exit(1)
}

// rebuilding never returns but with a fault.
func rebuilding(where, file string) error {
	ctx := context.Background()
	log, err := sqlite.Open(ctx, file, time.Now)
	if err != nil {
		return err
	}
	s, err := openStore(ctx, where, projections.WithMemory(64<<10))
	if err != nil {
		return err
	}
	fmt.Println("ready")
	failed := make(chan error, 2)
	go func() { failed <- s.Run(ctx, log) }()
	go func() {
		for {
			if _, err := s.Rebuild(ctx, log, projections.RebuildOptions{}); err != nil {
				failed <- err
				return
			}
		}
	}()
	return <-failed
}

func TestWhateverIsKilledWhenTheReadModelsEndRight(t *testing.T) {
	kills := 12
	if os.Getenv("ASSENT_SOAK") != "" {
		kills = 500
	}
	j := smallSite(t)
	edit(j, 2500)
	file := filepath.Join(t.TempDir(), "log.db")
	copyLog(t, j, file)
	where := fresh(t)
	for range kills {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), asChild+"="+where, asChild+"_LOG="+file)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			t.Fatalf("the child did not begin: %v", err)
		}
		moment := time.NewTimer(time.Duration(rand.IntN(1200)) * time.Millisecond)
		<-moment.C
		if err := errors.Join(cmd.Process.Kill()); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
	}
	log, err := sqlite.Open(t.Context(), file, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	s := open(t, where)
	stop := run(t, s, log)
	see(t, s, j.head())
	r, err := s.Rebuild(t.Context(), log, projections.RebuildOptions{})
	if err != nil || !r.Comparison.Same() || r.Events != int64(len(j.records)) {
		t.Errorf("after %d kills: %+v %v", kills, r, err)
	}
	_ = stop()
	list, err := s.Generations(t.Context())
	if err != nil || len(list) > 2 {
		t.Errorf("left behind: %+v %v", list, err)
	}
}
