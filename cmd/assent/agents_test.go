package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assent/commands"
	"assent/domain"
	"assent/domain/catalogue"
	"assent/httpapi"
	"assent/httpapi/clients"
)

// agentListed is one agent as the command line lists it.
func agentListed(t *testing.T, dir, name string) httpapi.Agent {
	t.Helper()
	code, out, said := ends(t, "agents", "list", "--data", dir, "--jsonl")
	if code != exitDone {
		t.Fatalf("ended %d: %s", code, said)
	}
	for line := range strings.Lines(out) {
		var a httpapi.Agent
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if a.Name == name {
			return a
		}
	}
	t.Fatalf("no agent is called %s in\n%s", name, out)
	return httpapi.Agent{}
}

func TestTheCommandLineTakesAwayFromAgentsAndGivesNothing(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir)
	p := newPeople(s.url, links(s.printed))
	p.owner(t, "ana", "home")
	bot := p.agent(t, "bot", "ana", "auto", nil)
	key := p.keyOf("bot")
	other := p.agent(t, "other", "ana", "edits", nil)
	p.agent(t, "twin", "ana", "edits", nil)
	p.agent(t, "twin", "ana", "edits", nil)
	steps := func(t *testing.T, list []struct {
		line string
		code int
		says string
	}) {
		t.Helper()
		for _, step := range list {
			code, out, said := ends(t, append(strings.Fields(step.line), "--data", dir)...)
			if code != step.code || !strings.Contains(out+said, step.says) {
				t.Errorf("%s ended %d, want %d saying %q:\n%s%s", step.line, code, step.code, step.says, out, said)
			}
		}
	}
	type lines = []struct {
		line string
		code int
		says string
	}
	all := lines{
		{"agents narrow bot --mode edits", exitDone, "narrowed"},
		{"agents narrow bot --mode edits", exitDone, "so already"},
		{"agents narrow bot --mode auto", exitRefused, "person-only"},
		{"agents narrow bot --mode bypass", exitUsage, "must be one of"},
		{"agents narrow bot --scopes content:read,content:write:own", exitDone, "narrowed"},
		{"agents narrow bot --scopes content:write", exitRefused, "person-only"},
		{"agents narrow bot --scopes everything", exitRefused, "person-only"},
		{"agents narrow bot --collection posts", exitDone, "narrowed"},
		{"agents narrow bot --collection news", exitRefused, "person-only"},
		{"agents narrow bot --site main --json", exitDone, `"outcome":"done"`},
		{"agents narrow bot", exitUsage, "--mode, --scopes"},
		{"agents narrow nobody --mode plan", exitRefused, "not-found"},
		{"agents pause twin", exitRefused, "by its id"},
		{"agents pause bot", exitDone, "paused"},
		{"agents pause bot --json", exitDone, `"outcome":"idle"`},
		{"agents pause " + other, exitDone, "paused"},
		{"agents pause bot --workspace nowhere", exitRefused, "not-found"},
		{"agents resume bot", exitUsage, "resume"},
		{"keys revoke key_06g0example00000000000000000", exitRefused, "not-found"},
		{"keys revoke " + key, exitDone, "revoked"},
		{"keys revoke " + key + " --json", exitDone, `"outcome":"idle"`},
		{"keys mint bot", exitUsage, "mint"},
		{"keys list bot", exitDone, "revoked"},
	}
	steps(t, all)
	a := agentListed(t, dir, "bot")
	want := httpapi.Agent{ID: bot, Name: "bot", Behind: "ana", Mode: "edits", Scopes: []string{"content:read", "content:write:own"}, Site: "main", Collection: "posts", Paused: true}
	got := httpapi.Agent{ID: a.ID, Name: a.Name, Behind: a.Behind, Mode: a.Mode, Scopes: a.Scopes, Site: a.Site, Collection: a.Collection, Paused: a.Paused}
	if diff := cmp.Diff(want, got); diff != "" || len(a.Keys) != 1 || !a.Keys[0].Revoked {
		t.Errorf("the agent in the end (-want +got):\n%s\n%+v", diff, a.Keys)
	}
	if out := p.act(t, "ana", "agent.update", map[string]any{"agent": bot, "paused": false}); out.Outcome != commands.Done {
		t.Errorf("a person lets it go on: %+v", out)
	}
	// It is recorded as done by the person, from this machine.
	page := struct{ Items []httpapi.AuditRow }{}
	p.must(t, "ana", "GET", "/audit?action=agent.pause&limit=1", nil, &page)
	if len(page.Items) != 1 || page.Items[0].Via.Local == "" || page.Items[0].Principal.Kind != domain.KindPerson {
		t.Errorf("the pause is recorded as %+v", page.Items)
	}
	if code, _, said := ends(t, "agents", "list", "--data", filepath.Join(dir, "nowhere")); code != exitClosed || !strings.Contains(said, "there is no data") {
		t.Errorf("a folder that is not there ends %d: %s", code, said)
	}
	// Without a server it is the same.
	s.stop(t)
	steps(t, lines{
		{"agents pause bot", exitDone, "paused"},
		{"agents narrow bot --scopes none", exitDone, "narrowed"},
		{"agents list", exitDone, "paused"},
		{"keys list --jsonl", exitDone, `"state":"revoked"`},
	})
	if a := agentListed(t, dir, "bot"); !a.Paused || len(a.Scopes) != 0 {
		t.Errorf("%+v", a)
	}
}

