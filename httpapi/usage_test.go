package httpapi

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"assent/commands"
)

func TestHowPeopleDecideIsShownAndAYesInAdvanceOffered(t *testing.T) {
	w := newWorld(t)
	if page := w.do("GET", "/usage", "", as(w.ada)).Body.String(); !strings.Contains(page, "Nobody decided on anything") {
		t.Errorf("before anybody decided the page says %.2000s", page)
	}
	if res := w.do("POST", "/api/v1/proposals/"+w.held+"/approve", "{}", as(w.ada)); res.Code != http.StatusOK {
		t.Fatalf("%d %s", res.Code, res.Body)
	}
	var u Usage
	w.decode(w.do("GET", "/api/v1/usage", "", as(w.ada)), &u)
	if len(u.People) != 1 || u.People[0].Approved != 1 || len(u.Always) != 1 || u.Names[u.People[0].Of] == "" {
		t.Fatalf("answers %+v", u)
	}
	page := w.do("GET", "/usage", "", as(w.ada)).Body.String()
	link := "/agents/" + u.Always[0].Agent + "/advance?action=article.update&amp;key=key_1&amp;site=main"
	for _, want := range []string{"By person", "By rule", "1 minute", "2s", link} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q: %.4000s", want, page)
		}
	}
}

func TestAYesInAdvanceIsShownWithWhatItWouldHaveCovered(t *testing.T) {
	w := newWorld(t)
	about := url.Values{"key": {"key_1"}, "action": {"article.update"}, "site": {"main"}}
	var c Covered
	w.decode(w.do("GET", "/api/v1/agents/"+w.agent+"/covered?"+about.Encode(), "", as(w.ada)), &c)
	if c.Covers != 1 || c.Advance != (commands.Advance{Agent: w.agent, Key: "key_1", Action: "article.update", Site: "main"}) {
		t.Errorf("answers %+v", c)
	}
	page := w.do("GET", "/agents/"+w.agent+"/advance?"+about.Encode(), "", as(w.ada)).Body.String()
	if !strings.Contains(page, "It would have covered 1 request in the last 30 days.") || !strings.Contains(page, `name="days"`) {
		t.Errorf("the page says %.3000s", page)
	}
	for _, left := range []string{"key", "action", "site"} {
		some := url.Values{"key": {"key_1"}, "action": {"article.update"}, "site": {"main"}}
		some.Del(left)
		if res := w.do("GET", "/api/v1/agents/"+w.agent+"/covered?"+some.Encode(), "", as(w.ada)); res.Code != http.StatusBadRequest {
			t.Errorf("without %s: %d", left, res.Code)
		}
	}
	if res := w.do("GET", "/api/v1/agents/agent_nobody/covered?"+about.Encode(), "", as(w.ada)); res.Code != http.StatusNotFound {
		t.Errorf("of nobody: %d", res.Code)
	}
	about.Set("days", "91")
	res := w.do("POST", "/agents/"+w.agent+"/advance", about.Encode(), as(w.ada))
	if page := res.Body.String(); res.Code != http.StatusBadRequest && res.Code != http.StatusNotFound || !strings.Contains(page, `role="alert"`) {
		t.Errorf("what cannot be is answered %d %.2000s", res.Code, page)
	}
}
