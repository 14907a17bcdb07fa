package action_test

import (
	"strings"
	"testing"

	"assent/domain"
	"assent/domain/action"
)

func named(name string, change func(*action.Facts)) *action.Action {
	f := facts(name, action.Read)
	if change != nil {
		change(&f)
	}
	return action.Look(which{"bed_1"}, f).Action
}

func TestRegisterRefuses(t *testing.T) {
	tests := map[string]struct {
		actions []*action.Action
		says    string
	}{
		"without a verb":           {[]*action.Action{named("bed", nil)}, "not named kind.verb"},
		"without a kind":           {[]*action.Action{named(".plant", nil)}, "not named kind.verb"},
		"without a name":           {[]*action.Action{named("", nil)}, "not named kind.verb"},
		"never-listed":             {[]*action.Action{named("proposal.approve", nil)}, "never-list"},
		"never-listed by its kind": {[]*action.Action{named("billing.pay", nil)}, "never-list"},
		"never-listed as a tool":   {[]*action.Action{named("site.delete", nil)}, "never-list"},
		"unscoped":                 {[]*action.Action{named("bed.plant", func(f *action.Facts) { f.Scope = "" })}, "no scope"},
		"without permission":       {[]*action.Action{named("bed.plant", func(f *action.Facts) { f.Permission = "" })}, "no permission"},
		"without a title":          {[]*action.Action{named("bed.plant", func(f *action.Facts) { f.Title = "" })}, "does not say what it is"},
		"without a sentence":       {[]*action.Action{named("bed.plant", func(f *action.Facts) { f.About = "" })}, "does not say what it is"},
		"declared twice":           {[]*action.Action{named("bed.plant", nil), named("bed.plant", nil)}, "declared twice"},
		"twice as a tool":          {[]*action.Action{named("bed.plant_all", nil), named("bed_plant.all", nil)}, "declared twice"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := action.Register(tt.actions); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want …%s…", err, tt.says)
			}
		})
	}
}

func TestRegistryFindsByNameAndTool(t *testing.T) {
	r, err := action.Register([]*action.Action{plant}, []*action.Action{look.Action, named("whoami", nil)})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bed.plant", "bed_plant"} {
		if a, ok := r.Find(name); !ok || a != plant {
			t.Errorf("%s is not found", name)
		}
	}
	if _, ok := r.Find("bed.dig"); ok {
		t.Error("bed.dig exists")
	}
	var names []string
	for _, a := range r.All() {
		names = append(names, a.Name)
	}
	if got := strings.Join(names, " "); got != "bed.look bed.plant whoami" {
		t.Errorf("all: %s", got)
	}
	r.All()[0] = nil
	if r.All()[0] == nil {
		t.Error("the registry can be changed from outside")
	}
}

func TestNeverListed(t *testing.T) {
	for name, want := range map[string]bool{
		"proposal.approve": true, "proposal_approve": true, "action.undo": true, "mode.set": true, "mode_set": true, "secret.read": true, "audit_delete": true,
		"proposal.withdraw": false, "article.update": false, "proposal.approved": false, "mode": false, "whoami": false, "": false, "site.update": false,
	} {
		if got := action.NeverListed(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

func TestPageSize(t *testing.T) {
	for limit, want := range map[int]int{-1: 50, 0: 50, 1: 1, 100: 100, 101: 100} {
		if got := (action.Page{Limit: limit}).Size(); got != want {
			t.Errorf("%d gives %d", limit, got)
		}
	}
}

func TestArgumentsThatCannotBeDescribedStopTheProgram(t *testing.T) {
	type hidden struct {
		which
		Reason string `json:"reason" jsonschema:"as every write has it"`
	}
	type odd struct {
		which
		Channel chan int `json:"channel" jsonschema:"nothing a program can send"`
	}
	tests := map[string]func(){
		"a name that every write has": func() { declare[hidden]() },
		"a type that no text can say": func() { declare[odd]() },
	}
	for name, do := range tests {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("it was declared")
				}
			}()
			do()
		})
	}
}

func declare[A action.Args]() {
	var example A
	action.Of(bedKind, func(bed, A) ([]bedEvent, error) { return nil, nil }, example, facts("bed.plant", action.Content))
}

func TestKindRefusesWhatItCannotRead(t *testing.T) {
	if _, err := bedKind.Fold([]any{"a stranger"}); err == nil {
		t.Error("an event of another kind was folded")
	}
	_, err := plant.Kind.Fold([]any{unknown})
	if no, ok := err.(*domain.Refusal); !ok || no.Code != "unsupported" {
		t.Errorf("an event of a newer program: %v", err)
	}
	if _, err := bedKind.Evolve(bed{}, unknown); err == nil {
		t.Error("an event of a newer program was said")
	}
	if _, err := bedKind.TakeBack([]any{unknown}, 0); err == nil {
		t.Error("an event of a newer program was taken back")
	}
}
