package vault_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"assent/commands/vault"
	"assent/domain"
)

func seal(t testing.TB, v *vault.Vault, ws, person, text string) *domain.Sealed {
	t.Helper()
	s, err := v.Seal(t.Context(), ws, person, text)
	must(t, err)
	return s
}

func TestSealedTextReadsAsItWas(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		v := open(t, b.place(t))
		for _, text := range []string{"", "because", "\xff\x00", strings.Repeat("é", 10_000)} {
			s := seal(t, v, "home", "per_ada", text)
			if got, err := v.Unseal(t.Context(), "home", s); err != nil || got != text {
				t.Errorf("%.20q reads %.20q, %v", text, got, err)
			}
			if len(text) > 2 && strings.Contains(string(s.Box), text) {
				t.Errorf("%.20q is in the box", text)
			}
			if again := seal(t, v, "home", "per_ada", text); string(again.Box) == string(s.Box) {
				t.Errorf("%.20q sealed twice is the same", text)
			}
		}
		if got, err := v.Unseal(t.Context(), "home", nil); err != nil || got != "" {
			t.Errorf("nothing reads %q, %v", got, err)
		}
		if _, err := v.Seal(t.Context(), "home", "", "because"); err == nil {
			t.Error("a text was sealed for nobody")
		}
	})
}

func TestSealedTextIsReadForItsOwnPersonOnly(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		v := open(t, b.place(t))
		adas := seal(t, v, "home", "per_ada", "ada's")
		seal(t, v, "home", "per_bob", "bob's")
		seal(t, v, "away", "per_ada", "eve's")

		if _, err := v.Unseal(t.Context(), "home", &domain.Sealed{Person: "per_bob", Box: adas.Box}); !errors.Is(err, vault.ErrDamaged) {
			t.Errorf("as bob's it reads %v; want ErrDamaged", err)
		}
		if _, err := v.Unseal(t.Context(), "away", adas); !errors.Is(err, vault.ErrDamaged) {
			t.Errorf("in another workspace it reads %v; want ErrDamaged", err)
		}
		if _, err := v.Unseal(t.Context(), "home", &domain.Sealed{Person: "per_nobody", Box: adas.Box}); !errors.Is(err, vault.ErrErased) {
			t.Errorf("as nobody's it reads %v; want ErrErased", err)
		}
	})
}

func TestAChangedBoxDoesNotOpen(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		v := open(t, b.place(t))
		s := seal(t, v, "home", "per_ada", "because")
		for i := range s.Box {
			box := append([]byte(nil), s.Box...)
			box[i] ^= 1
			if _, err := v.Unseal(t.Context(), "home", &domain.Sealed{Person: s.Person, Box: box}); !errors.Is(err, vault.ErrDamaged) {
				t.Errorf("with byte %d changed it reads %v; want ErrDamaged", i, err)
			}
		}
		for n := range s.Box {
			if _, err := v.Unseal(t.Context(), "home", &domain.Sealed{Person: s.Person, Box: s.Box[:n]}); !errors.Is(err, vault.ErrDamaged) {
				t.Errorf("cut to %d bytes it reads %v; want ErrDamaged", n, err)
			}
		}
	})
}

func TestTheFirstTextsSealedAtOnceShareAKey(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		path := b.place(t)
		v := open(t, path)
		sealed := make([]*domain.Sealed, 20)
		var all sync.WaitGroup
		for i := range sealed {
			all.Go(func() { sealed[i], _ = v.Seal(t.Context(), "home", "per_ada", fmt.Sprint(i)) })
		}
		all.Wait()
		must(t, v.Close())
		v = open(t, path) // what is in memory does not count
		for i, s := range sealed {
			if got, err := v.Unseal(t.Context(), "home", s); err != nil || got != fmt.Sprint(i) {
				t.Errorf("text %d reads %q, %v", i, got, err)
			}
		}
	})
}

func BenchmarkSeal(b *testing.B) {
	eachBench(b, func(b *testing.B, kind backend) {
		v := open(b, kind.place(b))
		text := strings.Repeat("because ", 20)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := v.Seal(b.Context(), "home", "per_ada", text); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkUnseal(b *testing.B) {
	eachBench(b, func(b *testing.B, kind backend) {
		v := open(b, kind.place(b))
		s := seal(b, v, "home", "per_ada", strings.Repeat("because ", 20))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := v.Unseal(b.Context(), "home", s); err != nil {
				b.Fatal(err)
			}
		}
	})
}
