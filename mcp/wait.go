package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"assent/commands"
	"assent/domain"
	"assent/domain/action"
	"assent/domain/proposal"
)

// patience is how long a door waits. A call that waits for a person waits
// itself: for the dialog in the person's client to be answered, and then for the
// decision. What is longer meets the time-outs of clients.
type patience struct {
	dialog, decision time.Duration
	beat             time.Duration // between two words on how it goes
	body             time.Duration // for a message to arrive
}

var usualPatience = patience{dialog: 25 * time.Second, decision: 20 * time.Second, beat: 2 * time.Second, body: 30 * time.Second}

// decide is the name under which a person is asked to open a proposal's page.
const decide = "decide"

// waiting goes on with a call that became a proposal: when the client can show
// its person a page, that is where the proposal is decided on. Nothing that
// comes back from a client is a decision; a person who signed in makes it there.
func (d *Door) waiting(ctx context.Context, a *action.Action, req *sdk.CallToolRequest, c commands.Call, out commands.Outcome) *toolResult {
	held := heldOf(out.Proposal)
	undecided := held.State == "" || held.State == string(proposal.Waiting)
	switch {
	case out.Outcome != commands.Waiting || !undecided || !opensPages(req) || !isPage(held.URL):
		return d.result(ctx, a, c, out)
	case isNewAge(req):
		return d.ask(a, c, held)
	}
	return d.dialog(ctx, a, req, c, held)
}

// opensPages says that the client told it can show its person a page. One that
// only said that it can ask something can show forms and no pages.
func opensPages(req *sdk.CallToolRequest) bool {
	can := req.ClientCapabilities()
	return can != nil && can.Elicitation != nil && can.Elicitation.URL != nil && req.ProtocolVersion() >= lastHandshake
}

func isPage(url string) bool {
	return strings.HasPrefix(url, "http://") || strings.HasPrefix(url, "https://")
}

func isNewAge(req *sdk.CallToolRequest) bool { return req.ProtocolVersion() >= modern }

// page is how a person is asked to open a proposal.
func page(a *action.Action, held commands.Held) *sdk.ElicitParams {
	return &sdk.ElicitParams{
		Mode:    "url",
		Message: fmt.Sprintf("“%s” waits for a person (%s). Open the page to see what would change, and say yes or no there.", a.Title, held.ID),
		URL:     held.URL,
	}
}

// ask answers a client of the new age: it asks its person and sends the call
// again, with a state that names the proposal.
func (d *Door) ask(a *action.Action, c commands.Call, held commands.Held) *toolResult {
	state := waitingClaim(c)
	state.Proposal, state.Until = held.ID, held.Expires
	return &toolResult{
		ResultType:    "input_required",
		InputRequests: sdk.InputRequestMap{decide: page(a, held)},
		RequestState:  d.states.seal(state),
	}
}

// resume goes on with a call that was sent again. It never asks for the same
// thing anew: the proposal is there, and the state says which.
func (d *Door) resume(ctx context.Context, a *action.Action, req *sdk.CallToolRequest, c commands.Call) (*toolResult, error) {
	state, no := d.states.open(req.Params.RequestState, waitingClaim(c), d.now())
	if no != nil {
		d.turnedAway(ctx, c, no)
		return nil, refusedMessage(no)
	}
	answers := make(chan string, 1)
	answer, answered := req.Params.InputResponses[decide].(*sdk.ElicitResult)
	if answered {
		answers <- answer.Action
	} else { // asked again, unless it is decided by now
		answers <- ""
	}
	s, said, err := d.await(ctx, req, c, state.Proposal, answers)
	switch {
	case err != nil:
		return d.fault(ctx, a, c, err), nil
	case s.no == nil && s.open() && !answered && opensPages(req):
		return d.ask(a, c, s.held()), nil
	}
	return d.became(ctx, a, c, s, said), nil
}

// dialog asks the person of a client that shook hands while its call waits.
func (d *Door) dialog(ctx context.Context, a *action.Action, req *sdk.CallToolRequest, c commands.Call, held commands.Held) *toolResult {
	asking, stop := context.WithCancel(ctx)
	defer stop()
	answers := make(chan string, 1)
	go func() {
		p := page(a, held)
		p.ElicitationID = held.ID // by which it is told that it is over
		res, err := req.Session.Elicit(asking, p)
		if err != nil {
			answers <- "cancel" // it said it could, and could not: nobody was asked
			return
		}
		answers <- res.Action
	}()
	s, said, err := d.await(ctx, req, c, held.ID, answers)
	if err != nil {
		return d.fault(ctx, a, c, err)
	}
	if !s.open() { // the dialog may be closed; a client that is gone does not mind
		_ = req.Session.NotifyElicitationComplete(ctx, &sdk.ElicitationCompleteParams{ElicitationID: held.ID})
	}
	return d.became(ctx, a, c, s, said)
}

// await waits until a proposal was decided on, for as long as there is somebody
// who looks at it: it gives where the proposal stands and what the client said
// of the dialog. The page is opened when a client says accept; that the person
// said no, or yes, there is for the page to tell.
func (d *Door) await(ctx context.Context, req *sdk.CallToolRequest, c commands.Call, id string, answers <-chan string) (proposed, string, error) {
	rung, done := d.bells.listen(domain.Stream{Category: proposal.Kind.Category, Workspace: c.Workspace, ID: id})
	defer done()
	began, said := time.Now(), ""
	over := time.NewTimer(d.patience.dialog)
	defer over.Stop()
	beat := time.NewTicker(d.patience.beat)
	defer beat.Stop()
	for {
		s, err := d.proposed(ctx, c, id)
		if err != nil || !s.open() {
			return s, said, err
		}
		for looked := false; !looked; {
			select {
			case <-rung:
				looked = true
			case said = <-answers:
				if said != "accept" {
					return s, said, nil
				}
				over.Reset(d.patience.decision)
			case <-beat.C:
				d.tellProgress(ctx, req, time.Since(began))
			case <-over.C:
				s, err := d.proposed(ctx, c, id) // a bell may have been missed
				return s, said, err
			case <-callerOf(ctx).gone:
				return s, said, nil
			case <-d.closing.Done():
				return s, said, nil
			case <-ctx.Done():
				return s, said, ctx.Err()
			}
		}
	}
}

