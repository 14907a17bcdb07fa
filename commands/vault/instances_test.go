package vault_test

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assent/commands/vault"
	"assent/domain"
)

func TestWhatOneInstanceRevokesEndsOnEveryOther(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		one, two, _ := b.pair(t)
		must(t, one.AddPerson(t.Context(), ada))
		must(t, one.SetPassword(t.Context(), "home", ada.ID, password))
		key := newKey(t, one, "home", "agt_1", "key_1")
		first, err := one.NewSession(t.Context(), "home", ada.ID, noon, time.Hour)
		must(t, err)
		second, err := one.NewSession(t.Context(), "home", ada.ID, noon, time.Hour)
		must(t, err)
		link, err := one.MintLink(t.Context(), "home", "setup", "", noon.Add(time.Hour))
		must(t, err)
		sealed := seal(t, one, "home", ada.ID, "because")

		for range 2 { // so that two could remember
			_, err = two.Key(t.Context(), key)
			must(t, err)
			_, err = two.Session(t.Context(), first, noon)
			must(t, err)
			_, _, err = two.PeekLink(t.Context(), link, "setup", noon)
			must(t, err)
			if text, err := two.Unseal(t.Context(), "home", sealed); err != nil || text != "because" {
				t.Errorf("the other reads %q, %v", text, err)
			}
			if p, err := two.SignIn(t.Context(), ada.Email, password); err != nil || p != ada {
				t.Errorf("the other signs %v in, %v", p, err)
			}
		}

		must(t, one.DropKey(t.Context(), "home", "key_1"))
		_, err = two.Key(t.Context(), key)
		refused(t, err, "unauthorised")
		must(t, one.EndSession(t.Context(), first))
		_, err = two.Session(t.Context(), first, noon)
		refused(t, err, "unauthorised")
		must(t, one.EndSessionsOf(t.Context(), "home", ada.ID))
		_, err = two.Session(t.Context(), second, noon)
		refused(t, err, "unauthorised")
		must(t, one.DropLinks(t.Context(), "home", "setup"))
		_, _, err = two.UseLink(t.Context(), link, "setup", noon)
		refused(t, err, "expired")
		must(t, one.SetPassword(t.Context(), "home", ada.ID, "another horse battery"))
		_, err = two.SignIn(t.Context(), ada.Email, password)
		refused(t, err, "unauthorised")
		must(t, one.Erase(t.Context(), "home", ada.ID))
		if _, err := two.Unseal(t.Context(), "home", sealed); !errors.Is(err, vault.ErrErased) {
			t.Errorf("the other reads %v; want ErrErased", err)
		}
		_, err = two.Seal(t.Context(), "home", ada.ID, "again")
		refused(t, err, "final")
	})
}

// TestManyAtOnceAllGetThrough: whoever got into another's way tries again, and
// nobody is told.
func TestManyAtOnceAllGetThrough(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		one, two, _ := b.pair(t)
		must(t, one.AddPerson(t.Context(), ada))
		var all sync.WaitGroup
		for i := range 16 {
			v := []*vault.Vault{one, two}[i%2]
			all.Go(func() {
				for j := range 5 {
					if err := everything(t, v, fmt.Sprintf("%d_%d", i, j)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
	})
}

// everything does one of each change, in the name of nobody else.
func everything(t *testing.T, v *vault.Vault, n string) error {
	ctx := t.Context()
	p := vault.Person{Workspace: "home", ID: "per_" + n, Name: "N", Email: n + "@example.org"}
	if err := v.AddPerson(ctx, p); err != nil {
		return err
	}
	if err := v.SetName(ctx, "home", ada.ID, "Ada "+n); err != nil {
		return err
	}
	session, err := v.NewSession(ctx, "home", ada.ID, noon, time.Hour)
	if err != nil {
		return err
	}
	link, err := v.MintLink(ctx, "home", "invitation", p.ID, noon.Add(time.Hour))
	if err != nil {
		return err
	}
	if _, _, err := v.UseLink(ctx, link, "invitation", noon); err != nil {
		return err
	}
	key, err := v.NewKey(ctx, "home", "agt", "key_"+n, noon)
	if err != nil {
		return err
	}
	if _, err := v.Key(ctx, key); err != nil {
		return err
	}
	s, err := v.Seal(ctx, "home", p.ID, n)
	if err != nil {
		return err
	}
	if text, err := v.Unseal(ctx, "home", s); err != nil || text != n {
		return fmt.Errorf("%s reads %q, %w", n, text, err)
	}
	return errors.Join(v.DropKey(ctx, "home", "key_"+n), v.EndSession(ctx, session))
}

func TestOneKeyIsNotedOnceAMinuteHoweverManySeeIt(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		place, c := b.place(t), &clock{}
		c.set(noon)
		one := open(t, place, vault.WithClock(c.now))
		two := b.beside(t, one, place)
		key := newKey(t, one, "home", "agt_1", "key_1")
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				c.set(noon.Add(time.Duration(i) * time.Second))
				if _, err := one.Key(t.Context(), key); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		must(t, one.Close())
		must(t, two.Close())
		keys, err := open(t, place).Keys(t.Context(), "home", "agt_1")
		must(t, err)
		if used := keys[0].LastUsed.Sub(noon); used < 0 || used >= 8*time.Second {
			t.Errorf("it was last used after %v", used)
		}
	})
}

func TestOfManyWhoMakeAVaultOneSecretWins(t *testing.T) {
	where := onServer.place(t)
	var made, others atomic.Int32
	var all sync.WaitGroup
	for i := range byte(8) {
		all.Go(func() {
			v, err := vault.Open(t.Context(), where, bytes.Repeat([]byte{1 + i%2}, vault.SecretSize))
			switch {
			case err == nil:
				made.Add(1)
				must(t, v.Close())
			case errors.Is(err, vault.ErrWrongSecret):
				others.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if made.Load() != 4 || others.Load() != 4 {
		t.Errorf("%d opened it and %d had another secret; want 4 and 4", made.Load(), others.Load())
	}
}

func TestAnIDThatIsNoTextIsNobodys(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		v := b.withPeople(t)
		for _, id := range []string{"per_\x00", "\xff"} {
			if _, err := v.Person(t.Context(), "home", id); !isRefusal(err) {
				t.Errorf("finding %q: %v", id, err)
			}
			if _, err := v.Person(t.Context(), id, ada.ID); !isRefusal(err) {
				t.Errorf("finding somebody of %q: %v", id, err)
			}
			if names, err := v.Names(t.Context(), "home", id, ada.ID); err != nil || names[ada.ID] != ada.Name {
				t.Errorf("with %q names are %v, %v", id, names, err)
			}
			if _, err := v.SignIn(t.Context(), id+"@example.org", password); !errors.Is(err, &domain.Refusal{Code: "unauthorised"}) {
				t.Errorf("signing %q in: %v", id, err)
			}
		}
	})
}

func isRefusal(err error) bool {
	_, ok := errors.AsType[*domain.Refusal](err)
	return ok
}
