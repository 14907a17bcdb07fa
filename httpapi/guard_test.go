package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"assent/commands"
	"assent/domain"
	"assent/domain/person"
	"assent/domain/policy"
)

// seated makes a person with a role and signs them in.
func (w *world) seated(role policy.Role) Session {
	w.t.Helper()
	id := w.invited()
	w.history[w.stream("home", "person", id)] = []any{person.Seated{Role: role}}
	live, err := w.accounts.NewSession(context.Background(), Seat{"home", id})
	if err != nil {
		w.t.Fatal(err)
	}
	return live
}

func TestChangesAskedForByAnotherSitesPageAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		how  []sent
		want int
	}{
		"the page itself":              {[]sent{header("Sec-Fetch-Site", "same-origin"), header("Origin", origin)}, http.StatusSeeOther},
		"a program":                    {nil, http.StatusSeeOther},
		"typed by a person":            {[]sent{header("Sec-Fetch-Site", "none")}, http.StatusSeeOther},
		"another site":                 {[]sent{header("Sec-Fetch-Site", "cross-site"), header("Origin", "https://evil.example")}, http.StatusForbidden},
		"a neighbour of the same site": {[]sent{header("Sec-Fetch-Site", "same-site"), header("Origin", "http://x.127.0.0.1")}, http.StatusForbidden},
		"an old browser, another site": {[]sent{header("Origin", "https://evil.example")}, http.StatusForbidden},
		"a frame without an origin":    {[]sent{header("Origin", "null")}, http.StatusForbidden},
		"null, said to be the same":    {[]sent{header("Origin", "null"), header("Sec-Fetch-Site", "same-origin")}, http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			res := w.do("POST", "/workspace", "paused=yes", append(c.how, as(w.ada))...)
			if res.Code != c.want {
				t.Errorf("%d, want %d", res.Code, c.want)
			}
			ws, _ := w.Workspace(context.Background(), "home")
			if ws.Paused != (c.want == http.StatusSeeOther) {
				t.Errorf("paused: %v", ws.Paused)
			}
		})
	}
}

func TestOnlyNamesOfOursAreAnsweredTo(t *testing.T) {
	w := newWorld(t)
	host := func(name string) sent { return func(r *http.Request) { r.Host = name } }
	for _, name := range []string{"127.0.0.1:7300", "localhost:7300", "[::1]:7300", "LOCALHOST"} {
		if res := w.do("GET", "/healthz", "", host(name)); res.Code != http.StatusOK {
			t.Errorf("%s: %d", name, res.Code)
		}
	}
	for _, name := range []string{"evil.example", "127.0.0.1.evil.example", "", "localhost.evil.example:7300"} {
		if res := w.do("GET", "/healthz", "", host(name)); res.Code != http.StatusBadRequest {
			t.Errorf("%q: %d", name, res.Code)
		}
	}
}

func TestTheCookieIsSecureOverTLSAndPlainOnThisMachine(t *testing.T) {
	w := newWorld(t)
	sign := func() *http.Cookie {
		res := w.do("POST", "/api/v1/session", `{"email":" ADA@example.org","password":"correct horse battery"}`)
		if res.Code != http.StatusOK || len(res.Result().Cookies()) != 1 {
			t.Fatalf("%d %s", res.Code, res.Body)
		}
		return res.Result().Cookies()[0]
	}
	c := sign()
	if c.Name != plainCookie || c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" {
		t.Errorf("on loopback: %v", c)
	}
	w.server.public.Scheme = "https"
	if c := sign(); c.Name != secureCookie || !c.Secure || !c.HttpOnly {
		t.Errorf("over TLS: %v", c)
	}
	if res := w.do("GET", "/", "", as(w.ada)); res.Code != http.StatusSeeOther {
		t.Errorf("the plain cookie counts over TLS: %d", res.Code)
	}
}

