package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assent/commands"
	"assent/domain"
	"assent/domain/action"
	"assent/domain/article"
	"assent/domain/policy"
	"assent/httpapi"
)

// TestEveryStoryIsWhatItsRulesSay plays every story and then asks why of
// everything that is in the audit: refusals, proposals, decisions, undos, yesses
// in advance and freer modes. Every record is what the rules of its moment say.
func TestEveryStoryIsWhatItsRulesSay(t *testing.T) {
	files, err := filepath.Glob("../../commands/testdata/stories/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	kinds := map[string]int{}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			p := newInProcess(t).(*inProcess)
			play(t, file, p, false)
			for _, row := range p.audit(t, "ana") {
				why, err := p.server.records.Why(t.Context(), "home", row.ID)
				if err != nil || !why.Matches {
					t.Errorf("%s %s: %+v %v", row.Action, row.Outcome, why, err)
				}
				for _, a := range why.Asked {
					if a.Checked {
						kinds[a.Outcome]++
					}
					if a.Question != nil && a.Question.Yes != nil {
						kinds[a.Question.Yes.Kind]++
						checkYes(t, row, *a.Question.Yes)
					}
					if a.Lent != nil {
						kinds["lent"]++
					}
				}
				if row.Outcome == commands.Done && row.Action == "action.undo" && !why.Asked[0].Checked {
					t.Errorf("an undo was not asked about: %+v", why)
				}
			}
		})
	}
	for _, kind := range []string{"done", "waiting", "refused", "idle", "approved", "assented", "declined", policy.Approval, policy.Standing, "lent"} {
		if kinds[kind] == 0 {
			t.Errorf("no story had anything of the kind %q to ask about: %v", kind, kinds)
		}
	}
}

// checkYes holds an audit's line against the yes that was recorded with it.
func checkYes(t *testing.T, row httpapi.AuditRow, yes policy.Yes) {
	t.Helper()
	if row.Outcome != commands.Done {
		return
	}
	if row.Yes == nil || *row.Yes != (httpapi.Yes{Kind: yes.Kind, By: yes.By, ID: yes.ID}) {
		t.Errorf("the audit says %+v of a yes that is %+v", row.Yes, yes)
	}
}

// askedWhy is what the command answers.
func askedWhy(t *testing.T, dir string, id domain.ID) (commands.Why, int, string) {
	t.Helper()
	code, out, said := ends(t, "why", string(id), "--data", dir, "--json")
	var why commands.Why
	if code != exitRefused {
		if err := json.Unmarshal([]byte(out), &why); err != nil {
			t.Fatalf("%v: %s %s", err, out, said)
		}
	}
	return why, code, said
}

func rowsIn(t *testing.T, dir string, args ...string) []httpapi.AuditRow {
	t.Helper()
	code, out, said := ends(t, append([]string{"audit", "--data", dir, "--json", "--limit", "100"}, args...)...)
	var page httpapi.AuditPage
	if err := json.Unmarshal([]byte(out), &page); err != nil {
		t.Fatalf("ended %d: %v: %s", code, err, said)
	}
	return page.Items
}

// TestWhyFindsTheOneRecordThatWasEdited in the file of a log.
func TestWhyFindsTheOneRecordThatWasEdited(t *testing.T) {
	dir := t.TempDir()
	if code, _, said := ends(t, "import", "demosite", "--data", dir); code != 0 {
		t.Fatalf("import ended %d: %s", code, said)
	}
	rows := rowsIn(t, dir, "--action", "article.create")
	if why, code, said := askedWhy(t, dir, rows[0].ID); code != exitDone || !why.Matches || !why.Asked[0].Checked {
		t.Fatalf("ended %d: %+v %s", code, why, said)
	}
	path := filepath.Join(dir, "log.db")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	was, is := []byte(`"action":"article.create","class":"content"`), []byte(`"action":"article.create","class":"publish"`)
	changed := bytes.Replace(text, was, is, 1)
	if bytes.Equal(text, changed) {
		t.Fatal("there was nothing to change")
	}
	if err := os.WriteFile(path, changed, 0o600); err != nil {
		t.Fatal(err)
	}
	var wrong []domain.ID
	for _, row := range rows {
		why, code, said := askedWhy(t, dir, row.ID)
		if why.Matches != (code == exitDone) || code != exitDone && (code != exitFound || !strings.Contains(said, "answer") || !strings.Contains(said, string(row.ID))) {
			t.Errorf("ended %d: %+v %s", code, why, said)
		}
		if !why.Matches {
			wrong = append(wrong, row.ID)
		}
	}
	if len(wrong) != 1 {
		t.Errorf("of %d records one was edited, and these do not match: %v", len(rows), wrong)
	}
	if _, code, said := askedWhy(t, dir, "act_nothing"); code != exitRefused || !strings.Contains(said, "not-found") {
		t.Errorf("ended %d: %s", code, said)
	}
}

