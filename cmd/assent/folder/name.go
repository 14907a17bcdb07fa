package folder

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A name is what a file's path says about it.
type name struct {
	file       string
	dirs       []string // folders below the site's root, without a leading "pages"
	stem       string   // base name without date, locale and extension; the folder's for a dated folder
	locale     string   // from a suffix such as about.fr.md
	dated      bool
	day        string // YYYY-MM-DD, of a dated name
	collection string // of a dated name
}

var datedName = regexp.MustCompile(`^(\d{4})-(\d{1,2})-(\d{1,2})-(.*[^-].*)$`)

const maxSlug = 200

func readName(file, root string) name {
	rel := strings.TrimPrefix(file, root+"/")
	n := name{file: file}
	if dir := path.Dir(rel); dir != "." {
		n.dirs = strings.Split(dir, "/")
	}
	if len(n.dirs) > 0 && (n.dirs[0] == "pages" || n.dirs[0] == "_pages") {
		n.dirs = n.dirs[1:]
	}
	n.stem, _ = splitExt(rel)
	n.stem, n.locale = cutLocale(n.stem)
	if n.isIndex() && len(n.dirs) > 0 {
		// Hugo keeps an article with its pictures in a folder of its own.
		last := len(n.dirs) - 1
		if day, rest, ok := cutDay(n.dirs[last]); ok {
			n.dirs, n.stem, n.day, n.dated = n.dirs[:last], rest, day, true
		}
	} else if day, rest, ok := cutDay(n.stem); ok {
		n.stem, n.day, n.dated = rest, day, true
	}
	n.collection = collectionOf(n.dirs)
	return n
}

func (n name) isIndex() bool { return n.stem == "index" || n.stem == "_index" }

// collectionOf is the nearest folder that is not a year, month or day.
func collectionOf(dirs []string) string {
	for i := len(dirs) - 1; i >= 0; i-- {
		if s := slugify(dirs[i]); strings.Trim(s, "0123456789-") != "" {
			return s
		}
	}
	return "posts"
}

// cutDay splits a dated name. A date that is not in the calendar is no date.
func cutDay(s string) (day, rest string, ok bool) {
	m := datedName.FindStringSubmatch(s)
	if m == nil {
		return "", s, false
	}
	t, err := time.Parse("2006-1-2", m[1]+"-"+m[2]+"-"+m[3])
	if err != nil {
		return "", s, false
	}
	return t.Format(time.DateOnly), m[4], true
}

// title makes words of a name: "open-data" becomes "Open data".
func (n name) title() string {
	words := n.stem
	if n.isIndex() {
		if len(n.dirs) == 0 {
			return "Home"
		}
		words = n.dirs[len(n.dirs)-1]
	}
	words = strings.Join(strings.FieldsFunc(norm.NFC.String(words), func(r rune) bool {
		return r == '-' || r == '_' || unicode.IsSpace(r)
	}), " ")
	if words == "" {
		return n.stem
	}
	first, size := utf8.DecodeRuneInString(words)
	return string(unicode.ToUpper(first)) + words[size:]
}

// filePath is where a page is found that names no place of its own.
func (n name) filePath() string {
	var b strings.Builder
	for _, dir := range n.dirs {
		b.WriteByte('/')
		b.WriteString(strings.TrimPrefix(dir, "_"))
	}
	if !n.isIndex() {
		b.WriteByte('/')
		b.WriteString(n.stem)
	}
	if b.Len() == 0 {
		return "/"
	}
	return b.String()
}

// slugify keeps ASCII letters and digits, lower case, and joins what is
// between them with single hyphens. Accents are dropped, a few letters are
// spelt out; a name without any such letter gives "".
func slugify(s string) string {
	var b strings.Builder
	gap := false
	put := func(text string) {
		if gap && b.Len() > 0 {
			b.WriteByte('-')
		}
		gap = false
		b.WriteString(text)
	}
	for _, r := range strings.ToLower(norm.NFKD.String(s)) {
		switch {
		case 'a' <= r && r <= 'z' || '0' <= r && r <= '9':
			put(string(r))
		case unicode.Is(unicode.Mn, r) || r == '\'' || r == '’':
		case spelled(r) != "":
			put(spelled(r))
		default:
			gap = true
		}
	}
	return cutSlug(b.String(), maxSlug)
}

// spelled gives the ASCII spelling of Latin letters that do not decompose.
func spelled(r rune) string {
	switch r {
	case 'ß':
		return "ss"
	case 'æ':
		return "ae"
	case 'œ':
		return "oe"
	case 'ø':
		return "o"
	case 'ł':
		return "l"
	case 'đ', 'ð':
		return "d"
	case 'þ':
		return "th"
	case 'ı':
		return "i"
	}
	return ""
}

// cutSlug shortens a slug to most bytes, between words where it can.
func cutSlug(slug string, most int) string {
	if len(slug) <= most {
		return slug
	}
	cut := slug[:most]
	if slug[most] != '-' {
		if i := strings.LastIndexByte(cut, '-'); i > 0 {
			cut = cut[:i]
		}
	}
	return strings.TrimRight(cut, "-")
}

// nameApart gives articles of one collection and locale different slugs.
// Names that files have by themselves go first, so that a made-up one never
// pushes a real one aside; within that, the first in name order keeps it.
func nameApart(drafts []*draft) {
	type place struct{ collection, locale, slug string }
	at := func(d *draft, slug string) place { return place{d.collection, d.locale, slug} }
	taken := make(map[place]bool, len(drafts))
	var clashing []*draft
	for _, d := range drafts {
		if taken[at(d, d.slug)] {
			clashing = append(clashing, d)
		}
		taken[at(d, d.slug)] = true
	}
	for _, d := range clashing {
		base := d.slug
		for n, suffix := 2, "-"+d.day; taken[at(d, d.slug)]; n++ {
			d.slug = cutSlug(base, maxSlug-len(suffix)) + suffix
			suffix = fmt.Sprintf("-%s-%d", d.day, n)
		}
		taken[at(d, d.slug)] = true
	}
}
