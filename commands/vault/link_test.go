package vault_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestALinkWorksOnce(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		v := b.withPeople(t)
		token, err := v.MintLink(t.Context(), "home", "invitation", bob.ID, noon.Add(time.Hour))
		must(t, err)
		for range 2 {
			ws, person, err := v.PeekLink(t.Context(), token, "invitation", noon)
			if err != nil || ws != "home" || person != bob.ID {
				t.Errorf("looking gives %q, %q, %v", ws, person, err)
			}
		}
		ws, person, err := v.UseLink(t.Context(), token, "invitation", noon)
		if err != nil || ws != "home" || person != bob.ID {
			t.Errorf("using gives %q, %q, %v", ws, person, err)
		}
		_, _, err = v.UseLink(t.Context(), token, "invitation", noon)
		refused(t, err, "expired")
		_, _, err = v.PeekLink(t.Context(), token, "invitation", noon)
		refused(t, err, "expired")
	})
}

func TestOfManyWhoUseALinkOneGetsThrough(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		v := b.withPeople(t)
		token, err := v.MintLink(t.Context(), "home", "setup", "", noon.Add(time.Hour))
		must(t, err)
		var through atomic.Int32
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if _, _, err := v.UseLink(t.Context(), token, "setup", noon); err == nil {
					through.Add(1)
				} else {
					refused(t, err, "expired")
				}
			})
		}
		all.Wait()
		if through.Load() != 1 {
			t.Errorf("%d got through; want 1", through.Load())
		}
	})
}

func TestALinkEndsInTime(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		v := b.withPeople(t)
		token, err := v.MintLink(t.Context(), "home", "setup", "", noon.Add(time.Hour))
		must(t, err)
		for _, late := range []time.Duration{time.Hour, 48 * time.Hour} {
			_, _, err = v.UseLink(t.Context(), token, "setup", noon.Add(late))
			refused(t, err, "expired")
		}
		if _, _, err := v.UseLink(t.Context(), token, "setup", noon.Add(time.Hour-time.Millisecond)); err != nil {
			t.Error(err)
		}
	})
}

func TestALinkIsForOnePurpose(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		v := b.withPeople(t)
		token, err := v.MintLink(t.Context(), "home", "invitation", bob.ID, noon.Add(time.Hour))
		must(t, err)
		for _, bad := range []struct{ token, purpose string }{
			{token, "setup"}, {token, ""}, {"", "invitation"}, {token + "A", "invitation"}, {token[1:], "invitation"},
			{strings.Repeat("A", len(token)), "invitation"}, {strings.Repeat("\xff", len(token)), "invitation"},
		} {
			_, _, err := v.UseLink(t.Context(), bad.token, bad.purpose, noon)
			refused(t, err, "unauthorised")
			_, _, err = v.PeekLink(t.Context(), bad.token, bad.purpose, noon)
			refused(t, err, "unauthorised")
		}
		if _, _, err := v.UseLink(t.Context(), token, "invitation", noon); err != nil {
			t.Errorf("bad attempts used it up: %v", err)
		}
	})
}

func TestANewSetUpLinkEndsTheOldOnes(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		v := b.withPeople(t)
		mint := func(ws, purpose string) string {
			token, err := v.MintLink(t.Context(), ws, purpose, "", noon.Add(time.Hour))
			must(t, err)
			return token
		}
		old, invitation, elsewhere := mint("home", "setup"), mint("home", "invitation"), mint("away", "setup")
		must(t, v.DropLinks(t.Context(), "home", "setup"))
		fresh := mint("home", "setup")

		_, _, err := v.UseLink(t.Context(), old, "setup", noon)
		refused(t, err, "expired")
		for token, purpose := range map[string]string{fresh: "setup", invitation: "invitation", elsewhere: "setup"} {
			if _, _, err := v.UseLink(t.Context(), token, purpose, noon); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestALinkLongOverIsForgotten(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		v := b.withPeople(t)
		old, err := v.MintLink(t.Context(), "home", "setup", "", noon)
		must(t, err)
		fresh, err := v.MintLink(t.Context(), "home", "setup", "", noon.AddDate(1, 0, 0))
		must(t, err)
		_, _, err = v.UseLink(t.Context(), fresh, "setup", noon.AddDate(0, 2, 0))
		must(t, err)
		_, _, err = v.UseLink(t.Context(), old, "setup", noon)
		refused(t, err, "unauthorised")
	})
}
