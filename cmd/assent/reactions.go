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
	"assent/httpapi"
)

// reactionFlags say what reaches out of the house, and how far.
type reactionFlags struct {
	Loopback bool   `help:"Let webhooks call this machine too: to try them out." env:"ASSENT_WEBHOOK_LOOPBACK" name:"webhook-loopback"`
	NATS     string `help:"NATS servers with JetStream that are told of everything, such as nats://host:4222." env:"ASSENT_NATS_URL" name:"nats"`
	Kafka    string `help:"Kafka brokers that are told of everything: HOST:9092, separated by commas." env:"ASSENT_KAFKA_BROKERS" name:"kafka"`
	Creds    string `help:"A file of credentials for NATS." env:"ASSENT_NATS_CREDS" name:"nats-creds" type:"path"`
}

// outside is what reaches out of the house: webhooks, and how far each of them
// has been told.
type outside struct {
	*reactions.Runner
	store   *reactions.Store
	brokers []reactions.Broker
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
	defer func() {
		if err != nil {
			err = errors.Join(err, o.Close())
		}
	}()
	if p.outward {
		if o.brokers, err = p.openBrokers(); err != nil {
			return nil, err
		}
	}
	if o.Runner, err = reactions.New(ctx, reactions.Parts{
		Log: h.log, Words: words, Road: h.road, Store: store, Secret: h.secret,
		Clock: h.clock, Logger: slog.Default(), ProposalURL: h.road.ProposalURL,
		Brokers: o.brokers, Loopback: p.Loopback, Tempo: p.tempo,
	}); err != nil {
		return nil, err
	}
	return o, nil
}

// openBrokers opens those that are named. They need not be there yet.
func (f reactionFlags) openBrokers() (list []reactions.Broker, err error) {
	if f.NATS != "" {
		nats, err := reactions.OpenJetStream(f.NATS, f.Creds)
		if err != nil {
			return nil, err
		}
		list = append(list, reactions.Broker{Name: "nats", Publisher: nats})
	}
	if f.Kafka != "" {
		kafka, err := reactions.OpenKafka(f.Kafka)
		if err != nil {
			return list, err
		}
		list = append(list, reactions.Broker{Name: "kafka", Publisher: kafka})
	}
	return list, nil
}

// bind answers what is asked about webhooks.
func (o *outside) bind(answers commands.Answers) {
	commands.Bind(answers, webhook.List, func(ctx context.Context, who commands.Asker, a action.Page) (commands.Answer, error) {
		list, err := o.Webhooks(ctx, who.Workspace, a)
		return commands.Answer{Items: list.Items, Next: list.Next}, err
	})
}

// Webhooks are those of a workspace as people are told of them.
func (o *outside) Webhooks(ctx context.Context, workspace string, page action.Page) (httpapi.WebhookPage, error) {
	list, next, err := o.Runner.Webhooks(ctx, workspace, page)
	items := make([]httpapi.Webhook, len(list))
	for i, w := range list {
		items[i] = httpapi.Webhook{ID: w.ID, Rev: w.Rev, URL: w.URL, Events: w.Events, Paused: w.Paused, Secret: w.Secret}
		for _, l := range w.Failing {
			items[i].Failing = append(items[i].Failing, httpapi.Late(l))
		}
	}
	return httpapi.WebhookPage{Items: items, Next: next}, err
}

// Secret is a webhook's, once it is in the log that it is shown.
func (o *outside) Secret(ctx context.Context, call commands.Call, id string) (httpapi.Secret, error) {
	out, err := o.Road.Do(ctx, call)
	switch {
	case err != nil:
		return httpapi.Secret{}, err
	case out.Refusal != nil:
		return httpapi.Secret{}, out.Refusal
	case out.Outcome != commands.Done:
		return httpapi.Secret{}, commands.ErrUnknown
	}
	secret, err := o.SecretOf(ctx, call.Workspace, id)
	return httpapi.Secret{Secret: secret, Position: out.Position}, err
}

// Close lets go of everything, once Run has ended.
func (o *outside) Close() error {
	err := o.store.Close()
	for _, b := range o.brokers {
		err = errors.Join(err, b.Publisher.Close())
	}
	return err
}
