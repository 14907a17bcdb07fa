// Package render shows a site's pages and articles to its readers, live and in
// preview. It turns titles, Markdown and theme choices that anybody may have
// written into complete HTML documents that run no script, load nothing they
// should not, and never leave the place they are shown at.
//
// It knows nothing about where content is kept or who may see it: the caller
// hands over plain values and an [io.Writer], and sends the headers [Headers]
// gives.
package render

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
)

// PageSize is how many items an index shows at once.
const PageSize = 20

// ErrNoSuchPage is returned by [Renderer.Index] for a page number that the
// collection does not reach; the caller should answer with [Renderer.NotFound].
var ErrNoSuchPage = errors.New("render: the index has no such page")

// Link is one entry of a site's menu. Path is an address on the site
// ("/about") or a complete http or https URL; an entry with any other Path is
// left out.
type Link struct{ Label, Path string }

// Site is what every page of a site shows around its content.
type Site struct {
	Handle, Title, Tagline string
	// Locale is a language tag such as "en" or "pt-BR"; anything that is not
	// one is shown as English.
	Locale string
	Menu   []Link
	// Theme understands "accent" (see [Accent]) and "font" ("serif" or
	// "sans", the default); other keys are ignored.
	Theme map[string]any
}

// Item is one page or article as it is to be shown.
type Item struct {
	ID string
	// Kind is "page" or "article". Only articles show a date, authors,
	// summary and tags.
	Kind       string
	Collection string
	Locale     string // empty means the site's
	Address    string // decoded path on the site, such as "/posts/hello"
	Title      string
	Summary    string
	Body       string // Markdown
	Tags       []string
	Authors    []string
	// Date is RFC 3339, or begins with YYYY-MM-DD; anything else is shown as
	// written and sorts as oldest.
	Date string
}

// Preview marks a view as a rehearsal rather than the live site.
type Preview struct {
	Label   string    // what is being previewed, such as "3 changes"
	Expires time.Time // when the preview's address stops working; zero leaves it out
}

// View says where and how a site is being shown.
type View struct {
	Site Site
	// Base goes before every address on the site, such as "/sites/main" or
	// "/preview/TOKEN". It has no trailing slash and is trusted.
	Base string
	// Origin is the scheme and host, such as "https://example.org". Only
	// [Renderer.Feed] uses it: feed readers need complete addresses.
	Origin string
	// Stylesheet is the address of what [Stylesheet] gives for this site.
	Stylesheet string
	// Feed is the address of the site's Atom feed; empty when there is none.
	Feed string
	// Preview is nil when the site is live.
	Preview *Preview
}

// Renderer makes pages. It holds no state about any site and is safe for
// concurrent use.
type Renderer struct {
	markdown goldmark.Markdown
	policy   *bluemonday.Policy
	pages    *template.Template
}

//go:embed templates/*.html
var templates embed.FS

// New returns a Renderer. Making one costs some milliseconds; keep it.
func New() *Renderer {
	return &Renderer{
		markdown: newMarkdown(),
		policy:   newPolicy(),
		pages: template.Must(template.New("").Funcs(template.FuncMap{
			"visible": visible,
			"clip":    clip,
			"lang":    lang,
		}).ParseFS(templates, "templates/*.html")),
	}
}

// Page writes one page or article.
func (r *Renderer) Page(w io.Writer, v View, it Item) error {
	f := v.frame(it.Address, orUntitled(it.Title), cmp.Or(it.Locale, v.Site.Locale))
	f.Description = it.Summary
	f.Item = v.entry(it)
	f.Body = r.Body(v, it)
	if it.Kind == "article" {
		if up := path.Dir(path.Join("/", it.Address)); up != "/" && it.Collection != "" {
			f.Up = &menuLink{Label: titleCase(it.Collection), Href: v.at(up)}
		}
		return r.write(w, "article.html", f)
	}
	return r.write(w, "page.html", f)
}

// Index writes one page of a collection's index, newest first, [PageSize] at a
// time. Items is the whole collection in any order, address is where the index
// is served, and page counts from 1. It returns [ErrNoSuchPage] when page is
// out of range; page 1 always exists.
func (r *Renderer) Index(w io.Writer, v View, address, collection string, items []Item, page int) error {
	last := max(1, (len(items)+PageSize-1)/PageSize)
	if page < 1 || page > last {
		return fmt.Errorf("%w: %d of %d", ErrNoSuchPage, page, last)
	}
	start := (page - 1) * PageSize
	shown := newestFirst(items)[start:min(start+PageSize, len(items))]

	f := v.frame(address, titleCase(collection), v.Site.Locale)
	f.Entries = v.entries(shown)
	f.PageNumber, f.PageCount = page, last
	here := v.at(address)
	if page > 2 {
		f.Newer = fmt.Sprintf("%s?page=%d", here, page-1)
	} else if page == 2 {
		f.Newer = here // the first page has one address, not two
	}
	if page < last {
		f.Older = fmt.Sprintf("%s?page=%d", here, page+1)
	}
	return r.write(w, "index.html", f)
}

