package vault

import (
	"context"
	"database/sql"
	"errors"

	"assent/domain"
)

// Erase forgets a person for ever: name, email, password, sessions, links and
// the key of every text sealed for them. The id stays, as an id of nobody, and
// can never be given anything again. The log is not touched: what it holds of
// them cannot be read any more.
//
// When it returns nil, no byte of the vault's files holds them. After an error
// the person may be forgotten and bytes of them still be there; asking again,
// or opening the vault again, finishes it. Copies of the file made earlier are
// beyond its reach.
func (v *Vault) Erase(ctx context.Context, workspace, person string) error {
	v.erasing.Lock() // or one would call the other's bytes gone
	defer v.erasing.Unlock()
	err := v.change(ctx, "erase a person", func(tx *sql.Tx) error {
		for _, forget := range []string{
			`DELETE FROM sealing_key WHERE workspace = $1 AND person = $2`,
			`DELETE FROM link WHERE workspace = $1 AND person = $2`,
			`DELETE FROM name WHERE workspace = $1 AND id = $2`,
			`DELETE FROM person WHERE workspace = $1 AND id = $2`, // and, with it, the sessions
		} {
			if _, err := tx.ExecContext(ctx, forget, workspace, person); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, `
			INSERT INTO erased (workspace, person, at) VALUES ($1, $2, $3)
			ON CONFLICT DO NOTHING`, workspace, person, millis(v.now()))
		return err
	})
	v.boxes.clear() // even after an error: the commit may have gone through
	if err != nil {
		return err
	}
	return v.finishErasing(ctx)
}

// finishErasing takes the bytes of the erased out of the files. Deleted rows
// are overwritten with zeros as they go, but when SQLite moves rows between
// pages it may leave a copy behind, so the file is written anew; and the
// write-ahead log still holds the pages as they were, so it is emptied.
func (v *Vault) finishErasing(ctx context.Context) error {
	var left int
	err := v.write.QueryRowContext(ctx, `SELECT COUNT(*) FROM erased WHERE wiped = 0`).Scan(&left)
	if err != nil || left == 0 {
		return fault("look for what is left of the erased", err)
	}
	if _, err := v.write.ExecContext(ctx, `VACUUM`); err != nil {
		return fault("write the vault anew", err)
	}
	var busy, pages, moved int
	err = v.write.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &pages, &moved)
	if err == nil && busy != 0 {
		err = errors.New("someone is reading the vault; erase again later")
	}
	if err != nil {
		return fault("empty the write-ahead log", err)
	}
	return v.change(ctx, "note that the erased are gone", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE erased SET wiped = 1 WHERE wiped = 0`)
		return err
	})
}

// mayBe refuses an id whose person was erased.
func mayBe(ctx context.Context, tx *sql.Tx, workspace, id string) error {
	var erased bool
	err := tx.QueryRowContext(ctx, `
		SELECT EXISTS (SELECT 1 FROM erased WHERE workspace = $1 AND person = $2)`, workspace, id).Scan(&erased)
	if err == nil && erased {
		return domain.Refuse("final", "This person was erased, and that cannot be taken back.")
	}
	return err
}
