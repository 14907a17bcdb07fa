package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-chi/chi/v5"

	"assent/commands"
	"assent/domain"
	"assent/domain/agent"
	"assent/domain/person"
	"assent/domain/proposal"
	"assent/domain/site"
	"assent/domain/workspace"
)

// maxWords is the most a person's words to an agent may be, in characters.
const maxWords = 500

var declineCode = regexp.MustCompile(`^[a-z][a-z-]{0,39}$`)

// Deciding: the console's forms and the interface both come here.

func (s *Server) approve(ctx context.Context, by domain.Person, id, digest string, parts ...int) (commands.Outcome, error) {
	out, err := s.desk.Approve(ctx, by, id, digest, parts...)
	if err != nil {
		return out, err
	}
	return out, refused(out)
}

func (s *Server) decline(ctx context.Context, by domain.Person, id, code, words string) (commands.Outcome, error) {
	words, err := wordsOf(words)
	switch {
	case err != nil:
		return commands.Outcome{}, err
	case words == "":
		return commands.Outcome{}, domain.Refuse("invalid", "Say why, in a sentence: the agent reads it and can do better.")
	case code != "" && !declineCode.MatchString(code):
		return commands.Outcome{}, domain.Refuse("invalid", "The code is one word of small letters and hyphens, such as needs-work.")
	}
	out, err := s.desk.Decline(ctx, by, id, code, words)
	if err != nil {
		return out, err
	}
	return out, refused(out)
}

func (s *Server) undo(ctx context.Context, by domain.Person, id domain.ID, wish commands.Taking) (commands.Outcome, error) {
	var err error
	if wish.Reason, err = wordsOf(wish.Reason); err != nil {
		return commands.Outcome{}, err
	}
	out, err := s.desk.Undo(ctx, by, id, wish)
	if err != nil {
		return out, err
	}
	return out, refused(out)
}

// wordsOf is a person's words as they are kept: without the space around them,
// and with lines that end as everywhere but in forms.
func wordsOf(text string) (string, error) {
	words := strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
	if n := utf8.RuneCountInString(words); n > maxWords {
		return "", domain.Refuse("invalid", "The reason is %d characters long; at most %d are kept.", n, maxWords)
	}
	return words, nil
}

// proposals lists proposals with the words and names people know them by.
func (s *Server) proposals(ctx context.Context, workspace string, states ...proposal.Status) ([]Proposal, map[string]string, error) {
	all, err := s.queries.Proposals(ctx, workspace, states...)
	if err != nil {
		return nil, nil, err
	}
	names, err := s.namesIn(ctx, workspace, all)
	return all, names, err
}

// namesIn are the names of those who asked for proposals and decided on them.
func (s *Server) namesIn(ctx context.Context, workspace string, all []Proposal) (map[string]string, error) {
	ids := map[string]bool{}
	for _, p := range all {
		ids[p.Principal.ID], ids[p.Person], ids[p.DecidedBy] = true, true, true
	}
	return s.named(ctx, workspace, ids)
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
	rules, err := s.queries.Workspace(ctx, workspace)
	if err != nil {
		return p, err
	}
	p.UndoHours = rules.UndoHours
	if p.Site = siteOf(p); p.Site != "" && p.State == proposal.Waiting {
		if p.Preview, _, _, err = s.signer.Create(workspace, site.PreviewArgs{Site: p.Site, Proposal: id}, s.now()); err != nil {
			return p, err
		}
	}
	if p.State == proposal.Waiting {
		p.Clashes, err = s.clashes(ctx, workspace, p)
	}
	return p, err
}

// mostLooked is how many waiting publishes are looked at for what they change.
const mostLooked = 50

// clashes are the proposals that wait and would change something that this one
// would change: a yes to one is a change under the other.
func (s *Server) clashes(ctx context.Context, workspace string, p Proposal) (list []Clash, err error) {
	waiting, err := s.queries.Proposals(ctx, workspace, proposal.Waiting)
	if err != nil {
		return nil, err
	}
	mine, looked := thingsOf(p), 0
	for _, other := range waiting {
		if other.ID == p.ID {
			continue
		}
		if siteOf(other) != "" && looked < mostLooked { // a list leaves out what a publish would change
			looked++
			if whole, err := s.queries.Proposal(ctx, workspace, other.ID); err == nil { // it may be over by now
				other = whole
			}
		}
		for thing := range thingsOf(other) {
			if mine[thing] {
				list = append(list, Clash{other.ID, other.Headline})
				break
			}
		}
	}
	return list, nil
}

