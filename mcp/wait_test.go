package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"assent/commands"
	"assent/domain"
)

// office is a road on which publishing waits for a person, and the person.
type office struct {
	*road
	door *Door

	mu     sync.Mutex
	fate   map[string]any // of the one proposal
	looked chan struct{}  // sent on whenever somebody asks what became of it
}

func newOffice(t *testing.T, p patience) (*office, string) {
	t.Helper()
	o := &office{fate: map[string]any{"state": "waiting"}, looked: make(chan struct{}, 100)}
	o.road = &road{answer: o.ask}
	o.door = open(t, o.road, told(editor))
	o.door.patience = p
	return o, serve(t, o.door).URL
}

func (o *office) ask(c commands.Call) (commands.Outcome, error) {
	if c.Action == "site.publish" {
		return commands.Outcome{Outcome: commands.Waiting, Action: "act_1", Proposal: &commands.Held{
			ID: "prop_1", URL: "http://assent.test/proposals/prop_1", Cause: "tool", Expires: time.Now().Add(time.Hour), State: "waiting",
		}}, nil
	}
	if c.Action != "proposal.get" || c.Principal.ID == "agent_b" || string(c.Args) != `{"proposal":"prop_1"}` {
		return refusedBecause("not-found", "You have no such proposal."), nil
	}
	o.mu.Lock()
	fate := map[string]any{"id": "prop_1", "url": "http://assent.test/proposals/prop_1", "cause": "tool", "expires": time.Now().Add(time.Hour)}
	for k, v := range o.fate {
		fate[k] = v
	}
	o.mu.Unlock()
	o.looked <- struct{}{}
	return commands.Outcome{Outcome: commands.Done, Answer: &commands.Answer{}, Proposal: fate}, nil
}

// decide is what a person does on the proposal's page.
func (o *office) decide(fate map[string]any) {
	o.mu.Lock()
	o.fate = fate
	o.mu.Unlock()
	o.door.seen(domain.Stream{Category: "proposal", Workspace: "home", ID: "prop_1"})
}

func (o *office) published() int {
	n := 0
	for _, c := range o.asked() {
		if c.Action == "site.publish" {
			n++
		}
	}
	return n
}

// browser is a client that can show its person a page. What it was asked goes
// to shown, and answer is what the person does with the dialog.
type browser struct {
	shown    chan *sdk.ElicitParams
	progress chan *sdk.ProgressNotificationParams
	*sdk.ClientSession
}

func newBrowser(t *testing.T, url, version string, can *sdk.ElicitationCapabilities, answer func(context.Context) string) browser {
	t.Helper()
	b := browser{shown: make(chan *sdk.ElicitParams, 10), progress: make(chan *sdk.ProgressNotificationParams, 1000)}
	client := sdk.NewClient(&sdk.Implementation{Name: "browser", Version: "1"}, &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{Elicitation: can},
		ElicitationHandler: func(ctx context.Context, req *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			b.shown <- req.Params
			return &sdk.ElicitResult{Action: answer(ctx), Content: map[string]any{"approve": true}}, nil
		},
		ProgressNotificationHandler: func(_ context.Context, req *sdk.ProgressNotificationClientRequest) { b.progress <- req.Params },
	})
	session, err := client.Connect(t.Context(), keyed(url, secret), &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	b.ClientSession = session
	return b
}

func (b browser) publish(t *testing.T) (*sdk.CallToolResult, error) {
	t.Helper()
	p := &sdk.CallToolParams{Name: "site_publish", Arguments: map[string]any{"site": "main"}}
	p.SetProgressToken("p1")
	return b.CallTool(t.Context(), p)
}

func pages() *sdk.ElicitationCapabilities {
	return &sdk.ElicitationCapabilities{URL: &sdk.URLElicitationCapabilities{}}
}

func accept(context.Context) string { return "accept" }

