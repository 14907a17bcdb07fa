package httpapi

import (
	"net/http"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
)

// accepted says, once more and by hand, which credentials each address takes:
// n nobody, s a signed-in person, k an agent's key. An address that is not
// here fails the test, so that nobody can forget to decide.
var accepted = map[string]string{
	"GET /healthz": "nsk", "GET /readyz": "nsk", "GET /api/v1/openapi.json": "nsk",
	"POST /api/v1/setup": "nsk", "POST /api/v1/session": "nsk", "DELETE /api/v1/session": "nsk", "POST /api/v1/invitation/accept": "nsk",
	"GET /api/v1/instance": "sk", "POST /api/v1/actions/{action}": "sk",
	"GET /api/v1/people": "s", "POST /api/v1/people": "s", "PATCH /api/v1/people/{person}": "s",
	"GET /api/v1/agents": "s", "POST /api/v1/agents": "s", "PATCH /api/v1/agents/{agent}": "s",
	"POST /api/v1/agents/{agent}/keys": "s", "DELETE /api/v1/agents/{agent}/keys/{key}": "s",
	"GET /api/v1/workspace": "s", "PATCH /api/v1/workspace": "s",
	"GET /api/v1/audit/export": "s", "GET /api/v1/agents/{agent}": "s", "GET /api/v1/sites/{site}": "s", "GET /api/v1/sites/{site}/pages": "s",
	"GET /api/v1/sites/{site}/articles": "s", "GET /api/v1/sites/{site}/live": "s", "GET /api/v1/items/{item}": "s", "GET /api/v1/items/{item}/history": "s",
	"GET /api/v1/audit": "s", "GET /api/v1/audit/{action}": "s", "GET /api/v1/audit/{action}/why": "s",
	"GET /api/v1/usage": "s", "GET /api/v1/skills": "s", "GET /api/v1/agents/{agent}/covered": "s",
	"GET /api/v1/sites": "s", "GET /api/v1/sites/{site}/pending": "s", "GET /api/v1/sites/{site}/versions": "s",
	"GET /api/v1/proposals": "s", "GET /api/v1/proposals/{proposal}": "s",
	"POST /api/v1/proposals/{proposal}/approve": "s", "POST /api/v1/proposals/{proposal}/decline": "s",
	"POST /api/v1/actions/{action}/undo": "s", "GET /api/v1/actions/{action}/undo": "s", "POST /api/v1/proposals/{proposal}/undo": "s",
	"GET /api/v1/containments/plan": "s", "POST /api/v1/containments": "s", "GET /api/v1/containments/{containment}": "s",
	"GET /contain": "s", "POST /contain": "s", "GET /containments/{containment}": "s",

	"GET /sites/{site}": "nsk", "GET /sites/{site}/*": "nsk", "GET /w/{workspace}/sites/{site}": "nsk", "GET /w/{workspace}/sites/{site}/*": "nsk",
	"GET /preview/{token}": "nsk", "GET /preview/{token}/*": "nsk", "GET /assets/{name}": "nsk",

	"GET /setup": "nsk", "POST /setup": "nsk", "GET /invite": "nsk", "POST /invite": "nsk", "GET /signin": "nsk", "POST /signin": "nsk", "POST /signout": "nsk",
	"GET /signout": "s", "GET /": "s", "GET /proposals/{proposal}": "s", "GET /proposals/{proposal}/approve": "s",
	"POST /proposals/{proposal}/approve": "s", "POST /proposals/{proposal}/decline": "s",
	"GET /changes": "s", "GET /changes/{site}": "s", "POST /changes/{site}/publish": "s",
	"GET /audit": "s", "GET /audit/{action}": "s", "GET /audit/{action}/why": "s", "GET /usage": "s", "GET /agents/{agent}/advance": "s", "POST /agents/{agent}/advance": "s", "GET /audit/{action}/undo": "s", "POST /audit/{action}/undo": "s",
	"GET /agents": "s", "POST /agents": "s", "GET /agents/{agent}": "s", "POST /agents/{agent}": "s",
	"POST /agents/{agent}/keys": "s", "POST /agents/{agent}/keys/{key}/revoke": "s", "POST /workspace": "s",
	"GET /api/v1/projections": "s", "POST /api/v1/projections/rebuild": "s", "POST /api/v1/projections/compare": "s", "POST /api/v1/projections/switch-back": "s",
	"GET /system": "s", "POST /system": "s",
	"GET /api/v1/webhooks": "s", "POST /api/v1/webhooks": "s", "PATCH /api/v1/webhooks/{webhook}": "s", "DELETE /api/v1/webhooks/{webhook}": "s",
	"POST /api/v1/webhooks/{webhook}/secret": "s", "POST /api/v1/webhooks/{webhook}/rotate": "s", "POST /api/v1/webhooks/{webhook}/test": "s", "POST /api/v1/deliveries/{delivery}/retry": "s",
	"GET /webhooks": "s", "POST /webhooks": "s", "POST /webhooks/{webhook}": "s", "POST /deliveries/{delivery}/retry": "s",
	"GET /skills": "s", "POST /skills/{skill}/accept": "s", "GET /rules": "s", "POST /rules": "s", "GET /rules/{site}": "s", "POST /rules/{site}": "s", "GET /lent": "s", "GET /changes/{site}/rollback": "s", "POST /changes/{site}/rollback": "s", "POST /lent": "s",
	"GET /api/v1/sites/{site}/rules": "s",
	"DELETE /api/v1/people/{person}": "s", "POST /api/v1/people/{person}/erase": "s", "GET /api/v1/sessions": "s", "DELETE /api/v1/sessions/{session}": "s",
	"POST /people/{person}": "s", "GET /you": "s", "POST /you": "s",
	"GET /people": "s", "POST /people": "s",
}

