package proposal_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assent/domain"
	"assent/domain/domaintest"
	"assent/domain/policy"
	"assent/domain/proposal"
)

var (
	noon   = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	asker  = domain.Principal{Kind: domain.KindAgent, ID: "agent_1"}
	filed  = proposal.Filed{Asker: asker, Headline: "Publish 2 changes", Cause: "tool", Digest: "d1", Reads: []proposal.Read{{Stream: "live-home/main", Version: 3}}, Expires: noon.Add(proposal.Lifetime)}
	called = proposal.Called{Part: 1, Action: "site.publish", Args: json.RawMessage(`{"site":"main"}`), Target: "live-home/main"}

	one      = policy.Decider{ID: "person_1", Role: policy.Owner}
	approved = proposal.Approved{By: "person_1", Digest: "d1", Action: "act_1"}
	declined = proposal.Declined{By: "person_1", Code: "wrong"}
	settled  = proposal.Settled{Results: []proposal.Result{{Part: 1, Outcome: "done", Action: "act_2"}}}
)

// lives is one history for each status a proposal can have.
var lives = map[proposal.Status][]any{
	"":                   nil,
	proposal.Waiting:     {filed, called},
	proposal.IsApproved:  {filed, called, approved},
	proposal.IsSettled:   {filed, called, approved, settled},
	proposal.IsDeclined:  {filed, called, declined},
	proposal.IsWithdrawn: {filed, called, proposal.Withdrawn{}},
	proposal.IsExpired:   {filed, called, proposal.Expired{}},
}

func state(t *testing.T, status proposal.Status) proposal.Proposal {
	t.Helper()
	s, err := proposal.Kind.Fold(lives[status])
	if err != nil {
		t.Fatal(err)
	}
	p := s.(proposal.Proposal)
	if p.Status != status {
		t.Fatalf("the status is %q, not %q", p.Status, status)
	}
	return p
}

// Each row says what comes of each way to end it: an event, a refusal's code,
// or "-" for nothing.
func TestEveryStatusMeetsEveryEnd(t *testing.T) {
	late := filed.Expires
	ways := []struct {
		name string
		do   func(proposal.Proposal) ([]proposal.Event, error)
	}{
		{"approve", func(p proposal.Proposal) ([]proposal.Event, error) {
			return proposal.Approve(p, one, "d1", nil, "act_1", noon)
		}},
		{"approve too late", func(p proposal.Proposal) ([]proposal.Event, error) {
			return proposal.Approve(p, one, "d1", nil, "act_1", late)
		}},
		{"decline", func(p proposal.Proposal) ([]proposal.Event, error) {
			return proposal.Decline(p, "person_1", "wrong", noon)
		}},
		{"decline too late", func(p proposal.Proposal) ([]proposal.Event, error) {
			return proposal.Decline(p, "person_1", "wrong", late)
		}},
		{"withdraw", func(p proposal.Proposal) ([]proposal.Event, error) {
			events, err := proposal.Withdraw.Decide(p, proposal.WithdrawArgs{Asker: asker}, nil)
			return typed(t, events), err
		}},
		{"withdraw another's", func(p proposal.Proposal) ([]proposal.Event, error) {
			events, err := proposal.Withdraw.Decide(p, proposal.WithdrawArgs{Asker: domain.Principal{Kind: domain.KindAgent, ID: "agent_2"}}, nil)
			return typed(t, events), err
		}},
		{"expire early", func(p proposal.Proposal) ([]proposal.Event, error) { return proposal.Expire(p, late.Add(-1)) }},
		{"expire", func(p proposal.Proposal) ([]proposal.Event, error) { return proposal.Expire(p, late) }},
		{"settle", func(p proposal.Proposal) ([]proposal.Event, error) { return proposal.Settle(p, settled.Results) }},
	}
	want := map[proposal.Status][]string{
		"":                   {"not-found", "not-found", "not-found", "not-found", "not-found", "not-found", "-", "-", "-"},
		proposal.Waiting:     {"Approved", "expired", "Declined", "expired", "Withdrawn", "not-found", "-", "Expired", "-"},
		proposal.IsApproved:  {"already-decided", "already-decided", "already-decided", "already-decided", "already-decided", "not-found", "-", "-", "Settled"},
		proposal.IsSettled:   {"already-decided", "already-decided", "already-decided", "already-decided", "already-decided", "not-found", "-", "-", "-"},
		proposal.IsDeclined:  {"already-decided", "already-decided", "already-decided", "already-decided", "already-decided", "not-found", "-", "-", "-"},
		proposal.IsWithdrawn: {"withdrawn", "withdrawn", "withdrawn", "withdrawn", "-", "not-found", "-", "-", "-"},
		proposal.IsExpired:   {"expired", "expired", "expired", "expired", "expired", "not-found", "-", "-", "-"},
	}
	for status, answers := range want {
		for i, way := range ways {
			t.Run(fmt.Sprintf("%s %s", status, way.name), func(t *testing.T) {
				if got := answer(way.do(state(t, status))); got != answers[i] {
					t.Errorf("got %s, want %s", got, answers[i])
				}
			})
		}
	}
}

