package article_test

import (
	"strings"
	"testing"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/article"
	"assent/domain/domaintest"
	"assent/domain/place"
	"assent/domain/site"
)

var menu = article.Created{Site: "main", Collection: "posts", Slug: "menu", Title: "Winter menu", Body: "Kale."}

// german is a site whose own language is German.
func german(t *testing.T) action.Known {
	return domaintest.Known(t, map[action.Ref][]any{
		place.SiteRef("main"): {site.Created{Title: "Garten", Locale: "de"}},
	}, site.Kind)
}

func which(id string) article.Which { return article.Which{Article: id} }

func TestCreate(t *testing.T) {
	domaintest.Run(t, article.Create, map[string]domaintest.Case[article.CreateArgs]{
		"makes it in the collection posts": {
			Known: german(t),
			When:  article.CreateArgs{Site: "main", Slug: "menu", Title: "Winter menu", Body: "Kale."},
			Then:  []any{menu},
		},
		"keeps no language that is the site's own": {
			Known: german(t),
			When:  article.CreateArgs{Site: "main", Slug: "menu", Title: "Winter menu", Body: "Kale.", Locale: "de"},
			Then:  []any{menu},
		},
		"keeps a foreign language": {
			Known: german(t),
			When:  article.CreateArgs{Site: "main", Slug: "menu", Title: "Winter menu", Body: "Kale.", Locale: "en"},
			Then:  []any{article.Created{Site: "main", Collection: "posts", Locale: "en", Slug: "menu", Title: "Winter menu", Body: "Kale."}},
		},
		"no such site":           {When: article.CreateArgs{Site: "nowhere", Slug: "a", Title: "A"}, Refused: "not-found"},
		"a slug with a space":    {Known: german(t), When: article.CreateArgs{Site: "main", Slug: "a b", Title: "A"}, Refused: "invalid"},
		"a collection we keep":   {Known: german(t), When: article.CreateArgs{Site: "main", Collection: "preview", Slug: "a", Title: "A"}, Refused: "invalid"},
		"a day that is none":     {Known: german(t), When: article.CreateArgs{Site: "main", Slug: "a", Title: "A", Date: "2026-02-31"}, Refused: "invalid"},
		"without a title":        {Known: german(t), When: article.CreateArgs{Site: "main", Slug: "a"}, Refused: "invalid"},
		"a language that is not": {Known: german(t), When: article.CreateArgs{Site: "main", Slug: "a", Title: "A", Locale: "klingon"}, Refused: "invalid"},
	})
}

func TestUpdate(t *testing.T) {
	domaintest.Run(t, article.Update, map[string]domaintest.Case[article.UpdateArgs]{
		"changes what it names": {
			Given: []any{menu},
			When:  article.UpdateArgs{Which: which("x"), Title: new("Spring menu")},
			Then:  []any{article.Updated{Title: new("Spring menu")}},
		},
		"already so": {
			Given: []any{menu},
			When:  article.UpdateArgs{Which: which("x"), Title: new("Winter menu")},
		},
		"clears a list": {
			Given: []any{menu, article.Updated{Tags: &[]string{"food"}}},
			When:  article.UpdateArgs{Which: which("x"), Tags: &[]string{}},
			Then:  []any{article.Updated{Tags: &[]string{}}},
		},
		"an empty list is no list":  {Given: []any{menu}, When: article.UpdateArgs{Which: which("x"), Tags: &[]string{}}},
		"moves into the own tongue": {Given: []any{menu, article.Updated{Locale: new("en")}}, Known: german(t), When: article.UpdateArgs{Which: which("x"), Locale: new("de")}, Then: []any{article.Updated{Locale: new("")}}},
		"no such article":           {When: article.UpdateArgs{Which: which("x"), Title: new("New")}, Refused: "not-found"},
		"removed":                   {Given: []any{menu, article.Removed{}}, When: article.UpdateArgs{Which: which("x"), Title: new("New")}, Refused: "not-found"},
		"without a title":           {Given: []any{menu}, When: article.UpdateArgs{Which: which("x"), Title: new("")}, Refused: "invalid"},
	})
}

