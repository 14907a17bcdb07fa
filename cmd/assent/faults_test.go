package main

import (
	"bytes"
	"context"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"assent/commands"
	"assent/commands/eventlog/sqlite"
	"assent/domain"
	"assent/httpapi"
)

// afterAppend is the real log with something that happens after an append.
type afterAppend struct {
	commands.Log
	then func([]commands.Write)
}

func (l afterAppend) Append(ctx context.Context, writes ...commands.Write) (commands.Receipt, error) {
	r, err := l.Log.Append(ctx, writes...)
	if err == nil {
		l.then(writes)
	}
	return r, err
}

// beMortal serves like the binary, and dies without warning right after the
// log took an event of this word.
func beMortal(word, dir string) {
	die := func(writes []commands.Write) {
		for _, w := range writes {
			for _, e := range w.Events {
				if e.Word == word {
					_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				}
			}
		}
	}
	serve := &serveCmd{Listen: "127.0.0.1:0", Workspaces: []string{"home", "other"}}
	s, err := serve.open(context.Background(), plan{dir: dir, vault: cheap, log: func(ctx context.Context, path string, clock func() time.Time) (commands.Log, error) {
		l, err := sqlite.Open(ctx, path, clock)
		return afterAppend{l, die}, err
	}})
	if err == nil {
		if err = s.greet(context.Background(), os.Stdout); err == nil {
			err = s.serve(context.Background())
		}
	}
	panic(err)
}

// TestKilledWhileApproving kills the server at each bad moment of an approval,
// starts it again, and finds the approved publish carried out exactly once.
func TestKilledWhileApproving(t *testing.T) {
	for _, word := range []string{"proposal.approved", "live.published", "proposal.settled"} {
		t.Run("right after "+word, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			mortal := startAs(t, "mortal "+word, dir)
			p := &overHTTP{people: newPeople(mortal.url, links(mortal.printed))}
			p.owner(t, "ana", "home")
			p.agent(t, "bot", "ana", "edits", nil)
			p.act(t, "bot", "article.create", map[string]any{"site": "main", "slug": "menu", "title": "Winter menu", "body": "Kale."})
			held := p.act(t, "bot", "site.publish", map[string]any{"site": "main"})
			var proposal commands.Held
			if err := respell(held.Proposal, &proposal); err != nil || proposal.ID == "" {
				t.Fatalf("%+v: %v", held, err)
			}
			if _, err := p.clients["ana"].Post(mortal.url+"/api/v1/proposals/"+proposal.ID+"/approve", "application/json", strings.NewReader("{}")); err == nil {
				t.Fatal("the server answered and was to be dead")
			}
			_ = mortal.Wait() // killed

			again := start(t, dir)
			p.url = again.url
			p.signIn(t, "ana")
			waitUntil(t, "the proposal is settled", func() bool {
				var now httpapi.Proposal
				p.must(t, "ana", "GET", "/proposals/"+proposal.ID, nil, &now)
				return now.State == "settled"
			})
			if status, title := p.live(t, "main", "/posts/menu"); status != http.StatusOK || title != "Winter menu" {
				t.Errorf("the live site answers %d %q", status, title)
			}
			done := 0
			for _, row := range p.audit(t, "ana") {
				if row.Action == "site.publish" && row.Outcome == commands.Done {
					done++
				}
			}
			if done != 1 {
				t.Errorf("it was carried out %d times", done)
			}
			again.stop(t)
			if out := runCommand(t, "verify", "--data", dir); !strings.Contains(out, "verify: ok") {
				t.Errorf("verify says %s", out)
			}
		})
	}
}

// waitUntil asks again and again, for as long as finishing may take.
func waitUntil(t *testing.T, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("never: %s", what)
		}
	}
}

