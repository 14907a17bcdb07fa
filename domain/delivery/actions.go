package delivery

import (
	"assent/domain"
	"assent/domain/action"
)

// Actions are everything that can be asked of deliveries. Only the system itself
// notes what became of one.
var Actions = []*action.Action{Fail, Arrive, Retry}

// Which names a delivery in arguments.
type Which struct {
	Delivery string `json:"delivery" jsonschema:"the delivery's id (dlv_…)"`
}

// Target is the delivery's id.
func (w Which) Target() string { return w.Delivery }

// FailArgs notes that an event did not get to a webhook.
type FailArgs struct {
	Webhook string `json:"webhook" jsonschema:"the webhook's id" limit:"100"`
	Event   string `json:"event" jsonschema:"the event's id" limit:"100"`
	Name    string `json:"name" jsonschema:"what it is told as" limit:"100"`
	Stream  string `json:"stream" jsonschema:"whose event it is" limit:"1000"`
	Version int64  `json:"version" jsonschema:"which of its events"`
	Code    string `json:"code" jsonschema:"what came back" limit:"40"`
	Held    bool   `json:"held,omitempty" jsonschema:"it is tried on and on"`

	By domain.Principal `json:"-"` // filled in by the road
}

// Target is the delivery of that event to that webhook.
func (f FailArgs) Target() string { return ID(f.Webhook, domain.ID(f.Event)) }

// SignedBy fills in who says so.
func (f FailArgs) SignedBy(p domain.Principal) any {
	f.By = p
	return f
}

// Fail notes that something did not arrive.
var Fail = action.Of(Kind, fail, FailArgs{
	Webhook: "hook_06g0example0000000000000000", Event: "evt_06g0example00000000000000000", Name: "site.published",
	Stream: "live-home/main", Version: 4, Code: "404",
}, action.Facts{
	Name:       "delivery.fail",
	Title:      "Note that a message did not arrive",
	About:      "Notes that a webhook could not be told of something. Only the server itself does this.",
	Class:      action.People,
	Scope:      "workspace:manage",
	Permission: "workspace.manage",
	Final:      true,
})

func fail(d Delivery, f FailArgs) ([]Event, error) {
	if f.By.Kind != domain.KindSystem {
		return nil, ours
	}
	e := Failed{
		Webhook: f.Webhook, Event: domain.ID(f.Event), Name: f.Name,
		Stream: f.Stream, Version: domain.Version(f.Version), Code: f.Code, Held: f.Held,
	}
	if d.Status == IsFailed && d.What == e {
		return nil, nil // already so
	}
	return []Event{e}, nil
}

// ArriveArgs notes that something arrived after all.
type ArriveArgs struct {
	Which
	By domain.Principal `json:"-"` // filled in by the road
}

// SignedBy fills in who says so.
func (a ArriveArgs) SignedBy(p domain.Principal) any {
	a.By = p
	return a
}

// Arrive notes that what had failed arrived after all.
var Arrive = action.Of(Kind, arrive, ArriveArgs{Which: Which{"dlv_06g0example00000000000000000"}}, action.Facts{
	Name:       "delivery.arrive",
	Title:      "Note that a message arrived after all",
	About:      "Notes that a webhook was told after all of what had failed. Only the server itself does this.",
	Class:      action.People,
	Scope:      "workspace:manage",
	Permission: "workspace.manage",
	Final:      true,
})

func arrive(d Delivery, a ArriveArgs) ([]Event, error) {
	switch {
	case a.By.Kind != domain.KindSystem:
		return nil, ours
	case d.Status == "" || d.Status == IsArrived:
		return nil, nil // already so
	}
	return []Event{Arrived{}}, nil
}

// RetryArgs asks for something to be sent again.
type RetryArgs struct{ Which }

// Retry has what failed sent again, under the same id as the first time.
var Retry = action.Of(Kind, retry, RetryArgs{Which{"dlv_06g0example00000000000000000"}}, action.Facts{
	Name:       "delivery.retry",
	Title:      "Send it again",
	About:      "Sends a message again that a webhook could not be told, or sends one that is held at once.",
	Class:      action.People,
	Scope:      "workspace:manage",
	Permission: "decide",
	Final:      true,
})

func retry(d Delivery, _ RetryArgs) ([]Event, error) {
	switch d.Status {
	case "":
		return nil, domain.Refuse("not-found", "There is no such delivery. Look at the webhook, or at the audit, to find its id.")
	case IsFailed:
		return []Event{Retried{}}, nil
	}
	return nil, nil // it is on its way, or has arrived
}

var ours = domain.Refuse("person-only", "Only the server itself notes what became of a message. To send one again, ask for `delivery.retry`.")
