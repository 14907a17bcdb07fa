// Package folder reads a folder of Markdown or HTML with front matter, as
// Hugo, Jekyll and Eleventy sites keep it, into plain values.
//
// It is pure: it reads an [fs.FS] and nothing else, knows nothing of the rest
// of Assent, and gives the same values for the same files every time. Every
// file ends in exactly one place: an [Article], a [Page], the [Site], a [Skip]
// that says why it was left out, or the count of what was ignored.
//
// The rules, in the order they are asked:
//
//   - Hidden files and folders, and the folders in which generators keep
//     templates, data and packages, are counted in [Tree.Ignored] and not
//     opened. Where the root has a folder "content" and no home page of its
//     own, the site is in "content"; Markdown beside it is listed as skipped.
//   - A file whose name (or whose folder's, for an index file) starts with a
//     date and a hyphen is an article. Its collection is the nearest folder
//     that is not a number, its slug is the rest of the name.
//   - Any other Markdown or HTML file is a page at its permalink, else at its
//     file path, less a leading "pages".
//   - Files are taken in the byte order of their paths. Of articles that share
//     a slug in a collection and locale the first keeps it and the others get
//     their date appended (then a number). Of things that share an address the
//     articles, then the first page, keep it; other pages are skipped.
package folder

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Limits on what one file may carry. A file past one is skipped, never cut.
const (
	MaxBody = 160 << 10 // bytes of a body
	MaxText = 4 << 10   // bytes of any other text: a title, a summary, a tag, a path
	MaxMeta = 16 << 10  // bytes of the meta as JSON

	maxFrontMatter = 32 << 10 // bytes of front matter, before it is parsed
	maxFile        = MaxBody + maxFrontMatter + 1<<10
)

// The codes of a [Skip]. They are stable; the reasons beside them are prose.
const (
	CodeFrontMatter  = "front-matter"  // the front matter cannot be read; the reason names the line
	CodeRedirectOnly = "redirect-only" // only sends readers elsewhere
	CodeTemplate     = "template"      // makes other pages, or no page of its own
	CodeNotContent   = "not-content"   // neither Markdown nor HTML, or makes a file that is neither
	CodeTooLarge     = "too-large"     // past one of the limits
	CodeEncoding     = "encoding"      // invalid UTF-8, or a zero byte
	CodeDuplicate    = "duplicate"     // its address is taken by another file
	CodeEmpty        = "empty"         // no fields and no text
	CodePath         = "path"          // its permalink is no path a page can have
	CodeSymlink      = "symlink"       // a symbolic link, which is never followed
	CodeUnreadable   = "unreadable"    // could not be opened or read
)

// Article is one dated file.
type Article struct {
	File       string         // path in the folder, with slashes
	Collection string         // slug of the folder it is in; "posts" when there is none
	Locale     string         // as the file names it; "" is the site's own
	Slug       string         // [a-z0-9]+(-[a-z0-9]+)*, at most 200 bytes, unique in collection and locale
	Title      string         // never empty
	Summary    string         // from summary, excerpt or description
	Body       string         // as in the file, template text and all, less leading blank lines
	Date       string         // YYYY-MM-DD, or RFC 3339 where the file gives a time
	Tags       []string       // in order, each once
	Authors    []string       // in order, each once
	Meta       map[string]any // every other field: nil, bool, int64, float64, string, []any, map[string]any
}

// Page is any other file that makes one page.
type Page struct {
	File   string         // path in the folder, with slashes
	Locale string         // as the file names it; "" is the site's own
	Path   string         // one leading slash, none at the end, percent-decoded, NFC; without the locale's prefix
	Title  string         // never empty
	Body   string         // as in the file, template text and all, less leading blank lines
	Meta   map[string]any // every other field, as in [Article]
}

// Skip is a file that was left out, and why.
type Skip struct {
	File   string `json:"file"`
	Code   string `json:"code"`   // one of the Code constants
	Reason string `json:"reason"` // a plain sentence
}

// Tree is what a folder holds, each list in the byte order of File.
type Tree struct {
	Articles []Article
	Pages    []Page
	Skipped  []Skip
	Ignored  int   // hidden or generator-owned files and folders that were not opened
	Site     *Site // nil when no file in the folder describes the site
}

// Read reads the folder. What is wrong with one file is a [Skip]; the error is
// only for a root that cannot be listed.
func Read(fsys fs.FS) (Tree, error) { return ReadFor(fsys, "") }

// ReadFor is Read for a site whose own locale is known, unless the folder names
// another one.
func ReadFor(fsys fs.FS, own string) (Tree, error) {
	found, err := list(fsys)
	if err != nil {
		return Tree{}, fmt.Errorf("reading the folder: %w", err)
	}
	tree := Tree{Skipped: found.skipped, Ignored: found.ignored}
	site, tried := readSite(fsys, found.root)
	tree.Site = site
	used := make(map[string]bool, len(tried))
	for _, s := range tried {
		used[s.File] = true
		if s.Code != "" {
			tree.Skipped = append(tree.Skipped, s)
		}
	}
	locale := own
	if site != nil && site.Locale != "" {
		locale = site.Locale
	}
	items := readAll(fsys, slices.DeleteFunc(found.files, func(f string) bool { return used[f] }), found.root, locale)
	tree.settle(items)
	return tree, nil
}

// settle sorts what was read into the tree and resolves what two files claim.
func (t *Tree) settle(items []item) {
	var articles []*draft
	for _, it := range items {
		switch {
		case it.refused != nil:
			t.skip(it.file, it.refused)
		case it.draft.dated:
			articles = append(articles, it.draft)
		}
	}
	nameApart(articles)
	holder := make(map[string]string, len(items))
	for _, d := range articles {
		holder[served(d.locale, "/"+d.collection+"/"+d.slug)] = d.file
		t.Articles = append(t.Articles, d.article())
	}
	for _, it := range items {
		if it.refused != nil || it.draft.dated {
			continue
		}
		d := it.draft
		address := served(d.locale, d.path)
		if first, taken := holder[address]; taken {
			t.skip(d.file, refusef(CodeDuplicate, "its address %s is already taken by %s", address, first))
			continue
		}
		holder[address] = d.file
		t.Pages = append(t.Pages, d.page())
	}
	slices.SortFunc(t.Skipped, func(a, b Skip) int { return strings.Compare(a.File, b.File) })
}

func (t *Tree) skip(file string, r *refusal) {
	t.Skipped = append(t.Skipped, Skip{File: file, Code: r.code, Reason: r.reason})
}

// served is the address a path has on the site: locales share one space.
func served(locale, path string) string {
	switch {
	case locale == "":
		return path
	case path == "/":
		return "/" + locale
	}
	return "/" + locale + path
}

// A refusal says why a file is left out.
type refusal struct{ code, reason string }

func (r *refusal) Error() string { return r.reason }

func refusef(code, format string, args ...any) *refusal {
	return &refusal{code: code, reason: fmt.Sprintf(format, args...)}
}
