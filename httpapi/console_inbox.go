package httpapi

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"

	"github.com/go-chi/chi/v5"

	"assent/commands"
	"assent/domain"
	"assent/domain/proposal"
	"assent/httpapi/card"
)

// inbox is the queue beside one card.
type inbox struct {
	Queue     []queued
	Decided   bool // the queue is of decided ones
	Card      *cardView
	HasAgents bool
	Ending    []endingKey
}

// queued is a proposal in a line.
type queued struct {
	Proposal
	Asker, Behind, Decider string
	Current                bool
}

// cardView is a proposal as people decide on it, in the order of the facts:
// what, how much, can it be taken back; who, and why it waits; its own words.
type cardView struct {
	Proposal
	Asker, Behind, Decider string
	Agent                  bool
	What                   []card.Change
	TakeBack               bool
	Size                   string
	Why                    string
	Digest                 string // of what is shown: what a yes says yes to
	Past                   bool   // shown beside a newer one: nothing to decide here
	Declines               []declineReason
	Parts                  []partView // of several calls
	Prove                  bool       // a yes wants the password once more
	Retype                 string     // what a yes asks to be typed; empty for nothing
}

// partView is one part of several, with its own share of what changes.
type partView struct {
	Number int
	Title  string // of its action
	Needs  []int  // parts that it falls without
	What   []card.Change
}

// partsOf are the parts of a proposal of several calls; none of one.
func (s *Server) partsOf(p Proposal, changes []domain.Change) (parts []partView) {
	if len(p.Calls) == 0 || len(p.Calls) == 1 && (len(changes) == 0 || changes[0].Part == 0) {
		return nil
	}
	for _, c := range p.Calls {
		v := partView{Number: c.Part, Title: c.Action, Needs: c.Needs}
		if a, known := s.registry.Find(c.Action); known {
			v.Title = a.Title
		}
		var own []domain.Change
		for _, change := range changes {
			if change.Part == c.Part {
				own = append(own, change)
			}
		}
		v.What = card.Of(own)
		parts = append(parts, v)
	}
	return parts
}

// declineReason is a code an agent can act on, and how people read it.
type declineReason struct{ Code, Label string }

var declineReasons = []declineReason{
	{"needs-work", "It needs work"},
	{"wrong-content", "The content is wrong"},
	{"not-now", "Not now"},
	{"not-wanted", "Not wanted"},
	{"other", "Something else"},
}

// Mark is the beginning of the digest, for people to compare by eye.
func (v *cardView) Mark() string { return v.Digest[:min(12, len(v.Digest))] }

func (s *Server) cardOf(p Proposal) *cardView {
	v := &cardView{
		Proposal: p, What: card.Of(p.Changes), Size: sizeOf(p.Counts), Digest: p.Digest, Declines: declineReasons,
		Agent: p.Principal.IsAgent(), Asker: nameIn(p.Names, p.Principal.ID), Behind: nameIn(p.Names, p.Person), Decider: nameIn(p.Names, p.DecidedBy),
		TakeBack: true,
	}
	for _, c := range p.Calls {
		if a, known := s.registry.Find(c.Action); !known || a.Final {
			v.TakeBack = false
		}
	}
	v.Parts = s.partsOf(p, p.Changes)
	if p.Verdict != nil {
		v.Why = p.Verdict.Reason
	}
	v.Why = cmp.Or(v.Why, causes[p.Cause], "A person decides about this.")
	return v
}

// causes says the cause of a hold in a sentence.
var causes = map[string]string{
	"tool":        "Publishing waits for a person.",
	"destructive": "It takes something away, so a person decides.",
	"skill":       "The skill in use asks for a person here.",
	"manual-mode": "In manual mode a person decides about every change.",
	"plan":        "It was filed as a plan, for a person to decide.",
	"many":        "The agent has changed many things in a short time.",
	"gate":        "An agent can only ever ask for this.",

	"project-rule":    "The rules here want a person for this.",
	"outside-content": "It was asked for under the influence of content from outside.",
}

func nameIn(names map[string]string, id string) string { return cmp.Or(names[id], id) }

func sizeOf(n proposal.Counts) string {
	var text string
	for _, part := range []struct {
		n    int
		what string
	}{{n.Added, "added"}, {n.Edited, "edited"}, {n.Removed, "removed"}} {
		if part.n == 0 {
			continue
		}
		if text != "" {
			text += ", "
		}
		text += count(part.n, "thing", "things") + " " + part.what
	}
	return cmp.Or(text, "nothing")
}

func (s *Server) inboxPage(w http.ResponseWriter, r *http.Request, who caller) error {
	ctx, q := r.Context(), r.URL.Query()
	v := inbox{Decided: q.Get("show") == "decided"}
	states := []proposal.Status{proposal.Waiting}
	if v.Decided {
		states = decided
	}
	all, names, err := s.proposals(ctx, who.workspace, states...)
	if err != nil {
		return err
	}
	chosen := q.Get("p")
	if chosen == "" && len(all) > 0 {
		chosen = all[0].ID
	}
	for _, p := range all {
		v.Queue = append(v.Queue, queued{p, nameIn(names, p.Principal.ID), nameIn(names, p.Person), nameIn(names, p.DecidedBy), p.ID == chosen})
	}
	if chosen != "" {
		p, err := s.proposal(ctx, who.workspace, chosen)
		if err != nil {
			return err
		}
		v.Card = s.cardOf(p)
	} else if agents, err := s.queries.Agents(ctx, who.workspace); err != nil {
		return err
	} else {
		v.HasAgents = len(agents) > 0
	}
	if v.Ending, err = s.endingKeys(r, who); err != nil {
		return err
	}
	return s.view(w, r, who, "inbox", "Inbox", "inbox.html", v)
}

