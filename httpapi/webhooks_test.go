package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"assent/commands"
	"assent/domain"
	"assent/domain/action"
	"assent/domain/delivery"
	"assent/domain/webhook"
)

// Webhooks is the port's.
func (h *house) Webhooks(_ context.Context, ws string, _ action.Page) (WebhookPage, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	page := WebhookPage{Items: []Webhook{}}
	for s, history := range h.history {
		w, is := h.state(s).(webhook.Webhook)
		if !is || s.Workspace != ws || !w.Exists {
			continue
		}
		shown := Webhook{ID: s.ID, Rev: domain.Version(len(history)), URL: w.URL, Events: append([]string{}, w.Events...), Paused: w.Paused, Secret: w.Secret}
		for late := range h.history {
			if d, is := h.state(late).(delivery.Delivery); is && d.What.Webhook == s.ID && d.Status != delivery.IsArrived {
				shown.Failing = append(shown.Failing, Late{late.ID, d.What.Event, d.What.Name, d.Status, d.What.Code, d.What.Held})
			}
		}
		page.Items = append(page.Items, shown)
	}
	slices.SortFunc(page.Items, func(a, b Webhook) int { return strings.Compare(a.ID, b.ID) })
	return page, nil
}

// Secret is the port's.
func (h *house) Secret(ctx context.Context, call commands.Call, id string) (Secret, error) {
	out, err := h.Do(ctx, call)
	if err == nil {
		err = refused(out)
	}
	return Secret{"whsec_of-" + id, out.Position}, err
}

func (w *world) webhooks() []Webhook {
	w.t.Helper()
	var page WebhookPage
	if err := json.Unmarshal(w.do("GET", "/api/v1/webhooks", "", as(w.ada)).Body.Bytes(), &page); err != nil {
		w.t.Fatal(err)
	}
	return page.Items
}

func TestAnOwnerSetsUpAWebhookOverHTTP(t *testing.T) {
	w := newWorld(t)
	if res := w.do("POST", "/api/v1/webhooks", `{"url":"https://example.org/told","events":["site.published"]}`, as(w.ada)); res.Code != http.StatusOK {
		t.Fatalf("%d %s", res.Code, res.Body)
	}
	list := w.webhooks()
	if len(list) != 1 || list[0].URL != "https://example.org/told" || !slices.Equal(list[0].Events, []string{"site.published"}) {
		t.Fatalf("listed %+v", list)
	}
	at := "/api/v1/webhooks/" + list[0].ID
	for _, c := range []struct {
		method, path, body string
		status             int
		code               string
	}{
		{"PATCH", at, `{"paused":true,"rev":1}`, 200, ""},
		{"PATCH", at, `{"url":"http://example.org/"}`, 400, "invalid"},
		{"PATCH", at, `{"uri":"https://example.org/"}`, 400, "invalid"},
		{"POST", at + "/test", ``, 200, ""},
		{"POST", at + "/rotate", ``, 200, ""},
		{"POST", "/api/v1/deliveries/dlv_1/retry", ``, 404, "not-found"},
		{"GET", "/api/v1/webhooks?colour=red", ``, 400, "invalid"},
		{"DELETE", at, ``, 200, ""},
		{"POST", at + "/secret", ``, 404, "not-found"},
	} {
		res := w.do(c.method, c.path, c.body, as(w.ada))
		if res.Code != c.status || c.code != "" && w.problem(res).Code != c.code {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, res.Code, res.Body)
		}
	}
	if list := w.webhooks(); len(list) != 0 {
		t.Errorf("after it was removed: %+v", list)
	}
}

func TestASecretIsShownWhereItIsAskedForAndThatIsRecorded(t *testing.T) {
	w := newWorld(t)
	w.do("POST", "/webhooks", "url=https%3A%2F%2Fexample.org%2Ftold&event=site.published", as(w.ada))
	id := w.webhooks()[0].ID
	if page := w.do("GET", "/webhooks", "", as(w.ada)).Body.String(); strings.Contains(page, "whsec_") || !strings.Contains(page, "https://example.org/told") {
		t.Errorf("the page says %.4000s", page)
	}
	res := w.do("POST", "/webhooks/"+id, "do=secret", as(w.ada))
	if res.Code != http.StatusOK || !strings.Contains(res.Body.String(), "whsec_of-"+id) || !strings.Contains(res.Header().Get("Cache-Control"), "no-store") {
		t.Errorf("%d %v %.4000s", res.Code, res.Header(), res.Body)
	}
	rows := w.rows["home"]
	if len(rows) == 0 || rows[0].Action != webhook.Reveal.Name {
		t.Errorf("the last thing recorded is %+v", rows[0])
	}
}

func TestAPersonSeesWhatDidNotArriveAndSendsItAgain(t *testing.T) {
	w := newWorld(t)
	w.do("POST", "/webhooks", "url=https%3A%2F%2Fexample.org%2Ftold", as(w.ada))
	id := w.webhooks()[0].ID
	late := w.stream("home", "delivery", "dlv_06g0example00000000000000001")
	w.history[late] = []any{delivery.Failed{Webhook: id, Event: "evt_1", Name: "<b>site.published", Stream: "live-home/main", Version: 1, Code: "404"}}
	page := w.do("GET", "/webhooks", "", as(w.ada)).Body.String()
	for _, want := range []string{"&lt;b&gt;site.published", "the answer was 404", "given up until somebody asks", `action="/deliveries/` + late.ID + `/retry"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q: %.4000s", want, page)
		}
	}
	if res := w.do("POST", "/deliveries/"+late.ID+"/retry", "x=y", as(w.ada)); res.Code != http.StatusSeeOther {
		t.Errorf("%d %s", res.Code, res.Body)
	}
	if page := w.do("GET", "/webhooks", "", as(w.ada)).Body.String(); !strings.Contains(page, "on its way again") {
		t.Errorf("the page says %.4000s", page)
	}
}

func TestAWrongAddressIsSaidOnThePage(t *testing.T) {
	w := newWorld(t)
	for _, form := range []string{"url=http%3A%2F%2Fexample.org", "url=https%3A%2F%2F10.0.0.1", "url=https%3A%2F%2Fexample.org&event=none"} {
		if res := w.do("POST", "/webhooks", form, as(w.ada)); res.Code != http.StatusBadRequest || !strings.Contains(res.Body.String(), `role="alert"`) {
			t.Errorf("%s: %d %.3000s", form, res.Code, res.Body)
		}
	}
	if list := w.webhooks(); len(list) != 0 {
		t.Errorf("made %+v", list)
	}
}
