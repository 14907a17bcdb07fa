package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"assent/commands"
	"assent/commands/eventlog/chain"
	"assent/commands/eventlog/logtest"
	"assent/domain"
)

func TestABackupIsAPrefixWhileEightWriteAndWritersGoOn(t *testing.T) {
	g := readGoldens(t)
	l := openAt(t, filepath.Join(t.TempDir(), "log.db"), time.Now)
	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				if _, err := l.Append(t.Context(), g.one(w, i)); err != nil {
					t.Errorf("writer %d: %v", w, err)
					return
				}
			}
		})
	}
	var copies []string
	var marks []chain.Mark
	for range 3 {
		if err := l.Wait(t.Context(), head(t, l).Position+200); err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(t.TempDir(), "copy.db")
		before := head(t, l).Position
		mark, err := Backup(t.Context(), pathOf(l), to, nil)
		if err != nil {
			t.Fatal(err)
		}
		if mark.Position < before {
			t.Errorf("it ends at %d, and %d was answered before", mark.Position, before)
		}
		copies, marks = append(copies, to), append(marks, mark)
	}
	stop()
	writers.Wait()
	for i, to := range copies {
		held, err := marks[i].In(t.Context(), l.Stored())
		if err != nil || !held {
			t.Errorf("the log does not go on from the copy at %v: %v", marks[i].Position, err)
		}
		again := openAt(t, to, time.Now)
		verified(t, again)
		if at := head(t, again); chain.MarkOf(at) != marks[i] {
			t.Errorf("the copy ends at %v, and was said to end at %v", at.Position, marks[i].Position)
		}
		if _, err := again.Append(t.Context(), g.one(99, 0)); err != nil {
			t.Errorf("the copy takes nothing: %v", err)
		}
	}
	verified(t, l)
}

func head(t *testing.T, l *Log) commands.Head {
	t.Helper()
	h, err := l.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestABackupIsOneFileForItsOwnerAndTakesNoOthersPlace(t *testing.T) {
	log, l := fresh(t)
	log.Must(logtest.To("a", 0, "a1"))
	dir := filepath.Join(t.TempDir(), "50%41 ? #1&mode=memory")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(dir, "copy.db")
	for _, want := range []error{nil, ErrExists} {
		if _, err := Backup(t.Context(), pathOf(l), to, nil); !errors.Is(err, want) {
			t.Errorf("the error is %v, and not %v", err, want)
		}
	}
	if _, err := Restore(t.Context(), to, pathOf(l), nil); !errors.Is(err, ErrExists) {
		t.Errorf("a log was restored over another: %v", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("there are %v, %v", entries, err)
	}
	if info, err := entries[0].Info(); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// A restored log goes on where the backup ended, and a file that was copied by
// hand brings its WAL.
func TestARestoredLogIsTheSame(t *testing.T) {
	log, l := fresh(t)
	log.Must(logtest.To("a", 0, "a1", "a2"))
	log.Must(large("l1"), logtest.To("a", 2, "a3"))
	dir := t.TempDir()
	backup := filepath.Join(dir, "backup.db")
	if _, err := Backup(t.Context(), pathOf(l), backup, nil); err != nil {
		t.Fatal(err)
	}
	byHand := filepath.Join(dir, "hand.db")
	copyLog(t, pathOf(l), byHand)
	for _, from := range []string{backup, byHand} {
		to := filepath.Join(t.TempDir(), "log.db")
		var done, total domain.Position
		mark, err := Restore(t.Context(), from, to, func(d, of domain.Position) { done, total = d, of })
		if err != nil {
			t.Fatal(err)
		}
		after := logtest.NewLog(t, openerIn(filepath.Dir(to)))
		after.Same("events", after.All(), log.All())
		after.Same("head", after.End(), log.End())
		after.Same("mark", mark, chain.MarkOf(log.End()))
		after.Same("progress", []domain.Position{done, total}, []domain.Position{4, 4})
		after.Must(logtest.To("a", 3, "a4"))
	}
}

func TestWhatIsNoWholeLogIsNotRestored(t *testing.T) {
	log, l := fresh(t)
	log.Must(logtest.To("a", 0, "a1", "a2"))
	log.Must(large("l1"))
	log.Must(logtest.To("a", 2, "a3"))
	backup := filepath.Join(t.TempDir(), "backup.db")
	if _, err := Backup(t.Context(), pathOf(l), backup, nil); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(backup)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(name string, content []byte) {
		dir := t.TempDir()
		from := filepath.Join(dir, "from.db")
		if err := os.WriteFile(from, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if mark, err := Restore(t.Context(), from, filepath.Join(dir, "log.db"), nil); err == nil {
			t.Errorf("%s was restored up to %d", name, mark.Position)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
			t.Errorf("%s: %v is left, %v", name, left, err)
		}
	}
	for cut := 0; cut < len(whole); cut += 4096/2 + 13 {
		refused("what was cut", whole[:cut])
	}
	edited := append([]byte(nil), whole...)
	edited[len(edited)-100] ^= 1 // the newest pages are data
	refused("what was changed", edited)
	if _, err := Restore(t.Context(), filepath.Join(t.TempDir(), "none"), filepath.Join(t.TempDir(), "log.db"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("nothing was restored: %v", err)
	}
}

func TestABackupThatIsStoppedLeavesNothing(t *testing.T) {
	log, l := fresh(t)
	log.Must(logtest.To("a", 0, "a1"))
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Backup(ctx, pathOf(l), filepath.Join(dir, "copy.db"), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

func TestABrokenLogIsNotBackedUp(t *testing.T) {
	log, l := fresh(t)
	log.Must(logtest.To("a", 0, "a1", "a2"))
	outside(t, pathOf(l), "DROP TRIGGER events_stay; UPDATE events SET data = '{}' WHERE position = 2")
	_, err := Backup(t.Context(), pathOf(l), filepath.Join(t.TempDir(), "copy.db"), nil)
	if broken, ok := chain.IsBroken(err); !ok || broken.Position != 2 {
		t.Errorf("the error is %v", err)
	}
}

// copyLog copies a log as its files are on the disk.
func copyLog(t *testing.T, from, to string) {
	t.Helper()
	for _, end := range []string{"", "-wal"} {
		b, err := os.ReadFile(from + end)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to+end, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
