package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"assent/commands"
	"assent/domain"
)

// ping is a request that any client may send first.
const ping = `{"jsonrpc":"2.0","id":7,"method":"ping"}`

// post sends a raw request and gives status, headers and body.
func post(t testing.TB, url, body string, change func(*http.Request)) (int, http.Header, []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+secret)
	if change != nil {
		change(r)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header, got
}

func codeOf(t testing.TB, body []byte) string {
	t.Helper()
	var m struct {
		Error struct {
			Message string `json:"message"`
			Data    struct {
				Code string `json:"code"`
			} `json:"data"`
		} `json:"error"`
	}
	if err := json.Unmarshal(body, &m); err != nil || m.Error.Message == "" {
		t.Fatalf("%q is no error of the protocol", body)
	}
	return m.Error.Data.Code
}

func TestStrangersAreTurnedAway(t *testing.T) {
	url := serve(t, open(t, always(commands.Outcome{}), told(editor), func(o *Options) {
		o.Hosts = []string{"agents.example"}
		o.Origins = []string{"https://tools.example"}
	})).URL
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	noKey := func(r *http.Request) { r.Header.Del("Authorization") }
	both := func(a, b func(*http.Request)) func(*http.Request) { return func(r *http.Request) { a(r); b(r) } }
	query := func(q string) func(*http.Request) { return func(r *http.Request) { r.URL.RawQuery = q } }
	host := func(h string) func(*http.Request) { return func(r *http.Request) { r.Host = h } }
	method := func(m string) func(*http.Request) { return func(r *http.Request) { r.Method = m } }

	for _, c := range []struct {
		name   string
		change func(*http.Request)
		status int
		code   string
	}{
		{"a key as bearer", nil, 200, ""},
		{"a key as x-api-key", both(noKey, header("X-Api-Key", secret)), 200, ""},
		{"the same key twice", header("X-Api-Key", secret), 200, ""},
		{"two keys", header("X-Api-Key", secret+"away"), 401, "unauthorised"},
		{"no key", noKey, 401, "unauthorised"},
		{"an unknown key", header("Authorization", "Bearer assent_other"), 401, "unauthorised"},
		{"an empty key", header("Authorization", "Bearer "), 401, "unauthorised"},
		{"another scheme", header("Authorization", "Basic "+secret), 401, "unauthorised"},
		{"a cookie only", both(noKey, header("Cookie", "session="+secret+"; key="+secret)), 401, "unauthorised"},
		{"a key in the address", query("access_token=" + secret), 400, "invalid"},
		{"a key in the address under another name", query("k=assent_abc"), 400, "invalid"},
		{"a key in the address and none beside", both(noKey, query("key=x")), 400, "invalid"},
		{"another site's page", header("Origin", "https://evil.example"), 403, "origin"},
		{"a page without an origin", header("Origin", "null"), 403, "origin"},
		{"a page that looks alike", header("Origin", "https://tools.example.evil.example"), 403, "origin"},
		{"a page of another site that hides its origin", header("Sec-Fetch-Site", "cross-site"), 403, "origin"},
		{"a page that was allowed", header("Origin", "https://tools.example"), 200, ""},
		{"the server's own page", header("Origin", "http://assent.test"), 200, ""},
		{"a name that was made to lead here", host("rebound.evil.example"), 403, "host"},
		{"a name that was made to lead here, with a port", host("rebound.evil.example:80"), 403, "host"},
		{"a name that begins like an allowed one", host("agents.example.evil.example"), 403, "host"},
		{"an allowed name", host("agents.example:8443"), 200, ""},
		{"the public name", host("ASSENT.test"), 200, ""},
		{"loopback, version six", host("[::1]:7300"), 200, ""},
		{"another method", method(http.MethodPut), 405, "unsupported"},
		{"another method without a key", both(noKey, method(http.MethodPut)), 401, "unauthorised"},
		{"a stream without a session", method(http.MethodGet), 405, "unsupported"},
		{"a foreign page asking for a stream", both(method(http.MethodGet), header("Origin", "https://evil.example")), 403, "origin"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, h, body := post(t, url, ping, c.change)
			if status != c.status {
				t.Fatalf("status %d, want %d: %s", status, c.status, body)
			}
			if c.code != "" && codeOf(t, body) != c.code {
				t.Errorf("code %q, want %q", codeOf(t, body), c.code)
			}
			challenge := h.Get("WWW-Authenticate")
			if want := map[bool]string{true: `Bearer realm="assent"`}[status == 401]; challenge != want {
				t.Errorf("challenge %q, want %q", challenge, want)
			}
			if bytes.Contains(body, []byte(secret)) {
				t.Error("the answer repeats the key")
			}
		})
	}
}

