package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"assent/commands/eventlog/chain"
	"assent/commands/eventlog/sqlite"
	"assent/commands/vault"
	"assent/domain"
)

// backupCmd copies a log while it is written to. It reads the file beside
// whoever serves it: nobody waits for it, and what it makes is its own user's.
//
// The log is all by itself by default, since it can be kept for ever. People
// are copied only when asked for, into a file of their own: a copy of their
// keys brings an erased person back, and has to be thrown away in time.
type backupCmd struct {
	Log    string `help:"The log: sqlite:FILE; the data folder's unless said." env:"ASSENT_LOG"`
	To     string `help:"A new file, or a folder to make one in." default:"." type:"path"`
	People bool   `help:"Copy people.db too, into a second file. Keep that one for a short time only: it holds the keys of everyone who is erased later."`
}

// backedUp is what was copied, as one JSON value.
type backedUp struct {
	File   string          `json:"file"`
	Events domain.Position `json:"events"`
	Mark   string          `json:"mark"` // position:hash of the last event
	People string          `json:"people,omitempty"`
}

// onlyFiles refuses a log that has ways of its own.
const onlyFiles = "Only a log in a file is copied like this. For PostgreSQL use pg_dump, for EventStoreDB its own backup; `assent log copy` copies any log into a file."

// Run copies and says what was copied.
func (c *backupCmd) Run(e *env) error {
	kind, from, err := splitLog(c.Log, e.Data)
	if err != nil {
		return err
	}
	if kind != inSQLite {
		return domain.Refuse("unsupported", onlyFiles)
	}
	if _, err := os.Stat(from); err != nil {
		return fmt.Errorf("there is no data in %s: %w", e.Data, err)
	}
	done := backedUp{File: c.file(time.Now())}
	mark, err := sqlite.Backup(e.ctx, from, done.File, progress(e, "verified"))
	if err != nil {
		return notCopied(done.File, err)
	}
	done.Events, done.Mark = mark.Position, mark.String()
	if c.People {
		done.People = strings.TrimSuffix(done.File, ".db") + ".people.db"
		if err := vault.CopyFile(e.ctx, filepath.Join(e.Data, "people.db"), done.People); err != nil {
			return fmt.Errorf("the log is in %s, but people were not copied: %w", done.File, err)
		}
	}
	if e.JSON {
		return json.NewEncoder(e.out).Encode(done)
	}
	fmt.Fprintf(e.out, "backup: ok, %d events in %s\nmark: %s\n", done.Events, done.File, done.Mark)
	if c.People {
		fmt.Fprintf(e.out, "people: %s\nThrow this second file away in time: whoever is erased from now on is still in it. The secret is in neither; keep it apart.\n", done.People)
	}
	return nil
}

// file is where the copy goes.
func (c *backupCmd) file(now time.Time) string {
	if info, err := os.Stat(c.To); err == nil && info.IsDir() {
		return filepath.Join(c.To, "assent-"+now.UTC().Format("20060102T150405.000Z")+".db")
	}
	return c.To
}

func progress(e *env, what string) func(done, total domain.Position) {
	draw := progressOn(e.err, what)
	return func(done, total domain.Position) { draw(int(done), int(total)) }
}

// notCopied says why there is no copy.
func notCopied(to string, err error) error {
	switch {
	case errors.Is(err, sqlite.ErrExists):
		return ended{exitUsage, err.Error()}
	case errors.Is(err, context.Canceled):
		return ended{exitClosed, fmt.Sprintf("stopped; %s was not made", to)}
	}
	if broken, ok := chain.IsBroken(err); ok {
		return ended{exitFound, fmt.Sprintf("%s was not made: %v", to, broken)}
	}
	return fmt.Errorf("%s was not made: %w", to, err)
}
