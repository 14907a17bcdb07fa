package reactions_test

import (
	"context"
	"encoding/json"
	"testing"

	"assent/commands/reactions"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// The cluster is kfake: Kafka's protocol in this process, and no Kafka.
func TestKafkaIsToldOfEverythingInOrder(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.AllowAutoTopicCreation(), kfake.DefaultNumPartitions(3))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	addresses := cluster.ListenAddrs()
	p, err := reactions.OpenKafka(addresses[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	h := newHouse(t)
	h.parts.Brokers = []reactions.Broker{{Name: "kafka", Publisher: p}}
	h.start()
	h.until("it has begun", func() bool {
		_, err := h.parts.Store.Load(t.Context(), "kafka", 0)
		return err == nil
	})
	_, all := h.busy()

	reader, err := kgo.NewClient(kgo.SeedBrokers(addresses...), kgo.ConsumeTopics("assent.home.content.changed"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(reader.Close)
	ctx, stop := context.WithTimeout(t.Context(), soon)
	defer stop()
	var seen []message
	partition := map[string]int32{}
	for len(seen) < all {
		fetched := reader.PollFetches(ctx)
		if ctx.Err() != nil {
			t.Fatalf("%d messages are there", len(seen))
		}
		fetched.EachRecord(func(r *kgo.Record) {
			m := message{body: r.Value}
			if err := json.Unmarshal(r.Value, &m.event); err != nil {
				t.Error(err)
			}
			if at, known := partition[m.event.Subject]; known && at != r.Partition {
				t.Errorf("%s is in partitions %d and %d", m.event.Subject, at, r.Partition)
			}
			partition[m.event.Subject] = r.Partition
			seen = append(seen, m)
		})
	}
	inOrder(t, seen)
}