var (
	patient = patience{dialog: time.Minute, decision: time.Minute, beat: time.Millisecond, body: time.Minute}
	hasty   = patience{dialog: time.Minute, decision: time.Millisecond, beat: time.Minute, body: time.Minute}
)

// twoAges are those in which a client can show a page.
func twoAges() []string { return []string{modern, lastHandshake} }

func outcomeOf(t *testing.T, res *sdk.CallToolResult) commands.Outcome {
	t.Helper()
	text, err := json.Marshal(res.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	var out commands.Outcome
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return out
}

func TestACallThatWaitsOpensThePageAndAnswersWithWhatBecameOfIt(t *testing.T) {
	for name, end := range map[string]struct {
		fate          map[string]any
		outcome, code string
		says          []string
	}{
		"approved":   {map[string]any{"state": "settled", "results": []any{map[string]any{"outcome": "done", "action": "act_9"}}}, "done", "", []string{"A person said yes", "act_9"}},
		"and failed": {map[string]any{"state": "settled", "results": []any{map[string]any{"outcome": "refused", "code": "taken", "reason": "It is taken."}}}, "refused", "taken", []string{"A person said yes", "It is taken."}},
		"declined":   {map[string]any{"state": "declined", "code": "not-now", "words": "Wait for Monday."}, "refused", "declined", []string{"Wait for Monday.", "not-now"}},
		"in part": {map[string]any{"state": "settled", "results": []any{
			map[string]any{"part": 1, "outcome": "left"},
			map[string]any{"part": 2, "outcome": "refused", "code": "taken", "reason": "It is taken."},
			map[string]any{"part": 3, "outcome": "done", "action": "act_9"},
		}}, "done", "", []string{"A person said yes", "act_9"}},
		"withdrawn":      {map[string]any{"state": "withdrawn"}, "refused", "withdrawn", nil},
		"nobody in time": {map[string]any{"state": "expired"}, "refused", "expired", nil},
	} {
		for _, version := range twoAges() {
			t.Run(name+" "+version, func(t *testing.T) {
				o, url := newOffice(t, patient)
				b := newBrowser(t, url, version, pages(), accept)
				go func() {
					<-b.shown
					<-o.looked
					o.decide(end.fate)
				}()
				res, err := b.publish(t)
				if err != nil {
					t.Fatal(err)
				}
				out := outcomeOf(t, res)
				if out.Outcome != end.outcome || out.Refusal != nil && out.Refusal.Code != end.code || res.IsError != (end.outcome == commands.Refused) {
					t.Errorf("%+v, isError %v", out, res.IsError)
				}
				for _, says := range end.says {
					if text := textOf(t, res); !strings.Contains(text, says) {
						t.Errorf("%q does not say %q", text, says)
					}
				}
				validate(t, toolSchema(t, o.door, "site_publish"), mustJSON(t, res.StructuredContent))
				if o.published() != 1 {
					t.Errorf("it was asked for %d times", o.published())
				}
			})
		}
	}
}

func mustJSON(t *testing.T, v any) json.RawMessage {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestThePageIsTheProposalsOwnAndNothingElse(t *testing.T) {
	for _, version := range twoAges() {
		_, url := newOffice(t, hasty)
		b := newBrowser(t, url, version, pages(), func(context.Context) string { return "cancel" })
		if _, err := b.publish(t); err != nil {
			t.Fatal(err)
		}
		p := <-b.shown
		want := &sdk.ElicitParams{Mode: "url", Message: p.Message, URL: "http://assent.test/proposals/prop_1"}
		if version == lastHandshake {
			want.ElicitationID = "prop_1"
		}
		if diff := cmp.Diff(want, p); diff != "" || !strings.Contains(p.Message, "prop_1") {
			t.Errorf("%s (-want +got):\n%s", version, diff)
		}
	}
}

func TestADialogThatIsClosedOrDeclinedDecidesNothing(t *testing.T) {
	for _, version := range twoAges() {
		for said, lead := range map[string]string{"decline": "did not want to open", "cancel": "was not opened", "accept": "Waits for a person"} {
			o, url := newOffice(t, hasty)
			b := newBrowser(t, url, version, pages(), func(context.Context) string { return said })
			res, err := b.publish(t)
			if err != nil {
				t.Fatal(err)
			}
			out := outcomeOf(t, res)
			if text := textOf(t, res); out.Outcome != commands.Waiting || res.IsError || !strings.Contains(text, lead) || !strings.Contains(text, "http://assent.test/proposals/prop_1") {
				t.Errorf("%s, %s: %+v %q", version, said, out, text)
			}
			for _, c := range o.asked() {
				if c.Action != "site.publish" && c.Action != "proposal.get" {
					t.Errorf("%s, %s: %s was asked for", version, said, c.Action)
				}
			}
		}
	}
}

func TestAClientHearsThatItsCallStillWaits(t *testing.T) {
	for _, version := range twoAges() {
		o, url := newOffice(t, patient)
		b := newBrowser(t, url, version, pages(), accept)
		go func() {
			<-b.shown
			for range 3 {
				<-b.progress
			}
			o.decide(map[string]any{"state": "settled", "results": []any{map[string]any{"outcome": "done", "action": "act_9"}}})
		}()
		res, err := b.publish(t)
		if err != nil || res.IsError {
			t.Errorf("%s: %v %+v", version, err, res)
		}
	}
}

func TestNobodyIsAskedWhoseClientCannotShowAPage(t *testing.T) {
	for name, can := range map[string]*sdk.ElicitationCapabilities{
		"nothing":                           nil,
		"forms, by saying nothing of pages": {},
		"forms":                             {Form: &sdk.FormElicitationCapabilities{}},
	} {
		for _, version := range ages() {
			_, url := newOffice(t, patient)
			b := newBrowser(t, url, version, can, accept)
			res, err := b.publish(t)
			if err != nil || outcomeOf(t, res).Outcome != commands.Waiting {
				t.Errorf("%s, %s: %v %+v", version, name, err, res)
			}
			if len(b.shown) > 0 {
				t.Errorf("%s, %s: it was asked", version, name)
			}
		}
	}
	_, url := newOffice(t, patient) // before there were pages
	if res, err := newBrowser(t, url, "2025-06-18", pages(), accept).publish(t); err != nil || outcomeOf(t, res).Outcome != commands.Waiting {
		t.Errorf("%v %+v", err, res)
	}
}

func TestALateAnswerInTheClientHoldsNobodyUp(t *testing.T) {
	o, url := newOffice(t, patience{dialog: time.Minute, decision: time.Minute, beat: time.Minute, body: time.Minute})
	over := make(chan struct{})
	b := newBrowser(t, url, lastHandshake, pages(), func(context.Context) string {
		<-over // the person decides in the console meanwhile
		return "cancel"
	})
	defer close(over)
	go func() {
		<-b.shown
		<-o.looked
		o.decide(map[string]any{"state": "settled", "results": []any{map[string]any{"outcome": "done", "action": "act_9"}}})
	}()
	res, err := b.publish(t)
	if err != nil || outcomeOf(t, res).Outcome != commands.Done {
		t.Errorf("%v %+v", err, res)
	}
}

func TestWaitingEndsWithAnAnswerWhenTheDoorCloses(t *testing.T) {
	for _, version := range twoAges() {
		o, url := newOffice(t, patient)
		b := newBrowser(t, url, version, pages(), accept)
		go func() {
			<-o.looked
			o.door.Close()
		}()
		res, err := b.publish(t)
		if err != nil || outcomeOf(t, res).Outcome != commands.Waiting {
			t.Errorf("%s: %v %+v", version, err, res)
		}
	}
}

// byHand is a client that does not take care of input by itself.
func byHand(t *testing.T, url, key string) *sdk.ClientSession {
	t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "by hand", Version: "1"}, &sdk.ClientOptions{
		Capabilities:   &sdk.ClientCapabilities{Elicitation: pages()},
		MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true},
	})
	s, err := client.Connect(t.Context(), keyed(url, key), &sdk.ClientSessionOptions{ProtocolVersion: modern})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func publishing() *sdk.CallToolParams {
	return &sdk.CallToolParams{Name: "site_publish", Arguments: map[string]any{"site": "main", "note": "Menu"}}
}

