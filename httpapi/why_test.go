package httpapi

import (
	"net/http"
	"strings"
	"testing"

	"assent/commands"
)

func TestWhyIsToldAndAMistakeStandsOut(t *testing.T) {
	w := newWorld(t)
	var why commands.Why
	w.decode(w.do("GET", "/api/v1/audit/"+w.act+"/why", "", as(w.ada)), &why)
	if string(why.Action) != w.act || !why.Matches || len(why.Asked) != 1 {
		t.Errorf("answers %+v", why)
	}
	if page := w.do("GET", "/audit/"+w.act+"/why", "", as(w.ada)).Body.String(); !strings.Contains(page, "nothing here to ask again") {
		t.Errorf("the page of what was never asked says %.2000s", page)
	}

	w.house.mistaken = true
	w.decode(w.do("GET", "/api/v1/audit/"+w.act+"/why", "", as(w.ada)), &why)
	if why.Matches || len(why.Asked[0].Differs) != 1 {
		t.Errorf("answers %+v", why)
	}
	page := w.do("GET", "/audit/"+w.act+"/why", "", as(w.ada)).Body.String()
	for _, want := range []string{`role="alert"`, "What is not as recorded", "<code>answer</code>", "It waits for a person"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q: %.3000s", want, page)
		}
	}
	if page := w.do("GET", "/audit/"+w.act, "", as(w.ada)).Body.String(); !strings.Contains(page, `href="/audit/`+w.act+`/why"`) {
		t.Error("the action's page does not lead there")
	}
}

func TestWhyOfWhatOneMayNotSeeIsNotFound(t *testing.T) {
	w := newWorld(t)
	for _, id := range []string{"act_nothing", "x", "%2e%2e", strings.Repeat("a", 2000)} {
		if res := w.do("GET", "/api/v1/audit/"+id+"/why", "", as(w.ada)); res.Code != http.StatusNotFound {
			t.Errorf("%.20s: %d", id, res.Code)
		}
	}
}
