package person_test

import (
	"testing"

	"assent/domain/domaintest"
	"assent/domain/person"
	"assent/domain/policy"
)

var editor = person.Seated{Role: policy.Editor}

func TestSeat(t *testing.T) {
	domaintest.Run(t, person.Seat, map[string]domaintest.Case[person.SeatArgs]{
		"lets a person in": {When: person.SeatArgs{Role: "editor"}, Then: []any{editor}},
		"another role":     {Given: []any{editor}, When: person.SeatArgs{Person: "x", Role: "owner"}, Then: []any{person.Seated{Role: policy.Owner}}},
		"already so":       {Given: []any{editor}, When: person.SeatArgs{Person: "x", Role: "editor"}},
		"back again":       {Given: []any{editor, person.Unseated{}}, When: person.SeatArgs{Person: "x", Role: "editor"}, Then: []any{editor}},
	})
}

func TestUnseat(t *testing.T) {
	domaintest.Run(t, person.Unseat, map[string]domaintest.Case[person.UnseatArgs]{
		"takes the role away": {Given: []any{editor}, When: person.UnseatArgs{Person: "x"}, Then: []any{person.Unseated{}}},
		"already so":          {When: person.UnseatArgs{Person: "x"}},
	})
}

func TestErase(t *testing.T) {
	domaintest.Run(t, person.Erase, map[string]domaintest.Case[person.EraseArgs]{
		"forgets somebody with a seat":    {Given: []any{editor}, When: person.EraseArgs{Person: "x"}, Then: []any{person.Erased{}}},
		"forgets somebody without":        {Given: []any{editor, person.Unseated{}}, When: person.EraseArgs{Person: "x"}, Then: []any{person.Erased{}}},
		"already so":                      {Given: []any{editor, person.Erased{}}, When: person.EraseArgs{Person: "x"}},
		"nobody of whom nothing is known": {When: person.EraseArgs{Person: "x"}, Then: []any{person.Erased{}}},
	})
	domaintest.Run(t, person.Seat, map[string]domaintest.Case[person.SeatArgs]{
		"nobody is seated again who was erased": {Given: []any{editor, person.Erased{}}, When: person.SeatArgs{Person: "x", Role: "editor"}, Refused: "final"},
	})
}

func TestThereAreThreeRoles(t *testing.T) {
	for role, ok := range map[string]bool{"owner": true, "editor": true, "auditor": true, "admin": false, "": false} {
		_, err := person.Seat.Parse([]byte(`{"role":"` + role + `"}`))
		if (err == nil) != ok {
			t.Errorf("role %q: %v", role, err)
		}
	}
}

func TestASeatIsNeverUndoneByTheWay(t *testing.T) {
	for _, history := range [][]any{{editor}, {editor, person.Unseated{}}} {
		if back, err := person.Kind.TakeBack(history, len(history)-1); err == nil {
			t.Errorf("%v is taken back by %v", history, back)
		}
	}
}
