package reactions_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"assent/commands/reactions"
	"assent/domain"
	"assent/domain/delivery"
	"assent/domain/webhook"

	"github.com/google/go-cmp/cmp"
)

func TestAReceiverIsToldSignedAndWithoutTexts(t *testing.T) {
	h, out := newHouse(t), newReceiver(t)
	before := h.article("before")
	r, _ := h.start()
	hook := h.hook(out.URL + "/told?x=1")
	id := h.article("one")
	h.edit(id, title)
	h.until("both arrive", func() bool { return len(out.arrived()) == 2 })

	secret, err := r.SecretOf(t.Context(), ws, hook)
	if err != nil {
		t.Fatal(err)
	}
	for n, m := range out.arrived() {
		if !verified(t, secret, m) || verified(t, "whsec_"+strings.Repeat("A", 44), m) {
			t.Errorf("%s is not signed: %s", m.id, m.signature)
		}
		if bytes.Contains(m.body, []byte("Canary")) || bytes.Contains(m.body, []byte(ana)) {
			t.Errorf("it tells what a person wrote, or who: %s", m.body)
		}
		change := []string{"added", "edited"}[n]
		want := event{
			SpecVersion: "1.0", ID: m.id, Source: "/workspaces/home", Type: "assent.content.changed.v1", Subject: "article/" + id,
			DataContentType: "application/json", Sequence: fmt.Sprint(n + 1), Time: m.event.Time, Position: m.event.Position,
			Data: fmt.Appendf(nil, `{"kind":"article","id":%q,"version":%d,"change":%q}`, id, n+1, change),
		}
		if diff := cmp.Diff(want, m.event); diff != "" {
			t.Errorf("message %d (-want +got):\n%s", n, diff)
		}
		if m.contentType != reactions.ContentType || time.Since(m.event.Time) > time.Minute {
			t.Errorf("message %d came as %s of %s", n, m.contentType, m.event.Time)
		}
		if m.event.Subject == "article/"+before {
			t.Error("it is told of what came before it was set up")
		}
	}
}

func TestAWebhookIsToldOfWhatItNamesAndOfATest(t *testing.T) {
	h, out := newHouse(t), newReceiver(t)
	h.start()
	hook := h.hook(out.URL, "site.published")
	h.article("one")
	h.do(webhook.Send, webhook.SendArgs{Which: webhook.Which{Webhook: hook}})
	h.until("the test arrives", func() bool { return len(out.all()) > 0 })
	if got := out.all()[0].event.Type; got != "assent.webhook.tested.v1" {
		t.Errorf("told of %s first", got)
	}
}

func TestASecretThatWasChangedSignsAlongWithTheNewOne(t *testing.T) {
	h, out := newHouse(t), newReceiver(t)
	r, _ := h.start()
	hook := h.hook(out.URL)
	which := webhook.Which{Webhook: hook}
	old, err := r.SecretOf(t.Context(), ws, hook)
	if err != nil {
		t.Fatal(err)
	}
	h.do(webhook.Rotate, webhook.RotateArgs{Which: which})
	now, err := r.SecretOf(t.Context(), ws, hook)
	if err != nil || now == old {
		t.Fatalf("the secret is still %s: %v", now, err)
	}
	h.do(webhook.Send, webhook.SendArgs{Which: which})
	h.until("it arrives", func() bool { return len(out.arrived()) == 1 })
	if m := out.arrived()[0]; !verified(t, old, m) || !verified(t, now, m) {
		t.Errorf("signed with %s", m.signature)
	}
}

// A receiver that fails now and then, and several lanes: what happens to one
// thing is told in its order, and all of it.
func TestWhatHappensToOneThingIsToldInOrder(t *testing.T) {
	h, out := newHouse(t), newReceiver(t)
	var n atomic.Int32
	out.answers(func(message) int {
		if n.Add(1)%3 == 0 {
			return http.StatusServiceUnavailable
		}
		return http.StatusNoContent
	})
	h.start()
	h.hook(out.URL)
	ids := []string{h.article("a"), h.article("b"), h.article("c"), h.article("d"), h.article("e")}
	const edits = 12
	for i := range edits {
		for _, id := range ids {
			h.edit(id, fmt.Sprint(i))
		}
	}
	h.until("all arrive", func() bool { return len(out.arrived()) == len(ids)*(edits+1) })
	inOrder(t, out.arrived())
}

