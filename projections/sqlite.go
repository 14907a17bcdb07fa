package projections

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"modernc.org/sqlite" // also the driver
)

// files is a generation a file beside the path it was given: read.db is
// read-1.db, read-2.db and so on. Loading one leaves the others alone, and
// removing one gives its room back. One that is being made has another ending,
// so that nobody takes it for whole.
type files struct{ stem string }

const (
	whole  = ".db"
	making = ".making"
)

func openFiles(_ context.Context, path string) (database, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, fmt.Errorf("open the read models: %s is a folder, not a file", path)
	}
	return files{strings.TrimSuffix(path, filepath.Ext(path))}, nil
}

func (f files) path(number int64, ending string) string {
	return f.stem + "-" + strconv.FormatInt(number, 10) + ending
}

// source is what the driver opens.
func source(path, settings string) string {
	return "file:" + url.PathEscape(path) + "?_pragma=busy_timeout(5000)&" + settings
}

// asWhole are the settings of a generation: it loses nothing that was
// committed when a process dies.
const asWhole = "mode=rw&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&"

func pool(path, settings string, connections int) (*sql.DB, error) {
	db, err := sql.Open("sqlite", source(path, settings))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db, nil
}

// numbers are the files of an ending that are there, by their numbers.
func (f files) numbers(ending string) (map[int64]string, error) {
	entries, err := os.ReadDir(filepath.Dir(f.stem))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	found := map[int64]string{}
	for _, e := range entries {
		number, ours := strings.CutPrefix(e.Name(), filepath.Base(f.stem)+"-")
		number, ends := strings.CutSuffix(number, ending)
		if n, wrong := strconv.ParseInt(number, 10, 64); ours && ends && wrong == nil && n > 0 {
			found[n] = filepath.Join(filepath.Dir(f.stem), e.Name())
		}
	}
	return found, err
}

func (files) prepare(context.Context) error       { return nil }
func (files) there(context.Context) (bool, error) { return true, nil }

func (f files) list(ctx context.Context) ([]checkpoint, error) {
	there, err := f.numbers(whole)
	if err != nil {
		return nil, err
	}
	var list []checkpoint
	for number, path := range there {
		c, err := f.look(ctx, path)
		if _, gone := os.Stat(path); errors.Is(gone, fs.ErrNotExist) {
			continue // dropped meanwhile
		}
		if err != nil {
			return nil, fmt.Errorf("%s is no file of read models that can be read (it can be deleted, and is folded again from the log): %w", path, err)
		}
		if c.generation != number {
			return nil, fmt.Errorf("%s holds generation %d: put it back where it was, or delete it", path, c.generation)
		}
		list = append(list, c)
	}
	return list, nil
}

func (f files) look(ctx context.Context, path string) (c checkpoint, err error) {
	db, err := pool(path, "_pragma=query_only(1)&mode=rw", 1) // rw: SQLite makes none
	if err != nil {
		return c, err
	}
	list, err := checkpoints(ctx, db, "")
	if err = errors.Join(err, db.Close()); err != nil {
		return c, err
	}
	if len(list) != 1 {
		return c, fmt.Errorf("it has %d checkpoints", len(list))
	}
	return list[0], nil
}

func (f files) open(ctx context.Context, number int64) (db, reads *sql.DB, err error) {
	path := f.path(number, whole)
	if db, err = pool(path, asWhole+"_pragma=cache_size(-32768)&_pragma=wal_autocheckpoint(4000)&_txlock=immediate", 1); err != nil {
		return nil, nil, err
	}
	if err := db.PingContext(ctx); err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	if reads, err = pool(path, asWhole+"_pragma=query_only(1)", 8); err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return db, reads, nil
}

// private makes a file for its owner's eyes only, unless it is there.
func private(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

func (f files) drop(_ context.Context, number int64) error {
	return errors.Join(remove(f.path(number, making)), remove(f.path(number, whole)))
}

func (f files) abandoned(context.Context) error {
	there, err := f.numbers(making)
	for _, path := range there {
		err = errors.Join(err, remove(path))
	}
	return errors.Join(err, remove(f.stem+whole)) // what earlier versions of this program kept
}

// remove removes a database's files, as far as they are there.
func remove(path string) (err error) {
	for _, file := range []string{path, path + "-wal", path + "-shm", path + "-journal"} {
		if gone := os.Remove(file); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

// claim locks a file that holds nothing else. SQLite knows how to, everywhere,
// so that the lock ends with the process.
func (f files) claim(ctx context.Context, wait bool) (func(), error) {
	patience := 0
	if wait {
		patience = 60_000
	}
	if err := private(f.stem + ".claim"); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", "file:"+url.PathEscape(f.stem+".claim")+"?_txlock=exclusive&_pragma=busy_timeout("+strconv.Itoa(patience)+")")
	if err != nil {
		return nil, err
	}
	tx, err := db.BeginTx(context.WithoutCancel(ctx), nil)
	if err == nil {
		return func() { _ = errors.Join(tx.Rollback(), db.Close()) }, nil // the lock ends, whatever they say
	}
	if busy, ok := errors.AsType[*sqlite.Error](err); ok && busy.Code()&0xff == 5 {
		err = errClaimed
	}
	return nil, errors.Join(err, db.Close())
}

func (files) release(db *sql.DB) error { return db.Close() }
func (files) close() error             { return nil }

// patient spares every statement the goroutine that watches over it.
func (files) patient(ctx context.Context) context.Context { return context.WithoutCancel(ctx) }

func (files) spelled(text string) string { return positional(text) }
func (files) textType() string           { return "TEXT" }
func (files) locked() (string, string)   { return "", "" } // the transaction itself is the lock
func (files) snapshot() *sql.TxOptions   { return nil }
