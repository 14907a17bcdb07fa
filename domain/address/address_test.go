package address_test

import (
	"testing"

	"assent/domain"
	"assent/domain/address"
	"assent/domain/domaintest"
)

const mine, yours = "article-home/art_1", "page-home/page_1"

func TestWhoHoldsAnAddress(t *testing.T) {
	tests := map[string]struct {
		given []any
		then  string
	}{
		"nobody at first":             {nil, ""},
		"who took it":                 {[]any{address.Taken{Holder: mine}}, mine},
		"nobody once freed":           {[]any{address.Taken{Holder: mine}, address.Freed{}}, ""},
		"who took it over":            {[]any{address.Taken{Holder: mine}, address.Taken{Holder: yours}}, yours},
		"who took it after it's free": {[]any{address.Taken{Holder: mine}, address.Freed{}, address.Taken{Holder: yours}}, yours},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			state, err := address.Kind.Fold(tt.given)
			if err != nil {
				t.Fatal(err)
			}
			if got := state.(address.Address).Holder; got != tt.then {
				t.Errorf("held by %q, want %q", got, tt.then)
			}
			domaintest.Laws(t, address.Kind, tt.given)
		})
	}
}

func TestFreeingAFreeAddressIsTakenBackToFree(t *testing.T) {
	domaintest.Laws(t, address.Kind, []any{address.Freed{}})
}

func TestOneStreamAPathOfASiteOfAWorkspace(t *testing.T) {
	home := address.Of("home", "main", "/posts/menu")
	if got := home.String(); got != "address-home/main/posts/menu" {
		t.Errorf("got %s", got)
	}
	for _, other := range []domain.Stream{
		address.Of("other", "main", "/posts/menu"), address.Of("home", "second", "/posts/menu"), address.Of("home", "main", "/posts"),
	} {
		if other == home {
			t.Errorf("%s is the same address", other)
		}
	}
	if back, err := domain.ParseStream(home.String()); err != nil || back != home {
		t.Errorf("reads back as %v (%v)", back, err)
	}
}
