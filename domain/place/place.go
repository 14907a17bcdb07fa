// Package place is what content agrees on: how addresses, languages and days
// are written, and what an item must know of its site.
package place

import (
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"assent/domain"
	"assent/domain/action"
)

// Site is what an item must know of the site it is on.
type Site interface {
	Open() bool
	// Foreign is the language tag as an item keeps it: empty for the site's
	// own, whichever that is.
	Foreign(locale string) string
}

// SiteRef names a site among what a decision needs to know.
func SiteRef(handle string) action.Ref { return action.Ref{Category: "site", ID: handle} }

// Open is the site an item goes on, or the refusal to give when there is none.
func Open(known action.Known, handle string) (Site, error) {
	site, ok := action.As[Site](known, SiteRef(handle))
	if !ok || !site.Open() {
		return nil, domain.Refuse("not-found", "There is no site %q. List the sites to find its handle.", Clip(handle))
	}
	return site, nil
}

var (
	slug   = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	locale = regexp.MustCompile(`^[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?$`)
	handle = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
)

// IsSlug says that a word can be one part of an address.
func IsSlug(s string) bool { return len(s) <= 200 && slug.MatchString(s) }

// IsHandle says that a word can name a site.
func IsHandle(s string) bool { return len(s) <= 63 && handle.MatchString(s) }

// IsLocale says that a word is a language tag: language, script, region. A tag
// is the first part of addresses, so it cannot be one that the server keeps.
func IsLocale(s string) bool { return locale.MatchString(s) && !Reserved(s) }

// IsDate says that a day (YYYY-MM-DD) or a time (RFC 3339) is written so that
// it can be read, or not given.
func IsDate(s string) bool {
	if s == "" {
		return true
	}
	if _, err := time.Parse(time.DateOnly, s); err == nil {
		return true
	}
	_, err := time.Parse(time.RFC3339, s)
	return err == nil
}

// reserved are first parts of addresses that a site keeps for itself.
var reserved = map[string]bool{"_assent": true, "feed.xml": true, "preview": true, "api": true}

// Reserved says that an address may not begin with this part.
func Reserved(part string) bool { return reserved[part] }

// Clean is a path as it is claimed and served: one leading slash, none at the
// end, percent-decoded once, valid UTF-8 in the composed spelling (NFC), so that
// two spellings of one word are one address. It is false for what cannot be an
// address.
func Clean(path string) (string, bool) {
	decoded, err := url.PathUnescape(path)
	switch {
	case err != nil || !strings.HasPrefix(decoded, "/") || len(decoded) > 1024 || !utf8.ValidString(decoded):
		return "", false
	case decoded == "/":
		return decoded, true
	}
	decoded = norm.NFC.String(strings.TrimSuffix(decoded, "/"))
	if strings.ContainsFunc(decoded, unfit) || strings.ContainsAny(decoded, `?#\%`) {
		return "", false
	}
	parts := strings.Split(strings.TrimPrefix(decoded, "/"), "/")
	for _, p := range parts {
		if p == "" || p == "." || p == ".." {
			return "", false
		}
	}
	return decoded, !Reserved(parts[0])
}

// unfit are characters that people cannot see or type: control characters,
// spaces, and those that turn the reading direction.
func unfit(r rune) bool {
	return unicode.IsControl(r) || unicode.IsSpace(r) || unicode.Is(unicode.Cf, r)
}

// Clip shortens foreign text before it goes into a sentence.
func Clip(s string) string {
	if len(s) > 60 {
		return strings.ToValidUTF8(s[:60], "") + "…"
	}
	return s
}
