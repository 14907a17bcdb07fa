package domain_test

import (
	"testing"

	"assent/domain"
)

func TestParseStream(t *testing.T) {
	tests := map[string]domain.Stream{
		"article-home/art_1":         {Category: "article", Workspace: "home", ID: "art_1"},
		"address-home/main/posts/a":  {Category: "address", Workspace: "home", ID: "main/posts/a"},
		"live-two-words/main":        {Category: "live", Workspace: "two-words", ID: "main"},
		"conduct-home/agent.a-2026":  {Category: "conduct", Workspace: "home", ID: "agent.a-2026"},
		"":                           {},
		"article":                    {},
		"article-home":               {},
		"article-home/":              {},
		"article/home":               {},
		"-home/x":                    {},
		"article-/x":                 {},
		"/article-home/x":            {},
		"article/home-x/the-id-of-a": {},
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := domain.ParseStream(name)
			if got != want || (err != nil) != want.IsZero() {
				t.Errorf("got %+v (%v), want %+v", got, err, want)
			}
		})
	}
}

func TestAThingOfOneWorkspaceIsNeverOneOfAnother(t *testing.T) {
	home := domain.Stream{Category: "article", Workspace: "home", ID: "art_1"}
	if got := home.In("page", "page_1").String(); got != "page-home/page_1" {
		t.Errorf("got %s", got)
	}
	other := home
	other.Workspace = "other"
	if home.String() == other.String() {
		t.Error("two workspaces share a stream")
	}
}

// FuzzParseStream: a name that is read is written again as it was.
func FuzzParseStream(f *testing.F) {
	for _, seed := range []string{"article-home/art_1", "address-home/main/a/b", "a-b-c/d", "-/", "a-/b", "live-home/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		s, err := domain.ParseStream(name)
		if err != nil {
			return
		}
		if s.String() != name {
			t.Errorf("%q reads as %+v, which is written %q", name, s, s)
		}
		if again, err := domain.ParseStream(s.String()); err != nil || again != s {
			t.Errorf("%+v reads back as %+v (%v)", s, again, err)
		}
	})
}
