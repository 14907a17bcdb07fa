package httpapi

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assent/commands"
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
	refused := w.do("POST", "/api/v1/actions/whoami", "", withKey(made.Key))
	if p := w.problem(refused); refused.Code != http.StatusUnauthorized || p.Status != refused.Code || p.Code != "revoked" || refused.Header().Get("WWW-Authenticate") == "" {
		t.Errorf("with a revoked key: %d %+v", refused.Code, p)
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
	if res := w.do("POST", "/api/v1/proposals/"+w.held+"/approve", `{"parts":[2]}`, as(w.ada)); w.problem(res).Code != "invalid" {
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

func TestWhatMakesIdsAndNamesIsAskedForAtItsOwnAddress(t *testing.T) {
	w := newWorld(t)
	before := len(w.rows["home"])
	for name, c := range map[string]struct{ body, address string }{
		"person.seat":     {`{"role":"editor"}`, "POST /api/v1/people"},
		"person_seat":     {`{"person":"person_other","role":"owner"}`, "POST /api/v1/people"},
		"key.mint":        {`{"agent":` + quoted(w.agent) + `,"key":"key_mine"}`, "POST /api/v1/agents/{id}/keys"},
		"agent.create":    {`{"person":` + quoted(w.ada.Person) + `,"dry_run":true}`, "POST /api/v1/agents"},
		"workspace.found": {`{"founder":` + quoted(w.ada.Person) + `}`, "POST /api/v1/setup"},
	} {
		res := w.do("POST", "/api/v1/actions/"+name, c.body, as(w.ada))
		if p := w.problem(res); res.Code != http.StatusBadRequest || p.Code != "invalid" || !strings.Contains(p.Detail, c.address+".") {
			t.Errorf("%s: %d %s %q", name, res.Code, p.Code, p.Detail)
		}
		if res := w.do("POST", "/api/v1/actions/"+name, c.body, withKey(w.key)); w.problem(res).Code != "person-only" {
			t.Errorf("%s by an agent: %d", name, res.Code)
		}
	}
	if after := len(w.rows["home"]); after != before {
		t.Errorf("%d of them happened", after-before)
	}
	cy := w.seated("editor")
	for name, body := range map[string]string{
		"workspace.update": `{"paused":true}`, "agent.update": `{"agent":` + quoted(w.agent) + `,"paused":true}`,
		"key.revoke": `{"agent":` + quoted(w.agent) + `,"key":` + quoted(strings.TrimPrefix(w.key, "assent_")) + `}`, "person.unseat": `{"person":` + quoted(cy.Person) + `}`,
	} {
		if res := w.do("POST", "/api/v1/actions/"+name, body, as(w.ada)); res.Code != http.StatusOK {
			t.Errorf("%s: %d %s", name, res.Code, res.Body)
		}
	}
}

func TestNobodyEndsOrChangesTheirOwnSeat(t *testing.T) {
	w := newWorld(t)
	for name, body := range map[string]string{
		"person.unseat": `{"person":` + quoted(w.ada.Person) + `}`, "person_unseat": `{"person":` + quoted(w.ada.Person) + `,"dry_run":true}`,
		"person.seat": `{"person":` + quoted(w.ada.Person) + `,"role":"editor"}`,
	} {
		res := w.do("POST", "/api/v1/actions/"+name, body, as(w.ada))
		if p := w.problem(res); res.Code != http.StatusForbidden || p.Code != "permission" || !strings.Contains(p.Detail, "another owner") {
			t.Errorf("%s: %d %s", name, res.Code, res.Body)
		}
	}
	if role, _ := w.Role(t.Context(), "home", w.ada.Person); role != "owner" {
		t.Errorf("Ada is %q", role)
	}
	if res := w.do("POST", "/api/v1/actions/person.unseat", `{}`, as(w.ada)); w.problem(res).Code != "invalid" {
		t.Errorf("nobody in particular: %d", res.Code)
	}
}

func TestApprovingForAnAgentWhoseKeyIsGoneIsNotAQuestionOfSigningIn(t *testing.T) {
	w := newWorld(t)
	w.must("home", w.ada.Person, "key.revoke", object{"agent": w.agent, "key": strings.TrimPrefix(w.key, "assent_")})
	res := w.do("POST", "/api/v1/proposals/"+w.held+"/approve", `{}`, as(w.ada))
	if p := w.problem(res); res.Code != http.StatusForbidden || p.Code != "revoked" || res.Header().Get("WWW-Authenticate") != "" {
		t.Errorf("%d %+v", res.Code, p)
	}
	page := w.do("POST", "/proposals/"+w.held+"/approve", "digest=x", as(w.ada))
	if page.Code != http.StatusForbidden || !strings.Contains(page.Body.String(), "no longer works") {
		t.Errorf("%d %s", page.Code, page.Body)
	}
}

func TestAPersonsWordsHave500CharactersOfWhateverAlphabet(t *testing.T) {
	w := newWorld(t)
	long := strings.Repeat("ж", 500)
	for _, path := range []string{"actions/" + w.act + "/undo", "proposals/" + w.held + "/decline"} {
		res := w.do("POST", "/api/v1/"+path, `{"reason":`+quoted(long+"ж")+`}`, as(w.ada))
		if p := w.problem(res); p.Code != "invalid" || !strings.Contains(p.Detail, "501 characters") {
			t.Errorf("%s with 501: %d %q", path, res.Code, p.Detail)
		}
		if res := w.do("POST", "/api/v1/"+path, `{"reason":`+quoted(" "+long+"\n")+`}`, as(w.ada)); res.Code != http.StatusOK {
			t.Errorf("%s with 500: %d %s", path, res.Code, res.Body)
		}
	}
}

func TestAnAgentIsHeldToASiteThatIsThere(t *testing.T) {
	w := newWorld(t)
	agents := func() int {
		all, _ := w.Agents(t.Context(), "home")
		return len(all)
	}
	before := agents()
	for _, c := range [][3]string{
		{"POST", "/api/v1/agents", `{"name":"tidy","site":"nowhere"}`},
		{"PATCH", "/api/v1/agents/" + w.agent, `{"site":"nowhere"}`},
	} {
		if res := w.do(c[0], c[1], c[2], as(w.ada)); res.Code != http.StatusNotFound || w.problem(res).Code != "not-found" {
			t.Errorf("%s: %d %s", c[0], res.Code, res.Body)
		}
	}
	if agents() != before {
		t.Error("an agent was made")
	}
	if res := w.do("POST", "/api/v1/agents", `{"name":"tidy","site":"main"}`, as(w.ada)); res.Code != http.StatusOK || agents() != before+1 {
		t.Errorf("on a site that is there: %d %s", res.Code, res.Body)
	}
	if res := w.do("PATCH", "/api/v1/agents/"+w.agent, `{"site":""}`, as(w.ada)); res.Code != http.StatusOK {
		t.Errorf("on all sites: %d %s", res.Code, res.Body)
	}
}

func TestAKeyEndsInOneToManyDaysOrNotAtAll(t *testing.T) {
	w := newWorld(t)
	keys := len(w.accounts.keys)
	for days, want := range map[string]int{"0": 400, "-1": 400, "3651": 400, "1": 200, "3650": 200, "null": 200} {
		res := w.do("POST", "/api/v1/agents/"+w.agent+"/keys", `{"expiresInDays":`+days+`}`, as(w.ada))
		if res.Code != want {
			t.Errorf("%s days: %d %s", days, res.Code, res.Body)
		}
	}
	if made := len(w.accounts.keys) - keys; made != 3 {
		t.Errorf("%d keys were made, want 3", made)
	}
}

func TestAListIsReadPageByPageWithoutLosingOrRepeating(t *testing.T) {
	w := newWorld(t)
	want := map[string][]string{}
	for i := range 5 {
		w.publish(strings.Repeat("again ", i+1))
		w.must("home", w.ada.Person, "agent.create", object{"person": w.ada.Person})
	}
	for _, row := range w.rows["home"] {
		want["audit?"] = append(want["audit?"], string(row.ID))
	}
	for _, p := range w.proposals["home"] {
		want["proposals?state=waiting&"] = append([]string{p.ID}, want["proposals?state=waiting&"]...)
	}
	want["proposals?"] = want["proposals?state=waiting&"]
	want["proposals?state=declined&"] = nil
	agents, _ := w.Agents(t.Context(), "home")
	for _, a := range agents {
		want["agents?"] = append(want["agents?"], a.ID)
	}
	for path, want := range want {
		var ids []string
		for cursor := ""; ; {
			var page struct {
				Items []struct{ ID string }
				Next  string
			}
			res := w.do("GET", "/api/v1/"+path+"limit=2&cursor="+cursor, "", as(w.ada))
			w.decode(res, &page)
			if page.Items == nil || len(page.Items) > 2 {
				t.Fatalf("%s: %d %s", path, res.Code, res.Body)
			}
			for _, row := range page.Items {
				ids = append(ids, row.ID)
			}
			if cursor = page.Next; cursor == "" {
				break
			}
		}
		if diff := cmp.Diff(want, ids); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
}

func TestAListRefusesWhatItDoesNotUnderstand(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{"audit", "proposals", "agents", "sites/main/versions"} {
		for _, query := range []string{"limit=0", "limit=101", "limit=many", "limit=1&limit=2", "cursor=nonsense", "sort=up", "state=asleep", "state=waiting&state=declined"} {
			res := w.do("GET", "/api/v1/"+path+"?"+query, "", as(w.ada))
			if res.Code != http.StatusBadRequest || w.problem(res).Code != "invalid" {
				t.Errorf("%s?%s: %d %s", path, query, res.Code, res.Body)
			}
		}
		if res := w.do("GET", "/api/v1/"+path+"?limit=100&cursor=&after=1", "", as(w.ada)); res.Code != http.StatusOK {
			t.Errorf("%s: %d %s", path, res.Code, res.Body)
		}
	}
}

func TestAQueryWaitsForThePositionItNames(t *testing.T) {
	w := newWorld(t)
	if res := w.do("GET", "/api/v1/audit?after=1", "", as(w.ada)); res.Code != http.StatusOK {
		t.Errorf("%d", res.Code)
	}
	res := w.do("GET", "/api/v1/audit?after=999999", "", as(w.ada))
	if p := w.problem(res); res.Code != http.StatusServiceUnavailable || p.Code != "busy" || !strings.Contains(p.Detail, "999999 has not been reached yet") || res.Header().Get("Retry-After") == "" {
		t.Errorf("beyond the log: %d %+v", res.Code, p)
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
		if there := doc.Paths["/api/v1/actions/"+a.Name]["post"] != nil; there == (doors[a.Name] != "") {
			t.Errorf("%s is missing, or is refused there", a.Name)
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
