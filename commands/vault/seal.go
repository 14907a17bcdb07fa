package vault

import (
	"context"
	"crypto/cipher"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"

	"assent/domain"
)

// subject is whose text is sealed.
type subject struct{ workspace, person string }

// bind is the subject as associated data. Lengths come first, so that no two
// subjects share it.
func (s subject) bind(what string) []byte {
	return fmt.Appendf(nil, "assent %s %d:%s%d:%s", what, len(s.workspace), s.workspace, len(s.person), s.person)
}

// dataKey seals one subject's texts.
type dataKey struct {
	aead  cipher.AEAD
	bound []byte
}

// Seal makes text readable only while its person's key lives; the key is made
// on first use. For an erased person the refusal is final.
func (v *Vault) Seal(ctx context.Context, workspace, person, text string) (*domain.Sealed, error) {
	key, err := v.dataKey(ctx, subject{workspace, person}, v.makeKey)
	if err != nil {
		return nil, fault("seal a text", err)
	}
	return &domain.Sealed{Person: person, Box: key.aead.Seal(nil, nil, []byte(text), key.bound)}, nil
}

// Unseal reads what Seal sealed in the same workspace; nothing sealed is an
// empty text. ErrErased: the key is gone. ErrDamaged: it is not what was
// sealed for this person.
func (v *Vault) Unseal(ctx context.Context, workspace string, s *domain.Sealed) (string, error) {
	if s == nil {
		return "", nil
	}
	key, err := v.dataKey(ctx, subject{workspace, s.Person}, v.readWrapped)
	if errors.Is(err, sql.ErrNoRows) {
		return "", ErrErased
	}
	if err != nil {
		return "", fault("unseal a text", err)
	}
	text, err := key.aead.Open(nil, nil, s.Box, key.bound)
	if err != nil {
		return "", ErrDamaged
	}
	return string(text), nil
}

// dataKey is a subject's key, from memory or as fetch gives it, wrapped.
func (v *Vault) dataKey(ctx context.Context, s subject, fetch func(context.Context, subject) ([]byte, error)) (dataKey, error) {
	key, epoch, ok := v.boxes.get(s)
	if ok {
		return key, nil
	}
	wrapped, err := fetch(ctx, s)
	if err != nil {
		return dataKey{}, err
	}
	plain, err := v.wrap.Open(nil, nil, wrapped, s.bind("key"))
	if err != nil {
		return dataKey{}, fmt.Errorf("unwrap the sealing key of %s: %w", s.person, err)
	}
	aead, err := newAEAD(plain)
	if err != nil {
		return dataKey{}, err
	}
	return v.boxes.put(epoch, s, dataKey{aead, s.bind("text")}), nil
}

func (v *Vault) readWrapped(ctx context.Context, s subject) (wrapped []byte, err error) {
	ctx, cancel := within(ctx)
	defer cancel()
	err = v.read.QueryRowContext(ctx, selectWrapped, s.workspace, s.person).Scan(&wrapped)
	return wrapped, err
}

const selectWrapped = `SELECT wrapped FROM sealing_key WHERE workspace = $1 AND person = $2`

// makeKey is readWrapped that makes the key when there is none. Of two at
// once, the first one's key is both's.
func (v *Vault) makeKey(ctx context.Context, s subject) ([]byte, error) {
	wrapped, err := v.readWrapped(ctx, s)
	if !errors.Is(err, sql.ErrNoRows) {
		return wrapped, err
	}
	var plain [32]byte
	rand.Read(plain[:]) // never fails
	fresh := v.wrap.Seal(nil, nil, plain[:], s.bind("key"))
	err = v.change(ctx, "make a sealing key", func(tx *sql.Tx) error {
		if err := mayBe(ctx, tx, s.workspace, s.person); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `
			INSERT INTO sealing_key (workspace, person, wrapped) VALUES ($1, $2, $3)
			ON CONFLICT DO NOTHING`, s.workspace, s.person, fresh)
		if err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, selectWrapped, s.workspace, s.person).Scan(&wrapped)
	})
	return wrapped, err
}
