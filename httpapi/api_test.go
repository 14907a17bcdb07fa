package httpapi

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assent/commands"
	"assent/domain"
)

func TestAnAgentAndAPersonTakeTheSameRoadOverHTTP(t *testing.T) {
	for name, c := range map[string]struct {
		action, body string
		agent        bool
		status       int
		outcome      string
	}{
		"an agent's edit runs":         {"article.create", `{"site":"main","slug":"a","title":"A","body":"x"}`, true, 200, "done"},
		"by its tool name":             {"article_create", `{"site":"main","slug":"b","title":"B","body":"x"}`, true, 200, "done"},
		"a dry run":                    {"article.create", `{"site":"main","slug":"c","title":"C","body":"x","dry_run":true}`, true, 200, "rehearsed"},
		"an agent's publish waits":     {"site.publish", `{"site":"main","items":[{"id":"main","version":1}]}`, true, 202, "waiting"},
		"a person's publish runs":      {"site.publish", `{"site":"main","items":[{"id":"main","version":1}]}`, false, 200, "done"},
		"a read":                       {"whoami", ``, true, 200, "done"},
		"an agent that wants more":     {"agent.update", `{"agent":"x","mode":"auto"}`, true, 403, "refused"},
		"what is never done":           {"site.delete", `{}`, false, 403, "refused"},
		"what nobody declared":         {"site.explode", `{}`, false, 400, "refused"},
		"an argument nobody asked for": {"article.create", `{"site":"main","slug":"d","title":"D","body":"x","x":1}`, false, 400, "refused"},
		"a site that is not there":     {"article.create", `{"site":"none","slug":"d","title":"D","body":"x"}`, false, 404, "refused"},
		"the same site a second time":  {"site.create", `{"site":"main","title":"Again"}`, false, 409, "refused"},
	} {
		w := newWorld(t)
		how := as(w.ada)
		if c.agent {
			how = withKey(w.key)
		}
		res := w.do("POST", "/api/v1/actions/"+c.action, c.body, how)
		var got struct {
			Outcome json.RawMessage
			Code    string
		}
		w.decode(res, &got)
		outcome := strings.Trim(string(got.Outcome), `"`)
		if got.Code != "" {
			var inner commands.Outcome
			if err := json.Unmarshal(got.Outcome, &inner); err != nil {
				t.Fatal(err)
			}
			outcome = inner.Outcome
		}
		if res.Code != c.status || outcome != c.outcome {
			t.Errorf("%s: %d %s, want %d %s: %s", name, res.Code, outcome, c.status, c.outcome, res.Body)
		}
	}
}

