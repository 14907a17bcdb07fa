package httpapi

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"assent/domain"
	"assent/domain/proposal"
)

// removal is a proposal that takes an article away.
func (w *world) removal(title string) string {
	p := w.proposals["home"][0]
	w.via["prop_removal"] = w.via[p.ID]
	p.ID, p.Cause, p.Headline = "prop_removal", "destructive", "Remove an article: “"+title+"”"
	p.Counts = proposal.Counts{Removed: 1}
	p.Changes = []domain.Change{{Kind: "article", ID: "art_1", Title: title, Change: domain.Removed}}
	w.proposals["home"] = append(w.proposals["home"], p)
	return p.ID
}

func TestAGraveYesWantsItsNameAndAFreshPassword(t *testing.T) {
	const title = "Opening  in\u202e spring"
	post := func(w *world, in url.Values) (int, string) {
		in.Set("digest", "x")
		in.Set("retyped", "Opening in spring")
		res := w.do("POST", "/proposals/prop_removal/approve", in.Encode(), as(w.ada))
		return res.Code, res.Body.String()
	}
	for name, test := range map[string]struct {
		after time.Duration
		in    url.Values
		want  int
		says  string
	}{
		"at once, with the name":               {0, url.Values{"retype": {"opening in spring"}}, http.StatusSeeOther, ""},
		"at once, without the name":            {0, url.Values{}, http.StatusBadRequest, "What you typed is not its name."},
		"at once, with another name":           {0, url.Values{"retype": {"Closing"}}, http.StatusBadRequest, "What you typed is not its name."},
		"just in time":                         {provenFor, url.Values{"retype": {"Opening in spring"}}, http.StatusSeeOther, ""},
		"later, without the password":          {provenFor + time.Second, url.Values{"retype": {"Opening in spring"}}, http.StatusForbidden, "Say your password once more"},
		"later, with a wrong password":         {provenFor + time.Second, url.Values{"retype": {"Opening in spring"}, "password": {"not this one at all"}}, http.StatusForbidden, "This is not your password."},
		"later, with a password of a mebibyte": {provenFor + time.Second, url.Values{"retype": {"Opening in spring"}, "password": {strings.Repeat("x", maxPassword+1)}}, http.StatusForbidden, "This is not your password."},
		"later, with the password":             {provenFor + time.Second, url.Values{"retype": {"Opening in spring"}, "password": {"correct horse battery"}}, http.StatusSeeOther, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.removal(title)
			w.pass(test.after)
			code, page := post(w, test.in)
			if code != test.want || !strings.Contains(page, test.says) {
				t.Errorf("%d, want %d with %q in %s", code, test.want, test.says, page)
			}
		})
	}
}

func TestThePasswordCountsForAWhile(t *testing.T) {
	w := newWorld(t)
	id := w.removal("Opening")
	w.pass(time.Hour)
	approve := func(body string) int {
		return w.do("POST", "/api/v1/proposals/"+id+"/approve", body, as(w.ada)).Code
	}
	if code := approve(`{}`); code != http.StatusForbidden {
		t.Errorf("without a password: %d", code)
	}
	if code := approve(`{"password":"correct horse battery"}`); code != http.StatusOK {
		t.Errorf("with it: %d", code)
	}
	again := w.removal("Closing")
	w.pass(provenFor)
	if page := w.do("GET", "/proposals/"+again+"/approve", "", as(w.ada)).Body.String(); strings.Contains(page, `name="password"`) {
		t.Error("it is asked for again within five minutes")
	}
}

func TestGuessingAPasswordWithAStolenSessionIsSlowedDown(t *testing.T) {
	w := newWorld(t)
	id := w.removal("Opening")
	w.pass(time.Hour)
	for range 30 {
		if res := w.do("POST", "/api/v1/proposals/"+id+"/approve", `{"password":"a guess of many"}`, as(w.ada)); res.Code == http.StatusTooManyRequests {
			return
		}
	}
	t.Error("30 guesses at once are let through")
}

func TestALightYesAsksForNothingMore(t *testing.T) {
	w := newWorld(t)
	w.pass(time.Hour)
	page := w.do("GET", "/proposals/"+w.held+"/approve", "", as(w.ada)).Body.String()
	if strings.Contains(page, `name="password"`) || strings.Contains(page, `name="retype"`) {
		t.Errorf("a publish of a new article asks for more: %s", page)
	}
}

func TestACardSaysForHowLongItCanBeTakenBackHere(t *testing.T) {
	w := newWorld(t)
	w.must("home", w.ada.Person, "workspace.update", object{"undoHours": 72})
	if page := w.do("GET", "/", "", as(w.ada)).Body.String(); !strings.Contains(page, "Yes, for 72 hours after it is done") {
		t.Errorf("the card says %s", page)
	}
}