// tellProgress says that a call still waits, to a client that wants to know.
func (d *Door) tellProgress(ctx context.Context, req *sdk.CallToolRequest, waited time.Duration) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return
	}
	_ = req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ // a client that is gone does not mind
		ProgressToken: token,
		Progress:      waited.Seconds(),
		Total:         (d.patience.dialog + d.patience.decision).Seconds(),
		Message:       "A person has yet to decide.",
	})
}

// proposed is where a proposal stands, as far as it is told here.
type proposed struct {
	ID      string          `json:"id"`
	URL     string          `json:"url"`
	State   string          `json:"state"`
	Cause   string          `json:"cause"`
	Expires time.Time       `json:"expires"`
	Code    string          `json:"code"`  // of a decline
	Words   string          `json:"words"` // of whoever declined
	Results []settledPart   `json:"results"`
	Verdict *domain.Verdict `json:"verdict"`

	no *commands.Outcome // the caller may not know, any more
}

type settledPart struct {
	Outcome string    `json:"outcome"`
	Action  domain.ID `json:"action"`
	Code    string    `json:"code"`
	Reason  string    `json:"reason"`
}

// open says that it may yet be decided on or carried out.
func (s proposed) open() bool {
	return s.no == nil && (s.State == string(proposal.Waiting) || s.State == string(proposal.IsApproved))
}

func (s proposed) held() commands.Held {
	return commands.Held{ID: s.ID, URL: s.URL, Cause: s.Cause, Expires: s.Expires, State: s.State}
}

// proposed looks a proposal up as its asker would: a key that was revoked
// meanwhile is told so, and nobody is told of another's.
func (d *Door) proposed(ctx context.Context, c commands.Call, id string) (proposed, error) {
	args, err := json.Marshal(proposal.Which{Proposal: id})
	if err != nil {
		return proposed{}, err
	}
	c.Action, c.Args, c.Skill = proposal.Get.Name, args, ""
	out, err := d.do(ctx, c)
	switch {
	case err != nil:
		return proposed{}, err
	case out.Outcome != commands.Done:
		return proposed{no: &out}, nil
	}
	text, err := json.Marshal(out.Proposal)
	if err != nil {
		return proposed{}, err
	}
	var s proposed
	err = json.Unmarshal(text, &s)
	return s, err
}

// became is what became of a call that waited.
func (d *Door) became(ctx context.Context, a *action.Action, c commands.Call, s proposed, said string) *toolResult {
	if s.no != nil {
		return d.result(ctx, a, c, *s.no)
	}
	held := s.held()
	out := commands.Outcome{Proposal: &held, Verdict: s.Verdict}
	lead := ""
	switch s.State {
	case string(proposal.Waiting), string(proposal.IsApproved):
		out.Outcome = commands.Waiting
		switch said {
		case "decline":
			lead = "Your person did not want to open the page; nothing was decided by that."
		case "cancel":
			lead = "The page was not opened; nothing was decided by that."
		}
	case string(proposal.IsSettled):
		lead = fmt.Sprintf("A person said yes (proposal %s).", s.ID)
		out = s.settled(out)
	case string(proposal.IsDeclined):
		out.Outcome, out.Refusal = commands.Refused, domain.Refuse("declined", "A person said no%s. Do what they say, or ask for something else.", s.why())
	case string(proposal.IsWithdrawn):
		out.Outcome, out.Refusal = commands.Refused, domain.Refuse("withdrawn", "You took it back before a person decided.")
	default:
		out.Outcome, out.Refusal = commands.Refused, domain.Refuse("expired", "Nobody decided in time. It can be asked for again.")
	}
	res := d.result(ctx, a, c, out)
	if lead != "" {
		res.Content[0].Text = lead + "\n" + res.Content[0].Text
	}
	return res
}

// settled is what carrying it out came to. Of several calls each is a part, and
// together they are done if any of them was, else refused if any was.
func (s proposed) settled(out commands.Outcome) commands.Outcome {
	weight := map[string]int{commands.Idle: 1, commands.Refused: 2, commands.Done: 3}
	out.Outcome, out.Verdict = commands.Idle, nil
	for _, p := range s.Results {
		part := commands.Outcome{Outcome: p.Outcome, Action: p.Action}
		if p.Code != "" || p.Outcome == commands.Refused {
			part.Refusal = domain.Refuse(p.Code, "%s", p.Reason)
		}
		if out.Action == "" && weight[p.Outcome] == weight[out.Outcome] || weight[p.Outcome] > weight[out.Outcome] {
			out.Outcome, out.Action, out.Refusal = part.Outcome, part.Action, part.Refusal
		}
		if len(s.Results) > 1 {
			out.Parts = append(out.Parts, part)
		}
	}
	return out
}

// why is a person's own words, and the short word that programs go by.
func (s proposed) why() string {
	var w strings.Builder
	if s.Words != "" {
		fmt.Fprintf(&w, ": “%s”", inline(s.Words, 2000))
	}
	if s.Code != "" {
		fmt.Fprintf(&w, " (`%s`)", inline(s.Code, 100))
	}
	return w.String()
}
