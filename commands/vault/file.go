package vault

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"assent/migrations"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// openFile opens a vault in an SQLite file.
func openFile(ctx context.Context, path string) (_ *store, err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := guard(path); err != nil {
		return nil, err
	}
	if err := prepareFile(ctx, path); err != nil {
		return nil, err
	}
	// With one connection writers queue instead of polling: SQLite has one writer.
	write, err := connect(path, 1, url.Values{"_txlock": {"immediate"}, "_pragma": promises})
	if err != nil {
		return nil, err
	}
	read, err := connect(path, 4, url.Values{"_pragma": append([]string{"query_only(1)"}, promises...)})
	if err != nil {
		return nil, errors.Join(err, write.Close())
	}
	return &store{
		write: write, read: read,
		elements: "json_each",
		wipe:     func(ctx context.Context) error { return wipeFile(ctx, write) },
	}, nil
}

// promises are what the vault needs of a connection to a file.
var promises = []string{
	"busy_timeout(10000)",
	"journal_mode(WAL)",
	"synchronous(FULL)",
	"foreign_keys(1)",
	"secure_delete(1)",
	"temp_store(MEMORY)", // nothing personal in temporary files
}

// guard makes the file, so that it never exists with wider rights, or takes
// them away. SQLite gives the files beside it the same rights. A file that is
// there is not opened: closing it would drop the locks other connections of
// this process hold on it.
func guard(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err == nil {
		return f.Close()
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	for _, end := range []string{"", "-wal", "-shm"} {
		if err := os.Chmod(path+end, 0o600); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// prepareFile sees that the file is ours before anything is changed in it, and
// brings its tables up to date.
func prepareFile(ctx context.Context, path string) error {
	latest, err := migrations.VaultSQLite().Latest()
	if err != nil {
		return err
	}
	version, err := fileVersion(ctx, path)
	if told, ok := errors.AsType[*sqlite.Error](err); ok && told.Code() == sqlite3.SQLITE_NOTADB {
		return ErrForeign
	}
	if err != nil {
		return err
	}
	if done, err := upToDate(version, latest); done || err != nil {
		return err
	}
	db, err := connect(path, 1, url.Values{"_txlock": {"immediate"}, "_pragma": promises})
	if err != nil {
		return err
	}
	err = errors.Join(migrations.VaultSQLite().Apply(ctx, db), db.Close())
	if err != nil {
		return fmt.Errorf("bring %s up to date: %w", filepath.Base(path), err)
	}
	return nil
}

// fileVersion is the version of a file's tables: 0 for one that is still empty.
// What was interrupted before the first step has goose's table only.
func fileVersion(ctx context.Context, path string) (version int64, err error) {
	db, err := connect(path, 1, url.Values{"_pragma": promises[:1]})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var marks, tables int
	err = db.QueryRowContext(ctx, `
		SELECT COUNT(*) FILTER (WHERE name IN ($1, 'vault')), COUNT(*) FILTER (WHERE name <> $1) FROM sqlite_schema
		WHERE type = 'table' AND name NOT LIKE 'sqlite%'`, migrations.Table).Scan(&marks, &tables)
	switch {
	case err != nil:
		return 0, err
	case tables == 0:
		return 0, nil
	case marks < 2:
		return 0, ErrForeign
	}
	err = db.QueryRowContext(ctx, `SELECT MAX(version_id) FROM `+migrations.Table).Scan(&version)
	return version, err
}

// connect opens at most n connections to a file.
func connect(path string, n int, parameters url.Values) (*sql.DB, error) {
	name := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: parameters.Encode()}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return db, nil
}

// wipeFile: deleted rows are overwritten with zeros as they go, but when SQLite
// moves rows between pages it may leave a copy behind, so the file is written
// anew; and the write-ahead log still holds the pages as they were, so it is
// emptied.
func wipeFile(ctx context.Context, db *sql.DB) error {
	if _, err := db.ExecContext(ctx, `VACUUM`); err != nil {
		return fmt.Errorf("write the vault anew: %w", err)
	}
	var busy, pages, moved int
	err := db.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &pages, &moved)
	if err == nil && busy != 0 {
		err = errStillRead
	}
	if err != nil {
		return fmt.Errorf("empty the write-ahead log: %w", err)
	}
	return nil
}
