package mcp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"assent/commands"
)

// manyKeys are keys of as many agents.
func manyKeys(n int) func(*Options) {
	return func(o *Options) {
		all := keys{}
		for i := range n {
			all[fmt.Sprintf("assent_%d", i)] = KeyHolder{Workspace: "home", Agent: fmt.Sprintf("agent_%d", i), Key: fmt.Sprintf("key_%d", i)}
		}
		o.Keys = all
	}
}

func TestAThousandIdleSessionsTakeLittleRoom(t *testing.T) {
	const sessions, agents, most = 1000, 20, 100 << 20
	url := serve(t, open(t, always(commands.Outcome{}), told(editor), manyKeys(agents))).URL
	room := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse
	}
	before := room()
	for i := range sessions {
		_, h, body := post(t, url, initialize(lastHandshake), func(r *http.Request) {
			r.Header.Set("Authorization", fmt.Sprintf("Bearer assent_%d", i%agents))
		})
		if h.Get(sessionHeader) == "" {
			t.Fatalf("session %d: %s", i, body)
		}
	}
	took := room() - before
	t.Logf("%d sessions take %d KiB each", sessions, took/sessions/1024)
	if took > most {
		t.Errorf("%d idle sessions take %d MiB, more than %d", sessions, took>>20, most>>20)
	}
}

func TestSixtyFourClientsAtOnceAreAllAnswered(t *testing.T) {
	const clients, calls = 64, 5
	url := serve(t, open(t, always(commands.Outcome{Outcome: commands.Idle}), told(editor))).URL
	for _, version := range []string{modern, lastHandshake} {
		var all sync.WaitGroup
		for range clients {
			all.Go(func() {
				client, err := sdk.NewClient(&sdk.Implementation{Name: "one of many", Version: "1"}, nil).
					Connect(context.WithoutCancel(t.Context()), keyed(url, secret), &sdk.ClientSessionOptions{ProtocolVersion: version})
				if err != nil {
					t.Errorf("%s: %v", version, err)
					return
				}
				defer client.Close()
				for range calls {
					res, err := client.CallTool(context.WithoutCancel(t.Context()), &sdk.CallToolParams{Name: "article_update", Arguments: map[string]any{"article": "art_1"}})
					if err != nil || res.IsError {
						t.Errorf("%s: %v %+v", version, err, res)
					}
				}
			})
		}
		all.Wait()
	}
}

func TestADoorWithOpenStreamsShutsWithinTwoSeconds(t *testing.T) {
	o, _ := newOffice(t, patient)
	o.door.watcher = make(watching)
	s := &http.Server{Handler: o.door.Handler()}
	listener := httptest.NewUnstartedServer(nil).Listener
	go func() { _ = s.Serve(listener) }()
	url := "http://" + listener.Addr().String()
	for _, version := range twoAges() {
		b := newBrowser(t, url, version, pages(), accept)
		go func() { _, _ = b.publish(t) }() // waits for a person
		<-o.looked
	}
	_, h, _ := post(t, url, initialize(lastHandshake), nil)
	for _, open := range []func(*http.Request){
		func(r *http.Request) {
			r.Method, r.Body, r.ContentLength = http.MethodGet, nil, 0
			r.Header.Set(sessionHeader, h.Get(sessionHeader))
			r.Header.Set(versionHeader, lastHandshake)
		},
		newAge("subscriptions/listen", ""),
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(
			`{"jsonrpc":"2.0","id":3,"method":"subscriptions/listen","params":{`+ofNewAge+`,"notifications":{"toolsListChanged":true}}}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Authorization", "Bearer "+secret)
		open(r)
		stream, err := http.DefaultClient.Do(r)
		if err != nil || stream.StatusCode != http.StatusOK {
			t.Fatalf("%v %v", stream, err)
		}
		defer stream.Body.Close()
	}
	began := time.Now()
	o.door.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestAClientThatLeavesIsWorkedForNoMore(t *testing.T) {
	asked := make(chan struct{}, 1)
	given := make(chan error, 1)
	r := givenUp{asked, given}
	url := serve(t, open(t, r, told(editor))).URL
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(modernCall))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Authorization", "Bearer "+secret)
	newAge("tools/call", "article_update")(req)
	go func() {
		<-asked
		leave()
	}()
	if _, err := http.DefaultClient.Do(req); err == nil {
		t.Error("a client that left was answered")
	}
	if err := <-given; err == nil {
		t.Error("the call went on")
	}

	// A client that shook hands says so.
	client := connect(t, url, lastHandshake)
	ctx, leave = context.WithCancel(t.Context())
	go func() {
		<-asked
		leave()
	}()
	if _, err := client.CallTool(ctx, &sdk.CallToolParams{Name: "article_update", Arguments: map[string]any{"article": "art_1"}}); err == nil {
		t.Error("a call that was cancelled was answered")
	}
	if err := <-given; err == nil {
		t.Error("the cancelled call went on")
	}
}

// givenUp is a road on which every call waits until it is given up.
type givenUp struct {
	asked chan<- struct{}
	given chan<- error
}

func (r givenUp) Do(ctx context.Context, _ commands.Call) (commands.Outcome, error) {
	r.asked <- struct{}{}
	<-ctx.Done()
	r.given <- ctx.Err()
	return commands.Outcome{}, ctx.Err()
}

func TestABodyThatDripsInLosesItsPlace(t *testing.T) {
	o := always(commands.Outcome{})
	d := open(t, o, told(editor))
	d.patience.body = time.Millisecond
	url := serve(t, d).URL
	drip, tap := io.Pipe()
	go func() { _, _ = tap.Write([]byte(`{"jsonrpc":`)) }()
	defer tap.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, drip)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+secret)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusRequestTimeout || codeOf(t, body) != "malformed" {
		t.Errorf("%d %s, %v", res.StatusCode, body, err)
	}
	if got := o.turnedAway(); len(got) != 1 || got[0] != "malformed" {
		t.Errorf("recorded %v", got)
	}
}

func TestStrangersAreCountedAndNotRecorded(t *testing.T) {
	var log bytes.Buffer
	r := always(commands.Outcome{})
	d := open(t, r, told(editor), logTo(&log))
	url := serve(t, d).URL
	for range 3 {
		post(t, url, ping, func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") })
		post(t, url, ping, func(r *http.Request) { r.Header.Set("Authorization", "Bearer assent_wrong") })
	}
	d.Close()
	text := log.String() // one line, or two when the minute turned under way
	if n := strings.Count(text, "turned away"); n < 1 || n > 2 || strings.Contains(text, "assent_wrong") || n == 1 && !strings.Contains(text, "origin=3 unauthorised=3") {
		t.Errorf("%s", text)
	}
	if len(r.asked())+len(r.turnedAway()) > 0 {
		t.Error("strangers are in the record")
	}
}
