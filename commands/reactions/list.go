package reactions

import (
	"context"
	"errors"
	"slices"
	"strings"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/delivery"
	"assent/domain/webhook"
)

// Webhook is a webhook as people are told of it.
type Webhook struct {
	ID      string         `json:"id"`
	Rev     domain.Version `json:"rev"`
	URL     string         `json:"url"`
	Events  []string       `json:"events"` // all when there are none
	Paused  bool           `json:"paused,omitempty"`
	Secret  int            `json:"secret"`            // the number of the one in force
	Failing []Late         `json:"failing,omitempty"` // what has not arrived, at most 20
}

// Late is an event that has not arrived.
type Late struct {
	Delivery string          `json:"delivery"`
	Event    domain.ID       `json:"event"`
	Name     string          `json:"name"`
	Status   delivery.Status `json:"status"`
	Code     string          `json:"code"`
	Held     bool            `json:"held,omitempty"` // it is tried on and on, and what comes after it waits
}

// mostLate is how many failed deliveries of one webhook are listed.
const mostLate = 20

// Webhooks lists a page of a workspace's webhooks, oldest first, with what has
// not arrived, and the cursor of the next page. It has seen everything that was
// in the log when it was asked. A cursor that is not one of its own is refused as
// invalid.
func (r *Runner) Webhooks(ctx context.Context, workspace string, page action.Page) ([]Webhook, string, error) {
	if page.Cursor != "" && domain.ID(page.Cursor).Kind() != webhook.Kind.Prefix {
		return nil, "", domain.Refuse("invalid", "This cursor is not one that a list of webhooks gave. Leave it out to begin at the start.")
	}
	ids, late, err := r.gather(ctx, workspace)
	if err != nil {
		return nil, "", err
	}
	list := []Webhook{}
	for _, id := range ids {
		if id <= page.Cursor {
			continue
		}
		shown, there, err := r.shown(ctx, domain.Stream{Category: webhook.Kind.Category, Workspace: workspace, ID: id}, late)
		if err != nil {
			return nil, "", err
		}
		if !there {
			continue
		}
		if len(list) == page.Size() {
			return list, list[len(list)-1].ID, nil
		}
		list = append(list, shown)
	}
	return list, "", nil
}

// shown is one webhook as it is listed, unless it is gone.
func (r *Runner) shown(ctx context.Context, s domain.Stream, late []string) (Webhook, bool, error) {
	history, err := r.history(ctx, s)
	if err != nil {
		return Webhook{}, false, err
	}
	w, _, err := r.keyed(s, history)
	if err != nil || !w.Exists {
		return Webhook{}, false, err
	}
	failing, err := r.Store.Failing(ctx, s.Workspace, s.ID, mostLate)
	if err != nil {
		return Webhook{}, false, err
	}
	shown := Webhook{ID: s.ID, Rev: domain.Version(len(history)), URL: w.URL, Events: append([]string{}, w.Events...), Paused: w.Paused, Secret: w.Secret}
	shown.Failing, err = r.late(ctx, s.Workspace, s.ID, append(failing, late...))
	return shown, err == nil, err
}

// late are those of some deliveries that are a webhook's and have not arrived.
func (r *Runner) late(ctx context.Context, workspace, hook string, ids []string) (list []Late, err error) {
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		d, err := r.delivery(ctx, domain.Stream{Category: delivery.Kind.Category, Workspace: workspace, ID: id})
		if err != nil {
			return nil, err
		}
		if d.What.Webhook == hook && d.Status != delivery.IsArrived && len(list) < mostLate {
			list = append(list, Late{id, d.What.Event, d.What.Name, d.Status, d.What.Code, d.What.Held})
		}
	}
	return list, nil
}

// gather finds webhooks and failed deliveries: those that whoever is at work has
// noted, and those of the rest of the log.
func (r *Runner) gather(ctx context.Context, workspace string) (hooks, late []string, err error) {
	_, watched, err := r.Store.Places(ctx)
	if err != nil {
		return nil, nil, err
	}
	reactors, err := r.Store.Reactors(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, known := range reactors {
		if id, ok := strings.CutPrefix(known.Name, workspace+"/"); ok {
			hooks = append(hooks, id)
		}
	}
	head, err := r.Log.Head(ctx)
	for after := watched.Position; err == nil && after < head.Position; {
		var page []domain.Record
		if page, err = r.Log.ReadAll(ctx, after, seldom); len(page) == 0 {
			break
		}
		for _, rec := range page {
			after = rec.Position
			switch {
			case rec.Stream.Workspace != workspace:
			case rec.Word == webhook.CreatedWord:
				hooks = append(hooks, rec.Stream.ID)
			case rec.Word == delivery.FailedWord:
				late = append(late, rec.Stream.ID)
			}
		}
	}
	slices.Sort(hooks)
	return slices.Compact(hooks), late, err
}

// SecretOf is the secret in force of a webhook, as its receiver is given it. It is
// refused not-found for a webhook that there is not.
func (r *Runner) SecretOf(ctx context.Context, workspace, id string) (string, error) {
	w, keys, err := r.webhook(ctx, domain.Stream{Category: webhook.Kind.Category, Workspace: workspace, ID: id})
	switch {
	case err != nil:
		return "", err
	case !w.Exists:
		return "", domain.Refuse("not-found", "There is no such webhook.")
	case len(keys) == 0:
		return "", errors.New("a webhook without a secret")
	}
	return spelt(keys[0]), nil
}