func TestSigningOutEndsTheSessionForEverybodyWhoHasItsToken(t *testing.T) {
	w := newWorld(t)
	if res := w.do("DELETE", "/api/v1/session", "", as(w.ada)); res.Code != http.StatusOK || res.Result().Cookies()[0].MaxAge >= 0 {
		t.Errorf("%d %v", res.Code, res.Result().Cookies())
	}
	if res := w.do("GET", "/api/v1/audit", "", as(w.ada)); res.Code != http.StatusUnauthorized {
		t.Errorf("the old token: %d", res.Code)
	}
	bo := w.bo
	w.pass(13 * time.Hour)
	if res := w.do("GET", "/api/v1/audit", "", as(bo)); res.Code != http.StatusUnauthorized {
		t.Errorf("a session that is over: %d", res.Code)
	}
}

func TestGuessingPasswordsIsSlowedDownAtTheAccountAndAtTheAddress(t *testing.T) {
	w := newWorld(t)
	try := func(email, password, addr string) int {
		return w.do("POST", "/api/v1/session", `{"email":`+quoted(email)+`,"password":`+quoted(password)+`}`, from(addr)).Code
	}
	for i := range 5 {
		if code := try("ada@example.org", "wrong wrong wrong", "192.0.2.7:1"); code != http.StatusUnauthorized {
			t.Fatalf("try %d: %d", i, code)
		}
	}
	res := w.do("POST", "/api/v1/session", `{"email":"ada@example.org","password":"correct horse battery"}`, from("192.0.2.7:2"))
	if p := w.problem(res); res.Code != http.StatusTooManyRequests || p.Code != "slow-down" || res.Header().Get("Retry-After") != "30" {
		t.Errorf("%d %s, retry after %q", res.Code, p.Code, res.Header().Get("Retry-After"))
	}
	if w.accounts.tries != 5 {
		t.Errorf("%d passwords were looked at, want 5", w.accounts.tries)
	}
	if code := try("ada@example.org", "correct horse battery", "198.51.100.1:1"); code != http.StatusOK {
		t.Errorf("Ada at home is kept out by a stranger: %d", code)
	}
	w.pass(30 * time.Second)
	if code := try("ada@example.org", "correct horse battery", "192.0.2.7:3"); code != http.StatusOK {
		t.Errorf("after the wait: %d", code)
	}
	slowed := false
	for i := range 30 {
		slowed = slowed || try("x"+strings.Repeat("y", i)+"@example.org", "wrong wrong wrong", "203.0.113.9:1") == http.StatusTooManyRequests
	}
	if !slowed {
		t.Error("one address may guess at any number of accounts")
	}
}

func TestNoSignInAnswerSaysWhetherAnAccountExists(t *testing.T) {
	w := newWorld(t)
	a := w.do("POST", "/api/v1/session", `{"email":"ada@example.org","password":"wrong wrong wrong"}`)
	b := w.do("POST", "/api/v1/session", `{"email":"nobody@example.org","password":"wrong wrong wrong"}`)
	if a.Code != b.Code || a.Body.String() != b.Body.String() {
		t.Errorf("%d %s and %d %s", a.Code, a.Body, b.Code, b.Body)
	}
}

