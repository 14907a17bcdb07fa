package reactions

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"assent/commands"
	"assent/domain"
	"assent/domain/action"
	"assent/domain/delivery"
	"assent/domain/webhook"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"
)

// hook is one webhook at work: a reactor of its own, so that a receiver that is
// away keeps nobody else waiting.
type hook struct {
	*Runner
	name    string
	stream  domain.Stream
	pokes   []chan struct{} // one a lane
	refused atomic.Int32    // deliveries in a row that the receiver did not want
}

// failure is why something was not delivered.
type failure struct {
	code  string // as the log keeps it
	final bool   // the receiver does not want it, and will not
	cause error
}

func (f *failure) Error() string { return f.cause.Error() }
func (f *failure) Unwrap() error { return f.cause }

// errResting says that a webhook was paused or removed meanwhile.
var errResting = errors.New("the webhook is paused or gone")

// mostRefused is how many deliveries in a row a receiver may refuse before the
// next ones wait: then it is not what is sent that is wrong, and the log must not
// fill with what nobody can deliver.
const mostRefused = 10

// run tells the webhook of everything from its checkpoints on, until the context
// ends.
func (h *hook) run(ctx context.Context) error {
	unwanted, err := middleware.PoisonQueueWithFilter(h, "delivery.failed", h.unwanted)
	if err != nil {
		return err
	}
	return h.route(ctx, h.name, h.pokes, h.of, h.deliver, h.holding, unwanted)
}

// poke has what is held sent at once.
func (h *hook) poke() {
	for _, p := range h.pokes {
		select {
		case p <- struct{}{}:
		default: // it was poked already
		}
	}
}

// of is what this webhook may be told: what happens in its workspace, tests of
// its own, and what a person wants sent to it again. Whether it wants it is asked
// when it is sent.
func (h *hook) of(ctx context.Context, r domain.Record) (*Told, error) {
	switch {
	case r.Stream.Workspace != h.stream.Workspace, r.Word == webhook.Test && r.Stream != h.stream:
		return nil, nil
	case r.Word != delivery.RetriedWord:
		return h.public.tell(ctx, r)
	}
	d, err := h.delivery(ctx, r.Stream)
	if err != nil || d.What.Webhook != h.stream.ID {
		return nil, err
	}
	origin, err := domain.ParseStream(d.What.Stream)
	if err != nil {
		return nil, err
	}
	records, err := h.Log.ReadStream(ctx, origin, d.What.Version-1)
	if err != nil {
		return nil, err
	}
	if len(records) == 0 || records[0].ID != d.What.Event {
		return nil, fmt.Errorf("%s names an event that is not there", r.Stream)
	}
	return h.public.tell(ctx, records[0])
}

// deliver sends one message, unless that was done or is not wanted.
func (h *hook) deliver(m *message.Message) error {
	ctx := m.Context()
	w, keys, err := h.webhook(ctx, h.stream)
	if err != nil {
		return err
	}
	if !w.Exists || w.Paused {
		return errResting
	}
	if !w.Wants(m.Metadata.Get(metaName)) {
		return nil
	}
	at := h.stream.In(delivery.Kind.Category, delivery.ID(h.stream.ID, domain.ID(m.UUID)))
	d, err := h.delivery(ctx, at)
	if err != nil {
		return err
	}
	if d.Status == delivery.IsArrived || d.Status == delivery.IsFailed && !d.What.Held {
		return nil // it came to an end before, and only the checkpoint did not get there
	}
	if err := h.send(ctx, w.URL, keys, m); err != nil {
		m.Metadata.Set(metaCode, reason(err))
		return err
	}
	h.refused.Store(0)
	if d.Status == "" {
		return nil
	}
	return h.note(ctx, delivery.Arrive, delivery.ArriveArgs{Which: delivery.Which{Delivery: at.ID}})
}

// send is one try. The error is a *failure.
func (h *hook) send(ctx context.Context, to string, keys [][]byte, m *message.Message) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(m.Payload))
	if err != nil {
		return &failure{"address", true, err}
	}
	if req.URL.Scheme != "https" && !h.Loopback {
		return &failure{"private-address", true, errPrivate}
	}
	now := h.Clock()
	req.Header = http.Header{
		"Content-Type":      {ContentType},
		"User-Agent":        {"Assent-Webhook/1"},
		"Webhook-Id":        {m.UUID},
		"Webhook-Timestamp": {seconds(now)},
		"Webhook-Signature": {signature(keys, m.UUID, now, m.Payload)},
	}
	res, err := h.client.Do(req)
	if err != nil {
		return &failure{codeOf(err), errors.Is(err, errPrivate), plain(err)}
	}
	_, _ = io.CopyN(io.Discard, res.Body, 4<<10) // a little, so that the connection can be used again
	_ = res.Body.Close()
	switch s := res.StatusCode; {
	case s >= 200 && s < 300:
		return nil
	case s >= 500, s == http.StatusRequestTimeout, s == http.StatusTooEarly, s == http.StatusTooManyRequests:
		return &failure{strconv.Itoa(s), false, fmt.Errorf("the receiver answered %d", s)}
	default:
		return &failure{strconv.Itoa(s), true, fmt.Errorf("the receiver answered %d", s)}
	}
}

// codeOf is a word for what went wrong before there was an answer.
func codeOf(err error) string {
	var slow net.Error
	switch {
	case errors.Is(err, errPrivate):
		return "private-address"
	case errors.As(err, &slow) && slow.Timeout():
		return "timeout"
	}
	return "unreachable"
}

