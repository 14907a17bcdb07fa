package readmodel_test

import (
	"testing"

	"assent/domain/domaintest"
	"assent/domain/readmodel"
)

func TestSkip(t *testing.T) {
	broken := readmodel.SkipArgs{Event: "evt_06g0example000000000000000"}
	domaintest.Run(t, readmodel.Skip, map[string]domaintest.Case[readmodel.SkipArgs]{
		"an event":     {When: broken, Then: []any{readmodel.Skipped{}}},
		"already so":   {Given: []any{readmodel.Skipped{}}, When: broken},
		"an action":    {When: readmodel.SkipArgs{Event: "act_06g0example000000000000000"}, Refused: "invalid"},
		"a position":   {When: readmodel.SkipArgs{Event: "17"}, Refused: "invalid"},
		"another path": {When: readmodel.SkipArgs{Event: "evt_1/../settings"}, Refused: "invalid"},
	})
}
