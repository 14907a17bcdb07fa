package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"assent/commands/eventlog/sqlite"
	"assent/commands/vault"
)

// restoreCmd makes a data folder from a backup. Nothing is put in place that is
// not a whole log; the read models are folded anew at the next start.
type restoreCmd struct {
	From     string `arg:"" help:"The file that assent backup made." type:"path"`
	People   string `help:"The people that were copied with it. Their secret has to be in the folder (or named by ASSENT_SECRET_FILE) first." type:"path"`
	ErasedIn string `help:"A newer people.db, such as the damaged folder's: whoever was erased there is erased again." name:"erased-in" type:"path"`
}

// restored is what was put in place, as one JSON value.
type restored struct {
	backedUp
	Erased int `json:"erasedAgain,omitempty"`
}

// Run restores and says what is to be done next.
func (c *restoreCmd) Run(e *env) (err error) {
	if c.ErasedIn != "" && c.People == "" {
		return ended{exitUsage, "--erased-in goes with --people"}
	}
	if err := os.MkdirAll(e.Data, 0o700); err != nil {
		return err
	}
	lock := flock.New(filepath.Join(e.Data, "lock"))
	if free, err := lock.TryLock(); err != nil || !free {
		return fmt.Errorf("%s is in use; restore into an empty folder: %w", e.Data, errors.Join(err, errServed))
	}
	defer func() { err = closing(err, lock) }()
	if err := vacant(e.Data); err != nil {
		return err
	}
	done := restored{backedUp: backedUp{File: filepath.Join(e.Data, "log.db")}}
	people := filepath.Join(e.Data, "people.db")
	defer func() { // there is one only after an error
		if gone := os.Remove(people + ".part"); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}()
	if c.People != "" {
		if done.Erased, err = c.people(e.ctx, e.Data, people+".part"); err != nil {
			return err
		}
	}
	mark, err := sqlite.Restore(e.ctx, c.From, done.File, progress(e, "verified"))
	if err != nil {
		return notCopied(done.File, fmt.Errorf("%s is no whole log: %w", c.From, err))
	}
	done.Events, done.Mark = mark.Position, mark.String()
	if c.People != "" {
		if err := os.Rename(people+".part", people); err != nil {
			return err
		}
		done.People = people
	}
	if e.JSON {
		return json.NewEncoder(e.out).Encode(done)
	}
	fmt.Fprintf(e.out, "restore: ok, %d events in %s\nmark: %s\n", done.Events, done.File, done.Mark)
	fmt.Fprintln(e.out, c.next(done.Erased))
	return nil
}

// next is what a person has to think of now.
func (c *restoreCmd) next(erased int) string {
	switch {
	case c.People == "":
		return "People are not in it: put people.db and its secret into the folder before serving, or nobody can sign in."
	case c.ErasedIn == "":
		return "Whoever was erased since that copy of the people was made is back, keys and all: erase them again, before anyone else signs in."
	}
	return fmt.Sprintf("Erased again: %d people.", erased)
}

// vacant refuses a folder with anything in it but a secret, which the people
// need, and the key that heads are signed with, which may be kept.
func vacant(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, f := range entries {
		if name := f.Name(); name != "lock" && name != "secret" && name != "log.key" {
			return ended{exitUsage, fmt.Sprintf("there is %s in %s already; a backup is restored into an empty folder (secret and log.key may be in it)", name, dir)}
		}
	}
	return err
}

// people copies the people to part and erases whom it must.
func (c *restoreCmd) people(ctx context.Context, dir, part string) (erased int, err error) {
	secret, err := givenSecret(dir)
	if err != nil {
		return 0, err
	}
	var gone []vault.Gone
	if c.ErasedIn != "" {
		if gone, err = vault.ErasedIn(ctx, c.ErasedIn); err != nil {
			return 0, err
		}
	}
	if err := vault.CopyFile(ctx, c.People, part); err != nil {
		return 0, err
	}
	v, err := vault.Open(ctx, part, secret)
	if err != nil {
		return 0, err
	}
	return len(gone), errors.Join(v.EraseAgain(ctx, gone), v.Close())
}

// givenSecret is the secret, which a restore does not make.
func givenSecret(dir string) ([]byte, error) {
	path := os.Getenv("ASSENT_SECRET_FILE")
	if path == "" {
		path = filepath.Join(dir, "secret")
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the secret is not in %s: put there the one that the people were kept with, and restore again", path)
	}
	return secretOf(dir)
}
