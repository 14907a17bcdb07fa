package reactions_test

import (
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"assent/commands/eventlog/postgres/pgtest"
	"assent/commands/reactions"
	"assent/migrations"

	"github.com/google/go-cmp/cmp"
)

// stores are the places, each called once for a store of its own.
var stores = map[string]func(*testing.T) string{
	"in a file":     func(t *testing.T) string { return filepath.Join(t.TempDir(), "reactions.db") },
	"in PostgreSQL": func(t *testing.T) string { return pgtest.Database(t) },
}

func TestACheckpointNeverGoesBackAndOnlyWhoIsAtWorkMovesIt(t *testing.T) {
	for name, place := range stores {
		t.Run(name, func(t *testing.T) {
			at := place(t)
			mine, other := openStore(t, at), openStore(t, at)
			ctx := t.Context()
			if _, err := mine.Load(ctx, "home/hook_1", 0); !errors.Is(err, sql.ErrNoRows) {
				t.Errorf("of one that nobody enlisted: %v", err)
			}
			first := reactions.Reactor{Name: "home/hook_1", Lanes: 2, Start: reactions.Point{Position: 5, Event: "evt_5"}}
			again := first
			again.Lanes, again.Start.Position = 9, 9
			for _, r := range []reactions.Reactor{first, again} {
				if err := mine.Enlist(ctx, r); err != nil {
					t.Fatal(err)
				}
			}
			list, err := other.Reactors(ctx)
			if diff := cmp.Diff([]reactions.Reactor{first}, list); err != nil || diff != "" {
				t.Errorf("enlisted %v (-want +got):\n%s", err, diff)
			}
			if err := mine.Save(ctx, first.Name, 0, reactions.Point{Position: 7, Event: "evt_7"}); !errors.Is(err, reactions.ErrNotMine) {
				t.Errorf("moved without the lease: %v", err)
			}
			if got, err := mine.Take(ctx, time.Hour); !got || err != nil {
				t.Fatalf("took the lease: %t %v", got, err)
			}
			if got, err := other.Take(ctx, time.Hour); got || err != nil {
				t.Errorf("two have the lease: %v", err)
			}
			for _, p := range []reactions.Point{{Position: 7, Event: "evt_7"}, {Position: 6, Event: "evt_6"}} {
				if err := mine.Save(ctx, first.Name, 1, p); err != nil && p.Position == 7 {
					t.Fatal(err)
				}
			}
			if err := other.Save(ctx, first.Name, 1, reactions.Point{Position: 8, Event: "evt_8"}); !errors.Is(err, reactions.ErrNotMine) {
				t.Errorf("another moved it: %v", err)
			}
			for lane, want := range []reactions.Point{first.Start, {Position: 7, Event: "evt_7"}} {
				if got, err := other.Load(ctx, first.Name, lane); err != nil || got != want {
					t.Errorf("lane %d is at %+v, not %+v: %v", lane, got, want, err)
				}
			}
			if err := mine.Release(ctx); err != nil {
				t.Fatal(err)
			}
			if got, err := other.Take(ctx, time.Hour); !got || err != nil {
				t.Errorf("after it was let go: %t %v", got, err)
			}
		})
	}
}

func TestAStoreThatIsNotOursIsNotTouched(t *testing.T) {
	dir := t.TempDir()
	text, foreign := filepath.Join(dir, "text.db"), filepath.Join(dir, "foreign.db")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", foreign)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`CREATE TABLE theirs (x)`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	newer := filepath.Join(dir, "newer.db")
	s, err := reactions.OpenStore(t.Context(), newer)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err = sql.Open("sqlite", newer)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`INSERT INTO ` + migrations.Table + ` (version_id, is_applied) VALUES (99, 1)`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{text: reactions.ErrForeign, foreign: reactions.ErrForeign, newer: reactions.ErrNewer} {
		if s, err := reactions.OpenStore(t.Context(), path); !errors.Is(err, want) {
			t.Errorf("%s: %v %v", filepath.Base(path), s, err)
		}
	}
	if _, err := reactions.OpenStore(t.Context(), "postgres://me:hush@127.0.0.1:1/db"); err == nil || strings.Contains(err.Error(), "hush") {
		t.Errorf("a server that is not there: %v", err)
	}
}

// A store beside a log that is not the one it knows must not go on as if it were.
func TestCheckpointsOfAnotherLogAreNotGoneOnWith(t *testing.T) {
	h, out := newHouse(t), newReceiver(t)
	_, stop := h.start()
	h.hook(out.URL)
	id := h.article("one")
	h.until("it arrives", func() bool { return len(out.arrived()) == 1 })
	stop()
	other := newHouse(t) // as if the log had been put back from an older copy
	said := &lines{}
	other.parts.Store, other.parts.Logger = h.parts.Store, slog.New(slog.NewTextHandler(said, nil))
	other.hook(out.URL)
	_, stop = other.start()
	other.edit(other.article("two"), "x")
	h.until("it says what is wrong", func() bool { return strings.Contains(said.text(), "the checkpoints are of another log") })
	stop()
	h.start()
	h.edit(id, "y")
	h.until("the right log goes on", func() bool { return len(out.arrived()) == 2 })
	for _, m := range out.all() {
		if m.event.Subject != "article/"+id {
			t.Errorf("told of %s", m.event.Subject)
		}
	}
}

// lines are what a logger wrote.
type lines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
