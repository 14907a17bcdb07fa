package render

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"html"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestPagesLookAsTheyDid(t *testing.T) {
	r := New()
	translated := article()
	translated.Locale, translated.Address = "fr", "/fr/posts/tables"
	for name, write := range map[string]func(io.Writer) error{
		"page.html":            func(w io.Writer) error { return r.Page(w, liveView(), page()) },
		"article.html":         func(w io.Writer) error { return r.Page(w, liveView(), article()) },
		"article-preview.html": func(w io.Writer) error { return r.Page(w, previewView(), article()) },
		"article-french.html":  func(w io.Writer) error { return r.Page(w, liveView(), translated) },
		"index.html":           func(w io.Writer) error { return r.Index(w, liveView(), "/posts", "posts", articles(45), 2) },
		"index-empty.html":     func(w io.Writer) error { return r.Index(w, previewView(), "/field-notes", "field-notes", nil, 1) },
		"home.html":            func(w io.Writer) error { return r.Home(w, liveView(), articles(3)) },
		"home-preview.html":    func(w io.Writer) error { return r.Home(w, previewView(), articles(1)) },
		"notfound.html":        func(w io.Writer) error { return r.NotFound(w, liveView(), "/no/<such>\u202e/page") },
		"feed.xml":             func(w io.Writer) error { return r.Feed(w, liveView(), append(articles(2), article())) },
	} {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			if err := write(&got); err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", name)
			if *update {
				if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("differs from %s (-want +got):\n%s", golden, diff)
			}
		})
	}
}

func TestAnIndexShowsEveryItemOnceNewestFirst(t *testing.T) {
	r := New()
	var order []int
	for number := 1; number <= 3; number++ {
		out := indexPage(t, r, 45, number)
		for i := 44; i >= 0; i-- {
			if strings.Contains(out, `/posts/n`+itoa(i)+`"`) {
				order = append(order, i)
			}
		}
	}
	want := make([]int, 45)
	for i := range want {
		want[i] = 44 - i
	}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	first, last := indexPage(t, r, 45, 1), indexPage(t, r, 45, 3)
	if strings.Contains(first, "Newer") || !strings.Contains(first, "Older") {
		t.Error("the first page must link only to older items")
	}
	if !strings.Contains(last, "Newer") || strings.Contains(last, "Older") {
		t.Error("the last page must link only to newer items")
	}
}

func indexPage(t *testing.T, r *Renderer, items, number int) string {
	t.Helper()
	var out bytes.Buffer
	if err := r.Index(&out, liveView(), "/posts", "posts", articles(items), number); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func itoa(i int) string { return strings.TrimPrefix(articles(i + 1)[i].Address, "/posts/n") }

func TestAnIndexRefusesAPageItDoesNotReach(t *testing.T) {
	for _, number := range []int{-1, 0, 3, 1 << 40} {
		var out bytes.Buffer
		err := New().Index(&out, liveView(), "/posts", "posts", articles(40), number)
		if !errors.Is(err, ErrNoSuchPage) || out.Len() > 0 {
			t.Errorf("page %d: error %v and %d bytes, want ErrNoSuchPage and none", number, err, out.Len())
		}
	}
}

func TestEverythingWrittenByPeopleIsEscapedAndItsHiddenCharactersShown(t *testing.T) {
	const evil = "<script>\"'>\u202egnp.exe\x07\u200b{{.}}"
	v := previewView()
	v.Site.Title, v.Site.Tagline, v.Site.Locale = evil, evil, `en" onload="x`
	v.Site.Menu = []Link{{evil, "/" + evil}}
	v.Preview.Label = evil
	it := Item{
		Kind: "article", Collection: evil, Address: "/" + evil + "/" + evil, Title: evil, Summary: evil,
		Tags: []string{evil}, Authors: []string{evil}, Date: evil, Locale: `"><x`,
	}
	r := New()
	for name, write := range map[string]func(io.Writer) error{
		"page":  func(w io.Writer) error { return r.Page(w, v, it) },
		"index": func(w io.Writer) error { return r.Index(w, v, "/"+evil, evil, []Item{it}, 1) },
		"home":  func(w io.Writer) error { return r.Home(w, v, []Item{it}) },
		"404":   func(w io.Writer) error { return r.NotFound(w, v, evil) },
	} {
		var out bytes.Buffer
		if err := write(&out); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, bad := range []string{"<script", "\u202e", "\x07", "\u200b", `" onload=`, `'>`, "<x"} {
			if strings.Contains(out.String(), bad) {
				t.Errorf("%s: shows %q as it is:\n%s", name, bad, &out)
			}
		}
		if !strings.Contains(html.UnescapeString(out.String()), "⟨U+202E⟩gnp.exe⟨U+0007⟩⟨U+200B⟩{{.}}") {
			t.Errorf("%s: does not show what was hidden:\n%s", name, &out)
		}
		if !strings.Contains(out.String(), `<html lang="en"`) {
			t.Errorf("%s: language is not sanitised", name)
		}
	}
}

func TestAFeedIsWellFormedXMLWhateverItHolds(t *testing.T) {
	it := article()
	it.Title, it.Body, it.Summary = "]]>\x00\x1b<", "]]> \x0b\u202e <script>", "\x00"
	var out bytes.Buffer
	if err := New().Feed(&out, liveView(), []Item{it}); err != nil {
		t.Fatal(err)
	}
	d := xml.NewDecoder(&out)
	for {
		_, err := d.Token()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestAPreviewLoadsNothingFromOutsideAndIsKeptOutOfSearch(t *testing.T) {
	p, l := Headers(true), Headers(false)
	for header, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'",
		"X-Robots-Tag":            "noindex, nofollow, noarchive",
		"Referrer-Policy":         "no-referrer",
		"Cache-Control":           "no-store",
		"X-Content-Type-Options":  "nosniff",
	} {
		if got := p.Get(header); got != want {
			t.Errorf("preview %s: %q, want %q", header, got, want)
		}
	}
	if want := "default-src 'none'; style-src 'self'; img-src 'self' data: https:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"; l.Get("Content-Security-Policy") != want {
		t.Errorf("live policy %q, want %q", l.Get("Content-Security-Policy"), want)
	}
	if l.Get("X-Robots-Tag") != "" {
		t.Error("the live site must be found by search engines")
	}
}

func TestNothingIsWrittenInlineThatThePolicyForbids(t *testing.T) {
	for _, name := range []string{"page.html", "article.html", "article-preview.html", "index.html", "home.html", "notfound.html"} {
		out, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{" style=", "<style", "<script"} {
			if bytes.Contains(out, []byte(bad)) {
				t.Errorf("%s has %q", name, bad)
			}
		}
	}
}

func BenchmarkArticleOfTenKibibytes(b *testing.B) {
	it := article()
	it.Body = strings.Repeat(it.Body, 10<<10/len(it.Body))
	r, v := New(), liveView()
	b.SetBytes(int64(len(it.Body)))
	b.ReportAllocs()
	for b.Loop() {
		if err := r.Page(io.Discard, v, it); err != nil {
			b.Fatal(err)
		}
	}
}
