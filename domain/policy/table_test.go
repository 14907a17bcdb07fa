package policy_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/policy"
)

var update = flag.Bool("update", false, "write what the rules say into the table")

const tableFile = "testdata/table.txt"

// TestTable holds the rules to a table that a person can review.
func TestTable(t *testing.T) {
	text, err := os.ReadFile(tableFile)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	out := tabwriter.NewWriter(&got, 0, 0, 2, ' ', 0)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			out.Flush()
			fmt.Fprintln(&got, line)
			continue
		}
		cells := columns.Split(line, -1)
		q, err := question(cells)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		fmt.Fprintln(out, strings.Join(append(cells[:4:4], answer(policy.Ask(q))...), "\t"))
	}
	out.Flush()
	if *update {
		if err := os.WriteFile(tableFile, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, said := strings.Split(string(text), "\n"), strings.Split(got.String(), "\n")
	for i := range min(len(want), len(said)) {
		if !slices.Equal(columns.Split(want[i], -1), columns.Split(said[i], -1)) {
			t.Errorf("line %d\nthe table says %s\nthe rules say  %s", i+1, want[i], said[i])
		}
	}
	if len(want) != len(said) {
		t.Errorf("%d lines instead of %d", len(said), len(want))
	}
}

var columns = regexp.MustCompile(` {2,}`)

// usual is what a call of each class usually is.
var usual = map[action.Class][3]string{ // name, scope, permission
	action.Read:        {"article.list", "content:read", "content.read"},
	action.Oneself:     {"proposal.withdraw", "any", "any"},
	action.Content:     {"article.update", "content:write", "content.edit"},
	action.Publish:     {"site.publish", "publish", "publish"},
	action.Destructive: {"article.remove", "content:write", "content.remove"},
	action.People:      {"agent.create", "agents:manage", "agents.manage"},
}

// question reads the left four columns of a row.
func question(cells []string) (policy.Question, error) {
	if len(cells) < 4 {
		return policy.Question{}, fmt.Errorf("%d columns", len(cells))
	}
	who, mode, class, extras := cells[0], cells[1], action.Class(cells[2]), cells[3]
	call, ok := usual[class]
	if !ok {
		return policy.Question{}, fmt.Errorf("no class is called %q", class)
	}
	q := policy.Question{
		Now:    time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC),
		Action: call[0], Class: class, Scope: call[1], Permission: call[2],
		Role: policy.Owner,
	}
	switch who {
	case "agent", "stdio":
		q.Principal, q.Scopes = domain.Principal{Kind: domain.KindAgent, ID: "agent_1"}, policy.Scopes
	case "local":
		q.Principal, q.Scopes = domain.Principal{Kind: domain.KindPerson, ID: "local:ada"}, policy.Scopes
	case "person":
		q.Principal = domain.Principal{Kind: domain.KindPerson, ID: "person_1"}
	case "system":
		q.Principal, q.Role = domain.Principal{Kind: domain.KindSystem, ID: "assent"}, ""
	default:
		return q, fmt.Errorf("nobody is called %q", who)
	}
	q.Local = who == "stdio" || who == "local"
	if mode != "-" {
		q.Mode = policy.Mode(mode)
	}
	if extras == "-" {
		return q, nil
	}
	for extra := range strings.FieldsSeq(extras) {
		name, value, _ := strings.Cut(extra, "=")
		if err := add(&q, name, value); err != nil {
			return q, err
		}
	}
	return q, nil
}

func add(q *policy.Question, name, value string) error {
	switch name {
	case "role":
		if q.Role = policy.Role(value); value == "none" {
			q.Role = ""
		}
	case "scopes":
		if q.Scopes = strings.Split(value, ","); value == "none" {
			q.Scopes = nil
		}
	case "needs":
		q.Scope = value
	case "permission":
		q.Permission = value
	case "only":
		q.OnlySite = value
	case "site":
		q.Site = value
	case "collection":
		only, stray := strings.CutSuffix(value, "~")
		q.OnlyCollection, q.Stray = only, stray
	case "own":
		q.Own = true
	case "tightens":
		q.Tightens = true
	case "paused":
		q.PausedAgent, q.PausedAgents = value == "agent" || value == "both", value == "workspace" || value == "both"
		q.Rules.Paused = value == "site"
	case "skill":
		value, changed := strings.CutSuffix(value, "~")
		scopes, asks := strings.CutSuffix(value, "!")
		q.Skill = &policy.Skill{Name: "gardening", Known: value != "unknown", Scopes: strings.Split(scopes, ","), Changed: changed}
		if asks {
			q.Skill.Approval = []string{q.Action}
		}
	case "check":
		check := checks[value]
		q.Check = &check
	case "yes":
		kind, causes, some := strings.Cut(value, ":")
		q.Yes = &policy.Yes{Kind: kind, By: "person_1"}
		if some {
			q.Yes.Causes = strings.Split(causes, ",")
		}
	case "frozen":
		q.Rules.Freezes = []policy.Freeze{{From: q.Now, Until: q.Now.Add(time.Hour)}}
	case "waits":
		q.Rules.Waits = strings.Split(value, ",")
	case "decide":
		need, err := strconv.Atoi(value)
		if err != nil {
			return err
		}
		q.Rules.Stages = []policy.Stage{{Of: string(q.Class), Roles: []policy.Role{policy.Owner}, Need: need}}
	case "separate":
		q.Rules.Separation = policy.SeparateOn
	case "pace":
		if _, err := fmt.Sscanf(value, "%d/%d", &q.Paced, &q.Rules.Pace); err != nil {
			return err
		}
	case "from":
		q.Outside = value == "outside"
	case "gate":
		q.Gate = "It reaches outside, so an owner decides."
	case "filed":
		q.Planned = value == "plan"
	case "action":
		q.Action = value
	default:
		return fmt.Errorf("no extra is called %q", name)
	}
	return nil
}

// answer is the right four columns of a row.
func answer(v domain.Verdict) []string {
	code, rule := v.Cause+v.Code, "-"
	if code == "" {
		code = "-"
	}
	said := v.Answer.String()
	if v.Lifted != "" {
		said += " by " + v.Lifted
	}
	var also []string
	for _, f := range v.Findings {
		if rule == "-" && f.Code == code && f.Reason == v.Reason {
			rule = f.Rule
			continue
		}
		also = append(also, f.Rule)
	}
	if also == nil {
		also = []string{"-"}
	}
	return []string{said, code, rule, strings.Join(also, " ")}
}