func TestAnAgentIsMadeGivenAKeyChangedAndItsKeyRevoked(t *testing.T) {
	w := newWorld(t)
	var made struct{ ID, Key, Outcome string }
	w.decode(w.do("POST", "/api/v1/agents", `{"name":"tidy","mode":"plan","scopes":["content:read","content:write","site:read"]}`, as(w.ada)), &made)
	agent := made.ID
	w.accounts.behind[agent] = w.ada.Person
	res := w.do("POST", "/api/v1/agents/"+agent+"/keys", `{"expiresInDays":30}`, as(w.ada))
	w.decode(res, &made)
	if res.Code != http.StatusOK || !strings.HasPrefix(made.Key, "assent_") || res.Header().Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %s", res.Code, res.Body)
	}
	write := func() int {
		return w.do("POST", "/api/v1/actions/article.create", `{"site":"main","slug":"z`+w.now.Format("150405")+`","title":"Z","body":"z"}`, withKey(made.Key)).Code
	}
	if code := write(); code != http.StatusForbidden {
		t.Errorf("in plan mode: %d", code)
	}
	if res := w.do("PATCH", "/api/v1/agents/"+agent, `{"mode":"edits","name":"Tidy up"}`, as(w.ada)); res.Code != http.StatusOK {
		t.Fatalf("%d %s", res.Code, res.Body)
	}
	if code := write(); code != http.StatusOK {
		t.Errorf("in edits mode: %d", code)
	}
	w.do("PATCH", "/api/v1/workspace", `{"paused":true}`, as(w.ada))
	if code := write(); code != http.StatusForbidden {
		t.Errorf("while all are paused: %d", code)
	}
	w.do("PATCH", "/api/v1/workspace", `{"paused":false}`, as(w.ada))
	if res := w.do("PATCH", "/api/v1/agents/"+agent, `{"mode":"bypass"}`, as(w.ada)); res.Code != http.StatusForbidden {
		t.Errorf("bypass: %d", res.Code)
	}
	list := w.do("GET", "/api/v1/agents", "", as(w.ada)).Body.String()
	if !strings.Contains(list, "Tidy up") || strings.Contains(list, made.Key) {
		t.Errorf("the list lacks the name or shows the key: %s", list)
	}
	if res := w.do("DELETE", "/api/v1/agents/"+agent+"/keys/"+made.ID, "", as(w.ada)); res.Code != http.StatusOK {
		t.Fatalf("%d %s", res.Code, res.Body)
	}
	if code := write(); code != http.StatusUnauthorized {
		t.Errorf("with a revoked key: %d", code)
	}
	w.do("PATCH", "/api/v1/agents/"+agent, `{"paused":true}`, as(w.ada))
	keys := len(w.accounts.keys)
	if res := w.do("POST", "/api/v1/agents/agent_none/keys", `{}`, as(w.ada)); res.Code != http.StatusNotFound || len(w.accounts.keys) != keys {
		t.Errorf("a key for nobody: %d, %d keys", res.Code, len(w.accounts.keys)-keys)
	}
}

func TestAProposalIsDecidedOnceAndWhoComesSecondIsTold(t *testing.T) {
	w := newWorld(t)
	var p Proposal
	w.decode(w.do("GET", "/api/v1/proposals/"+w.held, "", as(w.ada)), &p)
	if p.State != "waiting" || p.Reason != "Spring is here. "+canary || !strings.HasPrefix(p.Preview, origin+"/preview/") || p.Names[w.agent] != canary+" desk" {
		t.Errorf("%+v", p)
	}
	if res := w.do("POST", "/api/v1/proposals/"+w.held+"/decline", `{"code":"not-now"}`, as(w.ada)); res.Code != http.StatusBadRequest {
		t.Errorf("a no without a reason: %d", res.Code)
	}
	if res := w.do("POST", "/api/v1/proposals/"+w.held+"/approve", `{"parts":[1]}`, as(w.ada)); w.problem(res).Code != "unsupported" {
		t.Errorf("a part: %d", res.Code)
	}
	res := w.do("POST", "/api/v1/proposals/"+w.held+"/approve", `{"digest":`+quoted(p.Digest)+`}`, as(w.ada))
	var out commands.Outcome
	w.decode(res, &out)
	if res.Code != http.StatusOK || out.Outcome != commands.Done {
		t.Fatalf("%d %s", res.Code, res.Body)
	}
	for _, path := range []string{"approve", "decline"} {
		res := w.do("POST", "/api/v1/proposals/"+w.held+"/"+path, `{`+map[string]string{"approve": "", "decline": `"reason":"late"`}[path]+`}`, as(w.ada))
		if p := w.problem(res); res.Code != http.StatusConflict || p.Code != "already-decided" {
			t.Errorf("%s after the fact: %d %s", path, res.Code, p.Code)
		}
	}
	w = newWorld(t)
	w.moved = &commands.Moved{ID: w.held, Digest: "now"}
	res = w.do("POST", "/api/v1/proposals/"+w.held+"/approve", `{"digest":"then"}`, as(w.ada))
	if p := w.problem(res); res.Code != http.StatusConflict || p.Code != "changed-since-shown" || !strings.Contains(res.Body.String(), `"digest":"now"`) {
		t.Errorf("%d %s", res.Code, res.Body)
	}
}