// eachRoute calls f with every address chi knows, filled in with things of
// Ada's.
func (w *world) eachRoute(f func(method, pattern, path string)) {
	keyID := strings.TrimPrefix(w.key, "assent_")
	fill := strings.NewReplacer("{agent}", w.agent, "{key}", keyID, "{site}", "main", "{proposal}", w.held, "{workspace}", "home", "{token}", "forged.token", "{name}", "x.css", "*", "about")
	err := chi.Walk(w.server.router().(chi.Routes), func(method, pattern string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if method == http.MethodHead {
			return nil
		}
		path := pattern
		if strings.Contains(pattern, "/api/v1/actions/{action}") && !strings.HasSuffix(pattern, "undo") {
			path = strings.ReplaceAll(path, "{action}", "article.list")
		}
		f(method, pattern, fill.Replace(strings.ReplaceAll(path, "{action}", w.act)))
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func bodyFor(method, pattern string) string {
	switch {
	case method == http.MethodGet:
		return ""
	case strings.HasPrefix(pattern, "/api/"):
		if strings.HasSuffix(pattern, "{action}") {
			return `{"site":"main"}`
		}
		return `{}`
	}
	return "x=y"
}

// turnedAway says that an answer is that of a door that did not know the
// caller.
func turnedAway(status int, location string) bool {
	return status == http.StatusUnauthorized || status == http.StatusSeeOther && strings.HasPrefix(location, "/signin")
}

func TestEveryRouteTakesTheCredentialsItDeclaresAndNoOthers(t *testing.T) {
	w := newWorld(t)
	credentials := map[string][]sent{"n": nil, "s": {as(w.ada)}, "k": {withKey(w.key)}}
	seen := 0
	w.eachRoute(func(method, pattern, path string) {
		name := method + " " + pattern
		takes, declared := accepted[name]
		if !declared {
			t.Errorf("%s: nobody said who may call it", name)
			return
		}
		seen++
		for letter, how := range credentials {
			fresh := newWorld(t) // one call must not decide the next
			how := how
			switch letter {
			case "s":
				how = []sent{as(fresh.ada)}
			case "k":
				how = []sent{withKey(fresh.key)}
			}
			path := strings.NewReplacer(w.agent, fresh.agent, w.held, fresh.held, w.act, fresh.act).Replace(path)
			res := fresh.do(method, path, bodyFor(method, pattern), how...)
			location := res.Header().Get("Location")
			if name == "POST /signout" || name == "POST /signin" {
				location = ""
			}
			if got := !turnedAway(res.Code, location) || name == "POST /api/v1/session"; got != strings.Contains(takes, letter) {
				t.Errorf("%s with %q: %d %s, taken %v", name, letter, res.Code, location, got)
			}
			if res.Code >= 500 {
				t.Errorf("%s with %q: %d %s", name, letter, res.Code, res.Body)
			}
		}
	})
	if seen != len(accepted) {
		t.Errorf("%d of the %d declared addresses exist", seen, len(accepted))
	}
}

func TestAPersonOfAnotherWorkspaceNeverSeesOrChangesAnythingOfThisOne(t *testing.T) {
	w := newWorld(t)
	before := len(w.rows["home"])
	w.eachRoute(func(method, pattern, path string) {
		if strings.HasPrefix(pattern, "/sites/") || strings.HasPrefix(pattern, "/w/") || strings.HasSuffix(pattern, "/signout") || strings.HasSuffix(pattern, "/session") {
			return // what is public is public; and Bo stays signed in
		}
		res := w.do(method, path, bodyFor(method, pattern), as(w.bo))
		if strings.Contains(res.Body.String(), canary) {
			t.Errorf("%s %s shows what is another's", method, path)
		}
		if named := strings.Contains(pattern, "{proposal}") || strings.Contains(pattern, "{agent}"); named && res.Code < 400 {
			t.Errorf("%s %s: %d for a thing of another workspace", method, path, res.Code)
		}
	})
	if after := len(w.rows["home"]); after != before {
		t.Errorf("%d actions happened in the other workspace", after-before)
	}
	if p, _ := w.find("home", w.held); p.State != "waiting" {
		t.Errorf("the proposal is %s", p.State)
	}
}

func TestAKeyIsNotReadWherePeopleDecideAndACookieIsNotReadWhereAKeyIsSaid(t *testing.T) {
	w := newWorld(t)
	if res := w.do("POST", "/api/v1/proposals/"+w.held+"/approve", `{}`, withKey(w.key), header("X-Api-Key", w.key)); res.Code != http.StatusUnauthorized {
		t.Errorf("an agent approves: %d", res.Code)
	}
	if res := w.do("GET", "/", "", withKey(w.key)); res.Code != http.StatusSeeOther {
		t.Errorf("the console reads a key: %d", res.Code)
	}
	if res := w.do("GET", "/", "", as(w.ada), withKey("assent_nonsense")); res.Code != http.StatusOK {
		t.Errorf("a key spoils a page it has nothing to do with: %d", res.Code)
	}
	if res := w.do("GET", "/api/v1/instance", "", as(w.ada), withKey("assent_nonsense")); res.Code != http.StatusUnauthorized {
		t.Errorf("a wrong key is made good by a cookie: %d", res.Code)
	}
	if res := w.do("GET", "/api/v1/instance", "", header("X-Api-Key", w.key)); res.Code != http.StatusOK {
		t.Errorf("x-api-key: %d", res.Code)
	}
}

func TestAnAuditorReadsAndIsOfferedNothingToDecide(t *testing.T) {
	w := newWorld(t)
	cy := w.seated("auditor")
	page := w.do("GET", "/proposals/"+w.held, "", as(cy))
	if page.Code != http.StatusOK || strings.Contains(page.Body.String(), "Approve…") {
		t.Errorf("%d, or Approve is offered", page.Code)
	}
	if res := w.do("POST", "/proposals/"+w.held+"/approve", "digest=x", as(cy)); res.Code != http.StatusForbidden {
		t.Errorf("an auditor approves: %d", res.Code)
	}
	if res := w.do("POST", "/api/v1/people", `{"name":"Di","email":"di@example.org","role":"owner"}`, as(cy)); res.Code != http.StatusForbidden {
		t.Errorf("an auditor invites: %d", res.Code)
	}
	if _, left := w.accounts.emails["di@example.org"]; left {
		t.Error("a refused invitation leaves an account")
	}
	if res := w.do("PATCH", "/api/v1/people/"+cy.Person, `{"role":"owner"}`, as(cy)); res.Code != http.StatusForbidden {
		t.Errorf("an auditor makes themselves an owner: %d", res.Code)
	}
	if res := w.do("PATCH", "/api/v1/people/"+w.ada.Person, `{"role":"editor"}`, as(w.ada)); res.Code != http.StatusForbidden {
		t.Errorf("an owner changes their own seat: %d", res.Code)
	}
	if res := w.do("PATCH", "/api/v1/people/person_nobody", `{"role":"editor"}`, as(w.ada)); res.Code != http.StatusNotFound {
		t.Errorf("nobody gets a seat: %d", res.Code)
	}
	if res := w.do("PATCH", "/api/v1/people/"+cy.Person, `{"role":"editor"}`, as(w.ada)); res.Code != http.StatusOK {
		t.Errorf("an auditor becomes an editor: %d %s", res.Code, res.Body)
	}
	w.must("home", w.ada.Person, "person.unseat", object{"person": cy.Person})
	if res := w.do("GET", "/api/v1/audit", "", as(cy)); res.Code != http.StatusForbidden {
		t.Errorf("without a seat: %d", res.Code)
	}
}

func TestUnknownAddressesAreAPlain404AndOtherMethodsA405(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{"/.well-known/oauth-protected-resource", "/.well-known/anything", "/api", "/api/v1/nothing", "/sites"} {
		if res := w.do("GET", path, "", as(w.ada)); res.Code != http.StatusNotFound || w.problem(res).Code != "not-found" {
			t.Errorf("%s: %d", path, res.Code)
		}
	}
	if res := w.do("PUT", "/api/v1/audit", "{}", as(w.ada)); res.Code != http.StatusMethodNotAllowed {
		t.Errorf("PUT: %d", res.Code)
	}
}
