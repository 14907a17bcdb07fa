package main

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"

	"assent/commands"
	"assent/commands/reactions"
	"assent/domain/action"
	"assent/domain/vocab"
	"assent/domain/webhook"
)

// reactionFlags say what reaches out of the house, and how far.
type reactionFlags struct {
	Loopback bool `help:"Let webhooks call this machine too: to try them out." env:"ASSENT_WEBHOOK_LOOPBACK" name:"webhook-loopback"`
}

// outside is what reaches out of the house: webhooks, and how far each of them
// has been told.
type outside struct {
	*reactions.Runner
	store *reactions.Store
}

// reactionsIn is where it is kept how far those outside have been told: where the
// people are, when several servers share that, and else in the folder.
func reactionsIn(people, dir string) string {
	if scheme, _, ok := strings.Cut(people, "://"); ok && strings.HasPrefix(scheme, "postgres") {
		return people
	}
	return filepath.Join(dir, "reactions.db")
}

// openOutside opens it. Nothing is sent before Run.
func (h *house) openOutside(ctx context.Context, p plan, place string, words *vocab.Vocabulary) (_ *outside, err error) {
	store, err := reactions.OpenStore(ctx, place)
	if err != nil {
		return nil, err
	}
	o := &outside{store: store}
	o.Runner, err = reactions.New(ctx, reactions.Parts{
		Log: h.log, Words: words, Road: h.road, Store: store, Secret: h.secret,
		Clock: h.clock, Logger: slog.Default(), ProposalURL: h.road.ProposalURL,
		Loopback: p.loopback, Tempo: p.tempo,
	})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return o, nil
}

// bind answers what is asked about webhooks.
func (o *outside) bind(answers commands.Answers) {
	commands.Bind(answers, webhook.List, func(ctx context.Context, who commands.Asker, a action.Page) (commands.Answer, error) {
		items, next, err := o.Webhooks(ctx, who.Workspace, a)
		return commands.Answer{Items: items, Next: next}, err
	})
}

// Close lets go of the store, once Run has ended.
func (o *outside) Close() error { return o.store.Close() }

// RevealWebhook notes that a person is shown a webhook's secret, and shows it.
func (h *house) RevealWebhook(ctx context.Context, call commands.Call, id string) (string, error) {
	if _, err := h.must(ctx, call, webhook.Reveal, webhook.RevealArgs{Which: webhook.Which{Webhook: id}}); err != nil {
		return "", err
	}
	return h.outside.SecretOf(ctx, call.Workspace, id)
}