func TestRemove(t *testing.T) {
	domaintest.Run(t, article.Remove, map[string]domaintest.Case[article.RemoveArgs]{
		"takes it out of the draft": {Given: []any{menu}, When: article.RemoveArgs{Which: which("x")}, Then: []any{article.Removed{}}},
		"already so":                {Given: []any{menu, article.Removed{}}, When: article.RemoveArgs{Which: which("x")}},
		"back again":                {Given: []any{menu, article.Removed{}, article.Restored{}}, When: article.RemoveArgs{Which: which("x")}, Then: []any{article.Removed{}}},
		"no such article":           {When: article.RemoveArgs{Which: which("x")}, Refused: "not-found"},
	})
}

func TestTakeBack(t *testing.T) {
	spring, body := article.Updated{Title: new("Spring menu")}, article.Updated{Body: new("Peas.")}
	tests := map[string]struct {
		history []article.Event
		places  []int
		want    string // title after, or the refusal's code
	}{
		"after a later edit of another field":              {[]article.Event{menu, spring, body}, []int{1}, "Winter menu"},
		"refused after a later edit of the same field":     {[]article.Event{menu, spring, article.Updated{Title: new("May menu")}}, []int{1}, "undo-conflict"},
		"refused when a person chose the same value again": {[]article.Event{menu, spring, article.Updated{Title: new("May menu")}, spring}, []int{1}, "undo-conflict"},
		"two steps of one group":                           {[]article.Event{menu, spring, article.Updated{Title: new("May menu")}}, []int{1, 2}, "Winter menu"},
		"two steps with another's in between":              {[]article.Event{menu, spring, body, article.Updated{Title: new("May menu")}}, []int{1, 3}, "Winter menu"},
		"the making, refused once edited":                  {[]article.Event{menu, spring}, []int{0}, "undo-conflict"},
		"a removal":                                        {[]article.Event{menu, article.Removed{}}, []int{1}, "Winter menu"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			back, err := domain.TakeBack[article.Article](tt.history, tt.places...)
			got := domain.Fold(article.Article{}, append(tt.history, back...)...).Title
			if err != nil {
				got = err.(*domain.Refusal).Code
			}
			if got != tt.want {
				t.Errorf("got %q (%v), want %q", got, err, tt.want)
			}
		})
	}
}

func TestParse(t *testing.T) {
	tests := map[string]struct{ args, code, says string }{
		"unknown argument":   {`{"site":"main","slug":"a","title":"A","body":"","colour":"red"}`, "invalid", "no argument `colour`"},
		"nearly an argument": {`{"site":"main","slug":"a","title":"A","body":"","Summary":"s"}`, "invalid", "did you mean `summary`"},
		"all faults at once": {`{"slug":7}`, "invalid", "`slug` must be text; `body` is missing; `site` is missing; `title` is missing"},
		"wrong type of list": {`{"site":"main","slug":"a","title":"A","body":"","tags":"food"}`, "invalid", "`tags` must be a list"},
		"over-long text":     {`{"site":"main","slug":"a","title":"` + strings.Repeat("x", 5000) + `","body":""}`, "invalid", "at most 4096"},
		"a key twice":        {`{"site":"main","site":"other"}`, "malformed", `both "site" and "site"`},
		"a key in two cases": {`{"site":"main","SITE":"other"}`, "malformed", "both"},
		"bytes after it":     {`{} {}`, "malformed", "not one complete value"},
		"not UTF-8":          {"{\"site\":\"\xff\"}", "malformed", "UTF-8"},
		"half a character":   {`{"site":"\ud800"}`, "malformed", "surrogate"},
		"too large a number": {`{"site":"main","rev":9007199254740993}`, "malformed", "beyond"},
		"not an object":      {`[]`, "invalid", "object"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := article.Create.Parse([]byte(tt.args))
			no, ok := err.(*domain.Refusal)
			if !ok || no.Code != tt.code || !strings.Contains(no.Reason, tt.says) {
				t.Errorf("got %v, want %s: …%s…", err, tt.code, tt.says)
			}
		})
	}
}
