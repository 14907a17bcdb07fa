package vault

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"assent/domain"
)

// Person is who is behind an id.
type Person struct{ Workspace, ID, Name, Email string }

// AddPerson adds somebody under an id of the caller's making. An email belongs
// to one person in the whole vault, however it is spelled: else taken.
func (v *Vault) AddPerson(ctx context.Context, p Person) error {
	name, err := cleanName(p.Name)
	if err != nil {
		return err
	}
	email, err := cleanEmail(p.Email)
	if err != nil {
		return err
	}
	return v.change(ctx, "add a person", func(tx *sql.Tx) error {
		if err := mayBe(ctx, tx, p.Workspace, p.ID); err != nil {
			return err
		}
		result, err := tx.ExecContext(ctx, `
			INSERT INTO person (workspace, id, email, email_key) VALUES ($1, $2, $3, $4)
			ON CONFLICT DO NOTHING`, p.Workspace, p.ID, email, emailKey(email))
		if err := orRefuse(result, err, "taken", "Someone already uses that email; use another one."); err != nil {
			return err
		}
		return putName(ctx, tx, p.Workspace, p.ID, name)
	})
}

// Person finds somebody by id; not-found for nobody and for the erased.
func (v *Vault) Person(ctx context.Context, workspace, id string) (Person, error) {
	p, _, err := v.find(ctx, `p.workspace = $1 AND p.id = $2`, workspace, id)
	return p, orNobody(err)
}

// PersonByEmail finds somebody by any spelling of their email; not-found for
// nobody.
func (v *Vault) PersonByEmail(ctx context.Context, email string) (Person, error) {
	p, _, err := v.findEmail(ctx, email)
	return p, orNobody(err)
}

// SetPassword gives a person a password of MinPassword to MaxPassword bytes.
// Sessions go on: end them with EndSessionsOf.
func (v *Vault) SetPassword(ctx context.Context, workspace, person, password string) error {
	hash, err := v.passwords.hash(ctx, password)
	if err != nil {
		return fault("hash a password", err)
	}
	return v.change(ctx, "set a password", func(tx *sql.Tx) error {
		if err := mayBe(ctx, tx, workspace, person); err != nil {
			return err
		}
		result, err := tx.ExecContext(ctx, `
			UPDATE person SET password = $3 WHERE workspace = $1 AND id = $2`, workspace, person, hash)
		return orRefuse(result, err, "not-found", "There is nobody with that id.")
	})
}

// SignIn finds the person who has this email and this password. The refusal
// is unauthorised whichever is wrong, after the same work.
func (v *Vault) SignIn(ctx context.Context, email, password string) (Person, error) {
	wrong := domain.Refuse("unauthorised", "The email or the password is not right.")
	if len(password) > MaxPassword {
		return Person{}, wrong
	}
	p, hash, err := v.findEmail(ctx, email)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return Person{}, fault("sign in", err)
	}
	ok, stale, err := v.passwords.check(ctx, password, hash)
	switch {
	case err != nil:
		return Person{}, fault("check a password", err)
	case !ok:
		return Person{}, wrong
	case stale:
		return p, v.rehash(ctx, p, password, hash)
	}
	return p, nil
}

// rehash moves a password to today's cost, unless it was changed meanwhile.
func (v *Vault) rehash(ctx context.Context, p Person, password, old string) error {
	hash, err := v.passwords.hash(ctx, password)
	if err != nil {
		return fault("hash a password", err)
	}
	return v.change(ctx, "rehash a password", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `
			UPDATE person SET password = $3
			WHERE workspace = $1 AND id = $2 AND password = $4`, p.Workspace, p.ID, hash, old)
		return err
	})
}

// SetName says what people read in place of an id: a person's, an agent's, a
// key's.
func (v *Vault) SetName(ctx context.Context, workspace, id, name string) error {
	name, err := cleanName(name)
	if err != nil {
		return err
	}
	return v.change(ctx, "set a name", func(tx *sql.Tx) error {
		if err := mayBe(ctx, tx, workspace, id); err != nil {
			return err
		}
		return putName(ctx, tx, workspace, id, name)
	})
}

// Names are the names of ids, as far as they have one; the erased have none.
func (v *Vault) Names(ctx context.Context, workspace string, ids ...string) (map[string]string, error) {
	list, err := json.Marshal(ids) // one argument, however many ids
	if err != nil {
		return nil, fault("read names", err)
	}
	rows, err := v.read.QueryContext(ctx, `
		SELECT id, name FROM name
		WHERE workspace = $1 AND id IN (SELECT value FROM json_each($2))`, workspace, string(list))
	if err != nil {
		return nil, fault("read names", err)
	}
	defer func() { _ = rows.Close() }()
	names := make(map[string]string, len(ids))
	for rows.Next() {
		var id, name string
		if err := rows.Scan(&id, &name); err != nil {
			return nil, fault("read names", err)
		}
		names[id] = name
	}
	return names, fault("read names", rows.Err())
}

func (v *Vault) findEmail(ctx context.Context, email string) (Person, string, error) {
	if len(email) > 2*maxText { // nobody has it, and folding a megabyte is work for nothing
		return Person{}, "", sql.ErrNoRows
	}
	return v.find(ctx, `p.email_key = $1`, emailKey(email))
}

// find is the one person a condition holds for, and their password's hash, if
// they have one.
func (v *Vault) find(ctx context.Context, condition string, args ...any) (p Person, hash string, err error) {
	err = v.read.QueryRowContext(ctx, `
		SELECT p.workspace, p.id, n.name, p.email, COALESCE(p.password, '')
		FROM person p JOIN name n ON n.workspace = p.workspace AND n.id = p.id
		WHERE `+condition, args...).Scan(&p.Workspace, &p.ID, &p.Name, &p.Email, &hash)
	return p, hash, err
}

func putName(ctx context.Context, tx *sql.Tx, workspace, id, name string) error {
	_, err := tx.ExecContext(ctx, `
		INSERT INTO name (workspace, id, name) VALUES ($1, $2, $3)
		ON CONFLICT (workspace, id) DO UPDATE SET name = excluded.name`, workspace, id, name)
	return err
}

// orRefuse refuses what changed no row.
func orRefuse(result sql.Result, err error, code, reason string) error {
	if err != nil {
		return err
	}
	n, err := result.RowsAffected()
	if err == nil && n == 0 {
		return domain.Refuse(code, "%s", reason)
	}
	return err
}

func orNobody(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return domain.Refuse("not-found", "There is nobody like that.")
	}
	return fault("find a person", err)
}
