package sqlite

import (
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"assent/commands"
	"assent/commands/eventlog/logtest"
	"assent/domain"
)

// A file that must not grow fails the write of the WAL, which is the COMMIT.
func TestACommitThatFailsIsUnknownAndAskingAgainTells(t *testing.T) {
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	log, l := fresh(t)
	log.Must(logtest.To("a", 0, "a1"))
	head, all := log.End(), log.All()

	wal, err := os.Stat(pathOf(l) + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	restore := growTo(t, uint64(wal.Size()))
	_, err = log.Append(t.Context(), logtest.To("a", 1, "a2"), large("l1"))
	restore()
	if !errors.Is(err, commands.ErrUnknown) {
		t.Fatalf("the error is %v", err)
	}
	log.Same("head in doubt", log.End(), head)
	log.Same("events in doubt", log.All(), all)

	r := log.Must(logtest.To("a", 1, "a2"), large("l1"))
	log.Same("position", r.Position, domain.Position(3))
	log.Same("events", len(log.All()), 3)
	verified(t, l)
}

// growTo forbids this process to make files larger.
func growTo(t *testing.T, size uint64) (restore func()) {
	t.Helper()
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: size, Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
			t.Fatal(err)
		}
	}
}

func TestADiskThatIsFullTakesNothingAndReadsGoOn(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("mounting a small disk: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, 0); err != nil {
			t.Error(err)
		}
	})
	log := logtest.NewLog(t, openerIn(disk))
	l := log.Log.(*Log)
	log.Must(logtest.To("a", 0, "a1"))
	filler := filepath.Join(disk, "filler")
	if err := os.WriteFile(filler, make([]byte, 2<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("filling the disk: %v", err)
	}
	for range 3 {
		if err := log.Fails(logtest.To("a", 1, "a2"), large("l1")); !errors.Is(err, commands.ErrUnavailable) {
			t.Errorf("the error is %v", err)
		}
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	log.Must(logtest.To("a", 1, "a2"), large("l1"))
	verified(t, l)
}

func TestALogOnADiskThatCannotBeWrittenSaysSo(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("mounting a disk: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, 0); err != nil {
			t.Error(err)
		}
	})
	path := filepath.Join(disk, "log.db")
	if err := openAt(t, path, time.Now).Close(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("", disk, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Skipf("mounting it for reading only: %v", err)
	}
	l, err := Open(t.Context(), path, time.Now)
	if err == nil {
		t.Fatal("it opened", l.Close())
	}
	if !strings.Contains(err.Error(), "cannot be written to") && !strings.Contains(err.Error(), "may not be opened") {
		t.Errorf("it says %q", err)
	}
}
