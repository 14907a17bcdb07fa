package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"zombiezen.com/go/sqlite"

	_ "modernc.org/sqlite" // database/sql driver "sqlite", which the migrations need

	"assent/migrations"
)

// Why a file is not opened.
var (
	// ErrForeign is a file that is no log of ours. It is left as it is.
	ErrForeign = errors.New("this file is not an Assent log; name another file, or move it away")
	// ErrNewer is a log that a newer program has written. It is left as it is.
	ErrNewer = errors.New("this log was written by a newer version of Assent; open it with that version or a later one")
)

// application is what our files hold as SQLite's application_id: "ASNT".
const application = 0x41534e54

// explained says what a person can do about what SQLite says of a file.
func explained(err error) error {
	what := ""
	switch code(err) {
	case sqlite.ResultBusy, sqlite.ResultLocked:
		what = "another process holds this file; stop it, or try again when it is done (if there is none, start again)"
	case sqlite.ResultReadOnly:
		what = "this file, or its folder, cannot be written to; give its owner the right to, or move it to a disk that can be written, then start again"
	case sqlite.ResultCorrupt:
		what = "this file is damaged or cut; put a backup in its place (assent restore)"
	case sqlite.ResultFull:
		what = "the disk is full; make room on it"
	case sqlite.ResultIOErr:
		what = "the disk did not read or write this file; look after the disk, then start again"
	case sqlite.ResultPerm, sqlite.ResultAuth, sqlite.ResultCantOpen:
		what = "this file, or one beside it, may not be opened; see who owns the folder and what is in it, then start again"
	case sqlite.ResultProtocol:
		what = "the locks of this file are stuck; start again"
	default:
		return err
	}
	return fmt.Errorf("%s: %w", what, err)
}

// errFolder is a folder where a file should be.
var errFolder = errors.New("this is a folder, not a file; name the file of the log")

// prepare makes the file if there is none, sees that it is ours and brings its
// tables up to date.
func prepare(ctx context.Context, path string, set settings) error {
	if err := create(path); err != nil {
		return err
	}
	latest, err := migrations.LogSQLite().Latest()
	if err != nil {
		return err
	}
	version, err := inspect(path, set)
	switch {
	case err != nil:
		return err
	case version > latest:
		return fmt.Errorf("%w (its tables have version %d, this program knows %d)", ErrNewer, version, latest)
	case version == latest:
		return nil
	}
	return migrate(ctx, path)
}

// create makes an empty file only its owner can read; SQLite gives the WAL the
// same mode.
func create(path string) error {
	// A file that exists is not even opened: closing it would drop the locks
	// that SQLite holds on it for others in this process.
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return errFolder
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// inspect gives the version of a file's tables: 0 for one that is still empty.
// It turns WAL on, which stays with the file, once the file is known to be
// ours.
func inspect(path string, set settings) (version int64, err error) {
	raw, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		return 0, err
	}
	defer func() { err = first(err, raw.Close()) }()
	raw.SetBusyTimeout(set.busy)
	c := conn{raw}
	id, err := c.number("PRAGMA application_id")
	if code(err) == sqlite.ResultNotADB {
		return 0, ErrForeign
	}
	if err != nil {
		return 0, err
	}
	// What was interrupted before the first migration has goose's table only.
	foreign, err := c.number("SELECT count(*) FROM sqlite_schema WHERE tbl_name NOT IN ('" + migrations.Table + "', 'sqlite_sequence')")
	if err != nil {
		return 0, err
	}
	if id != application && (id != 0 || foreign > 0) {
		return 0, ErrForeign
	}
	if err := c.wal(); err != nil {
		return 0, err
	}
	if id == 0 {
		return 0, nil
	}
	return c.number("SELECT max(version_id) FROM " + migrations.Table)
}

// wal turns WAL on. SQLite answers with the mode that it is in then.
func (c conn) wal() error {
	mode := ""
	err := c.query("PRAGMA journal_mode=WAL", func(s *sqlite.Stmt) error {
		mode = s.ColumnText(0)
		return nil
	})
	if err == nil && mode != "wal" {
		err = fmt.Errorf("the file's journal mode stays %q where WAL is needed; is it on a network disk?", mode)
	}
	return err
}

// number is the one number that a query gives.
func (c conn) number(query string) (n int64, err error) {
	err = c.query(query, func(s *sqlite.Stmt) error {
		n = s.ColumnInt64(0)
		return nil
	})
	return n, err
}

func migrate(ctx context.Context, path string) (err error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	name := url.URL{Scheme: "file", Path: filepath.ToSlash(abs)} // escapes what would read as a parameter
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return err
	}
	defer func() { err = first(err, db.Close()) }()
	return migrations.LogSQLite().Apply(ctx, db)
}
