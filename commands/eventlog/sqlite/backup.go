package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"zombiezen.com/go/sqlite"

	"assent/commands/eventlog/chain"
	"assent/domain"
)

// ErrExists is a place for a copy where there is something already. It is left
// as it is.
var ErrExists = errors.New("there is something already; name another place")

// Backup copies the log in the file at from, as it is at this moment, into a
// new file at to, readable by its owner only. Whoever writes to the log goes on
// meanwhile; what comes then is not in the copy, and the WAL beside the log
// grows by it until the copy is made.
//
// When it returns, the copy is on the disk under its name and its chain was
// walked from the first event: it is a log that Open takes, up to the mark.
// After an error, or a crash, there is nothing under that name; a crash leaves
// to.part. The error is ErrExists, or a *chain.Broken when the log is broken,
// or as for Open. Progress, unless nil, hears how much of the copy is verified.
func Backup(ctx context.Context, from, to string, progress func(done, total domain.Position)) (chain.Mark, error) {
	if _, err := os.Stat(from); err != nil {
		return chain.Mark{}, err
	}
	version, err := inspect(from, defaults())
	if err == nil && version == 0 {
		err = errors.New("the log was never written to; there is nothing to copy")
	}
	if err != nil {
		return chain.Mark{}, fmt.Errorf("opening the log %s: %w", from, explained(err))
	}
	return placed(ctx, to, progress, func(part string) error {
		c, err := connect(from, defaults())
		if err != nil {
			return err
		}
		defer c.Close() // it only read
		c.SetInterrupt(ctx.Done())
		// One read transaction, whatever is committed meanwhile; and every
		// index is made anew.
		err = conn{c}.exec("VACUUM INTO ?", func(s *sqlite.Stmt) { s.BindText(1, part) })
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	})
}

// Restore copies the log in the file at from, which nobody may be writing to,
// into a new file at to. Everything else is as for Backup: what is not a whole
// log, or a broken one, is not put in place.
func Restore(ctx context.Context, from, to string, progress func(done, total domain.Position)) (chain.Mark, error) {
	return placed(ctx, to, progress, func(part string) error {
		for _, end := range []string{"", "-wal"} { // a file that was copied by hand may have one
			err := copyFile(ctx, from+end, part+end)
			if err != nil && !(end == "-wal" && errors.Is(err, fs.ErrNotExist)) {
				return err
			}
		}
		return nil
	})
}

// placed lets fill write a log into a file of another name, and gives it its
// own once it is known to be whole and is on the disk.
func placed(ctx context.Context, to string, progress func(done, total domain.Position), fill func(part string) error) (reached chain.Mark, err error) {
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return reached, first(err, fmt.Errorf("%s: %w", to, ErrExists))
	}
	part := to + ".part"
	if err := discard(part); err != nil { // of one that did not come to its end
		return reached, err
	}
	if err := create(part); err != nil {
		return reached, err
	}
	defer func() {
		if gone := discard(part); err == nil {
			err = gone
		}
	}()
	if err := fill(part); err != nil {
		return reached, explained(err)
	}
	if reached, err = verifyFile(ctx, part, progress); err != nil {
		return reached, explained(err)
	}
	if err := syncFile(part); err != nil {
		return reached, err
	}
	if err := nameIt(part, to); err != nil {
		return reached, err
	}
	return reached, syncFile(filepath.Dir(to))
}

// nameIt gives a file its name, and takes it from no other: unlike a rename, a
// link cannot. Not every file system has links.
func nameIt(part, to string) error {
	err := os.Link(part, to)
	switch {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s: %w", to, ErrExists)
	case err != nil:
		return os.Rename(part, to)
	}
	return nil
}

// verifyFile walks the log in a file that nobody else has. Closing it leaves
// one file, without a WAL.
func verifyFile(ctx context.Context, path string, progress func(done, total domain.Position)) (reached chain.Mark, err error) {
	version, err := inspect(path, defaults())
	if err == nil && version == 0 { // it can be made into one; it is none
		err = ErrForeign
	}
	if err != nil {
		return reached, err
	}
	s, err := openStored(path, defaults())
	if err != nil {
		return reached, err
	}
	defer func() { err = first(err, s.Close()) }()
	return chain.Verify(ctx, s, chain.Mark{}, progress)
}

// discard removes a file of a log, and those that SQLite keeps beside it.
func discard(path string) error {
	for _, end := range []string{"", "-wal", "-shm", "-journal"} {
		if err := os.Remove(path + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// copyFile copies a file into one that only its owner can read.
func copyFile(ctx context.Context, from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close() // it was only read
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = first(err, out.Close()) }()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := io.CopyN(out, in, 16<<20); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// syncFile has a file, or the names in a folder, on the disk.
func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return first(f.Sync(), f.Close())
}
