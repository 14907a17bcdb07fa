package main

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"assent/commands"
	"assent/commands/eventlog/sqlite"
	"assent/domain"
	"assent/domain/policy"
)

// A newer version of the program has written a word that this one does not know.
// The server starts, reads show what was known before, and decisions about that
// thing are refused; others go on.
func TestAServerOnALogOfANewerVersionReadsAndDecidesNothingThere(t *testing.T) {
	dir := t.TempDir()
	serve := func() *server {
		t.Helper()
		s, err := (&serveCmd{Listen: "127.0.0.1:0", Workspaces: []string{"home"}}).open(t.Context(), plan{dir: dir, vault: cheap})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	act := func(s *server, action string, args map[string]any) (commands.Outcome, error) {
		t.Helper()
		raw, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		return s.road.Do(t.Context(), commands.Call{
			Workspace: "home", Action: action, Args: raw, Mode: policy.Bypass,
			Principal: domain.Principal{Kind: domain.KindAgent, ID: "local:me"}, Via: domain.Via{Local: "me"},
		})
	}
	s := serve()
	known, err := act(s, "article.create", map[string]any{"site": "main", "slug": "menu", "title": "Menu", "body": ""})
	if err != nil {
		t.Fatal(err)
	}
	other, err := act(s, "article.create", map[string]any{"site": "main", "slug": "fair", "title": "Fair", "body": ""})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := act(s, "article.get", map[string]any{"article": other.Target.ID}); err != nil { // the read models have seen it
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := sqlite.Open(t.Context(), filepath.Join(dir, "log.db"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.Append(t.Context(), commands.Write{
		Stream: domain.Stream{Category: "article", Workspace: "home", ID: known.Target.ID}, Expect: known.Target.Version,
		Events: []domain.Fresh{{ID: "evt_newer", Word: "article.sparkled", Revision: 1, Data: []byte(`{"x":1}`), Envelope: domain.Envelope{Action: "act_newer", Name: "article.sparkle"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}

	s = serve()
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, id := range []string{known.Target.ID, other.Target.ID} {
		if out, err := act(s, "article.get", map[string]any{"article": id}); err != nil || out.Outcome != commands.Done {
			t.Errorf("%s is not read: %+v, %v", id, out, err)
		}
	}
	if out, err := act(s, "article.update", map[string]any{"article": known.Target.ID, "title": "Mine"}); err == nil && out.Outcome == commands.Done {
		t.Errorf("what a newer version wrote was decided over: %+v", out)
	}
	if out, err := act(s, "article.update", map[string]any{"article": other.Target.ID, "title": "Mine"}); err != nil || out.Outcome != commands.Done {
		t.Errorf("another article cannot be changed: %+v, %v", out, err)
	}
}
