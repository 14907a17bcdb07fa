package httpapi

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"assent/commands"
	"assent/domain"
	"assent/domain/article"
)

// overtaken is an edit of the agent's that Ada worked on since.
func (w *world) overtaken() (edit, item string) {
	w.t.Helper()
	made, err := w.AuditOne(w.t.Context(), "home", domain.ID(w.act))
	if err != nil {
		w.t.Fatal(err)
	}
	item = made.Target.ID
	w.must("home", w.ada.Person, "agent.update", object{"agent": w.agent, "mode": "edits"})
	res := w.do("POST", "/api/v1/actions/article.update", `{"article":`+quoted(item)+`,"title":"<b>Quagga</b> opens early","summary":"Early."}`, withKey(w.key))
	var out commands.Outcome
	w.decode(res, &out)
	if out.Outcome != commands.Done {
		w.t.Fatalf("%d %s", res.Code, res.Body)
	}
	w.must("home", w.ada.Person, "article.update", object{"article": item, "title": "Quagga opens late"})
	return string(out.Action), item
}

func TestAPersonChoosesFieldByFieldOnThePage(t *testing.T) {
	w := newWorld(t)
	edit, item := w.overtaken()
	page := w.do("GET", "/audit/"+edit+"/undo", "", as(w.ada)).Body.String()
	for _, want := range []string{"&lt;b&gt;Quagga&lt;/b&gt; opens early", "Quagga opens late", `name="field title" value="keep" checked`, `name="field title" value="take"`, "goes back", `name="digest"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not hold %s", want)
		}
	}
	if strings.Contains(page, `name="field summary"`) {
		t.Error("a clean field is asked about")
	}
	res := w.do("POST", "/audit/"+edit+"/undo", "reason=x", as(w.ada))
	if text := res.Body.String(); res.Code != http.StatusConflict || !strings.Contains(text, "changed again since") || !strings.Contains(text, `name="field title"`) {
		t.Errorf("%d, or it cannot be chosen then", res.Code)
	}
	res = w.do("POST", "/audit/"+edit+"/undo", url.Values{"field title": {"keep"}, "digest": {"of what is shown"}}.Encode(), as(w.ada))
	if res.Code != http.StatusSeeOther {
		t.Fatalf("%d %s", res.Code, res.Body)
	}
	if a := w.state(w.stream("home", "article", item)).(article.Article); a.Title != "Quagga opens late" || a.Summary != "" {
		t.Errorf("%q, %q", a.Title, a.Summary)
	}
}

func TestAnUndoInConflictTellsProgramsAllThreeColumns(t *testing.T) {
	w := newWorld(t)
	edit, _ := w.overtaken()
	var can commands.Undoable
	w.decode(w.do("GET", "/api/v1/actions/"+edit+"/undo", "", as(w.ada)), &can)
	if can.Can || can.Refusal.Code != "undo-conflict" || can.Digest == "" || len(can.Columns) != 2 {
		t.Errorf("%+v", can)
	}
	res := w.do("POST", "/api/v1/actions/"+edit+"/undo", `{}`, as(w.ada))
	var no struct {
		Code    string
		Outcome commands.Outcome
	}
	w.decode(res, &no)
	want := domain.Column{Field: "title", Before: "Quagga opens", Set: "<b>Quagga</b> opens early", Now: "Quagga opens late"}
	if res.Code != http.StatusConflict || no.Code != "undo-conflict" || no.Outcome.Conflict == nil || no.Outcome.Conflict.Columns[0] != want {
		t.Errorf("%d %+v", res.Code, no)
	}
	if res := w.do("POST", "/api/v1/actions/"+edit+"/undo", `{"keep":["title"]}`, as(w.ada)); res.Code != http.StatusOK {
		t.Errorf("%d %s", res.Code, res.Body)
	}
}

func TestAnAgentIsContainedFromItsPage(t *testing.T) {
	w := newWorld(t)
	edit, _ := w.overtaken()
	if page := w.do("GET", "/agents/"+w.agent, "", as(w.ada)).Body.String(); !strings.Contains(page, `href="/contain?agent=`+w.agent+`"`) {
		t.Error("the agent's page does not offer it")
	}
	page := w.do("GET", "/contain?agent="+w.agent+"&hours=24", "", as(w.ada)).Body.String()
	for _, want := range []string{"left for you to choose", "conflicting", "Stop it and take back", "/audit/" + edit} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not hold %q", want)
		}
	}
	for _, bad := range []string{"hours=-1", "hours=x", "since=yesterday", "colour=red"} {
		if res := w.do("GET", "/contain?agent="+w.agent+"&"+bad, "", as(w.ada)); res.Code != http.StatusBadRequest {
			t.Errorf("%s: %d", bad, res.Code)
		}
	}
	since := w.now.Add(-24 * 3600e9).UTC().Format("2006-01-02T15:04:05Z")
	res := w.do("POST", "/contain", url.Values{"agent": {w.agent}, "key": {""}, "since": {since}, "once": {"1"}, "reason": {"it ran wild"}}.Encode(), as(w.ada))
	to := res.Header().Get("Location")
	if res.Code != http.StatusSeeOther || !strings.HasPrefix(to, "/containments/ctn_") {
		t.Fatalf("%d %s %s", res.Code, to, res.Body)
	}
	if done := w.do("GET", to, "", as(w.ada)).Body.String(); !strings.Contains(done, "What was left") || !strings.Contains(done, "/audit/"+edit+"/undo") {
		t.Error("what is left is not told")
	}
}

func TestAPlanIsALineForEachThing(t *testing.T) {
	w := newWorld(t)
	w.overtaken()
	res := w.do("GET", "/api/v1/containments/plan?agent="+w.agent+"&since=2026-01-01", "", as(w.ada))
	if res.Code != http.StatusOK || res.Header().Get("Content-Type") != "application/x-ndjson" {
		t.Fatalf("%d %s", res.Code, res.Header())
	}
	for line := range strings.Lines(res.Body.String()) {
		var l commands.PlanLine
		if err := json.Unmarshal([]byte(line), &l); err != nil || l.Mark == "" || l.Newest == "" {
			t.Errorf("%s: %v", line, err)
		}
	}
	if res := w.do("GET", "/api/v1/containments/plan?agent="+w.agent, "", as(w.ada)); res.Code != http.StatusBadRequest {
		t.Errorf("without a time: %d %s", res.Code, res.Body)
	}
}

func TestAfterItsTimeAnUndoIsOfferedToOwnersAsLate(t *testing.T) {
	w := newWorld(t)
	w.pass(25 * 3600e9)
	again, err := w.accounts.NewSession(t.Context(), Seat{"home", w.ada.Person})
	if err != nil {
		t.Fatal(err)
	}
	if page := w.do("GET", "/audit/"+w.act, "", as(again)).Body.String(); !strings.Contains(page, "Undo late…") {
		t.Error("it is not offered")
	}
}
