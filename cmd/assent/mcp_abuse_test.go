package main

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"assent/commands"
	"assent/httpapi"
)

// raw is a request to the door as any program can make it.
type raw struct {
	key, body string
	header    map[string]string
	host      string
	query     string
}

const aboutItself = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"url":{}}}}`

// call is a tool call of the new age. What comes more goes beside the arguments.
func call(key, tool, args, more string) raw {
	return raw{
		key:  key,
		body: `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{` + aboutItself + more + `,"name":"` + tool + `","arguments":` + args + `}}`,
		header: map[string]string{
			"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool,
		},
	}
}

func (r raw) with(name, value string) raw {
	r.header = maps.Clone(r.header)
	if r.header == nil {
		r.header = map[string]string{}
	}
	r.header[name] = value
	return r
}

// sent sends it and gives the status, and the code of the refusal if it is one.
func (r raw) sent(t *testing.T, url string) (status int, code string, body []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/mcp"+r.query, strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if r.key != "" {
		req.Header.Set("X-Api-Key", r.key)
	}
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	if r.host != "" {
		req.Host = r.host
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if body, err = io.ReadAll(res.Body); err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Error  struct{ Data struct{ Code string } }
		Result struct{ StructuredContent commands.Outcome }
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		t.Fatalf("%d %q: %v", res.StatusCode, body, err)
	}
	code = answer.Error.Data.Code
	if no := answer.Result.StructuredContent.Refusal; no != nil {
		code = no.Code
	}
	return res.StatusCode, code, body
}

// TestWhatAnAgentTriesIsRefusedAndRecorded tries what a hostile client would,
// with a key, and finds each refusal in the audit under its code.
func TestWhatAnAgentTriesIsRefusedAndRecorded(t *testing.T) {
	s := serving(t)
	p := inProcessOf(t, s)
	p.owner(t, "ana", "home")
	p.owner(t, "eve", "other")
	p.agent(t, "bot", "ana", "edits", nil)
	p.agent(t, "second", "ana", "edits", nil)
	p.agent(t, "stranger", "eve", "edits", nil)
	art := p.act(t, "bot", "article.create", map[string]any{"site": "main", "slug": "menu", "title": "Menu", "body": ""})
	publish := `{"site":"main","items":[{"id":"` + art.Target.ID + `"}]}`
	state := stateOf(t, s.url, call(p.keys["bot"], "site_publish", publish, ""))
	accept := `,"inputResponses":{"decide":{"action":"accept","content":{"approve":true}}},"requestState":"`
	bent := []byte(state)
	bent[len(bent)/2] ^= 1
	mine := p.keys["bot"]

	for _, c := range []struct {
		name         string
		raw          raw
		who          string // in whose audit it is; ana's when left out
		status       int
		code, action string
	}{
		{"a key twice", call(mine, "article_update", `{"article":"a","article":"b"}`, ""), "", 400, "malformed", "unknown"},
		{"a key twice but for its case", call(mine, "article_update", `{"article":"a","ARTICLE":"b"}`, ""), "", 400, "malformed", "unknown"},
		{"too deep", call(mine, "article_update", strings.Repeat("[", 99)+strings.Repeat("]", 99), ""), "", 400, "malformed", "unknown"},
		{"too large", call(mine, "article_update", `{"body":"`+strings.Repeat("x", 1<<20)+`"}`, ""), "", 413, "too-large", "unknown"},
		{"many unknown arguments", call(mine, "article_update", `{"a":1,"b":2,"c":3}`, ""), "", 200, "invalid", "article.update"},
		{"a mode of one's own in the arguments", call(mine, "site_publish", `{"site":"main","mode":"bypass"}`, ""), "", 200, "invalid", "site.publish"},
		{"a header that names another tool", call(mine, "site_publish", publish, "").with("Mcp-Name", "whoami"), "", 400, "malformed", "site.publish"},
		{"a header that names another method", call(mine, "site_publish", publish, "").with("Mcp-Method", "tools/list"), "", 400, "malformed", "site.publish"},
		{"a header of another version", call(mine, "site_publish", publish, "").with("Mcp-Protocol-Version", "2027-01-01"), "", 400, "malformed", "site.publish"},
		{"a state that was bent", call(mine, "site_publish", publish, accept+string(bent)+`"`), "", 400, "invalid", "site.publish"},
		{"a state that was cut", call(mine, "site_publish", publish, accept+state[:len(state)-9]+`"`), "", 400, "invalid", "site.publish"},
		{"a state for other arguments", call(mine, "site_publish", `{"site":"main"}`, accept+state+`"`), "", 400, "invalid", "site.publish"},
		{"a state for another tool", call(mine, "article_remove", `{"article":"`+art.Target.ID+`"}`, accept+state+`"`), "", 400, "invalid", "article.remove"},
		{"a colleague's state", call(p.keys["second"], "site_publish", publish, accept+state+`"`), "", 400, "invalid", "site.publish"},
		{"a state of another workspace", call(p.keys["stranger"], "site_publish", publish, accept+state+`"`), "eve", 400, "invalid", "site.publish"},
		{"approving", call(mine, "proposal.approve", `{"proposal":"prop_1"}`, ""), "", 200, "never", "proposal.approve"},
		{"making an agent", call(mine, "agent_create", `{"person":"`+p.ids["ana"]+`","mode":"auto"}`, ""), "", 200, "person-only", "agent.create"},
		{"a confirmation nobody allowed", call(mine, "article_update", `{"article":"`+art.Target.ID+`","title":"minion","confirm_token":"yes"}`, ""), "", 200, "not-a-person", "article.update"},
	} {
		t.Run(c.name, func(t *testing.T) {
			who := c.who
			if who == "" {
				who = "ana"
			}
			before := refusals(p.audit(t, who))
			status, code, body := c.raw.sent(t, s.url)
			if status != c.status || code != c.code {
				t.Errorf("%d %q, want %d %q: %.300s", status, code, c.status, c.code, body)
			}
			news := refusals(p.audit(t, who))[len(before):]
			if !slices.Equal(news, []string{c.action + " " + c.code}) {
				t.Errorf("the audit has %v, want %s %s", news, c.action, c.code)
			}
		})
	}
	for _, who := range []string{"ana", "eve"} {
		for _, r := range p.audit(t, who) {
			if text, err := json.Marshal(r); err != nil || bytes.Contains(text, []byte(state[:40])) || bytes.Contains(text, []byte("minion")) {
				t.Errorf("%v: the audit repeats what was sent: %s", err, text)
			}
		}
	}
	if status, _ := p.live(t, "main", "/posts/menu"); status != http.StatusNotFound {
		t.Errorf("it was published: %d", status)
	}
}

