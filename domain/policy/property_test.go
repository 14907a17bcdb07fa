package policy_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/policy"
)

var (
	classes   = []action.Class{action.Read, action.Oneself, action.Content, action.Publish, action.Destructive, action.People}
	roles     = []policy.Role{policy.Owner, policy.Editor, policy.Auditor, ""}
	sites     = []string{"", "main", "other"}
	modes     = []policy.Mode{"", policy.Plan, policy.Manual, policy.Edits, policy.Auto, policy.Bypass, "weird"}
	yeses     = []string{"approval", "confirmation", "standing"}
	someScope = rapid.SliceOfN(rapid.SampledFrom(policy.Scopes), 0, 7)
)

// anyQuestion draws a call of anyone about anything.
func anyQuestion(t *rapid.T) policy.Question {
	class := rapid.SampledFrom(classes).Draw(t, "class")
	call := usual[class]
	q := policy.Question{
		Now:          time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "now"), 0).UTC(),
		Principal:    domain.Principal{Kind: rapid.SampledFrom([]domain.PrincipalKind{domain.KindAgent, domain.KindPerson, domain.KindSystem}).Draw(t, "kind"), ID: "x"},
		Local:        rapid.Bool().Draw(t, "local"),
		Action:       call[0],
		Class:        class,
		Scope:        call[1],
		Permission:   call[2],
		Site:         rapid.SampledFrom(sites).Draw(t, "site"),
		Mode:         rapid.SampledFrom(modes).Draw(t, "mode"),
		Scopes:       someScope.Draw(t, "scopes"),
		OnlySite:     rapid.SampledFrom(sites).Draw(t, "only"),
		Role:         rapid.SampledFrom(roles).Draw(t, "role"),
		PausedAgents: rapid.IntRange(0, 4).Draw(t, "paused agents") == 0,
		PausedAgent:  rapid.IntRange(0, 4).Draw(t, "paused agent") == 0,
	}
	if rapid.Bool().Draw(t, "with a skill") {
		q.Skill = anySkill(t, q)
	}
	if class == action.Publish && rapid.Bool().Draw(t, "measured") {
		codes := []string{"nothing", "removes-content", "structure", "too-many", "low-risk"}
		q.Check = new(checks[rapid.SampledFrom(codes).Draw(t, "check")])
	}
	if rapid.Bool().Draw(t, "with a yes") {
		q.Yes = &policy.Yes{Kind: rapid.SampledFrom(yeses).Draw(t, "yes"), By: "person_1", Causes: rapid.SliceOfN(rapid.SampledFrom(causes), 0, 3).Draw(t, "causes")}
	}
	if rapid.Bool().Draw(t, "with rules") {
		q.Rules = anyRules(t)
		q.Paced = rapid.IntRange(0, 4).Draw(t, "paced")
	}
	q.OnlyCollection = rapid.SampledFrom([]string{"", "", "news"}).Draw(t, "only collection")
	q.Stray, q.Own, q.Tightens = rapid.Bool().Draw(t, "stray"), rapid.Bool().Draw(t, "own"), rapid.Bool().Draw(t, "tightens")
	q.Outside = rapid.IntRange(0, 3).Draw(t, "outside") == 0
	if rapid.IntRange(0, 3).Draw(t, "gate") == 0 {
		q.Gate = "Somebody must say so."
	}
	return q
}

var causes = []string{"destructive", "skill", "tool", "manual-mode", "project-rule", "many", "outside-content", "gate"}

// anyRules draws what a workspace or a site may say.
func anyRules(t *rapid.T) policy.Rules {
	r := policy.Rules{
		Paused:           rapid.IntRange(0, 4).Draw(t, "paused here") == 0,
		AutoPublishLimit: rapid.IntRange(0, 3).Draw(t, "limit"),
		Pace:             rapid.IntRange(0, 3).Draw(t, "pace"),
		Separation:       rapid.SampledFrom([]policy.Separation{"", policy.SeparateOn, policy.SeparateOff}).Draw(t, "separation"),
	}
	for _, class := range classes {
		if call := usual[class][0]; class != action.Read && rapid.IntRange(0, 3).Draw(t, "waits") == 0 {
			r.Waits = append(r.Waits, call)
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "freezes") == 0 {
		from := time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "from"), 0).UTC()
		r.Freezes = []policy.Freeze{{From: from, Until: from.Add(time.Duration(rapid.IntRange(1, 1<<28).Draw(t, "seconds")) * time.Second)}}
	}
	if rapid.IntRange(0, 2).Draw(t, "decide") == 0 {
		class := rapid.SampledFrom([]string{"content", "publish", "destructive"}).Draw(t, "of class")
		r.Stages = []policy.Stage{{Of: class, Roles: []policy.Role{policy.Owner}, Need: rapid.IntRange(1, 3).Draw(t, "need")}}
	}
	return r
}

func anySkill(t *rapid.T, q policy.Question) *policy.Skill {
	s := &policy.Skill{Name: "gardening", Known: rapid.IntRange(0, 4).Draw(t, "known") > 0, Scopes: someScope.Draw(t, "skill scopes")}
	if rapid.Bool().Draw(t, "asks for a person") {
		s.Approval = []string{q.Action}
	}
	s.Changed = rapid.Bool().Draw(t, "changed")
	return s
}