// decisionView is one proposal's page: its card, and beside it the card as it
// is now where that reads differently from what was shown.
type decisionView struct {
	Card, Now *cardView
}

func (s *Server) proposalPage(w http.ResponseWriter, r *http.Request, who caller) error {
	p, err := s.proposal(r.Context(), who.workspace, chi.URLParam(r, "proposal"))
	if err != nil {
		return err
	}
	return s.view(w, r, who, "inbox", card.Plain(120, p.Headline), "proposal.html", decisionView{Card: s.cardOf(p)})
}

// approvePage asks once more, with all of it on the page.
func (s *Server) approvePage(w http.ResponseWriter, r *http.Request, who caller) error {
	p, err := s.proposal(r.Context(), who.workspace, chi.URLParam(r, "proposal"))
	if err != nil {
		return err
	}
	if p.State != proposal.Waiting {
		http.Redirect(w, r, "/proposals/"+p.ID, http.StatusSeeOther)
		return nil
	}
	return s.view(w, r, who, "inbox", "Approve?", "approve.html", s.asked(s.cardOf(p), who))
}

// asked is a card with what a yes to it asks of a person first.
func (s *Server) asked(v *cardView, who caller) *cardView {
	v.Prove = grave(v.Proposal, v.TakeBack) && !s.proven(who)
	v.Retype = retyped(v.What)
	return v
}

func (s *Server) approveForm(w http.ResponseWriter, r *http.Request, who caller) error {
	in, err := form(w, r)
	if err != nil {
		return err
	}
	id := chi.URLParam(r, "proposal")
	if in.Get("digest") == "" {
		return domain.Refuse("invalid", "The page did not say what was shown. Open the proposal again.")
	}
	parts, err := partsIn(in)
	if err != nil {
		return err
	}
	if err := s.meant(r, who, id, in); err != nil {
		return s.askAgain(w, r, who, id, err)
	}
	out, err := s.approve(r.Context(), who.person, id, in.Get("digest"), parts...)
	if err != nil {
		return s.undecided(w, r, who, id, err)
	}
	notice := "approved"
	if out.Outcome == commands.Waiting {
		notice = "assented"
	}
	return see(w, r, "/proposals/"+id, notice, out)
}

// partsIn are the parts that a form keeps. One that asks for them and names none
// is not a yes to all of them.
func partsIn(in url.Values) (parts []int, err error) {
	for _, text := range in["part"] {
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, domain.Refuse("invalid", "The page named a part that is not a number. Open the proposal again.")
		}
		parts = append(parts, n)
	}
	if in.Get("parted") != "" && len(parts) == 0 {
		return nil, domain.Refuse("invalid", "Choose the parts to keep. To keep none, decline.")
	}
	return parts, nil
}

func (s *Server) declineForm(w http.ResponseWriter, r *http.Request, who caller) error {
	in, err := form(w, r)
	if err != nil {
		return err
	}
	id := chi.URLParam(r, "proposal")
	out, err := s.decline(r.Context(), who.person, id, in.Get("code"), in.Get("reason"))
	if err != nil {
		return s.undecided(w, r, who, id, err)
	}
	return see(w, r, "/proposals/"+id, "declined", out)
}

// undecided shows a proposal again when a decision on it did not count: who
// was first, or what changed since it was shown.
func (s *Server) undecided(w http.ResponseWriter, r *http.Request, who caller, id string, err error) error {
	problem := s.problemOf(r, err)
	if problem.Status != http.StatusConflict && problem.Status != http.StatusGone && problem.Status != http.StatusBadRequest {
		return problem
	}
	p, err := s.proposal(r.Context(), who.workspace, id)
	if err != nil {
		return err
	}
	v := decisionView{Card: s.cardOf(p)}
	if moved, ok := movedIn(problem); ok {
		v.Card.Past = true
		v.Now = s.cardOf(p)
		v.Now.What, v.Now.Digest, v.Now.Size = card.Of(moved.Now), moved.Digest, sizeOf(proposal.CountsOf(moved.Now))
		v.Now.Clipped, v.Now.Parts = false, s.partsOf(p, moved.Now)
		s.asked(v.Now, who)
	}
	f, err := s.framed(r, who, "inbox", card.Plain(120, p.Headline), v)
	if err != nil {
		return err
	}
	f.Wrong = problem.Detail
	return s.put(w, r, problem.Status, "proposal.html", f)
}

func movedIn(p *Problem) (commands.Moved, bool) {
	if p.Code != "changed-since-shown" || p.Outcome == nil {
		return commands.Moved{}, false
	}
	moved, ok := p.Outcome.Proposal.(commands.Moved)
	return moved, ok
}
