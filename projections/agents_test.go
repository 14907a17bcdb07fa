package projections_test

import (
	"slices"
	"testing"
	"time"

	"assent/domain"
	"assent/domain/agent"
	"assent/domain/policy"
)

// TestKeysThatEndSoonAreFound: from a week before its end on, until it was
// brought up, revoked or replaced.
func TestKeysThatEndSoonAreFound(t *testing.T) {
	j := newJournal(t)
	end := start.Add(30 * 24 * time.Hour)
	for id, events := range map[string][]any{
		"agent_1": {agent.Minted{Key: "k", Expires: end}, agent.Minted{Key: "later", Expires: end.Add(24 * time.Hour)}},
		"agent_2": {agent.Minted{Key: "k"}},
		"agent_3": {agent.Minted{Key: "k", Expires: end}, agent.Revoked{Key: "k"}},
		"agent_4": {agent.Minted{Key: "k", Expires: end}, agent.Reminded{Key: "k", Ends: end}},
		"agent_5": {agent.Minted{Key: "k", Expires: end}, agent.Minted{Key: "n"}, agent.Ending{Key: "k", At: end, For: "n"}},
		"agent_6": {agent.Minted{Key: "k", Expires: end}, agent.Reminded{Key: "k", Ends: end}, agent.Minted{Key: "later", Expires: end.Add(time.Hour)}},
	} {
		j.say(byPerson(domain.ID("act_"+id), "agent.create"), at("agent", id), append([]any{agent.Created{Person: "person_1", Mode: policy.Edits}}, events...)...)
	}
	s := folded(t, j)
	for name, c := range map[string]struct {
		now  time.Time
		want []string
	}{
		"before":             {end.Add(-agent.Notice - time.Microsecond), nil},
		"a week before":      {end.Add(-agent.Notice), []string{"agent_1"}},
		"and for each other": {end.Add(-agent.Notice + time.Hour), []string{"agent_1", "agent_6"}},
	} {
		got, err := s.EndingKeys(t.Context(), c.now)
		var ids []string
		for _, s := range got {
			ids = append(ids, s.ID)
		}
		slices.Sort(ids)
		if err != nil || !slices.Equal(ids, c.want) {
			t.Errorf("%s: %v, want %v (%v)", name, ids, c.want, err)
		}
	}
}
