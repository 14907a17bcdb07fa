// Package checkpoint signs where a log ends, so that whoever keeps a signed
// head can tell later that the log still holds everything up to it.
//
// A signed head is a note as c2sp.org/signed-note has it, signed with ed25519,
// and its text a c2sp.org/tlog-checkpoint: origin, position, and hash in
// base64, a line each.
//
//	assent.chain/3b0f7a52c1de9a44
//	20852
//	CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=
//	SHA-256 hash chain, no Merkle tree
//	recorded 2026-03-14T12:00:00.123456789Z
//
//	— assent.chain/3b0f7a52c1de9a44 Az3grlgtzPICa5OS8npVmf1Myq/5IZni…
//
// The hash is that of a chain (see commands/eventlog/chain), not the root of a
// Merkle tree: there are no short proofs that one head follows from another, so
// witnesses that ask for one cannot co-sign. Whoever has the log can check any
// head against it.
//
// What it proves: with a head, its verifier key and the log, that nothing up to
// the head's position was changed, removed, put in or moved since it was
// signed. What it does not: what was never signed, that is, what came after the
// newest head; and nothing against somebody who has the log, the key and every
// copy of the heads. Send heads where that person cannot reach them.
package checkpoint

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"

	"assent/commands"
	"assent/commands/eventlog/chain"
	"assent/domain"
)

// Head is where a log ended when it was signed.
type Head struct {
	Origin string // whose log it is: the name of the key
	chain.Mark
	At time.Time // recorded-at of the last event; zero for an empty log

	// GaveUp is set where an operator went on from an older copy of the log: the
	// newest head there was, which the log does not hold any more.
	GaveUp chain.Mark
}

// Of is a log's head as it is signed.
func Of(h commands.Head) Head { return Head{Mark: chain.MarkOf(h), At: h.At} }

// The lines after the third.
const (
	kindLine = "SHA-256 hash chain, no Merkle tree"
	atLine   = "recorded "
	gaveLine = "instead of "
)

func (h Head) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%d\n%s\n%s\n", h.Origin, h.Position, base64.StdEncoding.EncodeToString(h.Chain[:]), kindLine)
	if !h.At.IsZero() {
		fmt.Fprintf(&b, "%s%s\n", atLine, h.At.UTC().Format(time.RFC3339Nano))
	}
	if h.GaveUp != (chain.Mark{}) {
		fmt.Fprintf(&b, "%s%s\n", gaveLine, h.GaveUp)
	}
	return b.String()
}

// parse reads what text wrote, and nothing else: what it does not understand it
// does not believe.
func parse(text string) (Head, error) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) < 4 || lines[3] != kindLine {
		return Head{}, fmt.Errorf("it is not the head of a hash chain")
	}
	h := Head{Origin: lines[0]}
	n, err := strconv.ParseInt(lines[1], 10, 64)
	hash, err2 := base64.StdEncoding.DecodeString(lines[2])
	if err != nil || err2 != nil || n < 0 || len(hash) != len(h.Chain) {
		return Head{}, fmt.Errorf("its position or its hash cannot be read")
	}
	h.Position, h.Chain = domain.Position(n), [32]byte(hash)
	for _, line := range lines[4:] {
		if at, ok := strings.CutPrefix(line, atLine); ok {
			h.At, err = time.Parse(time.RFC3339Nano, at)
		} else if mark, ok := strings.CutPrefix(line, gaveLine); ok {
			h.GaveUp, err = chain.ParseMark(mark)
		}
		if err != nil {
			return Head{}, fmt.Errorf("the line %q cannot be read", line)
		}
	}
	if h.text() != text {
		return Head{}, fmt.Errorf("it says what this program does not understand")
	}
	return h, nil
}

// Open reads a signed head. It is to be believed only without an error: one of
// the keys signed it, which is also the one its origin names.
func Open(signed []byte, keys note.Verifiers) (Head, error) {
	n, err := note.Open(signed, keys)
	if err != nil {
		return Head{}, err
	}
	h, err := parse(n.Text)
	if err != nil {
		return Head{}, fmt.Errorf("a signed head at %q: %w", firstLine(n.Text), err)
	}
	for _, s := range n.Sigs {
		if s.Name == h.Origin {
			return h, nil
		}
	}
	return Head{}, fmt.Errorf("a head of %s is signed by another", h.Origin)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
