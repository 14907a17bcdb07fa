// Package delivery is what a webhook was to be told of and was not: that it
// failed, that a person wants it tried again, that it arrived after all. What
// arrives at once leaves no trace here.
package delivery

import (
	"assent/domain"
	"assent/domain/action"
	"assent/domain/vocab"
)

// Status is where a delivery that failed stands.
type Status string

// The statuses.
const (
	IsFailed  Status = "failed"  // nothing more happens until a person asks, unless it is held
	IsAsked   Status = "asked"   // a person wants it tried again
	IsArrived Status = "arrived" // it arrived after all
)

// Delivery is one event on its way to one webhook.
type Delivery struct {
	Status Status // empty: nothing has gone wrong
	What   Failed // as it failed last
}

// Fields are what a person would recognise it by.
func (d Delivery) Fields() []domain.Field {
	if d.Status == "" {
		return nil
	}
	return []domain.Field{
		{Name: "status", Value: string(d.Status)},
		{Name: "webhook", Value: d.What.Webhook},
		{Name: "event", Value: d.What.Event},
		{Name: "name", Value: d.What.Name},
		{Name: "code", Value: d.What.Code},
		{Name: "held", Value: d.What.Held},
	}
}

// Called is what it is about.
func (d Delivery) Called() string { return d.What.Name }

// Kind is deliveries as the road sees them.
var Kind = action.KindOf[Delivery, Event]("delivery", "dlv", Words)

// ID is the id of one event's delivery to one webhook.
func ID(webhook string, event domain.ID) string {
	return string(domain.Derive(Kind.Prefix, webhook, string(event)))
}

// Event is a fact about one delivery.
type Event interface{ domain.Event[Delivery, Event] }

// The words that others than the road look for.
const (
	FailedWord  = "delivery.failed"
	RetriedWord = "delivery.retried"
	ArrivedWord = "delivery.arrived"
)

// Words are the names in the log. They outlive the code: never reuse one.
var Words = []vocab.Word{
	vocab.Say[Failed](FailedWord),
	vocab.Say[Retried](RetriedWord),
	vocab.Say[Arrived](ArrivedWord),
}

// Failed says that an event did not get to a webhook, and where the event is.
type Failed struct {
	Webhook string         `json:"webhook"`
	Event   domain.ID      `json:"event"`
	Name    string         `json:"name"`   // that it is told under, such as site.published
	Stream  string         `json:"stream"` // whose event it is
	Version domain.Version `json:"version"`
	Code    string         `json:"code"`           // what came back: a status such as 404, or timeout, unreachable, private-address
	Held    bool           `json:"held,omitempty"` // it is tried on and on, and what comes after it waits
}

// Evolve notes the failure.
func (e Failed) Evolve(Delivery) Delivery { return Delivery{IsFailed, e} }

// Reverse is nil: it was tried.
func (Failed) Reverse(Delivery) Event { return nil }

// Retried says that a person wants it tried again.
type Retried struct{}

// Evolve notes the wish.
func (Retried) Evolve(d Delivery) Delivery {
	d.Status = IsAsked
	return d
}

// Reverse is nil: it may be on its way.
func (Retried) Reverse(Delivery) Event { return nil }

// Arrived says that it arrived after all.
type Arrived struct{}

// Evolve notes the end of it.
func (Arrived) Evolve(d Delivery) Delivery {
	d.Status = IsArrived
	return d
}

// Reverse is nil: it arrived.
func (Arrived) Reverse(Delivery) Event { return nil }
