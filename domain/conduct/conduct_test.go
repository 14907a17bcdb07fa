package conduct_test

import (
	"testing"
	"time"

	"assent/domain"
	"assent/domain/conduct"
	"assent/domain/domaintest"
)

var night = time.Date(2026, 12, 1, 0, 30, 0, 0, time.FixedZone("", 3600)) // still November in UTC

func TestOneStreamAPrincipalAndDay(t *testing.T) {
	agent := domain.Principal{Kind: domain.KindAgent, ID: "agent_1"}
	tests := map[string]domain.Stream{
		"conduct-home/agent.agent_1-2026-11-30":  conduct.Of("home", agent, night),
		"conduct-other/agent.agent_1-2026-11-30": conduct.Of("other", agent, night),
		"conduct-home/agent.agent_1-2026-12-01":  conduct.Of("home", agent, night.Add(time.Hour)),
		"conduct-home/person.agent_1-2026-11-30": conduct.Of("home", domain.Principal{Kind: domain.KindPerson, ID: "agent_1"}, night),
	}
	for want, stream := range tests {
		if got := stream.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if back, err := domain.ParseStream(want); err != nil || back != stream {
			t.Errorf("%s reads back as %v (%v)", want, back, err)
		}
	}
}

func TestConductChangesNothingAndIsNotTakenBack(t *testing.T) {
	history := []any{
		conduct.Refused{Action: "site.publish", Target: "main", Code: "scope", Why: "This needs `publish`.", Count: 3},
		conduct.Idle{Action: "page.update", Target: "page_1", Count: 1},
		conduct.Read{Action: "article.list", Count: 40, Targets: []string{"main"}, Minute: night.UTC()},
	}
	domaintest.Laws(t, conduct.Kind, history)
	state, err := conduct.Kind.Fold(history)
	if err != nil || len(state.Fields()) > 0 {
		t.Errorf("adds up to %v (%v)", state, err)
	}
	for i := range history {
		if _, err := conduct.Kind.TakeBack(history[:i+1], i); err == nil {
			t.Errorf("%T can be taken back", history[i])
		}
	}
}
