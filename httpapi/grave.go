package httpapi

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"assent/domain"
	"assent/domain/proposal"
	"assent/httpapi/card"
)

// provenFor is how long showing the password counts.
const provenFor = 5 * time.Minute

// graveCauses are what a yes to weighs heavily, whatever it changes.
var graveCauses = map[string]bool{"destructive": true, "irreversible": true, "many": true, "gate": true, "outside-content": true}

// grave says that a yes to a proposal asks for a person who showed a moment ago
// that it is they: something goes, or nothing takes it back, or its cause says
// so. Nobody says such a yes from a list.
func grave(p Proposal, takenBack bool) bool {
	return p.Counts.Removed > 0 || !takenBack || graveCauses[p.Cause]
}

func (s *Server) proven(who caller) bool { return s.now().Sub(who.proved) <= provenFor }

// unproven is the refusal of a grave yes by somebody who signed in a while ago.
var unproven = domain.Refuse("sign-in-again", "This weighs heavily, and you signed in a while ago. Say your password once more with it.")

// proves sees that whoever says a grave yes is who they are.
func (s *Server) proves(r *http.Request, who caller, id, password string) error {
	p, err := s.queries.Proposal(r.Context(), who.workspace, id)
	if err != nil || p.State != proposal.Waiting {
		return nil // the desk says what is wrong with it
	}
	if !grave(p, s.cardOf(p).TakeBack) || s.proven(who) {
		return nil
	}
	if password == "" {
		return unproven
	}
	return s.showPassword(r, who, password)
}

// showPassword has somebody who is signed in show that it is they.
func (s *Server) showPassword(r *http.Request, who caller, password string) error {
	if len(password) > maxPassword {
		return unknownPassword
	}
	if err := s.door.knock(r, "proof "+who.person.ID(), s.now()); err != nil {
		return err
	}
	err := s.accounts.Prove(r.Context(), s.cookie(r), password)
	if isRefusal(err) {
		return unknownPassword
	}
	if err == nil {
		s.door.welcome(r, "proof "+who.person.ID())
	}
	return err
}

var unknownPassword = domain.Refuse("sign-in-again", "This is not your password. Check it and try again.")

// retyped is what a person types before something goes: its name, where a
// single thing goes and has one, and how many where there are more.
func retyped(changes []card.Change) (name string) {
	for _, c := range changes {
		if c.Verb != domain.Removed {
			continue
		}
		if name != "" {
			return "remove them all"
		}
		if name = card.Plain(200, c.Title); name == "" {
			name = c.ID
		}
	}
	return name
}

// meant sees that a form's yes is one that the person meant and may say.
func (s *Server) meant(r *http.Request, who caller, id string, in url.Values) error {
	p, err := s.queries.Proposal(r.Context(), who.workspace, id)
	if err != nil {
		return err
	}
	if p.State == proposal.Waiting && (p.Counts.Removed > 0 || in.Has("retyped")) && !same(in.Get("retyped"), in.Get("retype")) {
		return domain.Refuse("invalid", "What you typed is not its name. Type it as it is shown, or go back.")
	}
	return s.proves(r, who, id, in.Get("password"))
}

// askAgain shows the page again on which a yes was not meant so.
func (s *Server) askAgain(w http.ResponseWriter, r *http.Request, who caller, id string, err error) error {
	p, broken := s.proposal(r.Context(), who.workspace, id)
	if broken != nil {
		return broken
	}
	f, broken := s.framed(r, who, "inbox", "Approve?", s.asked(s.cardOf(p), who))
	if broken != nil {
		return broken
	}
	return s.again(w, r, err, "approve.html", f)
}

// same compares what was typed with what was shown, as people do.
func same(a, b string) bool {
	plain := func(t string) string { return strings.Join(strings.Fields(norm.NFKC.String(strings.ToLower(t))), " ") }
	return plain(a) == plain(b)
}
