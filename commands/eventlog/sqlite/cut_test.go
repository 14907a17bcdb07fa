package sqlite

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assent/commands/eventlog/logtest"
	"assent/domain"
)

var clockNow = time.Now

// A WAL as a crash may leave it: its end is missing, or was never written. What
// is left of the log is whole appends from the first on.
func TestACutWALLeavesWholeAppends(t *testing.T) {
	log, l := fresh(t)
	if err := l.Close(); err != nil { // the tables go into the file
		t.Fatal(err)
	}
	log.Log = openAt(t, pathOf(l), log.Clock.Now)
	l = log.Log.(*Log)
	ends := map[domain.Position]bool{0: true}
	for i := range 8 {
		r := log.Must(logtest.To("a", domain.Version(2*i), name("a", i), name("b", i)), logtest.To("c", domain.Version(i), name("c", i)))
		ends[r.Position] = true
	}
	all := log.All()
	db, err := os.ReadFile(pathOf(l))
	if err != nil {
		t.Fatal(err)
	}
	wal, err := os.ReadFile(pathOf(l) + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	const header, frame = 32, 24 + 4096
	steps := []int{-1, 0, 1, 24, 2000}
	if soaking() {
		steps = nil
		for at := range frame / 8 {
			steps = append(steps, at*8)
		}
	}
	dir, seen := t.TempDir(), map[domain.Position]bool{}
	for at := 0; at <= len(wal); at += frame {
		for _, step := range steps {
			cut := min(max(0, header+at+step), len(wal))
			for kind, left := range map[string][]byte{"cut": wal[:cut], "never written": append(wal[:cut:cut], make([]byte, len(wal)-cut)...)} {
				path := filepath.Join(dir, "log.db")
				for end, content := range map[string][]byte{"": db, "-wal": left} {
					if err := os.WriteFile(path+end, content, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				after, err := Open(t.Context(), path, clockNow)
				if err != nil {
					t.Fatalf("%s at %d of %d: %v", kind, cut, len(wal), err)
				}
				end := head(t, after).Position
				recs, err := after.ReadAll(t.Context(), 0, 1000)
				if err != nil {
					t.Fatal(err)
				}
				if !ends[end] || len(recs) != int(end) || end > 0 && cmp.Diff(all[:end], recs) != "" {
					t.Fatalf("%s at %d of %d: it ends at %d with %d events, not whole appends from the first on", kind, cut, len(wal), end, len(recs))
				}
				verified(t, after)
				seen[end] = true
				if err := after.Close(); err != nil {
					t.Fatal(err)
				}
				if err := discard(path); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if len(seen) != len(ends) {
		t.Errorf("of %d possible ends %d came up", len(ends), len(seen))
	}
}

func name(kind string, i int) string { return kind + string(rune('a'+i)) }
