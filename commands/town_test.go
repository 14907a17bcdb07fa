package commands_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assent/commands"
	"assent/commands/eventlog/memory"
	"assent/domain"
	"assent/domain/action"
	"assent/domain/address"
	"assent/domain/article"
	"assent/domain/catalogue"
	"assent/domain/command"
	"assent/domain/conduct"
	"assent/domain/live"
	"assent/domain/person"
	"assent/domain/policy"
	"assent/domain/proposal"
	"assent/domain/site"
	"assent/domain/vocab"
	"assent/domain/workspace"
)

const ws = "home"

var ana = domain.SignedIn(ws, "person_ana", "sess_1")

// town is a road on a log that writes one stream after another, and whoever
// comes in between.
type town struct {
	t    *testing.T
	log  interrupted
	road *commands.Road
	desk *commands.Desk

	ahead   atomic.Int64
	mu      sync.Mutex
	between func(i int) error // nil: nobody comes in between
	named   map[string]string // $menu → art_…
}

func newTown(t *testing.T) *town { return newTownOn(t, memory.Weak(), memory.Sparse()) }

// newTownOn is a town on a log that is as the options say; without any it is
// atomic.
func newTownOn(t *testing.T, options ...memory.Option) *town {
	t.Helper()
	w := &town{t: t, named: map[string]string{}}
	w.log = interrupted{memory.New(w.now, append(options, memory.Between(w.comeIn))...), w.comeIn}
	w.restart()
	system := commands.Call{Workspace: ws, Principal: domain.Principal{Kind: domain.KindSystem, ID: "setup"}}
	for _, c := range []struct {
		a    *action.Action
		args any
	}{
		{workspace.Found, workspace.FoundArgs{Founder: ana.ID()}},
		{person.Seat, person.SeatArgs{Person: ana.ID(), Role: "owner"}},
		{site.Create, site.CreateArgs{Which: site.Which{Site: "main"}, Title: "Main"}},
	} {
		system.Action, system.Args = c.a.Name, spelt(t, c.args)
		if out, err := w.road.Do(t.Context(), system); err != nil || out.Outcome != commands.Done {
			t.Fatalf("%s: %+v, %v", c.a.Name, out, err)
		}
	}
	return w
}

func (w *town) comeIn(i int) error {
	w.mu.Lock()
	f := w.between
	w.mu.Unlock()
	if f == nil {
		return nil
	}
	return f(i)
}

// interrupted is a log that somebody can come in at before it was asked, which
// is after whatever an append rests on was read.
type interrupted struct {
	*memory.Log
	comeIn func(i int) error
}

func (l interrupted) Append(ctx context.Context, writes ...commands.Write) (commands.Receipt, error) {
	if err := l.comeIn(asked); err != nil {
		return commands.Receipt{}, err
	}
	return l.Log.Append(ctx, writes...)
}

// asked is before the log looks at what an append expects; 0 is after that, and
// n after n streams were written.
const asked = -1

// joined is the catalogue, which nobody changes.
var joined = func() func() (*vocab.Vocabulary, *action.Registry, error) {
	words, registry := sync.OnceValues(catalogue.Words), sync.OnceValues(catalogue.Actions)
	return func() (*vocab.Vocabulary, *action.Registry, error) {
		w, err := words()
		r, err2 := registry()
		return w, r, errors.Join(err, err2)
	}
}()

// restart is a new process on the same log: it remembers nothing.
func (w *town) restart() {
	words, registry, err := joined()
	if err != nil {
		w.t.Fatal(err)
	}
	w.road = commands.NewRoad(commands.Parts{
		Log: w.log, Words: words, Kinds: catalogue.Kinds(), Registry: registry,
		Sealer: unsealed{}, Traces: tracing{w.log}, Touched: tracing{w.log}, Clock: w.now,
		ProposalURL: func(id string) string { return "/proposals/" + id },
	})
	w.desk = commands.NewDesk(w.road)
}

