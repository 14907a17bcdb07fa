package reactions

import (
	"context"
	"fmt"

	"assent/domain"
	"assent/domain/webhook"

	"github.com/ThreeDotsLabs/watermill/message"
)

// Broker is where everything that can be told of is told, for others to take it
// from: of all workspaces, and under a topic of its name in each.
type Broker struct {
	// Name is what its checkpoints are kept under: lower-case letters. Another name
	// is another broker, which begins where the log ends then.
	Name string
	// Publisher keeps a message once Publish returned nil, and keeps it once however
	// often it gets the same UUID where it can. What it refuses is held and tried on
	// and on: it decides nothing about what a message says.
	Publisher message.Publisher
}

// relay is one broker at work.
type relay struct {
	*Runner
	Broker
	pokes []chan struct{}
}

func (b *relay) run(ctx context.Context) error {
	return b.route(ctx, b.Name, b.pokes, b.of, b.publish, b.held)
}

// poke does nothing: nobody asks for it.
func (b *relay) poke() {}

func (b *relay) of(ctx context.Context, r domain.Record) (*Told, error) {
	if r.Word == webhook.Test { // is between a webhook and its receiver
		return nil, nil
	}
	return b.public.tell(ctx, r)
}

func (b *relay) publish(m *message.Message) error {
	return b.Publisher.Publish("assent."+m.Metadata.Get(metaWorkspace)+"."+m.Metadata.Get(metaName), m)
}

// held says that a message could not be told and is tried again.
func (b *relay) held(next message.HandlerFunc) message.HandlerFunc {
	return func(m *message.Message) ([]*message.Message, error) {
		its := m.Context()
		produced, err := next(m)
		if err != nil && its.Err() == nil {
			b.Logger.WarnContext(its, "a broker does not take what is told it; it is tried on and on", "broker", b.Name, "event", m.UUID, "error", err)
		}
		return produced, err
	}
}

// enlist makes sure that a broker has its beginning: where the log ends when it
// is met for the first time.
func (r *Runner) enlist(ctx context.Context, b Broker) (Reactor, error) {
	head, err := r.Log.Head(ctx)
	if err != nil {
		return Reactor{}, err
	}
	at, err := r.point(ctx, head.Position)
	if err != nil {
		return Reactor{}, err
	}
	if err := r.Store.Enlist(ctx, Reactor{Name: b.Name, Lanes: r.Tempo.Lanes, Start: at}); err != nil {
		return Reactor{}, err
	}
	all, err := r.Store.Reactors(ctx)
	for _, known := range all {
		if known.Name == b.Name {
			return known, err
		}
	}
	if err == nil {
		err = fmt.Errorf("the broker %s was enlisted and is not there", b.Name)
	}
	return Reactor{}, err
}
