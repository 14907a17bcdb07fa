package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assent/commands"
	"assent/httpapi"
)

// exportedRows are the lines of an export in JSON lines.
func exportedRows(t *testing.T, text string) (rows []httpapi.AuditRow) {
	t.Helper()
	for line := range strings.Lines(text) {
		var row httpapi.AuditRow
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		rows = append(rows, row)
	}
	return rows
}

// TestTheAuditIsTakenAwayWhole over HTTP, through the server's socket and from
// a folder that nobody serves: the same lines, each time with one more at the
// end, which says that it was taken, by whom and in which form.
func TestTheAuditIsTakenAwayWhole(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir)
	p := newPeople(s.url, links(s.printed))
	p.owner(t, "ana", "home")
	bot := p.agent(t, "bot", "ana", "edits", nil)
	agent := &overHTTP{people: p, dir: dir}
	for i := range 230 { // more than one portion
		agent.act(t, "bot", "article.create", map[string]any{"site": "main", "slug": fmt.Sprint("n", i), "title": "=1+1", "body": "", "reason": "@weekly"})
	}
	agent.act(t, "bot", "site.publish", map[string]any{"site": "main"})
	listed := p.audit(t, "ana")

	_, text := p.ask(t, "ana", "GET", "/audit/export?format=jsonl", nil)
	first := exportedRows(t, string(text))
	for i := range first {
		first[i].Title = "" // lists leave it to whoever shows them
	}
	for i := range listed {
		listed[i].Title = ""
	}
	if d := cmp.Diff(listed, first[:len(first)-1]); d != "" {
		t.Errorf("what is taken away is not what is listed: %s", d)
	}
	if last := first[len(first)-1]; last.Action != commands.Exporting || last.Outcome != "read" || last.Principal.ID != p.ids["ana"] || last.Via.Session == "" || last.Target.Kind != "audit" || last.Target.ID != "jsonl" {
		t.Errorf("that it was taken: %+v", last)
	}

	code, out, said := ends(t, "audit", "export", "--data", dir, "--format", "jsonl")
	if rows := exportedRows(t, out); code != exitDone || len(rows) != len(first)+1 || rows[0].Reason != first[0].Reason || rows[len(rows)-1].Via.Local == "" {
		t.Errorf("through the socket: ended %d with %d lines: %s", code, len(rows), said)
	}
	narrow := []string{"--agent", bot, "--key", p.keyOf("bot"), "--outcome", "waiting"}
	if _, out, _ := ends(t, append([]string{"audit", "export", "--data", dir, "--format", "jsonl"}, narrow...)...); len(exportedRows(t, out)) != 1 {
		t.Errorf("what waits: %s", out)
	}
	if rows := rowsIn(t, dir, narrow...); len(rows) != 1 || rows[0].Outcome != "waiting" || rows[0].Client.Name == "" {
		t.Errorf("what waits, listed: %+v", rows)
	}

	s.stop(t)
	file := filepath.Join(t.TempDir(), "audit.csv")
	if code, out, said := ends(t, "audit", "export", "--data", dir, "--format", "csv", "--out", file); code != exitDone || out != "" {
		t.Errorf("ended %d: %s %s", code, out, said)
	}
	sheet, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(strings.NewReader(string(sheet))).ReadAll()
	if err != nil || len(lines) < len(first)+4 || lines[len(lines)-1][3] != commands.Exporting || !strings.Contains(string(sheet), ",'=1+1,") || !strings.Contains(string(sheet), ",'@weekly,") {
		t.Errorf("%d lines, %v: %.400s", len(lines), err, sheet)
	}
	if code, _, _ := ends(t, "audit", "export", "--data", dir, "--format", "csv", "--out", file); code == exitDone {
		t.Error("it was written over another file")
	}
	for name, args := range map[string][]string{"no form": nil, "another form": {"--format", "xlsx"}, "not an outcome": {"--format", "csv", "--outcome", "maybe"}} {
		if code, _, said := ends(t, append([]string{"audit", "export", "--data", dir}, args...)...); code != exitUsage {
			t.Errorf("%s ended %d: %s", name, code, said)
		}
	}
	if code, _, said := ends(t, "audit", "export", "--data", dir, "--format", "csv", "--workspace", "nowhere"); code != exitRefused {
		t.Errorf("of no workspace ended %d: %s", code, said)
	}
}

