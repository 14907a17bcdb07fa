package reactions

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// JetStream publishes to NATS JetStream. A message is kept by the stream that its
// subject belongs to, once however often it comes within the stream's window for
// duplicates.
type JetStream struct {
	conn *nats.Conn
	js   jetstream.JetStream
	wait time.Duration
}

var _ message.Publisher = (*JetStream)(nil)

// stream is what is made where no stream takes assent.> yet.
var stream = jetstream.StreamConfig{
	Name: "ASSENT", Subjects: []string{"assent.>"}, Storage: jetstream.FileStorage, Duplicates: 10 * time.Minute,
	Description: "What happens in Assent",
}

// OpenJetStream names the servers, separated by commas, and a file of credentials
// where one is needed. They need not be there yet: until they are nothing can be
// published.
func OpenJetStream(servers, credentials string) (*JetStream, error) {
	options := []nats.Option{nats.Name("assent"), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1)}
	if credentials != "" {
		options = append(options, nats.UserCredentials(credentials))
	}
	conn, err := nats.Connect(servers, options...)
	if err != nil {
		return nil, errors.New("the address of NATS cannot be used; write nats://HOST:4222, and name a file of credentials that can be read") // not why: it may quote a password
	}
	js, err := jetstream.New(conn)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return &JetStream{conn: conn, js: js, wait: 5 * time.Second}, nil
}

// Publish returns nil once every message is kept.
func (j *JetStream) Publish(subject string, messages ...*message.Message) error {
	for _, m := range messages {
		if err := j.publish(subject, m); err != nil {
			return fmt.Errorf("publish to NATS: %w", err)
		}
	}
	return nil
}

func (j *JetStream) publish(subject string, m *message.Message) error {
	ctx, cancel := context.WithTimeout(m.Context(), j.wait)
	defer cancel()
	out := &nats.Msg{Subject: subject, Data: m.Payload, Header: nats.Header{"Content-Type": {ContentType}}}
	_, err := j.js.PublishMsg(ctx, out, jetstream.WithMsgID(m.UUID))
	if !errors.Is(err, jetstream.ErrNoStreamResponse) && !errors.Is(err, nats.ErrNoResponders) {
		return err
	}
	if _, err := j.js.CreateStream(ctx, stream); err != nil { // nobody takes it yet
		return err
	}
	_, err = j.js.PublishMsg(ctx, out, jetstream.WithMsgID(m.UUID))
	return err
}

// Close lets go of the connection.
func (j *JetStream) Close() error {
	j.conn.Close()
	return nil
}
