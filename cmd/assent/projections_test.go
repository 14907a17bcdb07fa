package main

import (
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assent/projections"
)

// asJSON runs a command of the read models and reads its answer.
func asJSON[A any](t *testing.T, wantCode int, dir string, args ...string) (answer A) {
	t.Helper()
	code, out, said := ends(t, append(append([]string{"projections"}, args...), "--data", dir, "--json")...)
	if code != wantCode {
		t.Fatalf("%v ended %d: %s", args, code, said)
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		t.Fatalf("%v: %v in %q", args, err, out)
	}
	return answer
}

func TestReadModelsAreLookedAfterStoppedAndServed(t *testing.T) {
	served := servingPlan(t, plan{dir: t.TempDir(), vault: cheap})
	for name, dir := range map[string]string{"stopped": imported(t), "served": served.dir} {
		t.Run(name, func(t *testing.T) {
			if list := asJSON[[]projections.Model](t, exitDone, dir, "list"); len(list) == 0 || list[0].Version == 0 {
				t.Errorf("listed %+v", list)
			}
			if r := asJSON[projections.Rebuilt](t, exitDone, dir, "compare"); r.Swapped || !r.Comparison.Same() {
				t.Errorf("compared %+v", r)
			}
			r := asJSON[projections.Rebuilt](t, exitDone, dir, "rebuild", "audit")
			if !r.Swapped || r.Replaces != 1 || len(r.Comparison.Models) != 1 || r.Comparison.Models[0].Model != "audit" {
				t.Errorf("rebuilt %+v", r)
			}
			s := asJSON[projectionsStatus](t, exitDone, dir, "status")
			if s.Generation != r.Generation || len(s.Generations) != 2 || !s.Current {
				t.Errorf("status %+v", s)
			}
			if back := asJSON[projections.Rebuilt](t, exitDone, dir, "switch-back"); back.Generation != 1 || !back.Swapped {
				t.Errorf("switched back %+v", back)
			}
			if code, _, said := ends(t, "projections", "rebuild", "ghosts", "--data", dir); code != exitRefused || !strings.Contains(said, "ghosts") {
				t.Errorf("a model that is none ended %d: %s", code, said)
			}
			if code, out, said := ends(t, "projections", "status", "--data", dir); code != exitDone || !strings.Contains(out, "live") {
				t.Errorf("status for people ended %d: %s%s", code, out, said)
			}
		})
	}
}

func TestACorruptedRowIsFoundAndRebuiltAway(t *testing.T) {
	dir := imported(t)
	if code, _, said := ends(t, "projections", "status", "--data", dir); code != exitDone { // all is folded by now
		t.Fatal(said)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "read-1.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`DELETE FROM items_1 WHERE kind = 'site'`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	r := asJSON[projections.Rebuilt](t, exitFound, dir, "compare", "items")
	if m := r.Comparison.Models; len(m) != 1 || m[0].Missing == 0 || m[0].Examples[0].Key != "home/main" {
		t.Errorf("compared %+v", m)
	}
	asJSON[projections.Rebuilt](t, exitDone, dir, "rebuild")
	if r := asJSON[projections.Rebuilt](t, exitDone, dir, "compare"); !r.Comparison.Same() {
		t.Errorf("after rebuilding %+v", r.Comparison)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*.making")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "read-2.db")); err != nil {
		t.Error(err)
	}
}
