package vault

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"errors"
	"time"

	"assent/domain"
)

// spentLinksStay is how long a link that is over is still known as such, at
// least; they go when the next link is used.
const spentLinksStay = 30 * 24 * time.Hour

// MintLink makes a token that works once, for one purpose, until expires. The
// person may be empty: the first one has no id yet. Only the token's hash is
// kept.
func (v *Vault) MintLink(ctx context.Context, workspace, purpose, person string, expires time.Time) (string, error) {
	token, hash := newToken()
	err := v.change(ctx, "make a link", func(tx *sql.Tx) error {
		if err := mayBe(ctx, tx, workspace, person); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `
			INSERT INTO link (hash, workspace, purpose, person, expires) VALUES ($1, $2, $3, $4, $5)`,
			hash, workspace, purpose, person, millis(expires))
		return err
	})
	if err != nil {
		return "", err
	}
	return token, nil
}

// UseLink uses a link up: of many at once, one gets through. The refusal is
// expired for a link that was used, dropped or whose time is over, and
// unauthorised for one there never was, or of another purpose.
func (v *Vault) UseLink(ctx context.Context, token, purpose string, now time.Time) (workspace, person string, err error) {
	hash, err := linkHash(token)
	if err != nil {
		return "", "", err
	}
	err = v.change(ctx, "use a link", func(tx *sql.Tx) error {
		workspace, person, err = usable(ctx, tx, hash, purpose, now)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE link SET spent = 1 WHERE hash = $1`, hash); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM link WHERE expires < $1`, millis(now.Add(-spentLinksStay)))
		return err
	})
	if err != nil {
		return "", "", err
	}
	return workspace, person, nil
}

// PeekLink answers as UseLink would, and uses nothing up.
func (v *Vault) PeekLink(ctx context.Context, token, purpose string, now time.Time) (workspace, person string, err error) {
	hash, err := linkHash(token)
	if err != nil {
		return "", "", err
	}
	ctx, cancel := within(ctx)
	defer cancel()
	workspace, person, err = usable(ctx, v.read, hash, purpose, now)
	return workspace, person, fault("read a link", err)
}

// DropLinks ends every link of a purpose, so that the next one made is the
// only one.
func (v *Vault) DropLinks(ctx context.Context, workspace, purpose string) error {
	return v.change(ctx, "drop links", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `
			UPDATE link SET spent = 1 WHERE workspace = $1 AND purpose = $2`, workspace, purpose)
		return err
	})
}

// querier is a transaction or the database.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// usable is whom a link that still works is for.
func usable(ctx context.Context, q querier, hash []byte, purpose string, now time.Time) (workspace, person string, err error) {
	var expires int64
	var spent bool
	err = q.QueryRowContext(ctx, `
		SELECT workspace, person, expires, spent FROM link WHERE hash = $1 AND purpose = $2`,
		hash, purpose).Scan(&workspace, &person, &expires, &spent)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return "", "", unknownLink()
	case err != nil:
		return "", "", err
	case spent:
		return "", "", domain.Refuse("expired", "This link was used or replaced; ask for a new one.")
	case millis(now) >= expires:
		return "", "", domain.Refuse("expired", "The time of this link is over; ask for a new one.")
	}
	return workspace, person, nil
}

func linkHash(token string) ([]byte, error) {
	hash, ok := tokenHash(token)
	if !ok {
		return nil, unknownLink()
	}
	return hash, nil
}

func unknownLink() *domain.Refusal {
	return domain.Refuse("unauthorised", "This link does not work; check that all of it was copied.")
}

// tokens are 256 random bits that can stand in an address.
const tokenSize = 32

func newToken() (token string, hash []byte) {
	var b [tokenSize]byte
	rand.Read(b[:]) // never fails
	token = base64.RawURLEncoding.EncodeToString(b[:])
	hash, _ = tokenHash(token)
	return token, hash
}

// tokenHash is what is stored of a token; not ok for what cannot be one.
func tokenHash(token string) (hash []byte, ok bool) {
	if len(token) != base64.RawURLEncoding.EncodedLen(tokenSize) {
		return nil, false
	}
	sum := sha256.Sum256([]byte(token))
	return sum[:], true
}
