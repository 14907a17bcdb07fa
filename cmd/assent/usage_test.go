package main

import (
	"fmt"
	"net/url"
	"testing"

	"assent/commands"
	"assent/httpapi"
)

// TestAHabitOfSayingYesIsSeenAndOffered: three edits wait and are approved; the
// yes in advance that is offered would have covered those and nothing else, and
// once it is given the next one does not wait.
func TestAHabitOfSayingYesIsSeenAndOffered(t *testing.T) {
	s := serving(t)
	p := inProcessOf(t, s)
	p.owner(t, "ana", "home")
	bot := p.agent(t, "bot", "ana", "manual", nil)
	made := p.act(t, "ana", "article.create", map[string]any{"site": "main", "slug": "menu", "title": "Menu", "body": ""})
	edit := func(title string) commands.Outcome {
		return p.act(t, "bot", "article.update", map[string]any{"article": made.Target.ID, "title": title})
	}
	approve := func(out commands.Outcome) {
		t.Helper()
		var held commands.Held
		if err := respell(out.Proposal, &held); err != nil {
			t.Fatal(err)
		}
		if out := p.approve(t, "ana", held.ID, ""); out.Outcome != commands.Done {
			t.Fatalf("%+v", out)
		}
	}
	for i := range 3 {
		approve(edit(fmt.Sprint("Menu ", i)))
	}
	approve(p.act(t, "bot", "article.create", map[string]any{"site": "main", "slug": "fair", "title": "Fair", "body": ""}))

	var u httpapi.Usage
	p.must(t, "ana", "GET", "/usage", nil, &u)
	if len(u.People) != 1 || u.People[0].Of != p.ids["ana"] || u.People[0].Approved != 4 || len(u.Always) != 1 || u.Always[0].Times != 3 {
		t.Fatalf("how people decide: %+v", u)
	}
	a := u.Always[0].Advance
	if a != (commands.Advance{Agent: bot, Key: p.keyOf("bot"), Action: "article.update", Site: "main"}) {
		t.Fatalf("always answered with yes: %+v", a)
	}
	var c httpapi.Covered
	p.must(t, "ana", "GET", "/agents/"+bot+"/covered?"+url.Values{"key": {a.Key}, "action": {a.Action}, "site": {a.Site}}.Encode(), nil, &c)
	if c.Covers != 3 || len(c.First) != 3 || c.First[0].Target.ID != made.Target.ID {
		t.Errorf("it would have covered %+v", c)
	}
	p.must(t, "ana", "GET", "/agents/"+bot+"/covered?"+url.Values{"key": {a.Key}, "action": {"site.publish"}, "site": {a.Site}}.Encode(), nil, &c)
	if c.Covers != 0 {
		t.Errorf("a yes that cannot be given would have covered %+v", c)
	}

	status, _ := request(t, p.clients["ana"], "GET", p.url+"/usage", nil, nil)
	if status != 200 {
		t.Errorf("the page answers %d", status)
	}
	if out := p.act(t, "ana", "standing.make", map[string]any{"agent": a.Agent, "key": a.Key, "action": a.Action, "site": a.Site, "days": 30}); out.Outcome != commands.Done {
		t.Fatalf("%+v", out)
	}
	if out := edit("Menu again"); out.Outcome != commands.Done || out.Verdict.Lifted != "standing" {
		t.Errorf("the next one: %+v", out)
	}
}
