package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"assent/commands/reactions"
	"assent/domain"
	"assent/httpapi"
)

// listener is somebody outside, who writes down what they are told.
type listener struct {
	*httptest.Server
	mu      sync.Mutex
	refuses bool
	got     []reactions.Event
}

func outsider(t *testing.T) *listener {
	o := &listener{}
	o.Server = httptest.NewServer(o)
	t.Cleanup(o.Close)
	return o
}

func (o *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var e reactions.Event
	text, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(text, &e)
	}
	if err != nil || r.Header.Get("Webhook-Signature") == "" || r.Header.Get("Webhook-Id") != string(e.ID) {
		http.Error(w, "this is no message", http.StatusTeapot)
		return
	}
	o.got = append(o.got, e)
	if o.refuses {
		w.WriteHeader(http.StatusGone)
	}
}

func (o *listener) refuse(yes bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.refuses = yes
}

// of is what was told of a kind.
func (o *listener) of(kind string) (list []reactions.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, e := range o.got {
		if e.Type == "assent."+kind+".v1" {
			list = append(list, e)
		}
	}
	return list
}

func (o *listener) times() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.got)
}

// outwardPlan tells this machine too, and is soon done with what fails.
func outwardPlan(t *testing.T) plan {
	return plan{dir: t.TempDir(), vault: cheap, reactionFlags: reactionFlags{Loopback: true}, tempo: reactions.Tempo{
		Tries: 1, Later: reactions.Backoff{First: 10 * time.Millisecond, Most: 50 * time.Millisecond}, Lease: time.Second,
	}}
}

// An agent asks, an owner says yes, and from then on it is told: of what goes
// live, and of what waits. Rebuilding the read models tells nobody anything.
func TestAWebhookAnAgentAskedForIsToldOnceAnOwnerSaidYes(t *testing.T) {
	out := outsider(t)
	p := inProcessOf(t, servingPlan(t, outwardPlan(t)))
	p.owner(t, "ana", "home")
	p.agent(t, "bot", "ana", "auto", []string{"content:read", "content:write", "site:write"})
	asked := p.act(t, "bot", "webhook.create", map[string]any{"url": out.URL, "events": []any{"site.published", "proposal.filed"}})
	if asked.Outcome != "waiting" || asked.Verdict.Cause != "gate" {
		t.Fatalf("%+v", asked)
	}
	p.act(t, "bot", "article.create", map[string]any{"site": "main", "slug": "menu", "title": "Menu", "body": ""})
	p.act(t, "ana", "site.publish", map[string]any{"site": "main"})
	if n := out.times(); n != 0 {
		t.Errorf("before anybody said yes it was told %d times", n)
	}
	var held struct {
		ID string `json:"id"`
	}
	if err := respell(asked.Proposal, &held); err != nil {
		t.Fatal(err)
	}
	if done := p.approve(t, "ana", held.ID, ""); done.Outcome != "done" {
		t.Fatalf("%+v", done)
	}
	gone := p.act(t, "ana", "article.create", map[string]any{"site": "main", "slug": "fair", "title": "Fair", "body": ""})
	p.act(t, "ana", "site.publish", map[string]any{"site": "main"})
	waits := p.act(t, "bot", "article.remove", map[string]any{"article": gone.Target.ID})
	if waits.Outcome != "waiting" {
		t.Fatalf("%+v", waits)
	}
	waitUntil(t, "it is told of both", func() bool { return len(out.of("site.published")) == 1 && len(out.of("proposal.filed")) == 1 })
	if e := out.of("site.published")[0]; e.Subject != "live/main" || e.Source != "/workspaces/home" {
		t.Errorf("told %+v", e)
	}

	before := out.times()
	if status, text := p.ask(t, "ana", "POST", "/projections/rebuild", map[string]any{}); status != http.StatusAccepted {
		t.Fatalf("%d %s", status, text)
	}
	waitUntil(t, "the rebuild is over", func() bool {
		var s httpapi.System
		p.must(t, "ana", "GET", "/projections", nil, &s)
		return s.Last != nil && s.ReadModels.Rebuild == nil
	})
	if n := out.times(); n != before {
		t.Errorf("a rebuild told %d more", n-before)
	}
}

// What a receiver refuses is in the audit and beside its webhook, and goes out
// again under its id when a person says so.
func TestWhatDidNotArriveIsSeenAndSentAgain(t *testing.T) {
	out := outsider(t)
	s := servingPlan(t, outwardPlan(t))
	p := inProcessOf(t, s)
	p.owner(t, "ana", "home")
	p.agent(t, "bot", "ana", "auto", nil)
	p.must(t, "ana", "POST", "/webhooks", map[string]any{"url": out.URL, "events": []any{"content.changed"}}, nil)
	out.refuse(true)
	p.act(t, "ana", "article.create", map[string]any{"site": "main", "slug": "menu", "title": "Menu", "body": ""})
	list := func() (page httpapi.WebhookPage) {
		p.must(t, "ana", "GET", "/webhooks", nil, &page)
		return page
	}
	waitUntil(t, "it is listed", func() bool { return len(list().Items) == 1 && len(list().Items[0].Failing) == 1 })
	late := list().Items[0].Failing[0]
	if late.Code != "410" || late.Held {
		t.Errorf("listed %+v", late)
	}
	noted := slices.ContainsFunc(p.audit(t, "ana"), func(r httpapi.AuditRow) bool {
		return r.Action == "delivery.fail" && r.Principal.Kind == domain.KindSystem && r.Target.ID == late.Delivery
	})
	if !noted {
		t.Error("it is not in the audit")
	}
	if no := p.act(t, "bot", "delivery.retry", map[string]any{"delivery": late.Delivery}); no.Refusal == nil || no.Refusal.Code != "person-only" {
		t.Errorf("an agent has it sent again: %+v", no)
	}
	out.refuse(false)
	p.must(t, "ana", "POST", "/deliveries/"+late.Delivery+"/retry", map[string]any{}, nil)
	waitUntil(t, "it arrived", func() bool { return len(list().Items[0].Failing) == 0 })
	if got := out.of("content.changed"); len(got) != 2 || got[0].ID != got[1].ID || got[0].ID != late.Event {
		t.Errorf("told %+v", got)
	}
}

// A secret is shown to an owner, and that it was is in the log.
func TestWhoIsShownASecretIsRecorded(t *testing.T) {
	p := inProcessOf(t, serving(t))
	p.owner(t, "ana", "home")
	p.owner(t, "eve", "other")
	p.agent(t, "bot", "ana", "auto", nil)
	made := p.act(t, "ana", "webhook.create", map[string]any{"url": "https://localhost/told"})
	var shown httpapi.Secret
	p.must(t, "ana", "POST", "/webhooks/"+made.Target.ID+"/secret", map[string]any{}, &shown)
	if len(shown.Secret) != len("whsec_")+44 || shown.Position == 0 {
		t.Errorf("shown %+v", shown)
	}
	if got, text := p.ask(t, "eve", "POST", "/webhooks/"+made.Target.ID+"/secret", map[string]any{}); got != http.StatusNotFound {
		t.Errorf("another workspace's owner: %d %s", got, text)
	}
	if no := p.act(t, "bot", "webhook.reveal", map[string]any{"webhook": made.Target.ID}); no.Refusal == nil || no.Refusal.Code != "person-only" {
		t.Errorf("an agent: %+v", no)
	}
	revealed := 0
	for _, r := range p.audit(t, "ana") {
		if r.Action == "webhook.reveal" && r.Outcome == "done" {
			revealed++
		}
	}
	if revealed != 1 {
		t.Errorf("it is in the audit %d times", revealed)
	}
}
