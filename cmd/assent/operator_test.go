package main

import (
	"net/http"
	"testing"

	"assent/httpapi"
)

func TestReadModelsAreRebuiltFromTheConsoleWhileTheyServe(t *testing.T) {
	p := newInProcess(t).(*inProcess)
	p.owner(t, "ana", "home")
	made := p.act(t, "ana", "article.create", map[string]any{"site": "main", "slug": "menu", "title": "Menu", "body": "x"})
	system := func() (s httpapi.System) {
		p.must(t, "ana", "GET", "/projections", nil, &s)
		return s
	}
	finished := func() *httpapi.RebuildFinished {
		waitUntil(t, "the rebuild is over", func() bool { return system().Last != nil && system().ReadModels.Rebuild == nil })
		return system().Last
	}
	before := system()
	if before.Log.Kind != "sqlite" || before.Log.Position == 0 || before.Log.Wrong != "" || len(before.ReadModels.Models) == 0 {
		t.Fatalf("%+v", before)
	}
	if status, text := p.ask(t, "ana", "POST", "/projections/rebuild", map[string]any{}); status != http.StatusAccepted {
		t.Fatalf("%d %s", status, text)
	}
	last := finished()
	if last.Failed != "" || !last.Rebuilt.Swapped || last.Rebuilt.Comparison == nil || !last.Rebuilt.Comparison.Same() {
		t.Fatalf("%+v %+v", last, last.Rebuilt)
	}
	if after := system(); after.ReadModels.Generation == before.ReadModels.Generation {
		t.Errorf("generation %d is live as before", after.ReadModels.Generation)
	}
	if rows := p.audit(t, "ana"); rows[len(rows)-1].ID != made.Action {
		t.Errorf("the audit ends with %+v", rows[len(rows)-1])
	}
	if status, text := p.ask(t, "ana", "POST", "/projections/switch-back", nil); status != http.StatusOK {
		t.Errorf("%d %s", status, text)
	}
	if after := system(); after.ReadModels.Generation != before.ReadModels.Generation {
		t.Errorf("generation %d is live, not %d", after.ReadModels.Generation, before.ReadModels.Generation)
	}
	if status, text := p.ask(t, "ana", "POST", "/projections/compare", map[string]any{"models": []string{"audits"}}); status != http.StatusNotFound {
		t.Errorf("%d %s", status, text)
	}
}