func TestNothingBrokenComesThroughOverHTTP(t *testing.T) {
	r := always(commands.Outcome{Outcome: commands.Done})
	url := serve(t, open(t, r, told(editor))).URL
	for _, b := range broken() {
		t.Run(b.name, func(t *testing.T) {
			for _, version := range []string{"", modern} {
				status, _, body := post(t, url, b.message, func(r *http.Request) { r.Header.Set(versionHeader, version) })
				if status != http.StatusBadRequest {
					t.Errorf("status %d: %s", status, body)
				}
				checkMalformed(t, body, b.want)
			}
		})
	}
	status, _, body := post(t, url, message(`{"body":"`+strings.Repeat("x", maxMessage)+`"}`), nil)
	if status != http.StatusRequestEntityTooLarge || codeOf(t, body) != "too-large" {
		t.Errorf("too large a body: %d %s", status, body)
	}
	if n := len(r.asked()); n != 0 {
		t.Errorf("%d calls came down the road", n)
	}
}

func TestAFaultInOneCallLeavesTheNextAlone(t *testing.T) {
	for _, version := range ages() {
		var log bytes.Buffer
		wrong := true
		r := &road{answer: func(commands.Call) (commands.Outcome, error) {
			if wrong {
				panic("secret detail")
			}
			return commands.Outcome{Outcome: commands.Idle}, nil
		}}
		client := connect(t, serve(t, open(t, r, told(editor), logTo(&log))).URL, version)
		call := func() *sdk.CallToolResult {
			res, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: "article_update", Arguments: map[string]any{"article": "art_1", "command_id": "c1"}})
			if err != nil {
				t.Fatalf("%s: %v", version, err)
			}
			return res
		}
		res := call()
		if text := textOf(t, res); !res.IsError || !strings.Contains(text, "nothing is known to have changed") || !strings.Contains(text, `"c1"`) || strings.Contains(text, "secret") {
			t.Errorf("%s: %q", version, text)
		}
		if n := strings.Count(log.String(), "secret detail"); n != 1 {
			t.Errorf("%s: the fault was logged %d times", version, n)
		}
		wrong = false
		if res := call(); res.IsError {
			t.Errorf("%s: the next call went wrong: %s", version, textOf(t, res))
		}
	}
}

func TestAFaultBesideTheRoadLeavesTheNextAlone(t *testing.T) {
	var log bytes.Buffer
	wrong := false
	b := briefing(func(Caller) (Brief, error) {
		if wrong {
			panic("secret detail")
		}
		return editor, nil
	})
	client := connect(t, serve(t, open(t, always(commands.Outcome{}), b, logTo(&log))).URL, modern)
	wrong = true
	if _, err := client.ListTools(t.Context(), &sdk.ListToolsParams{}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("listing: %v", err)
	}
	wrong = false
	if _, err := client.ListTools(t.Context(), &sdk.ListToolsParams{}); err != nil {
		t.Errorf("the next listing: %v", err)
	}
}

func TestKeysThatCannotBeLookedAtAreNoRefusal(t *testing.T) {
	var log bytes.Buffer
	answer := errors.New("disk on fire")
	d := open(t, always(commands.Outcome{}), told(editor), logTo(&log), func(o *Options) { o.Keys = failing{&answer} })
	url := serve(t, d).URL
	status, h, body := post(t, url, ping, nil)
	if status != http.StatusServiceUnavailable || h.Get("Retry-After") == "" || bytes.Contains(body, []byte("fire")) {
		t.Errorf("%d %s", status, body)
	}
	if !strings.Contains(log.String(), "disk on fire") {
		t.Error("the fault was not logged")
	}
	answer = domain.Refuse("slow-down", "Too many wrong keys. Wait a minute.")
	if status, _, body := post(t, url, ping, nil); status != http.StatusTooManyRequests || codeOf(t, body) != "slow-down" {
		t.Errorf("%d %s", status, body)
	}
}

type failing struct{ err *error }

