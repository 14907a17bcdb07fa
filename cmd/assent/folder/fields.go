package folder

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// fields is front matter as read. What a rule uses it takes out, so that what
// is left is the meta.
type fields map[string]any

// text takes the first of the names that holds a text. Blank ones before it
// go as well; what is after it, or is no text, stays.
func (f fields) text(names ...string) string {
	for _, name := range names {
		s, ok := textOf(f[name])
		if !ok && f[name] != nil {
			continue
		}
		delete(f, name)
		if s = strings.TrimSpace(s); s != "" {
			return s
		}
	}
	return ""
}

// says tells whether a field holds a text or a list with anything in it.
func (f fields) says(name string) bool {
	if list, ok := f[name].([]any); ok {
		return len(list) > 0
	}
	s, ok := f[name].(string)
	return ok && strings.TrimSpace(s) != ""
}

// textOf gives the text of a plain value.
func textOf(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		return formatFloat(v), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}

// tags takes the tags: a list, or a text split at its commas or, without
// one, at its spaces. Tags in another form stay in the meta.
func (f fields) tags() []string {
	switch v := f["tags"].(type) {
	case nil:
	case []any:
		tags, all := texts(v)
		if !all {
			return nil
		}
		delete(f, "tags")
		return distinct(tags)
	default:
		s, ok := textOf(v)
		if !ok {
			return nil
		}
		delete(f, "tags")
		if strings.Contains(s, ",") {
			return distinct(strings.Split(s, ","))
		}
		return distinct(strings.Fields(s))
	}
	delete(f, "tags")
	return nil
}

// texts gives the texts of a list, and whether it holds nothing else.
func texts(list []any) (out []string, all bool) {
	for _, v := range list {
		s, ok := textOf(v)
		if !ok && v != nil {
			return nil, false
		}
		out = append(out, s)
	}
	return out, true
}

// authors takes the first of authors and author that names somebody: a text,
// a map with a name, or a list of these. A text is one author, since a comma
// may be part of a name. Maps that say more than a name stay in the meta too.
func (f fields) authors() []string {
	for _, field := range []string{"authors", "author"} {
		list, isList := f[field].([]any)
		if !isList {
			list = []any{f[field]}
		}
		var names []string
		keep := false
		for _, v := range list {
			m, isMap := v.(map[string]any)
			if isMap {
				keep = keep || len(m) != 1 || m["name"] == nil
				v = m["name"]
			}
			name, ok := textOf(v)
			keep = keep || !ok && v != nil
			names = append(names, name)
		}
		names = distinct(names)
		if !keep {
			delete(f, field)
		}
		if len(names) > 0 {
			return names
		}
	}
	return nil
}

// distinct trims, and drops what is empty or was there before.
func distinct(list []string) []string {
	var out []string
	for _, s := range list {
		if s = oneLine(s); s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// date takes the date if it can be read, else answers with the day in the
// file's name and leaves what was written in the meta.
func (f fields) date(day string) string {
	written, ok := textOf(f["date"])
	if !ok {
		if f["date"] == nil {
			delete(f, "date")
		}
		return day
	}
	date, ok := readDate(written)
	if !ok {
		return day
	}
	delete(f, "date")
	return date
}

var localeTag = regexp.MustCompile(`^[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*$`)

// locale takes the locale a file names, else the one in its name. The site's
// own locale is "".
func (f fields) locale(fromName, siteLocale string) string {
	locale := fromName
	for _, field := range []string{"locale", "lang"} {
		if s, ok := f[field].(string); ok && localeTag.MatchString(s) {
			locale = cleanLocale(s)
			delete(f, field)
			break
		}
	}
	if strings.EqualFold(locale, siteLocale) {
		return ""
	}
	return locale
}

// cleanLocale spells a locale with hyphens and its language in lower case.
func cleanLocale(s string) string {
	language, rest, more := strings.Cut(strings.ReplaceAll(s, "_", "-"), "-")
	if !more {
		return strings.ToLower(language)
	}
	return strings.ToLower(language) + "-" + rest
}

// languages are the two-letter codes of ISO 639-1: about.fr.md is about.md in
// French, but node.js.md is not in any language.
const languages = " aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz " +
	"ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu " +
	"ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd " +
	"ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st " +
	"su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu "

// cutLocale splits a suffix such as .fr or .pt-br off a file's stem.
func cutLocale(stem string) (rest, locale string) {
	i := strings.LastIndexByte(stem, '.')
	if i <= 0 || !localeTag.MatchString(stem[i+1:]) {
		return stem, ""
	}
	locale = cleanLocale(stem[i+1:])
	language, _, _ := strings.Cut(locale, "-")
	if len(language) != 2 || !strings.Contains(languages, " "+language+" ") {
		return stem, ""
	}
	return stem[:i], locale
}

// paginates says whether a file makes a page for every so many of a list.
func (f fields) paginates() bool {
	switch v := f["pagination"].(type) {
	case map[string]any:
		return v["enabled"] != false
	case bool:
		return v
	}
	return false
}