// plain is an error without the address that was called, which may be somebody's
// secret.
func plain(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// passing says that trying again may help.
func passing(err error) bool {
	f, ok := errors.AsType[*failure](err)
	return !(ok && f.final) && !errors.Is(err, errResting)
}

// unwanted says that a message is given up on: the receiver does not want it,
// and does want others.
func (h *hook) unwanted(err error) bool {
	f, ok := errors.AsType[*failure](err)
	return ok && f.final && h.refused.Load() < mostRefused
}

// Publish notes messages in the log that were given up on. It is the router's
// poison queue.
func (h *hook) Publish(_ string, messages ...*message.Message) error {
	for _, m := range messages {
		if err := h.failed(m, m.Metadata.Get(metaCode), false); err != nil {
			return err
		}
		h.refused.Add(1)
	}
	return nil
}

// Close has nothing to let go of.
func (h *hook) Close() error { return nil }

// holding notes in the log, once, that a message is held: it is tried on and on,
// and what comes after it waits.
func (h *hook) holding(next message.HandlerFunc) message.HandlerFunc {
	return func(m *message.Message) ([]*message.Message, error) {
		its := m.Context() // those of its tries are over by then
		produced, err := next(m)
		if err == nil || its.Err() != nil || errors.Is(err, errResting) {
			return produced, err
		}
		m.SetContext(its)
		if noted := h.failed(m, reason(err), true); noted != nil {
			err = errors.Join(err, noted)
		}
		return produced, err
	}
}

// reason is the code of whatever went wrong.
func reason(err error) string {
	if f, ok := errors.AsType[*failure](err); ok {
		return f.code
	}
	return "fault"
}

// failed notes that a message did not arrive, unless that is known.
func (h *hook) failed(m *message.Message, code string, held bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(m.Context()), h.Tempo.Timeout)
	defer cancel()
	d, err := h.delivery(ctx, h.stream.In(delivery.Kind.Category, delivery.ID(h.stream.ID, domain.ID(m.UUID))))
	if err != nil || held && d.Status == delivery.IsFailed && d.What.Held {
		return err
	}
	version, err := strconv.ParseInt(m.Metadata.Get(metaVersion), 10, 64)
	if err != nil {
		return err
	}
	return h.note(ctx, delivery.Fail, delivery.FailArgs{
		Webhook: h.stream.ID, Event: m.UUID, Name: m.Metadata.Get(metaName),
		Stream: m.Metadata.Get(metaStream), Version: version, Code: code, Held: held,
	})
}

// note takes the road, as everybody does.
func (h *hook) note(ctx context.Context, a *action.Action, args any) error {
	raw, err := json.Marshal(args)
	if err != nil {
		return err
	}
	out, err := h.Road.Do(ctx, commands.Call{
		Workspace: h.stream.Workspace, Action: a.Name, Args: raw,
		Principal: domain.Principal{Kind: domain.KindSystem, ID: "reactions"},
	})
	switch {
	case err != nil:
		return err
	case out.Refusal != nil:
		return out.Refusal
	case out.Outcome == commands.Unknown:
		return commands.ErrUnknown
	}
	return nil
}

// overlap is how long messages are signed with the secret before as well.
const overlap = 24 * time.Hour

// webhook is a webhook as it is now, and the keys that it is told with.
func (r *Runner) webhook(ctx context.Context, s domain.Stream) (webhook.Webhook, [][]byte, error) {
	history, err := r.history(ctx, s)
	if err != nil {
		return webhook.Webhook{}, nil, err
	}
	return r.keyed(s, history)
}

// keyed is webhook for a history that was read.
func (r *Runner) keyed(s domain.Stream, history []domain.Recorded) (webhook.Webhook, [][]byte, error) {
	var rotated time.Time
	events := make([]any, len(history))
	for i, e := range history {
		if _, ok := e.Event.(webhook.Rotated); ok {
			rotated = e.At
		}
		events[i] = e.Event
	}
	state, err := webhook.Kind.Fold(events)
	if err != nil {
		return webhook.Webhook{}, nil, err
	}
	w := state.(webhook.Webhook)
	numbers := []int{w.Secret}
	if w.Secret > 1 && r.Clock().Sub(rotated) < overlap {
		numbers = append(numbers, w.Secret-1)
	}
	var keys [][]byte
	for _, n := range numbers {
		k, err := key(r.Secret, s, n)
		if err != nil {
			return w, nil, err
		}
		keys = append(keys, k)
	}
	return w, keys, nil
}

// delivery is what went wrong with a delivery, if anything did.
func (r *Runner) delivery(ctx context.Context, s domain.Stream) (delivery.Delivery, error) {
	history, err := r.history(ctx, s)
	if err != nil {
		return delivery.Delivery{}, err
	}
	events := make([]any, len(history))
	for i, e := range history {
		events[i] = e.Event
	}
	state, err := delivery.Kind.Fold(events)
	if err != nil {
		return delivery.Delivery{}, err
	}
	return state.(delivery.Delivery), nil
}

func (r *Runner) history(ctx context.Context, s domain.Stream) ([]domain.Recorded, error) {
	records, err := r.Log.ReadStream(ctx, s, 0)
	if err != nil {
		return nil, err
	}
	history := make([]domain.Recorded, len(records))
	for i, rec := range records {
		if history[i], err = r.Words.Read(rec); err != nil {
			return nil, err
		}
	}
	return history, nil
}
