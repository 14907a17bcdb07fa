package checkpoint

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// Key signs the heads of one log.
type Key struct {
	signer   note.Signer
	verifier note.Verifier
	public   string
}

// OpenKey reads the key in the file at path. Where there is none the error is
// fs.ErrNotExist.
func OpenKey(path string) (*Key, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	k, err := parseKey(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, fmt.Errorf("the key in %s cannot be read: put the right file back", path)
	}
	return k, nil
}

// MakeKey makes a key under a name of its own and puts it into a file at path,
// for its owner only and never over another (fs.ErrExist).
func MakeKey(path string) (*Key, error) {
	id := make([]byte, 8)
	if _, err := rand.Read(id); err != nil {
		return nil, err
	}
	text, _, err := note.GenerateKey(rand.Reader, "assent.chain/"+hex.EncodeToString(id))
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("make the key that signs heads: %w", err)
	}
	_, err = f.WriteString(text + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return nil, errors.Join(err, os.Remove(path)) // half a key helps nobody
	}
	return parseKey(text)
}

// KeyAt is the key in the file at path, which is made if it is not there.
func KeyAt(path string) (*Key, error) {
	k, err := OpenKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		k, err = MakeKey(path)
	}
	if errors.Is(err, fs.ErrExist) { // somebody else was faster
		k, err = OpenKey(path)
	}
	return k, err
}

// parseKey reads a key as package note writes it: PRIVATE+KEY+name+id+key, the
// last being the algorithm's number and the seed, in base64.
func parseKey(text string) (*Key, error) {
	signer, err := note.NewSigner(text)
	if err != nil {
		return nil, err
	}
	parts := strings.SplitN(text, "+", 5)
	raw, err := base64.StdEncoding.DecodeString(parts[len(parts)-1])
	if err != nil || len(raw) != 1+ed25519.SeedSize {
		return nil, errors.New("it holds no ed25519 seed")
	}
	public, err := note.NewEd25519VerifierKey(signer.Name(), ed25519.NewKeyFromSeed(raw[1:]).Public().(ed25519.PublicKey))
	if err != nil {
		return nil, err
	}
	verifier, err := note.NewVerifier(public)
	if err != nil {
		return nil, err
	}
	return &Key{signer, verifier, public}, nil
}

// Origin is the name of the key, and of the log whose heads it signs.
func (k *Key) Origin() string { return k.signer.Name() }

// Verifier is what others check heads with, as text: `name+id+key`.
func (k *Key) Verifier() string { return k.public }

// Sign makes a signed head of the key's own log.
func (k *Key) Sign(h Head) ([]byte, error) {
	h.Origin = k.Origin()
	return note.Sign(&note.Note{Text: h.text()}, k.signer)
}

// Verifiers finds this key.
func (k *Key) Verifiers() note.Verifiers { return note.VerifierList(k.verifier) }

// Trust reads verifier keys as Verifier writes them.
func Trust(keys ...string) (note.Verifiers, error) {
	var list []note.Verifier
	for _, key := range keys {
		v, err := note.NewVerifier(strings.TrimSpace(key))
		if err != nil {
			return nil, errors.New("this is not a verifier key, such as `assent log head --json` prints") // it may be the one that signs
		}
		list = append(list, v)
	}
	return note.VerifierList(list...), nil
}
