package vault_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"assent/commands"
	"assent/commands/vault"
	"assent/domain"

	"github.com/alexedwards/argon2id"
)

var _ commands.Sealer = (*vault.Vault)(nil)

// cheap is for tests that sign in for other reasons than to be slow.
var cheap = argon2id.Params{Memory: 64, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32}

var (
	secret = bytes.Repeat([]byte{7}, vault.SecretSize)
	noon   = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ada    = vault.Person{Workspace: "home", ID: "per_ada", Name: "Ada Lovelace", Email: "ada@example.org"}
	bob    = vault.Person{Workspace: "home", ID: "per_bob", Name: "Bob", Email: "bob@example.org"}
	eve    = vault.Person{Workspace: "away", ID: "per_ada", Name: "Eve", Email: "eve@example.org"} // ada's id, elsewhere
)

const password = "correct horse battery"

// newPath is where a vault could be.
func newPath(t testing.TB) string { return filepath.Join(t.TempDir(), "data", "people.db") }

// open opens the vault at path until the test ends.
func open(t testing.TB, path string, options ...vault.Option) *vault.Vault {
	t.Helper()
	v, err := vault.Open(t.Context(), path, secret, append([]vault.Option{vault.WithPasswordCost(cheap)}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	return v
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// refused wants a refusal with a code.
func refused(t testing.TB, err error, code string) {
	t.Helper()
	if !errors.Is(err, &domain.Refusal{Code: code}) {
		t.Errorf("got %v; want a refusal with the code %s", err, code)
	}
}

// clock is a clock that tests move.
type clock struct{ ms atomic.Int64 }

func (c *clock) set(t time.Time) { c.ms.Store(t.UnixMilli()) }
func (c *clock) now() time.Time  { return time.UnixMilli(c.ms.Load()).UTC() }

func TestAnotherSecretOpensNothing(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		path := b.place(t)
		must(t, open(t, path).Close())
		_, err := vault.Open(t.Context(), path, bytes.Repeat([]byte{8}, vault.SecretSize))
		if !errors.Is(err, vault.ErrWrongSecret) {
			t.Errorf("got %v; want ErrWrongSecret", err)
		}
		open(t, path)
	})
}

func TestASecretHas32Bytes(t *testing.T) {
	for _, n := range []int{0, 31, 33} {
		path := newPath(t)
		if _, err := vault.Open(t.Context(), path, make([]byte, n)); err == nil {
			t.Errorf("a secret of %d bytes opened a vault", n)
		}
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a secret of %d bytes made a file", n)
		}
	}
}

func TestWhatIsNoVaultIsNotOpened(t *testing.T) {
	make := func(sql ...string) string {
		path := filepath.Join(t.TempDir(), "people.db")
		db := raw(t, "sqlite", path)
		for _, s := range sql {
			_, err := db.ExecContext(t.Context(), s)
			must(t, err)
		}
		must(t, db.Close())
		return path
	}
	text := filepath.Join(t.TempDir(), "people.db")
	must(t, os.WriteFile(text, bytes.Repeat([]byte("not a database "), 1000), 0o600))
	newer := newPath(t)
	must(t, open(t, newer).Close())
	_, err := raw(t, "sqlite", newer).ExecContext(t.Context(), `INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1)`)
	must(t, err)
	for _, c := range []struct {
		what, path string
		want       error
	}{
		{"a text file", text, vault.ErrForeign},
		{"another database", make(`CREATE TABLE events (id)`, `CREATE TABLE goose_db_version (version_id)`), vault.ErrForeign},
		{"another's vault", make(`CREATE TABLE vault (gold)`), vault.ErrForeign},
		{"a newer vault", newer, vault.ErrNewer},
	} {
		before, err := os.ReadFile(c.path)
		must(t, err)
		if _, err := vault.Open(t.Context(), c.path, secret); !errors.Is(err, c.want) {
			t.Errorf("opening %s gives %v; want %v", c.what, err, c.want)
		}
		if after, err := os.ReadFile(c.path); err != nil || !bytes.Equal(before, after) {
			t.Errorf("%s was changed (%v)", c.what, err)
		}
	}
}

func TestAPathMayBeSpelledAsAURL(t *testing.T) {
	path := newPath(t)
	must(t, open(t, "sqlite:"+path).AddPerson(t.Context(), ada))
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

func TestOnlyTheOwnerMayReadTheFiles(t *testing.T) {
	path := newPath(t)
	v := open(t, path)
	must(t, v.AddPerson(t.Context(), ada))
	modes(t, path)

	for _, end := range []string{"", "-wal", "-shm"} {
		must(t, os.Chmod(path+end, 0o644))
	}
	open(t, path)
	modes(t, path)
}

func modes(t *testing.T, path string) {
	t.Helper()
	for name, want := range map[string]fs.FileMode{
		filepath.Dir(path): 0o700, path: 0o600, path + "-wal": 0o600, path + "-shm": 0o600,
	} {
		info, err := os.Stat(name)
		must(t, err)
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o; want %o", filepath.Base(name), got, want)
		}
	}
}

func TestAPathMayHoldAnyCharacter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a?b #c%20d&_pragma=x", "people.db")
	v := open(t, path)
	must(t, v.AddPerson(t.Context(), ada))
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

func TestAVaultIsTheSameAfterReopening(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		path := b.place(t)
		v := open(t, path)
		must(t, v.AddPerson(t.Context(), ada))
		must(t, v.SetPassword(t.Context(), "home", ada.ID, password))
		sealed, err := v.Seal(t.Context(), "home", ada.ID, "because")
		must(t, err)
		must(t, v.Close())

		v = open(t, path)
		if p, err := v.SignIn(t.Context(), ada.Email, password); err != nil || p != ada {
			t.Errorf("signing in gives %v, %v", p, err)
		}
		if text, err := v.Unseal(t.Context(), "home", sealed); err != nil || text != "because" {
			t.Errorf("unsealing gives %q, %v", text, err)
		}
	})
}

func TestClosingTwiceIsFine(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		v := open(t, b.place(t))
		must(t, v.Close())
		must(t, v.Close())
	})
}

func TestACancelledCallChangesNothing(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		v := open(t, b.place(t))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := v.AddPerson(ctx, ada); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v; want context.Canceled", err)
		}
		_, err := v.Person(t.Context(), "home", ada.ID)
		refused(t, err, "not-found")
	})
}