func TestWhatAReceiverRefusesIsNotedAndAPersonSendsItAgain(t *testing.T) {
	h, out := newHouse(t), newReceiver(t)
	var wants atomic.Bool
	refused := h.article("refused")
	out.answers(func(m message) int {
		if m.event.Subject == "article/"+refused && !wants.Load() {
			return http.StatusGone
		}
		return http.StatusNoContent
	})
	r, stop := h.start()
	h.hook(out.URL)
	h.edit(refused, "x")
	h.edit(h.article("other"), "y")
	h.until("what comes after it arrives", func() bool { return len(out.arrived()) == 2 })

	late := h.failing(r)
	want := reactions.Late{Delivery: late.Delivery, Event: late.Event, Name: "content.changed", Status: delivery.IsFailed, Code: "410"}
	if diff := cmp.Diff(want, late); diff != "" {
		t.Errorf("noted (-want +got):\n%s", diff)
	}
	if sent := count(out.all(), string(late.Event)); sent != 1 {
		t.Errorf("what is not wanted was sent %d times", sent)
	}
	again := delivery.RetryArgs{Which: delivery.Which{Delivery: late.Delivery}}
	if out := h.ask(domain.Principal{Kind: domain.KindAgent, ID: "agent_1"}, delivery.Retry, again); out.Refusal == nil {
		t.Errorf("an agent has it sent again: %+v", out)
	}
	stop()
	wants.Store(true)
	r, _ = h.start() // another process
	h.do(delivery.Retry, again)
	h.until("it arrives after all", func() bool { return h.delivery(late.Delivery).Status == delivery.IsArrived })
	if sent := count(out.all(), string(late.Event)); sent != 2 {
		t.Errorf("it was sent %d times under its id", sent)
	}
	if list := h.webhooks(r); len(list) != 1 || len(list[0].Failing) != 0 {
		t.Errorf("it is still listed: %+v", list)
	}
}

func count(all []message, id string) (n int) {
	for _, m := range all {
		if m.id == id {
			n++
		}
	}
	return n
}

