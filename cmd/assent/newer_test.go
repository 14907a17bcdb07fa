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

// TestAModeOfANewerVersionDecidesNothing: an agent that a newer version gave a
// mode this one does not know reads, and changes nothing until a person gives
// it another.
func TestAModeOfANewerVersionDecidesNothing(t *testing.T) {
	dir := t.TempDir()
	s, err := (&serveCmd{Listen: "127.0.0.1:0", Workspaces: []string{"home"}}).open(t.Context(), plan{dir: dir, vault: cheap})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	said := func(stream domain.Stream, version domain.Version, word, data string) {
		t.Helper()
		_, err := s.log.Append(t.Context(), commands.Write{Stream: stream, Expect: version, Events: []domain.Fresh{{
			ID: domain.ID("evt_" + word + data), Word: word, Revision: 1, Data: []byte(data), Envelope: domain.Envelope{Action: domain.ID("act_" + word + data), Name: word},
		}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	act := func(action, args string) commands.Outcome {
		t.Helper()
		out, err := s.road.Do(t.Context(), commands.Call{
			Workspace: "home", Action: action, Args: json.RawMessage(args),
			Principal: domain.Principal{Kind: domain.KindAgent, ID: "agent_1"}, Via: domain.Via{Key: "key_1"},
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	const create = `{"site": "main", "slug": "menu", "title": "Menu", "body": ""}`
	bot := domain.Stream{Category: "agent", Workspace: "home", ID: "agent_1"}
	said(domain.Stream{Category: "person", Workspace: "home", ID: "person_1"}, 0, "person.seated", `{"role":"editor"}`)
	said(bot, 0, "agent.created", `{"person":"person_1","mode":"turbo","scopes":["site:read","content:read","content:write"]}`)
	said(bot, 1, "agent.key-minted", `{"key":"key_1"}`)
	if out := act("article.list", `{"site": "main"}`); out.Outcome != commands.Done {
		t.Errorf("it does not read: %+v %+v", out, out.Refusal)
	}
	if out := act("article.create", create); out.Refusal == nil || out.Refusal.Code != "mode" {
		t.Errorf("what it may do was guessed: %+v %+v", out, out.Refusal)
	}
	said(bot, 2, "agent.updated", `{"mode":"edits"}`)
	if out := act("article.create", create); out.Outcome != commands.Done {
		t.Errorf("in a mode that is known: %+v %+v", out, out.Refusal)
	}
}
