package vault_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"assent/commands/vault"
	"assent/domain"
)

func TestTheErasedAreForgotten(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		path := b.place(t)
		v := open(t, path)
		for _, p := range []vault.Person{ada, bob, eve} {
			must(t, v.AddPerson(t.Context(), p))
			must(t, v.SetPassword(t.Context(), p.Workspace, p.ID, password))
		}
		adas, bobs, eves := seal(t, v, "home", ada.ID, "x"), seal(t, v, "home", bob.ID, "y"), seal(t, v, "away", eve.ID, "z")
		session, err := v.NewSession(t.Context(), "home", ada.ID, noon, time.Hour)
		must(t, err)
		link, err := v.MintLink(t.Context(), "home", "invitation", ada.ID, noon.Add(time.Hour))
		must(t, err)

		for range 2 { // again is fine
			must(t, v.Erase(t.Context(), "home", ada.ID))
		}
		for range 2 { // and so it stays
			_, err = v.Person(t.Context(), "home", ada.ID)
			refused(t, err, "not-found")
			_, err = v.SignIn(t.Context(), ada.Email, password)
			refused(t, err, "unauthorised")
			_, err = v.Session(t.Context(), session, noon)
			refused(t, err, "unauthorised")
			_, _, err = v.UseLink(t.Context(), link, "invitation", noon)
			refused(t, err, "unauthorised")
			if names, err := v.Names(t.Context(), "home", ada.ID); err != nil || len(names) != 0 {
				t.Errorf("names are left: %v, %v", names, err)
			}
			if _, err := v.Unseal(t.Context(), "home", adas); !errors.Is(err, vault.ErrErased) {
				t.Errorf("the text reads %v; want ErrErased", err)
			}
			_, err = v.Seal(t.Context(), "home", ada.ID, "again")
			refused(t, err, "final")
			refused(t, v.AddPerson(t.Context(), ada), "final")
			refused(t, v.SetName(t.Context(), "home", ada.ID, ada.Name), "final")
			refused(t, v.SetPassword(t.Context(), "home", ada.ID, password), "final")
			_, err = v.NewSession(t.Context(), "home", ada.ID, noon, time.Hour)
			refused(t, err, "final")
			_, err = v.MintLink(t.Context(), "home", "invitation", ada.ID, noon)
			refused(t, err, "final")

			for s, want := range map[*domain.Sealed]struct{ ws, text string }{bobs: {"home", "y"}, eves: {"away", "z"}} {
				if got, err := v.Unseal(t.Context(), want.ws, s); err != nil || got != want.text {
					t.Errorf("another's text reads %q, %v", got, err)
				}
			}
			if p, err := v.Person(t.Context(), "away", eve.ID); err != nil || p != eve {
				t.Errorf("the same id elsewhere is %v, %v", p, err)
			}
			must(t, v.Close())
			v = open(t, path)
		}
		back := ada
		back.ID = "per_new"
		if err := v.AddPerson(t.Context(), back); err != nil {
			t.Errorf("the email is not free again: %v", err)
		}
	})
}

// canary is somebody whose name, email and old name are like nobody else's.
func canary(i int) (p vault.Person, oldName string) {
	return vault.Person{
		Workspace: "home",
		ID:        fmt.Sprintf("per_%04d", i*7919%5000), // not in order, so that pages split in the middle
		Name:      fmt.Sprintf("Canary-N%04d-%s", i, strings.Repeat("n", i%150)),
		Email:     fmt.Sprintf("canary-e%04d-%s@example.org", i, strings.Repeat("e", i%100)),
	}, fmt.Sprintf("Canary-O%04d-%s", i, strings.Repeat("o", (i*31)%150))
}

func TestNoByteOfTheErasedIsLeft(t *testing.T) {
	path := newPath(t)
	v := open(t, path)
	all := make([]int, 600)
	for i := range all {
		all[i] = i
		p, oldName := canary(i)
		now := p.Name
		p.Name = oldName
		must(t, v.AddPerson(t.Context(), p))
		must(t, v.SetName(t.Context(), "home", p.ID, now))
	}
	must(t, v.Close()) // everything is in the one file now

	// SQLite leaves copies behind when it moves rows: of some people more than
	// of others. Those are the ones to erase.
	file, err := os.ReadFile(path)
	must(t, err)
	copies := func(i int) int {
		return bytes.Count(file, fmt.Appendf(nil, "Canary-N%04d-", i)) + bytes.Count(file, fmt.Appendf(nil, "canary-e%04d-", i))
	}
	slices.SortStableFunc(all, func(i, j int) int { return copies(j) - copies(i) })
	erase, keep := all[:10], all[10:]
	if most, least := copies(erase[0]), copies(keep[len(keep)-1]); least == 0 || most == least {
		t.Fatalf("the file has %d to %d copies of a canary; the test shows nothing", least, most)
	}

	v = open(t, path)
	for _, i := range erase {
		p, _ := canary(i)
		must(t, v.Erase(t.Context(), "home", p.ID))
		noTrace(t, filesBeside(t, path), i)
	}
	must(t, v.Close())
	for _, i := range erase {
		noTrace(t, filesBeside(t, path), i)
	}
	v = open(t, path)
	for _, i := range keep {
		p, _ := canary(i)
		if got, err := v.Person(t.Context(), "home", p.ID); err != nil || got != p {
			t.Fatalf("another is now %v, %v; want %v", got, err, p)
		}
	}
}

