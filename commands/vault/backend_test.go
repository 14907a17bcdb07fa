package vault_test

import (
	"bytes"
	"database/sql"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"assent/commands/eventlog/postgres/pgtest"
	"assent/commands/vault"

	_ "github.com/jackc/pgx/v5/stdlib"
)

// backend is a kind of database that a vault can be in.
type backend struct {
	name   string
	place  func(testing.TB) string                                       // where a vault could be
	beside func(t testing.TB, v *vault.Vault, place string) *vault.Vault // the same vault as another instance has it
	tables func(t testing.TB, place string) *sql.DB                      // past the vault
	files  func(t testing.TB, place string) []byte                       // all there is on the disk
}

var (
	inFile = backend{
		name:  "sqlite",
		place: newPath,
		// One process has a file: all in it share one vault.
		beside: func(_ testing.TB, v *vault.Vault, _ string) *vault.Vault { return v },
		tables: func(t testing.TB, path string) *sql.DB { return raw(t, "sqlite", path) },
		files:  filesBeside,
	}
	onServer = backend{
		name:   "postgres",
		place:  pgtest.Database,
		beside: func(t testing.TB, _ *vault.Vault, where string) *vault.Vault { return open(t, where) },
		tables: func(t testing.TB, where string) *sql.DB {
			return raw(t, "pgx", pgtest.With(t, where, "search_path", "assent_people"))
		},
		files: filesOfServer,
	}
)

// each runs a test on every kind of database.
func each(t *testing.T, test func(*testing.T, backend)) {
	for _, b := range []backend{inFile, onServer} {
		t.Run(b.name, func(t *testing.T) { test(t, b) })
	}
}

// eachBench is each for benchmarks.
func eachBench(b *testing.B, bench func(*testing.B, backend)) {
	for _, kind := range []backend{inFile, onServer} {
		b.Run(kind.name, func(b *testing.B) { bench(b, kind) })
	}
}

// withPeople is a new vault with ada, bob and eve in it.
func (b backend) withPeople(t testing.TB) *vault.Vault {
	t.Helper()
	v := open(t, b.place(t))
	for _, p := range []vault.Person{ada, bob, eve} {
		must(t, v.AddPerson(t.Context(), p))
	}
	return v
}

// pair is a new vault as two instances have it, and where it is.
func (b backend) pair(t testing.TB) (one, two *vault.Vault, place string) {
	t.Helper()
	place = b.place(t)
	one = open(t, place)
	return one, b.beside(t, one, place), place
}

func raw(t testing.TB, driver, name string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, name)
	must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// filesBeside is what is in any file beside path.
func filesBeside(t testing.TB, path string) (all []byte) {
	t.Helper()
	must(t, filepath.WalkDir(filepath.Dir(path), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(name)
		all = append(all, b...)
		return err
	}))
	return all
}

// filesOfServer is what is in any file of the database: also of tables that
// are not the vault's, and of files that are no table's any more.
func filesOfServer(t testing.TB, where string) []byte {
	t.Helper()
	db := raw(t, "pgx", where)
	defer db.Close()
	_, err := db.ExecContext(t.Context(), `CHECKPOINT`) // what is only in memory so far
	must(t, err)
	rows, err := db.QueryContext(t.Context(), `
		SELECT pg_read_binary_file(file, 0, 1 << 28, true) FROM (
			SELECT 'base/' || d.oid || '/' || f AS file
			FROM pg_database d, pg_ls_dir('base/' || d.oid) f WHERE datname = current_database()) AS files`)
	must(t, err)
	defer rows.Close()
	var all bytes.Buffer
	for rows.Next() {
		var b []byte
		must(t, rows.Scan(&b))
		all.Write(b)
	}
	must(t, rows.Err())
	return all.Bytes()
}
