package reactions_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"assent/commands/eventlog/postgres/pgtest"
	"assent/commands/reactions"
)

// folder names the folder that a child process works on.
const folder = "ASSENT_TEST_REACTIONS"

// TestAProcessThatIsKilled is the child of the test below: it runs until it is
// killed.
func TestAProcessThatIsKilled(t *testing.T) {
	dir := os.Getenv(folder)
	if dir == "" {
		t.Skip("only as a child")
	}
	h := openHouse(t, dir)
	h.start()
	select {}
}

// The process is killed after a message was sent and before that can be in its
// checkpoint, again and again. Nothing is lost, what is told twice comes under
// the same id, and what happens to one thing stays in order.
func TestKilledBetweenSendingAndTheCheckpointItTellsAgainUnderTheSameID(t *testing.T) {
	out := newReceiver(t)
	dir := t.TempDir()
	const edits = 8
	var hook string
	t.Run("what is there to tell", func(t *testing.T) { // its end closes the log
		h := openHouse(t, dir)
		h.found()
		_, stop := h.start()
		hook = h.hook(out.URL)
		stop()
		a, b := h.article("a"), h.article("b")
		for i := range edits {
			h.edit(a, fmt.Sprint(i))
			h.edit(b, fmt.Sprint(i))
		}
	})
	const all = 2 * (edits + 1)
	var mu sync.Mutex
	var victim *exec.Cmd
	killed := 0
	out.answers(func(m message) int {
		mu.Lock()
		defer mu.Unlock()
		if killed < 5 && len(out.arrived())%3 == killed%3 {
			killed++
			_ = victim.Process.Kill() // it may be dead already
		}
		return http.StatusNoContent
	})
	for life := 0; ; life++ {
		mu.Lock()
		victim = exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAProcessThatIsKilled$")
		victim.Env = append(os.Environ(), folder+"="+dir)
		if err := victim.Start(); err != nil {
			t.Fatal(err)
		}
		mu.Unlock()
		gone := make(chan error, 1)
		go func() { gone <- victim.Wait() }()
		over := time.After(soon)
		for done := false; !done; {
			select {
			case <-gone:
				done = true
			case <-over:
				t.Fatalf("in its life %d it told %d of %d", life, len(out.arrived()), all)
			case <-time.After(5 * time.Millisecond):
				if len(out.arrived()) == all {
					_ = victim.Process.Kill()
					<-gone
					done = true
				}
			}
		}
		if len(out.arrived()) == all {
			break
		}
	}
	inOrder(t, out.arrived())
	repeated := map[string]string{}
	for _, m := range out.all() {
		if before, again := repeated[m.id]; again && before != string(m.body) {
			t.Errorf("%s was told in two ways: %s and %s", m.id, before, m.body)
		}
		repeated[m.id] = string(m.body)
	}
	if n := len(out.all()); killed < 5 || n == all {
		t.Errorf("killed %d times, and %d of %d messages: nothing was put to the test", killed, n, all)
	}
	if hook == "" {
		t.Error("there is no webhook")
	}
}

// Of two processes on one store one tells, and the other takes over when it is
// gone.
func TestOfSeveralProcessesOneTells(t *testing.T) {
	for name, place := range map[string]func(*testing.T) string{
		"in a file":     func(t *testing.T) string { return t.TempDir() + "/shared.db" },
		"in PostgreSQL": func(t *testing.T) string { return pgtest.Database(t) },
	} {
		t.Run(name, func(t *testing.T) {
			h, out := newHouse(t), newReceiver(t)
			shared := place(t)
			second := *h
			h.parts.Store, second.parts.Store = openStore(t, shared), openStore(t, shared)
			_, stopFirst := h.start()
			_, stopSecond := second.start()
			h.hook(out.URL)
			id := h.article("one")
			const edits = 10
			for i := range edits {
				h.edit(id, fmt.Sprint(i))
			}
			h.until("all arrive", func() bool { return len(out.arrived()) == 1+edits })
			if n := len(out.all()); n != 1+edits {
				t.Errorf("%d things were told %d times while both ran", 1+edits, n)
			}
			stopFirst()
			h.edit(id, "taken over")
			h.until("the other takes over", func() bool { return len(out.arrived()) == 2+edits })
			stopSecond()
			h.edit(id, "nobody there")
			h.start()
			h.until("what came while nobody was there arrives", func() bool { return len(out.arrived()) == 3+edits })
			inOrder(t, out.arrived())
		})
	}
}

func openStore(t *testing.T, place string) *reactions.Store {
	t.Helper()
	s, err := reactions.OpenStore(context.Background(), place)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
