package folder

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// listing is what a walk of the folder found, before any file is opened.
type listing struct {
	root    string   // "." or "content": where the site starts
	files   []string // regular files, in byte order of their paths
	skipped []Skip
	ignored int
}

// anywhere are folders that no generator publishes, at whatever depth.
var anywhere = []string{
	"node_modules", "_includes", "_layouts", "_data", "_sass", "_site", "_drafts", "_plugins", "_cache",
}

// atTop are folders that hold a generator's own files when they are at the
// top, and may be anybody's section further down.
var atTop = []string{"layouts", "themes", "archetypes", "vendor"}

func list(fsys fs.FS) (listing, error) {
	top, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return listing{}, err
	}
	l := listing{root: siteRoot(top)}
	if l.root != "." {
		l.beside(top)
	}
	err = fs.WalkDir(fsys, l.root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			l.skip(name, CodeUnreadable, "cannot be read: "+plain(err))
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
		case name == l.root:
		case d.IsDir():
			if hidden(d.Name()) || slices.Contains(anywhere, d.Name()) ||
				path.Dir(name) == "." && slices.Contains(atTop, d.Name()) {
				l.ignored++
				return fs.SkipDir
			}
		default:
			l.file(name, d)
		}
		return nil
	})
	slices.Sort(l.files)
	return l, err
}

// siteRoot finds where the site starts. A home page at the top means that
// "content" is one of its sections.
func siteRoot(top []fs.DirEntry) string {
	root := "."
	for _, d := range top {
		if stem, _ := splitExt(d.Name()); !d.IsDir() && isText(d.Name()) && (stem == "index" || stem == "_index") {
			return "."
		}
		if d.IsDir() && d.Name() == "content" {
			root = "content"
		}
	}
	return root
}

// beside accounts for what lies next to "content": text somebody may look for
// is listed, the generator's own files are only counted.
func (l *listing) beside(top []fs.DirEntry) {
	for _, d := range top {
		switch {
		case d.Name() == l.root:
		case !d.IsDir() && !hidden(d.Name()) && isText(d.Name()):
			l.skip(d.Name(), CodeNotContent, "lies beside the folder "+l.root+", which holds the site")
		default:
			l.ignored++
		}
	}
}

func (l *listing) file(name string, d fs.DirEntry) {
	switch {
	case hidden(d.Name()):
		l.ignored++
	case !utf8.ValidString(name):
		l.skip(strings.ToValidUTF8(name, "\uFFFD"), CodeEncoding, "its name is invalid UTF-8")
	case d.Type()&fs.ModeSymlink != 0:
		// What a link points to inside the folder is read under its own
		// name, and what is outside is not ours to read.
		l.skip(name, CodeSymlink, "a symbolic link, which is not followed")
	case !d.Type().IsRegular():
		l.skip(name, CodeNotContent, "not a regular file")
	default:
		l.files = append(l.files, name)
	}
}

func (l *listing) skip(file, code, reason string) {
	l.skipped = append(l.skipped, Skip{File: file, Code: code, Reason: reason})
}

func hidden(name string) bool { return strings.HasPrefix(name, ".") }

// isText says whether a file name is one of Markdown or HTML.
func isText(name string) bool {
	_, ext := splitExt(name)
	switch ext {
	case ".md", ".markdown", ".mkd", ".mkdn", ".mdown", ".html", ".htm":
		return true
	}
	return false
}

// isTemplate says whether a file name is one of a template language.
func isTemplate(name string) bool {
	_, ext := splitExt(name)
	switch ext {
	case ".liquid", ".njk", ".nunjucks", ".hbs", ".handlebars", ".mustache", ".ejs", ".pug", ".haml", ".slim",
		".erb", ".jinja", ".jinja2", ".j2", ".twig", ".tmpl", ".gohtml", ".webc", ".vto", ".astro":
		return true
	}
	return false
}

// splitExt splits a file's base name before its last dot; ext is lower case.
func splitExt(name string) (stem, ext string) {
	base := path.Base(name)
	ext = path.Ext(base)
	return strings.TrimSuffix(base, ext), strings.ToLower(ext)
}

// plain is an error without the path that the caller already names.
func plain(err error) string {
	if pe, ok := err.(*fs.PathError); ok {
		return pe.Err.Error()
	}
	return err.Error()
}