// TestWhoeverWasErasedIsTakenAwayAsErased in every form, by name and by word.
func TestWhoeverWasErasedIsTakenAwayAsErased(t *testing.T) {
	s := serving(t)
	p := inProcessOf(t, s)
	p.owner(t, "ana", "home")
	var invited struct{ ID, Link string }
	p.must(t, "ana", "POST", "/people", map[string]any{"name": "Quagga Bo", "email": "bo@example.org", "role": "owner"}, &invited)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	p.clients["bo"] = &http.Client{Jar: jar}
	link, err := url.Parse(invited.Link)
	if err != nil {
		t.Fatal(err)
	}
	p.must(t, "bo", "POST", "/invitation/accept", map[string]any{"token": link.Query().Get("t"), "password": "correct horse battery"}, nil)
	status, text := p.ask(t, "bo", "POST", "/actions/article.create", map[string]any{"site": "main", "slug": "menu", "title": "Menu", "body": "", "reason": "Quagga asked"})
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	export := func(form string) string {
		t.Helper()
		status, text := p.ask(t, "ana", "GET", "/audit/export?format="+form, nil)
		if status != http.StatusOK {
			t.Fatalf("%d %s", status, text)
		}
		return string(text)
	}
	for _, form := range httpapi.ExportForms {
		if text := export(form); !strings.Contains(text, "Quagga Bo") || !strings.Contains(text, "Quagga asked") {
			t.Errorf("%s, before: %s", form, text)
		}
	}
	if err := s.people.Erase(t.Context(), "home", invited.ID); err != nil {
		t.Fatal(err)
	}
	for _, form := range httpapi.ExportForms {
		if text := export(form); strings.Contains(text, "Quagga") || strings.Count(text, "(erased)") < 2 || !strings.Contains(text, invited.ID) {
			t.Errorf("%s, after: %s", form, text)
		}
	}
	if code, out, said := ends(t, "audit", "export", "--data", s.dir, "--format", "jsonl"); code != exitDone || strings.Contains(out, "Quagga") || strings.Count(out, "(erased)") < 2 {
		t.Errorf("on the command line: ended %d: %s %s", code, out, said)
	}
}

// TestThePastIsAnsweredAsItWas: each answer about the content and about an
// agent's authority, kept when it was the present, is given again as of then.
func TestThePastIsAnsweredAsItWas(t *testing.T) {
	s := serving(t)
	p := inProcessOf(t, s)
	p.owner(t, "ana", "home")
	bot := p.agent(t, "bot", "ana", "manual", nil)
	made := p.act(t, "ana", "article.create", map[string]any{"site": "main", "slug": "menu", "title": "Menu", "body": "Soup."})
	paths := []string{"/sites", "/sites/main", "/sites/main/pages", "/sites/main/articles", "/sites/main/articles?status=changed", "/sites/main/live", "/items/" + made.Target.ID, "/agents/" + bot}
	now := func(asOf string) map[string]string {
		t.Helper()
		answers := map[string]string{}
		for _, path := range paths {
			at := path
			if asOf != "" {
				at += map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")] + "as_of=" + url.QueryEscape(asOf)
			}
			_, text := p.ask(t, "ana", "GET", at, nil)
			answers[path] = string(text)
		}
		return answers
	}
	type moment struct {
		position string
		answers  map[string]string
	}
	var moments []moment
	for _, change := range []struct {
		action string
		args   map[string]any
	}{
		{"article.update", map[string]any{"article": made.Target.ID, "title": "Summer menu"}},
		{"site.publish", map[string]any{"site": "main"}},
		{"page.create", map[string]any{"site": "main", "path": "/about", "title": "About", "body": "We cook."}},
		{"site.update", map[string]any{"site": "main", "title": "The new kitchen"}},
		{"agent.update", map[string]any{"agent": bot, "paused": true}},
		{"article.remove", map[string]any{"article": made.Target.ID}},
		{"site.publish", map[string]any{"site": "main"}},
		{"key.revoke", map[string]any{"agent": bot, "key": p.keyOf("bot")}},
	} {
		out := p.act(t, "ana", change.action, change.args)
		if out.Outcome != commands.Done {
			t.Fatalf("%s: %+v", change.action, out)
		}
		text, err := out.Position.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		answers := now(string(text)) // while it is the last position, it is the present
		if d := cmp.Diff(now(""), answers); d != "" && change.action != "agent.update" {
			t.Errorf("after %s the last position is not the present: %s", change.action, d)
		}
		moments = append(moments, moment{string(text), answers})
	}
	for i, m := range moments {
		if d := cmp.Diff(m.answers, now(m.position)); d != "" {
			t.Errorf("as of %s: %s", m.position, d)
		}
		if i > 0 && cmp.Equal(m.answers, moments[i-1].answers) {
			t.Errorf("nothing differs between %s and %s", moments[i-1].position, m.position)
		}
	}
	if was := moments[0].answers["/items/"+made.Target.ID]; !strings.Contains(was, "Summer menu") || !strings.Contains(was, "Soup.") {
		t.Errorf("what was removed since: %s", was)
	}
	var h httpapi.HistoryPage
	p.must(t, "ana", "GET", "/items/"+made.Target.ID+"/history", nil, &h)
	var steps []string
	for _, row := range h.Items {
		steps = append(steps, row.Step)
	}
	if d := cmp.Diff([]string{"taken-off", "removed", "published", "edited", "made"}, steps); d != "" {
		t.Error(d)
	}
}
