package folder

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

// A draft is one readable file, before it is known what others claim.
type draft struct {
	name
	locale  string
	slug    string // of an article
	path    string // of a page
	title   string
	summary string
	body    string
	date    string
	tags    []string
	authors []string
	meta    map[string]any
}

// An item is what became of one file: a draft or a refusal.
type item struct {
	file    string
	draft   *draft
	refused *refusal
}

// readAll reads the files on as many cores as there are; the answer is in the
// order of files whatever finishes first.
func readAll(fsys fs.FS, files []string, root, siteLocale string) []item {
	items := make([]item, len(files))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(files)) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(files)); i = next.Add(1) - 1 {
				d, refused := readFile(fsys, files[i], root, siteLocale)
				items[i] = item{file: files[i], draft: d, refused: refused}
			}
		})
	}
	workers.Wait()
	return items
}

func readFile(fsys fs.FS, file, root, siteLocale string) (*draft, *refusal) {
	switch {
	case isTemplate(file):
		return nil, refusef(CodeTemplate, "a template, which makes other pages")
	case !isText(file):
		return nil, refusef(CodeNotContent, "neither Markdown nor HTML")
	}
	text, refused := load(fsys, file, maxFile)
	if refused != nil {
		return nil, refused
	}
	f, body, refused := parse(text)
	if refused != nil {
		return nil, refused
	}
	return makeDraft(file, root, siteLocale, f, body)
}

// load reads at most limit bytes of clean UTF-8 text.
func load(fsys fs.FS, file string, limit int64) (string, *refusal) {
	f, err := fsys.Open(file)
	if err != nil {
		return "", refusef(CodeUnreadable, "cannot be opened: %s", plain(err))
	}
	defer f.Close()
	var buf bytes.Buffer
	if info, err := f.Stat(); err == nil && info.Size() <= limit {
		buf.Grow(int(info.Size()) + bytes.MinRead)
	}
	if _, err := buf.ReadFrom(io.LimitReader(f, limit+1)); err != nil {
		return "", refusef(CodeUnreadable, "cannot be read: %s", plain(err))
	}
	text := buf.Bytes()
	switch {
	case int64(len(text)) > limit:
		return "", refusef(CodeTooLarge, "the file is larger than %d KiB", limit>>10)
	case !utf8.Valid(text):
		return "", refusef(CodeEncoding, "invalid UTF-8")
	case bytes.IndexByte(text, 0) >= 0:
		return "", refusef(CodeEncoding, "holds a zero byte")
	}
	return strings.TrimPrefix(string(text), "\uFEFF"), nil
}

// makeDraft gives the fields of one file their places.
func makeDraft(file, root, siteLocale string, f fields, body string) (*draft, *refusal) {
	blank := strings.TrimSpace(body) == ""
	switch {
	case blank && (f.says("redirect_to") || f.says("redirect")):
		return nil, refusef(CodeRedirectOnly, "only sends its readers elsewhere")
	case blank && len(f) == 0:
		return nil, refusef(CodeEmpty, "has no fields and no text")
	}
	d := &draft{name: readName(file, root), body: trimLeadingBlankLines(body), meta: f}
	d.locale = f.locale(d.name.locale, siteLocale)
	d.title = oneLine(f.text("title"))
	if d.title == "" {
		d.title = firstHeading(body)
	}
	if d.title == "" {
		d.title = d.name.title()
	}
	if d.dated {
		d.fillArticle(f)
	} else if refused := d.fillPage(f); refused != nil {
		return nil, refused
	}
	return d, d.overLimit()
}

func (d *draft) fillArticle(f fields) {
	d.slug = slugify(d.stem)
	if d.slug == "" {
		d.slug = d.day
	}
	d.summary = f.text("summary", "excerpt", "description")
	d.tags = f.tags()
	d.authors = f.authors()
	d.date = f.date(d.day)
}

func (d *draft) fillPage(f fields) *refusal {
	if f.paginates() {
		return refusef(CodeTemplate, "paginates: it makes other pages")
	}
	where, given := f.permalink()
	if !given {
		where = d.filePath()
	}
	switch {
	case where == noPage:
		return refusef(CodeTemplate, "its permalink is false: it makes no page of its own")
	case hasTemplate(where):
		return refusef(CodeTemplate, "its permalink is a template: it makes other pages")
	case given && makesOtherFile(where):
		return refusef(CodeNotContent, "makes %s, which is no page", clip(where))
	}
	clean := cleanFilePath
	if given {
		clean = cleanPath
	}
	p, err := clean(where)
	if err != nil {
		return refusef(CodePath, "cannot be served at %s: %s", clip(where), err)
	}
	d.path = withoutLocale(p, d.locale)
	return nil
}

func (d *draft) overLimit() *refusal {
	if len(d.body) > MaxBody {
		return refusef(CodeTooLarge, "the body is larger than %d KiB", MaxBody>>10)
	}
	texts := map[string][]string{
		"title": {d.title}, "summary": {d.summary}, "path": {d.path}, "tags": d.tags, "authors": d.authors,
	}
	for _, field := range []string{"title", "summary", "path", "tags", "authors"} {
		for _, s := range texts[field] {
			if len(s) > MaxText {
				return refusef(CodeTooLarge, "the %s is larger than %d KiB", field, MaxText>>10)
			}
		}
	}
	if size, err := jsonSize(d.meta); err != nil || size > MaxMeta {
		return refusef(CodeTooLarge, "the other fields together are larger than %d KiB as JSON", MaxMeta>>10)
	}
	return nil
}

func jsonSize(v any) (int, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return buf.Len() - 1, err // less the newline that Encode adds
}

func (d *draft) article() Article {
	return Article{
		File: d.file, Collection: d.collection, Locale: d.locale, Slug: d.slug, Title: d.title, Summary: d.summary,
		Body: d.body, Date: d.date, Tags: d.tags, Authors: d.authors, Meta: d.meta,
	}
}

func (d *draft) page() Page {
	return Page{File: d.file, Locale: d.locale, Path: d.path, Title: d.title, Body: d.body, Meta: d.meta}
}

// trimLeadingBlankLines drops the gap people leave under front matter. An
// indented first line keeps its indentation.
func trimLeadingBlankLines(s string) string {
	for {
		line, rest, ok := strings.Cut(s, "\n")
		if !ok || strings.TrimSpace(line) != "" {
			return s
		}
		s = rest
	}
}

func oneLine(s string) string {
	if !strings.ContainsAny(s, "\r\n") {
		return strings.TrimSpace(s)
	}
	return strings.Join(strings.Fields(s), " ")
}

// clip shortens text from a file for a sentence.
func clip(s string) string {
	const most = 120
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