func answered(action string) sdk.InputResponseMap {
	return sdk.InputResponseMap{decide: &sdk.ElicitResult{Action: action}}
}

func TestAStateIsRefusedUnlessItWasGivenForThisCall(t *testing.T) {
	o, url := newOffice(t, hasty)
	s := byHand(t, url, secret)
	first, err := s.CallTool(t.Context(), publishing())
	if err != nil || !first.NeedsInput() || len(first.InputRequests) != 1 {
		t.Fatalf("%v %+v", err, first)
	}
	state := first.RequestState
	again := func(session *sdk.ClientSession, change func(*sdk.CallToolParams)) (*sdk.CallToolResult, error) {
		p := publishing()
		p.RequestState, p.InputResponses = state, answered("accept")
		change(p)
		return session.CallTool(t.Context(), p)
	}
	flipped := []byte(state)
	flipped[len(flipped)/3] ^= 1
	other, err := newStates([]byte("another server's secret, of 32 b"))
	if err != nil {
		t.Fatal(err)
	}
	forged := other.seal(claim{Purpose: forWaiting, Workspace: "home", Principal: "agent:agent_a", Action: "site.publish", Proposal: "prop_1", Until: time.Now().Add(time.Hour)})
	confirmation := waitingClaim(commands.Call{Workspace: "home", Principal: domain.Principal{Kind: domain.KindAgent, ID: "agent_a"}, Action: "site.publish", Args: json.RawMessage(`{"site":"main","note":"Menu"}`)})
	confirmation.Purpose, confirmation.Until = "confirm", time.Now().Add(time.Hour)

	want := []string{}
	for name, change := range map[string]func(*sdk.CallToolParams){
		"flipped":              func(p *sdk.CallToolParams) { p.RequestState = string(flipped) },
		"truncated":            func(p *sdk.CallToolParams) { p.RequestState = state[:len(state)-4] },
		"without a signature":  func(p *sdk.CallToolParams) { p.RequestState, _, _ = strings.Cut(state, ".") },
		"longer":               func(p *sdk.CallToolParams) { p.RequestState = state + "A" },
		"signed by another":    func(p *sdk.CallToolParams) { p.RequestState = forged },
		"of another purpose":   func(p *sdk.CallToolParams) { p.RequestState = o.door.states.seal(confirmation) },
		"a word":               func(p *sdk.CallToolParams) { p.RequestState = "yes" },
		"moved to other words": func(p *sdk.CallToolParams) { p.Arguments = map[string]any{"site": "other", "note": "Menu"} },
		"moved to other tools": func(p *sdk.CallToolParams) { p.Name = "site_rollback" },
	} {
		_, err := again(s, change)
		checkRefused(t, name, err, "invalid")
		want = append(want, "invalid")
	}
	_, err = again(byHand(t, url, secret+"away"), func(*sdk.CallToolParams) {})
	checkRefused(t, "in another workspace", err, "invalid")

	o.door.now = func() time.Time { return time.Now().Add(2 * time.Hour) }
	_, err = again(s, func(*sdk.CallToolParams) {})
	checkRefused(t, "late", err, "expired")
	o.door.now = time.Now
	if diff := cmp.Diff(append(want, "invalid", "expired"), o.turnedAway()); diff != "" {
		t.Errorf("what was recorded (-want +got):\n%s", diff)
	}

	// With another key of the same agent, spelt another way, and as often as it likes.
	for _, session := range []*sdk.ClientSession{s, s, byHand(t, url, secret+"two")} {
		res, err := again(session, func(p *sdk.CallToolParams) { p.Arguments = json.RawMessage(`{ "note":"Menu", "site": "main" }`) })
		if err != nil || outcomeOf(t, res).Outcome != commands.Waiting {
			t.Errorf("%v %+v", err, res)
		}
	}
	if o.published() != 1 {
		t.Errorf("it was asked for %d times", o.published())
	}
}

