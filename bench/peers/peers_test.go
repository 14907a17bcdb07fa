package peers

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	eh "github.com/looplab/eventhorizon"
	ehmemory "github.com/looplab/eventhorizon/eventstore/memory"
	ehuuid "github.com/looplab/eventhorizon/uuid"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"assent/commands"
	"assent/commands/eventlog/postgres"
	"assent/commands/eventlog/postgres/pgtest"
	"assent/commands/eventlog/sqlite"
	"assent/domain"
)

const (
	writers   = 64
	perStream = 100 // how long a stream becomes
	rounds    = 5
	lasts     = time.Second
)

// peer is a store under test. Append adds one event to a writer's stream that
// has so many.
type peer interface {
	Append(ctx context.Context, writer, stream, version int) error
	Close() error
}

func BenchmarkPeers(b *testing.B) {
	eh.RegisterEventData("article.updated", func() eh.EventData { return new(change) }) // it copies what it keeps
	durable := map[string]func(*testing.B) peer{"SQLite": openSQLite, "PostgreSQL": openPostgres}
	others := map[string]func(*testing.B) peer{"JetStream": openJetStream, "eventhorizon-memory": openHorizon}
	rates := map[string][]float64{}
	ratios := map[string][]float64{}
	for range rounds {
		for name, open := range others {
			rates[name] = append(rates[name], measure(b, open))
		}
		for name, open := range durable {
			rate := measure(b, open)
			rates[name] = append(rates[name], rate)
			for other := range others {
				all := rates[other]
				ratios[name+"/"+other] = append(ratios[name+"/"+other], rate/all[len(all)-1])
			}
		}
	}
	for name, all := range rates {
		b.Logf("%-20s %8.0f appends/s (%.0f to %.0f)", name, median(all), slices.Min(all), slices.Max(all))
	}
	for pair, all := range ratios {
		b.ReportMetric(median(all), pair)
	}
	b.ReportMetric(0, "ns/op")
	for pair, floor := range map[string]float64{"SQLite/JetStream": 5, "PostgreSQL/JetStream": 4} {
		if is := median(ratios[pair]); is < floor {
			b.Errorf("%s is %.2f, past its floor of %.0f", pair, is, floor)
		}
	}
}

func median(list []float64) float64 { return slices.Sorted(slices.Values(list))[len(list)/2] }

// measure gives appends a second to a new store.
func measure(b *testing.B, open func(*testing.B) peer) float64 {
	b.Helper()
	p := open(b)
	var done atomic.Int64
	failed := make(chan error, writers)
	var all sync.WaitGroup
	began := time.Now()
	for w := range writers {
		all.Go(func() {
			for i := 0; time.Since(began) < lasts; i++ {
				if err := p.Append(b.Context(), w, i/perStream, i%perStream); err != nil {
					failed <- err
					return
				}
				done.Add(1)
			}
		})
	}
	all.Wait()
	rate := float64(done.Load()) / time.Since(began).Seconds()
	close(failed)
	for err := range failed {
		b.Fatal(err)
	}
	if err := p.Close(); err != nil {
		b.Fatal(err)
	}
	return rate
}

// change is what an event says, for all alike.
type change struct {
	Collection string   `json:"collection"`
	Slug       string   `json:"slug"`
	Title      string   `json:"title"`
	Body       string   `json:"body"`
	Tags       []string `json:"tags"`
}

const changeText = `{"collection":"notes","slug":"spring","title":"Spring menu","body":"Peas, and what else the garden gives.","tags":["menu","spring"]}`

// ours is the log.
type ours struct{ commands.Log }

func openSQLite(b *testing.B) peer {
	l, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "log.db"), time.Now)
	if err != nil {
		b.Fatal(err)
	}
	return ours{l}
}

func openPostgres(b *testing.B) peer {
	l, err := postgres.Open(b.Context(), cluster(b).Database(b), time.Now)
	if err != nil {
		b.Fatal(err)
	}
	return ours{l}
}

