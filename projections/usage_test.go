package projections_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assent/domain"
	"assent/domain/proposal"
	"assent/projections"
)

// A proposal is asked for and decided so many seconds later.
type decided struct {
	agent, action string
	after         time.Duration
	event         any
}

func TestHowPeopleDecideIsCountedByPersonAndByRule(t *testing.T) {
	yes := func(by string) proposal.Approved { return proposal.Approved{By: by} }
	j := newJournal(t)
	for i, d := range []decided{
		{"agent_1", "article.update", 1 * time.Second, yes("ana")},
		{"agent_1", "article.update", 2 * time.Second, yes("ana")},
		{"agent_1", "article.update", 60 * time.Second, yes("ben")},
		{"agent_1", "page.update", 3 * time.Second, yes("ana")},
		{"agent_1", "page.update", 5 * time.Second, yes("ana")},
		{"agent_1", "page.update", 9 * time.Second, yes("ana")},
		{"agent_1", "page.update", 9 * time.Second, proposal.Declined{By: "ana"}},
		{"agent_2", "article.update", 9 * time.Second, yes("ana")},
		{"agent_2", "article.update", 9 * time.Second, proposal.Expired{}},
		{"agent_2", "article.update", 9 * time.Second, proposal.Withdrawn{}},
	} {
		s := at("proposal", fmt.Sprintf("prop_%d", i))
		j.say(domain.Envelope{
			Action: domain.ID(fmt.Sprintf("act_%d", i)), Name: d.action, Principal: domain.Principal{Kind: domain.KindAgent, ID: d.agent},
			Via: domain.Via{Key: "key_1"}, Question: json.RawMessage(`{"site":"main"}`),
		}, s, proposal.Filed{Cause: "manual-mode", Expires: start.AddDate(0, 0, 7)})
		asked := j.records[len(j.records)-1].At
		j.say(domain.Envelope{Action: domain.ID(fmt.Sprintf("act_d%d", i)), Name: "proposal.decide"}, s, d.event)
		j.records[len(j.records)-1].At = asked.Add(d.after)
	}
	s := folded(t, j)
	got, err := s.Usage(t.Context(), "home", time.Time{})
	want := projections.Usage{
		People: []projections.Figures{
			{Of: "ana", Approved: 6, Declined: 1, Quick: 2, Median: 5 * time.Second},
			{Of: "ben", Approved: 1, Median: time.Minute},
		},
		Causes: []projections.Figures{{Of: "manual-mode", Approved: 7, Declined: 1, Quick: 2, Median: 9 * time.Second}},
		Always: []projections.AlwaysYes{{Shape: projections.Shape{Agent: "agent_1", Key: "key_1", Action: "article.update", Site: "main"}, Times: 3}},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	if later, err := s.Usage(t.Context(), "home", start.AddDate(1, 0, 0)); err != nil || len(later.People) != 0 {
		t.Errorf("nobody decided since, and it says %+v %v", later, err)
	}
}