// While a receiver is away one message a lane is on its way, and the log keeps
// the rest. A person need not wait for the next try.
func TestAReceiverThatWasAwayForLongIsToldEverythingInOrder(t *testing.T) {
	h, out := newHouse(t), newReceiver(t)
	var away atomic.Bool
	away.Store(true)
	out.answers(func(message) int {
		if away.Load() {
			return http.StatusBadGateway
		}
		return http.StatusNoContent
	})
	h.parts.Tempo.Later = reactions.Backoff{First: 5 * time.Millisecond, Most: time.Hour}
	r, _ := h.start()
	h.hook(out.URL)
	ids := []string{h.article("a"), h.article("b"), h.article("c")}
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	body := strings.Repeat("long ", 6_000) // 30 KB
	const edits = 100
	for i := range edits {
		h.edit(ids[i%len(ids)], fmt.Sprint(i, body))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 16<<20 {
		t.Errorf("while it was away %d bytes gathered", grown)
	}
	var late []reactions.Late
	h.until("it is noted that they are held", func() bool {
		late = h.webhooks(r)[0].Failing
		return len(late) > 0 && late[0].Held && late[0].Code == "502"
	})
	if len(late) > brisk.Lanes {
		t.Errorf("%d are noted, with %d lanes", len(late), brisk.Lanes)
	}
	seen := map[string]bool{}
	for _, m := range out.all() {
		seen[m.id] = true
	}
	if len(seen) > brisk.Lanes {
		t.Errorf("%d were on their way at once", len(seen))
	}
	away.Store(false)
	for _, l := range late { // the next try would be in an hour
		h.until("those that are held arrive", func() bool {
			if h.delivery(l.Delivery).Status == delivery.IsFailed {
				h.do(delivery.Retry, delivery.RetryArgs{Which: delivery.Which{Delivery: l.Delivery}})
			}
			return h.delivery(l.Delivery).Status == delivery.IsArrived
		})
	}
	h.until("everything arrives", func() bool { return len(out.arrived()) == len(ids)+edits })
	inOrder(t, out.arrived())
	if got := h.webhooks(r)[0].Failing; len(got) != 0 {
		t.Errorf("still listed: %+v", got)
	}
}

func TestAPausedWebhookIsToldLater(t *testing.T) {
	h, out := newHouse(t), newReceiver(t)
	h.start()
	hook := h.hook(out.URL)
	pause := func(yes bool) {
		h.do(webhook.Update, webhook.UpdateArgs{Which: webhook.Which{Webhook: hook}, Paused: &yes})
	}
	first := h.article("first")
	h.until("the first arrives", func() bool { return len(out.arrived()) == 1 })
	pause(true)
	second := h.article("second")
	if n := len(out.all()); n != 1 {
		t.Errorf("a paused webhook was told %d times", n)
	}
	pause(false)
	h.until("the second arrives", func() bool { return len(out.arrived()) == 2 })
	if got := out.arrived(); got[0].event.Subject != "article/"+first || got[1].event.Subject != "article/"+second {
		t.Errorf("told of %s and %s", got[0].event.Subject, got[1].event.Subject)
	}
}

// Nothing inside is reached by a name that stands for it, nor by a redirect.
func TestNobodyIsSentIntoANetwork(t *testing.T) {
	inside := newReceiver(t)
	secure := httptest.NewTLSServer(inside)
	t.Cleanup(secure.Close)
	_, port, _ := strings.Cut(strings.TrimPrefix(inside.URL, "http://"), ":")
	_, securePort, _ := strings.Cut(strings.TrimPrefix(secure.URL, "https://"), ":")
	for name, c := range map[string]struct {
		url      func(t *testing.T) string
		loopback bool
		code     string
	}{
		"this machine":               {url: func(*testing.T) string { return inside.URL }, code: "private-address"},
		"this machine, privately":    {url: func(*testing.T) string { return secure.URL }, code: "private-address"},
		"a name for it":              {url: func(*testing.T) string { return "https://localhost:" + securePort }, code: "private-address"},
		"a name for it, openly":      {url: func(*testing.T) string { return "http://localhost:" + port }, code: "private-address"},
		"it as IPv6 spells it":       {url: func(*testing.T) string { return "https://[::ffff:127.0.0.1]:" + securePort }, code: "private-address"},
		"a redirect to this machine": {url: redirecting(inside), loopback: true, code: "307"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			h.parts.Loopback = c.loopback
			r, _ := h.start()
			h.hook(c.url(t))
			h.article("one")
			if late := h.failing(r); late.Code != c.code || late.Held {
				t.Errorf("noted as %+v, not %s", late, c.code)
			}
		})
	}
	if n := len(inside.all()); n != 0 {
		t.Errorf("what is inside was reached %d times", n)
	}
	for url, refused := range map[string]bool{
		"https://10.0.0.1/": true, "https://169.254.169.254/latest": true, "https://[fd00::1]/": true, "http://example.org/": true,
		"https://user:pass@example.org/": true, "https://example.org/": false,
	} {
		h := newHouse(t)
		out := h.ask(domain.Principal{Kind: domain.KindPerson, ID: ana}, webhook.Create, webhook.CreateArgs{URL: url})
		if (out.Refusal != nil) != refused {
			t.Errorf("%s: %+v", url, out.Refusal)
		}
	}
}

func redirecting(to *receiver) func(*testing.T) string {
	return func(t *testing.T) string {
		r := newReceiver(t)
		r.redirect = to.URL
		r.answers(func(message) int { return http.StatusTemporaryRedirect })
		return r.URL
	}
}

// A receiver that refuses everything does not fill the log with it.
func TestAReceiverThatRefusesEverythingHoldsTheRest(t *testing.T) {
	h, out := newHouse(t), newReceiver(t)
	out.answers(func(message) int { return http.StatusNotFound })
	h.parts.Tempo.Lanes = 1
	r, _ := h.start()
	h.hook(out.URL)
	id := h.article("one")
	for i := range 30 {
		h.edit(id, fmt.Sprint(i))
	}
	h.until("one is held", func() bool {
		list := h.webhooks(r)[0].Failing
		for _, l := range list {
			if l.Held {
				return true
			}
		}
		return false
	})
	if n := len(h.webhooks(r)[0].Failing); n != 11 {
		t.Errorf("%d are noted, not ten and the one that is held", n)
	}
}
