package folder

import (
	"html"
	"regexp"
	"strings"
)

var (
	htmlHeading = regexp.MustCompile(`(?is)<h([1-6])(?:\s[^>]*)?>(.*?)</h[1-6]>`)
	htmlTitle   = regexp.MustCompile(`(?is)<title(?:\s[^>]*)?>(.*?)</title>`)
	htmlTag     = regexp.MustCompile(`<[/!A-Za-z][^>]*>`)
	hashHeading = regexp.MustCompile(`^ {0,3}#{1,6}[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$`)
	underline   = regexp.MustCompile(`^ {0,3}(?:=+|-{2,})[ \t]*$`)
	headingID   = regexp.MustCompile(`\s*\{[#:.][^}]*\}\s*$`)
	mdLink      = regexp.MustCompile(`!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])`)
	mdMark      = regexp.MustCompile("[*`]+|__+|~~+")
	blockStart  = regexp.MustCompile(`^\s*(?:[-*+>|<]|\d+[.)]|#|\{[%{])`)
)

// firstHeading is the text of the first heading of a body, without its
// markup; "" when there is none, or when it is made by a template.
func firstHeading(body string) string {
	fence, previous := "", ""
	noTags := false
	at := 0
	for at < len(body) {
		line, rest, _ := cutLine(body[at:])
		start := at
		at = len(body) - len(rest)
		trimmed := strings.TrimSpace(line)
		switch {
		case fence != "":
			if strings.HasPrefix(trimmed, fence) && strings.Trim(trimmed, fence[:1]) == "" {
				fence = ""
			}
			continue
		case strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~"):
			fence, previous = trimmed[:3], ""
			continue
		}
		if m := hashHeading.FindStringSubmatch(line); m != nil {
			return bare(m[1])
		}
		if previous != "" && underline.MatchString(line) {
			return bare(previous)
		}
		if !noTags && hasHeadingTag(line) {
			if m := htmlHeading.FindStringSubmatch(body[start:]); m != nil {
				return bare(m[2])
			}
			noTags = true // nor is there one further down
		}
		if previous = trimmed; blockStart.MatchString(line) {
			previous = ""
		}
	}
	if m := htmlTitle.FindStringSubmatch(body); m != nil {
		return bare(m[1])
	}
	return ""
}

func hasHeadingTag(line string) bool {
	i := strings.IndexAny(line, "<")
	for i >= 0 && i+2 < len(line) {
		if (line[i+1] == 'h' || line[i+1] == 'H') && '1' <= line[i+2] && line[i+2] <= '6' {
			return true
		}
		next := strings.IndexByte(line[i+1:], '<')
		if next < 0 {
			return false
		}
		i += 1 + next
	}
	return false
}

// bare takes the markup off a heading.
func bare(s string) string {
	if hasTemplate(s) {
		return ""
	}
	s = headingID.ReplaceAllString(s, "")
	s = mdLink.ReplaceAllString(s, "$1")
	s = htmlTag.ReplaceAllString(s, "")
	s = mdMark.ReplaceAllString(s, "")
	return strings.Join(strings.Fields(html.UnescapeString(s)), " ")
}
