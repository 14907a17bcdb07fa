package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"

	"github.com/go-chi/chi/v5"

	"assent/commands"
	"assent/domain"
	"assent/domain/proposal"
	"assent/domain/site"
)

// maxWords is the most a person's words to an agent may be, in bytes.
const maxWords = 500

var declineCode = regexp.MustCompile(`^[a-z][a-z-]{0,39}$`)

// Deciding: the console's forms and the interface both come here.

func (s *Server) approve(ctx context.Context, by domain.Person, id, digest string) (commands.Outcome, error) {
	out, err := s.desk.Approve(ctx, by, id, digest)
	if err != nil {
		return out, err
	}
	return out, refused(out)
}

func (s *Server) decline(ctx context.Context, by domain.Person, id, code, words string) (commands.Outcome, error) {
	words = strings.TrimSpace(words)
	switch {
	case words == "":
		return commands.Outcome{}, domain.Refuse("invalid", "Say why, in a sentence: the agent reads it and can do better.")
	case len(words) > maxWords:
		return commands.Outcome{}, domain.Refuse("invalid", "The reason is %d bytes long; at most %d are kept.", len(words), maxWords)
	case code != "" && !declineCode.MatchString(code):
		return commands.Outcome{}, domain.Refuse("invalid", "The code is one word of small letters and hyphens, such as needs-work.")
	}
	out, err := s.desk.Decline(ctx, by, id, code, words)
	if err != nil {
		return out, err
	}
	return out, refused(out)
}

func (s *Server) undo(ctx context.Context, by domain.Person, id domain.ID, words string) (commands.Outcome, error) {
	if len(words) > maxWords {
		return commands.Outcome{}, domain.Refuse("invalid", "The reason is %d bytes long; at most %d are kept.", len(words), maxWords)
	}
	out, err := s.desk.Undo(ctx, by, id, strings.TrimSpace(words))
	if err != nil {
		return out, err
	}
	return out, refused(out)
}

// proposals lists proposals with the words and names people know them by.
func (s *Server) proposals(ctx context.Context, workspace string, states ...proposal.Status) ([]Proposal, map[string]string, error) {
	all, err := s.queries.Proposals(ctx, workspace, states...)
	if err != nil {
		return nil, nil, err
	}
	ids := map[string]bool{}
	for _, p := range all {
		ids[p.Principal.ID], ids[p.Person], ids[p.DecidedBy] = true, true, true
	}
	names, err := s.named(ctx, workspace, ids)
	return all, names, err
}

// proposal is one proposal in full: names, words, and where to look at it.
func (s *Server) proposal(ctx context.Context, workspace, id string) (Proposal, error) {
	p, err := s.queries.Proposal(ctx, workspace, id)
	if err != nil {
		return p, err
	}
	if p.Names, err = s.named(ctx, workspace, map[string]bool{p.Principal.ID: true, p.Person: true, p.DecidedBy: true}); err != nil {
		return p, err
	}
	if p.Reason, err = s.unsealed(ctx, workspace, p.Sealed); err != nil {
		return p, err
	}
	if p.Words, err = s.unsealed(ctx, workspace, p.SealedWords); err != nil {
		return p, err
	}
	if p.Site = siteOf(p); p.Site != "" && p.State == proposal.Waiting {
		p.Preview, _, _, err = s.signer.Create(workspace, site.PreviewArgs{Site: p.Site, Proposal: id}, s.now())
	}
	return p, err
}

// siteOf is the site a proposal is about, as far as its call says so.
func siteOf(p Proposal) string {
	for _, c := range p.Calls {
		if target, err := domain.ParseStream(c.Target); err == nil && (target.Category == "live" || target.Category == "site") {
			return target.ID
		}
		var args struct {
			Site string `json:"site"`
		}
		if json.Unmarshal(c.Args, &args) == nil && args.Site != "" {
			return args.Site
		}
	}
	return p.Site
}

// unsealed is sealed words in the clear; those of an erased person say so.
func (s *Server) unsealed(ctx context.Context, workspace string, box *domain.Sealed) (string, error) {
	if box == nil {
		return "", nil
	}
	text, there, err := s.accounts.Unseal(ctx, workspace, box)
	if err == nil && !there {
		text = "(erased)"
	}
	return text, err
}

func (s *Server) getProposals(w http.ResponseWriter, r *http.Request, who caller) error {
	var states []proposal.Status
	for _, state := range r.URL.Query()["state"] {
		states = append(states, proposal.Status(state))
	}
	all, names, err := s.proposals(r.Context(), who.workspace, states...)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, struct {
		list[Proposal]
		Names map[string]string `json:"names,omitempty"`
	}{list[Proposal]{all}, names})
}

func (s *Server) getProposal(w http.ResponseWriter, r *http.Request, who caller) error {
	p, err := s.proposal(r.Context(), who.workspace, chi.URLParam(r, "proposal"))
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, p)
}

func (s *Server) postApprove(w http.ResponseWriter, r *http.Request, who caller) error {
	in, err := read[struct {
		Digest string `json:"digest"`
		Parts  []int  `json:"parts"`
	}](w, r)
	if err != nil {
		return err
	}
	if in.Parts != nil {
		return domain.Refuse("unsupported", "A proposal is approved or declined as a whole. Leave `parts` out.")
	}
	out, err := s.approve(r.Context(), who.person, chi.URLParam(r, "proposal"), in.Digest)
	if err != nil {
		return err
	}
	return conclude(w, out)
}

func (s *Server) postDecline(w http.ResponseWriter, r *http.Request, who caller) error {
	in, err := read[struct {
		Reason string `json:"reason"`
		Code   string `json:"code"`
	}](w, r)
	if err != nil {
		return err
	}
	out, err := s.decline(r.Context(), who.person, chi.URLParam(r, "proposal"), in.Code, in.Reason)
	if err != nil {
		return err
	}
	return conclude(w, out)
}

func (s *Server) postUndo(w http.ResponseWriter, r *http.Request, who caller) error {
	in, err := read[struct {
		Reason string `json:"reason"`
	}](w, r)
	if err != nil {
		return err
	}
	out, err := s.undo(r.Context(), who.person, domain.ID(chi.URLParam(r, "action")), in.Reason)
	if err != nil {
		return err
	}
	return conclude(w, out)
}

// postAction takes any action down the road, for a person or an agent.
func (s *Server) postAction(w http.ResponseWriter, r *http.Request, who caller) error {
	args, err := body(w, r)
	if err != nil {
		return err
	}
	call, err := who.call(r, chi.URLParam(r, "action"), nil)
	if err != nil {
		return err
	}
	call.Args = args
	out, err := s.road.Do(r.Context(), call)
	if err != nil {
		return err
	}
	return conclude(w, out)
}
