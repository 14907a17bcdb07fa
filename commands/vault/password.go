package vault

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"

	"assent/domain"

	"github.com/alexedwards/argon2id"
	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"
)

// How many bytes a password has.
const (
	MinPassword = 12
	MaxPassword = 1024
)

// PasswordCost is what hashing a password costs in production: 64 MiB, two
// passes, one thread. OWASP asks for no less than 46 MiB with one pass or
// 19 MiB with two; one thread makes the hash the same work on every machine.
func PasswordCost() argon2id.Params {
	return argon2id.Params{Memory: 64 << 10, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}
}

// hashingAtOnce bounds the memory that signing in can take: 4 × 64 MiB.
const hashingAtOnce = 4

// passwords hashes passwords.
type passwords struct {
	cost    argon2id.Params
	unknown string        // a hash no password has, for emails nobody has
	slots   chan struct{} // one is taken for each hash under way
}

func newPasswords(cost argon2id.Params) passwords {
	random := func(n uint32) string {
		b := make([]byte, n)
		rand.Read(b) // never fails
		return base64.RawStdEncoding.EncodeToString(b)
	}
	unknown := fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version,
		cost.Memory, cost.Iterations, cost.Parallelism, random(cost.SaltLength), random(cost.KeyLength))
	return passwords{cost, unknown, make(chan struct{}, hashingAtOnce)}
}

func (p passwords) hash(ctx context.Context, password string) (string, error) {
	if len(password) < MinPassword || len(password) > MaxPassword {
		return "", domain.Refuse("invalid", "A password has between %d and %d bytes.", MinPassword, MaxPassword)
	}
	if err := p.take(ctx); err != nil {
		return "", err
	}
	defer p.free()
	return argon2id.CreateHash(norm.NFC.String(password), &p.cost)
}

// check says whether it is the password of the hash, and whether the hash was
// made at another cost than today's. An empty hash is nobody's; finding that
// out costs the same.
func (p passwords) check(ctx context.Context, password, hash string) (ok, stale bool, err error) {
	if hash == "" {
		hash = p.unknown
	}
	if err := p.take(ctx); err != nil {
		return false, false, err
	}
	defer p.free()
	ok, cost, err := argon2id.CheckHash(norm.NFC.String(password), hash)
	if err != nil {
		return false, false, err
	}
	return ok && hash != p.unknown, *cost != p.cost, nil
}

func (p passwords) take(ctx context.Context) error {
	select {
	case p.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p passwords) free() { <-p.slots }
