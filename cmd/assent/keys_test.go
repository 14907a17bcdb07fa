package main

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"assent/commands"
	"assent/httpapi"
)

// clocked is a server whose clock stands still until it is moved. Nothing is
// finished by itself: the test says when.
func clocked(t *testing.T, c *serveCmd) (*server, *inProcess, *atomic.Int64) {
	t.Helper()
	var ahead atomic.Int64
	begin := time.Now().Truncate(time.Minute)
	c.Listen, c.Workspaces = "127.0.0.1:0", []string{"home", "other"}
	s, err := c.open(t.Context(), plan{dir: t.TempDir(), vault: cheap, notend: true, clock: func() time.Time {
		return begin.Add(time.Duration(ahead.Load()))
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- s.serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	p := inProcessOf(t, s)
	p.owner(t, "ana", "home")
	return s, p, &ahead
}

const handshake = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`

// sentFor sends it and gives the status and the headers of the answer.
func (r raw) sentFor(t *testing.T, url string) (int, http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/mcp", strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("X-Api-Key", r.key)
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode, res.Header
}

// TestAKeyThatAsksTooFastWaitsAloneAndIsCounted: its measure is its own, the
// same at both doors, and what was too much is one line a minute.
func TestAKeyThatAsksTooFastWaitsAloneAndIsCounted(t *testing.T) {
	s, p, ahead := clocked(t, &serveCmd{CallsPerMinute: 60})
	p.agent(t, "bot", "ana", "edits", nil)
	p.agent(t, "other", "ana", "edits", nil)
	mine := call(p.keys["bot"], "whoami", `{}`, "")
	for i := range 10 {
		if status, code, body := mine.sent(t, s.url); status != http.StatusOK {
			t.Fatalf("call %d: %d %s: %s", i, status, code, body)
		}
	}
	before := len(p.audit(t, "ana"))
	const tooMany = 50
	for range tooMany {
		status, header := mine.sentFor(t, s.url)
		if wait, err := strconv.Atoi(header.Get("Retry-After")); status != http.StatusTooManyRequests || err != nil || wait != 1 {
			t.Fatalf("%d, come again in %q", status, header.Get("Retry-After"))
		}
	}
	if _, code, body := mine.sent(t, s.url); code != "slow-down" {
		t.Errorf("%q: %s", code, body)
	}
	status, text := request(t, http.DefaultClient, "POST", s.url+"/api/v1/actions/whoami", map[string]any{}, map[string]string{"X-Api-Key": p.keys["bot"]})
	if status != http.StatusTooManyRequests || !strings.Contains(string(text), `"slow-down"`) {
		t.Errorf("at the other door: %d %s", status, text)
	}
	if status, _, body := call(p.keys["other"], "whoami", `{}`, "").sent(t, s.url); status != http.StatusOK {
		t.Errorf("another key from the same address: %d %s", status, body)
	}
	if status, text := p.ask(t, "ana", "GET", "/agents", nil); status != http.StatusOK {
		t.Errorf("a person from the same address: %d %s", status, text)
	}
	if after := len(p.audit(t, "ana")); after != before {
		t.Errorf("the record grew by %d while it asked too fast", after-before)
	}
	ahead.Add(int64(time.Second))
	if status, _, body := mine.sent(t, s.url); status != http.StatusOK {
		t.Errorf("a second later: %d %s", status, body)
	}
	ahead.Add(int64(time.Minute))
	if err := s.road.TendOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	var lines []httpapi.AuditRow
	for _, r := range p.audit(t, "ana") {
		if r.Refusal != nil && r.Refusal.Code == "slow-down" {
			lines = append(lines, r)
		}
	}
	if len(lines) != 1 || lines[0].Count != tooMany+2 || lines[0].Via.Key != p.keyOf("bot") || lines[0].Person != p.ids["ana"] {
		t.Errorf("the record says %+v", lines)
	}
}

// TestAKeyIsReplacedWithoutAGap: both work until the overlap is over, and then
// only the new one does; what the old one was held to, the new one is.
func TestAKeyIsReplacedWithoutAGap(t *testing.T) {
	s, p, ahead := clocked(t, &serveCmd{})
	bot := p.agent(t, "bot", "ana", "edits", nil)
	var made struct{ ID, Key string }
	p.must(t, "ana", "POST", "/agents/"+bot+"/keys", map[string]any{"scopes": []string{"content:read"}, "collection": "news", "expiresInDays": 30}, &made)
	old := made
	p.must(t, "ana", "POST", "/agents/"+bot+"/keys", map[string]any{"rotates": old.ID, "overlapHours": 48}, &made)
	who := func(key string) (code string, me struct {
		Scopes             []string
		Collection, Notice string
	}) {
		t.Helper()
		_, code, body := call(key, "whoami", `{}`, "").sent(t, s.url)
		var got struct {
			Result struct {
				StructuredContent struct{ Whoami json.RawMessage }
			}
		}
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatal(err)
		}
		if code == "" {
			if err := json.Unmarshal(got.Result.StructuredContent.Whoami, &me); err != nil {
				t.Fatalf("%v: %s", err, body)
			}
		}
		return code, me
	}
	if code, me := who(old.Key); code != "" || !strings.Contains(me.Notice, "Another key has taken the place") {
		t.Errorf("the old one: %q %+v", code, me)
	}
	if code, me := who(made.Key); code != "" || me.Collection != "news" || !slices.Equal(me.Scopes, []string{"content:read"}) || !strings.HasPrefix(me.Notice, "Your key ends at ") {
		t.Errorf("the new one: %q %+v", code, me)
	}
	ahead.Store(int64(48*time.Hour - time.Second))
	if code, _ := who(old.Key); code != "" {
		t.Errorf("a second before the overlap is over: %q", code)
	}
	ahead.Store(int64(48 * time.Hour))
	if code, _ := who(old.Key); code != "revoked" {
		t.Errorf("when it is over: %q", code)
	}
	if code, _ := who(made.Key); code != "" {
		t.Errorf("the new one then: %q", code)
	}
	for name, body := range map[string]map[string]any{
		"for longer than a week": {"rotates": made.ID, "overlapHours": 169},
		"one that is over":       {"rotates": old.ID},
		"one of nobody":          {"rotates": "key_06g0example00000000000000000"},
		"hours for nothing":      {"overlapHours": 1},
	} {
		if status, text := p.ask(t, "ana", "POST", "/agents/"+bot+"/keys", body); status < 400 || strings.Contains(string(text), "assent_") {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	a := agentAt(t, p, bot)
	i := slices.IndexFunc(a.Keys, func(k httpapi.Key) bool { return k.ID == old.ID })
	if k := a.Keys[i]; k.Next != made.ID || k.LastUsed.IsZero() || !strings.HasPrefix(old.Key, k.Prefix) || len(k.Prefix) < 10 || len(k.Prefix) > 14 || k.Made.IsZero() {
		t.Errorf("the old one is listed as %+v", k)
	}
	if text, err := json.Marshal(a); err != nil || strings.Contains(string(text), old.Key) {
		t.Errorf("the list has the key in it: %s %v", text, err)
	}
}

// agentAt is an agent as people are told of it over HTTP.
func agentAt(t *testing.T, p *inProcess, id string) httpapi.Agent {
	t.Helper()
	var page httpapi.AgentPage
	p.must(t, "ana", "GET", "/agents", nil, &page)
	i := slices.IndexFunc(page.Items, func(a httpapi.Agent) bool { return a.ID == id })
	if i < 0 {
		t.Fatalf("%s is not listed", id)
	}
	return page.Items[i]
}

// TestAKeysEndIsBroughtUpOnce: a week before, the agent, its owner and the
// record say so; once another is in its place, nobody needs to be told.
func TestAKeysEndIsBroughtUpOnce(t *testing.T) {
	s, p, ahead := clocked(t, &serveCmd{})
	bot := p.agent(t, "bot", "ana", "edits", nil)
	var made struct{ ID, Key string }
	p.must(t, "ana", "POST", "/agents/"+bot+"/keys", map[string]any{"expiresInDays": 30}, &made)
	reminders := func() (n int) {
		t.Helper()
		if err := s.road.RemindOfKeys(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, r := range p.audit(t, "ana") {
			if r.Action == "key.remind" {
				n++
			}
		}
		return n
	}
	banner := func() bool {
		t.Helper()
		_, text := request(t, p.clients["ana"], "GET", s.url+"/", nil, nil)
		return strings.Contains(string(text), "A key of")
	}
	told := func() string {
		t.Helper()
		_, body := request(t, http.DefaultClient, "POST", s.url+"/mcp", json.RawMessage(handshake), map[string]string{"X-Api-Key": made.Key, "Accept": "application/json, text/event-stream"})
		return string(body)
	}
	const soon = "Tell your owner now"
	if n := reminders(); n != 0 || banner() || strings.Contains(told(), soon) {
		t.Errorf("a month before, it was brought up %d times", n)
	}
	ahead.Store(int64(23*24*time.Hour + time.Hour))
	p.signIn(t, "ana")
	for range 2 {
		if n := reminders(); n != 1 {
			t.Errorf("in the last week it was brought up %d times", n)
		}
	}
	if !banner() || !strings.Contains(told(), soon) || !slices.ContainsFunc(agentAt(t, p, bot).Keys, func(k httpapi.Key) bool { return k.ID == made.ID && k.EndsSoon }) {
		t.Errorf("nobody is told: %v %s", banner(), told())
	}
	p.must(t, "ana", "POST", "/agents/"+bot+"/keys", map[string]any{"rotates": made.ID}, nil)
	if banner() || reminders() != 1 || strings.Contains(told(), soon) {
		t.Error("it is still brought up with another in its place")
	}
}

// TestAKeyThatIsOverOpensNothing: revoked in the middle of a session, at its end
// by the log's time, or of another workspace.
func TestAKeyThatIsOverOpensNothing(t *testing.T) {
	s, p, ahead := clocked(t, &serveCmd{})
	p.owner(t, "eve", "other")
	bot := p.agent(t, "bot", "ana", "edits", nil)
	p.agent(t, "stranger", "eve", "auto", nil)
	art := p.act(t, "bot", "article.create", map[string]any{"site": "main", "slug": "menu", "title": "Menu", "body": ""})
	var short struct{ ID, Key string }
	p.must(t, "ana", "POST", "/agents/"+bot+"/keys", map[string]any{"expiresInDays": 1}, &short)

	edit := func(key string) string {
		t.Helper()
		_, code, _ := call(key, "article_update", `{"article":"`+art.Target.ID+`","title":"T`+strconv.FormatInt(ahead.Load(), 36)+`"}`, "").sent(t, s.url)
		return code
	}
	list := func(key string) (int, string) {
		t.Helper()
		r := call(key, "", `{}`, "").with("Mcp-Method", "tools/list")
		r.body = `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{` + aboutItself + `}}`
		r.header = maps.Clone(r.header)
		delete(r.header, "Mcp-Name")
		status, _, body := r.sent(t, s.url)
		return status, string(body)
	}
	if code := edit(p.keys["stranger"]); code != "not-found" {
		t.Errorf("a key of another workspace: %q", code)
	}
	if code := edit(short.Key); code != "" {
		t.Errorf("before its end: %q", code)
	}
	if _, text := list(short.Key); !strings.Contains(text, "article_update") {
		t.Errorf("before its end it lists %s", text)
	}
	ahead.Store(int64(24 * time.Hour))
	if code := edit(short.Key); code != "revoked" {
		t.Errorf("at its end: %q", code)
	}
	if _, text := list(short.Key); strings.Contains(text, "article_update") || !strings.Contains(text, "revoked") {
		t.Errorf("at its end it lists %s", text)
	}
	// In a session that was opened before.
	hello := raw{key: p.keys["bot"], body: handshake}
	_, header := hello.sentFor(t, s.url)
	session := header.Get("Mcp-Session-Id")
	within := func() (int, string, []byte) {
		r := raw{key: p.keys["bot"], header: map[string]string{"Mcp-Session-Id": session, "Mcp-Protocol-Version": "2025-11-25", "Accept": "application/json, text/event-stream"}}
		r.body = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"article_update","arguments":{"article":"` + art.Target.ID + `","title":"In a session"}}}`
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/mcp", strings.NewReader(r.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Api-Key", r.key)
		for k, v := range r.header {
			req.Header.Set(k, v)
		}
		return outcomeIn(t, req)
	}
	if status, outcome, body := within(); status != http.StatusOK || outcome != "done" {
		t.Fatalf("%d %q %s", status, outcome, body)
	}
	if out := p.act(t, "ana", "key.revoke", map[string]any{"agent": bot, "key": p.keyOf("bot")}); out.Outcome != commands.Done {
		t.Fatalf("%+v", out)
	}
	if status, outcome, body := within(); outcome != "revoked" {
		t.Errorf("revoked in the middle of a session: %d %q %s", status, outcome, body)
	}
	if got := refusals(p.audit(t, "ana")); !slices.Contains(got, "article.update revoked") {
		t.Errorf("the audit has %v", got)
	}
}

