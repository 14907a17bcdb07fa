package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"assent/commands"
	"assent/httpapi"
)

func TestAPersonKeepsPartsOfAPlanInTheConsole(t *testing.T) {
	p := newInProcess(t).(*inProcess)
	p.owner(t, "ana", "home")
	p.agent(t, "bot", "ana", "plan", []string{"site:read", "content:read", "content:write"})
	call := func(tool string, args map[string]any) map[string]any {
		return map[string]any{"tool": tool, "arguments": args}
	}
	out := p.act(t, "bot", "plan.file", map[string]any{"title": "Spring", "calls": []any{
		call("article_create", map[string]any{"site": "main", "slug": "peas", "title": "Peas", "body": ""}),
		call("article_update", map[string]any{"article": "$part.1", "summary": "Sweet."}),
		call("article_create", map[string]any{"site": "main", "slug": "oats", "title": "Oats", "body": ""}),
	}})
	var held commands.Held
	if err := respell(out.Proposal, &held); err != nil || held.ID == "" {
		t.Fatalf("%+v, %v", out, err)
	}
	page := p.page(t, "ana", "GET", "/proposals/"+held.ID+"/approve?after="+fmt.Sprint(int64(out.Position)), nil)
	for _, want := range []string{`name="part" value="3" checked`, "Part 2: ", "falls without part 1", "“<bdi>Oats</bdi>”"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q: %.6000s", want, page)
		}
	}
	_, digest, _ := strings.Cut(page, `name="digest" value="`)
	digest, _, _ = strings.Cut(digest, `"`)
	none := p.page(t, "ana", "POST", "/proposals/"+held.ID+"/approve", url.Values{"digest": {digest}, "parted": {"yes"}})
	if !strings.Contains(none, "Choose the parts to keep") {
		t.Errorf("no part at all: %.2000s", none)
	}
	done := p.page(t, "ana", "POST", "/proposals/"+held.ID+"/approve", url.Values{"digest": {digest}, "parted": {"yes"}, "part": {"2", "3"}})
	for _, want := range []string{"Part 1: ", "left out", "fell with another part", "✓ done"} {
		if !strings.Contains(done, want) {
			t.Errorf("afterwards the page does not say %q: %.6000s", want, done)
		}
	}
}

// page is a page of the console as somebody sees it, after what they sent.
func (p *people) page(t *testing.T, name, method, path string, form url.Values) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, p.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", p.url)
	}
	res, err := p.clients[name].Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var b strings.Builder
	if _, err := io.Copy(&b, res.Body); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestProposalsThatWaitForTheSameThingNameEachOther(t *testing.T) {
	p := newInProcess(t).(*inProcess)
	p.owner(t, "ana", "home")
	p.agent(t, "bot", "ana", "manual", []string{"site:read", "content:read", "content:write", "publish"})
	menu := p.act(t, "ana", "article.create", map[string]any{"site": "main", "slug": "menu", "title": "Menu", "body": ""})
	other := p.act(t, "ana", "article.create", map[string]any{"site": "main", "slug": "fair", "title": "Fair", "body": ""})
	ask := func(action string, args map[string]any) string {
		out := p.act(t, "bot", action, args)
		var held commands.Held
		if err := respell(out.Proposal, &held); err != nil || held.ID == "" {
			t.Fatalf("%+v, %v", out, err)
		}
		p.must(t, "ana", "GET", "/proposals/"+held.ID+"?after="+fmt.Sprint(int64(out.Position)), nil, nil)
		return held.ID
	}
	edit := ask("article.update", map[string]any{"article": menu.Target.ID, "title": "Spring"})
	again := ask("article.update", map[string]any{"article": menu.Target.ID, "summary": "Peas"})
	apart := ask("article.update", map[string]any{"article": other.Target.ID, "title": "Faire"})
	live := ask("site.publish", map[string]any{"site": "main", "items": []any{map[string]any{"id": menu.Target.ID}}})
	for id, want := range map[string][]string{edit: {again, live}, again: {edit, live}, live: {edit, again}, apart: nil} {
		var row httpapi.Proposal
		p.must(t, "ana", "GET", "/proposals/"+id, nil, &row)
		var got []string
		for _, c := range row.Clashes {
			got = append(got, c.ID)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s clashes with %v, want %v", row.Headline, got, want)
		}
	}
	if page := p.page(t, "ana", "GET", "/proposals/"+edit, nil); !strings.Contains(page, "Other proposals wait for the same things") || !strings.Contains(page, "/proposals/"+live) {
		t.Errorf("%.4000s", page)
	}
}
