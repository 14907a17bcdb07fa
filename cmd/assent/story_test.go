package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"assent/commands"
	"assent/domain"
	"assent/httpapi"
)

var update = flag.Bool("update", false, "write what the stories say now into their files")

// TestStories plays every story through every door and on every log. The files say what each
// step answers; the in-process player may rewrite them with -update, and the
// review is reading the difference.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("../../commands/testdata/stories/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	players := []struct {
		name string
		weak bool // its log is not atomic
		new  func(*testing.T) player
	}{
		{"in process", false, newInProcess},
		{"on a log that is not atomic", true, newOnWeak},
		{"on PostgreSQL", false, newOnPostgres(t)},
		{"on EventStoreDB", true, newOnEventStoreDB},
		{"over MCP", false, newOverMCP},
		{"over HTTP against the binary", false, newOverHTTP},
	}
	for _, p := range players {
		t.Run(p.name, func(t *testing.T) {
			for _, file := range files {
				t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
					t.Parallel()
					if p.weak && strings.Contains(readStory(t, file).head, onlyAtomic) {
						t.Skip("it is about all or nothing, which this log does not promise")
					}
					play(t, file, p.new(t), *update && p.name == "in process")
				})
			}
		})
	}
}

// onlyAtomic is in the head of a story that some logs cannot play.
const onlyAtomic = "Only on a log that is atomic."

// player is one way to reach the server.
type player interface {
	// owner makes a person who owns a workspace, agent an agent with a key,
	// local a local caller; all are called by name from then on.
	owner(t testing.TB, name, workspace string)
	agent(t testing.TB, name, of, mode string, scopes []string) (id string)
	local(t *testing.T, name, mode string)
	keyOf(agent string) string // the key's id
	// act asks for an action.
	act(t *testing.T, name, action string, args map[string]any) commands.Outcome
	// decide is what only people do.
	approve(t *testing.T, name, proposal, digest string, parts ...int) commands.Outcome
	decline(t *testing.T, name, proposal, reason string) commands.Outcome
	undo(t *testing.T, name string, action domain.ID) commands.Outcome
	choose(t *testing.T, name string, action domain.ID, wish commands.Taking) commands.Outcome
	contain(t *testing.T, name string, wish commands.Containing) commands.Outcome
	revoke(t *testing.T, name, agent string) commands.Outcome
	// audit lists what was done in a person's workspace, oldest first.
	audit(t *testing.T, name string) []httpapi.AuditRow
	// live is what the public site answers: a status and a title.
	live(t *testing.T, site, path string) (int, string)
}

// step is one line of a story and what it answers.
type step struct{ line, want string }

// story is one behaviour: a cast, and what they do.
type story struct {
	file  string
	head  string // comment and cast, as written
	cast  []string
	steps []step
}

func readStory(t *testing.T, file string) story {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := story{file: file}
	head, rest, _ := strings.Cut(string(text), "\n----\n")
	if i := strings.LastIndex(head, "\n\n"); i >= 0 {
		s.head, head = head[:i], head[i+2:]
	}
	for line := range strings.Lines(s.head) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			s.cast = append(s.cast, line)
		}
	}
	for line, more := head, true; more; {
		var want string
		want, rest, more = strings.Cut(rest, "\n----\n")
		next := ""
		if i := strings.LastIndex(want, "\n\n"); more && i >= 0 {
			want, next = want[:i], want[i+2:]
		} else if more {
			want, next = "", strings.TrimPrefix(want, "\n")
		}
		s.steps = append(s.steps, step{strings.TrimSpace(line), strings.TrimSpace(want)})
		line = next
	}
	return s
}

