// Package site is a site's own settings: its name, its language, its menu and
// its looks. They are published like any item: version by version.
package site

import (
	"assent/domain"
	"assent/domain/action"
	"assent/domain/vocab"
)

// Site is a site's settings as its decisions need them.
type Site struct {
	Exists  bool
	Title   string
	Tagline string
	Locale  string // its own language; items in it carry none
	Menu    []Link
	Theme   map[string]any
}

// Link is one entry of the menu.
type Link struct {
	Label string `json:"label" jsonschema:"the words people see"`
	Path  string `json:"path" jsonschema:"where it leads on this site, such as /about"`
}

// Fields are what a person would recognise it by.
func (s Site) Fields() []domain.Field {
	if !s.Exists {
		return nil
	}
	return []domain.Field{
		{Name: "title", Value: s.Title},
		{Name: "tagline", Value: s.Tagline},
		{Name: "locale", Value: s.Locale},
		{Name: "menu", Value: s.Menu},
		{Name: "theme", Value: s.Theme},
	}
}

// Called is the name people call it by.
func (s Site) Called() string { return s.Title }

// Open says that items can be made on it.
func (s Site) Open() bool { return s.Exists }

// Foreign is a language tag as an item keeps it: empty for the site's own.
func (s Site) Foreign(locale string) string {
	if locale == s.Locale {
		return ""
	}
	return locale
}

// Kind is sites as the road sees them. People give them their handles.
var Kind = action.KindOf[Site, Event]("site", "", Words)

// Event is a fact about one site's settings.
type Event interface{ domain.Event[Site, Event] }

// Words are the names in the log. They outlive the code: never reuse one.
var Words = []vocab.Word{
	vocab.Say[Created]("site.created"),
	vocab.Say[Updated]("site.updated"),
}

// Created is a site's first fact.
type Created struct {
	Title   string         `json:"title"`
	Tagline string         `json:"tagline,omitempty"`
	Locale  string         `json:"locale"`
	Menu    []Link         `json:"menu,omitempty"`
	Theme   map[string]any `json:"theme,omitempty"`
}

// Evolve is the site as it was made.
func (e Created) Evolve(Site) Site {
	return Site{Exists: true, Title: e.Title, Tagline: e.Tagline, Locale: e.Locale, Menu: e.Menu, Theme: e.Theme}
}

// Reverse is nil: by the time somebody thinks better of it, a site may hold
// others' work.
func (e Created) Reverse(Site) Event { return nil }

// Updated sets what it names and leaves the rest.
type Updated struct {
	Title   *string         `json:"title,omitempty"`
	Tagline *string         `json:"tagline,omitempty"`
	Locale  *string         `json:"locale,omitempty"`
	Menu    *[]Link         `json:"menu,omitempty"`
	Theme   *map[string]any `json:"theme,omitempty"`
}

// Evolve sets what the event names.
func (e Updated) Evolve(s Site) Site {
	domain.Set(&s.Title, e.Title)
	domain.Set(&s.Tagline, e.Tagline)
	domain.Set(&s.Locale, e.Locale)
	domain.Set(&s.Menu, e.Menu)
	domain.Set(&s.Theme, e.Theme)
	return s
}

// Reverse sets the same fields to what they were.
func (e Updated) Reverse(before Site) Event {
	return Updated{
		Title:   domain.Was(e.Title, before.Title),
		Tagline: domain.Was(e.Tagline, before.Tagline),
		Locale:  domain.Was(e.Locale, before.Locale),
		Menu:    domain.Was(e.Menu, before.Menu),
		Theme:   domain.Was(e.Theme, before.Theme),
	}
}
