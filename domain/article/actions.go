package article

import (
	"cmp"
	"reflect"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/place"
)

// Actions are everything that can be asked of articles.
var Actions = []*action.Action{List.Action, Get.Action, Create, Update, Remove}

// usual is the collection when none is named.
const usual = "posts"

// Which names an article in arguments.
type Which struct {
	Article string `json:"article" jsonschema:"the article's id (art_…)"`
}

// Target is the article's id.
func (w Which) Target() string { return w.Article }

// ListArgs asks for articles.
type ListArgs struct {
	Site       string `json:"site" jsonschema:"the site's handle"`
	Collection string `json:"collection,omitempty" jsonschema:"only this collection"`
	Tag        string `json:"tag,omitempty" jsonschema:"only with this tag"`
	Status     string `json:"status,omitempty" jsonschema:"new, changed, live or removed" enum:"new,changed,live,removed"`
	Query      string `json:"query,omitempty" jsonschema:"words in the title, summary or body"`
	action.Page
}

// OnSite is the site's handle: an agent may be for one site only.
func (l ListArgs) OnSite() string { return l.Site }

// InCollection is the collection it asks for; an agent may be for one only.
func (l ListArgs) InCollection() string { return l.Collection }

// Within is the same list of one collection.
func (l ListArgs) Within(collection string) any {
	l.Collection = collection
	return l
}

// List answers ListArgs.
var List = action.Look(ListArgs{Site: "main", Tag: "events"}, action.Facts{
	Name:       "article.list",
	Title:      "List articles",
	About:      "Lists a site's articles as they stand in the draft, without their bodies. `live` is the version the public sees, 0 when none.",
	Scope:      "content:read",
	Permission: "content.read",
})

// GetArgs asks for one article.
type GetArgs struct {
	Article    string `json:"article,omitempty" jsonschema:"the article's id (art_…)"`
	Site       string `json:"site,omitempty" jsonschema:"with slug: the site's handle"`
	Slug       string `json:"slug,omitempty" jsonschema:"with site: the article's slug"`
	Collection string `json:"collection,omitempty" jsonschema:"with slug: its collection, posts when left out"`
}

// OnSite is the site's handle: an agent may be for one site only.
func (g GetArgs) OnSite() string { return g.Site }

// InCollection is the collection it asks for, where it asks by slug.
func (g GetArgs) InCollection() string {
	if g.Slug == "" {
		return ""
	}
	return cmp.Or(g.Collection, usual)
}

// Target is the article's id, empty when it is asked for by slug.
func (g GetArgs) Target() string { return g.Article }

// Get answers GetArgs.
var Get = action.Look(GetArgs{Article: "art_06g0example0000000000000000"}, action.Facts{
	Name:       "article.get",
	Title:      "Read an article",
	About:      "Gives one article as it stands in the draft, with its body and its `rev`. Name it by id, or by site and slug.",
	Scope:      "content:read",
	Permission: "content.read",
})

// CreateArgs asks for a new article.
type CreateArgs struct {
	Site       string         `json:"site" jsonschema:"the site's handle"`
	Slug       string         `json:"slug" jsonschema:"its place in the address: lower-case letters, digits and hyphens" limit:"200"`
	Title      string         `json:"title" jsonschema:"the headline"`
	Body       string         `json:"body" jsonschema:"the text, as Markdown" limit:"163840"`
	Collection string         `json:"collection,omitempty" jsonschema:"the first part of the address; posts when left out" limit:"100"`
	Locale     string         `json:"locale,omitempty" jsonschema:"a language tag such as de; the site's own when left out" limit:"35"`
	Summary    string         `json:"summary,omitempty" jsonschema:"a sentence or two for lists"`
	Tags       []string       `json:"tags,omitempty" jsonschema:"topics" limit:"4096"`
	Authors    []string       `json:"authors,omitempty" jsonschema:"who wrote it" limit:"4096"`
	Date       string         `json:"date,omitempty" jsonschema:"the day it carries: YYYY-MM-DD, or with a time as in RFC 3339" limit:"40"`
	Meta       map[string]any `json:"meta,omitempty" jsonschema:"anything else worth keeping" limit:"16384"`
}

// OnSite is the site's handle: an agent may be for one site only.
func (c CreateArgs) OnSite() string { return c.Site }

// InCollection is where the article goes.
func (c CreateArgs) InCollection() string { return cmp.Or(c.Collection, usual) }

// Target is empty: the article is new.
func (CreateArgs) Target() string { return "" }

// Create makes an article in the draft.
var Create = action.Knowing(Kind,
	func(_ Article, c CreateArgs, _ action.Known) []action.Ref { return []action.Ref{place.SiteRef(c.Site)} },
	create,
	CreateArgs{Site: "main", Slug: "spring-menu", Title: "Spring menu", Body: "Asparagus is back."},
	action.Facts{
		Name:       "article.create",
		Title:      "Write a new article",
		About:      "Adds an article to the site's draft. The public sees it only when it is published.",
		Class:      action.Content,
		Scope:      "content:write",
		Permission: "content.edit",
	})

