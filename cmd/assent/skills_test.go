package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"assent/commands"
	"assent/httpapi"
)

// houseVoice is a skill that reaches drafts only, and asks for a person before
// anything is removed.
const houseVoice = `---
name: house-voice
description: How we write here.
metadata:
  assent.scopes: content:read content:write
  assent.approval: article_remove
---
Say it plainly.
`

func writeSkill(t *testing.T, data, name, text string) {
	t.Helper()
	dir := filepath.Join(skillsIn(data), name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// under calls a tool and says by which skill.
func under(t *testing.T, session *sdk.ClientSession, skill any, tool string, args map[string]any) commands.Outcome {
	t.Helper()
	res, err := session.CallTool(t.Context(), &sdk.CallToolParams{Meta: sdk.Meta{"assent/skill": skill}, Name: tool, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(res.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	return outcome(t, text)
}

func TestASkillNarrowsTheCallThatDeclaresIt(t *testing.T) {
	p := newOverMCP(t).(*overMCP)
	p.owner(t, "ana", "home")
	p.agent(t, "bot", "ana", "auto", []string{"site:read", "content:read", "content:write", "publish"})
	p.agent(t, "reader", "ana", "auto", []string{"content:read"})
	bot := p.sessions["bot"]
	article := map[string]any{"site": "main", "slug": "menu", "title": "Menu", "body": "x"}

	if out := under(t, bot, "house-voice", "article_create", article); out.Refusal == nil || out.Refusal.Code != "skill" {
		t.Fatalf("a skill that is not there: %+v", out)
	}
	writeSkill(t, p.dir, "house-voice", houseVoice)
	made := under(t, bot, "house-voice", "article_create", article)
	if made.Outcome != commands.Done {
		t.Fatalf("%+v", made)
	}
	if out := under(t, bot, "house-voice", "site_publish", map[string]any{"site": "main"}); out.Refusal == nil || out.Refusal.Code != "skill" {
		t.Errorf("it publishes: %+v", out)
	}
	if out := under(t, p.sessions["reader"], "house-voice", "article_update", map[string]any{"article": made.Target.ID, "title": "Wider"}); out.Refusal == nil || out.Refusal.Code != "scope" {
		t.Errorf("a skill gave what its caller has not: %+v", out)
	}
	for _, name := range []any{"House-Voice", "../house-voice", "house-voice/", "", 7, []any{"house-voice"}} {
		if out := under(t, bot, name, "article_update", map[string]any{"article": made.Target.ID, "title": "X"}); out.Refusal == nil {
			t.Errorf("%v is a skill: %+v", name, out)
		}
	}
	var row httpapi.AuditRow
	p.must(t, "ana", "GET", "/audit/"+string(made.Action), nil, &row)
	if row.Skill != "house-voice" {
		t.Errorf("the record says %+v", row)
	}
	var why commands.Why
	p.must(t, "ana", "GET", "/audit/"+string(made.Action)+"/why", nil, &why)
	if !why.Matches {
		t.Errorf("it was asked under other rules: %+v", why)
	}
}

func TestWhatAnOwnerLookedAtIsKeptToUntilTheyLookAgain(t *testing.T) {
	p := newOverMCP(t).(*overMCP)
	p.owner(t, "ana", "home")
	p.agent(t, "bot", "ana", "auto", []string{"site:read", "content:read", "content:write"})
	bot := p.sessions["bot"]
	writeSkill(t, p.dir, "house-voice", houseVoice)
	made := under(t, bot, "house-voice", "article_create", map[string]any{"site": "main", "slug": "menu", "title": "Menu", "body": "x"})
	edit := func(title string) commands.Outcome {
		return under(t, bot, "house-voice", "article_update", map[string]any{"article": made.Target.ID, "title": title})
	}
	listed := func() httpapi.Skill {
		var list struct{ Items []httpapi.Skill }
		p.must(t, "ana", "GET", "/skills", nil, &list)
		if len(list.Items) != 1 {
			t.Fatalf("%+v", list)
		}
		return list.Items[0]
	}
	accept := func() {
		p.act(t, "ana", "skill.accept", map[string]any{"skill": "house-voice", "digest": listed().Digest})
	}

	accept()
	if s := listed(); s.Accepted == nil || s.Changed {
		t.Errorf("%+v", s)
	}
	if out := edit("As it was"); out.Outcome != commands.Done {
		t.Errorf("%+v", out)
	}
	writeSkill(t, p.dir, "house-voice", strings.Replace(houseVoice, "plainly", "loudly", 1))
	if s := listed(); !s.Changed {
		t.Errorf("%+v", s)
	}
	held := edit("Louder")
	if held.Outcome != commands.Waiting || held.Verdict.Cause != "skill" {
		t.Fatalf("%+v", held)
	}
	if out := p.act(t, "bot", "skill.accept", map[string]any{"skill": "house-voice", "digest": listed().Digest}); out.Outcome == commands.Done {
		t.Errorf("an agent looks at it itself: %+v", out)
	}
	accept()
	if out := edit("Louder still"); out.Outcome != commands.Done {
		t.Errorf("%+v", out)
	}
}

// skillsOf is the extension's method, which the library's client has no name
// for.
type (
	askSkills struct {
		sdk.ParamsBase
		URI string `json:"uri,omitempty"`
	}
	toldSkills struct {
		sdk.ResultBase
		ResultType string `json:"resultType"`
		Skills     []told `json:"skills"`
		Skill      told   `json:"skill"`
	}
	told struct {
		URI         string                         `json:"uri"`
		Frontmatter map[string]any                 `json:"frontmatter"`
		Resources   []struct{ URI, Digest string } `json:"resources"`
	}
)

func TestSkillsAreServedAsResourcesAndByTheirExtension(t *testing.T) {
	p := newOverMCP(t).(*overMCP)
	p.owner(t, "ana", "home")
	p.people.agent(t, "bot", "ana", "edits", []string{"content:read"})
	writeSkill(t, p.dir, "house-voice", houseVoice)
	writeSkill(t, p.dir, "broken", "# no front matter")

	client := sdk.NewClient(&sdk.Implementation{Name: "bot", Version: "1"}, nil)
	for _, method := range []string{"skills/list", "skills/get"} {
		if err := sdk.AddSendingCustomMethod[*askSkills, *toldSkills](client, method); err != nil {
			t.Fatal(err)
		}
	}
	session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: p.url + "/mcp", HTTPClient: &http.Client{Transport: bearer{p.keys["bot"]}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if _, declared := session.InitializeResult().Capabilities.Extensions["io.modelcontextprotocol/skills"]; !declared {
		t.Error("the extension is not declared")
	}
	all, err := sdk.CallCustomMethod[*askSkills, *toldSkills](t.Context(), session, "skills/list", &askSkills{})
	if err != nil || len(all.Skills) != 1 || all.ResultType != "complete" || all.Skills[0].URI != "skill://house-voice/SKILL.md" || len(all.Skills[0].Resources) != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	one, err := sdk.CallCustomMethod[*askSkills, *toldSkills](t.Context(), session, "skills/get", &askSkills{URI: all.Skills[0].URI})
	if err != nil || one.Skill.Frontmatter["description"] != "How we write here." {
		t.Errorf("%+v, %v", one, err)
	}
	list, err := session.ListResources(t.Context(), nil)
	if err != nil || len(list.Resources) != 1 || list.Resources[0].URI != all.Skills[0].URI {
		t.Errorf("%+v, %v", list, err)
	}
	read, err := session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: all.Skills[0].URI})
	if err != nil || len(read.Contents) != 1 || read.Contents[0].Text != houseVoice {
		t.Errorf("%+v, %v", read, err)
	}
	for _, uri := range []string{
		"skill://broken/SKILL.md", "skill://house-voice/../broken/SKILL.md", "skill://house-voice/..%2f..%2fsecret", "skill://../secret", "skill:///etc/passwd",
		"skill://house-voice/", "skill://house-voice", "skill://house-voice/SKILL.md?x", "skill://house-voice/%53KILL.md", "skill://HOUSE-VOICE/SKILL.md",
	} {
		if got, err := session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri}); err == nil {
			t.Errorf("%s is read: %+v", uri, got.Contents)
		}
		if got, err := sdk.CallCustomMethod[*askSkills, *toldSkills](t.Context(), session, "skills/get", &askSkills{URI: uri}); err == nil {
			t.Errorf("%s is a skill: %+v", uri, got)
		}
	}
}

func TestSkillsOnTheCommandLine(t *testing.T) {
	dir := t.TempDir()
	writeSkill(t, dir, "house-voice", houseVoice)
	code, out, said := ends(t, "skills", "list", "--data", dir)
	if code != exitDone || !strings.Contains(out, "house-voice") || !strings.Contains(out, "content:read content:write") || !strings.Contains(out, "article.remove") {
		t.Errorf("%d %s %s", code, out, said)
	}
	writeSkill(t, dir, "broken", "# no front matter")
	code, out, said = ends(t, "skills", "check", skillsIn(dir), "--json")
	var lines []skillLine
	if err := json.Unmarshal([]byte(out), &lines); err != nil || code != exitFound || len(lines) != 2 || lines[1].Wrong == "" {
		t.Errorf("%d %s %s", code, out, said)
	}
}
