package containment_test

import (
	"testing"
	"time"

	"assent/domain"
	"assent/domain/containment"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func TestAScopeSaysExactlyWhoseDoingsAreMeant(t *testing.T) {
	tests := map[string]struct {
		scope containment.Scope
		fits  bool
	}{
		"an agent since a time":     {containment.Scope{Agent: "agent_1", Since: noon}, true},
		"its key":                   {containment.Scope{Agent: "agent_1", Key: "key_1", Since: noon}, true},
		"a session":                 {containment.Scope{Session: "sess_1"}, true},
		"a proposal":                {containment.Scope{Proposal: "prop_1"}, true},
		"a batch":                   {containment.Scope{Batch: "act_1"}, true},
		"nothing":                   {containment.Scope{}, false},
		"two at once":               {containment.Scope{Agent: "agent_1", Session: "sess_1", Since: noon}, false},
		"a key of nobody":           {containment.Scope{Key: "key_1", Since: noon}, false},
		"a key beside a proposal":   {containment.Scope{Key: "key_1", Proposal: "prop_1"}, false},
		"an agent since ever":       {containment.Scope{Agent: "agent_1"}, false},
		"an agent from tomorrow on": {containment.Scope{Agent: "agent_1", Since: noon.Add(24 * time.Hour)}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if err := tt.scope.Check(noon); (err == nil) != tt.fits {
				t.Error(err)
			}
		})
	}
}

func TestAScopeCoversItsOwnDoings(t *testing.T) {
	agent := domain.Principal{Kind: domain.KindAgent, ID: "agent_1"}
	done := func(at time.Time, e domain.Envelope) domain.Recorded {
		return domain.Recorded{Record: domain.Record{Fresh: domain.Fresh{Envelope: e}, At: at}}
	}
	byKey := domain.Envelope{Principal: agent, Via: domain.Via{Key: "key_1"}}
	tests := map[string]struct {
		scope  containment.Scope
		event  domain.Recorded
		covers bool
	}{
		"the agent's":                      {containment.Scope{Agent: "agent_1", Since: noon}, done(noon, byKey), true},
		"the agent's, before":              {containment.Scope{Agent: "agent_1", Since: noon}, done(noon.Add(-1), byKey), false},
		"another agent's":                  {containment.Scope{Agent: "agent_2", Since: noon}, done(noon, byKey), false},
		"a person's of the same id":        {containment.Scope{Agent: "agent_1", Since: noon}, done(noon, domain.Envelope{Principal: domain.Principal{Kind: domain.KindPerson, ID: "agent_1"}}), false},
		"through the key":                  {containment.Scope{Agent: "agent_1", Key: "key_1", Since: noon}, done(noon, byKey), true},
		"through another key":              {containment.Scope{Agent: "agent_1", Key: "key_2", Since: noon}, done(noon, byKey), false},
		"through another's key, same name": {containment.Scope{Agent: "agent_2", Key: "key_1", Since: noon}, done(noon, byKey), false},
		"in the session":                   {containment.Scope{Session: "sess_1"}, done(noon, domain.Envelope{Via: domain.Via{Session: "sess_1"}}), true},
		"in no session":                    {containment.Scope{Session: "sess_1"}, done(noon, byKey), false},
		"of the proposal":                  {containment.Scope{Proposal: "prop_1"}, done(noon, domain.Envelope{Proposal: "prop_1"}), true},
		"of the batch":                     {containment.Scope{Batch: "act_1"}, done(noon, domain.Envelope{Correlation: "act_1"}), true},
		"of no batch":                      {containment.Scope{Batch: "act_1"}, done(noon, byKey), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tt.scope.Covers(tt.event); got != tt.covers {
				t.Errorf("covered: %v", got)
			}
		})
	}
}
