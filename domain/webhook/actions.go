package webhook

import (
	"reflect"
	"slices"
	"strings"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/place"
)

// Actions are everything that can be asked of webhooks.
var Actions = []*action.Action{List.Action, Create, Update, Remove, Rotate, Reveal, Send}

// reaches is why an agent may only ever ask for a webhook to be set up or
// changed.
const reaches = "It reaches out of the house, so an owner decides."

// Which names a webhook in arguments.
type Which struct {
	Webhook string `json:"webhook" jsonschema:"the webhook's id (hook_…)"`
}

// Target is the webhook's id.
func (w Which) Target() string { return w.Webhook }

// List lists webhooks.
var List = action.Look(action.Page{}, action.Facts{
	Name:       "webhook.list",
	Title:      "List webhooks",
	About:      "Lists the addresses outside that are told of what happens here, what each is told of, and what could not be delivered.",
	Scope:      "site:read",
	Permission: "audit.read",
})

// CreateArgs asks for a webhook.
type CreateArgs struct {
	URL    string   `json:"url" jsonschema:"the address that is called, beginning with https://" limit:"2048"`
	Events []string `json:"events,omitzero" jsonschema:"names of what it is told of, such as site.published; all when left out"`
}

// Target is empty: the webhook is new.
func (CreateArgs) Target() string { return "" }

// Create makes a webhook. It is told of what happens from then on.
var Create = action.Of(Kind, create, CreateArgs{URL: "https://example.org/hooks/assent", Events: []string{"site.published"}}, action.Facts{
	Name:       "webhook.create",
	Title:      "Set up a webhook",
	About:      "Has an address outside told of what happens here, by signed messages that hold ids and no texts. This always waits for an owner.",
	Class:      action.Content,
	Scope:      "site:write",
	Permission: "workspace.manage",
	Gate:       reaches,
})

func create(w Webhook, c CreateArgs) ([]Event, error) {
	e := Created{URL: c.URL, Events: sorted(c.Events)}
	return []Event{e}, fits(e.Evolve(w))
}

// UpdateArgs asks for a webhook to be changed.
type UpdateArgs struct {
	Which
	URL    *string   `json:"url,omitempty" jsonschema:"the address that is called" limit:"2048"`
	Events *[]string `json:"events,omitempty" jsonschema:"names of what it is told of; replaces the list, and an empty one stands for all"`
	Paused *bool     `json:"paused,omitempty" jsonschema:"while this is so nothing is sent, and what happens waits"`
	action.Rev
}

// Update changes a webhook. It holds for everything that was not sent yet.
var Update = action.Of(Kind, update, UpdateArgs{Which: Which{"hook_06g0example0000000000000000"}, Paused: new(true)}, action.Facts{
	Name:       "webhook.update",
	Title:      "Change a webhook",
	About:      "Sets which address is called and what it is told of, or pauses it. This always waits for an owner.",
	Class:      action.Content,
	Scope:      "site:write",
	Permission: "workspace.manage",
	Gate:       reaches,
})

func update(w Webhook, u UpdateArgs) ([]Event, error) {
	if !w.Exists {
		return nil, missing
	}
	if u.Events != nil {
		u.Events = new(sorted(*u.Events))
	}
	e := Updated{
		URL:    domain.Changed(w.URL, u.URL),
		Events: domain.Changed(w.Events, u.Events),
		Paused: domain.Changed(w.Paused, u.Paused),
	}
	if reflect.ValueOf(e).IsZero() {
		return nil, nil // already so
	}
	return []Event{e}, fits(e.Evolve(w))
}

// RemoveArgs asks for a webhook to end.
type RemoveArgs struct {
	Which
	action.Rev
}

// Remove ends a webhook.
var Remove = action.Of(Kind, remove, RemoveArgs{Which: Which{"hook_06g0example0000000000000000"}}, action.Facts{
	Name:       "webhook.remove",
	Title:      "Remove a webhook",
	About:      "Ends it: nothing more is sent there. This always waits for an owner.",
	Class:      action.Destructive,
	Scope:      "site:write",
	Permission: "workspace.manage",
	Gate:       reaches,
})

func remove(w Webhook, _ RemoveArgs) ([]Event, error) {
	switch {
	case w.URL == "":
		return nil, missing
	case !w.Exists:
		return nil, nil // already so
	}
	return []Event{Removed{}}, nil
}

// RotateArgs asks for a new secret.
type RotateArgs struct{ Which }

// Rotate puts a new secret in force. The old one signs along for a day.
var Rotate = action.Of(Kind, rotate, RotateArgs{Which{"hook_06g0example0000000000000000"}}, action.Facts{
	Name:       "webhook.rotate",
	Title:      "Change a webhook's secret",
	About:      "Puts a new secret in force. For a day messages are signed with the old one as well, so that nothing is lost meanwhile.",
	Class:      action.People,
	Scope:      "workspace:manage",
	Permission: "workspace.manage",
	Final:      true,
})

func rotate(w Webhook, _ RotateArgs) ([]Event, error) {
	if !w.Exists {
		return nil, missing
	}
	return []Event{Rotated{Secret: w.Secret + 1}}, nil
}

// RevealArgs asks for a secret to be shown.
type RevealArgs struct{ Which }

// Reveal notes that somebody is shown a webhook's secret: whoever can, shows it
// once this is in the log.
var Reveal = action.Of(Kind, reveal, RevealArgs{Which{"hook_06g0example0000000000000000"}}, action.Facts{
	Name:       "webhook.reveal",
	Title:      "Show a webhook's secret",
	About:      "Notes who is shown the secret that a webhook's messages are signed with.",
	Class:      action.People,
	Scope:      "workspace:manage",
	Permission: "workspace.manage",
	Final:      true,
})

func reveal(w Webhook, _ RevealArgs) ([]Event, error) {
	if !w.Exists {
		return nil, missing
	}
	return []Event{Revealed{}}, nil
}

// SendArgs asks for a message that only tests whether it arrives.
type SendArgs struct{ Which }

// Send has a webhook told of something, to see whether it arrives.
var Send = action.Of(Kind, send, SendArgs{Which{"hook_06g0example0000000000000000"}}, action.Facts{
	Name:       "webhook.test",
	Title:      "Test a webhook",
	About:      "Sends a message that means nothing, to see whether it arrives.",
	Class:      action.People,
	Scope:      "workspace:manage",
	Permission: "workspace.manage",
	Final:      true,
})

func send(w Webhook, _ SendArgs) ([]Event, error) {
	if !w.Exists {
		return nil, missing
	}
	return []Event{Tested{}}, nil
}

var missing = domain.Refuse("not-found", "There is no such webhook. List the webhooks to find its id.")

// sorted is a list of names in one way: the same names are the same list.
func sorted(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }

// fits says what is wrong with a webhook as it would be.
func fits(w Webhook) error {
	for _, name := range w.Events {
		if !slices.Contains(Names, name) {
			return domain.Refuse("invalid", "Nothing is told of under the name %q. Choose among %s.", place.Clip(name), strings.Join(Names, ", "))
		}
	}
	return fitsURL(w.URL)
}