// runCommand runs the binary to its end.
func runCommand(t *testing.T, args ...string) string {
	t.Helper()
	out, err := command(t.Context(), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("assent %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestNothingIsDoneWhenTheLogCannotBeWritten: 503 at every door, nothing
// changed, reads go on, and all is well again afterwards.
func TestNothingIsDoneWhenTheLogCannotBeWritten(t *testing.T) {
	var broken atomic.Bool
	p, _ := servedWith(t, func(l commands.Log) commands.Log { return refusing{l, &broken} })
	p.owner(t, "ana", "home")
	p.agent(t, "bot", "ana", "edits", nil)
	made := p.act(t, "bot", "article.create", map[string]any{"site": "main", "slug": "menu", "title": "Winter menu", "body": "Kale."})
	held := p.act(t, "bot", "site.publish", map[string]any{"site": "main"})
	var proposal commands.Held
	if err := respell(held.Proposal, &proposal); err != nil {
		t.Fatal(err)
	}

	broken.Store(true)
	header := map[string]string{"Authorization": "Bearer " + p.keys["bot"]}
	for name, ask := range map[string]func() (int, []byte){
		"an agent's edit": func() (int, []byte) {
			return request(t, http.DefaultClient, "POST", p.url+"/api/v1/actions/article.update", map[string]any{"article": made.Target.ID, "title": "Lost"}, header)
		},
		"an agent's refusal": func() (int, []byte) {
			return request(t, http.DefaultClient, "POST", p.url+"/api/v1/actions/article.update", map[string]any{"article": "art_nothing", "title": "Lost"}, header)
		},
		"an approval": func() (int, []byte) {
			return p.ask(t, "ana", "POST", "/proposals/"+proposal.ID+"/approve", map[string]any{})
		},
		"an undo": func() (int, []byte) {
			return p.ask(t, "ana", "POST", "/actions/"+string(made.Action)+"/undo", map[string]any{})
		},
		"a key": func() (int, []byte) { return p.ask(t, "ana", "PATCH", "/workspace", map[string]any{"paused": true}) },
	} {
		if status, text := ask(); status != http.StatusServiceUnavailable || !bytes.Contains(text, []byte("log-unavailable")) {
			t.Errorf("%s answered %d %s", name, status, text)
		}
	}
	got := p.act(t, "bot", "article.get", map[string]any{"article": made.Target.ID})
	if got.Answer == nil || !strings.Contains(textOf(t, got.Article), "Winter menu") {
		t.Errorf("a read answers %+v", got)
	}
	if status, _ := request(t, http.DefaultClient, "GET", p.url+"/readyz", nil, nil); status != http.StatusServiceUnavailable {
		t.Errorf("readyz answers %d", status)
	}

	broken.Store(false)
	if out := p.act(t, "bot", "article.update", map[string]any{"article": made.Target.ID, "title": "Spring menu"}); out.Outcome != commands.Done || out.Target.Version != 2 {
		t.Errorf("afterwards: %+v", out)
	}
}

// refusing is the real log on a disk that takes nothing for a while.
type refusing struct {
	commands.Log
	broken *atomic.Bool
}

func (l refusing) Append(ctx context.Context, writes ...commands.Write) (commands.Receipt, error) {
	if l.broken.Load() {
		return commands.Receipt{}, commands.ErrUnavailable
	}
	return l.Log.Append(ctx, writes...)
}

// servedWith is a server whose log is wrapped, with people and agents that
// come over HTTP.
func servedWith(t *testing.T, wrap func(commands.Log) commands.Log) (*overHTTP, *server) {
	t.Helper()
	s := servingPlan(t, plan{dir: t.TempDir(), vault: cheap, log: func(ctx context.Context, path string, clock func() time.Time) (commands.Log, error) {
		l, err := sqlite.Open(ctx, path, clock)
		if err != nil {
			return nil, err
		}
		return wrap(l), nil
	}})
	return &overHTTP{newPeople(s.url, greeted(t, s)), s.dir, map[string]*sdk.ClientSession{}}, s
}

func textOf(t *testing.T, v any) string {
	t.Helper()
	var raw []byte
	if err := respell(v, (*rawText)(&raw)); err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// rawText keeps JSON as it is.
type rawText []byte

func (r *rawText) UnmarshalJSON(b []byte) error {
	*r = bytes.Clone(b)
	return nil
}

// TestTwoCreatorsOfOneAddress: one wins, the others are told.
func TestTwoCreatorsOfOneAddress(t *testing.T) {
	p, _ := servedWith(t, func(l commands.Log) commands.Log { return l })
	p.owner(t, "ana", "home")
	const many = 8
	for i := range many {
		p.agent(t, "bot"+string(rune('a'+i)), "ana", "edits", nil)
	}
	var mu sync.Mutex
	ends := map[string]int{}
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() {
			out := p.act(t, "bot"+string(rune('a'+i)), "article.create", map[string]any{"site": "main", "slug": "menu", "title": "Menu", "body": ""})
			mu.Lock()
			defer mu.Unlock()
			end := out.Outcome
			if out.Refusal != nil {
				end += " " + out.Refusal.Code
			}
			ends[end]++
		})
	}
	all.Wait()
	if ends["done"] != 1 || ends["refused taken"] != many-1 {
		t.Errorf("it ended %v", ends)
	}
}

// TestOneCommandAskedManyTimesAtOnce: one id is carried out once, and everybody
// hears the same answer, whether it was done or waits.
func TestOneCommandAskedManyTimesAtOnce(t *testing.T) {
	p, _ := servedWith(t, func(l commands.Log) commands.Log { return l })
	p.owner(t, "ana", "home")
	p.agent(t, "bot", "ana", "edits", nil)
	made := p.act(t, "bot", "article.create", map[string]any{"site": "main", "slug": "menu", "title": "Menu", "body": ""})
	for name, ask := range map[string]func(i int) commands.Outcome{
		"a new article": func(i int) commands.Outcome {
			return p.act(t, "bot", "article.create", map[string]any{"site": "main", "slug": "seeds-" + strconv.Itoa(i), "title": "Seeds", "body": "", "command_id": "create-" + strconv.Itoa(i)})
		},
		"an edit": func(i int) commands.Outcome {
			return p.act(t, "bot", "article.update", map[string]any{"article": made.Target.ID, "title": "Menu " + strconv.Itoa(i), "command_id": "edit-" + strconv.Itoa(i)})
		},
		"a publish that waits": func(i int) commands.Outcome {
			return p.act(t, "bot", "site.publish", map[string]any{"site": "main", "command_id": "publish-" + strconv.Itoa(i)})
		},
	} {
		for round := range 10 {
			var all sync.WaitGroup
			outs := make([]commands.Outcome, 4)
			for i := range outs {
				all.Go(func() { outs[i] = ask(round) })
			}
			all.Wait()
			for _, out := range outs {
				if out.Refusal != nil || out.Action != outs[0].Action || out.Position != outs[0].Position || out.Target == nil || *out.Target != *outs[0].Target {
					t.Fatalf("%s: %+v beside %+v", name, out, outs[0])
				}
			}
		}
	}
}

// TestFinishedByTwo: a desk and a finisher that carry the same approval out at
// once do it once, and nobody hears of a fault.
func TestFinishedByTwo(t *testing.T) {
	p, s := servedWith(t, func(l commands.Log) commands.Log { return l })
	p.owner(t, "ana", "home")
	p.agent(t, "bot", "ana", "manual", nil)
	stop := make(chan struct{})
	var tending sync.WaitGroup
	tending.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if err := s.road.TendOnce(context.Background()); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for i := range 30 {
		held := p.act(t, "bot", "article.create", map[string]any{"site": "main", "slug": "n" + strconv.Itoa(i), "title": "N", "body": ""})
		var proposal commands.Held
		if err := respell(held.Proposal, &proposal); err != nil {
			t.Fatal(err)
		}
		if out := p.approve(t, "ana", proposal.ID, ""); out.Outcome != commands.Done && out.Outcome != commands.Idle {
			t.Errorf("%d: %+v", i, out)
		}
	}
	close(stop)
	tending.Wait()
	done := map[domain.ID]int{}
	for _, row := range p.audit(t, "ana") {
		if row.Action == "article.create" && row.Outcome != commands.Waiting {
			done[row.ID]++
			if row.Outcome != commands.Done {
				t.Errorf("%s ended %s", row.ID, row.Outcome)
			}
		}
	}
	if len(done) != 30 {
		t.Errorf("%d of 30 were carried out", len(done))
	}
}

// TestAnAgentForOneSiteSeesNothingElse: what is on another site and what is
// nowhere answer alike.
func TestAnAgentForOneSiteSeesNothingElse(t *testing.T) {
	p, _ := servedWith(t, func(l commands.Log) commands.Log { return l })
	p.owner(t, "ana", "home")
	p.agent(t, "bot", "ana", "edits", nil)
	p.act(t, "ana", "site.create", map[string]any{"site": "second", "title": "Second"})
	there := p.act(t, "ana", "article.create", map[string]any{"site": "second", "slug": "menu", "title": "Menu", "body": ""})
	p.must(t, "ana", "PATCH", "/agents/"+agentOf(t, p, "bot"), map[string]any{"site": "main"}, nil)
	const nowhere = "art_06g0examp1e000000000000000"
	for name, ask := range map[string]func(id string) commands.Outcome{
		"article.get": func(id string) commands.Outcome { return p.act(t, "bot", "article.get", map[string]any{"article": id}) },
		"article.update": func(id string) commands.Outcome {
			return p.act(t, "bot", "article.update", map[string]any{"article": id, "title": "X"})
		},
		"article.remove": func(id string) commands.Outcome {
			return p.act(t, "bot", "article.remove", map[string]any{"article": id})
		},
		"version.list": func(id string) commands.Outcome { return p.act(t, "bot", "version.list", map[string]any{"item": id}) },
		"site.publish": func(id string) commands.Outcome {
			return p.act(t, "bot", "site.publish", map[string]any{"site": "main", "items": []any{map[string]any{"id": id}}})
		},
		"preview.create": func(id string) commands.Outcome {
			return p.act(t, "bot", "preview.create", map[string]any{"site": "main", "items": []any{map[string]any{"id": id}}})
		},
	} {
		hidden, missing := ask(there.Target.ID), ask(nowhere)
		if hidden.Refusal == nil || missing.Refusal == nil || *hidden.Refusal != *missing.Refusal || hidden.Verdict != nil {
			t.Errorf("%s: hidden %+v, missing %+v", name, hidden.Refusal, missing.Refusal)
		}
	}
}

func agentOf(t *testing.T, p *overHTTP, name string) string {
	t.Helper()
	var list struct{ Items []httpapi.Agent }
	p.must(t, "ana", "GET", "/agents", nil, &list)
	for _, a := range list.Items {
		if a.Name == name {
			return a.ID
		}
	}
	t.Fatalf("no agent %s in %+v", name, list)
	return ""
}

// TestNoNamesInTheLog: who people are, what agents are called and what
// anybody wrote in their own words is in no byte of the log.
func TestNoNamesInTheLog(t *testing.T) {
	const canary = "Zibeline"
	p, s := servedWith(t, func(l commands.Log) commands.Log { return l })
	p.owner(t, canary+"ana", "home")
	p.agent(t, canary+"bot", canary+"ana", "edits", nil)
	made := p.act(t, canary+"bot", "article.create", map[string]any{"site": "main", "slug": "menu", "title": "Menu", "body": "", "reason": "because " + canary + " said so"})
	held := p.act(t, canary+"bot", "site.publish", map[string]any{"site": "main", "note": "for " + canary})
	var proposal commands.Held
	if err := respell(held.Proposal, &proposal); err != nil {
		t.Fatal(err)
	}
	p.decline(t, canary+"ana", proposal.ID, canary+" would not like it")
	p.must(t, canary+"ana", "POST", "/actions/"+string(made.Action)+"/undo", map[string]any{"reason": canary}, nil)
	p.act(t, canary+"bot", "article.get", map[string]any{"article": canary})
	p.must(t, canary+"ana", "POST", "/people", map[string]any{"name": canary, "email": canary + "@example.org", "role": "editor"}, nil)
	if err := s.road.Close(t.Context()); err != nil {
		t.Fatal(err)
	}

	found := map[string]bool{}
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if text = bytes.ToLower(text); bytes.Contains(text, bytes.ToLower([]byte(canary))) {
			i := bytes.Index(text, bytes.ToLower([]byte(canary)))
			if strings.HasPrefix(filepath.Base(path), "log.db") {
				t.Logf("%q", text[max(0, i-300):min(len(text), i+100)])
			}
			found[filepath.Base(path)] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for file := range found {
		if strings.HasPrefix(file, "log.db") {
			t.Errorf("%s holds a name", file)
		}
	}
	if !found["people.db"] && !found["people.db-wal"] {
		t.Errorf("the name is nowhere at all, so this proves nothing: %v", found)
	}
}
