package page

import (
	"reflect"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/place"
)

// Actions are everything that can be asked of pages.
var Actions = []*action.Action{List.Action, Get.Action, Create, Update, Remove}

// Which names a page in arguments.
type Which struct {
	Page string `json:"page" jsonschema:"the page's id (page_…)"`
}

// Target is the page's id.
func (w Which) Target() string { return w.Page }

// ListArgs asks for pages.
type ListArgs struct {
	Site   string `json:"site" jsonschema:"the site's handle"`
	Prefix string `json:"prefix,omitempty" jsonschema:"only at paths that begin so"`
	action.Page
}

// OnSite is the site's handle: an agent may be for one site only.
func (l ListArgs) OnSite() string { return l.Site }

// List answers ListArgs.
var List = action.Look(ListArgs{Site: "main", Prefix: "/about"}, action.Facts{
	Name:       "page.list",
	Title:      "List pages",
	About:      "Lists a site's pages as they stand in the draft, without their bodies. `live` is the version the public sees, 0 when none.",
	Scope:      "content:read",
	Permission: "content.read",
})

// GetArgs asks for one page.
type GetArgs struct {
	Page string `json:"page,omitempty" jsonschema:"the page's id (page_…)"`
	Site string `json:"site,omitempty" jsonschema:"with path: the site's handle"`
	Path string `json:"path,omitempty" jsonschema:"with site: the page's path"`
}

// OnSite is the site's handle: an agent may be for one site only.
func (g GetArgs) OnSite() string { return g.Site }

// Target is the page's id, empty when it is asked for by path.
func (g GetArgs) Target() string { return g.Page }

// Get answers GetArgs.
var Get = action.Look(GetArgs{Site: "main", Path: "/about"}, action.Facts{
	Name:       "page.get",
	Title:      "Read a page",
	About:      "Gives one page as it stands in the draft, with its body and its `rev`. Name it by id, or by site and path.",
	Scope:      "content:read",
	Permission: "content.read",
})

// CreateArgs asks for a new page.
type CreateArgs struct {
	Site   string         `json:"site" jsonschema:"the site's handle"`
	Path   string         `json:"path" jsonschema:"where it is served, such as /about" limit:"1024"`
	Title  string         `json:"title" jsonschema:"the headline"`
	Body   string         `json:"body" jsonschema:"the text, as Markdown" limit:"163840"`
	Locale string         `json:"locale,omitempty" jsonschema:"a language tag such as de; the site's own when left out" limit:"35"`
	Meta   map[string]any `json:"meta,omitempty" jsonschema:"anything else worth keeping" limit:"16384"`
}

// OnSite is the site's handle: an agent may be for one site only.
func (c CreateArgs) OnSite() string { return c.Site }

// Target is empty: the page is new.
func (CreateArgs) Target() string { return "" }

// Create makes a page in the draft.
var Create = action.Knowing(Kind,
	func(_ Page, c CreateArgs, _ action.Known) []action.Ref { return []action.Ref{place.SiteRef(c.Site)} },
	create,
	CreateArgs{Site: "main", Path: "/about", Title: "About us", Body: "We grow vegetables."},
	action.Facts{
		Name:       "page.create",
		Title:      "Make a new page",
		About:      "Adds a page to the site's draft at a path of its own. The public sees it only when it is published.",
		Class:      action.Content,
		Scope:      "content:write",
		Permission: "content.edit",
	})

func create(p Page, c CreateArgs, known action.Known) ([]Event, error) {
	site, err := place.Open(known, c.Site)
	if err != nil {
		return nil, err
	}
	e := Created{Site: c.Site, Locale: site.Foreign(c.Locale), Path: clean(c.Path), Title: c.Title, Body: c.Body, Meta: c.Meta}
	return []Event{e}, fits(e.Evolve(p))
}

