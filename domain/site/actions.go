package site

import (
	"reflect"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/place"
)

// Actions are everything that can be asked of a site's settings and history.
var Actions = []*action.Action{List.Action, Get.Action, Create, Update, Versions.Action, Compare.Action, Preview.Action}

// Which names a site in arguments.
type Which struct {
	Site string `json:"site" jsonschema:"the site's handle"`
}

// Target is the site's handle.
func (w Which) Target() string { return w.Site }

// OnSite is the site's handle: an agent may be for one site only.
func (w Which) OnSite() string { return w.Site }

// List answers which sites there are.
var List = action.Look(action.Page{}, action.Facts{
	Name:       "site.list",
	Title:      "List sites",
	About:      "Lists the sites of this workspace.",
	Scope:      "site:read",
	Permission: "content.read",
})

// Get gives one site's settings.
var Get = action.Look(Which{"main"}, action.Facts{
	Name:       "site.get",
	Title:      "Read a site's settings",
	About:      "Gives a site's settings as they stand in the draft, what is live, and how much is pending.",
	Scope:      "site:read",
	Permission: "content.read",
})

// VersionsArgs asks for the history of a site's publishes or of one item.
type VersionsArgs struct {
	Site string `json:"site,omitempty" jsonschema:"the site's handle, for its publishes"`
	Item string `json:"item,omitempty" jsonschema:"an item's id, for its versions"`
	action.Page
}

// OnSite is the site's handle: an agent may be for one site only.
func (v VersionsArgs) OnSite() string { return v.Site }

// Naming is the item it is about.
func (v VersionsArgs) Naming() (ids []string, more bool) { return some(v.Item), false }

func some(id string) []string {
	if id == "" {
		return nil
	}
	return []string{id}
}

// Versions answers VersionsArgs.
var Versions = action.Look(VersionsArgs{Site: "main"}, action.Facts{
	Name:       "version.list",
	Title:      "List versions",
	About:      "Lists, newest first, a site's publishes (p1, p2, …) or every version of one item, with who made it and why.",
	Scope:      "content:read",
	Permission: "content.read",
})

// CompareArgs asks what differs between two versions.
type CompareArgs struct {
	Site string `json:"site,omitempty" jsonschema:"the site's handle, to compare whole sites"`
	Item string `json:"item,omitempty" jsonschema:"an item's id, to compare its versions"`
	From string `json:"from,omitempty" jsonschema:"live (when left out), latest, p12, a proposal's id, or an item's version number"`
	To   string `json:"to,omitempty" jsonschema:"latest when left out; else as from"`
}

// OnSite is the site's handle: an agent may be for one site only.
func (c CompareArgs) OnSite() string { return c.Site }

// Naming is the item it is about, or the whole site.
func (c CompareArgs) Naming() (ids []string, more bool) { return some(c.Item), c.Item == "" }

// Compare answers CompareArgs.
var Compare = action.Look(CompareArgs{Site: "main"}, action.Facts{
	Name:       "version.diff",
	Title:      "Compare versions",
	About:      "Shows what differs between two versions, field by field. Left to itself it compares what is live with the draft: what publishing now would change.",
	Scope:      "content:read",
	Permission: "content.read",
})

// PreviewArgs asks for an address where a version can be looked at.
type PreviewArgs struct {
	Site     string        `json:"site" jsonschema:"the site's handle"`
	Version  string        `json:"version,omitempty" jsonschema:"latest (when left out), live or a publish such as p12"`
	Items    []PreviewItem `json:"items,omitempty" jsonschema:"what is live with these items at these versions"`
	Proposal string        `json:"proposal,omitempty" jsonschema:"what is live with this proposal carried out"`
}

// OnSite is the site's handle: an agent may be for one site only.
func (p PreviewArgs) OnSite() string { return p.Site }

// Naming is the items it shows. The draft of a whole site is more than that;
// what is or was live, and one's own proposal, are no secret.
func (p PreviewArgs) Naming() (ids []string, more bool) {
	for _, item := range p.Items {
		ids = append(ids, item.ID)
	}
	return ids, len(ids) == 0 && p.Proposal == "" && (p.Version == "" || p.Version == "latest")
}

// PreviewItem is one item at one version, the latest when left out.
type PreviewItem struct {
	ID      string `json:"id" jsonschema:"the item's id"`
	Version int64  `json:"version,omitempty" jsonschema:"its version; the latest when left out"`
}

