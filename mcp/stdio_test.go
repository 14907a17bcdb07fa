package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"assent/commands"
	"assent/domain"
	"assent/domain/policy"
)

// terminal is a local caller's two pipes, with the door at the other end.
type terminal struct {
	t    *testing.T
	in   io.WriteCloser
	out  *bufio.Reader
	done chan error
}

func localCaller() Caller {
	c := local()
	c.Person, c.Mode, c.Scopes, c.Site, c.Joined = "person_1", policy.Plan, []string{"content:read"}, "main", true
	return c
}

func sit(t *testing.T, d *Door) *terminal {
	t.Helper()
	fromClient, toServer := pipe(t)
	fromServer, toClient := pipe(t)
	term := &terminal{t: t, in: toServer, out: bufio.NewReader(fromServer), done: make(chan error, 1)}
	go func() { term.done <- d.Stdio(t.Context(), fromClient, toClient, localCaller()) }()
	return term
}

func pipe(t *testing.T) (*os.File, *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close(); _ = w.Close() })
	return r, w
}

func (x *terminal) say(line string) {
	x.t.Helper()
	if _, err := io.WriteString(x.in, line+"\n"); err != nil {
		x.t.Fatal(err)
	}
}

// answer is the next line that comes back.
type answer struct {
	ID     any             `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

func (x *terminal) hear() answer {
	x.t.Helper()
	line, err := x.out.ReadBytes('\n')
	if err != nil {
		x.t.Fatalf("%q, %v", line, err)
	}
	var a answer
	if err := json.Unmarshal(line, &a); err != nil {
		x.t.Fatalf("%q: %v", line, err)
	}
	return a
}

func (x *terminal) ask(line, want string) {
	x.t.Helper()
	x.say(line)
	if a := x.hear(); a.Error != nil || !strings.Contains(string(a.Result), want) {
		x.t.Errorf("%s\nanswered %s %+v, want %s", line, a.Result, a.Error, want)
	}
}

func (x *terminal) ends() {
	x.t.Helper()
	select {
	case err := <-x.done:
		if err != nil {
			x.t.Errorf("it ended with %v", err)
		}
	case <-time.After(10 * time.Second):
		x.t.Fatal("it does not end")
	}
}

const (
	ofNewAge    = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	discover    = `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + ofNewAge + `}}`
	modernCall  = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{` + ofNewAge + `,"name":"article_update","arguments":{"article":"art_1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

func TestALocalClientLooksAroundAndThenShakesHands(t *testing.T) {
	r := always(commands.Outcome{Outcome: commands.Idle})
	x := sit(t, open(t, r, told(editor)))
	x.ask(discover, "Your mode is edits")
	x.ask(initialize(lastHandshake), "Your mode is edits")
	x.say(initialized)
	x.ask(message(`{"article":"art_1"}`), "already so")
	_ = x.in.Close()
	x.ends()

	want := localCaller()
	got := r.asked()[0]
	if got.Workspace != "home" || got.Principal != want.Principal || got.Person != "person_1" || got.Via != want.Via ||
		got.Mode != policy.Plan || got.Site != "main" || len(got.Scopes) != 1 || !got.Joined || got.Client != (domain.Client{Name: "raw", Version: "1"}) {
		t.Errorf("call %+v", got)
	}
}

func TestALocalClientShakesHandsAndThenCallsInTheNewWay(t *testing.T) {
	x := sit(t, open(t, always(commands.Outcome{Outcome: commands.Idle}), told(editor)))
	x.ask(initialize(lastHandshake), lastHandshake)
	x.say(initialized)
	x.ask(modernCall, `"resultType":"complete"`)
	x.ask(message(`{"article":"art_1"}`), "already so")
	x.ask(modernCall, `"resultType":"complete"`)
	_ = x.in.Close()
	x.ends()
}

func TestALocalHandshakeAskingForTheNewAgeGetsTheOldOne(t *testing.T) {
	x := sit(t, open(t, always(commands.Outcome{Outcome: commands.Idle}), told(editor)))
	x.ask(initialize(modern), `"protocolVersion":"`+lastHandshake+`"`)
	x.say(initialized)
	x.say(message(`{"article":"art_1"}`))
	if a := x.hear(); a.Error != nil || strings.Contains(string(a.Result), "resultType") {
		t.Errorf("answered %s %+v in the new way", a.Result, a.Error)
	}
}

func TestRealLocalClientsOfEveryAgeAreServed(t *testing.T) {
	for _, version := range ages() {
		d := open(t, always(commands.Outcome{Outcome: commands.Idle}), told(editor))
		fromClient, toServer := pipe(t)
		fromServer, toClient := pipe(t)
		done := make(chan error, 1)
		go func() { done <- d.Stdio(t.Context(), fromClient, toClient, localCaller()) }()
		client := dial(t, &sdk.IOTransport{Reader: fromServer, Writer: toServer}, version)
		list, err := client.ListTools(t.Context(), nil)
		if err != nil || len(list.Tools) == 0 {
			t.Fatalf("%s: %v, %v", version, list, err)
		}
		res, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: "article_update", Arguments: map[string]any{"article": "art_1"}})
		if err != nil || !strings.Contains(textOf(t, res), "already so") {
			t.Fatalf("%s: %v, %v", version, res, err)
		}
		_ = client.Close()
		if err := <-done; err != nil {
			t.Errorf("%s: it ended with %v", version, err)
		}
	}
}

func TestNothingBrokenComesThroughOnAStream(t *testing.T) {
	r := always(commands.Outcome{Outcome: commands.Idle})
	x := sit(t, open(t, r, told(editor)))
	x.ask(initialize(lastHandshake), lastHandshake)
	for _, b := range broken() {
		x.say(b.message)
		line, err := x.out.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		checkMalformed(t, line, b.want)
	}
	for _, line := range []string{`{"jsonrpc":"2.0","id":7}`, `{"jsonrpc":"1.0","id":7,"method":"ping"}`, `{"id":7,"METHOD":"ping","jsonrpc":"2.0"}`} {
		x.say(line)
		if a := x.hear(); a.Error == nil || a.ID != 7.0 {
			t.Errorf("%s: %+v", line, a)
		}
	}
	x.say("")
	x.say(message(`{"body":"` + strings.Repeat("x", maxMessage) + `"}`))
	if a := x.hear(); a.Error == nil || string(a.Error.Data) != `{"code":"too-large"}` {
		t.Errorf("too large: %+v", a)
	}
	if n := len(r.asked()); n != 0 {
		t.Errorf("%d calls came down the road", n)
	}
	x.ask(message(`{"article":"art_1"}`), "already so")
}

func TestWhatWasAskedBeforeTheStreamEndsIsAnswered(t *testing.T) {
	release := make(chan struct{})
	asked := make(chan struct{}, 2)
	r := waitingRoad{asked, release}
	x := sit(t, open(t, r, told(editor)))
	x.ask(initialize(lastHandshake), lastHandshake)
	x.say(message(`{"article":"art_1"}`))
	x.say(modernCall)
	_ = x.in.Close()
	<-asked
	<-asked
	close(release)
	for range 2 {
		if a := x.hear(); !strings.Contains(string(a.Result), "already so") {
			t.Errorf("answered %s %+v", a.Result, a.Error)
		}
	}
	x.ends()
}

// waitingRoad answers when it is let, unless the call is cancelled first.
type waitingRoad struct {
	asked   chan<- struct{}
	release <-chan struct{}
}

func (r waitingRoad) Do(ctx context.Context, _ commands.Call) (commands.Outcome, error) {
	r.asked <- struct{}{}
	select {
	case <-r.release:
		return commands.Outcome{Outcome: commands.Idle}, nil
	case <-ctx.Done():
		return commands.Outcome{}, ctx.Err()
	}
}

func TestACancelledCallIsGivenUp(t *testing.T) {
	asked := make(chan struct{}, 2)
	x := sit(t, open(t, waitingRoad{asked, nil}, told(editor)))
	x.ask(initialize(lastHandshake), lastHandshake)
	x.say(initialized)
	for i, call := range []string{message(`{}`), modernCall} {
		id := fmt.Sprint(7 + i) // another: the library may still be busy giving the first one up
		x.say(strings.Replace(call, `"id":7`, `"id":`+id, 1))
		<-asked
		x.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`)
		if a := x.hear(); a.ID != float64(7+i) {
			t.Errorf("answered %+v", a)
		}
	}
}

func TestClosingTheDoorEndsLocalCallers(t *testing.T) {
	d := open(t, always(commands.Outcome{Outcome: commands.Idle}), told(editor))
	x := sit(t, d)
	x.ask(initialize(lastHandshake), lastHandshake)
	d.Close()
	x.ends()
	if _, err := x.out.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("the stream out is still open: %v", err)
	}
	if err := d.Stdio(t.Context(), io.NopCloser(strings.NewReader("")), toNowhere{}, localCaller()); err == nil {
		t.Error("a closed door lets callers in")
	}
}

type toNowhere struct{}

func (toNowhere) Write(p []byte) (int, error) { return len(p), nil }
func (toNowhere) Close() error                { return nil }
