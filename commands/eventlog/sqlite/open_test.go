package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// Every file that does not open says in a sentence what to do, at once, and is
// left as it is.
func TestWhatDoesNotOpenSaysWhatToDo(t *testing.T) {
	sound := filepath.Join(t.TempDir(), "log.db")
	if err := openAt(t, sound, time.Now).Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(sound)
	if err != nil {
		t.Fatal(err)
	}
	sql := func(script string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite, sqlite.OpenCreate)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if err := sqlitex.ExecuteScript(c, script, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	holds := func(content []byte) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		prepare func(*testing.T, string)
		says    string
	}{
		"another program's database": {sql("PRAGMA application_id = 7; CREATE TABLE t (x)"), "not an Assent log"},
		"a database of nobody's":     {sql("CREATE TABLE t (x)"), "not an Assent log"},
		"no database":                {holds([]byte(strings.Repeat("hello ", 1000))), "not an Assent log"},
		"a database that was cut":    {holds(whole[:len(whole)/2]), "put a backup in its place"},
		"a newer log": {func(t *testing.T, path string) {
			holds(whole)(t, path)
			outside(t, path, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)")
		}, "newer version of Assent"},
		"a folder": {func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}, "this is a folder"},
		"a file that another holds for itself": {func(t *testing.T, path string) {
			holds(whole)(t, path)
			hold(t, path, "PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE")
		}, "another process holds this file"},
		"a file that another writes to and does not end": {func(t *testing.T, path string) {
			holds(whole)(t, path)
			hold(t, path, "BEGIN IMMEDIATE")
		}, "another process holds this file"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log.db")
			c.prepare(t, path)
			began := time.Now()
			l, err := Open(t.Context(), path, time.Now, BusyFor(20*time.Millisecond))
			if err == nil {
				t.Fatal("it opened", l.Close())
			}
			if !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), path) {
				t.Errorf("it says %q", err)
			}
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// hold keeps a connection with a transaction that does not end before the test
// does.
func hold(t *testing.T, path, script string) {
	t.Helper()
	c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	for _, q := range strings.Split(script, ";") {
		if err := sqlitex.ExecuteTransient(c, q, nil); err != nil {
			t.Fatal(err)
		}
	}
}