// A local program, such as an agent with a shell, gets no more out of the socket
// than the command line does.
func TestALocalCallerGivesNothing(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir)
	p := newPeople(s.url, links(s.printed))
	p.owner(t, "ana", "home")
	bot := p.agent(t, "bot", "ana", "edits", nil)
	j, err := join(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = j.Close() }()
	registry, err := catalogue.Actions()
	if err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string]map[string]any{
		"agent.update":   {"agent": bot, "paused": false},
		"agent.create":   {"person": p.ids["ana"]},
		"key.mint":       {"agent": bot, "key": "key_06g0example00000000000000000"},
		"elevation.give": {"agent": bot, "mode": "auto", "minutes": 60},
	} {
		a, ok := registry.Find(name)
		if !ok {
			t.Fatal(name)
		}
		for _, who := range []localCaller{{}, {Program: true}, {As: "ana@example.org"}, {Program: true, Agent: "bot"}} {
			out, err := j.Do(t.Context(), who, a, args)
			if err != nil || out.Refusal == nil || out.Refusal.Code != "person-only" {
				t.Errorf("%s by %+v: %+v, %v", name, who, out, err)
			}
		}
	}
	pause, _ := registry.Find("agent.pause")
	if out, err := j.Do(t.Context(), localCaller{Program: true}, pause, map[string]any{"agent": bot}); err != nil || out.Refusal == nil {
		t.Errorf("a program pauses agents: %+v, %v", out, err)
	}
}

func TestEntriesConnectRealClients(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir)
	p := newPeople(s.url, links(s.printed))
	p.owner(t, "ana", "home")
	p.agent(t, "bot", "ana", "edits", nil)
	code, out, said := ends(t, "agents", "connect", "bot", "--data", dir, "--json")
	var entries []clients.Entry
	if err := json.Unmarshal([]byte(out), &entries); err != nil || code != exitDone || len(entries) != 2*len(clients.Names) {
		t.Fatalf("ended %d: %v\n%s%s", code, err, out, said)
	}
	if strings.Contains(out, p.keys["bot"]) {
		t.Error("a key is in an entry")
	}
	launcher := node(t).Path // skips where the inspector is not installed
	inspector, err := filepath.Abs("../../mcp/testdata/conformance/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js")
	if err != nil {
		t.Fatal(err)
	}
	// The entries call npx, which would ask a registry: here it starts what is installed.
	bin := t.TempDir()
	npx := "#!/bin/sh\nshift 2\nexec '" + launcher + "' '" + inspector + "' \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, "npx"), []byte(npx), 0o700); err != nil {
		t.Fatal(err)
	}
	run := func(t *testing.T, line string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "sh", "-c", line+" --format json -q")
		cmd.Dir = bin
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "ASSENT_KEY="+p.keys["bot"], "ASSENT_TEST_MAIN=assent")
		var failed bytes.Buffer
		cmd.Stderr = &failed
		if out, err := cmd.Output(); err != nil || !bytes.Contains(out, []byte("article_create")) {
			t.Errorf("%s\n%v\n%.500s\n%s", line, err, out, failed.String())
		}
	}
	for _, e := range entries {
		switch {
		case e.Client == "inspector" && e.Over == clients.Stdio:
			t.Run(e.Client+"-"+e.Over, func(t *testing.T) {
				run(t, strings.Replace(e.Text, " --method", " -e ASSENT_TEST_MAIN=assent --method", 1))
			})
		case e.Client == "inspector":
			t.Run(e.Client+"-"+e.Over, func(t *testing.T) { run(t, e.Text) })
		case e.Client == "generic": // a file of settings, that the inspector reads, too
			t.Run(e.Client+"-"+e.Over, func(t *testing.T) {
				file := filepath.Join(t.TempDir(), ".mcp.json")
				text := strings.ReplaceAll(e.Text, clients.Placeholder, p.keys["bot"])
				text = strings.Replace(text, `"command"`, `"env": {"ASSENT_TEST_MAIN": "assent"}, "command"`, 1)
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				run(t, "npx -y inspector --cli --config '"+file+"' --server assent --method tools/list")
			})
		}
	}
}
