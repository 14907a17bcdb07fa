package vault

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"assent/domain"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// maxText is the longest name or email, in bytes.
const maxText = 200

// cleanName is a name fit to be shown, without spaces around it.
func cleanName(name string) (string, error) {
	if !utf8.ValidString(name) || strings.ContainsFunc(name, misleading) {
		return "", domain.Refuse("invalid", "A name is one line of plain text.")
	}
	name = strings.TrimSpace(name)
	if name == "" || len(name) > maxText {
		return "", domain.Refuse("invalid", "A name has between 1 and %d bytes.", maxText)
	}
	return name, nil
}

// misleading characters break a line or turn the text after them around, so
// that a name could read as something else.
func misleading(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

// cleanEmail is an email without spaces around it. Whether it exists only a
// message to it can tell.
func cleanEmail(email string) (string, error) {
	email = strings.TrimSpace(email)
	if len(email) > maxText {
		return "", domain.Refuse("invalid", "An email has at most %d bytes.", maxText)
	}
	user, host, _ := cutLast(email, '@')
	if !utf8.ValidString(email) || strings.ContainsFunc(email, unseen) || user == "" || host == "" {
		return "", domain.Refuse("invalid", "That is not an email; write it like name@example.org.")
	}
	return email, nil
}

// unseen characters would make two emails that look the same.
func unseen(r rune) bool {
	return unicode.IsSpace(r) || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// storable texts can be in every kind of database.
func storable(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

func cutLast(s string, sep byte) (before, after string, found bool) {
	if i := strings.LastIndexByte(s, sep); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}

// emailKey is what two spellings of one email share: case folded, and letters
// composed the same way. Folding comes between two normalisations because it
// neither keeps a normal form nor ignores which one it is given.
func emailKey(email string) string {
	return norm.NFC.String(cases.Fold().String(norm.NFD.String(strings.TrimSpace(email))))
}
