package main

import (
	"strings"
	"sync"
	"testing"

	"assent/commands"
	"assent/commands/eventlog/postgres/pgtest"
	"assent/domain"
	"assent/httpapi"
)

// alternating is two servers on one log and one set of people. Every step goes
// to the one that did not do the last.
type alternating struct {
	*inProcess
	servers []*server
	turn    int
}

func newAlternating(t *testing.T, in plan) *alternating {
	t.Helper()
	one := servingPlan(t, in)
	in.dir = secretFrom(t, in.dir)
	return &alternating{inProcess: inProcessOf(t, one), servers: []*server{one, servingPlan(t, in)}}
}

// other is the same people at the other server.
func (p *alternating) other() *inProcess {
	p.turn++
	p.server = p.servers[p.turn%len(p.servers)]
	p.url = p.server.url
	return p.inProcess
}

func (p *alternating) owner(t testing.TB, name, workspace string) {
	p.other().owner(t, name, workspace)
}

func (p *alternating) agent(t testing.TB, name, of, mode string, scopes []string) string {
	return p.other().agent(t, name, of, mode, scopes)
}

func (p *alternating) act(t *testing.T, name, action string, args map[string]any) commands.Outcome {
	return p.other().act(t, name, action, args)
}

func (p *alternating) approve(t *testing.T, name, proposal, digest string, parts ...int) commands.Outcome {
	return p.other().approve(t, name, proposal, digest, parts...)
}

func (p *alternating) decline(t *testing.T, name, proposal, reason string) commands.Outcome {
	return p.other().decline(t, name, proposal, reason)
}

func (p *alternating) undo(t *testing.T, name string, action domain.ID) commands.Outcome {
	return p.other().undo(t, name, action)
}

func (p *alternating) revoke(t *testing.T, name, agent string) commands.Outcome {
	return p.other().revoke(t, name, agent)
}

func (p *alternating) audit(t *testing.T, name string) []httpapi.AuditRow {
	return p.other().audit(t, name)
}

func (p *alternating) live(t *testing.T, site, path string) (int, string) {
	return p.other().live(t, site, path)
}

// TestTwoServers share a log and people on PostgreSQL.
func TestTwoServers(t *testing.T) {
	next := onPostgres(t)
	// The other stories tell nothing that two servers could disagree on.
	for _, story := range []string{"approve-after-it-moved", "asking-twice", "rights-end-at-once", "undo-keeps-later-work"} {
		t.Run("tell "+story, func(t *testing.T) {
			t.Parallel()
			play(t, "../../commands/testdata/stories/"+story+".txt", newAlternating(t, next(t)), false)
		})
	}
	t.Run("pause for each other", func(t *testing.T) {
		t.Parallel()
		pausesForAll(t, newAlternating(t, next(t)))
	})
	t.Run("edit one thing", func(t *testing.T) {
		t.Parallel()
		editOneThing(t, newAlternating(t, next(t)))
	})
}

// pausesForAll: what is paused on one is paused on the other from the very next
// call on, although each remembers what it has read.
func pausesForAll(t *testing.T, p *alternating) {
	p.owner(t, "ana", "home")
	p.agent(t, "bot", "ana", "edits", nil)
	made := p.act(t, "bot", "article.create", map[string]any{"site": "main", "slug": "menu", "title": "0", "body": ""})
	for i, paused := range []bool{true, false, true, true, false} {
		p.other() // so that each of them pauses, and is asked
		p.must(t, "ana", "PATCH", "/workspace", map[string]any{"paused": paused}, nil)
		for j := range 2 {
			out := p.act(t, "bot", "article.update", map[string]any{"article": made.Target.ID, "title": strings.Repeat("x", 1+2*i+j)})
			if got := out.Refusal != nil && out.Refusal.Code == "paused"; got != paused {
				t.Errorf("paused is %v, and server %d answers %+v", paused, p.turn%2, out)
			}
		}
	}
}

// editOneThing: each edit is done once, on top of the last, whichever server
// takes it.
func editOneThing(t *testing.T, p *alternating) {
	p.owner(t, "ana", "home")
	p.agent(t, "bot", "ana", "edits", nil)
	made := p.act(t, "bot", "article.create", map[string]any{"site": "main", "slug": "menu", "title": "0", "body": ""})
	const each = 15
	var all sync.WaitGroup
	for _, s := range p.servers {
		mine := *p.inProcess
		mine.server = s
		all.Go(func() {
			for i := range each {
				title := s.dir + strings.Repeat("x", i)
				if out := mine.act(t, "bot", "article.update", map[string]any{"article": made.Target.ID, "title": title[max(0, len(title)-80):]}); out.Outcome != commands.Done {
					t.Errorf("%+v", out)
				}
			}
		})
	}
	all.Wait()
	if out := p.act(t, "bot", "article.update", map[string]any{"article": made.Target.ID, "title": "last"}); out.Target == nil || out.Target.Version != 2*each+2 {
		t.Errorf("afterwards: %+v", out)
	}
}

// TestTwoServersStartAtOnce on a log that has nothing yet: both do.
func TestTwoServersStartAtOnce(t *testing.T) {
	t.Parallel()
	at, dir := pgtest.Database(t), t.TempDir()
	if _, err := secretOf(dir); err != nil {
		t.Fatal(err)
	}
	dirs := []string{dir, secretFrom(t, dir), secretFrom(t, dir)}
	var all sync.WaitGroup
	for _, dir := range dirs {
		all.Go(func() {
			s, err := (&serveCmd{Listen: "127.0.0.1:0", Workspaces: []string{"home"}}).open(t.Context(), plan{dir: dir, vault: cheap, at: at})
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}
