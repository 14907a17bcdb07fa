package domain_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"assent/domain"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func TestIDsSortByTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ms := rapid.Int64Range(0, 1<<48-2).Draw(t, "ms")
		early := domain.NewID("art", time.UnixMilli(ms))
		late := domain.NewID("art", time.UnixMilli(rapid.Int64Range(ms+1, 1<<48-1).Draw(t, "later")))
		if early >= late {
			t.Fatalf("%s does not come before %s", early, late)
		}
	})
}

func TestIDsOfOneMomentDiffer(t *testing.T) {
	var ids []domain.ID
	for range 1000 {
		ids = append(ids, domain.NewID("art", noon))
	}
	slices.Sort(ids)
	if n := len(slices.Compact(ids)); n != 1000 {
		t.Errorf("%d of 1000 ids are different", n)
	}
}

func TestAnIDIsAKindAndTwentySixLetters(t *testing.T) {
	for _, id := range []domain.ID{domain.NewID("art", noon), domain.Derive("art", "x"), domain.DeriveAt("art", domain.NewAction(noon), "x")} {
		kind, text, _ := strings.Cut(string(id), "_")
		if kind != "art" || id.Kind() != "art" || len(text) != 26 || strings.ContainsAny(text, "ilou") {
			t.Errorf("%s is not spelled like an id", id)
		}
	}
}

// These ids are in logs: the same parts must give them for ever.
func TestDerivedIDsStayTheSameForEver(t *testing.T) {
	tests := map[string]struct{ got, want domain.ID }{
		"from parts":        {domain.Derive("evt", "a", "b"), "evt_zb6xwynz3tp5pc0jeenjwa1ff4"},
		"from a command id": {domain.ActionFor("home", "agent:agent_1", "article.update", "c1"), "cmd_z9nz50rxdh02y2jg39tbymjdf8"},
		"from an action":    {domain.DeriveAt("art", "act_06wm2vtzr0000000000000000m", "thing"), "art_06wm2vtzr2yvfrdx2mkaqz7218"},
	}
	for name, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("%s: got %s, want %s", name, tt.got, tt.want)
		}
	}
}

func TestDerivedIDsTellTheirPartsApart(t *testing.T) {
	ids := []domain.ID{
		domain.Derive("x", "ab", "c"), domain.Derive("x", "a", "bc"), domain.Derive("x", "abc"), domain.Derive("x", "abc", ""),
		domain.ActionFor("home", "agent:a", "page.create", "1"), domain.ActionFor("other", "agent:a", "page.create", "1"),
		domain.ActionFor("home", "agent:b", "page.create", "1"), domain.ActionFor("home", "agent:a", "page.update", "1"),
	}
	slices.Sort(ids)
	if len(slices.Compact(ids)) != 8 {
		t.Errorf("some parts give the same id: %v", ids)
	}
}

func TestWhatAnActionMakesKeepsItsClock(t *testing.T) {
	first, second := domain.NewAction(noon), domain.NewAction(noon.Add(time.Millisecond))
	if a, b := domain.DeriveAt("art", first, "thing"), domain.DeriveAt("art", second, "thing"); a >= b {
		t.Errorf("%s does not come before %s", a, b)
	}
	a, b := domain.DeriveAt("evt", first, "0"), domain.DeriveAt("evt", first, "1")
	if a == b || a[:13] != b[:13] {
		t.Errorf("%s and %s should share a clock and nothing else", a, b)
	}
	named := domain.ActionFor("home", "agent:a", "page.create", "1")
	if got, want := domain.DeriveAt("art", named, "thing"), domain.Derive("art", string(named), "thing"); got != want {
		t.Errorf("an action without a clock gives %s, not %s", got, want)
	}
}

func TestAForeignActionIDIsNoTrouble(t *testing.T) {
	for _, odd := range []domain.ID{"", "act", "act_", "act_ü", "act_00", "act_ILOU"} {
		if got, want := domain.DeriveAt("art", odd, "x"), domain.Derive("art", string(odd), "x"); got != want {
			t.Errorf("%q gives %s, not %s", odd, got, want)
		}
	}
}
