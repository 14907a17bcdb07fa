package render

import (
	"encoding/xml"
	"io"
	"strings"
	"time"
)

type atomFeed struct {
	XMLName  xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
	Lang     string      `xml:"xml:lang,attr"`
	Title    string      `xml:"title"`
	Subtitle string      `xml:"subtitle,omitempty"`
	ID       string      `xml:"id"`
	Updated  string      `xml:"updated"`
	Links    []atomLink  `xml:"link"`
	Author   atomPerson  `xml:"author"`
	Entries  []atomEntry `xml:"entry"`
}

type atomLink struct {
	Rel  string `xml:"rel,attr"`
	Type string `xml:"type,attr"`
	Href string `xml:"href,attr"`
}

type atomPerson struct {
	Name string `xml:"name"`
}

type atomEntry struct {
	Lang      string       `xml:"xml:lang,attr"`
	Title     string       `xml:"title"`
	ID        string       `xml:"id"`
	Updated   string       `xml:"updated"`
	Published string       `xml:"published"`
	Link      atomLink     `xml:"link"`
	Authors   []atomPerson `xml:"author"`
	Tags      []atomTag    `xml:"category"`
	Summary   string       `xml:"summary,omitempty"`
	Content   *atomText    `xml:"content"`
}

type atomTag struct {
	Term string `xml:"term,attr"`
}

type atomText struct {
	Type string `xml:"type,attr"`
	HTML string `xml:",chardata"`
}

// Feed writes an Atom feed of the newest [PageSize] items, with their content
// when they bring a body. The view needs its Origin; send the feed as
// "application/atom+xml".
func (r *Renderer) Feed(w io.Writer, v View, items []Item) error {
	whole := v // addresses in a feed are read far from the site, so all are complete
	whole.Base = v.Origin + v.Base
	f := v.frame("/", "", v.Site.Locale)
	feed := atomFeed{
		Lang:     f.Lang,
		Title:    visible(f.SiteTitle),
		Subtitle: visible(f.Tagline),
		ID:       whole.at("/"),
		Updated:  time.Unix(0, 0).UTC().Format(time.RFC3339),
		Author:   atomPerson{visible(f.SiteTitle)},
		Links:    []atomLink{{"alternate", "text/html", whole.at("/")}},
	}
	if v.Feed != "" {
		feed.Links = append(feed.Links, atomLink{"self", "application/atom+xml", v.Origin + v.Feed})
	}
	for i, it := range newestFirst(items) {
		if i == PageSize {
			break
		}
		e := r.atomEntry(whole, it)
		if i == 0 {
			feed.Updated = e.Updated
		}
		feed.Entries = append(feed.Entries, e)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	return xml.NewEncoder(w).Encode(feed)
}

func (r *Renderer) atomEntry(v View, it Item) atomEntry {
	shown := v.entry(it)
	at, ok := parseDate(it.Date)
	if !ok {
		at = time.Unix(0, 0).UTC() // Atom insists on a date; the oldest claims the least
	}
	e := atomEntry{
		Lang:      shown.Lang,
		Title:     visible(shown.Title),
		ID:        shown.Href,
		Updated:   at.Format(time.RFC3339),
		Published: at.Format(time.RFC3339),
		Link:      atomLink{"alternate", "text/html", shown.Href},
		Summary:   visible(shown.Summary),
	}
	for _, a := range it.Authors {
		e.Authors = append(e.Authors, atomPerson{visible(a)})
	}
	for _, t := range it.Tags {
		e.Tags = append(e.Tags, atomTag{visible(t)})
	}
	if strings.TrimSpace(it.Body) != "" {
		e.Content = &atomText{"html", string(r.Body(v, it))}
	}
	return e
}
