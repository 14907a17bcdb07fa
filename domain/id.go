package domain

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"
	"time"
)

// ID names an event, an action or a thing: a kind, an underscore and 26
// letters. Ids made by NewID sort by time; ids made by Derive under a
// caller's own command id do not, because asking again must find them.
type ID string

// crockford is the alphabet of ids: no letter that reads like another.
var crockford = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// NewID makes a time-ordered id of a kind from 48 bits of the clock and 80
// random ones.
func NewID(kind string, now time.Time) ID {
	var b [16]byte
	if _, err := rand.Read(b[6:]); err != nil {
		panic(err) // the platform's generator does not fail
	}
	stamp(&b, now)
	return spell(kind, b)
}

// Derive makes the id that belongs to these parts and no others. The same
// parts give the same id for ever, on every log.
func Derive(kind string, parts ...string) ID {
	var b [16]byte
	copy(b[:], digest(parts))
	return spell(kind, b)
}

// DeriveAt is Derive with the clock of the action it derives from in front,
// so that what is made without a command id sorts by time.
func DeriveAt(kind string, action ID, label string) ID {
	clock, timed := action.clock()
	if !timed {
		return Derive(kind, string(action), label)
	}
	var b [16]byte
	copy(b[6:], digest([]string{string(action), label}))
	copy(b[:6], clock[:])
	return spell(kind, b)
}

// Kind is the part before the underscore.
func (id ID) Kind() string {
	kind, _, _ := strings.Cut(string(id), "_")
	return kind
}

// actionTimed and actionNamed are the two kinds of action id: made by us at a
// time, or derived from a caller's command id.
const (
	actionTimed = "act"
	actionNamed = "cmd"
)

// NewAction is the id of an action whose caller gave no command id.
func NewAction(now time.Time) ID { return NewID(actionTimed, now) }

// ActionFor is the id of the action a principal asks for under a command id of
// its own. Asking again gives the same id, and so the first answer.
func ActionFor(workspace, principal, action, commandID string) ID {
	return Derive(actionNamed, workspace, principal, action, commandID)
}

// clock is the time inside an id that has one.
func (id ID) clock() (c [6]byte, timed bool) {
	kind, text, _ := strings.Cut(string(id), "_")
	if kind != actionTimed {
		return c, false
	}
	b, err := crockford.DecodeString(text)
	if err != nil || len(b) < 6 {
		return c, false
	}
	copy(c[:], b)
	return c, true
}

func stamp(b *[16]byte, now time.Time) {
	ms := uint64(now.UnixMilli())
	for i := range 6 {
		b[i] = byte(ms >> (40 - 8*i))
	}
}

func digest(parts []string) []byte {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p) // lengths first: ("ab","c") is not ("a","bc")
	}
	return h.Sum(nil)
}

func spell(kind string, b [16]byte) ID { return ID(kind + "_" + crockford.EncodeToString(b[:])) }
