package site_test

import (
	"testing"

	"assent/domain/domaintest"
	"assent/domain/site"
)

var garden = site.Created{Title: "The garden club", Locale: "en"}

func which(handle string) site.Which { return site.Which{Site: handle} }

func TestCreate(t *testing.T) {
	menu := []site.Link{{Label: "About", Path: "/about"}}
	domaintest.Run(t, site.Create, map[string]domaintest.Case[site.CreateArgs]{
		"makes it in English": {When: site.CreateArgs{Which: which("garden"), Title: "The garden club"}, Then: []any{garden}},
		"in its language, with a menu": {
			When: site.CreateArgs{Which: which("garden"), Title: "Garten", Locale: "de", Menu: menu},
			Then: []any{site.Created{Title: "Garten", Locale: "de", Menu: menu}},
		},
		"taken":                    {Given: []any{garden}, When: site.CreateArgs{Which: which("garden"), Title: "Mine"}, Refused: "taken"},
		"a handle that cannot be":  {When: site.CreateArgs{Which: which("The Garden"), Title: "A"}, Refused: "invalid"},
		"without a title":          {When: site.CreateArgs{Which: which("garden")}, Refused: "invalid"},
		"a language that is none":  {When: site.CreateArgs{Which: which("garden"), Title: "A", Locale: "klingon"}, Refused: "invalid"},
		"a menu that leads away":   {When: site.CreateArgs{Which: which("garden"), Title: "A", Menu: []site.Link{{Label: "Evil", Path: "https://example.org"}}}, Refused: "invalid"},
		"a menu without a label":   {When: site.CreateArgs{Which: which("garden"), Title: "A", Menu: []site.Link{{Path: "/about"}}}, Refused: "invalid"},
		"a menu that never ends":   {When: site.CreateArgs{Which: which("garden"), Title: "A", Menu: make([]site.Link, 51)}, Refused: "invalid"},
		"a menu with a script":     {When: site.CreateArgs{Which: which("garden"), Title: "A", Menu: []site.Link{{Label: "A", Path: "javascript:alert(1)"}}}, Refused: "invalid"},
		"a menu to another server": {When: site.CreateArgs{Which: which("garden"), Title: "A", Menu: []site.Link{{Label: "A", Path: "//example.org"}}}, Refused: "invalid"},
	})
}

func TestUpdate(t *testing.T) {
	menu := []site.Link{{Label: "About", Path: "/about"}}
	domaintest.Run(t, site.Update, map[string]domaintest.Case[site.UpdateArgs]{
		"changes what it names": {
			Given: []any{garden},
			When:  site.UpdateArgs{Which: which("garden"), Tagline: new("Growing since 1974")},
			Then:  []any{site.Updated{Tagline: new("Growing since 1974")}},
		},
		"a menu where there was none": {
			Given: []any{garden},
			When:  site.UpdateArgs{Which: which("garden"), Menu: &menu},
			Then:  []any{site.Updated{Menu: &menu}},
		},
		"no menu any more": {
			Given: []any{garden, site.Updated{Menu: &menu}},
			When:  site.UpdateArgs{Which: which("garden"), Menu: &[]site.Link{}},
			Then:  []any{site.Updated{Menu: &[]site.Link{}}},
		},
		"already so":              {Given: []any{garden}, When: site.UpdateArgs{Which: which("garden"), Title: new("The garden club")}},
		"without a title":         {Given: []any{garden}, When: site.UpdateArgs{Which: which("garden"), Title: new("")}, Refused: "invalid"},
		"without a language":      {Given: []any{garden}, When: site.UpdateArgs{Which: which("garden"), Locale: new("")}, Refused: "invalid"},
		"no such site":            {When: site.UpdateArgs{Which: which("garden"), Title: new("A")}, Refused: "not-found"},
		"a menu to a kept path":   {Given: []any{garden}, When: site.UpdateArgs{Which: which("garden"), Menu: &[]site.Link{{Label: "A", Path: "/api"}}}, Refused: "invalid"},
		"a language not spelt so": {Given: []any{garden}, When: site.UpdateArgs{Which: which("garden"), Locale: new("EN")}, Refused: "invalid"},
	})
}

func TestALanguageOfItsOwnIsNotForeign(t *testing.T) {
	s := site.Site{Exists: true, Locale: "de"}
	for locale, want := range map[string]string{"de": "", "": "", "en": "en"} {
		if got := s.Foreign(locale); got != want {
			t.Errorf("%q is kept as %q, not %q", locale, got, want)
		}
	}
}
