package delivery_test

import (
	"testing"

	"assent/domain"
	"assent/domain/delivery"
	"assent/domain/domaintest"
)

var (
	system = domain.Principal{Kind: domain.KindSystem, ID: "reactions"}
	person = domain.Principal{Kind: domain.KindPerson, ID: "person_1"}
	failed = delivery.Failed{Webhook: "hook_1", Event: "evt_1", Name: "site.published", Stream: "live-home/main", Version: 4, Code: "404"}
	which  = delivery.Which{Delivery: delivery.ID("hook_1", "evt_1")}
)

func fail(code string, held bool, by domain.Principal) delivery.FailArgs {
	return delivery.FailArgs{Webhook: "hook_1", Event: "evt_1", Name: "site.published", Stream: "live-home/main", Version: 4, Code: code, Held: held, By: by}
}

func TestFail(t *testing.T) {
	held := failed
	held.Code, held.Held = "timeout", true
	domaintest.Run(t, delivery.Fail, map[string]domaintest.Case[delivery.FailArgs]{
		"for the first time":    {When: fail("404", false, system), Then: []any{failed}},
		"the same again":        {Given: []any{failed}, When: fail("404", false, system)},
		"in another way":        {Given: []any{failed}, When: fail("timeout", true, system), Then: []any{held}},
		"after it was asked":    {Given: []any{failed, delivery.Retried{}}, When: fail("404", false, system), Then: []any{failed}},
		"as somebody claims it": {When: fail("404", false, person), Refused: "person-only"},
	})
	if got := fail("404", false, system).Target(); got != which.Delivery {
		t.Errorf("the delivery is %s, not %s", got, which.Delivery)
	}
}

func TestArrive(t *testing.T) {
	domaintest.Run(t, delivery.Arrive, map[string]domaintest.Case[delivery.ArriveArgs]{
		"what had failed":       {Given: []any{failed}, When: delivery.ArriveArgs{Which: which, By: system}, Then: []any{delivery.Arrived{}}},
		"what was asked for":    {Given: []any{failed, delivery.Retried{}}, When: delivery.ArriveArgs{Which: which, By: system}, Then: []any{delivery.Arrived{}}},
		"once":                  {Given: []any{failed, delivery.Arrived{}}, When: delivery.ArriveArgs{Which: which, By: system}},
		"what never failed":     {When: delivery.ArriveArgs{Which: which, By: system}},
		"as somebody claims it": {Given: []any{failed}, When: delivery.ArriveArgs{Which: which, By: person}, Refused: "person-only"},
	})
}

func TestRetry(t *testing.T) {
	ask := delivery.RetryArgs{Which: which}
	domaintest.Run(t, delivery.Retry, map[string]domaintest.Case[delivery.RetryArgs]{
		"what failed":       {Given: []any{failed}, When: ask, Then: []any{delivery.Retried{}}},
		"already asked":     {Given: []any{failed, delivery.Retried{}}, When: ask},
		"arrived meanwhile": {Given: []any{failed, delivery.Arrived{}}, When: ask},
		"never failed":      {When: ask, Refused: "not-found"},
	})
}
