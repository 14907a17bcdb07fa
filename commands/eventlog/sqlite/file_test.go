package sqlite

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"assent/commands"
	"assent/commands/eventlog/chain"
	"assent/commands/eventlog/logtest"
	"assent/domain"
	"assent/migrations"
)

func openerIn(dir string) logtest.Open {
	return func(t *testing.T, clock func() time.Time) commands.Log {
		return openAt(t, filepath.Join(dir, "log.db"), clock)
	}
}

func TestVerifyPassesASoundLogAndTellsHowFarItIs(t *testing.T) {
	log, l := fresh(t)
	verified(t, l)
	log.Must(logtest.To("a", 0, "a1", "a2"), logtest.To("b", 0, "b1"))
	var done, total domain.Position
	if err := l.Verify(t.Context(), func(d, of domain.Position) { done, total = d, of }); err != nil {
		t.Fatal(err)
	}
	log.Same("progress", []domain.Position{done, total}, []domain.Position{3, 3})
}

func TestVerifyNamesTheFirstWrongPosition(t *testing.T) {
	for name, c := range map[string]struct {
		tamper string
		want   domain.Position
	}{
		"data":       {`UPDATE events SET data = '{"title": "x"}' WHERE position = 2`, 2},
		"one space":  {`UPDATE events SET data = data || ' ' WHERE position = 3`, 3},
		"envelope":   {`UPDATE events SET envelope = replace(envelope, 'agent_1', 'agent_2') WHERE position = 2`, 2},
		"time":       {`UPDATE events SET recorded_at = recorded_at + 1 WHERE position = 1`, 1},
		"word":       {`UPDATE events SET word = 'article.removed' WHERE position = 4`, 4},
		"id":         {`UPDATE events SET id = 'ev_x' WHERE position = 4`, 4},
		"stream":     {`UPDATE streams SET name = 'article-home/x' WHERE id = 1`, 1},
		"removed":    {`DELETE FROM events WHERE position = 2`, 2},
		"moved":      {`UPDATE events SET position = 9 WHERE position = 4; UPDATE head SET position = 9`, 4},
		"cut":        {`DELETE FROM events WHERE position = 4`, 4},
		"added":      {`INSERT INTO events SELECT 5, 1, 9, id, word, revision, recorded_at, envelope, data, link FROM events WHERE position = 4`, 5},
		"head":       {`UPDATE head SET chain = zeroblob(32)`, 4},
		"head, time": {`UPDATE head SET recorded_at = recorded_at + 1`, 4},
	} {
		t.Run(name, func(t *testing.T) {
			log, l := fresh(t)
			log.Must(logtest.To("a", 0, "a1", "a2"), logtest.To("b", 0, "b1"))
			log.Must(logtest.To("a", 2, "a3"))
			outside(t, pathOf(l), "DROP TRIGGER events_stay; DROP TRIGGER events_remain; "+c.tamper)
			err := l.Verify(t.Context(), nil)
			var broken *chain.Broken
			if !errors.As(err, &broken) || broken.Position != c.want {
				t.Errorf("the error is %v; it is position %d", err, c.want)
			}
		})
	}
}

func TestALogWhoseHeadIsNotItsLastEventIsNotOpened(t *testing.T) {
	log, l := fresh(t)
	log.Must(logtest.To("a", 0, "a1"))
	outside(t, pathOf(l), "UPDATE head SET position = 2")
	var broken *chain.Broken
	if _, err := Open(t.Context(), pathOf(l), time.Now); !errors.As(err, &broken) {
		t.Errorf("the error is %v", err)
	}
}

