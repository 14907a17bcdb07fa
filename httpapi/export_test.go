package httpapi

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assent/commands"
	"assent/domain"
)

// rowsOfAllSorts are lines as they come, and one in which everybody wrote what
// could do harm.
func rowsOfAllSorts() []AuditRow {
	at := time.Date(2026, 3, 1, 9, 30, 0, 123456000, time.UTC)
	held := &domain.Verdict{Answer: domain.Propose, Cause: "tool", Reason: "Publishing waits for a person.", Rules: "r1"}
	return []AuditRow{
		{ID: "act_1", Position: 1, At: at, Action: "article.update", Principal: domain.Principal{Kind: domain.KindAgent, ID: "agent_1"}, Person: "person_ada", Mode: "edits", Skill: "news",
			Via: domain.Via{Key: "key_1"}, Client: domain.Client{Name: "writer", Version: "1"}, Target: &commands.Target{Kind: "article", ID: "art_1", Version: 2}, Title: `=HYPERLINK("http://x")`, Outcome: "done",
			Changes: []domain.Line{{Field: "title", Before: "a", After: "=1+1"}}, Reason: "@SUM(1)", Undone: "act_9"},
		{ID: "act_2", Position: 2, At: at, Action: "site.publish", Principal: domain.Principal{Kind: domain.KindAgent, ID: "agent_1"}, Person: "person_gone", Outcome: "waiting", Verdict: held, Proposal: "prop_1", DecidedBy: "person_ada"},
		{ID: "act_3", Position: 3, At: at, Action: "page.remove", Principal: domain.Principal{Kind: domain.KindPerson, ID: "person_ada"}, Via: domain.Via{Session: "sess_1"}, Outcome: "refused", Count: 4,
			Refusal: &domain.Refusal{Code: "permission", Reason: "You may not."}},
		{ID: "act_4", Position: 4, At: at, Action: "site.create", Principal: domain.Principal{Kind: domain.KindSystem, ID: "setup"}, Outcome: "unknown"},
		{ID: "act_5", Position: 5, At: at, Action: "site.publish", Principal: domain.Principal{Kind: domain.KindPerson, ID: "local:ann"}, Via: domain.Via{Local: "ann"}, Outcome: "done", Yes: &Yes{Kind: "approval", By: "person_gone"}},
	}
}

var known = map[string]string{"person_ada": "Ada, \"the\" owner\r\n=cmd|' /C calc'!A0", "agent_1": "+desk"}

