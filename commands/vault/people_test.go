package vault_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"assent/commands/vault"
	"assent/domain"

	"github.com/google/go-cmp/cmp"
)

func TestPeopleAreFoundInTheirWorkspaceOnly(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		v := b.withPeople(t)
		for _, want := range []vault.Person{ada, bob, eve} {
			got, err := v.Person(t.Context(), want.Workspace, want.ID)
			must(t, err)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		}
		_, err := v.Person(t.Context(), "away", bob.ID)
		refused(t, err, "not-found")
		_, err = v.PersonByEmail(t.Context(), "home", "nobody@example.org")
		refused(t, err, "not-found")
		_, err = v.PersonByEmail(t.Context(), "away", bob.Email)
		refused(t, err, "not-found")
	})
}

func TestAnEmailIsTheSameHoweverItIsSpelled(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		v := open(t, b.place(t))
		must(t, v.AddPerson(t.Context(), vault.Person{Workspace: "home", ID: "per_1", Name: "A", Email: "  René.Straße@Example.org "}))
		for _, spelled := range []string{
			"rené.straße@example.org", "RENE\u0301.STRASSE@EXAMPLE.ORG", "Rene\u0301.straSSe@example.ORG",
		} {
			p, err := v.PersonByEmail(t.Context(), "home", spelled)
			if err != nil || p.Email != "René.Straße@Example.org" {
				t.Errorf("%q finds %v, %v", spelled, p, err)
			}
			refused(t, v.AddPerson(t.Context(), vault.Person{Workspace: "home", ID: "per_2", Name: "B", Email: spelled}), "taken")
		}
		refused(t, v.AddPerson(t.Context(), vault.Person{Workspace: "home", ID: "per_1", Name: "C", Email: "c@example.org"}), "taken")
		if names, _ := v.Names(t.Context(), "home", "per_1"); names["per_1"] != "A" {
			t.Error("a refused person changed another one's name")
		}
	})
}

// twin is ada in another workspace: the same email, somebody else's id.
var twin = vault.Person{Workspace: "away", ID: "per_twin", Name: "A. L.", Email: "ADA@example.org"}

func TestAnEmailOfOneWorkspaceIsFreeInAnother(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		v := b.withPeople(t)
		must(t, v.AddPerson(t.Context(), twin))
		for _, want := range []vault.Person{ada, twin} {
			got, err := v.PersonByEmail(t.Context(), want.Workspace, "ada@EXAMPLE.org")
			must(t, err)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		}
		must(t, v.Erase(t.Context(), "away", twin.ID))
		if _, err := v.PersonByEmail(t.Context(), "home", ada.Email); err != nil {
			t.Errorf("erasing one forgets the other: %v", err)
		}
	})
}

func TestOfTwinsTheOneWhosePasswordItIsSignsIn(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		v := b.withPeople(t)
		must(t, v.AddPerson(t.Context(), twin))
		signsIn := func(password string, want vault.Person) {
			t.Helper()
			if got, err := v.SignIn(t.Context(), ada.Email, password); err != nil || got != want {
				t.Errorf("%q signs %v in, %v; want %v", password, got, err, want)
			}
		}
		must(t, v.SetPassword(t.Context(), "away", twin.ID, "another horse battery"))
		signsIn("another horse battery", twin) // ada was invited and has no password yet
		must(t, v.SetPassword(t.Context(), "home", ada.ID, password))
		signsIn(password, ada)
		signsIn("another horse battery", twin)
		_, err := v.SignIn(t.Context(), ada.Email, "neither horse battery")
		refused(t, err, "unauthorised")

		must(t, v.SetPassword(t.Context(), "away", twin.ID, password))
		signsIn(password, ada) // per_ada comes before per_twin
		if got, err := v.SignInTo(t.Context(), "away", ada.Email, password); err != nil || got != twin {
			t.Errorf("away, %v signs in, %v", got, err)
		}
		_, err = v.SignInTo(t.Context(), "elsewhere", ada.Email, password)
		refused(t, err, "unauthorised")
		_, err = v.SignInTo(t.Context(), "", ada.Email, password)
		refused(t, err, "unauthorised")
	})
}