// stateOf is what a call is answered with that a person has to decide on.
func stateOf(t *testing.T, url string, r raw) string {
	t.Helper()
	_, _, body := r.sent(t, url)
	var first struct {
		Result struct{ ResultType, RequestState string }
	}
	if err := json.Unmarshal(body, &first); err != nil || first.Result.ResultType != "input_required" {
		t.Fatalf("%s, %v", body, err)
	}
	return first.Result.RequestState
}

// refusals are the refusals in an audit, oldest first, each as often as it was.
func refusals(rows []httpapi.AuditRow) []string {
	var list []string
	for _, r := range rows {
		if r.Outcome == commands.Refused && r.Principal.IsAgent() {
			list = append(list, r.Action+" "+r.Refusal.Code)
		}
	}
	return list
}

// TestAModeOrScopeThatIsClaimedIsNotOne: what a client says of itself beside
// its call changes nothing about what it may do.
func TestAModeOrScopeThatIsClaimedIsNotOne(t *testing.T) {
	s := serving(t)
	p := inProcessOf(t, s)
	p.owner(t, "ana", "home")
	p.agent(t, "bot", "ana", "edits", []string{"site:read", "content:read", "content:write"})
	claims := strings.Replace(aboutItself, `{`, `{"mode":"bypass","assent/mode":"bypass","scopes":["publish"],"assent/scopes":["publish"],"principal":"person:ana",`, 1)
	r := call(p.keys["bot"], "site_publish", `{"site":"main"}`, "")
	r.body = strings.Replace(r.body, aboutItself, claims, 1)
	if status, code, body := r.sent(t, s.url); status != http.StatusOK || code != "scope" {
		t.Errorf("%d %s: %s", status, code, body)
	}
	if news := refusals(p.audit(t, "ana")); !slices.Equal(news, []string{"site.publish scope"}) {
		t.Errorf("the audit has %v", news)
	}
	for _, row := range p.audit(t, "ana") {
		if row.Principal.IsAgent() && row.Mode != "edits" {
			t.Errorf("it is recorded as %q", row.Mode)
		}
	}
}

// TestWhoCannotBeToldApartIsNotInTheRecord: whoever comes without a key that is
// known, or from where nobody may come, is refused and leaves nothing.
func TestWhoCannotBeToldApartIsNotInTheRecord(t *testing.T) {
	s := serving(t)
	p := inProcessOf(t, s)
	p.owner(t, "ana", "home")
	p.agent(t, "bot", "ana", "edits", nil)
	mine := p.keys["bot"]
	before := len(p.audit(t, "ana"))
	for _, c := range []struct {
		name   string
		raw    raw
		status int
		code   string
	}{
		{"no key", call("", "whoami", `{}`, ""), 401, "unauthorised"},
		{"a cookie", call("", "whoami", `{}`, "").with("Cookie", "session="+mine), 401, "unauthorised"},
		{"a key that is none", call("assent_none", "whoami", `{}`, ""), 401, "unauthorised"},
		{"another site's page", call(mine, "whoami", `{}`, "").with("Origin", "https://evil.example"), 403, "origin"},
		{"a page without an origin", call(mine, "whoami", `{}`, "").with("Origin", "null"), 403, "origin"},
		{"a name that was made to lead here", func() raw { r := call(mine, "whoami", `{}`, ""); r.host = "rebound.evil.example"; return r }(), 403, "host"},
		{"a key in the address", func() raw { r := call("", "whoami", `{}`, ""); r.query = "?key=" + mine; return r }(), 400, "invalid"},
	} {
		if status, code, body := c.raw.sent(t, s.url); status != c.status || code != c.code {
			t.Errorf("%s: %d %q, want %d %q: %s", c.name, status, code, c.status, c.code, body)
		}
	}
	if after := len(p.audit(t, "ana")); after != before {
		t.Errorf("the audit grew by %d", after-before)
	}
}
