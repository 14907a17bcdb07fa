package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"assent/commands"
	"assent/domain"
	"assent/domain/action"
	"assent/domain/policy"
)

func TestClientsOfEveryAgeListAndCallTools(t *testing.T) {
	for _, version := range ages() {
		t.Run(version, func(t *testing.T) {
			r := always(commands.Outcome{Outcome: commands.Done, Action: "act_1", Target: &commands.Target{Kind: "article", ID: "art_1", Version: 2}})
			client := connect(t, serve(t, open(t, r, told(editor))).URL, version)

			list, err := client.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(list.Tools, func(x *sdk.Tool) bool { return x.Name == "article_update" })
			if i < 0 {
				t.Fatal("article_update is not listed")
			}
			schema, err := json.Marshal(list.Tools[i].InputSchema)
			if err != nil || !strings.Contains(string(schema), `"additionalProperties":false`) || !strings.Contains(string(schema), `"dry_run"`) {
				t.Errorf("the listed schema is not the strict one: %s, %v", schema, err)
			}

			res, err := client.CallTool(t.Context(), &sdk.CallToolParams{
				Meta:      sdk.Meta{skillKey: "weekly-digest"},
				Name:      "article_update",
				Arguments: map[string]any{"article": "art_1", "title": "Summer"},
			})
			if err != nil {
				t.Fatal(err)
			}
			if text := textOf(t, res); res.IsError || !strings.Contains(text, "art_1 at version 2") || !strings.Contains(text, "act_1") {
				t.Errorf("isError %v, text %q", res.IsError, text)
			}
			calls := r.asked()
			if len(calls) != 1 {
				t.Fatalf("%d calls came down the road, want 1", len(calls))
			}
			want := commands.Call{
				Workspace: "home", Action: "article.update", Args: json.RawMessage(`{"article":"art_1","title":"Summer"}`),
				Principal: domain.Principal{Kind: domain.KindAgent, ID: "agent_a"}, Via: domain.Via{Key: "key_a"},
				Client: domain.Client{Name: "test[31m client", Version: "1.2"}, Skill: "weekly-digest",
			}
			if diff := cmp.Diff(want, calls[0]); diff != "" {
				t.Errorf("call (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAListHoldsWhatTheKeyReachesAndNotesWhatTheModeRefuses(t *testing.T) {
	names := func(b Brief) map[string]string {
		client := connect(t, serve(t, open(t, always(commands.Outcome{}), told(b))).URL, modern)
		list, err := client.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if list.CacheScope != "private" {
			t.Errorf("cacheScope %q, want private", list.CacheScope)
		}
		if !slices.IsSortedFunc(list.Tools, func(a, b *sdk.Tool) int { return strings.Compare(a.Name, b.Name) }) {
			t.Error("the list is in no fixed order")
		}
		found := map[string]string{}
		for _, x := range list.Tools {
			found[x.Name] = x.Description
		}
		return found
	}

	reader := editor
	reader.Scopes = []string{"content:read"}
	found := names(reader)
	for _, want := range []string{"article_get", "whoami", "proposal_list"} {
		if _, ok := found[want]; !ok {
			t.Errorf("%s is missing", want)
		}
	}
	for _, not := range []string{"article_update", "site_publish", "site_rollback", "site_get", "agent_create", "key_mint"} {
		if _, ok := found[not]; ok {
			t.Errorf("%s is listed", not)
		}
	}

	planner := editor
	planner.Mode = string(policy.Plan)
	if about := names(planner)["article_update"]; !strings.Contains(about, "Refused at present") {
		t.Errorf("in plan mode article_update says %q", about)
	}
	if about := names(editor)["site_publish"]; !strings.Contains(about, "Waits for a person.") {
		t.Errorf("in edits mode site_publish says %q", about)
	}
}

func TestWhatACallerMayNotUseIsRefusedAndWhatIsNotThereIsNotThere(t *testing.T) {
	reader := editor
	reader.Scopes = []string{"content:read"}
	for _, version := range ages() {
		r := ruled(registry(t), reader)
		client := connect(t, serve(t, open(t, r, told(reader))).URL, version)
		for name, code := range map[string]string{"site_publish": "scope", "proposal.approve": "never", "agent_create": "person-only"} {
			res, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: map[string]any{}})
			if err != nil || !res.IsError || !strings.Contains(res.Content[0].(*sdk.TextContent).Text, code) {
				t.Errorf("%s: %s: %v %+v", version, name, err, res)
			}
		}
		_, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: "no_such_tool", Arguments: map[string]any{}})
		if wire, ok := errors.AsType[*jsonrpc.Error](err); !ok || string(wire.Data) != `{"code":"unknown-action"}` {
			t.Errorf("%s: no_such_tool: %v", version, err)
		}
		if len(r.asked()) != 4 {
			t.Errorf("%s: %d of the 4 calls were recorded", version, len(r.asked()))
		}
	}
}

func TestAToolIsCalledByItsOwnNameOnly(t *testing.T) {
	r := always(commands.Outcome{Outcome: commands.Done})
	client := connect(t, serve(t, open(t, r, told(editor))).URL, modern)
	// A client that lets a tool pass by its name must not let another spelling do the same.
	if _, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: "site.publish"}); err == nil {
		t.Error("site.publish was called")
	}
	if n := len(r.asked()); n != 0 {
		t.Errorf("%d calls came down the road", n)
	}
}

