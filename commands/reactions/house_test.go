package reactions_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"assent/commands"
	"assent/commands/eventlog/sqlite"
	"assent/commands/reactions"
	"assent/domain"
	"assent/domain/action"
	"assent/domain/article"
	"assent/domain/catalogue"
	"assent/domain/delivery"
	"assent/domain/person"
	"assent/domain/site"
	"assent/domain/webhook"
	"assent/domain/workspace"
)

const (
	ws    = "home"
	ana   = "person_06g0example000000000000001"
	soon  = 20 * time.Second // by when what must happen has happened
	title = "Canary, which nobody outside may read"
)

// brisk is a server's tempo for a test's patience.
var brisk = reactions.Tempo{
	Lanes: 4, Timeout: 2 * time.Second, Tries: 2,
	Soon:  reactions.Backoff{First: time.Millisecond, Most: 5 * time.Millisecond},
	Later: reactions.Backoff{First: 5 * time.Millisecond, Most: 20 * time.Millisecond},
	Lease: time.Second,
}

// house is a log in a file with its road, an owner and a site.
type house struct {
	t     testing.TB
	dir   string
	log   *sqlite.Log
	parts reactions.Parts
}

func newHouse(t testing.TB) *house {
	h := openHouse(t, t.TempDir())
	h.found()
	return h
}

// found makes an owner and a site.
func (h *house) found() {
	h.t.Helper()
	system := domain.Principal{Kind: domain.KindSystem, ID: "setup"}
	h.as(system, workspace.Found, workspace.FoundArgs{Founder: ana})
	h.as(system, person.Seat, person.SeatArgs{Person: ana, Role: "owner"})
	h.do(site.Create, site.CreateArgs{Which: site.Which{Site: "main"}, Title: "Main"})
}

// openHouse is a process on a folder.
func openHouse(t testing.TB, dir string) *house {
	t.Helper()
	log, err := sqlite.Open(t.Context(), filepath.Join(dir, "log.db"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	words, err := catalogue.Words()
	if err != nil {
		t.Fatal(err)
	}
	registry, err := catalogue.Actions()
	if err != nil {
		t.Fatal(err)
	}
	store, err := reactions.OpenStore(t.Context(), filepath.Join(dir, "reactions.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	road := commands.NewRoad(commands.Parts{Log: log, Words: words, Kinds: catalogue.Kinds(), Registry: registry, Clock: time.Now})
	return &house{t: t, dir: dir, log: log, parts: reactions.Parts{
		Log: log, Words: words, Road: road, Store: store, Secret: []byte(strings.Repeat("s", 32)), Clock: time.Now,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), ProposalURL: func(id string) string { return "https://assent.example.org/proposals/" + id },
		Loopback: true, Tempo: brisk,
	}}
}

// as takes the road for somebody, who must not be refused.
func (h *house) as(who domain.Principal, a *action.Action, args any) commands.Outcome {
	h.t.Helper()
	out := h.ask(who, a, args)
	if out.Outcome != commands.Done && out.Outcome != commands.Idle {
		h.t.Fatalf("%s: %+v %+v", a.Name, out, out.Refusal)
	}
	return out
}

func (h *house) ask(who domain.Principal, a *action.Action, args any) commands.Outcome {
	h.t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		h.t.Fatal(err)
	}
	call := commands.Call{Workspace: ws, Principal: who, Action: a.Name, Args: raw}
	if who.Kind != domain.KindSystem {
		call.Person = ana
	}
	out, err := h.parts.Road.Do(context.Background(), call)
	if err != nil {
		h.t.Fatalf("%s: %v", a.Name, err)
	}
	return out
}

// do takes the road for the owner.
func (h *house) do(a *action.Action, args any) commands.Outcome {
	h.t.Helper()
	return h.as(domain.Principal{Kind: domain.KindPerson, ID: ana}, a, args)
}

// article makes one, and gives its id.
func (h *house) article(slug string) string {
	h.t.Helper()
	return h.do(article.Create, article.CreateArgs{Site: "main", Slug: slug, Title: title}).Target.ID
}

func (h *house) edit(id, body string) {
	h.t.Helper()
	h.do(article.Update, article.UpdateArgs{Which: article.Which{Article: id}, Body: new(body)})
}

// busy makes three articles and edits them in turns, and gives how many things
// there are to tell.
func (h *house) busy() (ids []string, all int) {
	h.t.Helper()
	ids = []string{h.article("a"), h.article("b"), h.article("c")}
	const edits = 10
	for i := range edits {
		for _, id := range ids {
			h.edit(id, fmt.Sprint(i))
		}
	}
	return ids, len(ids) * (edits + 1)
}

func (h *house) hook(url string, events ...string) string {
	h.t.Helper()
	return h.do(webhook.Create, webhook.CreateArgs{URL: url, Events: events}).Target.ID
}

// start has reactions run, and gives what stops them.
func (h *house) start() (_ *reactions.Runner, stop func()) {
	h.t.Helper()
	r, err := reactions.New(h.t.Context(), h.parts)
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = r.Run(ctx) // that it was told to stop
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-done
	})
	h.t.Cleanup(stop)
	return r, stop
}

