package render

import (
	"net/url"
	"strings"
)

// targetKind says where a link leads.
type targetKind int

const (
	toSite      targetKind = iota // an address on the site being shown
	toFragment                    // elsewhere on the same page
	toWeb                         // another site
	toElsewhere                   // mail, telephone
)

// target is a link's destination, ready to be escaped into an attribute.
type target struct {
	url  string
	kind targetKind
}

// at gives the URL of a decoded address on the site.
func (v View) at(address string) string {
	return v.Base + cleanPath((&url.URL{Path: address}).EscapedPath())
}

// rel gives the rel attribute for a link of a kind. A preview is not yet
// anybody's word, so it vouches for nothing it links to.
func (v View) rel(k targetKind) string {
	switch {
	case k != toWeb:
		return ""
	case v.Preview != nil:
		return "noopener nofollow ugc"
	default:
		return "noopener"
	}
}

// resolve turns a reference found at the decoded address from into a URL that
// stays under base, the way a browser would but without letting any run of
// "..", however spelled, climb out. It reports false for what cannot be a
// link: unreadable URLs, schemes that run or embed something, and references
// that still hold template text.
func resolve(base, from, ref string) (target, bool) {
	ref = strings.TrimSpace(ref)
	if strings.Contains(ref, "{{") || strings.Contains(ref, "{%") {
		return target{}, false
	}
	u, err := url.Parse(ref)
	if err != nil {
		return target{}, false
	}
	switch strings.ToLower(u.Scheme) {
	case "":
	case "http", "https":
		return target{u.String(), toWeb}, u.Host != ""
	case "mailto", "tel":
		return target{u.String(), toElsewhere}, true
	default:
		return target{}, false
	}
	if u.Host != "" {
		return target{u.String(), toWeb}, true
	}

	tail := ""
	if u.RawQuery != "" {
		tail = "?" + u.RawQuery
	}
	if u.Fragment != "" {
		tail += "#" + u.EscapedFragment()
	}
	path := u.EscapedPath()
	switch {
	case path == "" && u.RawQuery == "":
		return target{"#" + u.EscapedFragment(), toFragment}, true
	case path == "":
		path = (&url.URL{Path: from}).EscapedPath()
	case path[0] != '/':
		dir := (&url.URL{Path: from}).EscapedPath()
		path = dir[:strings.LastIndexByte(dir, '/')+1] + path
	}
	return target{base + cleanPath(path) + tail, toSite}, true
}

// cleanPath resolves the dot segments of an escaped path and drops empty ones,
// so that the result starts with exactly one slash. Browsers treat "%2e" as a
// dot here, so it does too.
func cleanPath(escaped string) string {
	var kept []string
	trailing := true
	for seg := range strings.SplitSeq(escaped, "/") {
		trailing = true
		switch strings.ReplaceAll(strings.ToLower(seg), "%2e", ".") {
		case "", ".":
		case "..":
			kept = kept[:max(0, len(kept)-1)]
		default:
			kept = append(kept, seg)
			trailing = false
		}
	}
	if len(kept) == 0 {
		return "/"
	}
	path := "/" + strings.Join(kept, "/")
	if trailing {
		path += "/"
	}
	return path
}
