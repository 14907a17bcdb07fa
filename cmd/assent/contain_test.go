package main

import (
	"testing"

	"assent/commands"
	"assent/domain"
)

// TestAnImportIsTakenBackAsOne: what was imported together is named in the
// audit, goes back in one decision, and comes again in one.
func TestAnImportIsTakenBackAsOne(t *testing.T) {
	p := inProcessOf(t, serving(t))
	p.owner(t, "ana", "home")
	if code, _, said := ends(t, "import", "demosite", "--data", p.server.dir); code != 0 {
		t.Fatalf("import ended %d: %s", code, said)
	}
	imported := 0
	var batch, kept string
	for _, r := range p.audit(t, "ana") {
		if r.Batch != "" && r.Outcome == commands.Done {
			batch = string(r.Batch)
			if imported++; r.Target.Kind == "article" {
				kept = r.Target.ID
			}
		}
	}
	if imported < 3 || kept == "" {
		t.Fatalf("%d actions belong to an import", imported)
	}
	if out := p.act(t, "ana", "article.update", map[string]any{"article": kept, "title": "Ours by now"}); out.Outcome != commands.Done {
		t.Fatalf("%+v", out)
	}
	took := p.undo(t, "ana", domain.ID(batch))
	if c := took.Contained; c == nil || c.State != "settled" || c.Taken != imported-1 || c.Conflicting != 1 || c.Left[0].ID != kept {
		t.Fatalf("%+v of %d", took.Contained, imported)
	}
	again := p.undo(t, "ana", took.Action)
	if c := again.Contained; c == nil || c.Taken != imported-1 || c.Conflicting+c.Impossible > 0 {
		t.Errorf("%+v", again.Contained)
	}
	undone := 0
	for _, r := range p.audit(t, "ana") {
		if string(r.Batch) == batch && r.Undone != "" {
			undone++
		}
	}
	if undone != 0 {
		t.Errorf("%d actions count as taken back, though that was taken back itself", undone)
	}
}
