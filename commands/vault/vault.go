// Package vault keeps what must not be in the log: names, emails, passwords,
// sessions, one-time links, the hashes of agents' keys, and the keys that
// personal text in the log is sealed under. It is one SQLite file, which one
// process has open at a time, or a schema in a PostgreSQL database, which any
// number of processes share: what one of them does counts for the next call of
// every other.
//
// Of secrets that only have to be recognised (passwords, links, sessions,
// agents' keys) it stores hashes. Sealing keys are wrapped with a secret that
// lives outside the vault, so a copy of log and vault alone reads no text.
//
// Every row carries its workspace, and nothing is found by naming a thing of
// another one. A meant no is a *domain.Refusal: invalid, taken, unauthorised,
// expired, not-found, or final for what was asked for an erased person. Every
// other error is a fault.
package vault

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/subtle"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"assent/domain"

	"github.com/alexedwards/argon2id"
)

// Faults that callers tell apart.
var (
	// ErrWrongSecret: the vault was made with another secret.
	ErrWrongSecret = errors.New("the vault was made with another secret; start with the secret file it was made with")
	// ErrErased: the key of a sealed text is gone, and with it the text.
	ErrErased = errors.New("erased")
	// ErrDamaged: a sealed text was changed, or belongs to someone else.
	ErrDamaged = errors.New("the sealed text was changed or belongs to someone else")
)

// SecretSize is how many bytes the secret has.
const SecretSize = 32

// How much of what is asked for most is kept in memory.
const (
	cachedKeys  = 4096
	cachedBoxes = 4096
)

// Vault is the open vault. Its methods may be called at the same time, and come
// to an end: a database that does not answer is a fault within seconds.
type Vault struct {
	*store

	now       func() time.Time
	passwords passwords

	wrap  cipher.AEAD
	boxes *cache[subject, dataKey]
	keys  *cache[[sha256.Size]byte, *knownKey]
	uses  chan use
	stop  context.CancelFunc
	done  chan struct{} // closed when the last use is written
}

// Option changes how a vault works.
type Option func(*Vault)

// WithPasswordCost sets what hashing a password costs; PasswordCost without
// it. Passwords hashed at another cost keep working and move to this one when
// their owner signs in.
func WithPasswordCost(cost argon2id.Params) Option {
	return func(v *Vault) { v.passwords = newPasswords(cost) }
}

// WithClock sets the clock for what has no time among its arguments: last
// uses of keys, and when somebody was erased. The computer's without it.
func WithClock(now func() time.Time) Option {
	return func(v *Vault) { v.now = now }
}

// Open opens the vault at a place and makes it if there is none. The place is
// sqlite:PATH, or only the path, of a file: it and its folder are made for
// their owner's eyes only. Or it is postgres://USER:PASSWORD@HOST/DATABASE, with
// the parameters libpq knows: the vault is the schema assent_people there.
//
// The secret has SecretSize bytes, and whoever shares the vault has the same;
// with another one than the vault was made with the error is ErrWrongSecret.
// Other reasons are ErrForeign, ErrNewer, or a fault that says in one sentence
// what to do, and no password.
func Open(ctx context.Context, place string, secret []byte, options ...Option) (*Vault, error) {
	if len(secret) != SecretSize {
		return nil, fmt.Errorf("open vault: the secret has %d bytes, not %d", len(secret), SecretSize)
	}
	v := &Vault{
		now:       time.Now,
		passwords: newPasswords(PasswordCost()),
		uses:      make(chan use, 256),
		done:      make(chan struct{}),
	}
	for _, o := range options {
		o(v)
	}
	var err error
	if v.store, err = openStore(ctx, place); err != nil {
		return nil, fmt.Errorf("open vault: %w", err)
	}
	if err := v.open(ctx, secret); err != nil {
		return nil, fmt.Errorf("open vault: %w", errors.Join(err, v.close()))
	}
	recording, stop := context.WithCancel(context.Background())
	v.stop = stop
	go v.recordUses(recording)
	return v, nil
}

func (v *Vault) open(ctx context.Context, secret []byte) error {
	boxes, keys := cachedBoxes, cachedKeys
	if v.shared { // what others revoked or erased would live on here
		boxes, keys = 0, 0
	}
	v.boxes = newCache[subject, dataKey](boxes)
	v.keys = newCache[[sha256.Size]byte, *knownKey](keys)
	if err := v.verify(ctx, secret); err != nil {
		return err
	}
	key, err := hkdf.Key(sha256.New, secret, nil, "assent vault wrapping key", 32)
	if err != nil {
		return err
	}
	if v.wrap, err = newAEAD(key); err != nil {
		return err
	}
	err = v.finishErasing(ctx)
	if errors.Is(err, errStillRead) || errors.Is(err, errNotOwner) {
		return nil // a backup, say, keeps nobody from working; the next erasure tries again
	}
	return err
}

// verify holds the secret against the one the vault was made with.
func (v *Vault) verify(ctx context.Context, secret []byte) error {
	mine, err := hkdf.Key(sha256.New, secret, nil, "assent vault verifier", 32)
	if err != nil {
		return err
	}
	var theirs []byte
	err = v.change(ctx, "check the secret", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO vault (one, verifier) VALUES (1, $1) ON CONFLICT DO NOTHING`, mine)
		if err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, `SELECT verifier FROM vault`).Scan(&theirs)
	})
	if err == nil && subtle.ConstantTimeCompare(mine, theirs) != 1 {
		return ErrWrongSecret
	}
	return err
}

// Close writes down the last uses of keys and lets go of the database.
func (v *Vault) Close() error {
	v.stop()
	<-v.done
	return v.close()
}

// change does f in one transaction that sees, and leaves behind, what it would
// if no other were under way; it is on the disk when change returns nil. SQLite
// lets one in at a time. PostgreSQL lets all in, and undoes those that got into
// each other's way: so f may run several times, and only the last time counts.
func (v *Vault) change(ctx context.Context, doing string, f func(*sql.Tx) error) error {
	ctx, cancel := within(ctx)
	defer cancel()
	for wait := time.Millisecond; ; wait = min(2*wait, 64*time.Millisecond) {
		err := v.once(ctx, f)
		if !clashed(err) || pause(ctx, wait) != nil {
			return fault(doing, err)
		}
	}
}

func (v *Vault) once(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := v.write.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelSerializable})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after a commit
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// pause waits up to a time, so that those who got into each other's way do not
// do so again.
func pause(ctx context.Context, most time.Duration) error {
	over := time.NewTimer(rand.N(most))
	defer over.Stop()
	select {
	case <-over.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// fault says what was being done when something went wrong. A refusal is not
// a fault and stays as it is.
func fault(doing string, err error) error {
	if _, refused := errors.AsType[*domain.Refusal](err); err == nil || refused {
		return err
	}
	if unstorable(err) {
		return domain.Refuse("invalid", "That is not plain text; leave out what is not a character.")
	}
	return fmt.Errorf("vault: %s: %w", doing, err)
}

// newAEAD is AES-256-GCM that puts a random nonce in front of what it seals.
func newAEAD(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

func millis(t time.Time) int64 { return t.UnixMilli() }

// at reads a stored time; 0 is the zero time.
func at(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
