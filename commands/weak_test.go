package commands_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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

func newTown(t *testing.T) *town {
	t.Helper()
	w := &town{t: t, named: map[string]string{}}
	w.log = interrupted{memory.New(w.now, memory.Weak(), memory.Sparse(), memory.Between(w.comeIn)), w.comeIn}
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

// restart is a new process on the same log: it remembers nothing.
func (w *town) restart() {
	words, err := catalogue.Words()
	if err != nil {
		w.t.Fatal(err)
	}
	registry, err := catalogue.Actions()
	if err != nil {
		w.t.Fatal(err)
	}
	w.road = commands.NewRoad(commands.Parts{
		Log: w.log, Words: words, Kinds: catalogue.Kinds(), Registry: registry,
		Sealer: unsealed{}, Traces: tracing{w.log}, Clock: w.now,
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
	w.named["$"+name] = out.Target.ID
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
	words, err := catalogue.Words()
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

// TestKilledBetweenTwoStreams: whoever asks again under the same id gets the
// thing done once, wherever the first try stopped, and the same answer from
// then on.
func TestKilledBetweenTwoStreams(t *testing.T) {
	for _, d := range deeds {
		for at := range d.streams + 1 {
			t.Run(fmt.Sprintf("%s after %d", d.name, at), func(t *testing.T) {
				t.Parallel()
				w := newTown(t)
				w.made("soil")
				w.meet(at, func() error { return errKilled })
				if out := d.do(w, "c1"); out.Outcome != commands.Unknown {
					t.Fatalf("killed after %d of %d: %s", at, d.streams, says(out))
				}
				if n := len(w.effectsOf("c1")); n != map[bool]int{true: 1}[at >= d.done] {
					t.Errorf("done %d times before it was asked again", n)
				}
				w.restart()
				first := d.do(w, "c1")
				if says(first) != d.end {
					t.Fatalf("asked again: %+v", first)
				}
				second := d.do(w, "c1")
				second.Position, first.Position = 0, 0 // of what came last
				if diff := cmp.Diff(briefly(t, first), briefly(t, second)); diff != "" {
					t.Errorf("asked a third time (-second +third):\n%s", diff)
				}
				homeless, stale := w.sound()
				if len(homeless) > 0 {
					t.Errorf("without their address: %v", homeless)
				}
				if left := at == d.done && d.streams > d.done; left != (len(stale) > 0) {
					t.Errorf("addresses left behind: %v", stale)
				}
				w.later(2 * time.Minute)
				if out := w.create("soil", ""); len(stale) > 0 && says(out) != commands.Done {
					t.Errorf("what was left behind cannot be taken: %+v", out)
				}
				w.sound()
			})
		}
	}
}

// effectsOf are the actions that had an effect under the local agent's id.
func (w *town) effectsOf(commandID string) (done []domain.ID) {
	c := w.census()
	for id := range c.effects {
		if id.Kind() == "cmd" && c.given[id] {
			done = append(done, id)
		}
	}
	return done
}

// briefly is what two answers to one call must agree on.
func briefly(t *testing.T, out commands.Outcome) string {
	t.Helper()
	var held struct{ ID, State string }
	if out.Proposal != nil {
		if err := json.Unmarshal(spelt(t, out.Proposal), &held); err != nil {
			t.Fatal(err)
		}
	}
	return fmt.Sprint(says(out), " ", out.Action, " ", *out.Target, " ", held)
}

// TestKilledAndNeverAskedAgain: what is left behind is in nobody's way for
// longer than a minute.
func TestKilledAndNeverAskedAgain(t *testing.T) {
	for _, d := range deeds {
		for at := range d.streams + 1 {
			t.Run(fmt.Sprintf("%s after %d", d.name, at), func(t *testing.T) {
				t.Parallel()
				w := newTown(t)
				w.made("soil")
				w.meet(at, func() error { return errKilled })
				d.do(w, "c1")
				w.restart()
				_, stale := w.sound()
				for _, slug := range []string{"menu", "soil"} {
					free := w.census().held["main/posts/"+slug] == ""
					held := slices.Contains(stale, "main/posts/"+slug)
					if out := w.create(slug, ""); held && says(out) != "refused taken" || free && says(out) != commands.Done {
						t.Errorf("at once, %s: %+v", slug, out)
					}
				}
				w.later(61 * time.Second)
				for _, at := range stale {
					if out := w.create(strings.TrimPrefix(at, "main/posts/"), ""); says(out) != commands.Done {
						t.Errorf("after a minute, %s: %+v", at, out)
					}
				}
				if homeless, stale := w.sound(); len(homeless)+len(stale) > 0 {
					t.Errorf("left: %v without their address, %v held for nothing", homeless, stale)
				}
			})
		}
	}
}

// TestSomebodyComesInBetween: another caller acts while the streams are being
// written, to the same thing, at the same address, or under the same id.
func TestSomebodyComesInBetween(t *testing.T) {
	rivals := []struct {
		name string
		do   func(w *town, d deed, id string) commands.Outcome
	}{
		{"who asks the same again", func(w *town, d deed, id string) commands.Outcome { return d.do(w, id) }},
		{"who wants it as well", func(w *town, d deed, _ string) commands.Outcome { return d.do(w, "c2") }},
		{"who wants the address", func(w *town, _ deed, _ string) commands.Outcome { return w.create("menu", "") }},
		{"who wants the old address", func(w *town, _ deed, _ string) commands.Outcome { return w.create("soil", "") }},
		{"who edits the thing", func(w *town, _ deed, _ string) commands.Outcome {
			return w.act(policy.Bypass, "article.update", args{"article": "$soil", "body": "Rival."})
		}},
		{"who moves the thing", func(w *town, _ deed, _ string) commands.Outcome {
			return w.act(policy.Bypass, "article.update", args{"article": "$soil", "slug": "elsewhere"})
		}},
		{"who moves the thing there", func(w *town, _ deed, _ string) commands.Outcome {
			return w.act(policy.Bypass, "article.update", args{"article": "$soil", "slug": "menu"})
		}},
		{"who removes the thing", func(w *town, _ deed, _ string) commands.Outcome {
			return w.act(policy.Bypass, "article.remove", args{"article": "$soil"})
		}},
	}
	for _, d := range deeds {
		for _, rival := range rivals {
			for at := asked; at <= d.streams; at++ {
				for i := range 4 {
					late, id := i&1 > 0, []string{"", "c1"}[i>>1]
					t.Run(fmt.Sprintf("%s after %d of %s, late %v, under %q", rival.name, at, d.name, late, id), func(t *testing.T) {
						t.Parallel()
						w := newTown(t)
						w.made("soil")
						var other commands.Outcome
						w.meet(at, func() error {
							if late {
								w.later(2 * time.Minute)
							}
							other = w.elsewhere(func() commands.Outcome { return rival.do(w, d, id) })
							return nil
						})
						out := d.do(w, id)
						w.nobody()
						for _, end := range []commands.Outcome{out, other} {
							did := end.Outcome == commands.Done || end.Outcome == commands.Waiting
							if end.Outcome == commands.Unknown || did != (w.census().effects[end.Action] == 1) {
								t.Errorf("it ended %+v", end)
							}
						}
						if rival.name == "who asks the same again" && id != "" && other.Outcome != "" && briefly(t, out) != briefly(t, other) {
							t.Errorf("the same call ended\n%s\n%s", briefly(t, out), briefly(t, other))
						}
						homeless, _ := w.sound()
						told := slices.ContainsFunc(out.Changes, func(l domain.Line) bool { return l.Field == "address" })
						if told != (len(homeless) > 0) || len(homeless) > 0 && !late {
							t.Errorf("%v are without their address, told: %v; %s beside %s", homeless, told, says(out), says(other))
						}
						for _, id := range homeless {
							if out := w.publish(id); says(out) != "refused taken" {
								t.Errorf("what does not hold its address goes live: %+v", out)
							}
							w.act(policy.Bypass, "article.update", args{"article": id, "slug": "a-place-of-its-own"})
							if out := w.publish(id); says(out) != commands.Done {
								t.Errorf("moved, it does not go live: %+v", out)
							}
						}
						w.sound()
					})
				}
			}
		}
	}
}

// elsewhere does something in another process, and comes back to this one.
func (w *town) elsewhere(do func() commands.Outcome) commands.Outcome {
	mine := w.road
	w.restart()
	out := do()
	w.road, w.desk = mine, commands.NewDesk(mine)
	return out
}

// TestTwoGoOnWithWhatWasBegun: the first try was killed, and two ask again at
// once. It comes to one end, and both hear of that one. It does too if one may
// act and the other's calls wait, unless the mode is changed between the log's
// look at what an append rests on and its writes: that is the window which a
// log that is not Atomic leaves open.
func TestTwoGoOnWithWhatWasBegun(t *testing.T) {
	waits := func(w *town, id string) commands.Outcome {
		return w.act(policy.Manual, "article.create", args{"site": "main", "slug": "menu", "title": "Of menu", "body": "", "command_id": id})
	}
	pairs := map[string][2]func(w *town, id string) commands.Outcome{"acts, waits": {deeds[0].do, waits}, "waits, acts": {waits, deeds[0].do}}
	for _, d := range deeds {
		pairs[d.name] = [2]func(w *town, id string) commands.Outcome{d.do, d.do}
	}
	for name, pair := range pairs {
		for killed := range 3 {
			for at := asked; at < 3; at++ {
				if at > asked && strings.Contains(name, ",") {
					break
				}
				t.Run(fmt.Sprintf("%s, killed after %d, after %d", name, killed, at), func(t *testing.T) {
					t.Parallel()
					w := newTown(t)
					w.made("soil")
					w.meet(killed, func() error { return errKilled })
					pair[0](w, "c1")
					w.nobody()
					var other commands.Outcome
					w.meet(at, func() error {
						other = w.elsewhere(func() commands.Outcome { return pair[1](w, "c1") })
						return nil
					})
					out := pair[0](w, "c1")
					if w.nobody() {
						other = pair[1](w, "c1")
					}
					if briefly(t, out) != briefly(t, other) {
						t.Errorf("it ended\n%s\n%s", briefly(t, out), briefly(t, other))
					}
					if n := len(w.effectsOf("c1")); n != 1 {
						t.Errorf("%d ends", n)
					}
					if homeless, _ := w.sound(); len(homeless) > 0 {
						t.Errorf("without their address: %v", homeless)
					}
				})
			}
		}
	}
}

// TestTwoTakeAnAbandonedAddress: of two who take over what was left behind,
// one gets it.
func TestTwoTakeAnAbandonedAddress(t *testing.T) {
	for at := range 4 {
		w := newTown(t)
		w.meet(1, func() error { return errKilled }) // the address is taken, the article is not there
		w.create("menu", "")
		w.later(2 * time.Minute)
		var other commands.Outcome
		w.meet(at, func() error {
			other = w.create("menu", "")
			return nil
		})
		out := w.create("menu", "")
		w.nobody()
		ends := []string{says(out), says(other)}
		slices.Sort(ends)
		want := []string{"done", "refused taken"}
		if at == 3 {
			want = []string{"", "done"} // it was over by then
		}
		if diff := cmp.Diff(want, ends); diff != "" {
			t.Errorf("after %d: %v", at, ends)
		}
		if homeless, stale := w.sound(); len(homeless)+len(stale) > 0 {
			t.Errorf("after %d: %v, %v", at, homeless, stale)
		}
	}
}

// TestTheHolderComesBack: the one whose claim is being taken over writes its
// thing in the last moment. Both are there, one holds the address, and the
// other cannot go live before it is moved.
func TestTheHolderComesBack(t *testing.T) {
	for at := range 4 { // of the taker's steps: looked, gave its id, took, wrote
		w := newTown(t)
		var taker commands.Outcome
		w.meet(1, func() error { // the holder has the address and pauses
			w.later(2 * time.Minute)
			w.meet(at, func() error { // the taker pauses as well
				return errKilled
			})
			taker = w.create("menu", "c1")
			return nil
		})
		holder := w.create("menu", "")
		if taker.Outcome != commands.Unknown || holder.Outcome != commands.Done {
			t.Fatalf("after %d: %s, %s", at, says(taker), says(holder))
		}
		w.restart()
		taker = w.create("menu", "c1")
		homeless, stale := w.sound()
		switch {
		case at < 2 && (says(taker) != "refused taken" || len(homeless) > 0):
			t.Errorf("the holder came first: %s, %v", says(taker), homeless)
		case at >= 2 && (says(taker) != commands.Done || !slices.Equal(homeless, []string{holder.Target.ID})):
			t.Errorf("the taker came first: %s, %v", says(taker), homeless)
		}
		if len(stale) > 0 {
			t.Errorf("after %d: %v", at, stale)
		}
	}
}

// TestTheHolderIsFinishedMeanwhile: a claim is about to be taken over while
// somebody finishes what its holder began. Before the taker's append has looked,
// the taker is refused; after that both are there, as above.
func TestTheHolderIsFinishedMeanwhile(t *testing.T) {
	for at := asked; at < 3; at++ {
		w := newTown(t)
		w.meet(2, func() error { return errKilled })
		w.create("menu", "c1")
		w.later(2 * time.Minute)
		var holder commands.Outcome
		w.meet(at, func() error {
			holder = w.elsewhere(func() commands.Outcome { return w.create("menu", "c1") })
			return nil
		})
		taker := w.create("menu", "")
		homeless, stale := w.sound()
		want := map[int]string{asked: "done, refused taken, 0 homeless", 0: "done, done, 1 homeless", 1: "refused taken, done, 0 homeless", 2: "refused taken, done, 0 homeless"}[at]
		if got := fmt.Sprintf("%s, %s, %d homeless", says(holder), says(taker), len(homeless)); got != want {
			t.Errorf("after %d: %s, not %s", at, got, want)
		}
		if len(stale) > 0 {
			t.Errorf("after %d: %v", at, stale)
		}
	}
}

// TestAnUndoIsKilledOrMet: an undo takes its address first, and is done once.
func TestAnUndoIsKilledOrMet(t *testing.T) {
	for at := range 3 {
		for _, late := range []bool{false, true} {
			w := newTown(t)
			w.made("soil")
			removed := w.act(policy.Bypass, "article.remove", args{"article": "$soil"})
			w.meet(at, func() error { return errKilled })
			undo := func() commands.Outcome {
				out, err := w.desk.Undo(t.Context(), ana, removed.Action, "")
				if err != nil {
					t.Fatal(err)
				}
				return out
			}
			if out := undo(); out.Outcome != commands.Unknown {
				t.Fatalf("killed after %d: %s", at, says(out))
			}
			w.restart()
			if late {
				w.later(2 * time.Minute)
			}
			rival := w.create("soil", "")
			again := undo()
			want := map[int][2]string{0: {"done", "refused taken"}, 1: {"refused taken", "done"}, 2: {"refused taken", "refused already-decided"}}[at]
			if at == 1 && late {
				want = [2]string{"done", "refused taken"}
			}
			if got := [2]string{says(rival), says(again)}; got != want {
				t.Errorf("after %d, late %v: %v, not %v", at, late, got, want)
			}
			if homeless, stale := w.sound(); len(homeless)+len(stale) > 0 {
				t.Errorf("after %d: %v, %v", at, homeless, stale)
			}
		}
	}
}

// TestAnUndoIsOvertakenInBetween: when the thing moves on after the address was
// taken, or the address that is let go is somebody else's by then, the undo is
// taken again and ends as it would have.
func TestAnUndoIsOvertakenInBetween(t *testing.T) {
	for name, rival := range map[string]func(w *town) commands.Outcome{
		"by an edit": func(w *town) commands.Outcome {
			return w.act(policy.Bypass, "article.update", args{"article": "$soil", "title": "Rival"})
		},
		"by a newcomer": func(w *town) commands.Outcome { return w.create("menu", "") },
	} {
		for at := asked; at < 4; at++ {
			w := newTown(t)
			w.made("soil")
			moved := w.act(policy.Bypass, "article.update", args{"article": "$soil", "slug": "menu"})
			w.meet(at, func() error {
				w.later(2 * time.Minute)
				w.elsewhere(func() commands.Outcome { return rival(w) })
				return nil
			})
			out, err := w.desk.Undo(t.Context(), ana, moved.Action, "")
			if err != nil || out.Outcome != commands.Done {
				t.Errorf("%s after %d: %+v, %v", name, at, out, err)
			}
			if homeless, stale := w.sound(); len(homeless)+len(stale) > 0 {
				t.Errorf("%s after %d: %v, %v", name, at, homeless, stale)
			}
		}
	}
}

// TestAnApprovalIsKilledAnywhere: what was approved is carried out once,
// whoever finishes it.
func TestAnApprovalIsKilledAnywhere(t *testing.T) {
	steps := []struct{ appended, streams int }{{0, 1}, {1, 2}, {2, 1}} // approved; the address and the article; settled
	for _, s := range steps {
		for at := range s.streams + 1 {
			w := newTown(t)
			held := w.act(policy.Manual, "article.create", args{"site": "main", "slug": "menu", "title": "Menu", "body": ""})
			id := held.Proposal.(*commands.Held).ID
			appends := -1
			w.mu.Lock()
			w.between = func(i int) error {
				if i == 0 {
					appends++
				}
				if appends == s.appended && i == at {
					w.nobody()
					return errKilled
				}
				return nil
			}
			w.mu.Unlock()
			if out, err := w.desk.Approve(t.Context(), ana, id, ""); err == nil && out.Outcome != commands.Unknown {
				t.Fatalf("killed at %d of %d: %+v", at, s.appended, out)
			}
			w.nobody()
			w.restart()
			if err := w.road.TendOnce(t.Context()); err != nil {
				t.Error(err)
			}
			if out, err := w.desk.Approve(t.Context(), ana, id, ""); err != nil {
				t.Error(err)
			} else if s.appended == 0 && at == 0 && out.Outcome != commands.Done {
				t.Errorf("nothing was approved, and now: %+v", out)
			}
			if homeless, stale := w.sound(); len(homeless)+len(stale) > 0 || len(w.census().articles) != 1 {
				t.Errorf("killed at %d of %d: %v, %v, %d articles", at, s.appended, homeless, stale, len(w.census().articles))
			}
		}
	}
}

// TestManyAtOnceOnALogThatIsNotAtomic: whoever asks at once for the same
// addresses and under the same ids, each id is done once and each address has
// one holder.
func TestManyAtOnceOnALogThatIsNotAtomic(t *testing.T) {
	w := newTown(t)
	w.made("soil")
	var all sync.WaitGroup
	for i := range 8 {
		road := w.road
		if i%2 == 1 {
			w.restart()
		}
		mine := &town{t: t, log: w.log, road: w.road, desk: w.desk, named: map[string]string{"$soil": w.named["$soil"]}}
		w.road = road
		all.Go(func() {
			for j := range 10 {
				mine.create("n"+strconv.Itoa(j), "c"+strconv.Itoa(j))
				mine.create("n"+strconv.Itoa(j), "")
				mine.act(policy.Bypass, "article.update", args{"article": "$soil", "slug": "s" + strconv.Itoa(j%3), "command_id": "m" + strconv.Itoa(j)})
				mine.act(policy.Manual, "article.update", args{"article": "$soil", "title": "T" + strconv.Itoa(j), "command_id": "p" + strconv.Itoa(j)})
			}
		})
	}
	all.Wait()
	if homeless, _ := w.sound(); len(homeless) > 0 {
		t.Errorf("without their address: %v", homeless)
	}
	if n := len(w.census().articles); n != 11 {
		t.Errorf("%d articles, not 11", n)
	}
}

// TestWhatIsBegunIsNotAnotherCommand: an id that was given and not yet used is
// still that of the first request.
func TestWhatIsBegunIsNotAnotherCommand(t *testing.T) {
	w := newTown(t)
	w.meet(1, func() error { return errKilled })
	w.create("menu", "c1")
	if out := w.create("soil", "c1"); says(out) != "refused command-reused" {
		t.Errorf("%+v", out)
	}
	if out := w.create("menu", "c1"); says(out) != commands.Done {
		t.Errorf("%+v", out)
	}
}

// TestBegunInOneModeAndAskedAgainInAnother: what was to be done waits now, or
// the other way round. It comes to one end.
func TestBegunInOneModeAndAskedAgainInAnother(t *testing.T) {
	for _, modes := range [][2]policy.Mode{{policy.Bypass, policy.Manual}, {policy.Manual, policy.Bypass}} {
		w := newTown(t)
		ask := func(mode policy.Mode) commands.Outcome {
			return w.act(mode, "article.create", args{"site": "main", "slug": "menu", "title": "Menu", "body": "", "command_id": "c1"})
		}
		w.meet(1, func() error { return errKilled })
		ask(modes[0])
		first := ask(modes[1])
		for _, mode := range modes {
			if out := ask(mode); briefly(t, out) != briefly(t, first) {
				t.Errorf("%v: %s, and then %s", modes, briefly(t, first), briefly(t, out))
			}
		}
		w.sound()
		if n := len(w.effectsOf("c1")); n != 1 {
			t.Errorf("%v: %d ends", modes, n)
		}
	}
}
