package folder

import (
	"cmp"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Site is what a folder says about the site as a whole; what it does not say
// is empty.
type Site struct {
	File    string // the file that says so
	Title   string
	Tagline string
	Locale  string
	Menu    []MenuItem // only entries with a label and a path on the site
}

// MenuItem is one entry of a site's menu.
type MenuItem struct {
	Label string
	Path  string // as [Page.Path]
}

// siteFiles are where a site is described: in our own words, Jekyll's, Hugo's,
// Eleventy's. The first that says anything counts.
var siteFiles = []string{
	"site.yaml", "site.yml", "site.toml", "site.json", "_config.yml", "_config.yaml",
	"hugo.toml", "hugo.yaml", "hugo.yml", "hugo.json", "config.toml", "config.yaml", "config.yml", "config.json",
	"_data/site.yaml", "_data/site.yml", "_data/site.json",
}

// readSite finds the site's own words at the top of the folder or of its
// content. Every file it tried is returned: those with a code could not be
// read, the one without is the site's.
func readSite(fsys fs.FS, root string) (*Site, []Skip) {
	var tried []Skip
	for _, dir := range slices.Compact([]string{".", root}) {
		for _, base := range siteFiles {
			file := path.Join(dir, base)
			if !isOwn(fsys, file) {
				continue
			}
			site, refused := loadSite(fsys, file)
			if refused != nil {
				tried = append(tried, Skip{File: file, Code: refused.code, Reason: refused.reason})
				continue
			}
			if site != nil {
				return site, append(tried, Skip{File: file})
			}
		}
	}
	return nil, tried
}

// isOwn says whether a file is a regular one that no symbolic link leads to.
func isOwn(fsys fs.FS, file string) bool {
	info, err := fs.Lstat(fsys, file)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	dir, err := fs.Lstat(fsys, path.Dir(file))
	return err == nil && dir.IsDir() || path.Dir(file) == "."
}

func loadSite(fsys fs.FS, file string) (*Site, *refusal) {
	text, refused := load(fsys, file, maxFrontMatter)
	if refused != nil {
		return nil, refused
	}
	read := decodeYAML
	switch path.Ext(file) {
	case ".toml":
		read = decodeTOML
	case ".json":
		read = decodeJSON
	}
	f, _, refused := decode(read, text, "", 0)
	if refused != nil {
		return nil, refused
	}
	params, _ := f["params"].(map[string]any) // Hugo keeps what is not its own there
	p := fields(params)
	s := Site{File: file, Title: oneLine(f.text("title", "name")), Menu: readMenu(f)}
	s.Tagline = oneLine(f.text("tagline", "subtitle", "description"))
	if s.Tagline == "" {
		s.Tagline = oneLine(p.text("tagline", "subtitle", "description"))
	}
	if l := f.text("locale", "languageCode", "lang", "language", "defaultContentLanguage"); localeTag.MatchString(l) {
		s.Locale = cleanLocale(l)
	}
	switch {
	case s.Title == "" && s.Tagline == "" && s.Locale == "" && s.Menu == nil:
		return nil, nil
	case max(len(s.Title), len(s.Tagline), len(s.Locale)) > MaxText:
		return nil, refusef(CodeTooLarge, "a text about the site is larger than %d KiB", MaxText>>10)
	}
	return &s, nil
}

// readMenu reads a list of entries, or the one that Hugo calls main, in the
// order of their weights where they have any.
func readMenu(f fields) []MenuItem {
	list, _ := f["menu"].([]any)
	for _, name := range []string{"menu", "menus"} {
		if byName, ok := f[name].(map[string]any); ok && list == nil {
			list, _ = byName["main"].([]any)
		}
	}
	type weighed struct {
		MenuItem
		weight int64
	}
	var entries []weighed
	for _, one := range list {
		m, _ := one.(map[string]any)
		entry := fields(m)
		label := oneLine(entry.text("label", "name", "title", "text"))
		link := entry.text("path", "url", "link", "pageRef")
		p, err := cleanPath(link)
		if label == "" || link == "" || strings.Contains(link, ":") || err != nil ||
			len(label) > MaxText || len(p) > MaxText {
			continue
		}
		weight, _ := m["weight"].(int64)
		entries = append(entries, weighed{MenuItem{label, p}, weight})
	}
	slices.SortStableFunc(entries, func(a, b weighed) int { return cmp.Compare(a.weight, b.weight) })
	var menu []MenuItem
	for _, e := range entries {
		menu = append(menu, e.MenuItem)
	}
	return menu
}
