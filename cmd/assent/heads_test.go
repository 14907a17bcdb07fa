package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// TestReadyTellsOfHeadsThatGetNowhere: the server stays ready, since it works
// without, and whoever watches it hears of it.
func TestReadyTellsOfHeadsThatGetNowhere(t *testing.T) {
	s := servingPlan(t, plan{dir: t.TempDir(), vault: cheap, heads: []string{"http://127.0.0.1:1/heads?token=hidden"}})
	newPeople(s.url, greeted(t, s)).owner(t, "ana", "home")
	ready := func() string {
		status, text := request(t, http.DefaultClient, "GET", s.url+"/readyz", nil, nil)
		var told struct {
			Ready       bool
			SignedHeads string
		}
		if err := json.Unmarshal(text, &told); err != nil || status != http.StatusOK || !told.Ready || strings.Contains(string(text), "hidden") {
			t.Errorf("it answers %d %s", status, text)
		}
		return told.SignedHeads
	}
	if _, err := s.heads.Publish(t.Context()); err == nil {
		t.Error("a place that is not there took a head")
	}
	if told := ready(); told != "failing" {
		t.Errorf("it says of signed heads: %q", told)
	}
}

// TestAServerOnEventStoreDBSignsWhereItsLogEnds by the count that verify goes
// by. Every process works the chain out for itself, and comes to the same.
func TestAServerOnEventStoreDBSignsWhereItsLogEnds(t *testing.T) {
	at, dir := eventStoreDB(t), t.TempDir()
	if code, _, said := ends(t, "import", "demosite", "--data", dir, "--log", at); code != exitDone {
		t.Fatalf("import ended %d: %s", code, said)
	}
	v := verifiedAs(t, exitDone, "--data", dir, "--log", at)
	if v.Heads == 0 || v.Newest != v.Events {
		t.Errorf("what was signed: %+v", v)
	}
	one, two := headed(t, "--data", dir, "--log", at), headed(t, "--data", t.TempDir(), "--log", at)
	if one.Position != v.Events || one.Position != two.Position || one.Chain != two.Chain {
		t.Errorf("one process signs %+v, another %+v", one, two)
	}
	if code, _, said := ends(t, "audit", "--data", dir, "--log", at); code != exitDone {
		t.Errorf("the log that was signed does not open (%d): %s", code, said)
	}
	code, _, said := ends(t, "serve", "--data", dir, "--log", eventStoreDB(t), "--listen", "127.0.0.1:0")
	if code != exitFound {
		t.Errorf("another log is served (%d): %s", code, said)
	}
}
