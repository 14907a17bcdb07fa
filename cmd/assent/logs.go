package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"assent/commands"
	"assent/commands/eventlog/chain"
	"assent/commands/eventlog/eventstoredb"
	"assent/commands/eventlog/postgres"
	"assent/commands/eventlog/sqlite"
	"assent/commands/eventlog/transfer"
)

// headFunc says where a log ends.
type headFunc = func(context.Context) (commands.Head, error)

// storedLog is a log opened to be read as it is, sound or not.
type storedLog interface {
	chain.Reader
	io.Closer
}

// loadedLog is a log opened to be loaded.
type loadedLog interface {
	transfer.Target
	io.Closer
}

// The start of a log's URL says what keeps it.
const (
	inSQLite       = "sqlite"
	inPostgres     = "postgres"
	inEventStoreDB = "eventstoredb"
)

// splitLog reads the URL of a log: what keeps it, and where. A SQLite log
// without a path is the data folder's.
func splitLog(url, dir string) (kind, where string, err error) {
	scheme, rest, found := strings.Cut(url, ":")
	switch {
	case url == "" || found && scheme == inSQLite && rest == "":
		return inSQLite, filepath.Join(dir, "log.db"), nil
	case found && scheme == inSQLite:
		return inSQLite, strings.TrimPrefix(rest, "//"), nil
	case found && (scheme == inPostgres || scheme == "postgresql"):
		return inPostgres, url, nil
	case found && (scheme == "esdb" || scheme == "esdb+discover"):
		return inEventStoreDB, url, nil
	}
	return "", "", errors.New("a log is named sqlite:, sqlite:FILE, postgres://…, esdb://… or esdb+discover://…; what was given (--log, ASSENT_LOG) begins with none of these") // it may hold a password
}

// openStored opens a log to be read as it is. It makes nothing.
func openStored(ctx context.Context, url, dir string) (storedLog, error) {
	kind, where, err := splitLog(url, dir)
	if err != nil {
		return nil, err
	}
	switch kind {
	case inPostgres:
		return opened(postgres.OpenStored(ctx, where))
	case inEventStoreDB:
		return opened(eventstoredb.OpenNumbered(ctx, where, marked(dir)...))
	default:
		return opened(sqlite.OpenStored(where))
	}
}

// marked is a data folder's bookmark of a log on EventStoreDB, if it has one.
func marked(dir string) []eventstoredb.Option {
	path := filepath.Join(dir, "log.mark")
	if _, err := os.Stat(path); err != nil {
		return nil
	}
	return []eventstoredb.Option{eventstoredb.Bookmark(path)}
}

// openLoaded opens a log to be loaded, and makes it where there is none.
func openLoaded(ctx context.Context, url, dir string) (loadedLog, error) {
	kind, where, err := splitLog(url, dir)
	if err != nil {
		return nil, err
	}
	switch kind {
	case inPostgres:
		l, err := postgres.OpenLoader(ctx, where)
		if err != nil {
			return nil, err
		}
		return l, nil
	case inEventStoreDB:
		l, err := eventstoredb.OpenNumbered(ctx, where)
		if err != nil {
			return nil, err
		}
		return l, nil
	default:
		l, err := sqlite.OpenLoader(ctx, where)
		if err != nil {
			return nil, err
		}
		return l, nil
	}
}

// opened keeps a log that is nil inside from looking like one.
func opened[L storedLog](l L, err error) (storedLog, error) {
	if err != nil {
		return nil, err
	}
	return l, nil
}

// closing joins what closing says to an error.
func closing(err error, c io.Closer) error {
	closed := c.Close()
	if err == nil {
		return closed
	}
	if closed == nil {
		return err // as it is: how the program ends depends on it
	}
	return errors.Join(err, fmt.Errorf("closing: %w", closed))
}