func TestOneTryToSignInLooksAtTheOldestEightOnly(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		v := open(t, b.place(t))
		add := func(n int) vault.Person {
			t.Helper()
			p := vault.Person{Workspace: fmt.Sprintf("w%02d", 99-n), ID: fmt.Sprintf("per_%02d", n), Name: "Ada", Email: ada.Email}
			must(t, v.AddPerson(t.Context(), p))
			return p
		}
		for n := range 10 {
			add(n) // ten invitations that nobody accepted
		}
		for n := 10; n < 19; n++ {
			p := add(n)
			own := fmt.Sprintf("the password of %d", n)
			must(t, v.SetPassword(t.Context(), p.Workspace, p.ID, own))
			got, err := v.SignIn(t.Context(), ada.Email, own)
			if n < 18 && (err != nil || got != p) {
				t.Errorf("the %d. signs in as %v, %v", n, got, err)
			}
			if n == 18 {
				refused(t, err, "unauthorised")
			}
		}
	})
}

func TestOfManyWithOneEmailOneIsAdded(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		v := open(t, b.place(t))
		var added atomic.Int32
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				p := vault.Person{Workspace: "home", ID: "per_" + string(rune('a'+i)), Name: "X", Email: "x@example.org"}
				switch err := v.AddPerson(t.Context(), p); {
				case err == nil:
					added.Add(1)
				default:
					refused(t, err, "taken")
				}
			})
		}
		all.Wait()
		if added.Load() != 1 {
			t.Errorf("%d were added; want 1", added.Load())
		}
	})
}

func TestNamesAndEmailsArePlainText(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		v := open(t, b.place(t))
		long := strings.Repeat("a", 201)
		for _, name := range []string{
			"", "  ", long, "two\nlines", "tab\there", "nul\x00", "\xff", "line\u2028break", "turned \u202egnp.exe",
		} {
			refused(t, v.AddPerson(t.Context(), vault.Person{Workspace: "home", ID: "per_1", Name: name, Email: "a@b"}), "invalid")
			refused(t, v.SetName(t.Context(), "home", "agt_1", name), "invalid")
		}
		for _, email := range []string{
			"", "a", "@b", "a@", "a b@c", "a@b\n", "a\x00@b", "\xff@b", "ze\u200bro@b", long + "@b",
		} {
			if strings.TrimSpace(email) == "a@b" {
				continue // what is around it is not part of it
			}
			refused(t, v.AddPerson(t.Context(), vault.Person{Workspace: "home", ID: "per_1", Name: "A", Email: email}), "invalid")
		}
		must(t, v.SetName(t.Context(), "home", "agt_1", "  "+strings.Repeat("a", 200)+" "))
		must(t, v.SetName(t.Context(), "home", "agt_2", "نوید ‌ رضا 👩‍🚀"))
	})
}

func TestNamesAreOfWhateverHasAnID(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		v := b.withPeople(t)
		must(t, v.SetName(t.Context(), "home", "agt_1", "Writer"))
		must(t, v.SetName(t.Context(), "home", "agt_1", " Editor "))
		got, err := v.Names(t.Context(), "home", ada.ID, "agt_1", "key_none", `"]`, "\xff")
		must(t, err)
		if diff := cmp.Diff(map[string]string{ada.ID: ada.Name, "agt_1": "Editor"}, got); diff != "" {
			t.Error(diff)
		}
		if got, err := v.Names(t.Context(), "home"); err != nil || len(got) != 0 {
			t.Errorf("no ids have the names %v, %v", got, err)
		}
		many := make([]string, 100_000)
		many[99_999] = ada.ID
		if got, err := v.Names(t.Context(), "home", many...); err != nil || len(got) != 1 {
			t.Errorf("among many ids are the names %v, %v", got, err)
		}
	})
}