// TestWhyAndWhatIfOnAServedFolder go through the server that has it.
func TestWhyAndWhatIfOnAServedFolder(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir)
	p := newPeople(s.url, links(s.printed))
	p.owner(t, "ana", "home")
	bot := p.agent(t, "bot", "ana", "edits", nil)
	agent := &overHTTP{people: p, dir: dir}
	made := agent.act(t, "bot", "article.create", map[string]any{"site": "main", "slug": "menu", "title": "Menu", "body": ""})
	edit := agent.act(t, "bot", "article.update", map[string]any{"article": made.Target.ID, "title": "Winter menu"})
	agent.act(t, "bot", "site.publish", map[string]any{"site": "main"})

	if why, code, said := askedWhy(t, dir, made.Action); code != exitDone || !why.Matches || why.Asked[0].Question.Mode != policy.Edits {
		t.Errorf("ended %d: %+v %s", code, why, said)
	}
	if code, out, said := ends(t, "why", string(made.Action), "--data", dir); code != exitDone || !strings.Contains(out, "matches") || !strings.Contains(out, "hold-manual") {
		t.Errorf("ended %d: %s %s", code, out, said)
	}
	var over struct {
		commands.Why
		Names map[string]string
	}
	p.must(t, "ana", "GET", "/audit/"+string(made.Action)+"/why", nil, &over)
	if !over.Matches || len(over.Asked) != 1 || over.Names[p.ids["ana"]] == "" || over.Asked[0].Again == nil {
		t.Errorf("over HTTP: %+v", over)
	}
	if status, text := p.ask(t, "ana", "GET", "/audit/act_nothing/why", nil); status != 404 {
		t.Errorf("of nothing: %d %s", status, text)
	}

	type told struct {
		Items  []commands.Simulated
		Totals commands.Totals
	}
	simulated := func(args ...string) (v told) {
		t.Helper()
		code, out, said := ends(t, append([]string{"simulate", "--data", dir, "--json"}, args...)...)
		if err := json.Unmarshal([]byte(out), &v); err != nil || code != exitDone {
			t.Fatalf("ended %d: %v\n%s\n%s", code, err, out, said)
		}
		return v
	}
	if v := simulated("--mode", "manual", "--agent", bot, "--since", time.Now().Add(-time.Hour).Format(time.RFC3339)); len(v.Items) != 2 || v.Items[0].Action != made.Action || v.Totals.Asked != 3 || v.Totals.Came["waiting"]["waiting"] != 1 {
		t.Errorf("manual: %+v", v)
	}
	if v := simulated("--mode", "plan", "--review"); len(v.Items) != 2 || v.Items[1].Would != commands.Refused {
		t.Errorf("the review is %+v", v)
	}
	if out := p.undo(t, "ana", edit.Action); out.Outcome != commands.Done {
		t.Fatalf("%+v", out)
	}
	if v := simulated("--mode", "plan", "--review"); len(v.Items) != 1 || v.Items[0].Action != made.Action {
		t.Errorf("what was taken back is still to be looked at: %+v", v)
	}
	if v := simulated("--mode", "edits"); v.Items == nil || len(v.Items) != 0 {
		t.Errorf("nothing otherwise: %+v", v)
	}
	rules := filepath.Join(t.TempDir(), "rules.json")
	if err := os.WriteFile(rules, []byte(`{"waits":["article.create"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if v := simulated("--rules", rules); len(v.Items) != 1 || v.Items[0].Cause != "project-rule" {
		t.Errorf("with other rules: %+v", v)
	}
	if code, out, _ := ends(t, "simulate", "--data", dir, "--mode", "manual", "--jsonl"); code != exitDone || strings.Count(out, "\n") != 3 || !strings.Contains(out, `{"totals":`) {
		t.Errorf("ended %d: %s", code, out)
	}
	if code, out, _ := ends(t, "simulate", "--data", dir, "--mode", "manual"); code != exitDone || !strings.Contains(out, "would have come out differently") || !strings.Contains(out, string(made.Action)) {
		t.Errorf("ended %d: %s", code, out)
	}
	for name, args := range map[string][]string{
		"bypass":         {"--mode", "bypass"},
		"no such file":   {"--rules", rules + ".none"},
		"no such rule":   {"--rules", write(t, `{"wait":[]}`)},
		"not JSON":       {"--rules", write(t, `waits`)},
		"more than one":  {"--rules", write(t, `{} {}`)},
		"not a time":     {"--since", "yesterday"},
		"no such number": {"--rules", write(t, `{"pace":"fast"}`)},
	} {
		if code, _, said := ends(t, append([]string{"simulate", "--data", dir}, args...)...); code != exitUsage {
			t.Errorf("%s ended %d: %s", name, code, said)
		}
	}
	for name, args := range map[string][]string{"bad rules": {"--rules", write(t, `{"pace":-1}`)}, "no such workspace": {"--workspace", "nowhere"}} {
		if code, _, said := ends(t, append([]string{"simulate", "--data", dir}, args...)...); code != exitRefused {
			t.Errorf("%s ended %d: %s", name, code, said)
		}
	}

	s.stop(t) // which writes down what was counted
	asked := 0
	for _, row := range rowsIn(t, dir, "--action", commands.Simulating) {
		asked += row.Count
		if row.Outcome != "read" || row.Principal.ID != p.ids["ana"] {
			t.Errorf("that somebody asked is in the audit as %+v", row)
		}
	}
	if asked != 7 {
		t.Errorf("7 simulations are %d in the audit", asked)
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rules.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// BenchmarkSimulate is what a simulation over 100,000 actions takes on the log
// and the read models as they are kept: at most 5 s.
func BenchmarkSimulate(b *testing.B) {
	const actions, portion = 100_000, 200
	h, err := plan{dir: b.TempDir(), vault: cheap}.open(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = h.Close() }()
	words := h.road.Words
	versions := map[domain.Stream]domain.Version{}
	var middle time.Time
	for i := 0; i < actions; i += portion {
		var writes []commands.Write
		for j := range portion {
			n := i + j
			q := policy.Question{
				Now: h.clock().UTC(), Principal: domain.Principal{Kind: domain.KindAgent, ID: fmt.Sprintf("agent_%026d", n%20)}, Action: article.Update.Name,
				Class: action.Content, Scope: "content:write", Permission: "content.edit", Site: "main", Mode: policy.Edits, Scopes: policy.DefaultScopes, Role: policy.Owner,
			}
			v := policy.Ask(q)
			asked, err := json.Marshal(q)
			if err != nil {
				b.Fatal(err)
			}
			title := fmt.Sprint("Edition ", n)
			word, revision, data, err := words.Spell(article.Updated{Title: &title})
			if err != nil {
				b.Fatal(err)
			}
			s := domain.Stream{Category: "article", Workspace: "home", ID: fmt.Sprintf("art_%026d", n%1000)}
			act := domain.NewAction(q.Now)
			writes = append(writes, commands.Write{Stream: s, Expect: versions[s], Events: []domain.Fresh{{
				ID: domain.Derive("evt", string(act)), Word: word, Revision: revision, Data: data,
				Envelope: domain.Envelope{Action: act, Name: q.Action, Principal: q.Principal, Person: "person_ana", Via: domain.Via{Key: "key_1"}, Mode: string(q.Mode), Question: asked, Verdict: &v},
			}}})
			versions[s]++
		}
		if _, err := h.log.Append(b.Context(), writes...); err != nil {
			b.Fatal(err)
		}
		if i == actions/2 {
			middle = h.clock()
		}
	}
	head, err := h.log.Head(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	if err := h.rows.Wait(b.Context(), head.Position); err != nil {
		b.Fatal(err)
	}
	simulate := func(q simulateQuery) (took float64, differ int) {
		b.Helper()
		q.Workspace, q.If.Mode = "home", policy.Manual
		began := time.Now()
		totals, err := h.Simulate(b.Context(), q, func(commands.Simulated) error { return nil })
		if err != nil {
			b.Fatal(err)
		}
		return time.Since(began).Seconds(), totals.Differ
	}
	for b.Loop() {
		all, n := simulate(simulateQuery{})
		review, m := simulate(simulateQuery{Review: true})
		half, _ := simulate(simulateQuery{Since: middle.Add(policy.PaceWindow)})
		if n != actions || m != actions {
			b.Errorf("of %d actions %d and %d come out differently", actions, n, m)
		}
		atMost(b, "simulate-100k-s", all, 5, 5)
		atMost(b, "review-100k-s", review, 5, 5)
		b.ReportMetric(half, "since-s")
	}
}