func checkRefused(t *testing.T, name string, err error, code string) {
	t.Helper()
	wire, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok || wire.Code != jsonrpc.CodeInvalidParams || string(wire.Data) != `{"code":"`+code+`"}` {
		t.Errorf("%s: %v, want %s", name, err, code)
	}
}

func TestAClientThatAnswersItselfLiftsNothing(t *testing.T) {
	o, url := newOffice(t, hasty)
	s := byHand(t, url, secret)
	p := publishing()
	p.InputResponses = sdk.InputResponseMap{decide: &sdk.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}}
	first, err := s.CallTool(t.Context(), p) // before anything was asked
	if err != nil || !first.NeedsInput() {
		t.Fatalf("%v %+v", err, first)
	}
	for _, action := range []string{"accept", "approve", "yes"} {
		p := publishing()
		p.RequestState = first.RequestState
		p.InputResponses = sdk.InputResponseMap{
			decide:    &sdk.ElicitResult{Action: action, Content: map[string]any{"approve": true, "decision": "yes"}},
			"approve": &sdk.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}},
		}
		res, err := s.CallTool(t.Context(), p)
		if err != nil || outcomeOf(t, res).Outcome != commands.Waiting {
			t.Errorf("%s: %v %+v", action, err, res)
		}
	}
	actions := []string{}
	for _, c := range o.asked() {
		actions = append(actions, c.Action)
	}
	if slices.ContainsFunc(actions, func(a string) bool { return a != "site.publish" && a != "proposal.get" }) || o.published() != 1 {
		t.Errorf("asked for %v", actions)
	}
}