// outcomeIn is the code of the refusal in an answer, plain or as a stream, or
// how the call ended.
func outcomeIn(t *testing.T, req *http.Request) (int, string, []byte) {
	t.Helper()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var text strings.Builder
	buf := make([]byte, 4096)
	for {
		n, err := res.Body.Read(buf)
		text.Write(buf[:n])
		if err != nil {
			break
		}
	}
	body := text.String()
	for line := range strings.Lines(body) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "data: ")
		var got struct {
			Result struct{ StructuredContent commands.Outcome }
		}
		if json.Unmarshal([]byte(line), &got) == nil && got.Result.StructuredContent.Outcome != "" {
			if no := got.Result.StructuredContent.Refusal; no != nil {
				return res.StatusCode, no.Code, []byte(body)
			}
			return res.StatusCode, got.Result.StructuredContent.Outcome, []byte(body)
		}
	}
	return res.StatusCode, "", []byte(body)
}

// TestAClientWithAKeyIsNeverSentToSignIn: whoever comes with keys only finds
// nothing that would make a client try to sign in instead.
func TestAClientWithAKeyIsNeverSentToSignIn(t *testing.T) {
	s := serving(t)
	for _, path := range []string{
		"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-authorization-server",
		"/.well-known/oauth-authorization-server/mcp", "/.well-known/openid-configuration", "/mcp/.well-known/oauth-protected-resource",
		"/mcp/.well-known/openid-configuration", "/register", "/authorize",
	} {
		status, text := request(t, http.DefaultClient, "GET", s.url+path, nil, nil)
		if status != http.StatusNotFound || strings.Contains(string(text), "endpoint") {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	for name, r := range map[string]raw{"no key": call("", "whoami", `{}`, ""), "a key that is none": call("assent_none", "whoami", `{}`, "")} {
		status, header := r.sentFor(t, s.url)
		if challenge := header.Get("WWW-Authenticate"); status != http.StatusUnauthorized || challenge != `Bearer realm="assent"` || header.Get("Link") != "" {
			t.Errorf("%s: %d, %q", name, status, header)
		}
	}
}

// TestAKeyForOneSiteSeesNothingOfAnother, whatever it asks by id or by name.
func TestAKeyForOneSiteSeesNothingOfAnother(t *testing.T) {
	s := serving(t)
	p := inProcessOf(t, s)
	p.owner(t, "ana", "home")
	bot := p.agent(t, "bot", "ana", "edits", nil)
	p.act(t, "ana", "site.create", map[string]any{"site": "second", "title": "Second"})
	there := p.act(t, "ana", "article.create", map[string]any{"site": "second", "slug": "there", "title": "Zebra", "body": ""}).Target.ID
	here := p.act(t, "ana", "article.create", map[string]any{"site": "main", "slug": "here", "title": "Here", "body": ""}).Target.ID
	var made struct{ ID, Key string }
	p.must(t, "ana", "POST", "/agents/"+bot+"/keys", map[string]any{"site": "main"}, &made)
	for name, c := range map[string]struct{ tool, args, code string }{
		"reads its own":         {"article_get", `{"article":"` + here + `"}`, ""},
		"reads by id":           {"article_get", `{"article":"` + there + `"}`, "not-found"},
		"reads by slug":         {"article_get", `{"site":"second","slug":"there"}`, "not-found"},
		"lists":                 {"article_list", `{"site":"second"}`, "not-found"},
		"reads the history":     {"version_list", `{"item":"` + there + `"}`, "not-found"},
		"compares":              {"version_diff", `{"item":"` + there + `"}`, "not-found"},
		"previews":              {"preview_create", `{"site":"second"}`, "not-found"},
		"edits its own":         {"article_update", `{"article":"` + here + `","title":"Here!"}`, ""},
		"edits":                 {"article_update", `{"article":"` + there + `","title":"There!"}`, "not-found"},
		"writes":                {"article_create", `{"site":"second","slug":"x","title":"X","body":""}`, "not-found"},
		"publishes":             {"site_publish", `{"site":"second"}`, "not-found"},
		"what is not there":     {"article_get", `{"article":"art_06g0example0000000000000000"}`, "not-found"},
		"a site that is no one": {"article_list", `{"site":"nowhere"}`, "not-found"},
	} {
		if _, code, body := call(made.Key, c.tool, c.args, "").sent(t, s.url); code != c.code || strings.Contains(string(body), "Zebra") {
			t.Errorf("%s: %q, want %q: %s", name, code, c.code, body)
		}
	}
	if _, _, body := call(made.Key, "site_list", `{}`, "").sent(t, s.url); strings.Contains(string(body), "second") {
		t.Errorf("it lists %s", body)
	}
	if _, code, _ := call(p.keys["bot"], "article_get", `{"article":"`+there+`"}`, "").sent(t, s.url); code != "" {
		t.Errorf("the agent's other key reads: %q", code)
	}
}

var onceMark = regexp.MustCompile(`name="once" value="([^"]+)"`)

// TestKeysAreMadeAndReplacedInTheConsole with what holds them, and the entries
// to paste are beside them.
func TestKeysAreMadeAndReplacedInTheConsole(t *testing.T) {
	s := serving(t)
	p := inProcessOf(t, s)
	p.owner(t, "ana", "home")
	bot := p.agent(t, "bot", "ana", "edits", nil)
	page := func() string {
		t.Helper()
		_, text := request(t, p.clients["ana"], "GET", s.url+"/agents/"+bot, nil, nil)
		return string(text)
	}
	send := func(form url.Values) string {
		t.Helper()
		form.Set("once", onceMark.FindStringSubmatch(page())[1])
		res, err := p.clients["ana"].PostForm(s.url+"/agents/"+bot+"/keys", form)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	shown := send(url.Values{"days": {"5"}, "own": {"yes"}, "collection": {"news"}, "site": {"main"}})
	if !strings.Contains(shown, "shown only now") || !strings.Contains(shown, "Bearer ${ASSENT_KEY}") {
		t.Fatalf("%s", shown)
	}
	newest := func() httpapi.Key {
		keys := agentAt(t, p, bot).Keys
		return slices.MaxFunc(keys, func(a, b httpapi.Key) int { return a.Made.Compare(b.Made) })
	}
	k := newest()
	if !slices.Equal(k.Scopes, []string{"site:read", "content:read", "content:write:own", "preview:create", "publish:own"}) || k.Collection != "news" || k.Site != "main" || !k.EndsSoon {
		t.Errorf("it made %+v", k)
	}
	for _, want := range []string{k.Prefix + "…", "in <bdi>news</bdi>", "on <bdi>main</bdi>", "mcp-remote", "modelcontextprotocol/inspector", "promptString"} {
		if !strings.Contains(page(), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	moved, err := p.clients["ana"].PostForm(s.url+"/agents/"+bot, url.Values{"site": {"main"}, "collection": {"news"}})
	if err != nil {
		t.Fatal(err)
	}
	_ = moved.Body.Close()
	if a := agentAt(t, p, bot); a.Site != "main" || a.Collection != "news" {
		t.Errorf("it works on %q in %q", a.Site, a.Collection)
	}
	send(url.Values{"rotates": {k.ID}})
	next := newest()
	if life := next.Expires.Sub(next.Made).Round(time.Minute); life != 5*24*time.Hour {
		t.Errorf("in its place is one that lives for %v", life)
	}
	if next.ID == k.ID || next.Collection != "news" || !slices.Equal(next.Scopes, k.Scopes) {
		t.Errorf("in its place is %+v", next)
	}
	if i := slices.IndexFunc(agentAt(t, p, bot).Keys, func(o httpapi.Key) bool { return o.ID == k.ID && o.Next == next.ID }); i < 0 {
		t.Errorf("the one before: %+v", agentAt(t, p, bot).Keys)
	}
}