func (f failing) Key(context.Context, string) (KeyHolder, error) { return KeyHolder{}, *f.err }

func initialize(version string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + version + `","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`
}

func TestASessionBelongsToTheKeyThatOpenedIt(t *testing.T) {
	url := serve(t, open(t, always(commands.Outcome{}), told(editor))).URL
	status, h, body := post(t, url, initialize(lastHandshake), nil)
	session := h.Get(sessionHeader)
	if status != http.StatusOK || session == "" {
		t.Fatalf("%d %s", status, body)
	}
	with := func(key string) func(*http.Request) {
		return func(r *http.Request) {
			r.Header.Set("Authorization", "Bearer "+key)
			r.Header.Set(sessionHeader, session)
		}
	}
	if status, _, body := post(t, url, ping, with(secret)); status != http.StatusOK {
		t.Errorf("its own key: %d %s", status, body)
	}
	for _, key := range []string{secret + "two", secret + "away"} {
		if status, _, body := post(t, url, ping, with(key)); status != http.StatusForbidden {
			t.Errorf("%s: %d %s", key, status, body)
		}
	}
}

func TestAHandshakeAskingForTheNewAgeGetsTheOldOne(t *testing.T) {
	url := serve(t, open(t, always(commands.Outcome{Outcome: commands.Idle}), told(editor))).URL
	status, h, body := post(t, url, initialize(modern), nil)
	if status != http.StatusOK || !bytes.Contains(body, []byte(`"protocolVersion":"`+lastHandshake+`"`)) || !bytes.Contains(body, []byte("Your mode is edits")) {
		t.Fatalf("%d %s", status, body)
	}
	status, _, body = post(t, url, message(`{"article":"art_1"}`), func(r *http.Request) {
		r.Header.Set(sessionHeader, h.Get(sessionHeader))
		r.Header.Set(versionHeader, lastHandshake)
	})
	if status != http.StatusOK || !bytes.Contains(body, []byte("already so")) {
		t.Errorf("%d %s", status, body)
	}
}

func TestARequestOfBothAgesAtOnceIsRefusedWithTheVersionsSpoken(t *testing.T) {
	url := serve(t, open(t, always(commands.Outcome{}), told(editor))).URL
	mixed := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"` + modern + `","io.modelcontextprotocol/clientCapabilities":{}}}}`
	status, _, body := post(t, url, mixed, func(r *http.Request) { r.Header.Set(versionHeader, lastHandshake) })
	if status != http.StatusBadRequest || !bytes.Contains(body, []byte("-32022")) || !bytes.Contains(body, []byte(lastHandshake)) {
		t.Errorf("%d %s", status, body)
	}
}

func TestTheOldProtocolIsNoWayAround(t *testing.T) {
	r := always(commands.Outcome{Outcome: commands.Done})
	url := serve(t, open(t, r, told(editor))).URL
	call := message(`{"article":"art_1"}`)
	for name, request := range map[string]struct {
		body   string
		change func(*http.Request)
	}{
		"a call before the handshake":        {call, nil},
		"one of an old version":              {call, func(r *http.Request) { r.Header.Set(versionHeader, "2024-11-05") }},
		"one of no version":                  {call, func(r *http.Request) { r.Header.Set(versionHeader, "1999-01-01") }},
		"a new one without headers":          {modernCall, nil},
		"a new one under an old version":     {modernCall, func(r *http.Request) { r.Header.Set(versionHeader, "2025-06-18") }},
		"an old one under the new version":   {call, newAge("tools/call", "article_update")},
		"one in a session that is not there": {call, func(r *http.Request) { r.Header.Set(sessionHeader, "made-up") }},
	} {
		status, _, body := post(t, url, request.body, request.change)
		if status == http.StatusOK && !bytes.Contains(body, []byte(`"error"`)) {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	if n := len(r.asked()); n != 0 {
		t.Errorf("%d calls came down the road", n)
	}
}

func TestOneKeyKeepsOnlySoManySessions(t *testing.T) {
	d := open(t, always(commands.Outcome{}), told(editor))
	url := serve(t, d).URL
	var first string
	for i := range maxSessions + 5 {
		_, h, body := post(t, url, initialize(lastHandshake), nil)
		if h.Get(sessionHeader) == "" {
			t.Fatalf("session %d: %s", i, body)
		}
		if i == 0 {
			first = h.Get(sessionHeader)
		}
	}
	eventually(t, func() bool {
		n := 0
		for range d.server.Sessions() {
			n++
		}
		return n == maxSessions
	})
	status, _, _ := post(t, url, ping, func(r *http.Request) { r.Header.Set(sessionHeader, first) })
	if status != http.StatusNotFound { // what tells a client to start a new one
		t.Errorf("the oldest session answers %d", status)
	}
}

// eventually waits for what other goroutines are about to finish.
func eventually(t *testing.T, so func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); runtime.Gosched() {
		if so() {
			return
		}
	}
	t.Fatal("it did not come about within five seconds")
}

func TestOneKeyKeepsOnlySoManyRequestsBusy(t *testing.T) {
	var started, done sync.WaitGroup
	release := make(chan struct{})
	started.Add(maxRequests)
	r := &road{answer: func(commands.Call) (commands.Outcome, error) {
		started.Done()
		<-release
		return commands.Outcome{Outcome: commands.Idle}, nil
	}}
	url := serve(t, open(t, r, told(editor))).URL
	call := strings.Replace(message(`{"article":"art_1"}`), `"params":{`, `"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"`+modern+`","io.modelcontextprotocol/clientCapabilities":{}},`, 1)
	newAge := func(r *http.Request) {
		r.Header.Set(versionHeader, modern)
		r.Header.Set("Mcp-Method", "tools/call")
		r.Header.Set("Mcp-Name", "article_update")
	}
	for range maxRequests {
		done.Go(func() {
			if status, _, body := post(t, url, call, newAge); status != http.StatusOK {
				t.Errorf("%d %s", status, body)
			}
		})
	}
	started.Wait()
	if status, h, body := post(t, url, ping, nil); status != http.StatusTooManyRequests || h.Get("Retry-After") == "" || codeOf(t, body) != "slow-down" {
		t.Errorf("one more: %d %s", status, body)
	}
	if status, _, body := post(t, url, ping, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+secret+"away") }); status != http.StatusOK {
		t.Errorf("another key: %d %s", status, body)
	}
	close(release)
	done.Wait()
}