func TestAnErasureThatWasHeldUpIsFinishedLater(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		for name, finish := range map[string]func(*testing.T, *vault.Vault, string, string){
			"by erasing again": func(t *testing.T, v *vault.Vault, _, id string) { must(t, v.Erase(t.Context(), "home", id)) },
			"by opening again": func(t *testing.T, _ *vault.Vault, place, _ string) { open(t, place) },
		} {
			t.Run(name, func(t *testing.T) {
				place := b.place(t)
				v := open(t, place)
				p, _ := canary(0)
				must(t, v.AddPerson(t.Context(), p))
				letGo := holdUp(t, b.tables(t, place))

				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error)
				go func() { done <- v.Erase(ctx, "home", p.ID) }()
				for { // until it is committed
					if _, err := v.Person(t.Context(), "home", p.ID); err != nil {
						refused(t, err, "not-found")
						break
					}
				}
				cancel()
				if err := <-done; err == nil {
					t.Error("erasing succeeded while someone still reads the bytes")
				}
				letGo()
				finish(t, v, place, p.ID)
				noTrace(t, b.files(t, place), 0)
			})
		}
	})
}

// holdUp reads the vault and does not stop, as a slow backup would.
func holdUp(t *testing.T, db *sql.DB) (letGo func()) {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	must(t, err)
	var n int
	must(t, tx.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM person`).Scan(&n))
	return func() { must(t, tx.Rollback()) }
}

// noTrace wants nothing of a canary in files.
func noTrace(t *testing.T, files []byte, i int) {
	t.Helper()
	for _, c := range []string{"Canary-N%04d-", "Canary-O%04d-", "canary-e%04d-"} {
		if c := fmt.Sprintf(c, i); bytes.Contains(files, []byte(c)) {
			t.Errorf("%s is still there", c)
		}
	}
}

func TestErasingWhileSealingLeavesNothingReadable(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		one, two, _ := b.pair(t)
		for i := range 10 {
			id := fmt.Sprintf("per_%d", i)
			before := seal(t, one, "home", id, "x")
			var all sync.WaitGroup
			for _, v := range []*vault.Vault{one, one, two, two} {
				all.Go(func() {
					for range 50 {
						if s, err := v.Seal(t.Context(), "home", id, "x"); err == nil {
							v.Unseal(t.Context(), "home", s)
						} else {
							refused(t, err, "final")
						}
					}
				})
			}
			all.Go(func() {
				if err := one.Erase(t.Context(), "home", id); err != nil {
					t.Error(err)
				}
			})
			all.Wait()
			for _, v := range []*vault.Vault{one, two} {
				_, err := v.Seal(t.Context(), "home", id, "x")
				refused(t, err, "final")
				if _, err := v.Unseal(t.Context(), "home", before); !errors.Is(err, vault.ErrErased) {
					t.Errorf("a text from before reads %v; want ErrErased", err)
				}
			}
		}
	})
}

func TestNothingComesBackToTheErased(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		one, two, place := b.pair(t)
		for i := range 10 {
			p := vault.Person{Workspace: "home", ID: fmt.Sprintf("per_%d", i), Name: "Ada", Email: ada.Email}
			must(t, one.AddPerson(t.Context(), p))
			var all sync.WaitGroup
			for what, give := range map[string]func(v *vault.Vault) error{
				"a seat":     func(v *vault.Vault) error { return v.AddPerson(t.Context(), p) },
				"a name":     func(v *vault.Vault) error { return v.SetName(t.Context(), p.Workspace, p.ID, p.Name) },
				"a password": func(v *vault.Vault) error { return v.SetPassword(t.Context(), p.Workspace, p.ID, password) },
				"a session": func(v *vault.Vault) error {
					_, err := v.NewSession(t.Context(), p.Workspace, p.ID, noon, time.Hour)
					return err
				},
				"a link": func(v *vault.Vault) error {
					_, err := v.MintLink(t.Context(), p.Workspace, "invitation", p.ID, noon)
					return err
				},
				"a key": func(v *vault.Vault) error {
					_, err := v.Seal(t.Context(), p.Workspace, p.ID, "x")
					return err
				},
			} {
				for _, v := range []*vault.Vault{one, two} {
					all.Go(func() {
						for range 5 {
							err := give(v)
							if _, meant := errors.AsType[*domain.Refusal](err); err != nil && !meant {
								t.Errorf("%s: %v", what, err)
							}
						}
					})
				}
			}
			all.Go(func() {
				if err := two.Erase(t.Context(), p.Workspace, p.ID); err != nil {
					t.Error(err)
				}
			})
			all.Wait()
		}
		db := b.tables(t, place)
		for _, table := range []string{"person", "name", "link", "session", "sealing_key"} {
			var left int
			must(t, db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM `+table).Scan(&left))
			if left != 0 {
				t.Errorf("%d rows of %s came back to the erased", left, table)
			}
		}
	})
}
