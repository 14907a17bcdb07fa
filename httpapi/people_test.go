package httpapi

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestAPersonIsForgotten(t *testing.T) {
	w := newWorld(t)
	cy := w.seated("editor")
	_ = w.accounts.SetName(t.Context(), "home", cy.Person, "Cy Distinct")
	if res := w.do("POST", "/api/v1/actions/person.erase", `{"person":`+quoted(cy.Person)+`}`, as(w.ada)); w.problem(res).Code != "invalid" {
		t.Errorf("as a bare action, which would forget nothing: %d", res.Code)
	}
	if res := w.do("POST", "/people/"+cy.Person, url.Values{"do": {"erase"}, "retyped": {"Cy Distinct"}, "retype": {"Cy"}}.Encode(), as(w.ada)); res.Code != http.StatusBadRequest {
		t.Errorf("with another name typed: %d", res.Code)
	}
	if res := w.do("POST", "/api/v1/people/"+cy.Person+"/erase", ``, as(w.ada)); res.Code != http.StatusOK {
		t.Fatalf("%d %s", res.Code, res.Body)
	}
	if res := w.do("POST", "/api/v1/people/"+cy.Person+"/erase", ``, as(w.ada)); res.Code != http.StatusOK && w.problem(res).Code != "not-found" {
		t.Errorf("a second time: %d %s", res.Code, res.Body)
	}
	if res := w.do("GET", "/api/v1/people", "", as(cy)); res.Code != http.StatusUnauthorized {
		t.Errorf("they are still signed in: %d", res.Code)
	}
	for _, path := range []string{"/people", "/audit", "/api/v1/people", "/api/v1/audit"} {
		if text := w.do("GET", path, "", as(w.ada)).Body.String(); strings.Contains(text, "Cy Distinct") {
			t.Errorf("%s still names them", path)
		}
	}
	if res := w.do("PATCH", "/api/v1/people/"+cy.Person, `{"role":"editor"}`, as(w.ada)); w.problem(res).Code != "not-found" {
		t.Errorf("they are let in again: %d", res.Code)
	}
}

func TestOnlyWhoMayEndsAndForgetsOthers(t *testing.T) {
	w := newWorld(t)
	cy := w.seated("editor")
	for _, c := range []struct {
		who        Session
		id, want   string
		method, at string
	}{
		{cy, w.ada.Person, "permission", "DELETE", ""},
		{cy, w.ada.Person, "permission", "POST", "/erase"},
		{w.ada, w.ada.Person, "permission", "DELETE", ""}, // nobody themselves
		{w.ada, w.ada.Person, "permission", "POST", "/erase"},
		{w.ada, "person_nobody", "not-found", "DELETE", ""},
		{w.ada, w.bo.Person, "not-found", "POST", "/erase"}, // of another workspace
	} {
		if res := w.do(c.method, "/api/v1/people/"+c.id+c.at, ``, as(c.who)); w.problem(res).Code != c.want {
			t.Errorf("%s %s%s: %d %s, want %s", c.method, c.id, c.at, res.Code, res.Body, c.want)
		}
	}
	if role, _ := w.Role(t.Context(), "home", w.ada.Person); role != "owner" {
		t.Errorf("Ada is %q", role)
	}
	if res := w.do("DELETE", "/api/v1/people/"+cy.Person, ``, as(w.ada)); res.Code != http.StatusOK {
		t.Errorf("%d %s", res.Code, res.Body)
	}
	if res := w.do("GET", "/api/v1/audit", "", as(cy)); w.problem(res).Code != "permission" {
		t.Errorf("without a seat: %d", res.Code)
	}
}

func TestAPersonSeesAndEndsTheirOwnSessions(t *testing.T) {
	w := newWorld(t)
	cy := w.seated("editor")
	elsewhere, err := w.accounts.NewSession(t.Context(), w.ada.Seat)
	if err != nil {
		t.Fatal(err)
	}
	var mine list[signedIn]
	w.decode(w.do("GET", "/api/v1/sessions", "", as(w.ada)), &mine)
	if len(mine.Items) != 2 || mine.Items[0].ID != elsewhere.ID || mine.Items[0].This || !mine.Items[1].This {
		t.Errorf("%+v", mine)
	}
	if text := w.do("GET", "/api/v1/sessions", "", as(w.ada)).Body.String(); strings.Contains(text, elsewhere.Token) {
		t.Error("the list gives a session's secret away")
	}
	w.do("DELETE", "/api/v1/sessions/"+cy.ID, "", as(w.ada)) // not hers
	if res := w.do("GET", "/api/v1/sessions", "", as(cy)); res.Code != http.StatusOK {
		t.Errorf("somebody else's session was ended: %d", res.Code)
	}
	if res := w.do("DELETE", "/api/v1/sessions/"+elsewhere.ID, "", as(w.ada)); res.Code != http.StatusNoContent {
		t.Errorf("%d %s", res.Code, res.Body)
	}
	if res := w.do("GET", "/api/v1/sessions", "", as(elsewhere)); res.Code != http.StatusUnauthorized {
		t.Errorf("the session goes on: %d", res.Code)
	}
}

func TestANewPasswordWantsTheOldOneAndSignsOutElsewhere(t *testing.T) {
	w := newWorld(t)
	elsewhere, err := w.accounts.NewSession(t.Context(), w.ada.Seat)
	if err != nil {
		t.Fatal(err)
	}
	change := func(old, new string) int {
		return w.do("POST", "/you", url.Values{"do": {"password"}, "old": {old}, "password": {new}}.Encode(), as(w.ada)).Code
	}
	for what, code := range map[string]int{
		"a wrong one": change("not this one at all", "quite another password"),
		"none":        change("", "quite another password"),
		"a short one": change("correct horse battery", "short"),
	} {
		if code < 400 {
			t.Errorf("%s: %d", what, code)
		}
	}
	if res := w.do("GET", "/you", "", as(elsewhere)); res.Code != http.StatusOK {
		t.Errorf("what came to nothing ended a session: %d", res.Code)
	}
	if code := change("correct horse battery", "quite another password"); code != http.StatusSeeOther {
		t.Fatalf("%d", code)
	}
	if res := w.do("GET", "/you", "", as(elsewhere)); res.Code == http.StatusOK {
		t.Error("who is signed in elsewhere stays so")
	}
	if _, err := w.accounts.SignIn(t.Context(), "ada@example.org", "quite another password"); err != nil {
		t.Errorf("the new one: %v", err)
	}
}
