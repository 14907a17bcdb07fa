package httpapi

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"assent/domain"
	"assent/domain/site"
)

// previewLife is how long a preview's address works.
const previewLife = time.Hour

// maxPreview is the longest a preview's address may be: browsers and proxies
// cut longer ones.
const maxPreview = 4 << 10

// Signer makes and opens the addresses of previews. An address says by itself
// what it shows and until when; the signature says that we said so. Nothing is
// stored, and whoever has the address sees that view of that site and nothing
// else.
type Signer struct {
	key  []byte
	base string
}

// NewSigner makes a signer out of the server's secret (32 bytes, the same on
// every instance) and its public address.
func NewSigner(secret []byte, public string) (*Signer, error) {
	if len(secret) < 32 {
		return nil, fmt.Errorf("the server's secret has %d bytes; it needs 32", len(secret))
	}
	k, err := hkdf.Key(sha256.New, secret, nil, "assent preview 1", sha256.Size)
	return &Signer{k, strings.TrimSuffix(public, "/")}, err
}

// shown is what an address carries.
type shown struct {
	Workspace string `json:"w"`
	Site      string `json:"s"`
	View      View   `json:"v"`
	Until     int64  `json:"u"` // seconds since 1970
}

// Create gives the address where a site can be looked at as args say. It is
// refused (limit) for more items than an address can name.
func (s *Signer) Create(workspace string, args site.PreviewArgs, now time.Time) (url, token string, expires time.Time, err error) {
	expires = now.Add(previewLife).UTC().Truncate(time.Second)
	text, err := json.Marshal(shown{workspace, args.Site, View{args.Version, args.Items, args.Proposal}, expires.Unix()})
	if err != nil {
		return "", "", time.Time{}, err
	}
	payload := base64.RawURLEncoding.EncodeToString(text)
	token = payload + "." + s.sign(payload)
	if len(token) > maxPreview {
		return "", "", time.Time{}, domain.Refuse("limit", "These are more items than one address can name. Preview fewer at once, or leave the list out to see everything.")
	}
	return s.base + "/preview/" + token + "/", token, expires, nil
}

func (s *Signer) sign(payload string) string {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(payload))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// open gives what a token of ours shows, if its time is not over.
func (s *Signer) open(token string, now time.Time) (shown, time.Time, error) {
	payload, signature, _ := strings.Cut(token, ".")
	if len(token) > maxPreview || !hmac.Equal([]byte(signature), []byte(s.sign(payload))) {
		return shown{}, time.Time{}, domain.Refuse("not-found", "There is no such preview. Check that the whole address was copied.")
	}
	var what shown
	text, err := base64.RawURLEncoding.DecodeString(payload)
	if err == nil {
		err = json.Unmarshal(text, &what)
	}
	if err != nil {
		return shown{}, time.Time{}, fmt.Errorf("read a signed preview: %w", err)
	}
	until := time.Unix(what.Until, 0).UTC()
	if !now.Before(until) {
		return shown{}, time.Time{}, domain.Refuse("expired", "This preview is over. Ask for a new one.")
	}
	return what, until, nil
}
