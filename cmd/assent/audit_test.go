package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"assent/commands"
	"assent/domain"
	"assent/domain/action"
	"assent/domain/batch"
	"assent/domain/delivery"
	"assent/domain/proposal"
	"assent/httpapi"
)

// TestEverythingAskedIsInTheAudit asks for every action there is, and finds
// each write in the audit by its own id, each refusal as one, and each read in
// a summary. An action that is not in the table fails the test.
func TestEverythingAskedIsInTheAudit(t *testing.T) {
	s := serving(t)
	p := &inProcess{newPeople(s.url, greeted(t, s)), s, map[string]commands.Call{}, map[string]domain.Person{}}
	p.owner(t, "ana", "home")
	bot := p.agent(t, "bot", "ana", "edits", nil)
	do := func(who, name string, args map[string]any) commands.Outcome {
		t.Helper()
		out := p.act(t, who, name, args)
		if out.Outcome == commands.Refused {
			t.Fatalf("%s was refused: %+v", name, out.Refusal)
		}
		return out
	}
	art := do("bot", "article.create", map[string]any{"site": "main", "slug": "one", "title": "One", "body": ""})
	gone := do("bot", "article.create", map[string]any{"site": "main", "slug": "two", "title": "Two", "body": ""})
	pg := do("bot", "page.create", map[string]any{"site": "main", "path": "/one", "title": "One", "body": ""})
	old := do("bot", "page.create", map[string]any{"site": "main", "path": "/old", "title": "Old", "body": ""})
	do("ana", "site.publish", map[string]any{"site": "main"})
	do("bot", "article.update", map[string]any{"article": art.Target.ID, "title": "Changed"})
	var held commands.Held
	if err := respell(do("bot", "site.publish", map[string]any{"site": "main"}).Proposal, &held); err != nil {
		t.Fatal(err)
	}
	spare := do("ana", "agent.create", map[string]any{"person": p.ids["ana"], "mode": "manual"}).Target.ID
	do("ana", "key.mint", map[string]any{"agent": spare, "key": "key_06g0example00000000000000001"})
	lent := do("ana", "elevation.give", map[string]any{"agent": spare, "mode": "edits", "minutes": 5}).Action
	advance := func(action string) map[string]any {
		return map[string]any{"agent": spare, "key": "key_06g0example00000000000000001", "action": action, "site": "main", "days": 30}
	}
	made := do("ana", "standing.make", advance("article.update")).Action
	newcomer := do("ana", "person.seat", map[string]any{"role": "editor"}).Target.ID

	hook := do("ana", "webhook.create", map[string]any{"url": "https://localhost/first"}).Target.ID
	closed := do("ana", "webhook.create", map[string]any{"url": "https://localhost/second"}).Target.ID

	asks := map[string]struct {
		who  string
		args map[string]any
	}{
		"site.list":         {"bot", nil},
		"site.get":          {"bot", map[string]any{"site": "main"}},
		"site.create":       {"ana", map[string]any{"site": "second", "title": "Second"}},
		"site.update":       {"ana", map[string]any{"site": "main", "tagline": "New"}},
		"site.publish":      {"ana", map[string]any{"site": "main"}},
		"site.rollback":     {"ana", map[string]any{"site": "main", "to": "p1"}},
		"version.list":      {"bot", map[string]any{"site": "main"}},
		"version.diff":      {"bot", map[string]any{"site": "main"}},
		"preview.create":    {"bot", map[string]any{"site": "main"}},
		"page.list":         {"bot", map[string]any{"site": "main"}},
		"page.get":          {"bot", map[string]any{"page": pg.Target.ID}},
		"page.create":       {"bot", map[string]any{"site": "main", "path": "/two", "title": "Two", "body": ""}},
		"page.update":       {"bot", map[string]any{"page": pg.Target.ID, "title": "Changed"}},
		"page.remove":       {"ana", map[string]any{"page": old.Target.ID}},
		"article.list":      {"bot", map[string]any{"site": "main"}},
		"article.get":       {"bot", map[string]any{"article": art.Target.ID}},
		"article.create":    {"bot", map[string]any{"site": "main", "slug": "three", "title": "Three", "body": ""}},
		"article.update":    {"bot", map[string]any{"article": art.Target.ID, "title": "Changed again"}},
		"article.remove":    {"ana", map[string]any{"article": gone.Target.ID}},
		"proposal.list":     {"bot", nil},
		"proposal.get":      {"bot", map[string]any{"proposal": held.ID}},
		"proposal.withdraw": {"bot", map[string]any{"proposal": held.ID}},
		"whoami":            {"bot", nil},
		"agent.create":      {"ana", map[string]any{"person": p.ids["ana"]}},
		"agent.update":      {"ana", map[string]any{"agent": bot, "confirm": true}},
		"agent.pause":       {"ana", map[string]any{"agent": spare}},
		"agent.narrow":      {"ana", map[string]any{"agent": spare, "mode": "manual"}},
		"key.mint":          {"ana", map[string]any{"agent": bot, "key": "key_06g0example00000000000000000"}},
		"key.revoke":        {"ana", map[string]any{"agent": bot, "key": "key_06g0example00000000000000000"}},
		"elevation.ask":     {"bot", map[string]any{"mode": "auto", "minutes": 30}},
		"elevation.give":    {"ana", map[string]any{"agent": spare, "mode": "auto", "minutes": 5}},
		"elevation.end":     {"ana", map[string]any{"agent": spare, "id": lent}},
		"standing.make":     {"ana", advance("page.update")},
		"standing.end":      {"ana", map[string]any{"agent": spare, "id": made}},
		"plan.file":         {"bot", map[string]any{"title": "Later", "calls": []any{map[string]any{"tool": "article_update", "arguments": map[string]any{"article": art.Target.ID, "title": "Later"}}}}},
		"skill.accept":      {"ana", map[string]any{"skill": "house-voice", "digest": "sha256:" + strings.Repeat("0", 64)}},
		"readmodel.skip":    {"ana", map[string]any{"event": "evt_06g0example000000000000000"}},
		"rules.update":      {"ana", map[string]any{"site": "main", "pace": 50}},
		"person.seat":       {"ana", map[string]any{"role": "auditor"}},
		"person.unseat":     {"ana", map[string]any{"person": newcomer}},
		"person.erase":      {"ana", map[string]any{"person": newcomer}},
		"webhook.list":      {"bot", nil},
		"webhook.create":    {"ana", map[string]any{"url": "https://localhost/third"}},
		"webhook.update":    {"ana", map[string]any{"webhook": hook, "paused": true}},
		"webhook.rotate":    {"ana", map[string]any{"webhook": hook}},
		"webhook.reveal":    {"ana", map[string]any{"webhook": hook}},
		"webhook.test":      {"ana", map[string]any{"webhook": hook}},
		"webhook.remove":    {"ana", map[string]any{"webhook": closed}},
		"workspace.update":  {"ana", map[string]any{"autoPublishLimit": 7}},
		"workspace.found":   {"ana", map[string]any{"founder": p.ids["ana"]}},
	}
	asked := map[string]domain.ID{}
	for _, name := range slices.Sorted(maps.Keys(asks)) {
		if name == "key.mint" || name == "key.revoke" || name == "proposal.withdraw" {
			continue
		}
		asked[name] = do(asks[name].who, name, orNone(asks[name].args)).Action
	}
	for _, name := range []string{"key.mint", "key.revoke", "proposal.withdraw"} { // each after what it needs
		asked[name] = do(asks[name].who, name, orNone(asks[name].args)).Action
	}
	server := commands.Call{Workspace: "home", Principal: domain.Principal{Kind: domain.KindSystem, ID: "reactions"}}
	note := func(a *action.Action, args any) {
		t.Helper()
		out, err := s.must(t.Context(), server, a, args)
		if err != nil {
			t.Fatal(err)
		}
		asked[a.Name] = out.Action
	}
	late := delivery.Which{Delivery: delivery.ID(hook, "evt_06g0example00000000000000001")}
	note(delivery.Fail, delivery.FailArgs{Webhook: hook, Event: "evt_06g0example00000000000000001", Name: "site.published", Stream: "live-home/main", Version: 1, Code: "404"})
	asked[delivery.Retry.Name] = do("ana", delivery.Retry.Name, map[string]any{"delivery": late.Delivery}).Action
	note(delivery.Arrive, delivery.ArriveArgs{Which: late})
	if err := s.road.Close(t.Context()); err != nil {
		t.Fatal(err)
	}

	rows := p.audit(t, "ana")
	for _, a := range s.registry.All() {
		if a == batch.Run || a == proposal.Refile { // what they ask for has a line of its own, and they have none
			continue
		}
		if _, tried := asked[a.Name]; !tried {
			t.Errorf("%s was not asked for: add it to the table", a.Name)
			continue
		}
		if a.Writes() {
			checkWrite(t, rows, a, asked[a.Name])
			continue
		}
		summed := slices.ContainsFunc(rows, func(r httpapi.AuditRow) bool { return r.Action == a.Name && r.Outcome == "read" })
		if !summed {
			t.Errorf("%s is in no summary of reads", a.Name)
		}
	}
}