func TestAnActionIsFoundReadAndTakenBackFor24Hours(t *testing.T) {
	w := newWorld(t)
	var row AuditRow
	w.decode(w.do("GET", "/api/v1/audit/"+w.act, "", as(w.ada)), &row)
	if row.Reason != "the committee asked" || row.Undo == nil || !row.Undo.Until.Equal(w.now.Add(24*time.Hour)) {
		t.Fatalf("%+v", row)
	}
	if res := w.do("POST", "/api/v1/actions/"+w.act+"/undo", "", as(w.ada)); res.Code != http.StatusOK {
		t.Fatalf("%d %s", res.Code, res.Body)
	}
	w.decode(w.do("GET", "/api/v1/audit/"+w.act, "", as(w.ada)), &row)
	if row.Undone == "" || w.state(w.stream("home", "article", row.Target.ID)).Fields() != nil {
		t.Errorf("it is still there: %+v", row)
	}
	w.pass(24 * time.Hour)
	live, _ := w.accounts.NewSession(t.Context(), w.ada.Seat)
	var page AuditPage
	w.decode(w.do("GET", "/api/v1/audit", "", as(live)), &page)
	for _, row := range page.Items {
		if row.Undo != nil {
			t.Errorf("%s is offered for undo after a day", row.Action)
		}
	}
}

func TestAListIsReadPageByPageWithoutLosingOrRepeating(t *testing.T) {
	w := newWorld(t)
	var ids []domain.ID
	for cursor := ""; ; {
		var page AuditPage
		w.decode(w.do("GET", "/api/v1/audit?limit=2&cursor="+cursor, "", as(w.ada)), &page)
		for _, row := range page.Items {
			ids = append(ids, row.ID)
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	var want []domain.ID
	for _, row := range w.rows["home"] {
		want = append(want, row.ID)
	}
	if diff := cmp.Diff(want, ids); diff != "" {
		t.Error(diff)
	}
}

func TestAQueryWaitsForThePositionItNames(t *testing.T) {
	w := newWorld(t)
	if res := w.do("GET", "/api/v1/audit?after=1", "", as(w.ada)); res.Code != http.StatusOK {
		t.Errorf("%d", res.Code)
	}
	if res := w.do("GET", "/api/v1/audit?after=999999", "", as(w.ada)); res.Code != http.StatusServiceUnavailable || w.problem(res).Code != "busy" {
		t.Errorf("beyond the log: %d", res.Code)
	}
	if res := w.do("GET", "/api/v1/audit?after=soon", "", as(w.ada)); w.problem(res).Code != "invalid" {
		t.Errorf("no position: %d", res.Code)
	}
}

func TestTheReferenceNamesEveryActionAndEveryRouteThatExists(t *testing.T) {
	w := newWorld(t)
	var doc struct {
		OpenAPI string
		Paths   map[string]map[string]json.RawMessage
	}
	w.decode(w.do("GET", "/api/v1/openapi.json", ""), &doc)
	if doc.OpenAPI != "3.1.0" {
		t.Errorf("version %q", doc.OpenAPI)
	}
	for _, a := range w.registry.All() {
		if doc.Paths["/api/v1/actions/"+a.Name]["post"] == nil {
			t.Errorf("%s is missing", a.Name)
		}
	}
	for _, rt := range w.server.routes() {
		if strings.HasPrefix(rt.path, "/api/") && !strings.HasSuffix(rt.path, "/actions/{action}") && doc.Paths[rt.path][strings.ToLower(rt.method)] == nil {
			t.Errorf("%s %s is missing", rt.method, rt.path)
		}
	}
}

func TestTheInstanceTellsAProgramWhatItMayExpect(t *testing.T) {
	w := newWorld(t)
	var got instance
	w.decode(w.do("GET", "/api/v1/instance", "", withKey(w.key)), &got)
	if got.AgentModes.Default != "edits" || len(got.AgentModes.Modes) != 5 || got.AgentModes.AutoPublishLimit != 20 || got.Workspace != "home" {
		t.Errorf("%+v", got)
	}
}
