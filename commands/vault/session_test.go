package vault_test

import (
	"strings"
	"testing"
	"time"

	"assent/commands/vault"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestASessionLastsUntilItsTimeIsOver(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		v := b.withPeople(t)
		token, err := v.NewSession(t.Context(), "home", ada.ID, noon, time.Hour)
		must(t, err)
		got, err := v.Session(t.Context(), token, noon)
		must(t, err)
		want := vault.Session{Workspace: "home", Person: ada.ID, Created: noon, LastSeen: noon, Expires: noon.Add(time.Hour), Proved: noon}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(vault.Session{}, "ID")); diff != "" {
			t.Error(diff)
		}
		if !strings.HasPrefix(got.ID, "sess_") {
			t.Errorf("its id is %q", got.ID)
		}
		if _, err := v.Session(t.Context(), token, noon.Add(time.Hour-time.Millisecond)); err != nil {
			t.Error(err)
		}
		_, err = v.Session(t.Context(), token, noon.Add(time.Hour))
		refused(t, err, "unauthorised")
	})
}

func TestWhoIsSignedInShowsThatItIsThey(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		v := b.withPeople(t)
		must(t, v.SetPassword(t.Context(), "home", ada.ID, "correct horse battery"))
		must(t, v.SetPassword(t.Context(), "home", bob.ID, "another horse battery"))
		token, err := v.NewSession(t.Context(), "home", ada.ID, noon, time.Hour)
		must(t, err)
		later := noon.Add(10 * time.Minute)
		for _, wrong := range []string{"", "another horse battery", "correct horse"} {
			refused(t, v.Prove(t.Context(), token, wrong, later), "unauthorised")
		}
		refused(t, v.Prove(t.Context(), token+"x", "correct horse battery", later), "unauthorised")
		if s, err := v.Session(t.Context(), token, later); err != nil || !s.Proved.Equal(noon) {
			t.Errorf("%v %v", s.Proved, err)
		}
		must(t, v.Prove(t.Context(), token, "correct horse battery", later))
		if s, err := v.Session(t.Context(), token, later); err != nil || !s.Proved.Equal(later) {
			t.Errorf("%v %v", s.Proved, err)
		}
	})
}

func TestAPersonSeesAndEndsTheirOwnSessionsOnly(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		v := b.withPeople(t)
		begin := func(p vault.Person, after time.Duration) (string, string) {
			token, err := v.NewSession(t.Context(), p.Workspace, p.ID, noon.Add(after), time.Hour)
			must(t, err)
			s, err := v.Session(t.Context(), token, noon.Add(after))
			must(t, err)
			return token, s.ID
		}
		ids := func(p vault.Person, after time.Duration) (ids []string) {
			list, err := v.SessionsOf(t.Context(), p.Workspace, p.ID, noon.Add(after))
			must(t, err)
			for _, s := range list {
				ids = append(ids, s.ID)
			}
			return ids
		}
		old, first := begin(ada, 0)
		_, second := begin(ada, time.Minute)
		_, bobs := begin(bob, 0)
		if diff := cmp.Diff([]string{second, first}, ids(ada, time.Minute)); diff != "" {
			t.Error(diff)
		}
		must(t, v.EndSessionOf(t.Context(), "home", ada.ID, bobs)) // not hers
		must(t, v.EndSessionOf(t.Context(), "home", ada.ID, first))
		must(t, v.EndSessionOf(t.Context(), "home", ada.ID, first))
		_, err := v.Session(t.Context(), old, noon)
		refused(t, err, "unauthorised")
		if diff := cmp.Diff([]string{second}, ids(ada, time.Minute)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{bobs}, ids(bob, 0)); diff != "" {
			t.Error(diff)
		}
		if left := ids(ada, 2*time.Hour); left != nil {
			t.Errorf("after their time there are %v", left)
		}
	})
}

func TestLastSeenIsKeptToTheMinute(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		v := b.withPeople(t)
		token, err := v.NewSession(t.Context(), "home", ada.ID, noon, time.Hour)
		must(t, err)
		for _, step := range []struct{ at, seen time.Duration }{
			{59 * time.Second, 0},
			{60 * time.Second, 60 * time.Second},
			{119 * time.Second, 60 * time.Second},
			{0, 60 * time.Second}, // a clock that was set back
			{120 * time.Second, 120 * time.Second},
		} {
			s, err := v.Session(t.Context(), token, noon.Add(step.at))
			must(t, err)
			if got := s.LastSeen.Sub(noon); got != step.seen {
				t.Errorf("asked after %v it was last seen after %v; want %v", step.at, got, step.seen)
			}
		}
	})
}

func TestEndedSessionsAreOver(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		v := b.withPeople(t)
		begin := func(p vault.Person) string {
			token, err := v.NewSession(t.Context(), p.Workspace, p.ID, noon, time.Hour)
			must(t, err)
			return token
		}
		first, second, third := begin(ada), begin(ada), begin(ada)
		bobs, eves := begin(bob), begin(eve)
		must(t, v.EndSession(t.Context(), first))
		must(t, v.EndSession(t.Context(), first))
		must(t, v.EndSession(t.Context(), "garbage"))
		_, err := v.Session(t.Context(), first, noon)
		refused(t, err, "unauthorised")
		if _, err := v.Session(t.Context(), second, noon); err != nil {
			t.Errorf("ending one session ended another: %v", err)
		}

		must(t, v.EndSessionsOf(t.Context(), "home", ada.ID))
		for _, token := range []string{second, third} {
			_, err := v.Session(t.Context(), token, noon)
			refused(t, err, "unauthorised")
		}
		for _, token := range []string{bobs, eves} {
			if _, err := v.Session(t.Context(), token, noon); err != nil {
				t.Errorf("ending one person's sessions ended another's: %v", err)
			}
		}
	})
}

func TestNobodyHasNoSession(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		v := b.withPeople(t)
		_, err := v.NewSession(t.Context(), "away", bob.ID, noon, time.Hour)
		refused(t, err, "not-found")
		for _, token := range []string{"", "garbage", strings.Repeat("A", 43), strings.Repeat("A", 1<<20)} {
			_, err := v.Session(t.Context(), token, noon)
			refused(t, err, "unauthorised")
		}
	})
}
