package folder

import (
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// cleanPath turns a permalink into the path it is served at: what a link
// would carry beyond a path is dropped, percent signs are decoded once, and
// the spelling of slashes, of index files and of Unicode is made one.
func cleanPath(link string) (string, error) {
	link = strings.TrimSpace(link)
	if scheme, rest, ok := strings.Cut(link, "://"); ok && isLetters(scheme) {
		_, link, _ = strings.Cut(rest, "/")
	}
	if i := strings.IndexAny(link, "?#"); i >= 0 {
		link = link[:i]
	}
	decoded, err := url.PathUnescape(link)
	if err != nil {
		return "", errors.New("a percent sign in it is not followed by two hexadecimal digits")
	}
	if !utf8.ValidString(decoded) {
		return "", errors.New("it decodes to invalid UTF-8")
	}
	p, err := cleanFilePath(decoded)
	if err != nil {
		return "", err
	}
	for _, index := range []string{"/index.html", "/index.htm"} {
		if rest, ok := strings.CutSuffix(p, index); ok {
			p = "/" + strings.TrimPrefix(rest, "/")
		}
	}
	return p, nil
}

// cleanFilePath does the same for a path that is not encoded.
func cleanFilePath(p string) (string, error) {
	p = norm.NFC.String(p)
	if strings.ContainsFunc(p, unicode.IsControl) || strings.Contains(p, `\`) {
		return "", errors.New("it holds a control character or a backslash")
	}
	parts := slices.DeleteFunc(strings.Split(p, "/"), func(s string) bool { return s == "" })
	if slices.Contains(parts, ".") || slices.Contains(parts, "..") {
		return "", errors.New("it has a . or .. between slashes")
	}
	return "/" + strings.Join(parts, "/"), nil
}

// withoutLocale drops the prefix under which a locale is served, which the
// site adds again.
func withoutLocale(p, locale string) string {
	first, rest, _ := strings.Cut(strings.TrimPrefix(p, "/"), "/")
	if locale == "" || !strings.EqualFold(first, locale) {
		return p
	}
	return "/" + rest
}

// noPage stands for the permalink false.
const noPage = "\x00"

var placeholder = regexp.MustCompile(`(^|/):[a-z_]+`)

// permalink takes the place that a page names. Patterns such as /:title/ and
// the named styles of Jekyll say nothing about one page and stay in the meta.
func (f fields) permalink() (string, bool) {
	for _, key := range []string{"permalink", "url"} {
		v, ok := f[key]
		if v == false {
			return noPage, true
		}
		s, isString := v.(string)
		s = strings.TrimSpace(s)
		if !ok || !isString || s == "" || isStyle(s) || placeholder.MatchString(s) {
			continue
		}
		delete(f, key)
		return s, true
	}
	return "", false
}

func isStyle(s string) bool {
	return slices.Contains([]string{"pretty", "date", "ordinal", "weekdate", "none"}, s)
}

func hasTemplate(s string) bool {
	return strings.Contains(s, "{{") || strings.Contains(s, "{%") || strings.Contains(s, "<%")
}

// makesOtherFile says whether a path ends like a feed, a script or the like.
func makesOtherFile(p string) bool {
	_, ext := splitExt(p)
	switch ext {
	case ".xml", ".rss", ".atom", ".json", ".js", ".css", ".txt", ".csv", ".ics", ".svg", ".webmanifest":
		return true
	}
	return false
}

func isLetters(s string) bool {
	return s != "" && strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz") == ""
}
