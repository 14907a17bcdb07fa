package vault

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"

	"assent/domain"
)

// Person is who is behind an id.
type Person struct{ Workspace, ID, Name, Email string }

// AddPerson adds somebody under an id of the caller's making. An email belongs
// to one person in a workspace, however it is spelled: else taken. Of other
// workspaces the answer tells nothing; one human may sit in several.
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
	return v.find(ctx, `p.workspace = $1 AND p.id = $2`, workspace, id)
}

// PersonByEmail finds somebody of a workspace by any spelling of their email;
// not-found for nobody.
func (v *Vault) PersonByEmail(ctx context.Context, workspace, email string) (Person, error) {
	if nobodys(email) {
		return Person{}, nobody()
	}
	return v.find(ctx, `p.workspace = $1 AND p.email_key = $2`, workspace, emailKey(email))
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

// hashesATry bounds what one try to sign in costs.
const hashesATry = 8

// SignIn finds the person who has this email and this password. Several
// workspaces may hold the email; of those who chose a password, the first one
// in the order of their ids whose password it is comes in. Ids sort by the
// time they were made, so whoever was there before stays first, and no later
// account can come between: who has one password in two workspaces comes to
// the older one, and only the oldest hashesATry are looked at.
//
// The refusal is unauthorised whichever is wrong, after the work of at least
// one hash.
func (v *Vault) SignIn(ctx context.Context, email, password string) (Person, error) {
	return v.signIn(ctx, email, password, `p.email_key = $1`)
}

// SignInTo is SignIn to one workspace.
func (v *Vault) SignInTo(ctx context.Context, workspace, email, password string) (Person, error) {
	return v.signIn(ctx, email, password, `p.email_key = $1 AND p.workspace = $3`, workspace)
}

func (v *Vault) signIn(ctx context.Context, email, password, condition string, args ...any) (Person, error) {
	wrong := domain.Refuse("unauthorised", "The email or the password is not right.")
	if len(password) > MaxPassword {
		return Person{}, wrong
	}
	if nobodys(email) {
		email = "" // which nobody has
	}
	holders, err := v.holders(ctx, condition, append([]any{emailKey(email), hashesATry}, args...)...)
	if err != nil {
		return Person{}, fault("sign in", err)
	}
	if holders == nil {
		holders = []holder{{}} // nobody, which takes a hash to find out
	}
	for _, h := range holders {
		ok, stale, err := v.passwords.check(ctx, password, h.hash)
		switch {
		case err != nil:
			return Person{}, fault("check a password", err)
		case !ok:
			continue
		case stale:
			return h.Person, v.rehash(ctx, h.Person, password, h.hash)
		}
		return h.Person, nil
	}
	return Person{}, wrong
}

// holder is a person and the hash of their password.
type holder struct {
	Person
	hash string
}

// holders are the people with a password for whom a condition holds, in the
// order of their ids; at most $2.
func (v *Vault) holders(ctx context.Context, condition string, args ...any) (list []holder, err error) {
	ctx, cancel := within(ctx)
	defer cancel()
	rows, err := v.read.QueryContext(ctx, `
		SELECT p.workspace, p.id, n.name, p.email, p.password
		FROM person p JOIN name n ON n.workspace = p.workspace AND n.id = p.id
		WHERE `+condition+` AND p.password IS NOT NULL ORDER BY p.id, p.workspace LIMIT $2`, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var h holder
		if err := rows.Scan(&h.Workspace, &h.ID, &h.Name, &h.Email, &h.hash); err != nil {
			return nil, err
		}
		list = append(list, h)
	}
	return list, rows.Err()
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
	ids = slices.DeleteFunc(append([]string{}, ids...), func(id string) bool { return !storable(id) })
	list, err := json.Marshal(ids) // one argument, however many ids
	if err != nil {
		return nil, fault("read names", err)
	}
	ctx, cancel := within(ctx)
	defer cancel()
	rows, err := v.read.QueryContext(ctx, `
		SELECT id, name FROM name
		WHERE workspace = $1 AND id IN (SELECT value FROM `+v.elements+`($2))`, workspace, string(list))
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

// nobodys says that nobody can have this email: folding a megabyte, say, is
// work for nothing.
func nobodys(email string) bool { return len(email) > 2*maxText || !storable(email) }

// find is the one person a condition holds for.
func (v *Vault) find(ctx context.Context, condition string, args ...any) (Person, error) {
	ctx, cancel := within(ctx)
	defer cancel()
	var p Person
	err := v.read.QueryRowContext(ctx, `
		SELECT p.workspace, p.id, n.name, p.email
		FROM person p JOIN name n ON n.workspace = p.workspace AND n.id = p.id
		WHERE `+condition, args...).Scan(&p.Workspace, &p.ID, &p.Name, &p.Email)
	if errors.Is(err, sql.ErrNoRows) {
		return Person{}, nobody()
	}
	return p, fault("find a person", err)
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

func nobody() *domain.Refusal {
	return domain.Refuse("not-found", "There is nobody like that here.")
}
