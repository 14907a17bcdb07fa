package vault

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
)

// CopyFile copies the vault in the file at from, as it is at this moment, into
// a new file at to, readable by its owner only; on the disk when it returns.
// Whoever has the vault open goes on meanwhile. What was erased is not in it.
//
// A copy outlives an erasure that comes later: keep none for longer than that
// may take, and erase again (ErasedIn tells whom) in what is made from one.
func CopyFile(ctx context.Context, from, to string) (err error) {
	if _, err := os.Stat(from); err != nil {
		return fmt.Errorf("copy the vault: %w", err)
	}
	if version, err := fileVersion(ctx, from); err != nil || version == 0 {
		return fmt.Errorf("copy the vault %s: %w", from, errors.Join(err, ErrForeign))
	}
	into, err := filepath.Abs(to)
	if err != nil {
		return fmt.Errorf("copy the vault: %w", err)
	}
	f, err := os.OpenFile(into, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("copy the vault: %w", err)
	}
	defer func() {
		err = errors.Join(err, f.Close())
		if err != nil {
			err = errors.Join(fmt.Errorf("copy the vault: %w", err), os.Remove(into))
		}
	}()
	db, err := connect(from, 1, url.Values{"_pragma": promises})
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, `VACUUM INTO $1`, into)
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	return f.Sync()
}

// Gone is somebody who was erased.
type Gone struct{ Workspace, Person string }

// EraseAgain forgets those who were erased from another copy of this vault.
func (v *Vault) EraseAgain(ctx context.Context, gone []Gone) error {
	for _, g := range gone {
		if err := v.Erase(ctx, g.Workspace, g.Person); err != nil {
			return err
		}
	}
	return nil
}

// ErasedIn are all who were erased from the vault in a file, which somebody may
// have open.
func ErasedIn(ctx context.Context, path string) (gone []Gone, err error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("list the erased: %w", err)
	}
	version, err := fileVersion(ctx, path)
	if err != nil || version == 0 {
		return nil, fmt.Errorf("list the erased in %s: %w", path, errors.Join(err, ErrForeign))
	}
	db, err := connect(path, 1, url.Values{"_pragma": {"busy_timeout(10000)", "query_only(1)"}})
	if err != nil {
		return nil, fault("list the erased", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	rows, err := db.QueryContext(ctx, `SELECT workspace, person FROM erased ORDER BY workspace, person`)
	if err != nil {
		return nil, fault("list the erased", err)
	}
	defer func() { err = fault("list the erased", errors.Join(err, rows.Close())) }()
	for rows.Next() {
		var g Gone
		if err := rows.Scan(&g.Workspace, &g.Person); err != nil {
			return nil, err
		}
		gone = append(gone, g)
	}
	return gone, rows.Err()
}