func typed(t *testing.T, events []any) []proposal.Event {
	t.Helper()
	var list []proposal.Event
	for _, e := range events {
		list = append(list, e.(proposal.Event))
	}
	return list
}

func answer(events []proposal.Event, err error) string {
	if no, ok := err.(*domain.Refusal); ok {
		return no.Code
	}
	switch {
	case err != nil:
		return err.Error()
	case len(events) == 0:
		return "-"
	}
	switch events[0].(type) {
	case proposal.Approved:
		return "Approved"
	case proposal.Declined:
		return "Declined"
	case proposal.Withdrawn:
		return "Withdrawn"
	case proposal.Expired:
		return "Expired"
	case proposal.Settled:
		return "Settled"
	}
	return fmt.Sprintf("%T", events[0])
}

func TestWithdraw(t *testing.T) {
	mine := proposal.WithdrawArgs{Which: proposal.Which{Proposal: "prop_1"}, Asker: asker}
	theirs := mine
	theirs.Asker.ID = "agent_2"
	person := mine
	person.Asker = domain.Principal{Kind: domain.KindPerson, ID: "agent_1"}
	domaintest.Run(t, proposal.Withdraw, map[string]domaintest.Case[proposal.WithdrawArgs]{
		"one's own":               {Given: lives[proposal.Waiting], When: mine, Then: []any{proposal.Withdrawn{}}},
		"already so":              {Given: lives[proposal.IsWithdrawn], When: mine},
		"another's is not there":  {Given: lives[proposal.Waiting], When: theirs, Refused: "not-found"},
		"nor by the same id":      {Given: lives[proposal.Waiting], When: person, Refused: "not-found"},
		"nor once it is over":     {Given: lives[proposal.IsWithdrawn], When: theirs, Refused: "not-found"},
		"one that nobody filed":   {When: mine, Refused: "not-found"},
		"by nobody":               {When: proposal.WithdrawArgs{}, Refused: "not-found"},
		"once it was carried out": {Given: lives[proposal.IsSettled], When: mine, Refused: "already-decided"},
	})
}

func TestWhoWithdrawsIsNeverAnArgument(t *testing.T) {
	if _, err := proposal.Withdraw.Parse([]byte(`{"proposal":"prop_1","asker":{"kind":"agent","id":"agent_2"}}`)); err == nil {
		t.Error("the asker was taken from the arguments")
	}
	cmd, err := proposal.Withdraw.Parse([]byte(`{"proposal":"prop_1"}`))
	if err != nil {
		t.Fatal(err)
	}
	signed := cmd.Args.(proposal.WithdrawArgs).SignedBy(asker).(proposal.WithdrawArgs)
	if signed.Asker != asker || signed.Proposal != "prop_1" {
		t.Errorf("signed as %+v", signed)
	}
}

