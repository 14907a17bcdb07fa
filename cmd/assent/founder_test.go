package main

import (
	"encoding/json"
	"testing"

	"assent/commands"
	"assent/domain"
	"assent/domain/policy"
)

// TestAFounderWhoLostTheSeatStaysWithout: a start finishes a set-up that was
// interrupted, and gives nobody back what was taken from them.
func TestAFounderWhoLostTheSeatStaysWithout(t *testing.T) {
	dir := t.TempDir()
	open := func() *server {
		s, err := (&serveCmd{Listen: "127.0.0.1:0", Workspaces: []string{"home"}}).open(t.Context(), plan{dir: dir, vault: cheap})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	if _, err := s.Seat(t.Context(), "home", "person_first"); err != nil {
		t.Fatal(err)
	}
	call := commands.Call{Workspace: "home", Principal: domain.Principal{Kind: domain.KindPerson, ID: "person_first"}, Person: "person_first", Action: "person.unseat"}
	call.Args, _ = json.Marshal(map[string]string{"person": "person_first"})
	if out, err := s.road.Do(t.Context(), call); err != nil || out.Outcome != commands.Done {
		t.Fatalf("%+v %v", out, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open()
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := s.rowsNow(t.Context(), "home"); err != nil {
		t.Fatal(err)
	}
	if role, err := s.rows.Role(t.Context(), "home", "person_first"); err != nil || role != policy.Role("") {
		t.Errorf("after a start the founder is %q again (%v)", role, err)
	}
}
