package reactions_test

import (
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"

	"assent/commands/reactions"
	"assent/domain/webhook"

	watermill "github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// natsServer is a real one in this process, on a port and a folder that it is
// started on again.
func natsServer(t *testing.T, port int, dir string) *server.Server {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: dir, NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	if !s.ReadyForConnections(soon) {
		t.Fatal("NATS does not start")
	}
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	return s
}

func publisher(t *testing.T, url string) *reactions.JetStream {
	t.Helper()
	p, err := reactions.OpenJetStream(url, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// kept is what the stream holds, as soon as it is so many.
func kept(t *testing.T, h *house, url string, n int) (list []natsMessage) {
	t.Helper()
	conn, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	var s jetstream.Stream
	h.until(fmt.Sprint(n, " messages are kept"), func() bool {
		if s, err = js.Stream(t.Context(), "ASSENT"); err != nil {
			return false
		}
		info, err := s.Info(t.Context())
		return err == nil && info.State.Msgs >= uint64(n)
	})
	info, err := s.Info(t.Context())
	if err != nil || info.State.Msgs != uint64(n) {
		t.Fatalf("%d messages are kept, not %d: %v", info.State.Msgs, n, err)
	}
	for seq := range n {
		m, err := s.GetMsg(t.Context(), uint64(seq+1))
		if err != nil {
			t.Fatal(err)
		}
		one := natsMessage{subject: m.Subject, id: m.Header.Get(jetstream.MsgIDHeader)}
		if err := json.Unmarshal(m.Data, &one.event); err != nil {
			t.Fatal(err)
		}
		list = append(list, one)
	}
	return list
}

// natsMessage is one message as the stream holds it.
type natsMessage struct {
	subject, id string
	event       event
}

func TestABrokerIsToldOfEverythingInOrderAndKeepsItOnce(t *testing.T) {
	h, dir := newHouse(t), t.TempDir()
	before := h.article("before")
	there := natsServer(t, server.RANDOM_PORT, dir)
	url, port := there.ClientURL(), there.Addr().(*net.TCPAddr).Port
	p := publisher(t, url)
	h.parts.Brokers = []reactions.Broker{{Name: "nats", Publisher: p}}
	_, stop := h.start()
	hook := h.hook("https://example.org/paused")
	h.do(webhook.Update, webhook.UpdateArgs{Which: webhook.Which{Webhook: hook}, Paused: new(true)})
	h.until("it has begun", func() bool {
		_, err := h.parts.Store.Load(t.Context(), "nats", 0)
		return err == nil
	})
	ids, all := h.busy()
	told := kept(t, h, url, all)
	var seen []message
	for _, m := range told {
		if m.subject != "assent.home.content.changed" || m.id != m.event.ID || m.event.Type != "assent.content.changed.v1" || m.event.Subject == "article/"+before {
			t.Errorf("kept %+v", m)
		}
		seen = append(seen, message{event: m.event})
	}
	inOrder(t, seen)

	// It goes away, with what happens meanwhile, and comes back.
	there.Shutdown()
	there.WaitForShutdown()
	for _, id := range ids {
		h.edit(id, "while it was away")
	}
	natsServer(t, port, dir)
	kept(t, h, url, all+len(ids))

	// A process that was killed before its checkpoint tells again.
	stop()
	again := watermill.NewMessage(told[0].id, watermill.Payload(`{}`))
	if err := p.Publish(told[0].subject, again); err != nil { // the same id
		t.Fatal(err)
	}
	kept(t, h, url, all+len(ids))
}

// What cannot be used says so without what it was given, which may be a secret.
func TestABrokerThatCannotBeNamedIsSaid(t *testing.T) {
	for _, c := range [][2]string{{"nats://me:hush@host:port", ""}, {"nats://127.0.0.1:1", "/nowhere/hush.creds"}} {
		if p, err := reactions.OpenJetStream(c[0], c[1]); err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v %v", c, p, err)
		}
	}
}
