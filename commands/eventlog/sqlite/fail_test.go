package sqlite

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zombiezen.com/go/sqlite/sqlitex"

	"assent/commands"
	"assent/commands/eventlog/chain"
	"assent/commands/eventlog/logtest"
	"assent/domain"
)

// fresh is a log in a new file, and the same log without the suite's words.
func fresh(t *testing.T) (*logtest.Log, *Log) {
	t.Helper()
	log := logtest.NewLog(t, func(t *testing.T, clock func() time.Time) commands.Log {
		return openAt(t, filepath.Join(t.TempDir(), "log.db"), clock)
	})
	return log, log.Log.(*Log)
}

// pragma sets something on the writer's connection, while nobody appends.
func pragma(t *testing.T, l *Log, text string) {
	t.Helper()
	if err := l.writer.ready(); err != nil {
		t.Fatal(err)
	}
	if err := sqlitex.ExecuteTransient(l.writer.db.Conn, "PRAGMA "+text, nil); err != nil {
		t.Fatal(err)
	}
}

// outside runs SQL on a connection that knows nothing of the log.
func outside(t *testing.T, path, script string) {
	t.Helper()
	c, err := connect(path, settings{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := sqlitex.ExecuteScript(c, script, nil); err != nil {
		t.Fatal(err)
	}
}

// large is an append that needs many pages.
func large(id string) commands.Write {
	w := logtest.To("large", 0, id)
	w.Events[0].Data = []byte(`"` + strings.Repeat("x", 200<<10) + `"`)
	return w
}

func TestAFullDatabaseTakesNothingAndReadsGoOn(t *testing.T) {
	log, l := fresh(t)
	log.Must(logtest.To("a", 0, "a1"))
	pragma(t, l, "max_page_count=20")
	if err := log.Fails(logtest.To("a", 1, "a2"), large("l1")); !errors.Is(err, commands.ErrUnavailable) {
		t.Errorf("the error is %v", err)
	}
	pragma(t, l, "max_page_count=1000000")
	r := log.Must(logtest.To("a", 1, "a2"), large("l1"))
	log.Same("position", r.Position, domain.Position(3))
	verified(t, l)
}

func TestADatabaseThatCannotBeWrittenTakesNothingAndReadsGoOn(t *testing.T) {
	log, l := fresh(t)
	log.Must(logtest.To("a", 0, "a1"))
	pragma(t, l, "query_only=ON")
	if err := log.Fails(logtest.To("a", 1, "a2")); !errors.Is(err, commands.ErrUnavailable) {
		t.Errorf("the error is %v", err)
	}
	pragma(t, l, "query_only=OFF")
	log.Must(logtest.To("a", 1, "a2"))
}

func TestAFileLockedByAnotherIsBusyAndReadsGoOn(t *testing.T) {
	log, l := fresh(t)
	log.Must(logtest.To("a", 0, "a1"))
	other, err := connect(pathOf(l), settings{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	c := conn{other}
	if err := c.exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	if err := log.Fails(logtest.To("a", 1, "a2")); !errors.Is(err, commands.ErrBusy) {
		t.Errorf("the error is %v", err)
	}
	if err := c.exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	log.Must(logtest.To("a", 1, "a2"))
}

func TestTwoWritersOfOneFileNeverWriteOverEachOther(t *testing.T) {
	one, l := fresh(t)
	two := logtest.NewLog(t, func(t *testing.T, clock func() time.Time) commands.Log {
		return openAt(t, pathOf(l), clock)
	})
	one.Must(logtest.To("a", 0, "a1"))
	two.Must(logtest.To("b", 0, "b1"), logtest.To("a", 1, "a2"))
	want := two.End()

	_, err := one.Append(t.Context(), logtest.To("a", 1, "x1"))
	var c *commands.Conflict
	if !errors.As(err, &c) || c.Actual != 2 {
		t.Errorf("what the other wrote is no conflict: %v", err)
	}
	one.Same("the head after that", one.End(), want)

	one.Clock.Move(-time.Hour)
	one.Must(logtest.To("a", 2, "a3"), logtest.To("b", 1, "b2"))
	one.Same("time", one.End().At, want.At)
	again, err := two.Append(t.Context(), logtest.To("a", 2, "a3"), logtest.To("b", 1, "b2"))
	if err != nil || again.Position != 5 {
		t.Errorf("what the other wrote is not answered again: %v, %v", again, err)
	}
	one.Same("events", one.All(), two.All())
	verified(t, l)
}

func TestAWriterStopsWhenWhatWasCommittedIsGone(t *testing.T) {
	log, l := fresh(t)
	log.Must(logtest.To("a", 0, "a1"))
	log.Must(logtest.To("a", 1, "a2"))
	outside(t, pathOf(l), `DROP TRIGGER events_remain; DELETE FROM events WHERE position = 2;
		UPDATE head SET position = 1, chain = (SELECT link FROM events WHERE position = 1)`)
	for range 2 {
		_, err := log.Append(t.Context(), logtest.To("a", 1, "x1"))
		var broken *chain.Broken
		if !errors.Is(err, commands.ErrUnavailable) || !errors.As(err, &broken) || broken.Position != 2 {
			t.Errorf("the error is %v", err)
		}
	}
	outside(t, pathOf(l), "UPDATE head SET position = position") // the file is not held
}

func verified(t *testing.T, l *Log) {
	t.Helper()
	if err := l.Verify(t.Context(), nil); err != nil {
		t.Error(err)
	}
}
