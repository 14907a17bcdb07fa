package postgres

import (
	"testing"
	"time"

	"assent/commands"
	"assent/commands/eventlog/logtest"
)

func TestThePostgresLogKeepsEveryPromise(t *testing.T) {
	logtest.Run(t, opener(t),
		logtest.Reopening(func(t *testing.T, log commands.Log, clock func() time.Time) commands.Log {
			where := log.(*Log).config.ConnString()
			if err := log.Close(); err != nil {
				t.Fatalf("close: %v", err)
			}
			return openAt(t, where, clock)
		}),
		logtest.Sharing(func(t *testing.T, log commands.Log, clock func() time.Time) commands.Log {
			return openAt(t, log.(*Log).config.ConnString(), clock)
		}))
}

// opener opens every log in a database of its own.
func opener(testing.TB) logtest.Open {
	return func(t *testing.T, clock func() time.Time) commands.Log { return openAt(t, made(t), clock) }
}

// openerAt opens the log that is there.
func openerAt(where string) logtest.Open {
	return func(t *testing.T, clock func() time.Time) commands.Log { return openAt(t, where, clock) }
}

func openAt(t testing.TB, where string, clock func() time.Time, options ...Option) *Log {
	t.Helper()
	l, err := Open(t.Context(), where, clock, options...)
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

// fresh is a log in a new schema, and the same log without the suite's words.
func fresh(t *testing.T) (*logtest.Log, *Log) {
	t.Helper()
	log := logtest.NewLog(t, opener(t))
	return log, log.Log.(*Log)
}

func verified(t *testing.T, l *Log) {
	t.Helper()
	if err := l.Verify(t.Context(), nil); err != nil {
		t.Error(err)
	}
}
