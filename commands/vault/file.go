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

	migrations "assent/migrations/vault"

	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite" // the driver
)

// openFiles opens the database and brings it to the newest schema.
func (v *Vault) openFiles(ctx context.Context, path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if err := guard(path); err != nil {
		return err
	}
	v.write, err = connect(path, 1, "_txlock", "immediate")
	if err != nil {
		return err
	}
	steps, err := goose.NewProvider(goose.DialectSQLite3, v.write, migrations.Files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	if _, err := steps.Up(ctx); err != nil {
		return fmt.Errorf("bring %s up to date: %w", filepath.Base(path), err)
	}
	v.read, err = connect(path, 4, "_pragma", "query_only(1)")
	return err
}

func (v *Vault) closeFiles() error {
	var errs []error
	for _, db := range []*sql.DB{v.read, v.write} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
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

// connect opens at most n connections, each with what the vault promises.
func connect(path string, n int, parameter, value string) (*sql.DB, error) {
	query := url.Values{"_pragma": {
		"busy_timeout(10000)",
		"journal_mode(WAL)",
		"synchronous(FULL)",
		"foreign_keys(1)",
		"secure_delete(1)",
		"temp_store(MEMORY)", // nothing personal in temporary files
	}}
	query.Add(parameter, value)
	name := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: query.Encode()}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return db, nil
}
