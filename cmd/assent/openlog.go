package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"assent/commands"
	"assent/commands/eventlog/eventstoredb"
	"assent/commands/eventlog/postgres"
	"assent/commands/eventlog/sqlite"
)

// logFlag is which log a command works with. A command that joins a server
// works with the server's.
type logFlag struct {
	Log string `help:"The log: sqlite: (in the data folder), sqlite:FILE, postgres://…, esdb://… or esdb+discover://…; where it has a password, give it as ASSENT_LOG." env:"ASSENT_LOG" placeholder:"URL"`
}

// stores are where a command that opens a data folder finds what is not, or
// need not be, in it.
type stores struct {
	logFlag
	Read   string `help:"Read models: sqlite: (in the data folder), sqlite:FILE or postgres://…, in its schema assent_read." default:"sqlite:" env:"ASSENT_READ" placeholder:"URL"`
	People string `help:"People and keys: sqlite: (in the data folder), sqlite:FILE or postgres://…; the log's own database where that is PostgreSQL, else the data folder." env:"ASSENT_PEOPLE" placeholder:"URL"`
}

// peopleIn is where people and keys are: several servers on one log need the
// same ones, so they are beside it where it can be shared.
func peopleIn(url, log, dir string) (string, error) {
	kind, where, err := splitLog(log, dir)
	switch {
	case err != nil:
		return "", err
	case url == "" && kind == inPostgres:
		return where, nil
	case url == "" || url == "sqlite:":
		return filepath.Join(dir, "people.db"), nil
	}
	return url, nil
}

// openLog opens the log that a URL names, and makes it where there is none. It
// answers within seconds, and its errors hold no password.
func openLog(ctx context.Context, url, dir string, clock func() time.Time) (commands.Log, error) {
	kind, where, err := splitLog(url, dir)
	if err != nil {
		return nil, err
	}
	switch kind {
	case inPostgres:
		return asLog(postgres.Open(ctx, where, clock))
	case inEventStoreDB:
		return asLog(eventstoredb.Open(ctx, where, clock, eventstoredb.Bookmark(filepath.Join(dir, "log.mark"))))
	default:
		return asLog(sqlite.Open(ctx, where, clock))
	}
}

// asLog keeps a log that is nil inside from looking like one, and what drivers
// say in several lines to one.
func asLog[L commands.Log](l L, err error) (commands.Log, error) {
	if err != nil {
		return nil, oneLine{err}
	}
	return l, nil
}

// oneLine is an error told in one line.
type oneLine struct{ error }

func (e oneLine) Error() string { return strings.Join(strings.Fields(e.error.Error()), " ") }

func (e oneLine) Unwrap() error { return e.error }

// lockLog takes a log in a file outside of the data folder for this process
// alone, as the folder's lock does for what is in it: a server knows its
// file's end without asking. It is the file itself that counts, by whatever
// links it is reached; one with two names of its own would have two write-ahead
// logs, and is refused.
func lockLog(url, dir string) (taken locks, err error) {
	kind, path, err := splitLog(url, dir)
	if err != nil || kind != inSQLite {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		real, err = path, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find the log: %w", err)
	}
	if info, err := os.Stat(real); err == nil {
		if at, ok := info.Sys().(*syscall.Stat_t); ok && at.Nlink > 1 {
			return nil, fmt.Errorf("the log in %s has a second name, so two processes could write to it unknown to each other: give it one name", path)
		}
	}
	folder := filepath.Dir(real)
	if own, err := filepath.EvalSymlinks(dir); err == nil && own == folder {
		return nil, nil
	}
	names := []string{real + ".lock"}
	if _, err := os.Stat(filepath.Join(folder, "lock")); err == nil { // it is a data folder
		names = append(names, filepath.Join(folder, "lock"))
	}
	for _, name := range names {
		lock := flock.New(name)
		free, err := lock.TryLock()
		switch {
		case err != nil:
			return nil, errors.Join(fmt.Errorf("lock the log: %w", err), taken.Unlock())
		case !free:
			return nil, errors.Join(fmt.Errorf("the log in %s is in use by a process with another data folder: %w", path, errTaken), taken.Unlock())
		}
		taken = append(taken, lock)
	}
	return taken, nil
}

// locks are several that are let go of together.
type locks []*flock.Flock

// Unlock lets go of all.
func (l locks) Unlock() error {
	var errs []error
	for _, lock := range l {
		errs = append(errs, lock.Unlock())
	}
	return errors.Join(errs...)
}

// errTaken says that another process has what this one needs alone.
var errTaken = errors.New("only one at a time can have it; several servers share a log on PostgreSQL")