func TestACallSentAgainWithoutAnAnswerIsAskedAgain(t *testing.T) {
	o, url := newOffice(t, patient)
	s := byHand(t, url, secret)
	first, err := s.CallTool(t.Context(), publishing())
	if err != nil {
		t.Fatal(err)
	}
	p := publishing()
	p.RequestState = first.RequestState
	p.InputResponses = sdk.InputResponseMap{"something else": &sdk.ElicitResult{Action: "accept"}}
	second, err := s.CallTool(t.Context(), p)
	if err != nil || !second.NeedsInput() || len(second.InputRequests) != 1 {
		t.Fatalf("%v %+v", err, second)
	}
	o.decide(map[string]any{"state": "declined", "words": "No."})
	third, err := s.CallTool(t.Context(), p)
	if err != nil || outcomeOf(t, third).Outcome != commands.Refused {
		t.Errorf("%v %+v", err, third)
	}
}

func TestALocalClientThatLeavesWhileACallWaitsIsNotWaitedFor(t *testing.T) {
	o, _ := newOffice(t, patient)
	x := sit(t, o.door)
	x.ask(strings.Replace(initialize(lastHandshake), `"capabilities":{}`, `"capabilities":{"elicitation":{"url":{}}}`, 1), lastHandshake)
	x.say(initialized)
	x.say(`{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"site_publish","arguments":{"site":"main"}}}`)
	<-o.looked
	_ = x.in.Close()
	for { // the dialog, and then the answer
		if a := x.hear(); a.ID == 8.0 {
			if a.Error != nil || !strings.Contains(string(a.Result), `"outcome":"waiting"`) {
				t.Errorf("%s %+v", a.Result, a.Error)
			}
			break
		}
	}
	x.ends()
}