func TestSetUpMakesOneOwnerOnce(t *testing.T) {
	w := newWorld(t)
	token := w.link(ForSetup, "fresh", "")
	other := w.link(ForSetup, "fresh", "")
	body := func(token, email, password string) string {
		return `{"token":` + quoted(token) + `,"name":"Eve","email":` + quoted(email) + `,"password":` + quoted(password) + `}`
	}
	if res := w.do("POST", "/api/v1/setup", body(token, "eve@example.org", "short")); res.Code != http.StatusBadRequest {
		t.Errorf("a short password: %d", res.Code)
	}
	w.house.fault = commands.ErrUnavailable
	if res := w.do("POST", "/api/v1/setup", body(token, "eve@example.org", "correct horse battery")); res.Code != http.StatusServiceUnavailable {
		t.Errorf("while the log is down: %d", res.Code)
	}
	w.house.fault = nil
	res := w.do("POST", "/api/v1/setup", body(token, "eve@example.org", "correct horse battery"))
	if res.Code != http.StatusOK || len(res.Result().Cookies()) != 1 {
		t.Fatalf("the same link once more: %d %s", res.Code, res.Body)
	}
	in := func(r *http.Request) { r.AddCookie(res.Result().Cookies()[0]) }
	if page := w.do("GET", "/agents", "", in); page.Code != http.StatusOK {
		t.Errorf("the owner's first page: %d", page.Code)
	}
	for name, token := range map[string]string{"the used link": token, "an older link": other, "no link": "nonsense"} {
		res := w.do("POST", "/api/v1/setup", body(token, "mal@example.org", "correct horse battery"))
		if res.Code != http.StatusGone || w.problem(res).Code != "expired" {
			t.Errorf("%s: %d", name, res.Code)
		}
	}
	people, _ := w.People(context.Background(), "fresh")
	if len(people) != 1 {
		t.Errorf("%d people are seated", len(people))
	}
	if page := w.do("GET", "/setup?t="+token, ""); page.Code != http.StatusGone {
		t.Errorf("the page of a used link: %d", page.Code)
	}
	w.pass(time.Hour)
	if page := w.do("GET", "/setup?t="+other, ""); page.Code != http.StatusGone {
		t.Errorf("the page of a link that is over: %d", page.Code)
	}
}

func TestAnInvitedPersonComesInOnceAndHasTheRoleTheyWereGiven(t *testing.T) {
	w := newWorld(t)
	res := w.do("POST", "/api/v1/people", `{"name":"Cy","email":"cy@example.org","role":"editor"}`, as(w.ada))
	var made struct{ ID, Link string }
	w.decode(res, &made)
	_, token, _ := strings.Cut(made.Link, "?t=")
	if res.Code != http.StatusOK || token == "" {
		t.Fatalf("%d %s", res.Code, res.Body)
	}
	if res := w.do("POST", "/api/v1/setup", `{"token":`+quoted(token)+`,"name":"Cy","email":"c@example.org","password":"correct horse battery"}`); res.Code != http.StatusGone {
		t.Errorf("an invitation as a set-up link: %d", res.Code)
	}
	accept := `{"token":` + quoted(token) + `,"password":"four words to remember"}`
	if res := w.do("POST", "/api/v1/invitation/accept", accept); res.Code != http.StatusOK {
		t.Fatalf("%d %s", res.Code, res.Body)
	}
	if res := w.do("POST", "/api/v1/invitation/accept", accept); res.Code != http.StatusGone {
		t.Errorf("the second time: %d", res.Code)
	}
	if role, _ := w.Role(context.Background(), "home", made.ID); role != policy.Editor {
		t.Errorf("the role is %q", role)
	}
	if res := w.do("POST", "/api/v1/session", `{"email":"cy@example.org","password":"four words to remember"}`); res.Code != http.StatusOK {
		t.Errorf("signing in later: %d", res.Code)
	}
}

func TestAnEmailOfAnotherWorkspaceIsNeitherTakenNorInTheWay(t *testing.T) {
	w := newWorld(t)
	res := w.do("POST", "/api/v1/people", `{"name":"Ada","email":"Ada@example.org","role":"editor"}`, as(w.bo))
	if res.Code != http.StatusOK {
		t.Fatalf("Bo learns of Ada: %d %s", res.Code, res.Body)
	}
	if res := w.do("POST", "/api/v1/people", `{"name":"Ada","email":"Ada@example.org","role":"editor"}`, as(w.ada)); w.problem(res).Code != "taken" {
		t.Errorf("a second Ada at home: %d", res.Code)
	}
	setUp := func(token string) int {
		return w.do("POST", "/api/v1/setup", `{"token":`+quoted(token)+`,"name":"Ada","email":"ada@example.org","password":"correct horse battery"}`).Code
	}
	token := w.link(ForSetup, "fresh", "")
	w.house.fault = commands.ErrUnavailable
	if code := setUp(token); code != http.StatusServiceUnavailable {
		t.Errorf("while the log is down: %d", code)
	}
	w.house.fault = nil
	if code := setUp(token); code != http.StatusOK {
		t.Errorf("Ada sets a second workspace up with her usual password: %d", code)
	}
	if people, _ := w.People(context.Background(), "fresh"); len(people) != 1 || people[0].ID == w.ada.Person {
		t.Errorf("there sits %v", people)
	}
}

