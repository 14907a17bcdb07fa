package reactions

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

// openFile opens the tables in an SQLite file, which is made for its owner's eyes
// only. A commit that a power cut takes back is only a checkpoint that is older:
// something is then sent once more under its id.
func openFile(ctx context.Context, path string) (_ *sql.DB, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err == nil {
		err = f.Close()
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	name := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: url.Values{
		"_txlock": {"immediate"},
		"_pragma": {"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(NORMAL)", "foreign_keys(1)"},
	}.Encode()}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // writers queue instead of polling: SQLite has one writer
	defer func() {
		if err != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	version, err := fileVersion(ctx, db)
	if told, ok := errors.AsType[*sqlite.Error](err); ok && told.Code() == sqlite3.SQLITE_NOTADB {
		return nil, fmt.Errorf("%s: %w", path, ErrForeign)
	}
	if err != nil {
		return nil, err
	}
	return db, upToDate(ctx, db, migrations.ReactionsSQLite(), version)
}

// fileVersion is the version of a file's tables: 0 for one that is still empty.
func fileVersion(ctx context.Context, db *sql.DB) (version int64, err error) {
	var marks, tables int
	err = db.QueryRowContext(ctx, `
		SELECT COUNT(*) FILTER (WHERE name IN ($1, 'reactions')), COUNT(*) FILTER (WHERE name <> $1) FROM sqlite_schema
		WHERE type = 'table' AND name NOT LIKE 'sqlite%'`, migrations.Table).Scan(&marks, &tables)
	switch {
	case err != nil || tables == 0:
		return 0, err
	case marks < 2:
		return 0, ErrForeign
	}
	err = db.QueryRowContext(ctx, `SELECT MAX(version_id) FROM `+migrations.Table).Scan(&version)
	return version, err
}

// upToDate brings tables of a version to the newest one.
func upToDate(ctx context.Context, db *sql.DB, set migrations.Set, version int64) error {
	latest, err := set.Latest()
	switch {
	case err != nil || version == latest:
		return err
	case version > latest:
		return fmt.Errorf("%w (its tables have version %d, this program knows %d)", ErrNewer, version, latest)
	}
	return set.Apply(ctx, db)
}