// tighter draws one way to narrow a call.
func tighter(t *rapid.T, q policy.Question) (string, policy.Question) {
	switch way := rapid.SampledFrom([]string{"pause all", "pause one", "fewer scopes", "stricter mode", "one site", "a skill", "a narrower skill", "no yes", "no check", "more rules", "outside", "gate", "faster", "one collection", "astray", "not its own", "own scopes only"}).Draw(t, "way"); way {
	case "pause all":
		q.PausedAgents = true
		return way, q
	case "pause one":
		q.PausedAgent = true
		return way, q
	case "fewer scopes":
		keep := someScope.Draw(t, "keep")
		q.Scopes = slices.DeleteFunc(slices.Clone(q.Scopes), func(s string) bool { return !slices.Contains(keep, s) })
		return way, q
	case "stricter mode":
		was := policy.Effective(q.Mode, q.Local)
		q.Mode = policy.Stricter(was, rapid.SampledFrom(modes).Draw(t, "other mode"))
		return way, q
	case "one site":
		if q.OnlySite == "" {
			q.OnlySite = "main"
		}
		return way, q
	case "a skill":
		if q.Skill == nil {
			q.Skill = anySkill(t, q)
		}
		return way, q
	case "a narrower skill":
		if q.Skill != nil {
			narrow := *q.Skill
			narrow.Scopes, narrow.Approval = nil, []string{q.Action}
			q.Skill = &narrow
		}
		return way, q
	case "no check":
		q.Check = nil
		return way, q
	case "more rules":
		q.Rules = q.Rules.With(anyRules(t))
		return way, q
	case "outside":
		q.Outside = true
		return way, q
	case "gate":
		q.Gate = "Somebody must say so."
		return way, q
	case "one collection":
		if q.OnlyCollection == "" {
			q.OnlyCollection = "news"
		}
		return way, q
	case "astray":
		q.Stray = true
		return way, q
	case "not its own":
		q.Own = false
		return way, q
	case "own scopes only":
		q.Scopes = policy.Narrowed(q.Scopes, []string{"content:read", "content:write:own", "publish:own"})
		return way, q
	case "faster":
		q.Paced += rapid.IntRange(0, 3).Draw(t, "more")
		return way, q
	default:
		q.Yes = nil
		return way, q
	}
}

func TestNarrowingNeverLoosens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := anyQuestion(t)
		before := policy.Ask(q)
		for range rapid.IntRange(1, 4).Draw(t, "ways") {
			way, narrow := tighter(t, q)
			after := policy.Ask(narrow)
			if after.Answer < before.Answer {
				t.Fatalf("%s turns %s into %s\nof %+v", way, before.Answer, after.Answer, q)
			}
			q, before = narrow, after
		}
	})
}

func TestTheStricterModeIsNeverTheLooserOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.SampledFrom(modes).Draw(t, "a"), rapid.SampledFrom(modes).Draw(t, "b")
		q := anyQuestion(t)
		q.Local, q.Yes = true, nil
		answer := func(m policy.Mode) domain.Answer {
			q.Mode = m
			return policy.Ask(q).Answer
		}
		both := answer(policy.Stricter(a, b))
		for _, one := range []policy.Mode{a, b} {
			if one != "" && both < answer(one) {
				t.Fatalf("%q with %q is looser than %q alone", a, b, one)
			}
		}
	})
}

func TestAYesLiftsHoldsAndNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := anyQuestion(t)
		q.Yes = nil
		without := policy.Ask(q)
		q.Yes = &policy.Yes{Kind: rapid.SampledFrom(yeses).Draw(t, "yes"), By: "person_1", Causes: rapid.SliceOfN(rapid.SampledFrom(causes), 0, 8).Draw(t, "causes")}
		with := policy.Ask(q)
		left := slices.ContainsFunc(without.Findings, func(f domain.Finding) bool {
			return f.Answer == domain.Propose && q.Yes.Kind != policy.Approval && !slices.Contains(q.Yes.Causes, f.Code)
		})
		if q.Yes.Kind == policy.Confirmation {
			left = left || q.Rules.Separation == policy.SeparateOn || len(q.Rules.Deciders(string(q.Class))) > 0 ||
				slices.ContainsFunc(without.Findings, func(f domain.Finding) bool {
					return f.Answer == domain.Propose && f.Code != "tool" && f.Code != "manual-mode"
				})
		}
		switch {
		case without.Answer == domain.Propose && left && cmp.Diff(without, with) != "":
			t.Fatalf("a yes to something else turned %+v into %+v", without, with)
		case without.Answer == domain.Propose && !left && (with.Answer != domain.Act || with.Lifted != q.Yes.Kind || with.Cause != without.Cause):
			t.Fatalf("a hold became %+v", with)
		case without.Answer != domain.Propose && cmp.Diff(without, with) != "":
			t.Fatalf("%+v became %+v", without, with)
		}
	})
}