func TestEveryCodeIsSentWithItsStatus(t *testing.T) {
	contract := map[int]string{ // contract §6
		400: "invalid unknown-action malformed unsupported",
		401: "unauthorised",
		403: "scope skill permission mode never paused person-only not-a-person revoked sign-in-again",
		404: "not-found",
		409: "stale taken changed-since-shown already-decided undo-conflict command-reused withdrawn",
		410: "expired undo-window final",
		413: "limit too-large",
		429: "slow-down",
		503: "unknown busy log-unavailable",
	}
	n := 0
	for status, codes := range contract {
		for _, code := range strings.Fields(codes) {
			n++
			if p := newProblem(code, "x"); p.Status != status {
				t.Errorf("%s is sent with %d, want %d", code, p.Status, status)
			}
			if retry := newProblem(code, "x").retry > 0; retry != (status == 503 || status == 429) {
				t.Errorf("%s: retry %v", code, retry)
			}
		}
	}
	if n != len(statuses) {
		t.Errorf("%d codes are in the table, %d in the contract", len(statuses), n)
	}
}

func TestWhatGoesWrongAtTheLogIsAnswered503AndSaysWhenToTryAgain(t *testing.T) {
	for code, err := range map[string]error{
		"log-unavailable": commands.ErrUnavailable, "busy": commands.ErrBusy, "unknown": commands.ErrUnknown,
	} {
		w := newWorld(t)
		w.house.fault = errors.Join(errors.New("append"), err)
		res := w.do("POST", "/api/v1/actions/site.create", `{"site":"two","title":"Two"}`, as(w.ada))
		if p := w.problem(res); res.Code != http.StatusServiceUnavailable || p.Code != code || res.Header().Get("Retry-After") == "" {
			t.Errorf("%d %s, retry after %q", res.Code, p.Code, res.Header().Get("Retry-After"))
		}
		if res := w.do("GET", "/api/v1/audit", "", as(w.ada)); res.Code != http.StatusOK {
			t.Errorf("reads do not go on: %d", res.Code)
		}
	}
	w := newWorld(t)
	w.unknown = true
	res := w.do("POST", "/api/v1/actions/site.create", `{"site":"two","title":"Two"}`, as(w.ada))
	if p := w.problem(res); res.Code != http.StatusServiceUnavailable || p.Code != "unknown" || p.Outcome == nil || p.Outcome.Outcome != commands.Unknown {
		t.Errorf("an unknown outcome: %d %+v", res.Code, p)
	}
}

func TestAFaultIsNamedAndNotShown(t *testing.T) {
	w := newWorld(t)
	w.house.fault = errors.New("disk /var/secret is on fire")
	res := w.do("POST", "/api/v1/actions/site.create", `{"site":"two","title":"Two"}`, as(w.ada))
	p := w.problem(res)
	if res.Code != http.StatusInternalServerError || p.Code != "fault" || !strings.HasPrefix(p.Call, "call_") || strings.Contains(res.Body.String(), "secret") {
		t.Errorf("%d %s", res.Code, res.Body)
	}
	page := w.do("POST", "/workspace", "paused=yes", as(w.ada))
	if page.Code != http.StatusInternalServerError || !strings.Contains(page.Body.String(), "Something went wrong") || strings.Contains(page.Body.String(), "secret") {
		t.Errorf("%d %s", page.Code, page.Body)
	}
}