// cluster is one that waits for the disk.
func cluster(b *testing.B) *pgtest.Cluster { return pgtest.Start(b, "fsync=on") }

func (o ours) Append(ctx context.Context, writer, stream, version int) error {
	id := fmt.Sprintf("%06d%010d%06d", writer, stream, version)
	_, err := o.Log.Append(ctx, commands.Write{
		Stream: domain.Stream{Category: "article", Workspace: "home", ID: fmt.Sprintf("art_%06d%010d", writer, stream)},
		Expect: domain.Version(version),
		Events: []domain.Fresh{{
			ID: domain.ID("ev_" + id), Word: "article.updated", Revision: 1, Data: []byte(changeText),
			Envelope: domain.Envelope{Action: domain.ID("act_" + id), Name: "article.update", Principal: domain.Principal{Kind: domain.KindAgent, ID: "agent_1"}, Person: "person_1"},
		}},
	})
	return err
}

// jet is NATS JetStream within this process, with one stream in files, synced
// before a message is acknowledged. The version is the sequence of the last
// message of the subject.
type jet struct {
	server *server.Server
	conn   *nats.Conn
	js     jetstream.JetStream
	last   [writers]uint64
}

func openJetStream(b *testing.B) peer {
	s, err := server.NewServer(&server.Options{JetStream: true, StoreDir: b.TempDir(), SyncAlways: true, DontListen: true, NoSigs: true, NoLog: true})
	if err != nil {
		b.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		b.Fatal("JetStream does not start")
	}
	conn, err := nats.Connect("", nats.InProcessServer(s))
	if err != nil {
		b.Fatal(err)
	}
	js, err := jetstream.New(conn)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := js.CreateStream(b.Context(), jetstream.StreamConfig{Name: "events", Subjects: []string{"home.>"}, Storage: jetstream.FileStorage}); err != nil {
		b.Fatal(err)
	}
	return &jet{server: s, conn: conn, js: js}
}

func (j *jet) Append(ctx context.Context, writer, stream, version int) error {
	if version == 0 {
		j.last[writer] = 0
	}
	m := &nats.Msg{Subject: fmt.Sprintf("home.article.art_%06d%010d", writer, stream), Data: []byte(changeText), Header: nats.Header{
		nats.MsgIdHdr: {fmt.Sprintf("ev_%06d%010d%06d", writer, stream, version)},
		"action":      {fmt.Sprintf("act_%06d%010d%06d", writer, stream, version)}, "name": {"article.update"}, "agent": {"agent_1"}, "person": {"person_1"},
	}}
	ack, err := j.js.PublishMsg(ctx, m, jetstream.WithExpectLastSequencePerSubject(j.last[writer]))
	if err != nil {
		return err
	}
	j.last[writer] = ack.Sequence
	return nil
}

func (j *jet) Close() error {
	j.conn.Close()
	j.server.Shutdown()
	j.server.WaitForShutdown()
	return nil
}

// horizon is looplab/eventhorizon.
type horizon struct{ eh.EventStore }

func openHorizon(b *testing.B) peer {
	s, err := ehmemory.NewEventStore()
	if err != nil {
		b.Fatal(err)
	}
	return horizon{s}
}

func (h horizon) Append(ctx context.Context, writer, stream, version int) error {
	id, err := ehuuid.Parse(fmt.Sprintf("00000000-0000-7000-8000-%06d%06d", writer, stream))
	if err != nil {
		return err
	}
	data := change{Collection: "notes", Slug: "spring", Title: "Spring menu", Body: "Peas, and what else the garden gives.", Tags: []string{"menu", "spring"}}
	e := eh.NewEvent("article.updated", &data, time.Now(), eh.ForAggregate("article", id, version+1),
		eh.WithMetadata(map[string]any{"action": fmt.Sprintf("act_%d_%d_%d", writer, stream, version), "name": "article.update", "agent": "agent_1", "person": "person_1"}))
	return h.Save(ctx, []eh.Event{e}, version)
}

func (h horizon) Close() error { return h.EventStore.Close() }
