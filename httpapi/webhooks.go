package httpapi

import (
	"context"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"assent/commands"
	"assent/domain"
	"assent/domain/action"
	"assent/domain/delivery"
	"assent/domain/webhook"
)

// Webhooks is what reaches outside. Of another workspace nothing is ever found.
type Webhooks interface {
	// Webhooks lists a page of them, oldest first, with what has not arrived. A
	// cursor that is not one of its own is refused as invalid.
	Webhooks(ctx context.Context, workspace string, page action.Page) (WebhookPage, error)
	// Secret is what messages of a webhook are signed with. That the caller is
	// shown it is recorded first; who may not is refused as by the road.
	Secret(ctx context.Context, call commands.Call, webhook string) (Secret, error)
}

// WebhookPage is a page of webhooks.
type WebhookPage struct {
	Items []Webhook `json:"items"`
	Next  string    `json:"next,omitempty"`
}

// Webhook is an address outside that is told of what happens here.
type Webhook struct {
	ID      string         `json:"id"`
	Rev     domain.Version `json:"rev"`
	URL     string         `json:"url"`
	Events  []string       `json:"events"` // what it is told of; everything when there are none
	Paused  bool           `json:"paused,omitempty"`
	Secret  int            `json:"secret"`            // the number of the one in force
	Failing []Late         `json:"failing,omitempty"` // what has not arrived, at most 20
}

// Late is a message that has not arrived.
type Late struct {
	Delivery string          `json:"delivery"`
	Event    domain.ID       `json:"event"`
	Name     string          `json:"name"`
	Status   delivery.Status `json:"status"`
	Code     string          `json:"code"`           // a status such as 404, or timeout, unreachable, private-address
	Held     bool            `json:"held,omitempty"` // it is tried on and on, and what comes after it waits
}

// Why is the code in words.
func (l Late) Why() string {
	switch l.Code {
	case "timeout":
		return "no answer in time"
	case "unreachable":
		return "nobody could be reached"
	case "private-address":
		return "the address is inside a network"
	case "fault":
		return "something went wrong here"
	}
	return "the answer was " + l.Code
}

// Secret is a webhook's, for its receiver to check messages with.
type Secret struct {
	Secret   string            `json:"secret"` // whsec_…, as Standard Webhooks has it
	Position commands.Position `json:"position,omitzero"`
}

// webhookRoutes are those for programs.
func (s *Server) webhookRoutes(v1 string) []route {
	return []route{
		{method: "GET", path: v1 + "/webhooks", accepts: session, needs: "audit.read", about: "Who outside is told of what happens here, and what has not arrived", do: s.getWebhooks},
		{method: "POST", path: v1 + "/webhooks", accepts: session, about: "Have an address told: {url, events?}", do: s.postWebhooks},
		{method: "PATCH", path: v1 + "/webhooks/{webhook}", accepts: session, about: "Change or pause a webhook: {url?, events?, paused?, rev?}", do: s.patchWebhook},
		{method: "DELETE", path: v1 + "/webhooks/{webhook}", accepts: session, about: "End a webhook", do: s.onWebhook(webhook.Remove)},
		{method: "POST", path: v1 + "/webhooks/{webhook}/secret", accepts: session, about: "See the secret its messages are signed with; who looked is recorded", do: s.postSecret},
		{method: "POST", path: v1 + "/webhooks/{webhook}/rotate", accepts: session, about: "Put a new secret in force; the old one signs along for a day", do: s.onWebhook(webhook.Rotate)},
		{method: "POST", path: v1 + "/webhooks/{webhook}/test", accepts: session, about: "Send a message that means nothing", do: s.onWebhook(webhook.Send)},
		{method: "POST", path: v1 + "/deliveries/{delivery}/retry", accepts: session, about: "Send again what did not arrive", do: s.postRetry},
	}
}

// webhookPages are those for people.
func (s *Server) webhookPages() []route {
	return []route{
		{method: "GET", path: "/webhooks", accepts: session, needs: "audit.read", do: s.webhooksPage, page: true},
		{method: "POST", path: "/webhooks", accepts: session, needs: "audit.read", do: s.webhooksForm, page: true},
		{method: "POST", path: "/webhooks/{webhook}", accepts: session, needs: "audit.read", do: s.webhookForm, page: true},
		{method: "POST", path: "/deliveries/{delivery}/retry", accepts: session, needs: "audit.read", do: s.retryForm, page: true},
	}
}

func (s *Server) getWebhooks(w http.ResponseWriter, r *http.Request, who caller) error {
	part, err := sectionOf(r.URL.Query(), nil, nil)
	if err != nil {
		return err
	}
	list, err := s.webhooks.Webhooks(r.Context(), who.workspace, action.Page{Cursor: part.cursor, Limit: part.limit})
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, list)
}

func (s *Server) postWebhooks(w http.ResponseWriter, r *http.Request, who caller) error {
	in, err := read[webhook.CreateArgs](w, r)
	if err != nil {
		return err
	}
	return s.conclude(w, r, who, webhook.Create, in)
}

func (s *Server) patchWebhook(w http.ResponseWriter, r *http.Request, who caller) error {
	in, err := read[struct {
		URL    *string   `json:"url"`
		Events *[]string `json:"events"`
		Paused *bool     `json:"paused"`
		action.Rev
	}](w, r)
	if err != nil {
		return err
	}
	return s.conclude(w, r, who, webhook.Update, webhook.UpdateArgs{
		Which: whichWebhook(r), URL: in.URL, Events: in.Events, Paused: in.Paused, Rev: in.Rev,
	})
}