func TestSigningInTakesTheRightEmailAndPassword(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		v := b.withPeople(t)
		must(t, v.SetPassword(t.Context(), "home", ada.ID, password))
		p, err := v.SignIn(t.Context(), "ADA@example.org", password)
		if err != nil || p != ada {
			t.Errorf("signing in gives %v, %v", p, err)
		}
		for _, wrong := range []struct{ why, email, password string }{
			{"wrong password", ada.Email, "incorrect horse battery"},
			{"no password", ada.Email, ""},
			{"password that is too long", ada.Email, strings.Repeat("a", 1025)},
			{"unknown email", "nobody@example.org", password},
			{"endless email", strings.Repeat("a", 1<<20), password},
			{"no email", "", password},
			{"invalid email", "\xff", password},
			{"person without a password", bob.Email, password},
			{"person without a password, none given", bob.Email, ""},
		} {
			t.Run(wrong.why, func(t *testing.T) {
				p, err := v.SignIn(t.Context(), wrong.email, wrong.password)
				refused(t, err, "unauthorised")
				if p != (vault.Person{}) {
					t.Errorf("it tells of %v", p)
				}
			})
		}
		must(t, v.SetPassword(t.Context(), "home", ada.ID, "another horse battery"))
		_, err = v.SignIn(t.Context(), ada.Email, password)
		refused(t, err, "unauthorised")
	})
}

func TestARefusalToSignInDoesNotTellWhichWasWrong(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		v := b.withPeople(t)
		must(t, v.SetPassword(t.Context(), "home", ada.ID, password))
		_, known := v.SignIn(t.Context(), ada.Email, "incorrect horse battery")
		_, unknown := v.SignIn(t.Context(), "nobody@example.org", "incorrect horse battery")
		if known.Error() != unknown.Error() {
			t.Errorf("%q is not %q", known, unknown)
		}
	})
}

func TestAPasswordHas12To1024Bytes(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		v := b.withPeople(t)
		for _, n := range []int{0, 11, 1025} {
			refused(t, v.SetPassword(t.Context(), "home", ada.ID, strings.Repeat("a", n)), "invalid")
		}
		for _, n := range []int{12, 1024} {
			long := strings.Repeat("a", n)
			must(t, v.SetPassword(t.Context(), "home", ada.ID, long))
			if _, err := v.SignIn(t.Context(), ada.Email, long); err != nil {
				t.Errorf("signing in with %d bytes: %v", n, err)
			}
		}
		refused(t, v.SetPassword(t.Context(), "away", bob.ID, password), "not-found")
	})
}

func TestAPasswordIsTheSameHoweverItsLettersAreComposed(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		v := b.withPeople(t)
		must(t, v.SetPassword(t.Context(), "home", ada.ID, "cafe\u0301 au lait noir"))
		if _, err := v.SignIn(t.Context(), ada.Email, "caf\u00e9 au lait noir"); err != nil {
			t.Error(err)
		}
	})
}

func TestAPasswordMovesToTodaysCost(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		path := b.place(t)
		v := open(t, path)
		must(t, v.AddPerson(t.Context(), ada))
		must(t, v.SetPassword(t.Context(), "home", ada.ID, password))
		must(t, v.Close())

		dearer := cheap
		dearer.Iterations = 2
		v = open(t, path, vault.WithPasswordCost(dearer))
		for range 2 {
			if _, err := v.SignIn(t.Context(), ada.Email, password); err != nil {
				t.Fatal(err)
			}
		}
		_, err := v.SignIn(t.Context(), ada.Email, "incorrect horse battery")
		refused(t, err, "unauthorised")
		must(t, v.Close())
		var hash string
		must(t, b.tables(t, path).QueryRowContext(t.Context(), `SELECT password FROM person`).Scan(&hash))
		if !strings.Contains(hash, "$m=64,t=2,p=1$") {
			t.Errorf("the password is still hashed at the old cost: %s", hash)
		}
	})
}

func TestPasswordsCostWhatTheyShouldInProduction(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		v := open(t, b.place(t), vault.WithPasswordCost(vault.PasswordCost()))
		must(t, v.AddPerson(t.Context(), ada))
		must(t, v.SetPassword(t.Context(), "home", ada.ID, password))
		if _, err := v.SignIn(t.Context(), ada.Email, password); err != nil {
			t.Error(err)
		}
	})
}

func TestAFaultIsNotARefusal(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		v := b.withPeople(t)
		must(t, v.Close())
		_, err := v.SignIn(t.Context(), ada.Email, password)
		if _, ok := errors.AsType[*domain.Refusal](err); err == nil || ok {
			t.Errorf("a closed vault says %v", err)
		}
	})
}
