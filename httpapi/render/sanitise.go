package render

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/microcosm-cc/bluemonday"
	"golang.org/x/net/html"
)

// ownID is what the ids of the page around a body begin with; a body's own may
// not, so that neither can be mistaken for the other.
const ownID = "_"

// newPolicy lists what a body may consist of. It is spelled out rather than
// taken from a ready-made policy so that a change of that policy cannot widen
// it.
func newPolicy() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements(
		"h1", "h2", "h3", "h4", "h5", "h6", "p", "br", "hr", "wbr", "div", "span",
		"article", "aside", "section", "header", "footer", "figure", "figcaption",
		"details", "summary", "blockquote", "pre", "ul", "ol", "li", "dl", "dt", "dd",
		"a", "abbr", "b", "bdi", "bdo", "cite", "code", "del", "dfn", "em", "i", "ins", "kbd",
		"mark", "q", "rp", "rt", "ruby", "s", "samp", "small", "strong", "sub", "sup",
		"time", "u", "var", "img",
		"table", "caption", "colgroup", "col", "thead", "tbody", "tfoot", "tr", "th", "td",
	)
	words := regexp.MustCompile(`^[^\x00-\x1f<>]{0,1000}$`)
	number := regexp.MustCompile(`^[0-9]{1,4}$`)
	p.AllowAttrs("id").Matching(regexp.MustCompile(`^[A-Za-z0-9][\w:.-]{0,127}$`)).Globally()
	p.AllowAttrs("lang").Matching(languageTag).Globally()
	p.AllowAttrs("dir").Matching(regexp.MustCompile(`^(?i:ltr|rtl|auto)$`)).Globally()
	p.AllowAttrs("title").Matching(words).Globally()
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^language-[\w+#.-]{1,32}$`)).OnElements("code")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^footnote(s|-ref|-backref)$`)).OnElements("a", "div")
	p.AllowAttrs("open").Matching(regexp.MustCompile(`^(open)?$`)).OnElements("details")
	p.AllowAttrs("start", "value").Matching(regexp.MustCompile(`^-?[0-9]{1,9}$`)).OnElements("ol", "li")
	p.AllowAttrs("type").Matching(regexp.MustCompile(`^[1aAiI]$`)).OnElements("ol")
	p.AllowAttrs("reversed").Matching(regexp.MustCompile(`^(reversed)?$`)).OnElements("ol")
	p.AllowAttrs("datetime").Matching(regexp.MustCompile(`^[\w:.+-]{1,40}$`)).OnElements("time", "del", "ins")
	p.AllowAttrs("align").Matching(regexp.MustCompile(`^(?i:left|right|center)$`)).OnElements("td", "th")
	p.AllowAttrs("colspan", "rowspan", "span").Matching(number).OnElements("td", "th", "col", "colgroup")
	p.AllowAttrs("scope").Matching(regexp.MustCompile(`^(?i:row|col|rowgroup|colgroup)$`)).OnElements("th")
	p.AllowAttrs("width", "height").Matching(number).OnElements("img")
	p.AllowAttrs("alt").Matching(words).OnElements("img")
	p.AllowAttrs("href").OnElements("a")
	p.AllowAttrs("src").OnElements("img")
	p.AllowNoAttrs().OnElements("a", "img", "span")

	p.RequireParseableURLs(true)
	p.AllowRelativeURLs(true)
	p.AllowURLSchemes("http", "https", "mailto", "tel")
	p.AllowDataURIImages() // for href too: finish takes those away

	// By default the text inside these is dropped, and with it the rest of a
	// body that opens one and never closes it. Nothing may vanish unseen.
	p.AllowElementsContent("frame", "frameset", "noembed", "noframes", "noscript", "nostyle", "object")
	p.SkipElementsContent("title")
	return p
}

// maxOpen is how many elements may be open at once; browsers stop at 512.
const maxOpen = 256

// finisher walks sanitised HTML once and settles what a list of allowed
// attributes cannot: where links lead, that every element is closed before the
// body ends, and that wide tables and code scroll in a box that the keyboard
// can reach.
type finisher struct {
	view    View
	address string
	out     bytes.Buffer
	open    []string
	counts  map[string]int // of open, by name
}