func create(a Article, c CreateArgs, known action.Known) ([]Event, error) {
	site, err := place.Open(known, c.Site)
	if err != nil {
		return nil, err
	}
	e := Created{
		Site: c.Site, Collection: c.InCollection(), Locale: site.Foreign(c.Locale), Slug: c.Slug, Title: c.Title,
		Summary: c.Summary, Body: c.Body, Tags: c.Tags, Authors: c.Authors, Date: c.Date, Meta: c.Meta,
	}
	return []Event{e}, fits(e.Evolve(a))
}

// UpdateArgs asks for an article to be changed.
type UpdateArgs struct {
	Which
	Title      *string         `json:"title,omitempty" jsonschema:"the headline"`
	Body       *string         `json:"body,omitempty" jsonschema:"the whole text, as Markdown" limit:"163840"`
	Slug       *string         `json:"slug,omitempty" jsonschema:"its place in the address" limit:"200"`
	Collection *string         `json:"collection,omitempty" jsonschema:"the first part of the address" limit:"100"`
	Locale     *string         `json:"locale,omitempty" jsonschema:"a language tag; empty for the site's own" limit:"35"`
	Summary    *string         `json:"summary,omitempty" jsonschema:"a sentence or two for lists"`
	Tags       *[]string       `json:"tags,omitempty" jsonschema:"topics; replaces the list" limit:"4096"`
	Authors    *[]string       `json:"authors,omitempty" jsonschema:"who wrote it; replaces the list" limit:"4096"`
	Date       *string         `json:"date,omitempty" jsonschema:"the day it carries" limit:"40"`
	Meta       *map[string]any `json:"meta,omitempty" jsonschema:"anything else; replaces it" limit:"16384"`
	action.Rev
}

// Update changes the draft of an article.
var Update = action.Knowing(Kind,
	func(a Article, u UpdateArgs, _ action.Known) []action.Ref {
		if u.Locale == nil || a.Site == "" {
			return nil
		}
		return []action.Ref{place.SiteRef(a.Site)} // what is foreign depends on the site's own language
	},
	update,
	UpdateArgs{Which: Which{"art_06g0example0000000000000000"}, Title: new("Spring menu")},
	action.Facts{
		Name:       "article.update",
		Title:      "Edit an article",
		About:      "Changes what you name and leaves the rest. Pass the `rev` you read to be told if somebody else was faster.",
		Class:      action.Content,
		Scope:      "content:write",
		Permission: "content.edit",
	})

func update(a Article, u UpdateArgs, known action.Known) ([]Event, error) {
	if !a.Exists {
		return nil, missing
	}
	if u.Locale != nil {
		site, err := place.Open(known, a.Site)
		if err != nil {
			return nil, err
		}
		u.Locale = new(site.Foreign(*u.Locale))
	}
	e := Updated{
		Collection: domain.Changed(a.Collection, u.Collection),
		Locale:     domain.Changed(a.Locale, u.Locale),
		Slug:       domain.Changed(a.Slug, u.Slug),
		Title:      domain.Changed(a.Title, u.Title),
		Summary:    domain.Changed(a.Summary, u.Summary),
		Body:       domain.Changed(a.Body, u.Body),
		Tags:       domain.Changed(a.Tags, u.Tags),
		Authors:    domain.Changed(a.Authors, u.Authors),
		Date:       domain.Changed(a.Date, u.Date),
		Meta:       domain.Changed(a.Meta, u.Meta),
	}
	if reflect.ValueOf(e).IsZero() {
		return nil, nil // already so
	}
	return []Event{e}, fits(e.Evolve(a))
}

// RemoveArgs asks for an article to be taken away.
type RemoveArgs struct {
	Which
	action.Rev
}

// Remove takes an article out of the draft. The public sees it until that is
// published.
var Remove = action.Of(Kind, remove,
	RemoveArgs{Which: Which{"art_06g0example0000000000000000"}},
	action.Facts{
		Name:       "article.remove",
		Title:      "Remove an article",
		About:      "Takes an article out of the draft. The public still sees it until that is published; it can be brought back.",
		Class:      action.Destructive,
		Scope:      "content:write",
		Permission: "content.remove",
	})

func remove(a Article, _ RemoveArgs) ([]Event, error) {
	switch {
	case a.Site == "":
		return nil, missing
	case !a.Exists:
		return nil, nil // already so
	}
	return []Event{Removed{}}, nil
}

var missing = domain.Refuse("not-found", "There is no such article. List the articles to find its id.")

// fits says what is wrong with an article as it would be.
func fits(a Article) error {
	switch {
	case a.Title == "":
		return domain.Refuse("invalid", "An article needs a title.")
	case !place.IsSlug(a.Slug):
		return domain.Refuse("invalid", "The slug %q is not an address: use lower-case letters, digits and single hyphens.", a.Slug)
	case !place.IsSlug(a.Collection) || place.Reserved(a.Collection):
		return domain.Refuse("invalid", "%q cannot be a collection: use lower-case letters, digits and hyphens, and no word that the server keeps for itself.", a.Collection)
	case a.Locale != "" && !place.IsLocale(a.Locale):
		return domain.Refuse("invalid", "%q is not a language tag: write it like en or pt-BR.", a.Locale)
	case !place.IsDate(a.Date):
		return domain.Refuse("invalid", "The date %q cannot be read: write YYYY-MM-DD, or a time as in 2026-11-30T09:00:00Z.", a.Date)
	}
	return nil
}