func (w *town) now() time.Time {
	return time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(w.ahead.Load()))
}

func (w *town) later(d time.Duration) { w.ahead.Add(int64(d)) }

// meet has f called in the middle of the next append that gets so far, once i
// of its streams are written, and of no append that f makes itself.
func (w *town) meet(i int, f func() error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.between = func(at int) error {
		if at != i {
			return nil
		}
		w.mu.Lock()
		w.between = nil
		w.mu.Unlock()
		return f()
	}
}

// nobody comes in between any more. It tells whether somebody still would.
func (w *town) nobody() (waited bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	waited = w.between != nil
	w.between = nil
	return waited
}

var errKilled = errors.New("killed")

// unsealed keeps words as they are: these tests are not about them.
type unsealed struct{}

func (unsealed) Seal(_ context.Context, _, person, text string) (*domain.Sealed, error) {
	return &domain.Sealed{Person: person, Box: []byte(text)}, nil
}

// tracing finds what actions did by reading the whole log.
type tracing struct{ log commands.Log }

func (l tracing) Trace(ctx context.Context, ws string, act domain.ID, _ domain.Position) (traces []commands.Trace, err error) {
	all, err := l.log.ReadAll(ctx, 0, 1e6)
	for _, r := range all {
		if r.Stream.Workspace == ws && r.Envelope.Action == act {
			traces = append(traces, commands.Trace{Stream: r.Stream, Version: r.Version})
		}
	}
	return traces, err
}

func (l tracing) Unfinished(ctx context.Context, _ time.Time) (streams []domain.Stream, err error) {
	all, err := l.log.ReadAll(ctx, 0, 1e6)
	for _, r := range all {
		if r.Stream.Category == proposal.Kind.Category && r.Version == 1 {
			streams = append(streams, r.Stream)
		}
	}
	return streams, err
}

func spelt(t *testing.T, args any) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

type args map[string]any

// act is a local agent that may do all (bypass) or nothing by itself (manual).
func (w *town) act(mode policy.Mode, name string, a args) commands.Outcome {
	w.t.Helper()
	for k, v := range a {
		if text, ok := v.(string); ok && strings.HasPrefix(text, "$") {
			a[k] = w.named[text]
		}
	}
	out, err := w.road.Do(w.t.Context(), commands.Call{
		Workspace: ws, Action: name, Args: spelt(w.t, a), Mode: mode,
		Principal: domain.Principal{Kind: domain.KindAgent, ID: "local:me"}, Via: domain.Via{Local: "me"},
	})
	if err != nil {
		w.t.Fatalf("%s: %v", name, err)
	}
	return out
}

func (w *town) create(slug, commandID string) commands.Outcome {
	return w.act(policy.Bypass, "article.create", args{"site": "main", "slug": slug, "title": "Of " + slug, "body": "", "command_id": commandID})
}

// made is an article that is there from the start.
func (w *town) made(name string) {
	w.t.Helper()
	out := w.act(policy.Bypass, "article.create", args{"site": "main", "slug": name, "title": "Old", "body": ""})
	if out.Outcome != commands.Done {
		w.t.Fatalf("%+v", out)
	}
	w.named["$"+name], w.named["making $"+name] = out.Target.ID, string(out.Action)
}

// publish makes an article public.
func (w *town) publish(id string) commands.Outcome {
	w.t.Helper()
	return w.act(policy.Bypass, "site.publish", args{"site": "main", "items": []any{args{"id": id}}})
}

// says is an outcome in a word or two.
func says(out commands.Outcome) string {
	if out.Refusal != nil {
		return out.Outcome + " " + out.Refusal.Code
	}
	return out.Outcome
}

// census is what the whole log comes to.
type census struct {
	articles map[string]article.Article
	held     map[string]string // address → holder
	effects  map[domain.ID]int // action → runs of events in things and proposals
	given    map[domain.ID]bool
	live     live.Live
}

