package httpapi

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"assent/domain"
	"assent/domain/policy"
	"assent/projections"
)

// keeper is an operator whose rebuilds are under way until the test ends them.
type keeper struct {
	asked []RebuildAsked
	now   System
}

func (k *keeper) System(context.Context) (System, error) { return k.now, nil }

func (k *keeper) Rebuild(_ context.Context, o RebuildAsked) error {
	if k.now.ReadModels.Rebuild != nil {
		return domain.Refuse("busy", "The read models are being rebuilt already. Wait until that is done.")
	}
	k.asked = append(k.asked, o)
	k.now.ReadModels.Rebuild = &projections.Progress{Stage: projections.Folding, Events: 250, Of: 1000, Rate: 125, Left: 6 * time.Second}
	return nil
}

func (k *keeper) SwitchBack(context.Context) (projections.Rebuilt, error) {
	return projections.Rebuilt{Generation: 1, Replaces: 2, Swapped: true}, nil
}

func TestAnOperatorSeesARebuildAndWhatItFound(t *testing.T) {
	w := newWorld(t)
	w.keeper.now = System{
		Log: LogState{Kind: "sqlite", Position: 1200, At: w.clock()},
		ReadModels: ReadModels{
			Status: projections.Status{Generation: 2, Position: 1200, Current: true}, Models: []projections.Model{{Name: "audit", Version: 2}},
			Generations: []projections.Generation{{Number: 1, State: "previous"}, {Number: 2, State: "live"}},
		},
	}
	page := w.do("GET", "/system", "", as(w.ada)).Body.String()
	for _, want := range []string{"position 1200", "all there is", `value="rebuild"`, `value="switch-back"`, "<code>audit</code>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q: %.5000s", want, page)
		}
	}
	if res := w.do("POST", "/system", "do=rebuild", as(w.ada)); res.Code != http.StatusSeeOther {
		t.Fatalf("%d %s", res.Code, res.Body)
	}
	page = w.do("GET", "/system", "", as(w.ada)).Body.String()
	for _, want := range []string{`http-equiv="refresh"`, `value="25"`, "250 of about 1000 events, 125 a second, 6s left"} {
		if !strings.Contains(page, want) {
			t.Errorf("while it goes on the page does not say %q: %.5000s", want, page)
		}
	}
	if res := w.do("POST", "/api/v1/projections/rebuild", `{"dryRun":true}`, as(w.ada)); w.problem(res).Code != "busy" {
		t.Errorf("%d %s", res.Code, res.Body)
	}
	w.keeper.now.ReadModels.Rebuild = nil
	w.keeper.now.Last = &RebuildFinished{At: w.clock(), Rebuilt: &projections.Rebuilt{Events: 1200, Took: time.Second, Comparison: &projections.Comparison{
		Position: 1200, Models: []projections.Compared{{Model: "audit", Rows: 300, Changed: 1, Examples: []projections.Example{{Key: "<b>act_1", What: "changed", Fields: []string{"outcome"}}}}},
	}}}
	page = w.do("GET", "/system", "", as(w.ada)).Body.String()
	for _, want := range []string{"Nothing was swapped", "changed in audit", "&lt;b&gt;act_1", "(outcome)"} {
		if !strings.Contains(page, want) {
			t.Errorf("afterwards the page does not say %q: %.6000s", want, page)
		}
	}
	if strings.Contains(page, "Nothing differs") || strings.Contains(page, `http-equiv="refresh"`) {
		t.Errorf("the page says %.5000s", page)
	}
}

func TestOnlyAnOperatorRebuilds(t *testing.T) {
	for role, may := range map[string]bool{"owner": true, "operator": true, "editor": false, "auditor": false} {
		w := newWorld(t)
		seat := w.ada
		if role != "owner" {
			seat = w.seated(policy.Role(role))
		}
		for path, body := range map[string]string{
			"/api/v1/projections/rebuild": "{}", "/api/v1/projections/compare": `{"models":["audit"]}`, "/api/v1/projections/switch-back": "", "/system": "do=compare",
		} {
			w.keeper.now = System{}
			res := w.do("POST", path, body, as(seat))
			if got := res.Code < 400; got != may {
				t.Errorf("%s at %s: %d %s", role, path, res.Code, res.Body)
			}
		}
		if res := w.do("GET", "/api/v1/projections", "", as(seat)); res.Code != http.StatusOK {
			t.Errorf("%s may not look: %d", role, res.Code)
		}
	}
	w := newWorld(t)
	if res := w.do("POST", "/api/v1/projections/compare", `{"models":["audit"]}`, as(w.ada)); res.Code != http.StatusAccepted {
		t.Errorf("%d %s", res.Code, res.Body)
	}
	if len(w.keeper.asked) != 1 || !w.keeper.asked[0].DryRun || len(w.keeper.asked[0].Models) != 1 {
		t.Errorf("asked for %+v", w.keeper.asked)
	}
	for _, body := range []string{"do=erase", "do="} {
		if res := w.do("POST", "/system", body, as(w.ada)); res.Code != http.StatusBadRequest {
			t.Errorf("%s: %d", body, res.Code)
		}
	}
}