func TestClosingEndsSessionsAndStreams(t *testing.T) {
	d := open(t, always(commands.Outcome{Outcome: commands.Idle}), told(editor))
	url := serve(t, d).URL
	_, h, _ := post(t, url, initialize(lastHandshake), nil)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Authorization", "Bearer "+secret)
	r.Header.Set(sessionHeader, h.Get(sessionHeader))
	r.Header.Set(versionHeader, lastHandshake)
	stream, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	if stream.StatusCode != http.StatusOK {
		t.Fatalf("the stream opens with %d", stream.StatusCode)
	}
	d.Close()
	if _, err := io.ReadAll(stream.Body); err != nil { // returns only when the stream has ended
		t.Errorf("the stream broke off: %v", err)
	}
	if status, _, _ := post(t, url, ping, nil); status != http.StatusServiceUnavailable {
		t.Errorf("after closing: %d", status)
	}
}

func TestSecretsGoNoFurtherThanTheDoor(t *testing.T) {
	r, err := http.NewRequest(http.MethodPost, "http://assent.test/mcp", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+secret)
	r.Header.Set("X-Api-Key", secret)
	r.Header.Set("Cookie", "session=abc")
	for name, values := range forwarded(r, Caller{}).Header {
		if v := strings.Join(values, " "); strings.Contains(v, secret) || name == "Cookie" {
			t.Errorf("%s: %s goes on", name, v)
		}
	}
	if r.Header.Get("Cookie") == "" {
		t.Error("the request itself was changed")
	}
}

func TestADoorThatCannotBeSafeIsNotBuilt(t *testing.T) {
	good := Options{Road: always(commands.Outcome{}), Registry: registry(t), Briefing: told(editor)}
	for name, change := range map[string]func(*Options){
		"no road":       func(o *Options) { o.Road = nil },
		"no registry":   func(o *Options) { o.Registry = nil },
		"no briefing":   func(o *Options) { o.Briefing = nil },
		"a bad address": func(o *Options) { o.URL = "assent.example" },
		"a bad origin":  func(o *Options) { o.Origins = []string{"tools.example/path"} },
	} {
		o := good
		change(&o)
		if _, err := New(o); err == nil {
			t.Errorf("%s: a door was built", name)
		}
	}
}
