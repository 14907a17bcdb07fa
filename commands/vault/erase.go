package vault

import (
	"context"
	"database/sql"

	"assent/domain"
)

// Erase forgets a person for ever: name, email, password, sessions, links and
// the key of every text sealed for them. The id stays, as an id of nobody, and
// can never be given anything again. The log is not touched: what it holds of
// them cannot be read any more.
//
// When it returns nil, no byte of the vault's files holds them. After an error
// the person may be forgotten and bytes of them still be there; asking again,
// or opening the vault again, finishes it once nobody reads it as it was any
// more. Copies made earlier are beyond its reach. On PostgreSQL the vault's
// files are those of its tables: the server's write-ahead log keeps what was
// written until it reuses the space, and archives of it, replicas, backups and
// the disk's free blocks keep what they got.
func (v *Vault) Erase(ctx context.Context, workspace, person string) error {
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

// finishErasing takes the bytes of the erased out of the files. Only those who
// were erased before it began are gone then: others may erase meanwhile.
func (v *Vault) finishErasing(ctx context.Context) error {
	left, err := v.unwiped(ctx)
	if err != nil || len(left) == 0 {
		return fault("look for what is left of the erased", err)
	}
	if err := v.wipe(ctx); err != nil {
		return fault("wipe out the erased", err)
	}
	return v.change(ctx, "note that the erased are gone", func(tx *sql.Tx) error {
		for _, s := range left {
			_, err := tx.ExecContext(ctx, `
				UPDATE erased SET wiped = 1 WHERE workspace = $1 AND person = $2`, s.workspace, s.person)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// unwiped are the erased whose bytes may still be there.
func (v *Vault) unwiped(ctx context.Context) (left []subject, err error) {
	ctx, cancel := within(ctx)
	defer cancel()
	rows, err := v.write.QueryContext(ctx, `SELECT workspace, person FROM erased WHERE wiped = 0`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var s subject
		if err := rows.Scan(&s.workspace, &s.person); err != nil {
			return nil, err
		}
		left = append(left, s)
	}
	return left, rows.Err()
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