func TestEventsCannotBeChangedOrRemovedByAccident(t *testing.T) {
	log, l := fresh(t)
	log.Must(logtest.To("a", 0, "a1"))
	c, err := connect(pathOf(l), settings{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, q := range []string{"UPDATE events SET data = '{}'", "DELETE FROM events"} {
		if err := sqlitex.ExecuteTransient(c, q, nil); err == nil {
			t.Errorf("%s: done", q)
		}
	}
}

func TestPeopleFindActionAndPrincipalInTheHistory(t *testing.T) {
	log, l := fresh(t)
	log.Must(logtest.To("a", 0, "a1"))
	err := l.read(t.Context(), func(c *conn) error {
		return c.query("SELECT stream, action, principal, recorded_at FROM history", func(s *sqlite.Stmt) error {
			log.Same("row", []string{s.ColumnText(0), s.ColumnText(1), s.ColumnText(2), s.ColumnText(3)}, []string{"article-home/a", "act_a1", "agent:agent_1", "2026-03-14T12:00:00.123Z"})
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestALogOfANewerProgramIsNotOpened(t *testing.T) {
	_, l := fresh(t)
	outside(t, pathOf(l), "INSERT INTO "+migrations.Table+" (version_id, is_applied) VALUES (9999, 1)")
	if _, err := Open(t.Context(), pathOf(l), time.Now); !errors.Is(err, ErrNewer) {
		t.Errorf("the error is %v", err)
	}
}

func TestAFileThatIsNoLogIsNotOpenedAndLeftAsItIs(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "other.db")
	c, err := sqlite.OpenConn(other, sqlite.OpenReadWrite, sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	if err := sqlitex.ExecuteScript(c, "CREATE TABLE notes (text TEXT); INSERT INTO notes VALUES ('mine')", nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{
		"short.txt": []byte("hello"),
		"long.txt":  []byte(strings.Repeat("not a database\n", 1000)),
		"other.db":  nil,
	}
	if files["other.db"], err = os.ReadFile(other); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), path, time.Now); !errors.Is(err, ErrForeign) {
			t.Errorf("%s: the error is %v", name, err)
		}
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, content) {
			t.Errorf("%s was changed (%v)", name, err)
		}
	}
	if _, err := Open(t.Context(), dir, time.Now); err == nil {
		t.Error("a folder was opened")
	}
	if _, err := Open(t.Context(), filepath.Join(dir, "none", "log.db"), time.Now); err == nil {
		t.Error("a file in no folder was opened")
	}
}

func TestALogWhoseMakingWasInterruptedIsMadeToItsEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	if err := create(path); err != nil {
		t.Fatal(err)
	}
	outside(t, path, "CREATE TABLE "+migrations.Table+` (id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL, is_applied INTEGER NOT NULL, tstamp TIMESTAMP DEFAULT (datetime('now')));
		INSERT INTO `+migrations.Table+` (version_id, is_applied) VALUES (0, 1)`)
	log := logtest.NewLog(t, openerIn(filepath.Dir(path)))
	log.Must(logtest.To("a", 0, "a1"))
}

func TestTheFileIsItsOwnersOnly(t *testing.T) {
	log, l := fresh(t)
	log.Must(logtest.To("a", 0, "a1"))
	for _, name := range []string{"", "-wal", "-shm"} {
		s, err := os.Stat(pathOf(l) + name)
		if err != nil {
			t.Fatal(err)
		}
		if mode := s.Mode().Perm(); mode != 0o600 {
			t.Errorf("log.db%s has the mode %o", name, mode)
		}
	}
}

func TestAPathIsAPathWhateverIsInIt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "50%41 ? #1&mode=memory")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	log := logtest.NewLog(t, openerIn(dir))
	log.Must(logtest.To("a", 0, "a1"))
	if _, err := os.Stat(filepath.Join(dir, "log.db-wal")); err != nil {
		t.Error(err)
	}
}

func TestWhatWasAnsweredIsThereAfterACrash(t *testing.T) {
	log, l := fresh(t)
	log.Must(logtest.To("a", 0, "a1", "a2"))
	log.Must(large("l1"), logtest.To("a", 2, "a3"))
	crashed := t.TempDir()
	for _, name := range []string{"", "-wal"} { // what the disk holds while the log is open
		b, err := os.ReadFile(pathOf(l) + name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(crashed, "log.db"+name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	after := logtest.NewLog(t, openerIn(crashed))
	after.Same("events", after.All(), log.All())
	after.Same("head", after.End(), log.End())
	verified(t, after.Log.(*Log))
}

func TestTheWALStartsOverInsteadOfGrowing(t *testing.T) {
	log, l := fresh(t)
	c, err := connect(pathOf(l), settings{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	longest := 0
	for i := range 8000 { // far more than is needed, should the copier be slow
		w := logtest.To("a", domain.Version(i), "x")
		w.Events[0].ID = domain.ID("ev_" + time.Duration(i).String())
		w.Events[0].Data = []byte(`"` + strings.Repeat("x", 64<<10) + `"`)
		log.Must(w)
		pages, err := checkpoint(&conn{c}, "NOOP")
		if err != nil {
			t.Fatal(err)
		}
		if pages < longest {
			if longest < full {
				t.Errorf("it started over at %d pages already", longest)
			}
			return
		}
		longest = pages
	}
	t.Errorf("the WAL has %d pages and never started over", longest)
}
