package catalogue_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/batch"
	"assent/domain/catalogue"
	"assent/domain/policy"
)

func actions(t *testing.T) []*action.Action {
	t.Helper()
	r, err := catalogue.Actions()
	if err != nil {
		t.Fatal(err)
	}
	return r.All()
}

func schema(t *testing.T, a *action.Action) *jsonschema.Schema {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(a.Schema(), &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

// The tools of the contract: names are promises.
func TestTheContractsToolsAreThere(t *testing.T) {
	want := strings.Fields(`
		site_list site_get site_create site_update page_list page_get page_create page_update page_remove
		article_list article_get article_create article_update article_remove version_list version_diff preview_create
		site_publish site_rollback whoami proposal_list proposal_get proposal_withdraw elevation_ask batch plan_file proposal_refile
		webhook_list webhook_create webhook_update webhook_remove`)
	r, err := catalogue.Actions()
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range want {
		if _, ok := r.Find(tool); !ok {
			t.Errorf("%s is promised and missing", tool)
		}
	}
	for _, a := range r.All() {
		if a.Class != action.People && !slices.Contains(want, a.Tool()) {
			t.Errorf("%s is not in the contract", a.Tool())
		}
	}
}

func TestEveryExampleFitsItsOwnSchema(t *testing.T) {
	for _, a := range actions(t) {
		t.Run(a.Name, func(t *testing.T) {
			text, err := json.Marshal(a.Example)
			if err != nil {
				t.Fatal(err)
			}
			cmd, err := a.Parse(text)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if diff := cmp.Diff(a.Example, cmd.Args); diff != "" {
				t.Errorf("reads differently (-example +read):\n%s", diff)
			}
			resolved, err := schema(t, a).Resolve(nil)
			if err != nil {
				t.Fatal(err)
			}
			var value any
			if err := json.Unmarshal(text, &value); err != nil {
				t.Fatal(err)
			}
			if err := resolved.Validate(value); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		})
	}
}

// Every schema is strict and says of everything what it is.
func TestSchemasAreStrictAndSaySo(t *testing.T) {
	for _, a := range actions(t) {
		t.Run(a.Name, func(t *testing.T) {
			s := schema(t, a)
			strict(t, a.Name, s)
			for _, common := range []string{"reason", "dry_run", "command_id", "confirm_token"} {
				if (s.Properties[common] != nil) != a.Writes() {
					t.Errorf("writes: %v, takes %s: %v", a.Writes(), common, s.Properties[common] != nil)
				}
			}
			if _, revised := a.Example.(action.Revised); revised && s.Properties["rev"] == nil {
				t.Error("takes a rev that its schema does not show")
			}
		})
	}
}

func strict(t *testing.T, place string, s *jsonschema.Schema) {
	t.Helper()
	if s.Type != "object" {
		t.Fatalf("%s is a %s", place, s.Type)
	}
	if text, _ := json.Marshal(s.AdditionalProperties); string(text) != "false" {
		t.Errorf("%s takes what it does not name", place)
	}
	for _, name := range s.Required {
		if s.Properties[name] == nil {
			t.Errorf("%s requires %s and does not show it", place, name)
		}
	}
	for name, p := range s.Properties {
		at := place + "." + name
		if p.Description == "" {
			t.Errorf("%s does not say what it is", at)
		}
		if p.Type == "" {
			t.Errorf("%s has %v for its type", at, p.Types)
		}
		bounded(t, at, p)
		if p.Items != nil {
			bounded(t, at+"[]", p.Items)
			if p.Items.Type == "object" {
				strict(t, at+"[]", p.Items)
			}
		}
	}
}

func bounded(t *testing.T, place string, p *jsonschema.Schema) {
	t.Helper()
	if p.Type == "string" && (p.MaxLength == nil || *p.MaxLength < 1) {
		t.Errorf("%s has no longest text", place)
	}
}

// Nobody can ask for what no role and no list knows.
func TestScopesAndPermissionsExist(t *testing.T) {
	ownersOnly := []string{"agents.manage", "people.manage", "workspace.manage"}
	for _, a := range actions(t) {
		known := a.Permission == "any" || policy.Editor.May(a.Permission) || policy.Auditor.May(a.Permission)
		if owners := slices.Contains(ownersOnly, a.Permission); known == owners {
			t.Errorf("%s: permission %s is known: %v, of owners only: %v", a.Name, a.Permission, known, owners)
		}
		if a.Scope != "any" && a.Class != action.People && !slices.Contains(policy.Scopes, a.Scope) {
			t.Errorf("%s: scope %s cannot be given", a.Name, a.Scope)
		}
		if a.Class == action.People && slices.Contains(policy.Scopes, a.Scope) {
			t.Errorf("%s is for people and its scope %s can be given to an agent", a.Name, a.Scope)
		}
	}
}

// An action is final exactly when nothing of what it says can be taken back.
func TestFinalIsWhatNothingTakesBack(t *testing.T) {
	kinds := catalogue.Kinds()
	for _, a := range actions(t) {
		history := histories[a.Kind.Category]
		if !a.Writes() || slices.Contains(batch.Actions, a) { // whose parts are actions of their own
			continue
		}
		reversible := map[bool]bool{}
		for i := range history {
			_, err := kinds[a.Kind.Category].TakeBack(history[:i+1], i)
			no, refused := err.(*domain.Refusal)
			reversible[!refused || no.Code != "final"] = true
		}
		if !reversible[!a.Final] {
			t.Errorf("%s is final: %v, and its events say otherwise", a.Name, a.Final)
		}
	}
}

// An agent may be for one site: what names a site must say which.
func TestWhatNamesASiteSaysWhich(t *testing.T) {
	for _, a := range actions(t) {
		_, says := a.Example.(interface{ OnSite() string })
		names := schema(t, a).Properties["site"] != nil && a.Class != action.People
		if its := a.Kind.Category == "live" || a.Kind.Category == "site"; names && !says && !its {
			t.Errorf("%s names a site and does not say which", a.Name)
		}
	}
}

var idLike = regexp.MustCompile(`^[a-z]+_[0-9a-z]{20,30}$`)

func TestTargetsOfExamplesLookLikeTargets(t *testing.T) {
	for _, a := range actions(t) {
		id := a.Target(a.Example)
		if prefix := a.Kind.Prefix; prefix != "" && id != "" && (!idLike.MatchString(id) || domain.ID(id).Kind() != prefix) {
			t.Errorf("%s is shown about %q, which is no %s_…", a.Name, id, prefix)
		}
	}
}

// Deciding is for people at the desk: no action that a tool can name does it.
func TestNoActionDecides(t *testing.T) {
	for _, a := range actions(t) {
		for _, verb := range []string{"approve", "decline", "confirm", "undo", "settle"} {
			if strings.HasSuffix(a.Name, "."+verb) {
				t.Errorf("%s decides", a.Name)
			}
		}
	}
}

func TestOneKindAWordListAndACategory(t *testing.T) {
	prefixes := map[string]string{}
	for category, k := range catalogue.Kinds() {
		if k.Category != category || strings.ContainsAny(category, "-/") {
			t.Errorf("%s is filed under %q", k.Category, category)
		}
		if other := prefixes[k.Prefix]; k.Prefix != "" && other != "" {
			t.Errorf("%s and %s both make %s_ ids", other, category, k.Prefix)
		}
		prefixes[k.Prefix] = category
		for _, w := range k.Words {
			if kind, _, _ := strings.Cut(w.Name, "."); kind != category {
				t.Errorf("%s is a word of %s", w.Name, category)
			}
		}
	}
}
