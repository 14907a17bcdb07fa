package render

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReferencesStayUnderTheBase(t *testing.T) {
	for _, c := range []struct {
		from, ref, want string
		kind            targetKind
	}{
		{"/posts/a", "/about/", "/b/x/about/", toSite},
		{"/posts/a", "/", "/b/x/", toSite},
		{"/posts/a", "other", "/b/x/posts/other", toSite},
		{"/posts/a", "../up?q=1#f", "/b/x/up?q=1#f", toSite},
		{"/posts/a", "../../../../console", "/b/x/console", toSite},
		{"/posts/a", "/%2e%2e/%2E./console", "/b/x/console", toSite},
		{"/posts/a", "/a/./b//c", "/b/x/a/b/c", toSite},
		{"/posts/a", "/a/..", "/b/x/", toSite},
		{"/posts/a", "?page=2", "/b/x/posts/a?page=2", toSite},
		{"/posts/a", "#top", "#top", toFragment},
		{"/posts/a", "", "#", toFragment},
		{"/posts/a", `/\evil.example`, "/b/x/%5Cevil.example", toSite},
		{"/posts/a", "///evil.example", "/b/x/evil.example", toSite},
		{"/posts/a", "////evil.example", "/b/x/evil.example", toSite},
		{"/posts/a", "//evil.example/x", "//evil.example/x", toWeb},
		{"/posts/a", "HTTPS://x.example", "https://x.example", toWeb},
		{"/posts/a", "mailto:a@b.example", "mailto:a@b.example", toElsewhere},
		{"/posts/é", "ü", "/b/x/posts/%C3%BC", toSite},
		{"/wh?t", "?q", "/b/x/wh%3Ft?q", toSite},
	} {
		got, ok := resolve("/b/x", c.from, c.ref)
		if !ok || got.url != c.want || got.kind != c.kind {
			t.Errorf("%q at %q: %+v %t, want %q %d", c.ref, c.from, got, ok, c.want, c.kind)
		}
	}
	for _, ref := range []string{"javascript:x", "data:text/html,x", "https:x", "a:b", `{{ "/" | url }}`, "/a/{% x %}", "http://[::1", "\x01x"} {
		if got, ok := resolve("/b/x", "/", ref); ok {
			t.Errorf("%q: %+v, want none", ref, got)
		}
	}
}

func TestBodyIsLaidOutAsWritten(t *testing.T) {
	r := New()
	for name, c := range map[string]struct{ in, want string }{
		"template text stays": {
			`[18F]({{ "/" | url }}) {% if x %}`,
			"<p>[18F]({{ &#34;/&#34; | url }}) {% if x %}</p>\n"},
		"a link made of template text is a plain word": {
			`<a href="{{ '/x' | url }}">x</a>`, "<p><a>x</a></p>\n"},
		"a tag named in prose does not swallow the rest": {
			"The <title> and <script> tags.\n\nMore.",
			"<p>The &lt;title&gt; and &lt;script&gt; tags.</p>\n<p>More.</p>\n"},
		"an element that hides its fallback shows it": {
			"<object>\nfallback\n\nMore.", "\nfallback\n<p>More.</p>\n"},
		"a whole document leaves its words": {
			"<!doctype html>\n<html><head><title>T</title><style>x{}</style></head><body class=x>\n\n      <h2>Hi</h2></body></html>",
			"\n\n\n      <h2>Hi</h2>"},
		"stray ends are dropped and open elements closed": {
			"</div></main><div><b>x</p>", "<div><b>x</b></div>"},
		"a table scrolls in a box, one inside it does not": {
			"<table><tr><td><table><tr><td>x</td></tr></table></td></tr></table>",
			`<div class="table" role="region" aria-label="Table" tabindex="0"><table><tr><td><table><tr><td>x</td></tr></table></td></tr></table></div>`},
		"code keeps its language": {
			"```go\n\tx\n```", "<pre tabindex=\"0\"><code class=\"language-go\">\tx\n</code></pre>\n"},
		"an image of the site and one of another": {
			"![a](/i.png) ![b](https://x.example/j.png)",
			`<p><img src="/preview/TOKEN/i.png" alt="a" loading="lazy"/> <img src="https://x.example/j.png" alt="b" loading="lazy"/></p>` + "\n"},
		"an image that is data": {
			"<img src='data:image/png;base64,iVBORw0KGgo='>",
			`<img src="data:image/png;base64,iVBORw0KGgo=" loading="lazy"/>`},
		"direction overrides are shown, in entities too": {
			"a\u202eb &#x202e;", "<p>a⟨U+202E⟩b ⟨U+202E⟩</p>\n"},
		"tasks are shown without inputs": {
			"- [x] a", "<ul>\n<li>☑ a</li>\n</ul>\n"},
		"a figure": {
			`<figure><img src="/a.png" alt=""><figcaption>c</figcaption></figure>`,
			`<figure><img src="/preview/TOKEN/a.png" alt="" loading="lazy"/><figcaption>c</figcaption></figure>`},
		"a byte order mark is not text": {"\uFEFF# A", "<h1 id=\"a\">A</h1>\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got := string(r.Body(previewView(), Item{Address: "/posts/x", Body: c.in}))
			got = strings.ReplaceAll(got, ` loading="lazy">`, ` loading="lazy"/>`)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestALinkToAnotherSiteSaysWhoStandsBehindIt(t *testing.T) {
	r, it := New(), Item{Address: "/", Body: "[x](https://x.example) [y](/y)"}
	for want, v := range map[string]View{
		"<p><a href=\"https://x.example\" rel=\"noopener nofollow ugc\">x</a> <a href=\"/preview/TOKEN/y\">y</a></p>\n": previewView(),
		"<p><a href=\"https://x.example\" rel=\"noopener\">x</a> <a href=\"/sites/main/y\">y</a></p>\n":                 liveView(),
	} {
		if diff := cmp.Diff(want, string(r.Body(v, it))); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

func TestATextTooIntricateIsShownAsWritten(t *testing.T) {
	r := New()
	for name, body := range map[string]string{
		"nesting":  strings.Repeat("> ", maxNesting+1) + "deep <b>",
		"elements": strings.Repeat("<div>", maxOpen+1) + "deep <b>",
		"size":     strings.Repeat("a\n\n", maxSource/3+1) + "<b>",
		"cells":    "|" + strings.Repeat("a|", 300) + "\n|" + strings.Repeat("-|", 300) + "\n" + strings.Repeat("<b>\n", 300),
	} {
		got := string(r.Body(liveView(), Item{Body: body}))
		if !strings.HasPrefix(got, `<p class="note">`) || !strings.Contains(got, "&lt;b&gt;") {
			t.Errorf("%s: not shown as written: %.200s", name, got)
		}
	}
}

func TestAnOrdinaryLongTextIsNotTooIntricate(t *testing.T) {
	var table, list, code strings.Builder
	table.WriteString("| a | b | c |\n|---|---|---|\n")
	for range 2000 {
		table.WriteString("| [one](/one) | *two* | `three` |\n")
		list.WriteString("- [a link](/one) with *stress*\n  - nested\n    - deeper\n\n")
		code.WriteString(strings.Repeat(" ", 40) + "- item: \"**\"\n")
	}
	for name, body := range map[string]string{
		"table": table.String(), "list": list.String(), "code": "```yaml\n" + code.String() + "```\n",
		"prose": strings.Repeat("Some *prose* with [links](/a) and **more**.\n\n", 3000),
	} {
		if !affordable([]byte(body)) {
			t.Errorf("%s of %d bytes is refused", name, len(body))
		}
	}
}