// onWebhook asks for what needs no more than the webhook's name.
func (s *Server) onWebhook(a *action.Action) func(http.ResponseWriter, *http.Request, caller) error {
	return func(w http.ResponseWriter, r *http.Request, who caller) error {
		if _, err := read[struct{}](w, r); err != nil {
			return err
		}
		return s.conclude(w, r, who, a, whichWebhook(r))
	}
}

func (s *Server) postRetry(w http.ResponseWriter, r *http.Request, who caller) error {
	if _, err := read[struct{}](w, r); err != nil {
		return err
	}
	return s.conclude(w, r, who, delivery.Retry, delivery.Which{Delivery: chi.URLParam(r, "delivery")})
}

func (s *Server) postSecret(w http.ResponseWriter, r *http.Request, who caller) error {
	if _, err := read[struct{}](w, r); err != nil {
		return err
	}
	secret, err := s.secret(r, who)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, secret)
}

func (s *Server) secret(r *http.Request, who caller) (Secret, error) {
	call, err := who.call(r, webhook.Reveal.Name, whichWebhook(r))
	if err != nil {
		return Secret{}, err
	}
	return s.webhooks.Secret(r.Context(), call, chi.URLParam(r, "webhook"))
}

func (s *Server) conclude(w http.ResponseWriter, r *http.Request, who caller, a *action.Action, args any) error {
	out, err := s.do(r, who, a.Name, args)
	if err != nil {
		return err
	}
	return conclude(w, out)
}

func whichWebhook(r *http.Request) webhook.Which {
	return webhook.Which{Webhook: chi.URLParam(r, "webhook")}
}

// webhooksView is the webhooks, for a person.
type webhooksView struct {
	WebhookPage
	Names []string // what can be told of
	Shown Secret   // once a person asked for one
	Of    string   // the webhook that it is of
}

func (s *Server) webhooksPage(w http.ResponseWriter, r *http.Request, who caller) error {
	v, err := s.webhooksView(r, who)
	if err != nil {
		return err
	}
	return s.view(w, r, who, "webhooks", "Webhooks", "webhooks.html", v)
}

func (s *Server) webhooksView(r *http.Request, who caller) (webhooksView, error) {
	list, err := s.webhooks.Webhooks(r.Context(), who.workspace, action.Page{Cursor: r.URL.Query().Get("cursor")})
	return webhooksView{WebhookPage: list, Names: webhook.Names}, err
}

// failedWebhooks shows the page again with what was wrong about a form on it.
func (s *Server) failedWebhooks(w http.ResponseWriter, r *http.Request, who caller, err error) error {
	v, broken := s.webhooksView(r, who)
	if broken != nil {
		return err
	}
	f, broken := s.framed(r, who, "webhooks", "Webhooks", v)
	if broken != nil {
		return broken
	}
	return s.again(w, r, err, "webhooks.html", f)
}

func (s *Server) webhooksForm(w http.ResponseWriter, r *http.Request, who caller) error {
	in, err := form(w, r)
	if err != nil {
		return err
	}
	out, err := s.do(r, who, webhook.Create.Name, webhook.CreateArgs{URL: strings.TrimSpace(in.Get("url")), Events: in["event"]})
	if err != nil {
		return s.failedWebhooks(w, r, who, err)
	}
	return see(w, r, "/webhooks", "hooked", out)
}

// webhookForm is the buttons beside one webhook.
func (s *Server) webhookForm(w http.ResponseWriter, r *http.Request, who caller) error {
	in, err := form(w, r)
	if err != nil {
		return err
	}
	which := whichWebhook(r)
	var name, said string
	var args any = which
	switch in.Get("do") {
	case "pause", "resume":
		name, args = webhook.Update.Name, webhook.UpdateArgs{Which: which, Paused: new(in.Get("do") == "pause")}
	case "remove":
		name = webhook.Remove.Name
	case "rotate":
		name, said = webhook.Rotate.Name, "rotated"
	case "test":
		name, said = webhook.Send.Name, "sending"
	case "secret":
		return s.secretForm(w, r, who)
	default:
		return domain.Refuse("invalid", "Say what to do with the webhook.")
	}
	out, err := s.do(r, who, name, args)
	if err != nil {
		return s.failedWebhooks(w, r, who, err)
	}
	return see(w, r, "/webhooks", said, out)
}

// secretForm shows a secret on the page that answers, and nowhere else.
func (s *Server) secretForm(w http.ResponseWriter, r *http.Request, who caller) error {
	secret, err := s.secret(r, who)
	if err != nil {
		return s.failedWebhooks(w, r, who, err)
	}
	v, err := s.webhooksView(r, who)
	if err != nil {
		return err
	}
	v.Shown, v.Of = secret, chi.URLParam(r, "webhook")
	return s.view(w, r, who, "webhooks", "Webhooks", "webhooks.html", v)
}

func (s *Server) retryForm(w http.ResponseWriter, r *http.Request, who caller) error {
	if _, err := form(w, r); err != nil {
		return err
	}
	out, err := s.do(r, who, delivery.Retry.Name, delivery.Which{Delivery: chi.URLParam(r, "delivery")})
	if err != nil {
		return s.failedWebhooks(w, r, who, err)
	}
	return see(w, r, "/webhooks", "sending", out)
}
