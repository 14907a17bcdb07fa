// Package page is a site's pages: what stands at one path and belongs to the
// site's structure. It reads like package article.
package page

import (
	"assent/domain"
	"assent/domain/action"
	"assent/domain/vocab"
)

// Page is as much of a page as its decisions need, and as people would
// recognise it by.
type Page struct {
	Site   string // empty before anything happened
	Exists bool   // false again once removed
	Locale string // empty for the site's own
	Path   string
	Title  string
	Body   string
	Meta   map[string]any
}

// Fields are what a person would recognise it by.
func (p Page) Fields() []domain.Field {
	if !p.Exists {
		return nil
	}
	return []domain.Field{
		{Name: "title", Value: p.Title},
		{Name: "path", Value: p.Path},
		{Name: "locale", Value: p.Locale},
		{Name: "meta", Value: p.Meta},
		{Name: "body", Value: p.Body},
	}
}

// Called is the name people call it by.
func (p Page) Called() string { return p.Title }

// Place is where it is served: its path, under /{locale} when that is not the
// site's own.
func (p Page) Place() (site, path string) {
	switch {
	case !p.Exists:
		return "", ""
	case p.Locale == "":
		return p.Site, p.Path
	case p.Path == "/":
		return p.Site, "/" + p.Locale
	}
	return p.Site, "/" + p.Locale + p.Path
}

// Kind is pages as the road sees them.
var Kind = action.KindOf[Page, Event]("page", "page", Words)

// Event is a fact about one page.
type Event interface{ domain.Event[Page, Event] }

// Words are the names in the log. They outlive the code: never reuse one.
var Words = []vocab.Word{
	vocab.Say[Created]("page.created"),
	vocab.Say[Updated]("page.updated"),
	vocab.Say[Removed]("page.removed"),
	vocab.Say[Restored]("page.restored"),
}

// Created is a page's first fact.
type Created struct {
	Site   string         `json:"site"`
	Locale string         `json:"locale,omitempty"`
	Path   string         `json:"path"`
	Title  string         `json:"title"`
	Body   string         `json:"body"`
	Meta   map[string]any `json:"meta,omitempty"`
}

// Evolve is the page as it was made.
func (e Created) Evolve(Page) Page {
	return Page{Site: e.Site, Exists: true, Locale: e.Locale, Path: e.Path, Title: e.Title, Body: e.Body, Meta: e.Meta}
}

// Reverse removes what was made.
func (e Created) Reverse(Page) Event { return Removed{} }

// Updated sets what it names and leaves the rest.
type Updated struct {
	Locale *string         `json:"locale,omitempty"`
	Path   *string         `json:"path,omitempty"`
	Title  *string         `json:"title,omitempty"`
	Body   *string         `json:"body,omitempty"`
	Meta   *map[string]any `json:"meta,omitempty"`
}

// Evolve sets what the event names.
func (e Updated) Evolve(p Page) Page {
	domain.Set(&p.Locale, e.Locale)
	domain.Set(&p.Path, e.Path)
	domain.Set(&p.Title, e.Title)
	domain.Set(&p.Body, e.Body)
	domain.Set(&p.Meta, e.Meta)
	return p
}

// Reverse sets the same fields to what they were.
func (e Updated) Reverse(before Page) Event {
	return Updated{
		Locale: domain.Was(e.Locale, before.Locale),
		Path:   domain.Was(e.Path, before.Path),
		Title:  domain.Was(e.Title, before.Title),
		Body:   domain.Was(e.Body, before.Body),
		Meta:   domain.Was(e.Meta, before.Meta),
	}
}

// Removed takes the page out of the draft; what it held stays known.
type Removed struct{}

// Evolve marks it as gone.
func (Removed) Evolve(p Page) Page {
	p.Exists = false
	return p
}

// Reverse restores what was there.
func (Removed) Reverse(Page) Event { return Restored{} }

// Restored brings a removed page back as it was.
type Restored struct{}

// Evolve marks it as there.
func (Restored) Evolve(p Page) Page {
	p.Exists = true
	return p
}

// Reverse removes it again.
func (Restored) Reverse(Page) Event { return Removed{} }
