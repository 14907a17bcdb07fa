package projections_test

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"testing"

	"assent/commands/eventlog/postgres/pgtest"
	"assent/projections"
)

// unharmed checks that the live generation answers, goes on and can be rebuilt.
func unharmed(t *testing.T, s *projections.Store, j *journal, was int64) {
	t.Helper()
	if got := s.Status().Generation; got != was {
		t.Errorf("generation %d is live instead of %d", got, was)
	}
	run(t, s, j)
	last := edit(j, 1)
	for s.Wait(t.Context(), last) != nil { // until it has got on
	}
	titleOf(t, s)
	if r := rebuild(t, s, j, projections.RebuildOptions{}); !r.Swapped || !r.Comparison.Same() || r.Position != j.head() {
		t.Errorf("rebuilt after that: %+v", r)
	}
	if list, err := s.Generations(t.Context()); err != nil || len(list) != 2 {
		t.Errorf("left behind: %+v %v", list, err)
	}
}

func TestARebuildWithoutRoomOnTheDiskSaysSoAndLeavesTheLiveModels(t *testing.T) {
	if os.Getenv(onPostgres) != "" {
		t.Skip("the disk is its server's")
	}
	j := smallSite(t)
	edit(j, 3000)
	s := open(t, fresh(t))
	stop := run(t, s, j)
	see(t, s, j.head())
	_ = stop()
	was := s.Status().Generation

	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1 << 20, Max: limit.Max}); err != nil {
		t.Fatal(err)
	}
	_, err := s.Rebuild(t.Context(), j, projections.RebuildOptions{})
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	if err == nil {
		t.Fatal("it was rebuilt in no room")
	}
	t.Log(err)
	unharmed(t, s, j, was)
}

func TestARebuildWhosePostgreSQLIsRestartedSaysSoAndLeavesTheLiveModels(t *testing.T) {
	if os.Getenv(onPostgres) == "" {
		t.Skip("it needs a server")
	}
	cluster := pgtest.Start(t)
	j := smallSite(t)
	edit(j, 3000)
	s := open(t, cluster.Database(t))
	stop := run(t, s, j)
	see(t, s, j.head())
	_ = stop()
	was := s.Status().Generation
	for _, stage := range []string{projections.Folding, projections.Indexing} {
		restarted := false
		_, err := s.Rebuild(t.Context(), j, projections.RebuildOptions{Progress: func(p projections.Progress) {
			if p.Stage == stage && !restarted {
				restarted = true
				cluster.Kill(t)
				cluster.Again(t)
			}
		}})
		if err == nil || errors.Is(err, notFound) || !restarted {
			t.Errorf("restarted while at %s (%v): %v", stage, restarted, err)
		}
		t.Log(err)
	}
	unharmed(t, s, j, was)
}

func TestWhatAPostgreSQLLostWhenItWentDownIsFoldedAgain(t *testing.T) {
	if os.Getenv(onPostgres) == "" {
		t.Skip("it needs a server")
	}
	cluster := pgtest.Start(t)
	j := smallSite(t)
	s := open(t, cluster.Database(t))
	ctx, end := context.WithCancel(t.Context())
	var runs sync.WaitGroup
	runs.Go(func() {
		for ctx.Err() == nil {
			_ = s.Run(ctx, j) // ends with the server, and begins again
		}
	})
	defer runs.Wait()
	defer end()
	for range 3 {
		for range 40 { // the last of which the server has not written down yet
			see(t, s, edit(j, 1))
		}
		cluster.Kill(t)
		cluster.Again(t)
		last := edit(j, 1)
		for s.Wait(t.Context(), last) != nil { // until it has got on
		}
	}
	if r := rebuild(t, s, j, projections.RebuildOptions{}); !r.Comparison.Same() || r.Events != int64(len(j.records)) {
		t.Errorf("rebuilt after that: %+v", r)
	}
}