// Preview answers PreviewArgs.
var Preview = action.Look(PreviewArgs{Site: "main"}, action.Facts{
	Name:       "preview.create",
	Title:      "Preview a site",
	About:      "Gives an address where the site can be looked at as it would be. It can only be read and ends by itself.",
	Scope:      "preview:create",
	Permission: "content.read",
})

// CreateArgs asks for a new site.
type CreateArgs struct {
	Which
	Title   string         `json:"title" jsonschema:"its name"`
	Tagline string         `json:"tagline,omitempty" jsonschema:"a line under the name"`
	Locale  string         `json:"locale,omitempty" jsonschema:"its language; en when left out" limit:"35"`
	Menu    []Link         `json:"menu,omitempty" jsonschema:"what the menu leads to" limit:"16384"`
	Theme   map[string]any `json:"theme,omitempty" jsonschema:"accent (a colour) and font (serif or sans)" limit:"16384"`
}

// Create makes a site.
var Create = action.Of(Kind, create,
	CreateArgs{Which: Which{"garden"}, Title: "The garden club"},
	action.Facts{
		Name:       "site.create",
		Title:      "Make a new site",
		About:      "Makes an empty site. The public sees its settings only when they are published.",
		Class:      action.Content,
		Scope:      "site:write",
		Permission: "site.edit",
		Final:      true,
	})

func create(s Site, c CreateArgs) ([]Event, error) {
	if !place.IsHandle(c.Site) {
		return nil, domain.Refuse("invalid", "%q cannot be a site's handle: use lower-case letters, digits and hyphens, a letter first.", place.Clip(c.Site))
	}
	if s.Exists {
		return nil, domain.Refuse("taken", "There is already a site called %q. Choose another handle.", c.Site)
	}
	e := Created{Title: c.Title, Tagline: c.Tagline, Locale: c.Locale, Menu: c.Menu, Theme: c.Theme}
	if e.Locale == "" {
		e.Locale = "en"
	}
	return []Event{e}, fits(e.Evolve(s))
}

// UpdateArgs asks for a site's settings to be changed.
type UpdateArgs struct {
	Which
	Title   *string         `json:"title,omitempty" jsonschema:"its name"`
	Tagline *string         `json:"tagline,omitempty" jsonschema:"a line under the name"`
	Locale  *string         `json:"locale,omitempty" jsonschema:"its language" limit:"35"`
	Menu    *[]Link         `json:"menu,omitempty" jsonschema:"what the menu leads to; replaces it" limit:"16384"`
	Theme   *map[string]any `json:"theme,omitempty" jsonschema:"accent and font; replaces it" limit:"16384"`
	action.Rev
}

// Update changes a site's settings in the draft.
var Update = action.Of(Kind, update,
	UpdateArgs{Which: Which{"main"}, Tagline: new("Growing since 1974")},
	action.Facts{
		Name:       "site.update",
		Title:      "Change a site's settings",
		About:      "Changes what you name of a site's settings and leaves the rest. The public sees it when it is published.",
		Class:      action.Content,
		Scope:      "site:write",
		Permission: "site.edit",
	})

func update(s Site, u UpdateArgs) ([]Event, error) {
	if !s.Exists {
		return nil, domain.Refuse("not-found", "There is no site %q. List the sites to find its handle.", place.Clip(u.Site))
	}
	e := Updated{
		Title:   domain.Changed(s.Title, u.Title),
		Tagline: domain.Changed(s.Tagline, u.Tagline),
		Locale:  domain.Changed(s.Locale, u.Locale),
		Menu:    domain.Changed(s.Menu, u.Menu),
		Theme:   domain.Changed(s.Theme, u.Theme),
	}
	if reflect.ValueOf(e).IsZero() {
		return nil, nil // already so
	}
	return []Event{e}, fits(e.Evolve(s))
}

// fits says what is wrong with a site as it would be.
func fits(s Site) error {
	switch {
	case s.Title == "":
		return domain.Refuse("invalid", "A site needs a title.")
	case !place.IsLocale(s.Locale):
		return domain.Refuse("invalid", "%q is not a language tag: write it like en or pt-BR.", s.Locale)
	case len(s.Menu) > 50:
		return domain.Refuse("invalid", "A menu has at most 50 entries.")
	}
	for _, l := range s.Menu {
		if _, ok := place.Clean(l.Path); l.Label == "" || !ok {
			return domain.Refuse("invalid", "A menu entry needs a label and a path that begins with a slash; %q to %q is not one.", place.Clip(l.Label), place.Clip(l.Path))
		}
	}
	return nil
}
