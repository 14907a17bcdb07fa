// Package article is the model for every kind of thing: state, words, events
// here; arguments, declarations, decisions in actions.go.
package article

import (
	"assent/domain"
	"assent/domain/action"
	"assent/domain/vocab"
)

// Article is as much of an article as its decisions need, and as people would
// recognise it by.
type Article struct {
	Site       string // empty before anything happened
	Exists     bool   // false again once removed
	Collection string
	Locale     string // empty for the site's own
	Slug       string
	Title      string
	Summary    string
	Body       string
	Tags       []string
	Authors    []string
	Date       string
	Meta       map[string]any
}

// Fields are what a person would recognise it by.
func (a Article) Fields() []domain.Field {
	if !a.Exists {
		return nil
	}
	return []domain.Field{
		{Name: "title", Value: a.Title},
		{Name: "slug", Value: a.Slug},
		{Name: "collection", Value: a.Collection},
		{Name: "locale", Value: a.Locale},
		{Name: "summary", Value: a.Summary},
		{Name: "tags", Value: a.Tags},
		{Name: "authors", Value: a.Authors},
		{Name: "date", Value: a.Date},
		{Name: "meta", Value: a.Meta},
		{Name: "body", Value: a.Body},
	}
}

// Called is the name people call it by.
func (a Article) Called() string { return a.Title }

// InCollection is the collection it is in, or was before it was removed.
func (a Article) InCollection() string { return a.Collection }

// Place is where it is served: /{collection}/{slug}, under /{locale} when that
// is not the site's own.
func (a Article) Place() (site, path string) {
	if !a.Exists {
		return "", ""
	}
	path = "/" + a.Collection + "/" + a.Slug
	if a.Locale != "" {
		path = "/" + a.Locale + path
	}
	return a.Site, path
}

// Kind is articles as the road sees them.
var Kind = action.KindOf[Article, Event]("article", "art", Words)

// Event is a fact about one article.
type Event interface{ domain.Event[Article, Event] }

// Words are the names in the log. They outlive the code: never reuse one.
var Words = []vocab.Word{
	vocab.Say[Created]("article.created"),
	vocab.Say[Updated]("article.updated"),
	vocab.Say[Removed]("article.removed"),
	vocab.Say[Restored]("article.restored"),
}

// Created is an article's first fact.
type Created struct {
	Site       string         `json:"site"`
	Collection string         `json:"collection"`
	Locale     string         `json:"locale,omitempty"`
	Slug       string         `json:"slug"`
	Title      string         `json:"title"`
	Summary    string         `json:"summary,omitempty"`
	Body       string         `json:"body"`
	Tags       []string       `json:"tags,omitempty"`
	Authors    []string       `json:"authors,omitempty"`
	Date       string         `json:"date,omitempty"`
	Meta       map[string]any `json:"meta,omitempty"`
}

// Evolve is the article as it was made.
func (e Created) Evolve(Article) Article {
	return Article{
		Site: e.Site, Exists: true, Collection: e.Collection, Locale: e.Locale, Slug: e.Slug, Title: e.Title,
		Summary: e.Summary, Body: e.Body, Tags: e.Tags, Authors: e.Authors, Date: e.Date, Meta: e.Meta,
	}
}

// Reverse removes what was made.
func (e Created) Reverse(Article) Event { return Removed{} }

// Updated sets what it names and leaves the rest.
type Updated struct {
	Collection *string         `json:"collection,omitempty"`
	Locale     *string         `json:"locale,omitempty"`
	Slug       *string         `json:"slug,omitempty"`
	Title      *string         `json:"title,omitempty"`
	Summary    *string         `json:"summary,omitempty"`
	Body       *string         `json:"body,omitempty"`
	Tags       *[]string       `json:"tags,omitempty"`
	Authors    *[]string       `json:"authors,omitempty"`
	Date       *string         `json:"date,omitempty"`
	Meta       *map[string]any `json:"meta,omitempty"`
}

// Evolve sets what the event names.
func (e Updated) Evolve(a Article) Article {
	domain.Set(&a.Collection, e.Collection)
	domain.Set(&a.Locale, e.Locale)
	domain.Set(&a.Slug, e.Slug)
	domain.Set(&a.Title, e.Title)
	domain.Set(&a.Summary, e.Summary)
	domain.Set(&a.Body, e.Body)
	domain.Set(&a.Tags, e.Tags)
	domain.Set(&a.Authors, e.Authors)
	domain.Set(&a.Date, e.Date)
	domain.Set(&a.Meta, e.Meta)
	return a
}

// Reverse sets the same fields to what they were.
func (e Updated) Reverse(before Article) Event {
	return Updated{
		Collection: domain.Was(e.Collection, before.Collection),
		Locale:     domain.Was(e.Locale, before.Locale),
		Slug:       domain.Was(e.Slug, before.Slug),
		Title:      domain.Was(e.Title, before.Title),
		Summary:    domain.Was(e.Summary, before.Summary),
		Body:       domain.Was(e.Body, before.Body),
		Tags:       domain.Was(e.Tags, before.Tags),
		Authors:    domain.Was(e.Authors, before.Authors),
		Date:       domain.Was(e.Date, before.Date),
		Meta:       domain.Was(e.Meta, before.Meta),
	}
}

// Removed takes the article out of the draft. What it held stays known, so
// that taking the removal back needs no copy of it.
type Removed struct{}

// Evolve marks it as gone.
func (Removed) Evolve(a Article) Article {
	a.Exists = false
	return a
}

// Reverse restores what was there.
func (Removed) Reverse(Article) Event { return Restored{} }

// Restored brings a removed article back as it was.
type Restored struct{}

// Evolve marks it as there.
func (Restored) Evolve(a Article) Article {
	a.Exists = true
	return a
}

// Reverse removes it again.
func (Restored) Reverse(Article) Event { return Removed{} }
