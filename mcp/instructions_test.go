package mcp

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"assent/commands"
	"assent/domain"
	"assent/domain/policy"
)

func anAgent() Caller {
	return Caller{Workspace: "home", Principal: domain.Principal{Kind: domain.KindAgent, ID: "agent_a"}, Via: domain.Via{Key: "key_a"}}
}

func local() Caller {
	return Caller{Workspace: "home", Principal: domain.Principal{Kind: domain.KindAgent, ID: "local:mia"}, Via: domain.Via{Local: "mia"}}
}

func TestInstructionsTellTheModeAndNameOnlyUsableTools(t *testing.T) {
	all := func(mode policy.Mode) Brief {
		return Brief{Limits: commands.Limits{Mode: string(mode), Scopes: policy.Scopes}, Agent: "writer", Person: "Mia", Role: policy.Owner}
	}
	waiting, paused, narrow, auditor := all(policy.Edits), all(policy.Edits), all(policy.Auto), all(policy.Edits)
	waiting.Waiting, waiting.Site = 3, "main"
	paused.Paused = true
	narrow.Scopes = []string{"content:read"}
	auditor.Role = policy.Auditor
	own, ending, rotated := all(policy.Edits), all(policy.Edits), all(policy.Edits)
	own.Scopes, own.Collection = []string{"content:read", "content:write:own", "publish:own"}, "news"
	end := time.Date(2026, 12, 8, 12, 0, 0, 0, time.UTC)
	ending.Key, rotated.Key = &commands.KeyEnds{ID: "key_a", Ends: end, Soon: true}, &commands.KeyEnds{ID: "key_a", Ends: end, Next: "key_b"}

	for name, c := range map[string]struct {
		who Caller
		b   Brief
	}{
		"plan":                  {anAgent(), all(policy.Plan)},
		"manual":                {anAgent(), all(policy.Manual)},
		"edits":                 {anAgent(), all(policy.Edits)},
		"auto":                  {anAgent(), all(policy.Auto)},
		"bypass-local":          {local(), Brief{Limits: commands.Limits{Mode: string(policy.Bypass), Scopes: policy.Scopes}}},
		"bypass-by-key":         {anAgent(), all(policy.Bypass)},
		"edits-waiting":         {anAgent(), waiting},
		"edits-paused":          {anAgent(), paused},
		"auto-reads-only":       {anAgent(), narrow},
		"edits-auditor":         {anAgent(), auditor},
		"own-of-one-collection": {anAgent(), own},
		"edits-key-ends":        {anAgent(), ending},
		"edits-key-rotated":     {anAgent(), rotated},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t, always(commands.Outcome{}), told(c.b))
			text := d.instructions(context.WithValue(t.Context(), whoKey{}, c.who))
			golden(t, "instructions/"+name+".txt", []byte(text))
			if len(text) >= 4000 {
				t.Errorf("%d bytes, want less than 4000", len(text))
			}
			for _, x := range d.tools {
				s, _ := c.b.stands(c.who, x.action)
				if usable := c.b.reaches(x.action) && s != refused; !usable && strings.Contains(text, "`"+x.def.Name+"`") {
					t.Errorf("%s is named and cannot be used", x.def.Name)
				}
			}
			plain(t, text)
		})
	}
}

// plain holds text that people read to words that people use.
func plain(t *testing.T, text string) {
	t.Helper()
	outside := regexp.MustCompile("`[^`]*`").ReplaceAllString(text, "")
	if word := regexp.MustCompile(`(?i)\b(flag|scope|token|grant|oauth|mcp|json|api|payload|endpoint)s?\b`).FindString(outside); word != "" {
		t.Errorf("the text says %q", word)
	}
}

func TestInstructionsWithoutLimitsSayHowToFindThem(t *testing.T) {
	d := open(t, always(commands.Outcome{}), briefing(func(Caller) (Brief, error) { return Brief{}, errors.New("read.db is gone") }))
	text := d.instructions(context.WithValue(t.Context(), whoKey{}, anAgent()))
	if !strings.Contains(text, "`whoami`") || strings.Contains(text, "read.db") {
		t.Errorf("%q", text)
	}
}

func TestEveryAgeIsToldTheInstructionsOfItsOwnCaller(t *testing.T) {
	b := briefing(func(who Caller) (Brief, error) {
		brief := editor
		brief.Agent = "of " + who.Workspace
		return brief, nil
	})
	url := serve(t, open(t, always(commands.Outcome{}), b)).URL
	for _, version := range ages() {
		session := connect(t, url, version)
		text := ""
		if r := session.InitializeResult(); r != nil {
			text = r.Instructions
		}
		if !strings.Contains(text, `"of home"`) {
			t.Errorf("%s: instructions %q", version, text)
		}
	}
}