func (s story) write(t *testing.T) {
	t.Helper()
	var b strings.Builder
	b.WriteString(s.head + "\n")
	for _, st := range s.steps {
		fmt.Fprintf(&b, "\n%s\n----\n", st.line)
		if st.want != "" {
			b.WriteString(st.want + "\n")
		}
	}
	if err := os.WriteFile(s.file, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// play acts a story out and compares what happened with what is written.
func play(t *testing.T, file string, p player, rewrite bool) {
	s := readStory(t, file)
	st := &stage{t: t, player: p, names: map[string]string{}, workspaces: map[string]string{}}
	st.owner("ana", "home")
	for _, line := range s.cast {
		st.enter(line)
	}
	for i := range s.steps {
		got := strings.TrimSpace(st.perform(s.steps[i].line))
		if rewrite {
			s.steps[i].want = got
			continue
		}
		if got != s.steps[i].want {
			t.Errorf("%s\n--- want\n%s\n--- got\n%s", s.steps[i].line, s.steps[i].want, got)
		}
	}
	if rewrite {
		s.write(t)
	}
}

// stage is a story under way: who is who, and which id goes by which name.
type stage struct {
	t          *testing.T
	player     player
	names      map[string]string // $menu → art_…
	workspaces map[string]string // of each person
	last       domain.ID
	seen       int
}

func (s *stage) owner(name, workspace string) {
	s.player.owner(s.t, name, workspace)
	s.workspaces[name] = workspace
}

var word = regexp.MustCompile(`[^\s=]+(=("(\\.|[^"\\])*"|\S*))?`)

// split reads `verb a=1 b="two words"` into its words and its arguments.
func (s *stage) split(line string) (words []string, args map[string]any) {
	args = map[string]any{}
	for _, w := range word.FindAllString(line, -1) {
		name, value, ok := strings.Cut(w, "=")
		if !ok {
			words = append(words, s.named(w))
			continue
		}
		var v any
		if dec := json.NewDecoder(strings.NewReader(s.named(value))); dec.Decode(&v) != nil || dec.More() {
			v = s.named(value)
		}
		args[name] = v
	}
	return words, args
}

// named puts ids in the place of names.
func (s *stage) named(text string) string {
	for _, name := range slices.SortedFunc(maps.Keys(s.names), func(a, b string) int { return len(b) - len(a) }) {
		text = strings.ReplaceAll(text, "$"+name, s.names[name])
	}
	return text
}

// enter puts somebody or something on the stage.
func (s *stage) enter(line string) {
	words, args := s.split(line)
	switch {
	case words[0] == "site":
		args["site"] = words[1] // made at the first start, by the system
		if out := s.player.act(s.t, "ana", "site.update", args); out.Outcome != commands.Done {
			s.t.Fatalf("%s: %+v", line, out)
		}
	case words[0] == "article":
		args["site"], args["slug"], _ = strings.Cut(words[1], "/")
		out := s.player.act(s.t, "ana", "article.create", args)
		if out.Outcome != commands.Done {
			s.t.Fatalf("%s: %+v", line, out)
		}
		s.names[args["slug"].(string)] = out.Target.ID
	case words[1] == "owner":
		s.owner(words[0], args["workspace"].(string))
	case words[1] == "agent":
		of, _ := args["of"].(string)
		if of == "" {
			of = "ana"
		}
		scopes, _ := args["scopes"].(string)
		var list []string
		if scopes != "" {
			list = strings.Split(scopes, ",")
		}
		s.names[words[0]] = s.player.agent(s.t, words[0], of, args["mode"].(string), list)
		s.names[words[0]+"-key"] = s.player.keyOf(words[0])
	case words[1] == "local":
		s.player.local(s.t, words[0], args["mode"].(string))
	default:
		s.t.Fatalf("nobody understands %q", line)
	}
}

// perform does one step and tells what happened.
func (s *stage) perform(line string) string {
	if line == "audit" {
		return s.tellAudit(s.player.audit(s.t, "ana"))
	}
	words, args := s.split(line)
	if words[0] == "live" {
		status, title := s.player.live(s.t, words[1], words[2])
		return strings.TrimSpace(fmt.Sprintf("%d  %s", status, title))
	}
	as, _ := args["as"].(string)
	delete(args, "as")
	who := strings.TrimSuffix(words[0], ":")
	var out commands.Outcome
	switch verb := words[1]; verb {
	case "approve":
		digest, _ := args["digest"].(string)
		if digest == "now" {
			digest = s.names["now"]
		}
		out = s.player.approve(s.t, who, words[2], digest, numbers(args["parts"])...)
	case "decline":
		out = s.player.decline(s.t, who, words[2], args["reason"].(string))
	case "undo":
		if wish := s.taking(args); wish.Choice.IsZero() && !wish.Late {
			out = s.player.undo(s.t, who, domain.ID(words[2]))
		} else {
			out = s.player.choose(s.t, who, domain.ID(words[2]), wish)
		}
	case "contain":
		out = s.player.contain(s.t, who, containing(args))
	case "revoke":
		out = s.player.revoke(s.t, who, s.names[words[2]])
	default:
		out = s.player.act(s.t, who, verb, args)
	}
	s.note(as, out)
	return s.tell(out)
}

// numbers are those of a list: parts=[1,3].
func numbers(v any) (list []int) {
	all, _ := v.([]any)
	for _, n := range all {
		list = append(list, int(n.(float64)))
	}
	return list
}

// taking is how a person takes something back: keep=title,body take=summary,
// from the columns they saw last.
func (s *stage) taking(args map[string]any) (wish commands.Taking) {
	of := func(name string) []string {
		text, _ := args[name].(string)
		return strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
	}
	wish.Keep, wish.Take = of("keep"), of("take")
	if args["digest"] == "now" {
		wish.Digest = s.names["now"]
	}
	wish.Late, _ = args["late"].(bool)
	return wish
}

// containing is whose doings are taken back together; those of an agent since
// it was made.
func containing(args map[string]any) (wish commands.Containing) {
	text := func(name string) string { v, _ := args[name].(string); return v }
	wish.Agent, wish.Key, wish.Session, wish.Proposal, wish.Batch = text("agent"), text("key"), text("session"), text("proposal"), text("batch")
	wish.Late, _ = args["late"].(bool)
	if wish.Agent != "" {
		wish.Since = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return wish
}

// note gives what an outcome made the name the story wants.
func (s *stage) note(as string, out commands.Outcome) {
	if out.Action != "" && out.Outcome == commands.Done {
		s.names["last"] = string(out.Action)
	}
	var p struct{ ID, Digest string }
	_ = respell(out.Proposal, &p)
	if p.Digest != "" {
		s.names["now"] = p.Digest
	}
	if out.Conflict != nil {
		s.names["now"] = out.Conflict.Digest
	}
	if as == "" {
		return
	}
	switch {
	case out.Outcome == commands.Waiting:
		s.names[as] = p.ID
	case out.Target != nil && out.Target.Version == 1:
		s.names[as] = out.Target.ID
	default:
		s.names[as] = string(out.Action)
	}
}

// tell is an outcome in lines that are the same whenever it is played.
func (s *stage) tell(out commands.Outcome) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", out.Outcome)
	if out.Target != nil {
		fmt.Fprintf(&b, "  %s %s@%d", out.Target.Kind, s.alias(out.Target.ID), out.Target.Version)
	}
	var p struct {
		State, Status, Code, Words, Cause string
		ID                                string
	}
	_ = respell(out.Proposal, &p)
	if p.ID != "" {
		fmt.Fprintf(&b, "  %s %s", s.alias(p.ID), p.State)
	}
	if v := out.Verdict; v != nil {
		for _, w := range []string{v.Cause, v.Code} {
			if w != "" {
				b.WriteString("  " + w)
			}
		}
		if v.Lifted != "" {
			b.WriteString(" lifted by " + v.Lifted)
		}
		if c := v.AutoCheck; c != nil {
			fmt.Fprintf(&b, "  %s %d of %d", c.Code, c.Changes, c.Limit)
		}
	}
	if out.Refusal != nil {
		fmt.Fprintf(&b, "  %s: %s", out.Refusal.Code, s.alias(out.Refusal.Reason))
	}
	b.WriteString("\n")
	if p.Code != "" || p.Words != "" {
		fmt.Fprintf(&b, "  said: %s%s\n", p.Code, p.Words)
	}
	for _, l := range out.Changes {
		of := ""
		if l.Of != "" {
			of = s.alias(l.Of) + " "
		}
		fmt.Fprintf(&b, "  %s%s: %s → %s\n", of, s.alias(l.Field), s.value(l.Before), s.value(l.After))
	}
	for i, p := range out.Parts {
		fmt.Fprintf(&b, "  part %d %s", i+1, p.Outcome)
		if p.Target != nil {
			fmt.Fprintf(&b, "  %s %s@%d", p.Target.Kind, s.alias(p.Target.ID), p.Target.Version)
		}
		if p.Refusal != nil {
			fmt.Fprintf(&b, "  %s: %s", p.Refusal.Code, s.alias(p.Refusal.Reason))
		}
		b.WriteString("\n")
	}
	for _, r := range out.Results {
		fmt.Fprintf(&b, "  part %d %s %s\n", r.Part, r.Outcome, r.Code)
	}
	if out.Conflict != nil {
		for _, c := range out.Conflict.Columns {
			mark := "?"
			if c.Clean {
				mark = "="
			}
			fmt.Fprintf(&b, "  %s %s: %s → %s, now %s\n", mark, s.alias(c.Field), s.value(c.Before), s.value(c.Set), s.value(c.Now))
		}
	}
	s.tellContained(&b, out.Contained)
	s.tellAnswer(&b, out.Answer)
	return b.String()
}

// tellContained is what became of doings that were taken back together.
func (s *stage) tellContained(b *strings.Builder, c *commands.Contained) {
	if c == nil {
		return
	}
	fmt.Fprintf(b, "  %s: %d taken, %d conflicting, %d impossible\n", c.State, c.Taken, c.Conflicting, c.Impossible)
	for _, l := range c.Left {
		fmt.Fprintf(b, "  left %s %s: %d %s %s %s\n", l.Kind, s.alias(l.ID), l.Actions, l.Mark, l.Code, strings.Join(l.Fields, " "))
	}
}

// tellAnswer is a read in lines: the fields that stories are about.
func (s *stage) tellAnswer(b *strings.Builder, a *commands.Answer) {
	if a == nil {
		return
	}
	var items []map[string]any
	_ = respell(a.Items, &items)
	one := map[string]any{}
	for _, v := range []any{a.Site, a.Page, a.Article, a.Whoami} {
		if v != nil {
			_ = respell(v, &one)
			items = append(items, one)
		}
	}
	for _, it := range items {
		var parts []string
		for _, k := range []string{"version", "title", "body", "status", "rev", "live", "mode", "scopes", "state", "headline", "reason", "waiting"} {
			if v, ok := it[k]; ok && !blank(v) {
				parts = append(parts, k+"="+s.value(v))
			}
		}
		fmt.Fprintf(b, "  %s\n", strings.Join(parts, " "))
	}
}

func blank(v any) bool { return v == "" || v == float64(0) || v == false || v == nil }

var anyID = regexp.MustCompile(`\b(act|cmd|art|page|prop|person|agent|key|ctn|hook|dlv)_[0-9a-z]{26}\b`)

var anyTime = regexp.MustCompile(`\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)

// alias puts names in the place of ids, so that a story reads the same each
// time it is played.
func (s *stage) alias(text string) string {
	return anyID.ReplaceAllStringFunc(text, func(id string) string {
		for _, name := range slices.Sorted(maps.Keys(s.names)) {
			if s.names[name] == id && name != "last" {
				return "$" + name
			}
		}
		kind := string(domain.ID(id).Kind())
		for i := 1; ; i++ {
			if name := kind + "-" + strconv.Itoa(i); s.names[name] == "" {
				s.names[name] = id
				return "$" + name
			}
		}
	})
}

func (s *stage) value(v any) string {
	text, ok := v.(string)
	if !ok {
		j, err := json.Marshal(v)
		if err != nil {
			s.t.Fatal(err)
		}
		text = string(j)
		if text == "null" {
			text = "—"
		}
	}
	text = s.alias(strings.ReplaceAll(text, "\n", " "))
	text = anyTime.ReplaceAllString(text, "(time)")
	if r := []rune(text); len(r) > 60 {
		text = string(r[:60]) + "…"
	}
	return text
}

// tellAudit is the audit in lines.
func (s *stage) tellAudit(rows []httpapi.AuditRow) string {
	var b bytes.Buffer
	for _, r := range rows {
		if r.Principal.Kind == domain.KindSystem || strings.HasPrefix(r.Action, "agent.") || strings.HasPrefix(r.Action, "key.") {
			continue // the cast
		}
		target := ""
		if r.Target != nil {
			target = s.alias(r.Target.ID)
		}
		line := fmt.Sprintf("%-7s %-6s %-17s %-8s %-14s", r.Principal.Kind, r.Mode, r.Action, r.Outcome, target)
		if r.Refusal != nil {
			line += " " + r.Refusal.Code
		}
		if v := r.Verdict; v != nil {
			if v.Cause != "" {
				line += " " + v.Cause
			}
			if v.Lifted != "" {
				line += " lifted by " + v.Lifted
			}
			if v.AutoCheck != nil {
				line += " " + v.AutoCheck.Code
			}
		}
		if r.DecidedBy != "" {
			line += " decided by a person"
		}
		if r.Reason != "" {
			line += fmt.Sprintf(" %q", r.Reason)
		}
		if r.Undoes != "" {
			line += " takes back"
		}
		if r.Undone != "" {
			line += " taken back"
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}