// finish reports false when elements are nested too deeply.
func finish(sanitised []byte, v View, address string) ([]byte, bool) {
	f := finisher{view: v, address: address, counts: map[string]int{}}
	f.out.Grow(len(sanitised) + len(sanitised)/8)
	z := html.NewTokenizer(bytes.NewReader(sanitised))
	for {
		switch z.Next() {
		case html.ErrorToken: // the reader is in memory, so this is the end
			f.closeTo(0)
			return f.out.Bytes(), true
		case html.TextToken:
			f.out.WriteString(visibleBody(string(z.Raw())))
		case html.StartTagToken, html.SelfClosingTagToken:
			if f.start(z.Token()); len(f.open) > maxOpen {
				return nil, false
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			f.end(string(name))
		}
	}
}

func (f *finisher) start(t html.Token) {
	t.Type = html.StartTagToken
	switch t.Data {
	case "a":
		t.Attr = f.anchor(t.Attr)
	case "img":
		t.Attr = f.image(t.Attr)
	case "pre":
		t.Attr = append(t.Attr, html.Attribute{Key: "tabindex", Val: "0"})
	case "table":
		if f.counts["table"] == 0 {
			f.out.WriteString(`<div class="table" role="region" aria-label="Table" tabindex="0">`)
		}
	}
	for i := range t.Attr {
		if a := &t.Attr[i]; a.Key == "title" || a.Key == "alt" {
			a.Val = visible(a.Val)
		}
	}
	f.out.WriteString(t.String())
	switch t.Data {
	case "br", "hr", "wbr", "img", "col":
	default:
		f.open = append(f.open, t.Data)
		f.counts[t.Data]++
	}
}

// end closes an element and whatever was left open inside it. One that was
// never opened is dropped, or it could close an element of the page.
func (f *finisher) end(name string) {
	if f.counts[name] == 0 {
		return
	}
	last := len(f.open) - 1
	for f.open[last] != name {
		last--
	}
	f.closeTo(last)
}

func (f *finisher) closeTo(depth int) {
	for len(f.open) > depth {
		name := f.open[len(f.open)-1]
		f.open = f.open[:len(f.open)-1]
		f.counts[name]--
		f.out.WriteString("</" + name + ">")
		if name == "table" && f.counts["table"] == 0 {
			f.out.WriteString("</div>")
		}
	}
}

// anchor sends a link where it belongs, or leaves its text a plain one.
func (f *finisher) anchor(attrs []html.Attribute) []html.Attribute {
	rel := ""
	attrs = slices.DeleteFunc(attrs, func(a html.Attribute) bool { return a.Key == "rel" })
	for i, a := range attrs {
		if a.Key != "href" {
			continue
		}
		t, ok := resolve(f.view.Base, f.address, a.Val)
		if !ok {
			attrs = slices.Delete(attrs, i, i+1)
			break
		}
		attrs[i].Val, rel = t.url, f.view.rel(t.kind)
		break
	}
	if rel != "" {
		attrs = append(attrs, html.Attribute{Key: "rel", Val: rel})
	}
	if slices.Contains(attrs, html.Attribute{Key: "class", Val: "footnote-backref"}) {
		attrs = append(attrs, html.Attribute{Key: "aria-label", Val: "Back to the text"})
	}
	return attrs
}

func (f *finisher) image(attrs []html.Attribute) []html.Attribute {
	for i, a := range attrs {
		if a.Key != "src" {
			continue
		}
		if strings.HasPrefix(a.Val, "data:image/") {
			break // the policy has looked at its kind
		}
		t, ok := resolve(f.view.Base, f.address, a.Val)
		if !ok || t.kind != toSite && t.kind != toWeb {
			attrs = slices.Delete(attrs, i, i+1)
			break
		}
		attrs[i].Val = t.url
		break
	}
	return append(attrs, html.Attribute{Key: "loading", Val: "lazy"})
}
