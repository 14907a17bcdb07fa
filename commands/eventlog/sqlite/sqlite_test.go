package sqlite

import (
	"path/filepath"
	"testing"
	"time"

	"assent/commands"
	"assent/commands/eventlog/logtest"
)

func TestTheSQLiteLogKeepsEveryPromise(t *testing.T) {
	logtest.Run(t,
		func(t *testing.T, clock func() time.Time) commands.Log {
			return openAt(t, filepath.Join(t.TempDir(), "log.db"), clock)
		},
		logtest.Reopening(func(t *testing.T, log commands.Log, clock func() time.Time) commands.Log {
			path := pathOf(log)
			if err := log.Close(); err != nil {
				t.Fatalf("close: %v", err)
			}
			return openAt(t, path, clock)
		}))
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