// Home writes the page shown at "/" when the site has none of its own there:
// the title, the tagline and the newest articles of those given, at most
// [PageSize].
func (r *Renderer) Home(w io.Writer, v View, latest []Item) error {
	f := v.frame("/", "", v.Site.Locale)
	f.Description = v.Site.Tagline
	sorted := newestFirst(latest)
	f.Entries = v.entries(sorted[:min(PageSize, len(sorted))])
	return r.write(w, "home.html", f)
}

// NotFound writes the page for an address that has nothing. The caller sends
// the status.
func (r *Renderer) NotFound(w io.Writer, v View, address string) error {
	f := v.frame("", "Nothing here", v.Site.Locale)
	f.Missing = address
	return r.write(w, "notfound.html", f)
}

// write fills a template completely before sending any of it, so that a
// failure never leaves a reader with half a page.
func (r *Renderer) write(w io.Writer, name string, f frame) error {
	var page bytes.Buffer
	if err := r.pages.ExecuteTemplate(&page, name, f); err != nil {
		return fmt.Errorf("render %s: %w", name, err)
	}
	_, err := page.WriteTo(w)
	return err
}

// frame is what the templates see.
type frame struct {
	Lang, Dir, Font        string
	SiteTitle, Tagline     string
	Title, Description     string
	Home, Stylesheet, Feed string
	Menu                   []menuLink
	Preview                *banner

	Item *entry
	Body template.HTML
	Up   *menuLink

	Entries               []entry
	Newer, Older          string
	PageNumber, PageCount int

	Missing string
}

type menuLink struct {
	Label, Href, Rel string
	Current          bool
}

type banner struct {
	Label   string
	Expires *stamp
}

// entry is an item's outside: all of it but the body.
type entry struct {
	Title, Summary, Href, Lang string
	Date                       *stamp
	Authors, Tags              []string
}

func (v View) frame(address, title, locale string) frame {
	f := frame{
		Lang:       lang(locale),
		Dir:        direction(locale),
		Font:       font(v.Site.Theme),
		SiteTitle:  cmp.Or(strings.TrimSpace(v.Site.Title), v.Site.Handle),
		Tagline:    v.Site.Tagline,
		Title:      title,
		Home:       v.at("/"),
		Stylesheet: v.Stylesheet,
		Feed:       v.Feed,
	}
	for _, l := range v.Site.Menu {
		t, ok := resolve(v.Base, "/", l.Path)
		if !ok || t.kind == toElsewhere {
			continue
		}
		f.Menu = append(f.Menu, menuLink{
			Label:   cmp.Or(l.Label, l.Path),
			Href:    t.url,
			Rel:     v.rel(t.kind),
			Current: address != "" && t.kind == toSite && strings.TrimSuffix(t.url, "/") == strings.TrimSuffix(v.at(address), "/"),
		})
	}
	if v.Preview != nil {
		f.Preview = &banner{Label: v.Preview.Label}
		if !v.Preview.Expires.IsZero() {
			f.Preview.Expires = momentStamp(v.Preview.Expires)
		}
	}
	return f
}

func (v View) entry(it Item) *entry {
	locale := cmp.Or(it.Locale, v.Site.Locale)
	return &entry{
		Title:   orUntitled(it.Title),
		Summary: strings.TrimSpace(it.Summary),
		Href:    v.at(it.Address),
		Lang:    lang(locale),
		Date:    dayStamp(it.Date, locale),
		Authors: it.Authors,
		Tags:    it.Tags,
	}
}

func (v View) entries(items []Item) []entry {
	out := make([]entry, len(items))
	for i, it := range items {
		out[i] = *v.entry(it)
	}
	return out
}

// newestFirst returns a sorted copy; items of one date keep the order of their
// addresses, so that pages of an index neither repeat nor skip any.
func newestFirst(items []Item) []Item {
	type dated struct {
		Item
		at time.Time
	}
	sorted := make([]dated, len(items))
	for i, it := range items {
		at, _ := parseDate(it.Date)
		sorted[i] = dated{it, at}
	}
	slices.SortFunc(sorted, func(a, b dated) int {
		return cmp.Or(b.at.Compare(a.at), cmp.Compare(a.Address, b.Address))
	})
	out := make([]Item, len(sorted))
	for i, d := range sorted {
		out[i] = d.Item
	}
	return out
}
