package sqlite

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"assent/commands"
	"assent/commands/eventlog/logtest"
)

func TestTheSQLiteLogKeepsEveryPromise(t *testing.T) {
	empty := emptyFile(t)
	logtest.Run(t,
		func(t *testing.T, clock func() time.Time) commands.Log {
			path := filepath.Join(t.TempDir(), "log.db")
			if err := os.WriteFile(path, empty, 0o600); err != nil {
				t.Fatal(err)
			}
			return openAt(t, path, clock)
		},
		logtest.Reopening(func(t *testing.T, log commands.Log, clock func() time.Time) commands.Log {
			path := pathOf(log)
			if err := log.Close(); err != nil {
				t.Fatalf("close: %v", err)
			}
			return openAt(t, path, clock)
		}))
}

// emptyFile is the file of a log without events: to copy it takes a tenth of
// what making the tables does, and the suite needs many.
func emptyFile(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "empty.db")
	if err := openAt(t, path, time.Now).Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func pathOf(log commands.Log) string { return log.(*Log).writer.path }

func openAt(t testing.TB, path string, clock func() time.Time) *Log {
	t.Helper()
	l, err := Open(t.Context(), path, clock, BusyFor(time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return l
}
