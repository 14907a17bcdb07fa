package reactions

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Kafka publishes to Kafka. What happens to one thing goes to one partition, in
// order; every replica in sync has a message before it counts as kept. A message
// that is told twice is there twice, under one id.
type Kafka struct {
	client *kgo.Client
	wait   time.Duration
}

var _ message.Publisher = (*Kafka)(nil)

// OpenKafka names brokers, separated by commas, as HOST:PORT. They need not be
// there yet: until they are nothing can be published.
func OpenKafka(brokers string) (*Kafka, error) {
	const wait = 5 * time.Second
	client, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(brokers, ",")...), kgo.ClientID("assent"),
		kgo.RequiredAcks(kgo.AllISRAcks()), kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)),
		kgo.AllowAutoTopicCreation(), kgo.ProducerLinger(0), kgo.RecordDeliveryTimeout(wait),
	)
	if err != nil {
		return nil, fmt.Errorf("the addresses of Kafka cannot be used; write HOST:9092, separated by commas: %w", err)
	}
	return &Kafka{client, wait}, nil
}

// Publish returns nil once every message is kept.
func (k *Kafka) Publish(topic string, messages ...*message.Message) error {
	for _, m := range messages {
		if err := k.publish(topic, m); err != nil {
			return fmt.Errorf("publish to Kafka: %w", err)
		}
	}
	return nil
}

func (k *Kafka) publish(topic string, m *message.Message) error {
	ctx, cancel := context.WithTimeout(m.Context(), k.wait)
	defer cancel()
	return k.client.ProduceSync(ctx, &kgo.Record{
		Topic: topic, Key: []byte(m.Metadata.Get(metaStream)), Value: m.Payload,
		Headers: []kgo.RecordHeader{{Key: "content-type", Value: []byte(ContentType)}, {Key: "id", Value: []byte(m.UUID)}},
	}).FirstErr()
}

// Close lets go of the connections.
func (k *Kafka) Close() error {
	k.client.Close()
	return nil
}
