package vault

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"strings"
)

// An agent's key is `assent_` and 56 letters: 256 random bits and the first 24
// bits of their SHA-256. A typo is seen without asking anybody, and programs
// that look for leaked secrets know one when they see it:
//
//	assent_[0-9a-hjkmnp-tv-z]{56}
//
// 35 bytes fill 56 letters exactly, so a key has one spelling.
const (
	keyStart  = "assent_"
	keyRandom = 32
	keySum    = 3
	keyShown  = len(keyStart) + 5 // enough to tell keys apart, too little to guess the rest
)

// keyLetters has no letter that reads like another.
var keyLetters = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

func newKeyText() string {
	var b [keyRandom]byte
	rand.Read(b[:]) // never fails
	return keyText(b)
}

func keyText(b [keyRandom]byte) string {
	sum := sha256.Sum256(b[:])
	return keyStart + keyLetters.EncodeToString(append(b[:], sum[:keySum]...))
}

// WellFormedKey says whether a text can be an agent's key at all. It asks
// nobody: only the vault knows whether there is such a key.
func WellFormedKey(secret string) bool {
	text, ok := strings.CutPrefix(secret, keyStart)
	if !ok || len(text) != keyLetters.EncodedLen(keyRandom+keySum) {
		return false
	}
	// The decoder skips line breaks; then it has too few letters left.
	b, err := keyLetters.DecodeString(text)
	if err != nil || len(b) != keyRandom+keySum {
		return false
	}
	sum := sha256.Sum256(b[:keyRandom])
	return string(sum[:keySum]) == string(b[keyRandom:])
}