func TestBodiesAreReadStrictlyAndWithinBounds(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]struct {
		body string
		code string
	}{
		"an unknown field": {`{"name":"x","mood":"good"}`, "invalid"},
		"a field twice":    {`{"name":"x","name":"y"}`, "malformed"},
		"a wrong type":     {`{"name":7}`, "invalid"},
		"two values":       {`{} {}`, "malformed"},
		"a list":           {`["name"]`, "invalid"},
		"broken text":      {"{\"name\":\"\xff\"}", "malformed"},
		"far too much":     {`{"name":"` + strings.Repeat("x", maxBody) + `"}`, "too-large"},
	} {
		res := w.do("POST", "/api/v1/agents", c.body, as(w.ada))
		if p := w.problem(res); p.Code != c.code || res.Code != statuses[c.code] {
			t.Errorf("%s: %d %s (%s), want %s", name, res.Code, p.Code, p.Detail, c.code)
		}
	}
	res := w.do("POST", "/api/v1/agents", `{"name":"x"}`, as(w.ada), header("Content-Type", "text/plain"))
	if w.problem(res).Code != "malformed" {
		t.Errorf("a form that pretends: %d", res.Code)
	}
	if res := w.do("GET", "/api/v1/audit?agnt=x", "", as(w.ada)); w.problem(res).Code != "invalid" {
		t.Errorf("an unknown filter: %d", res.Code)
	}
}

func TestConsolePagesAllowNoScriptNoFrameAndNoForeignPlace(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{"/", "/signin", "/agents", "/nothing-like-it"} {
		h := w.do("GET", path, "", as(w.ada)).Header()
		if path == "/nothing-like-it" {
			continue // a problem, not a page
		}
		csp := h.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "style-src 'self'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"} {
			if !strings.Contains(csp, want) {
				t.Errorf("%s: %q lacks %s", path, csp, want)
			}
		}
		if strings.Contains(csp, "script-src") || strings.Contains(csp, "unsafe") || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %v", path, h)
		}
	}
}

func TestSigningInLeadsBackOnlyToThisServer(t *testing.T) {
	for address, want := range map[string]string{
		"/audit?agent=x": "/audit?agent=x", "": "/", "//evil.example": "/", "https://evil.example/": "/", "/\\evil.example": "/",
		"javascript:alert(1)": "/", "/\tx": "/", "audit": "/", "/%2f/evil": "/%2f/evil",
	} {
		if got := within(address); got != want {
			t.Errorf("%q leads to %q, want %q", address, got, want)
		}
	}
}

func TestReadinessSaysWhatIsWrong(t *testing.T) {
	w := newWorld(t)
	if res := w.do("GET", "/readyz", ""); res.Code != http.StatusOK {
		t.Errorf("%d %s", res.Code, res.Body)
	}
	w.house.unsigned = errors.New("token=hidden is gone")
	if res := w.do("GET", "/readyz", ""); res.Code != http.StatusOK || !strings.Contains(res.Body.String(), `"signedHeads":"failing"`) || strings.Contains(res.Body.String(), "hidden") {
		t.Errorf("heads that get nowhere: %d %s", res.Code, res.Body)
	}
	w.behind = maxBehind + 1
	if res := w.do("GET", "/readyz", ""); res.Code != http.StatusServiceUnavailable {
		t.Errorf("far behind: %d", res.Code)
	}
	w.behind, w.house.fault = 0, errors.New("full")
	if res := w.do("GET", "/readyz", ""); res.Code != http.StatusServiceUnavailable || strings.Contains(res.Body.String(), "full") {
		t.Errorf("no log: %d %s", res.Code, res.Body)
	}
}

func TestALimiterForgetsWhoWaitedAndSurvivesAFlood(t *testing.T) {
	l, now := newLimiter(2, time.Second), time.Unix(1_000_000, 0)
	for i := range 3 * remembered {
		_ = l.take(string(domain.Derive("x", string(rune(i)), strings.Repeat("y", i%7))), now)
	}
	if len(l.full) > remembered+1 {
		t.Errorf("it remembers %d names", len(l.full))
	}
	if err := l.take("late", now.Add(time.Hour)); err != nil {
		t.Errorf("after an hour: %v", err)
	}
}