func TestASkillThatIsNoNameIsRefused(t *testing.T) {
	r := always(commands.Outcome{Outcome: commands.Done})
	client := connect(t, serve(t, open(t, r, told(editor))).URL, modern)
	for _, skill := range []any{7, []any{"a"}, strings.Repeat("s", 201)} {
		res, err := client.CallTool(t.Context(), &sdk.CallToolParams{Meta: sdk.Meta{skillKey: skill}, Name: "whoami"})
		if err != nil || !res.IsError {
			t.Errorf("skill %v: %v, %v", skill, res, err)
		}
	}
	if n := len(r.asked()); n != 0 {
		t.Errorf("%d calls came down the road", n)
	}
}

func TestEveryToolHasATitleAndAllHints(t *testing.T) {
	for _, x := range toolsOf(registry(t)) {
		a, hints := x.action, x.def.Annotations
		if a.Class == action.People {
			t.Errorf("%s is only for people", a.Name)
		}
		if x.def.Title == "" || hints.Title == "" || x.def.Description == "" || hints.DestructiveHint == nil || hints.OpenWorldHint == nil {
			t.Errorf("%s leaves something out", a.Name)
		}
		if hints.ReadOnlyHint != (a.Class == action.Read) || *hints.DestructiveHint != (a.Class == action.Destructive) || *hints.OpenWorldHint {
			t.Errorf("%s: hints are not those of its class", a.Name)
		}
	}
}

func TestToolsAreAsTheirSnapshots(t *testing.T) {
	seen := map[string]bool{}
	for _, x := range toolsOf(registry(t)) {
		text, err := json.MarshalIndent(x.def, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		name := x.def.Name + ".json"
		seen[name] = true
		golden(t, "tools/"+name, append(text, '\n'))
	}
	files, err := os.ReadDir("testdata/tools")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !seen[f.Name()] {
			t.Errorf("%s is of a tool that is gone", f.Name())
		}
	}
}

func TestTheReferenceIsCurrent(t *testing.T) {
	got := Reference(registry(t))
	if *update {
		if err := os.WriteFile("TOOLS.md", got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("TOOLS.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, got) {
		t.Errorf("TOOLS.md is not what the declarations say; run the test with -update:\n%s", cmp.Diff(string(want), string(got)))
	}
}

func TestAnArticleIsReadByItsAddressThroughTheRoad(t *testing.T) {
	type article struct {
		ID    string `json:"id"`
		Title string `json:"title"`
	}
	r := &road{answer: func(c commands.Call) (commands.Outcome, error) {
		if string(c.Args) == `{"article":"art_1"}` {
			return commands.Outcome{Outcome: commands.Done, Answer: &commands.Answer{Article: article{"art_1", "Spring"}}}, nil
		}
		return refusedBecause("not-found", "There is no such article."), nil
	}}
	for _, version := range ages() {
		client := connect(t, serve(t, open(t, r, told(editor))).URL, version)
		res, err := client.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "article://art_1"})
		if err != nil {
			t.Fatal(err)
		}
		if got := res.Contents[0].Text; got != `{"id":"art_1","title":"Spring"}` {
			t.Errorf("%s: %s", version, got)
		}
		if _, err := client.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "article://art_2"}); err == nil {
			t.Errorf("%s: a missing article was read", version)
		}
		list, err := client.ListResourceTemplates(t.Context(), nil)
		if err != nil || len(list.ResourceTemplates) != 9 {
			t.Errorf("%s: templates %v, %v", version, list, err)
		}
	}
	blind := editor
	blind.Scopes = []string{"site:read"}
	client := connect(t, serve(t, open(t, r, told(blind))).URL, modern)
	list, err := client.ListResourceTemplates(t.Context(), nil)
	if err != nil || len(list.ResourceTemplates) != 1 || list.ResourceTemplates[0].Name != "site" {
		t.Errorf("templates of a key that reads sites only: %v, %v", list, err)
	}
}
