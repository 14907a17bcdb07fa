package main

import (
	"net/url"
	"os"
	"strings"
	"testing"

	"assent/commands/eventlog/postgres/pgtest"
)

// TestAServerWhoseLoginCanOnlyAppend: made as the README says, it serves, keeps
// people, and is told of nothing.
func TestAServerWhoseLoginCanOnlyAppend(t *testing.T) {
	c := pgtest.Start(t)
	at := c.Database(t)
	t.Setenv("ASSENT_LOG", at)
	if code, _, said := ends(t, "import", "demosite", "--data", t.TempDir(), "--people", "sqlite:"); code != exitDone {
		t.Fatalf("the owner's start ended %d: %s", code, said)
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, recipe, _ := strings.Cut(string(readme), "```sql\n")
	recipe, _, _ = strings.Cut(recipe, "```")
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	pgtest.Exec(t, at, strings.ReplaceAll(recipe, "ON DATABASE assent", "ON DATABASE "+strings.Trim(u.Path, "/")))
	narrow := strings.Replace(at, "postgres://postgres@", "postgres://assent@", 1)
	t.Setenv("ASSENT_LOG", narrow)
	t.Setenv("ASSENT_READ", narrow)
	s := start(t, t.TempDir())
	p := newPeople(s.url, links(s.printed))
	p.owner(t, "ana", "home")
	p.agent(t, "bot", "ana", "edits", nil)
	s.stop(t)
	if text := s.errors.String(); strings.Contains(text, "owns the log's tables") || strings.Contains(text, "level=ERROR") {
		t.Errorf("it says %s", text)
	}
}