// thingsOf are the things a proposal would change.
func thingsOf(p Proposal) map[string]bool {
	things := map[string]bool{}
	for _, c := range p.Calls {
		if target, err := domain.ParseStream(c.Target); err == nil {
			things[target.Category+"/"+target.ID] = true
		}
	}
	for _, c := range p.Changes {
		things[c.Kind+"/"+c.ID] = true
	}
	return things
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

// decided are the ways a proposal can have ended.
var decided = []proposal.Status{proposal.IsApproved, proposal.IsSettled, proposal.IsDeclined, proposal.IsWithdrawn, proposal.IsExpired}

func (s *Server) getProposals(w http.ResponseWriter, r *http.Request, who caller) error {
	var state string
	part, err := sectionOf(r.URL.Query(), map[string]*string{"state": &state}, nil)
	if err != nil {
		return err
	}
	status := proposal.Status(state)
	if state != "" && status != proposal.Waiting && !slices.Contains(decided, status) {
		return domain.Refuse("invalid", "There is no state %q. There are: waiting, approved, settled, declined, withdrawn, expired.", clip(state, 40))
	}
	page, err := s.queries.ProposalPage(r.Context(), who.workspace, status, part.cursor, part.limit)
	if err != nil {
		return err
	}
	if page.Items == nil {
		page.Items = []Proposal{}
	}
	if page.Names, err = s.namesIn(r.Context(), who.workspace, page.Items); err != nil {
		return err
	}
	return answer(w, http.StatusOK, page)
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
		Digest   string `json:"digest"`
		Parts    []int  `json:"parts"`
		Password string `json:"password"`
	}](w, r)
	if err != nil {
		return err
	}
	if in.Parts != nil && len(in.Parts) == 0 {
		return domain.Refuse("invalid", "Name the parts to keep, or leave `parts` out for all of them. To keep none, decline.")
	}
	if err := s.proves(r, who, chi.URLParam(r, "proposal"), in.Password); err != nil {
		return err
	}
	out, err := s.approve(r.Context(), who.person, chi.URLParam(r, "proposal"), in.Digest, in.Parts...)
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
		Reason    string   `json:"reason"`
		Keep      []string `json:"keep"`
		Take      []string `json:"take"`
		Digest    string   `json:"digest"`
		Late      bool     `json:"late"`
		CommandID string   `json:"command_id"`
	}](w, r)
	if err != nil {
		return err
	}
	out, err := s.undo(r.Context(), who.person, domain.ID(chi.URLParam(r, "action")), commands.Taking{
		Choice: domain.Choice{Keep: in.Keep, Take: in.Take}, Digest: in.Digest, Late: in.Late, Reason: in.Reason, CommandID: in.CommandID,
	})
	if err != nil {
		return err
	}
	return conclude(w, out)
}

// doors are the addresses of what more belongs to than a call: an id that is
// made there, a name, a secret. By itself the action would leave a thing that
// nobody knows or can use.
var doors = map[string]string{
	person.Seat.Name:     "POST /api/v1/people",
	agent.Create.Name:    "POST /api/v1/agents",
	agent.Mint.Name:      "POST /api/v1/agents/{id}/keys",
	workspace.Found.Name: "POST /api/v1/setup",
	person.Erase.Name:    "POST /api/v1/people/{id}/erase",
}

var ownSeat = domain.Refuse("permission", "Nobody ends or changes their own seat, so that no workspace loses its last owner by mistake. Ask another owner to do it.")

// misplaced refuses what a signed-in person cannot ask for as a bare action.
// Agents are not told of doors that are closed to them: the road refuses them,
// and keeps that they asked.
func (s *Server) misplaced(who caller, name string, args json.RawMessage) error {
	a, known := s.registry.Find(name)
	if !known || who.person.IsZero() {
		return nil
	}
	if a.Name == person.Seat.Name || a.Name == person.Unseat.Name {
		cmd, err := a.Parse(args)
		if err == nil && a.Target(cmd.Args) == who.person.ID() {
			return ownSeat
		}
	}
	if door := doors[a.Name]; door != "" {
		return domain.Refuse("invalid", "%s is not asked for here. Use %s.", a.Name, door)
	}
	return nil
}

// postAction takes any action down the road, for a person or an agent.
func (s *Server) postAction(w http.ResponseWriter, r *http.Request, who caller) error {
	args, err := body(w, r)
	if err != nil {
		return err
	}
	name := chi.URLParam(r, "action")
	if err := s.misplaced(who, name, args); err != nil {
		return err
	}
	call, err := who.call(r, name, nil)
	if err != nil {
		return err
	}
	call.Args = args
	out, err := s.road.Do(r.Context(), call)
	if err != nil {
		return err
	}
	err = conclude(w, out)
	if who.keyed.Key != "" {
		err = ownKey(err)
	}
	return err
}