// A client that answers for its person, with every cause there is named, lifts
// what an owner may name and nothing else.
func TestAConfirmationLiftsNoMoreThanMayBeNamed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := anyQuestion(t)
		q.Yes = nil
		without := policy.Ask(q)
		q.Yes = &policy.Yes{Kind: policy.Confirmation, By: "person_1", Causes: append([]string{"plan"}, causes...)}
		with := policy.Ask(q)
		somebody := q.Rules.Separation == policy.SeparateOn || len(q.Rules.Deciders(string(q.Class))) > 0
		beyond := slices.ContainsFunc(without.Findings, func(f domain.Finding) bool {
			return f.Answer == domain.Propose && f.Code != "tool" && f.Code != "manual-mode"
		})
		want := without
		if without.Answer == domain.Propose && !somebody && !beyond {
			want.Answer, want.Lifted = domain.Act, policy.Confirmation
		}
		if diff := cmp.Diff(want, with); diff != "" {
			t.Fatalf("a confirmation of everything (-want +got):\n%s", diff)
		}
	})
}

// Every rule is heard: it passed or it found something, once, and what stands
// is the strictest of the findings.
func TestEveryRuleIsHeard(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := anyQuestion(t)
		v := policy.Ask(q)
		heard, strictest := map[string]bool{}, domain.Act
		for _, name := range policy.Passed(v) {
			heard[name] = true
		}
		for _, f := range v.Findings {
			heard[f.Rule] = true
			strictest = max(strictest, f.Answer)
			if f.Code == "" || f.Reason == "" {
				t.Fatalf("%s found something and says nothing", f.Rule)
			}
		}
		if n := len(policy.Passed(v)) + len(v.Findings); n != 21 || len(heard) != n {
			t.Fatalf("heard %d rules, %d of them different", n, len(heard))
		}
		if want := strictest; v.Lifted == "" && v.Answer != want || v.Rules != policy.Revision {
			t.Fatalf("the answer is %s under %s, the strictest finding %s", v.Answer, v.Rules, want)
		}
		if (v.Code != "") != (v.Answer == domain.Reject) || (v.Reason != "") != (v.Code+v.Cause != "") {
			t.Fatalf("%+v does not say why", v)
		}
	})
}

// Old rules are kept: what an earlier revision said can be asked again.
func TestAnEarlierRevisionStillAnswers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := anyQuestion(t)
		now, _ := policy.AskAgain(policy.Revision, q)
		if diff := cmp.Diff(policy.Ask(q), now); diff != "" {
			t.Fatalf("the present rules answer differently when asked again:\n%s", diff)
		}
		q.Rules, q.Outside, q.Gate, q.Planned = policy.Rules{}, false, "", false // what there was at the time
		q.OnlyCollection, q.Own, q.Tightens = "", false, false
		if q.Skill != nil {
			q.Skill.Changed = false
		}
		first, known := policy.AskAgain("rules-1", q)
		if !known || first.Rules != "rules-1" || len(policy.Passed(first))+len(first.Findings) != 12 {
			t.Fatalf("%+v", first)
		}
		if second := policy.Ask(q); first.Answer != second.Answer || first.Code != second.Code || first.Cause != second.Cause {
			t.Fatalf("the first rules say %+v, the present ones %+v", first, second)
		}
	})
	if _, known := policy.AskAgain("rules-0", policy.Question{}); known {
		t.Error("rules that never were answer")
	}
}

// The question is recorded with the verdict: asked again years later, it
// gives the same.
func TestARecordedQuestionReplays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := anyQuestion(t)
		first := policy.Ask(q)
		if diff := cmp.Diff(first, policy.Ask(q)); diff != "" {
			t.Fatalf("asked twice (-first +second):\n%s", diff)
		}
		text, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		var recorded policy.Question
		if err := json.Unmarshal(text, &recorded); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first, policy.Ask(recorded)); diff != "" {
			t.Fatalf("%s\nreplays differently (-first +replayed):\n%s", text, diff)
		}
		said, err := json.Marshal(first)
		if err != nil {
			t.Fatal(err)
		}
		var kept domain.Verdict
		if err := json.Unmarshal(said, &kept); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first, kept); diff != "" {
			t.Fatalf("the verdict is kept differently (-first +kept):\n%s", diff)
		}
	})
}

// BenchmarkAsk: a policy that is asked about every call costs nothing one
// would notice. The aim is 5 µs.
func BenchmarkAsk(b *testing.B) {
	agent := policy.Question{
		Now: time.Unix(0, 0), Principal: domain.Principal{Kind: domain.KindAgent, ID: "agent_1"},
		Action: "article.update", Class: action.Content, Scope: "content:write", Permission: "content.edit",
		Mode: policy.Edits, Scopes: policy.DefaultScopes, Role: policy.Owner, Site: "main",
	}
	held := agent
	held.Action, held.Class, held.Scope, held.Permission = "site.publish", action.Publish, "publish", "publish"
	held.Mode, held.Check = policy.Auto, new(checks["too-many"])
	for name, q := range map[string]policy.Question{"acts": agent, "waits": held} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				policy.Ask(q)
			}
		})
	}
}