func checkWrite(t *testing.T, rows []httpapi.AuditRow, a *action.Action, id domain.ID) {
	t.Helper()
	n := 0
	for _, r := range rows {
		if r.ID == id {
			n++
			if r.Action != a.Name || r.Outcome == "" || r.Principal.ID == "" {
				t.Errorf("%s is in the audit as %+v", a.Name, r)
			}
		}
	}
	if n != 1 {
		t.Errorf("%s is in the audit %d times", a.Name, n)
	}
}

func orNone(args map[string]any) map[string]any {
	if args == nil {
		return map[string]any{}
	}
	return args
}

// TestRefusalsBecomeOneLine: a flood of refusals is twenty lines and a count.
func TestRefusalsBecomeOneLine(t *testing.T) {
	s := serving(t)
	p := &inProcess{newPeople(s.url, greeted(t, s)), s, map[string]commands.Call{}, map[string]domain.Person{}}
	p.owner(t, "ana", "home")
	p.agent(t, "bot", "ana", "edits", nil)
	const many = 150
	for range many {
		p.act(t, "bot", "article.update", map[string]any{"article": "art_nothing", "title": "x"})
	}
	if err := s.road.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	lines, total := 0, 0
	for _, r := range p.audit(t, "ana") {
		if r.Action == "article.update" {
			lines++
			total += max(r.Count, 1)
		}
	}
	if total != many || lines > 45 { // the minute may turn once under way
		t.Errorf("%d refusals are %d lines that count %d", many, lines, total)
	}
	text, err := json.Marshal(total)
	if err != nil || len(text) == 0 {
		t.Fatal(err)
	}
}
