package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestALogWithoutItsPeopleIsToldLoudly: and all is well once they are back.
func TestALogWithoutItsPeopleIsToldLoudly(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir)
	p := newPeople(s.url, links(s.printed))
	p.owner(t, "ana", "home")
	if strings.Contains(s.printed, "MISSING") {
		t.Errorf("before anybody was there it says %s", s.printed)
	}
	s.stop(t)
	kept := t.TempDir()
	if err := os.CopyFS(kept, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	remove(t, dir, "people.db")
	s = start(t, dir)
	if !strings.Contains(s.printed, "MISSING the people") || !strings.Contains(s.printed, "put people.db and secret back") || strings.Contains(s.printed, `the workspace "home" has no owner`) {
		t.Errorf("without people it says %s", s.printed)
	}
	s.stop(t)
	remove(t, dir, "people.db")
	text, err := os.ReadFile(filepath.Join(kept, "people.db"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "people.db"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	s = start(t, dir)
	defer s.stop(t)
	if strings.Contains(s.printed, "MISSING") {
		t.Errorf("with people it says %s", s.printed)
	}
	p.url = s.url
	p.signIn(t, "ana")
}