func exported(t *testing.T, form string) string {
	t.Helper()
	var out bytes.Buffer
	e, err := NewExport(form, &out, Exported{Source: "https://assent.example.org", Workspace: "home", Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rowsOfAllSorts() {
		if err := e.Row(row, known); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.End(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestNoCellOfASpreadsheetIsAFormula(t *testing.T) {
	lines, err := csv.NewReader(strings.NewReader(exported(t, "csv"))).ReadAll()
	if err != nil || len(lines) != 6 {
		t.Fatal(len(lines), err)
	}
	column := func(line int, name string) string { return lines[line][slices.Index(lines[0], name)] }
	for i, line := range lines[1:] {
		for n, cell := range line {
			if bare := strings.TrimLeft(cell, " \t\r\n"); bare != "" && strings.ContainsAny(bare[:1], "=+-@|%") || strings.HasPrefix(cell, "\t") {
				t.Errorf("line %d, %s is %q", i, lines[0][n], cell)
			}
		}
	}
	for name, want := range map[string]string{
		"principal_name": "'+desk", "target_title": `'=HYPERLINK("http://x")`, "reason": "'@SUM(1)", "position": "1", "time": "2026-03-01T09:30:00.123456Z",
		"target_version": "2", "client": "writer 1", "undone_by": "act_9", "key": "key_1", "changes": `[{"field":"title","before":"a","after":"=1+1"}]`,
	} {
		if got := column(1, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if column(2, "person_name") != "(erased)" || column(2, "cause") != "tool" || column(2, "answer") != "propose" || column(3, "code") != "permission" || column(3, "count") != "4" || column(5, "yes_kind") != "approval" {
		t.Errorf("%q", lines)
	}
	if names := column(3, "principal_name"); strings.Count(names, "\n") != 1 || !strings.Contains(names, `"the"`) {
		t.Errorf("what is quoted is read back as %q", names)
	}
}

func TestACellIsInertWhateverItBeginsWith(t *testing.T) {
	for cell, want := range map[string]string{
		"": "", "plain": "plain", "a=b": "a=b", "=1": "'=1", " =1": "' =1", "\t=1": "'\t=1", "\rx": "'\rx", "\nx": "'\nx", "-1": "'-1", "+1": "'+1", "@x": "'@x",
		"'x": "''x", "\u00a0=1": "'\u00a0=1", "＝1": "'＝1", "\ufeff=1": "'\ufeff=1", "x\x00=1": "x\uFFFD=1", "   ": "'   ", "é": "é",
	} {
		if got := inertCell(cell); got != want {
			t.Errorf("%q becomes %q, want %q", cell, got, want)
		}
	}
}

func TestAnExportedLineIsARowAsTheAuditGivesIt(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(exported(t, "jsonl")), "\n")
	if len(lines) != 5 {
		t.Fatalf("%d lines", len(lines))
	}
	for i, want := range rowsOfAllSorts() {
		var got struct {
			AuditRow
			Names map[string]string
		}
		if err := json.Unmarshal([]byte(lines[i]), &got); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got.AuditRow); d != "" {
			t.Error(d)
		}
	}
	if !strings.Contains(lines[1], `"person_gone":"(erased)"`) || !strings.Contains(lines[4], `"person_gone":"(erased)"`) {
		t.Errorf("whoever was erased: %s", lines[1])
	}
}

func TestAnExportOfEventsIsCloudEvents(t *testing.T) {
	var batch []map[string]any
	if err := json.Unmarshal([]byte(exported(t, "cloudevents")), &batch); err != nil {
		t.Fatal(err)
	}
	seen := map[any]bool{}
	last := ""
	for i, e := range batch {
		for _, required := range []string{"id", "source", "specversion", "type"} { // CloudEvents 1.0, 3.1
			if text, ok := e[required].(string); !ok || text == "" {
				t.Errorf("event %d has no %s: %v", i, required, e)
			}
		}
		if e["specversion"] != "1.0" || e["datacontenttype"] != "application/json" || e["data"] == nil {
			t.Errorf("event %d: %v", i, e)
		}
		if _, err := time.Parse(time.RFC3339, e["time"].(string)); err != nil {
			t.Error(err)
		}
		if subject, there := e["subject"]; there && subject == "" {
			t.Errorf("event %d has an empty subject", i)
		}
		for name := range e {
			if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
				t.Errorf("no attribute may be called %q", name)
			}
		}
		if seen[e["id"]] || e["sequence"].(string) <= last {
			t.Errorf("event %d: %v", i, e)
		}
		seen[e["id"]], last = true, e["sequence"].(string)
	}
	if batch[0]["source"] != "https://assent.example.org/w/home" || batch[0]["type"] != "assent.action.done" || batch[0]["subject"] != "article/art_1" {
		t.Errorf("%v", batch[0])
	}
	var none bytes.Buffer
	e, err := NewExport("cloudevents", &none, Exported{})
	if err == nil {
		err = e.End()
	}
	if err != nil || json.Unmarshal(none.Bytes(), &batch) != nil || len(batch) != 0 {
		t.Errorf("of nothing: %q %v", none.String(), err)
	}
}

func TestAnExportForOCSFIsAPIActivity(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(exported(t, "ocsf")), "\n")
	var events []ocsfEvent
	for i, line := range lines {
		var raw map[string]any
		var e ocsfEvent
		if err := json.Unmarshal([]byte(line), &raw); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
		// what the class requires
		for _, required := range []string{"activity_id", "category_uid", "class_uid", "type_uid", "severity_id", "time", "metadata", "actor", "api", "src_endpoint"} {
			if raw[required] == nil {
				t.Errorf("line %d has no %s", i, required)
			}
		}
		if e.Class != 6003 || e.Category != 6 || e.Class/1000 != e.Category || e.Type != e.Class*100+e.Activity {
			t.Errorf("line %d is of class %d, type %d", i, e.Class, e.Type)
		}
		if e.API.Operation == "" || e.Metadata.Version == "" || e.Metadata.Product.Vendor == "" || e.From.Name == "" && e.From.Service == "" {
			t.Errorf("line %d: %s", i, line)
		}
		if a := e.Actor; a.User == nil && a.Session == nil && a.App == "" && a.AppUID == "" { // at least one of them
			t.Errorf("line %d has nobody in it: %s", i, line)
		}
	}
	type told struct {
		Activity, Status int
		Name, Code       string
		User, App        string
	}
	var got []told
	for _, e := range events {
		got = append(got, told{e.Activity, e.Status, e.ActivityName, e.StatusCode, e.Actor.User.UID, e.Actor.AppUID})
	}
	want := []told{
		{3, 1, "Update", "", "person_ada", "agent_1"}, {3, 99, "Update", "", "person_gone", "agent_1"}, {4, 2, "Delete", "permission", "person_ada", ""},
		{1, 0, "Create", "", "setup", ""}, {3, 1, "Update", "", "local:ann", ""},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if events[1].Actor.User.Name != "(erased)" || events[0].Actor.Session.Credential != "key_1" || events[0].Resources[0].Version != "2" || events[0].Time != 1772357400123 {
		t.Errorf("%s", lines[0])
	}
}

func TestAnUnknownFormIsRefused(t *testing.T) {
	w := newWorld(t)
	for _, q := range []string{"", "format=", "format=xlsx", "format=csv&format=csv", "format=csv&cursor=x", "format=csv&limit=3", "format=csv&colour=red"} {
		if res := w.do("GET", "/api/v1/audit/export?"+q, "", as(w.ada)); res.Code != http.StatusBadRequest {
			t.Errorf("%q: %d %.200s", q, res.Code, res.Body)
		}
	}
}

func TestAnExportHoldsTheWholeAuditAndItself(t *testing.T) {
	w := newWorld(t)
	for _, form := range ExportForms {
		res := w.do("GET", "/api/v1/audit/export?format="+form, "", as(w.ada))
		if res.Code != http.StatusOK || res.Header().Get("Cache-Control") != "no-store" || !strings.HasPrefix(res.Header().Get("Content-Disposition"), `attachment; filename="audit-home.`) {
			t.Errorf("%s: %d %v", form, res.Code, res.Header())
		}
		for _, want := range []string{w.act, canary + " desk", "act_export", "audit/" + form} {
			if !strings.Contains(res.Body.String(), want) {
				t.Errorf("%s does not hold %q", form, want)
			}
		}
	}
	res := w.do("GET", "/api/v1/audit/export?format=jsonl&outcome=waiting&agent="+w.agent, "", as(w.ada))
	if lines := strings.Count(res.Body.String(), "\n"); lines != 1 {
		t.Errorf("%d lines of one: %s", lines, res.Body)
	}
	before := len(w.rows["home"])
	if res := w.do("HEAD", "/api/v1/audit/export?format=csv", "", as(w.ada)); res.Code != http.StatusOK || res.Body.Len() > 0 || len(w.rows["home"]) != before {
		t.Errorf("asked for its head it is made: %d %q, %d rows more", res.Code, res.Body, len(w.rows["home"])-before)
	}
}

func TestNobodyTakesAwayTheAuditOfAnotherWorkspace(t *testing.T) {
	w := newWorld(t)
	res := w.do("GET", "/api/v1/audit/export?format=jsonl&person="+w.ada.Person, "", as(w.bo))
	if res.Code != http.StatusOK || strings.Contains(res.Body.String(), canary) || strings.Contains(res.Body.String(), w.act) {
		t.Errorf("%d %s", res.Code, res.Body)
	}
	w.fault = fmt.Errorf("the log is away")
	if res := w.do("GET", "/api/v1/audit/export?format=jsonl", "", as(w.ada)); res.Code < 500 || strings.Contains(res.Body.String(), w.act) {
		t.Errorf("what cannot be recorded is given: %d %s", res.Code, res.Body)
	}
}

// cutOff is a reader that loses their session while they read.
type cutOff struct {
	*httptest.ResponseRecorder
	after func()
}

func (c *cutOff) Write(b []byte) (int, error) {
	defer c.after()
	return c.ResponseRecorder.Write(b)
}

func TestWhoIsSignedOutWhileReadingGetsNoMore(t *testing.T) {
	w := newWorld(t)
	row := w.rows["home"][0]
	for i := range 1000 {
		row.ID = domain.ID(fmt.Sprintf("act_more_%d", i))
		w.rows["home"] = append(w.rows["home"], row)
	}
	r := httptest.NewRequest("GET", origin+"/api/v1/audit/export?format=jsonl", nil)
	as(w.ada)(r)
	out := &cutOff{httptest.NewRecorder(), func() { _ = w.accounts.EndSession(t.Context(), w.ada.Token) }}
	defer func() {
		if p := recover(); p != http.ErrAbortHandler {
			t.Errorf("it ends with %v, as if that were all", p)
		}
		if n := strings.Count(out.Body.String(), "\n"); n == 0 || n > 2*exportPortion {
			t.Errorf("got %d lines", n)
		}
	}()
	w.server.ServeHTTP(out, r)
}

func TestTheRecordOfAnExportRepeatsIdsAndNoWords(t *testing.T) {
	f := AuditFilter{Agent: "agent_06g0example000000000000000", Target: "my own words", Skill: "news", Since: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}
	want := []string{"audit/csv", "agent/agent_06g0example000000000000000", "since/2026-03-01T00:00:00Z", "skill", "target"}
	if d := cmp.Diff(want, f.About("csv")); d != "" {
		t.Error(d)
	}
}

func TestThePastIsAskedForByPositionOrTime(t *testing.T) {
	w := newWorld(t)
	item := w.list(t, "/api/v1/sites/main/articles")[0]["id"].(string)
	for _, path := range []string{"/sites", "/sites/main", "/sites/main/pages", "/sites/main/articles", "/sites/main/live", "/items/" + item, "/agents/" + w.agent} {
		for as_of, want := range map[string]int{
			"1": 200, "2026-11-30": 200, "2026-11-30T11:00:00Z": 200, "2026-11-30T11:00:00+01:00": 200,
			"999999": 503, "2026-12-30": 400, "0": 400, "-1": 400, "tomorrow": 400, "": 400, "1&as_of=2": 400, "1&colour=red": 400,
		} {
			if path == "/sites" && as_of == "" {
				continue
			}
			if res := w.do("GET", "/api/v1"+path+"?as_of="+strings.ReplaceAll(as_of, "+", "%2B"), "", as(w.ada)); res.Code != want {
				t.Errorf("%s as of %q: %d %.200s", path, as_of, res.Code, res.Body)
			}
		}
		if res := w.do("GET", "/api/v1"+path, "", as(w.ada)); res.Code != http.StatusOK {
			t.Errorf("%s now: %d %s", path, res.Code, res.Body)
		}
		if res := w.do("GET", "/api/v1"+path+"?as_of=1", "", as(w.bo)); strings.Contains(res.Body.String(), canary) || strings.HasPrefix(path, "/items") && res.Code != http.StatusNotFound {
			t.Errorf("%s in another workspace: %d %s", path, res.Code, res.Body)
		}
	}
}

func (w *world) list(t *testing.T, path string) []map[string]any {
	t.Helper()
	var got struct{ Items []map[string]any }
	w.decode(w.do("GET", path, "", as(w.ada)), &got)
	if len(got.Items) == 0 {
		t.Fatalf("%s lists nothing", path)
	}
	return got.Items
}

func TestAHistoryHasNamesAndReasonsAndPages(t *testing.T) {
	w := newWorld(t)
	item := w.list(t, "/api/v1/sites/main/articles")[0]["id"].(string)
	var h HistoryPage
	w.decode(w.do("GET", "/api/v1/items/"+item+"/history?limit=1", "", as(w.ada)), &h)
	if len(h.Items) != 1 || h.Items[0].Reason != "the committee asked" || h.Names[w.ada.Person] == "" {
		t.Errorf("%+v", h)
	}
	for _, path := range []string{"/items/art_nobody/history", "/items/" + url.PathEscape("../x") + "/history"} {
		if res := w.do("GET", "/api/v1"+path, "", as(w.ada)); res.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, res.Code)
		}
	}
	if res := w.do("GET", "/api/v1/items/"+item+"/history", "", as(w.bo)); res.Code != http.StatusNotFound {
		t.Errorf("in another workspace: %d", res.Code)
	}
}