func TestApprovedIsWhatWasOnTheScreen(t *testing.T) {
	events, err := proposal.Approve(state(t, proposal.Waiting), one, "d1", nil, "act_1", noon)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]proposal.Event{approved}, events); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	p := state(t, proposal.IsApproved)
	if p.By != "person_1" || p.Approval != "act_1" || p.Asker != asker || p.Called() != "Publish 2 changes" {
		t.Errorf("after it: %+v", p)
	}
	if diff := cmp.Diff([]proposal.Called{called}, p.Calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if got := state(t, proposal.IsSettled).Results; !slices.Equal(got, settled.Results) {
		t.Errorf("results: %+v", got)
	}
}

func TestNothingAboutAProposalIsTakenBack(t *testing.T) {
	for status, history := range lives {
		domaintest.Laws(t, proposal.Kind, history)
		for i := range history {
			if _, err := proposal.Kind.TakeBack(history[:i+1], i); err == nil {
				t.Errorf("%s: %T can be taken back", status, history[i])
			}
		}
	}
}

func TestADecisionOfSeveralTakesThemAll(t *testing.T) {
	two := policy.Deciders{{Roles: []policy.Role{policy.Owner, policy.Editor}, Need: 2}}
	other := policy.Decider{ID: "person_2", Role: policy.Editor}
	yes := func(by, digest string) any { return proposal.Assented{By: by, Digest: digest} }
	for name, c := range map[string]struct {
		given   []any
		by      policy.Decider
		digest  string
		then    proposal.Event
		refused string
	}{
		"the first":                     {[]any{filed, called}, one, "d1", proposal.Assented{By: "person_1", Digest: "d1"}, ""},
		"the second":                    {[]any{filed, called, yes("person_1", "d1")}, other, "d1", proposal.Approved{By: "person_2", Digest: "d1", Action: "act_1"}, ""},
		"the first again":               {[]any{filed, called, yes("person_1", "d1")}, one, "d1", nil, "already-decided"},
		"the first to another card":     {[]any{filed, called, yes("person_1", "d1")}, one, "d2", proposal.Assented{By: "person_1", Digest: "d2"}, ""},
		"the second to another":         {[]any{filed, called, yes("person_1", "d1")}, other, "d2", proposal.Assented{By: "person_2", Digest: "d2"}, ""},
		"somebody whose turn it is not": {[]any{filed, called}, policy.Decider{ID: "person_3", Role: policy.Auditor}, "d1", nil, "permission"},
		"after a no":                    {[]any{filed, called, yes("person_1", "d1"), declined}, other, "d1", nil, "already-decided"},
	} {
		domaintest.Laws(t, proposal.Kind, c.given)
		at, err := proposal.Kind.Fold(c.given)
		if err != nil {
			t.Fatal(err)
		}
		events, err := proposal.Approve(at.(proposal.Proposal), c.by, c.digest, two, "act_1", noon)
		no, _ := errors.AsType[*domain.Refusal](err)
		switch {
		case c.refused != "" && (no == nil || no.Code != c.refused):
			t.Errorf("%s: %v", name, err)
		case c.refused == "" && (err != nil || !cmp.Equal([]proposal.Event{c.then}, events)):
			t.Errorf("%s: %v, %v", name, events, err)
		}
	}
}

func TestAProposalIsBroughtUpAgainOnceBeforeItsTimeIsOver(t *testing.T) {
	due := filed.Expires.Add(-proposal.Notice)
	for name, c := range map[string]struct {
		given []any
		now   time.Time
		said  bool
	}{
		"too early":            {[]any{filed, called}, due.Add(-1), false},
		"in time":              {[]any{filed, called}, due, true},
		"at the last moment":   {[]any{filed, called}, filed.Expires.Add(-1), true},
		"too late":             {[]any{filed, called}, filed.Expires, false},
		"once":                 {[]any{filed, called, proposal.Reminded{}}, due, false},
		"not when it is ended": {[]any{filed, called, declined}, due, false},
	} {
		domaintest.Laws(t, proposal.Kind, c.given)
		at, err := proposal.Kind.Fold(c.given)
		if err != nil {
			t.Fatal(err)
		}
		events, err := proposal.Remind(at.(proposal.Proposal), c.now)
		if err != nil || (len(events) == 1) != c.said {
			t.Errorf("%s: %v, %v", name, events, err)
		}
	}
}
