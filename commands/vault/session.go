package vault

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"assent/domain"
)

// seenEvery is how exactly last-seen and last-used are kept: a write for every
// request would cost a disk's patience each.
const seenEvery = time.Minute

// Session is one time a person signed in.
type Session struct {
	ID                string // sess_…
	Workspace, Person string
	Created           time.Time
	LastSeen          time.Time // to the minute
	Expires           time.Time
	Proved            time.Time // when they last showed that it is they
}

// NewSession signs a person in until now+ttl and gives the token for their
// browser. Only its hash is kept.
func (v *Vault) NewSession(ctx context.Context, workspace, person string, now time.Time, ttl time.Duration) (string, error) {
	token, hash := newToken()
	id := domain.NewID("sess", now)
	err := v.change(ctx, "begin a session", func(tx *sql.Tx) error {
		if err := mayBe(ctx, tx, workspace, person); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM session WHERE expires <= $1`, millis(now))
		if err != nil {
			return err
		}
		result, err := tx.ExecContext(ctx, `
			INSERT INTO session (hash, id, workspace, person, created, seen, expires, proved)
			SELECT $1, $2, workspace, id, $5, $5, $6, $5 FROM person WHERE workspace = $3 AND id = $4`,
			hash, string(id), workspace, person, millis(now), millis(now.Add(ttl)))
		return orRefuse(result, err, "not-found", "There is nobody with that id.")
	})
	if err != nil {
		return "", err
	}
	return token, nil
}

// Session is the live session of a token; unauthorised when there is none.
func (v *Vault) Session(ctx context.Context, token string, now time.Time) (Session, error) {
	over := domain.Refuse("unauthorised", "You are not signed in; sign in again.")
	hash, ok := tokenHash(token)
	if !ok {
		return Session{}, over
	}
	s, err := v.readSession(ctx, hash, now)
	if errors.Is(err, sql.ErrNoRows) {
		return Session{}, over
	}
	if err != nil {
		return Session{}, fault("read a session", err)
	}
	if now.Sub(s.LastSeen) >= seenEvery && v.sawSession(ctx, hash, now) == nil {
		s.LastSeen = at(millis(now))
	}
	return s, nil
}

func (v *Vault) readSession(ctx context.Context, hash []byte, now time.Time) (s Session, err error) {
	ctx, cancel := within(ctx)
	defer cancel()
	var created, seen, expires, proved int64
	err = v.read.QueryRowContext(ctx, `
		SELECT id, workspace, person, created, seen, expires, proved FROM session
		WHERE hash = $1 AND expires > $2`, hash, millis(now)).
		Scan(&s.ID, &s.Workspace, &s.Person, &created, &seen, &expires, &proved)
	s.Created, s.LastSeen, s.Expires, s.Proved = at(created), at(seen), at(expires), at(proved)
	return s, err
}

// sawSession notes that a session is in use. It is a convenience: when it
// cannot be written (a full disk), people stay signed in and can still read.
func (v *Vault) sawSession(ctx context.Context, hash []byte, now time.Time) error {
	return v.change(ctx, "note a session's use", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `
			UPDATE session SET seen = $2 WHERE hash = $1 AND seen < $2`, hash, millis(now))
		return err
	})
}

// Prove notes that whoever is signed in showed their password once more; a wrong
// one is refused as unauthorised.
func (v *Vault) Prove(ctx context.Context, token, password string, now time.Time) error {
	s, err := v.Session(ctx, token, now)
	if err != nil {
		return err
	}
	if _, err := v.signIn(ctx, "", password, `$1 = '' AND p.workspace = $3 AND p.id = $4`, s.Workspace, s.Person); err != nil {
		return err
	}
	hash, _ := tokenHash(token)
	return v.change(ctx, "note a session's proof", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE session SET proved = $2 WHERE hash = $1`, hash, millis(now))
		return err
	})
}

// EndSession signs out; ending what is over is fine.
func (v *Vault) EndSession(ctx context.Context, token string) error {
	hash, ok := tokenHash(token)
	if !ok {
		return nil
	}
	return v.change(ctx, "end a session", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM session WHERE hash = $1`, hash)
		return err
	})
}

// EndSessionsOf signs a person out everywhere.
func (v *Vault) EndSessionsOf(ctx context.Context, workspace, person string) error {
	return v.change(ctx, "end a person's sessions", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `
			DELETE FROM session WHERE workspace = $1 AND person = $2`, workspace, person)
		return err
	})
}

// SessionsOf are a person's living sessions, newest first.
func (v *Vault) SessionsOf(ctx context.Context, workspace, person string, now time.Time) (list []Session, err error) {
	ctx, cancel := within(ctx)
	defer cancel()
	rows, err := v.read.QueryContext(ctx, `
		SELECT id, workspace, person, created, seen, expires, proved FROM session
		WHERE workspace = $1 AND person = $2 AND expires > $3 ORDER BY created DESC, id DESC`, workspace, person, millis(now))
	if err != nil {
		return nil, fault("list sessions", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var s Session
		var created, seen, expires, proved int64
		if err := rows.Scan(&s.ID, &s.Workspace, &s.Person, &created, &seen, &expires, &proved); err != nil {
			return nil, fault("list sessions", err)
		}
		s.Created, s.LastSeen, s.Expires, s.Proved = at(created), at(seen), at(expires), at(proved)
		list = append(list, s)
	}
	return list, fault("list sessions", rows.Err())
}

// EndSessionOf ends one of a person's sessions; ending what is over is fine.
func (v *Vault) EndSessionOf(ctx context.Context, workspace, person, id string) error {
	return v.change(ctx, "end a session", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `
			DELETE FROM session WHERE workspace = $1 AND person = $2 AND id = $3`, workspace, person, id)
		return err
	})
}
