package place_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"assent/domain/place"
)

func TestClean(t *testing.T) {
	tests := map[string]string{ // empty: cannot be an address
		"/":                             "/",
		"/about":                        "/about",
		"/about/":                       "/about",
		"/a/b.html":                     "/a/b.html",
		"/caf%C3%A9":                    "/café",
		"/cafe\u0301":                   "/café", // one spelling of one word
		"/a%2Fb":                        "/a/b",
		"/.well-known":                  "/.well-known",
		"":                              "",
		"about":                         "",
		"//":                            "",
		"//about":                       "",
		"/a//b":                         "",
		"/a/./b":                        "",
		"/a/..":                         "",
		"/%2e%2e/x":                     "",
		"/a b":                          "",
		"/a%20b":                        "",
		"/a%0ab":                        "",
		"/a\u202eb":                     "",
		"/a\u200bb":                     "",
		"/a?b":                          "",
		"/a#b":                          "",
		`/a\b`:                          "",
		"/a%25b":                        "",
		"/a%zz":                         "",
		"/%ff":                          "",
		"/a\xffb":                       "",
		"/api":                          "",
		"/api/x":                        "",
		"/preview":                      "",
		"/_assent/x":                    "",
		"/feed.xml":                     "",
		"/apis":                         "/apis",
		"/" + strings.Repeat("a", 1024): "",
	}
	for path, want := range tests {
		t.Run(path, func(t *testing.T) {
			got, ok := place.Clean(path)
			if ok != (want != "") || ok && got != want {
				t.Errorf("got %q %v, want %q", got, ok, want)
			}
		})
	}
}

// FuzzClean: an address that is clean stays as it is, and is one that can be
// written down.
func FuzzClean(f *testing.F) {
	for _, seed := range []string{"/", "//", "/a/", "/a%2fb", "/%ff", "/%2541", "/a/../b", "/é", "/\u202e"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		once, ok := place.Clean(path)
		if !ok {
			return
		}
		if twice, ok := place.Clean(once); !ok || twice != once {
			t.Errorf("%q is cleaned to %q, and that to %q (%v)", path, once, twice, ok)
		}
		if !utf8.ValidString(once) || once[0] != '/' || strings.Contains(once, "//") || strings.Contains(once+"/", "/../") {
			t.Errorf("%q is cleaned to %q", path, once)
		}
	})
}

func TestWords(t *testing.T) {
	tests := []struct {
		what string
		is   func(string) bool
		yes  []string
		no   []string
	}{
		{"slug", place.IsSlug, []string{"a", "spring-menu", "2026", "a-1-b"}, []string{"", "-a", "a-", "a--b", "A", "a b", "ä", "a/b", "a\n", strings.Repeat("a", 201)}},
		{"handle", place.IsHandle, []string{"main", "a1", "the-garden"}, []string{"", "1a", "a_b", "Main", "a-", strings.Repeat("a", 64)}},
		{"language", place.IsLocale, []string{"en", "pt-BR", "zh-Hant", "zh-Hant-TW", "es-419", "gsw"}, []string{"", "EN", "english", "en_US", "en-us", "api", "e"}},
		{"day", place.IsDate, []string{"", "2026-11-30", "2024-02-29", "2026-11-30T09:00:00Z", "2026-11-30T09:00:00+01:00"}, []string{"2026-02-29", "30.11.2026", "2026-11-30 09:00", "now"}},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			for _, word := range tt.yes {
				if !tt.is(word) {
					t.Errorf("%q is no %s", word, tt.what)
				}
			}
			for _, word := range tt.no {
				if tt.is(word) {
					t.Errorf("%q is a %s", word, tt.what)
				}
			}
		})
	}
}

func TestClipKeepsWholeCharacters(t *testing.T) {
	long := strings.Repeat("é", 100)
	if got := place.Clip("x" + long); !utf8.ValidString(got) || len(got) > 63 || !strings.HasSuffix(got, "…") {
		t.Errorf("got %q", got)
	}
	if got := place.Clip("short"); got != "short" {
		t.Errorf("got %q", got)
	}
}