func (h *house) webhooks(r *reactions.Runner) []reactions.Webhook {
	h.t.Helper()
	list, _, err := r.Webhooks(h.t.Context(), ws, action.Page{})
	if err != nil {
		h.t.Fatal(err)
	}
	return list
}

// failing is the one delivery that has not arrived, once there is one.
func (h *house) failing(r *reactions.Runner) reactions.Late {
	h.t.Helper()
	var late []reactions.Late
	h.until("a delivery fails", func() bool {
		late = nil
		for _, w := range h.webhooks(r) {
			late = append(late, w.Failing...)
		}
		return len(late) == 1
	})
	return late[0]
}

func (h *house) delivery(id string) delivery.Delivery {
	h.t.Helper()
	records, err := h.log.ReadStream(h.t.Context(), domain.Stream{Category: delivery.Kind.Category, Workspace: ws, ID: id}, 0)
	if err != nil {
		h.t.Fatal(err)
	}
	var events []any
	for _, rec := range records {
		read, err := h.parts.Words.Read(rec)
		if err != nil {
			h.t.Fatal(err)
		}
		events = append(events, read.Event)
	}
	state, err := delivery.Kind.Fold(events)
	if err != nil {
		h.t.Fatal(err)
	}
	return state.(delivery.Delivery)
}

// until waits for what another goroutine brings about.
func (h *house) until(what string, so func() bool) {
	h.t.Helper()
	for end := time.Now().Add(soon); !so(); {
		if time.Now().After(end) {
			h.t.Fatalf("not within %s: %s", soon, what)
		}
		<-time.After(2 * time.Millisecond)
	}
}

// receiver is somebody outside who writes down what they are told.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	got      []message
	answer   func(m message) int // nil: 204
	redirect string
}

// message is one request as it came.
type message struct {
	id, at, signature string
	contentType       string
	body              []byte
	event             event
	answered          int
}

// event is as much of CloudEvents as the tests look at, written down again here
// so that a change of what is sent is seen.
type event struct {
	SpecVersion     string          `json:"specversion"`
	ID              string          `json:"id"`
	Source          string          `json:"source"`
	Type            string          `json:"type"`
	Subject         string          `json:"subject"`
	Time            time.Time       `json:"time"`
	DataContentType string          `json:"datacontenttype"`
	Position        string          `json:"position"`
	Sequence        string          `json:"sequence"`
	Data            json.RawMessage `json:"data"`
}

func newReceiver(t testing.TB) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	m := message{
		id: req.Header.Get("Webhook-Id"), at: req.Header.Get("Webhook-Timestamp"), signature: req.Header.Get("Webhook-Signature"),
		contentType: req.Header.Get("Content-Type"), body: body, answered: http.StatusNoContent,
	}
	if err == nil {
		err = json.Unmarshal(body, &m.event)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	answer, redirect := r.answer, r.redirect
	r.mu.Unlock()
	if answer != nil {
		m.answered = answer(m)
	}
	r.mu.Lock()
	r.got = append(r.got, m)
	r.mu.Unlock()
	if redirect != "" {
		w.Header().Set("Location", redirect)
	}
	w.WriteHeader(m.answered)
}

func (r *receiver) answers(f func(m message) int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = f
}

func (r *receiver) all() []message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

// arrived is what was taken, the first time of each.
func (r *receiver) arrived() (list []message) {
	seen := map[string]bool{}
	for _, m := range r.all() {
		if m.answered < 300 && !seen[m.id] {
			seen[m.id] = true
			list = append(list, m)
		}
	}
	return list
}

// verified says that a message is signed as the specification of Standard
// Webhooks says, which was written down here anew.
func verified(t testing.TB, secret string, m message) bool {
	t.Helper()
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || !strings.HasPrefix(secret, "whsec_") || len(key) < 24 {
		t.Fatalf("%q is no secret: %v", secret, err)
	}
	sent, err := strconv.ParseInt(m.at, 10, 64)
	if age := time.Since(time.Unix(sent, 0)); err != nil || age < -time.Minute || age > 5*time.Minute {
		return false
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(m.id + "." + m.at + "." + string(m.body)))
	return slices.Contains(strings.Fields(m.signature), "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}

// inOrder says what of one thing was told before what happened to it earlier.
func inOrder(t testing.TB, told []message) {
	t.Helper()
	last := map[string]int{}
	for _, m := range told {
		n, err := strconv.Atoi(m.event.Sequence)
		if err != nil {
			t.Fatal(err)
		}
		if n <= last[m.event.Subject] {
			t.Errorf("%s: number %d was told after number %d", m.event.Subject, n, last[m.event.Subject])
		}
		last[m.event.Subject] = n
	}
}