// UpdateArgs asks for a page to be changed.
type UpdateArgs struct {
	Which
	Title  *string         `json:"title,omitempty" jsonschema:"the headline"`
	Body   *string         `json:"body,omitempty" jsonschema:"the whole text, as Markdown" limit:"163840"`
	Path   *string         `json:"path,omitempty" jsonschema:"where it is served" limit:"1024"`
	Locale *string         `json:"locale,omitempty" jsonschema:"a language tag; empty for the site's own" limit:"35"`
	Meta   *map[string]any `json:"meta,omitempty" jsonschema:"anything else; replaces it" limit:"16384"`
	action.Rev
}

// Update changes the draft of a page.
var Update = action.Knowing(Kind,
	func(p Page, u UpdateArgs, _ action.Known) []action.Ref {
		if u.Locale == nil || p.Site == "" {
			return nil
		}
		return []action.Ref{place.SiteRef(p.Site)}
	},
	update,
	UpdateArgs{Which: Which{"page_06g0example0000000000000000"}, Title: new("About the garden")},
	action.Facts{
		Name:       "page.update",
		Title:      "Edit a page",
		About:      "Changes what you name and leaves the rest. Pass the `rev` you read to be told if somebody else was faster.",
		Class:      action.Content,
		Scope:      "content:write",
		Permission: "content.edit",
	})

func update(p Page, u UpdateArgs, known action.Known) ([]Event, error) {
	if !p.Exists {
		return nil, missing
	}
	if u.Locale != nil {
		site, err := place.Open(known, p.Site)
		if err != nil {
			return nil, err
		}
		u.Locale = new(site.Foreign(*u.Locale))
	}
	if u.Path != nil {
		u.Path = new(clean(*u.Path))
	}
	e := Updated{
		Locale: domain.Changed(p.Locale, u.Locale),
		Path:   domain.Changed(p.Path, u.Path),
		Title:  domain.Changed(p.Title, u.Title),
		Body:   domain.Changed(p.Body, u.Body),
		Meta:   domain.Changed(p.Meta, u.Meta),
	}
	if reflect.ValueOf(e).IsZero() {
		return nil, nil // already so
	}
	return []Event{e}, fits(e.Evolve(p))
}

// RemoveArgs asks for a page to be taken away.
type RemoveArgs struct {
	Which
	action.Rev
}

// Remove takes a page out of the draft. The public sees it until that is
// published.
var Remove = action.Of(Kind, remove,
	RemoveArgs{Which: Which{"page_06g0example0000000000000000"}},
	action.Facts{
		Name:       "page.remove",
		Title:      "Remove a page",
		About:      "Takes a page out of the draft. The public still sees it until that is published; it can be brought back.",
		Class:      action.Destructive,
		Scope:      "content:write",
		Permission: "content.remove",
	})

func remove(p Page, _ RemoveArgs) ([]Event, error) {
	switch {
	case p.Site == "":
		return nil, missing
	case !p.Exists:
		return nil, nil // already so
	}
	return []Event{Removed{}}, nil
}

var missing = domain.Refuse("not-found", "There is no such page. List the pages to find its id.")

// clean is the path as it is served, or as it came when it cannot be: fits
// then names it.
func clean(path string) string {
	if cleaned, ok := place.Clean(path); ok {
		return cleaned
	}
	return path
}

// fits says what is wrong with a page as it would be.
func fits(p Page) error {
	cleaned, ok := place.Clean(p.Path)
	switch {
	case p.Title == "":
		return domain.Refuse("invalid", "A page needs a title.")
	case !ok || cleaned != p.Path:
		return domain.Refuse("invalid", "The path %q cannot be served: begin with one slash, without spaces, dots alone between slashes, or a first part that the server keeps for itself.", place.Clip(p.Path))
	case p.Locale != "" && !place.IsLocale(p.Locale):
		return domain.Refuse("invalid", "%q is not a language tag: write it like en or pt-BR.", p.Locale)
	}
	return nil
}