func (w *town) census() census {
	w.t.Helper()
	c := census{map[string]article.Article{}, map[string]string{}, map[domain.ID]int{}, map[domain.ID]bool{}, live.Live{}}
	all, err := w.log.ReadAll(w.t.Context(), 0, 1e6)
	if err != nil {
		w.t.Fatal(err)
	}
	words, _, err := joined()
	if err != nil {
		w.t.Fatal(err)
	}
	ran := map[domain.Stream]domain.ID{} // the action that wrote a stream last
	ids := map[domain.ID]bool{}
	for _, r := range all {
		if ids[r.ID] {
			w.t.Errorf("the event %s (%s) is there twice", r.ID, r.Word)
		}
		ids[r.ID] = true
		read, err := words.Read(r)
		if err != nil {
			w.t.Fatal(err)
		}
		switch e := read.Event.(type) {
		case article.Event:
			c.articles[r.Stream.ID] = e.Evolve(c.articles[r.Stream.ID])
		case live.Event:
			c.live = e.Evolve(c.live)
		case address.Event:
			c.held[r.Stream.ID] = e.Evolve(address.Address{Holder: c.held[r.Stream.ID]}).Holder
			continue
		case command.Event:
			c.given[r.Envelope.Action] = true
			continue
		case conduct.Event:
			continue
		}
		if ran[r.Stream] != r.Envelope.Action {
			c.effects[r.Envelope.Action]++
			ran[r.Stream] = r.Envelope.Action
		}
	}
	return c
}

// sound says that no action was done twice, that no two things that hold their
// address share it, and that whatever is public holds the address it is at.
// homeless are the articles that name an address they do not hold, stale the
// addresses that are held by what does not use them.
func (w *town) sound() (homeless, stale []string) {
	w.t.Helper()
	c := w.census()
	for id, n := range c.effects {
		if n > 1 {
			w.t.Errorf("the action %s was done %d times", id, n)
		}
	}
	for id, a := range c.articles {
		if site, path := a.Place(); site != "" && c.held[site+path] != "article/"+id {
			homeless = append(homeless, id)
			if _, public := c.live.Items[id]; public {
				w.t.Errorf("%s is public at %s, which is held by %q", id, path, c.held[site+path])
			}
		}
	}
	for at, holder := range c.held {
		a := c.articles[strings.TrimPrefix(holder, "article/")]
		if site, path := a.Place(); holder != "" && site+path != at {
			stale = append(stale, at)
		}
	}
	slices.Sort(homeless)
	slices.Sort(stale)
	return homeless, stale
}

// deed is something that writes several streams.
type deed struct {
	name string
	do   func(w *town, commandID string) commands.Outcome
	// streams it writes, and after how many of them it is done
	streams, done int
	end           string
}

var deeds = []deed{
	{"a new article", func(w *town, id string) commands.Outcome { return w.create("menu", id) }, 3, 3, commands.Done},
	{"an edit", func(w *town, id string) commands.Outcome {
		return w.act(policy.Bypass, "article.update", args{"article": "$soil", "title": "New", "command_id": id})
	}, 2, 2, commands.Done},
	{"a move", func(w *town, id string) commands.Outcome {
		return w.act(policy.Bypass, "article.update", args{"article": "$soil", "slug": "menu", "command_id": id})
	}, 4, 3, commands.Done},
	{"a removal", func(w *town, id string) commands.Outcome {
		return w.act(policy.Bypass, "article.remove", args{"article": "$soil", "command_id": id})
	}, 3, 2, commands.Done},
	{"a publish", func(w *town, id string) commands.Outcome {
		return w.act(policy.Bypass, "site.publish", args{"site": "main", "items": []any{args{"id": w.named["$soil"]}}, "command_id": id})
	}, 2, 2, commands.Done},
	{"a new article that waits", func(w *town, id string) commands.Outcome {
		return w.act(policy.Manual, "article.create", args{"site": "main", "slug": "menu", "title": "Of menu", "body": "", "command_id": id})
	}, 2, 2, commands.Waiting},
}
