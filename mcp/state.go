package mcp

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"assent/commands"
	"assent/domain"
	"assent/domain/action"
)

// claim is what a state says that a client carries from one try of a call to
// the next. It names things and lifts nothing: whoever shows one may still do
// exactly what they may do.
type claim struct {
	Purpose   string    `json:"for"`
	Workspace string    `json:"ws"`
	Principal string    `json:"who"`
	Action    string    `json:"do"`
	Args      string    `json:"args"` // a digest of their one spelling
	Proposal  string    `json:"prop"`
	Until     time.Time `json:"until"`
}

// forWaiting is the purpose of a state that names the proposal a call became.
const forWaiting = "wait"

// waitingClaim is what a call's state must say, but for the proposal and the
// time. Another spelling of the same arguments is the same call; another key of
// the same agent is the same caller.
func waitingClaim(c commands.Call) claim {
	return claim{Purpose: forWaiting, Workspace: c.Workspace, Principal: c.Principal.String(), Action: c.Action, Args: digest(c.Args)}
}

func digest(args json.RawMessage) string {
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	if plain, err := action.Canonical(args); err == nil {
		args = plain
	}
	sum := sha256.Sum256(args)
	return hex.EncodeToString(sum[:16])
}

// states signs claims and reads them back. Doors with the same secret read each
// other's.
type states struct{ key []byte }

// newStates uses a secret that is shared by all instances, or one of its own
// when there is none to share.
func newStates(secret []byte) (states, error) {
	if len(secret) == 0 {
		secret = make([]byte, sha256.Size)
		if _, err := rand.Read(secret); err != nil {
			return states{}, err
		}
	}
	key, err := hkdf.Key(sha256.New, secret, nil, "assent/mcp/state", sha256.Size)
	if err != nil {
		return states{}, fmt.Errorf("derive the key of states: %w", err)
	}
	return states{key}, nil
}

// maxState is far above the length of a state in bytes.
const maxState = 4 << 10

// plain64 has one spelling for each text, so a state cannot be bent and still
// be read.
var plain64 = base64.RawURLEncoding.Strict()

func (s states) seal(c claim) string {
	text, err := json.Marshal(c)
	if err != nil {
		panic(err) // texts and a time only
	}
	body := plain64.EncodeToString(text)
	return body + "." + plain64.EncodeToString(s.mac(body))
}

// open reads a state that was given for exactly this: want is all of it but the
// proposal and the time. The refusal does not say what was wrong with one that
// was tampered with or belongs to somebody else.
func (s states) open(state string, want claim, now time.Time) (claim, *domain.Refusal) {
	body, mac, _ := strings.Cut(state, ".")
	given, err := plain64.DecodeString(mac)
	if len(state) > maxState || err != nil || !hmac.Equal(given, s.mac(body)) {
		return claim{}, foreignState
	}
	text, err := plain64.DecodeString(body)
	if err != nil {
		return claim{}, foreignState
	}
	var c claim
	if err := json.Unmarshal(text, &c); err != nil {
		return claim{}, foreignState
	}
	want.Proposal, want.Until = c.Proposal, c.Until
	switch {
	case c != want:
		return claim{}, foreignState
	case !now.Before(c.Until):
		return claim{}, domain.Refuse("expired", "What this went on with is over. `proposal_get` says what became of it; ask again without `requestState` for a new one.")
	}
	return c, nil
}

var foreignState = domain.Refuse("invalid", "This `requestState` was not given for this call. Send back what you were given, with the same arguments, or ask again without it.")

func (s states) mac(body string) []byte {
	m := hmac.New(sha256.New, s.key)
	m.Write([]byte(body))
	return m.Sum(nil)
}
