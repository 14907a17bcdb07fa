// Package webhook is addresses outside that are told of what happens here: which
// ones there are, and what each of them is told. What they are told is told by
// commands/reactions; the secrets it is signed with are nowhere in the log.
package webhook

import (
	"slices"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/vocab"
)

// Webhook is one address and what it is told of.
type Webhook struct {
	Exists bool     // false again once removed
	URL    string   // empty before anything happened
	Events []string // names it is told of, sorted; empty: all
	Paused bool     // what happens meanwhile waits for it
	Secret int      // the number of the secret in force, from 1
}

// Wants says that it is told of events of a name. One that asks whether it can
// be reached is told always.
func (w Webhook) Wants(name string) bool {
	return name == Test || len(w.Events) == 0 || slices.Contains(w.Events, name)
}

// Fields are what a person would recognise it by.
func (w Webhook) Fields() []domain.Field {
	if !w.Exists {
		return nil
	}
	return []domain.Field{
		{Name: "url", Value: w.URL},
		{Name: "events", Value: w.Events},
		{Name: "paused", Value: w.Paused},
		{Name: "secret", Value: w.Secret},
	}
}

// Called is the address.
func (w Webhook) Called() string { return w.URL }

// Test is the name of the event that only asks whether it arrives.
const Test = "webhook.tested"

// Names are what can be told of, sorted. They are promises to whoever listens:
// never change what one means.
var Names = []string{
	"content.changed",
	"proposal.approved", "proposal.declined", "proposal.expired", "proposal.filed", "proposal.reminded", "proposal.settled", "proposal.withdrawn",
	"site.published",
}

// Kind is webhooks as the road sees them.
var Kind = action.KindOf[Webhook, Event]("webhook", "hook", Words)

// Event is a fact about one webhook.
type Event interface{ domain.Event[Webhook, Event] }

// CreatedWord is the word that every webhook's history begins with.
const CreatedWord = "webhook.created"

// Words are the names in the log. They outlive the code: never reuse one.
var Words = []vocab.Word{
	vocab.Say[Created](CreatedWord),
	vocab.Say[Updated]("webhook.updated"),
	vocab.Say[Removed]("webhook.removed"),
	vocab.Say[Restored]("webhook.restored"),
	vocab.Say[Rotated]("webhook.rotated"),
	vocab.Say[Revealed]("webhook.revealed"),
	vocab.Say[Tested](Test),
}

// Created is a webhook's first fact.
type Created struct {
	URL    string   `json:"url"`
	Events []string `json:"events,omitempty"`
}

// Evolve is the webhook as it was made.
func (e Created) Evolve(Webhook) Webhook {
	return Webhook{Exists: true, URL: e.URL, Events: e.Events, Secret: 1}
}

// Reverse removes what was made.
func (Created) Reverse(Webhook) Event { return Removed{} }

// Updated sets what it names and leaves the rest.
type Updated struct {
	URL    *string   `json:"url,omitempty"`
	Events *[]string `json:"events,omitempty"`
	Paused *bool     `json:"paused,omitempty"`
}

// Evolve sets what the event names.
func (e Updated) Evolve(w Webhook) Webhook {
	domain.Set(&w.URL, e.URL)
	domain.Set(&w.Events, e.Events)
	domain.Set(&w.Paused, e.Paused)
	return w
}

// Reverse sets the same fields to what they were.
func (e Updated) Reverse(before Webhook) Event {
	return Updated{
		URL:    domain.Was(e.URL, before.URL),
		Events: domain.Was(e.Events, before.Events),
		Paused: domain.Was(e.Paused, before.Paused),
	}
}

// Removed ends it: nothing more is told there.
type Removed struct{}

// Evolve marks it as gone.
func (Removed) Evolve(w Webhook) Webhook {
	w.Exists = false
	return w
}

// Reverse restores what was there.
func (Removed) Reverse(Webhook) Event { return Restored{} }

// Restored brings a removed webhook back; what happened meanwhile is told then.
type Restored struct{}

// Evolve marks it as there.
func (Restored) Evolve(w Webhook) Webhook {
	w.Exists = true
	return w
}

// Reverse removes it again.
func (Restored) Reverse(Webhook) Event { return Removed{} }

// Rotated puts a new secret in force.
type Rotated struct {
	Secret int `json:"secret"` // its number
}

// Evolve counts the new secret.
func (e Rotated) Evolve(w Webhook) Webhook {
	w.Secret = e.Secret
	return w
}

// Reverse is nil: the old secret may be known to somebody.
func (Rotated) Reverse(Webhook) Event { return nil }

// Revealed notes that its secret was shown to somebody.
type Revealed struct{}

// Evolve changes nothing.
func (Revealed) Evolve(w Webhook) Webhook { return w }

// Reverse is nil: what was seen was seen.
func (Revealed) Reverse(Webhook) Event { return nil }

// Tested has it told of something, to see whether it arrives.
type Tested struct{}

// Evolve changes nothing.
func (Tested) Evolve(w Webhook) Webhook { return w }

// Reverse is nil: it was sent.
func (Tested) Reverse(Webhook) Event { return nil }
