package page_test

import (
	"testing"

	"assent/domain/action"
	"assent/domain/domaintest"
	"assent/domain/page"
	"assent/domain/place"
	"assent/domain/site"
)

var about = page.Created{Site: "main", Path: "/about", Title: "About us", Body: "We grow vegetables."}

// german is a site whose own language is German.
func german(t *testing.T) action.Known {
	return domaintest.Known(t, map[action.Ref][]any{
		place.SiteRef("main"): {site.Created{Title: "Garten", Locale: "de"}},
	}, site.Kind)
}

func which(id string) page.Which { return page.Which{Page: id} }

func TestCreate(t *testing.T) {
	create := func(path string) page.CreateArgs {
		return page.CreateArgs{Site: "main", Path: path, Title: "About us", Body: "We grow vegetables."}
	}
	at := func(path string) []any {
		e := about
		e.Path = path
		return []any{e}
	}
	foreign := about
	foreign.Locale = "en"
	domaintest.Run(t, page.Create, map[string]domaintest.Case[page.CreateArgs]{
		"makes it at its path":              {Known: german(t), When: create("/about"), Then: at("/about")},
		"at the root":                       {Known: german(t), When: create("/"), Then: at("/")},
		"a slash at the end is dropped":     {Known: german(t), When: create("/about/"), Then: at("/about")},
		"percent signs are decoded once":    {Known: german(t), When: create("/caf%C3%A9"), Then: at("/café")},
		"keeps no language of the site":     {Known: german(t), When: page.CreateArgs{Site: "main", Path: "/about", Title: "About us", Body: "We grow vegetables.", Locale: "de"}, Then: []any{about}},
		"keeps a foreign language":          {Known: german(t), When: page.CreateArgs{Site: "main", Path: "/about", Title: "About us", Body: "We grow vegetables.", Locale: "en"}, Then: []any{foreign}},
		"no such site":                      {When: create("/about"), Refused: "not-found"},
		"without a title":                   {Known: german(t), When: page.CreateArgs{Site: "main", Path: "/about"}, Refused: "invalid"},
		"a path without its slash":          {Known: german(t), When: create("about"), Refused: "invalid"},
		"a path out of the site":            {Known: german(t), When: create("/../secret"), Refused: "invalid"},
		"a path decoded out of the site":    {Known: german(t), When: create("/%2e%2e/secret"), Refused: "invalid"},
		"a path the server keeps":           {Known: german(t), When: create("/preview/x"), Refused: "invalid"},
		"a path that is no text":            {Known: german(t), When: create("/%ff"), Refused: "invalid"},
		"a language that is none":           {Known: german(t), When: page.CreateArgs{Site: "main", Path: "/a", Title: "A", Locale: "klingon"}, Refused: "invalid"},
		"a language that hides a kept path": {Known: german(t), When: page.CreateArgs{Site: "main", Path: "/a", Title: "A", Locale: "api"}, Refused: "invalid"},
	})
}

func TestUpdate(t *testing.T) {
	domaintest.Run(t, page.Update, map[string]domaintest.Case[page.UpdateArgs]{
		"changes what it names": {
			Given: []any{about},
			When:  page.UpdateArgs{Which: which("x"), Title: new("About the garden")},
			Then:  []any{page.Updated{Title: new("About the garden")}},
		},
		"moves": {
			Given: []any{about},
			When:  page.UpdateArgs{Which: which("x"), Path: new("/garden/")},
			Then:  []any{page.Updated{Path: new("/garden")}},
		},
		"already there, but for a slash": {Given: []any{about}, When: page.UpdateArgs{Which: which("x"), Path: new("/about/")}},
		"already so":                     {Given: []any{about}, When: page.UpdateArgs{Which: which("x"), Title: new("About us"), Body: new("We grow vegetables.")}},
		"empties what it kept": {
			Given: []any{about, page.Updated{Meta: &map[string]any{"layout": "wide"}}},
			When:  page.UpdateArgs{Which: which("x"), Meta: &map[string]any{}},
			Then:  []any{page.Updated{Meta: &map[string]any{}}},
		},
		"into the site's own language": {
			Given: []any{about, page.Updated{Locale: new("en")}}, Known: german(t),
			When: page.UpdateArgs{Which: which("x"), Locale: new("de")},
			Then: []any{page.Updated{Locale: new("")}},
		},
		"to a path that cannot be": {Given: []any{about}, When: page.UpdateArgs{Which: which("x"), Path: new("/a b")}, Refused: "invalid"},
		"without a title":          {Given: []any{about}, When: page.UpdateArgs{Which: which("x"), Title: new("")}, Refused: "invalid"},
		"no such page":             {When: page.UpdateArgs{Which: which("x"), Title: new("New")}, Refused: "not-found"},
		"removed":                  {Given: []any{about, page.Removed{}}, When: page.UpdateArgs{Which: which("x"), Title: new("New")}, Refused: "not-found"},
	})
}

func TestRemove(t *testing.T) {
	domaintest.Run(t, page.Remove, map[string]domaintest.Case[page.RemoveArgs]{
		"takes it out of the draft": {Given: []any{about}, When: page.RemoveArgs{Which: which("x")}, Then: []any{page.Removed{}}},
		"already so":                {Given: []any{about, page.Removed{}}, When: page.RemoveArgs{Which: which("x")}},
		"back again":                {Given: []any{about, page.Removed{}, page.Restored{}}, When: page.RemoveArgs{Which: which("x")}, Then: []any{page.Removed{}}},
		"no such page":              {When: page.RemoveArgs{Which: which("x")}, Refused: "not-found"},
	})
}

func TestPlace(t *testing.T) {
	tests := map[string]struct {
		page       page.Page
		site, path string
	}{
		"at its path":                {page.Page{Site: "main", Exists: true, Path: "/about"}, "main", "/about"},
		"in another language":        {page.Page{Site: "main", Exists: true, Path: "/about", Locale: "en"}, "main", "/en/about"},
		"the root, another language": {page.Page{Site: "main", Exists: true, Path: "/", Locale: "en"}, "main", "/en"},
		"nowhere once removed":       {page.Page{Site: "main", Path: "/about"}, "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if site, path := tt.page.Place(); site != tt.site || path != tt.path {
				t.Errorf("at %q %q, want %q %q", site, path, tt.site, tt.path)
			}
		})
	}
}
