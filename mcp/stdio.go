package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"assent/domain"
)

// Stdio serves one local caller on a pair of streams, one message a line,
// until in ends, the context ends or the door closes. What was asked by then is
// still answered; then both streams are closed.
//
// Clients of both ages come on the same stream, and some are both: they look
// around in the new way and then shake hands in the old one. The library keeps
// one age per session, so there are two sessions here and each message goes to
// the one it belongs to.
func (d *Door) Stdio(ctx context.Context, in io.ReadCloser, out io.WriteCloser, who Caller) error {
	if d.closing.Err() != nil {
		return errors.New("the door is closed")
	}
	d.locals.Add(1)
	defer d.locals.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(d.closing, cancel)()

	gone := make(chan struct{})
	who.gone = gone
	server, err := d.newServer(func(sdk.Request) (Caller, bool) { return who, true })
	if err != nil {
		return err
	}
	w := &lines{out: out}
	m := mux{w: w, modern: newHalf(w), legacy: newHalf(w), turnedAway: func(no *domain.Refusal) { d.turnedAway(ctx, who.call(), no) }}
	for _, h := range []*half{m.modern, m.legacy} {
		// Detached: what is under way when the context ends is still answered.
		session, err := server.Connect(context.WithoutCancel(ctx), h, nil)
		if err != nil {
			return err
		}
		defer session.Close()
		defer h.end()
	}
	err = m.serve(ctx, in)
	close(gone)
	m.modern.settle()
	m.legacy.settle()
	return errors.Join(err, out.Close())
}

// mux hands each message on a stream to the session it belongs to.
type mux struct {
	w              *lines
	modern, legacy *half
	turnedAway     func(*domain.Refusal) // records what is not let in
}

// received is what one read gave.
type received struct {
	line []byte
	long bool // and so passed over
	err  error
}

// serve routes messages until there are no more.
func (m mux) serve(ctx context.Context, in io.ReadCloser) error {
	defer in.Close()
	from := make(chan received)
	go read(ctx, bufio.NewReaderSize(in, 64<<10), from)
	for {
		var r received
		select {
		case <-ctx.Done():
			return nil // asked to end
		case r = <-from:
		}
		if err := m.take(r); err != nil {
			return err
		}
		switch {
		case errors.Is(r.err, io.EOF):
			return nil
		case r.err != nil:
			return fmt.Errorf("reading messages: %w", r.err)
		}
	}
}

// read reads lines until there are no more. It is a goroutine of its own since
// closing a terminal or a pipe does not everywhere end a read that waits.
func read(ctx context.Context, in *bufio.Reader, to chan<- received) {
	for {
		line, long, err := readLine(in)
		select {
		case to <- received{line, long, err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

func (m mux) take(r received) error {
	switch {
	case r.long:
		m.turnedAway(tooLarge)
		return m.w.write(errorAnswer(nil, jsonrpc.CodeInvalidRequest, tooLarge))
	case len(bytes.TrimSpace(r.line)) == 0:
		return nil
	}
	return m.route(r.line)
}

func (m mux) route(line []byte) error {
	if wrong := gate(line); wrong != nil {
		m.turnedAway(wrong.no)
		return m.w.write(wrong.answer())
	}
	message, err := jsonrpc.DecodeMessage(line)
	if response, ok := message.(*jsonrpc.Response); err != nil || ok && response.Result == nil && response.Error == nil {
		return m.w.write(errorAnswer(idOf(line), jsonrpc.CodeInvalidRequest, domain.Refuse("malformed", "This is not a message of the protocol.")))
	}
	req, asks := message.(*jsonrpc.Request)
	switch {
	case asks && req.Method == "notifications/cancelled": // of whichever it is
		m.modern.deliver(message)
		m.legacy.deliver(message)
	case asks && isModern(req):
		m.modern.deliver(message)
	default: // answers, too: only the old age asks clients anything
		m.legacy.deliver(message)
	}
	return nil
}

// isModern says that a request carries its version with it.
func isModern(req *jsonrpc.Request) bool {
	var params struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	if json.Unmarshal(req.Params, &params) != nil {
		return false
	}
	var version string
	_ = json.Unmarshal(params.Meta[sdk.MetaKeyProtocolVersion], &version) // anything but text is not modern
	return version >= modern
}

// readLine reads up to a newline. A line that is too long is passed over and
// reported as such, so that one message cannot end the conversation.
func readLine(in *bufio.Reader) (line []byte, long bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if !long {
			line = append(line, part...)
		}
		if len(line) > maxMessage {
			line, long = nil, true
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, long, err
		}
	}
}

// lines writes one message a line, whole.
type lines struct {
	mu  sync.Mutex
	out io.Writer
}

func (l *lines) write(message []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.out.Write(append(message, '\n'))
	return err
}

// half is one of the two sessions' end of the stream.
type half struct {
	w        *lines
	incoming chan jsonrpc.Message
	ended    chan struct{}
	once     sync.Once

	mu       sync.Mutex
	open     map[jsonrpc.ID]bool // requests that have no answer yet
	draining bool
	drained  chan struct{} // closed when draining and none is open
}

func newHalf(w *lines) *half {
	return &half{
		w:        w,
		incoming: make(chan jsonrpc.Message),
		ended:    make(chan struct{}),
		open:     map[jsonrpc.ID]bool{},
		drained:  make(chan struct{}),
	}
}

// Connect makes it a transport.
func (h *half) Connect(context.Context) (sdk.Connection, error) { return h, nil }

// SessionID is empty: a stream needs no name.
func (h *half) SessionID() string { return "" }

// Read waits for the next message.
func (h *half) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-h.incoming:
		return m, nil
	case <-h.ended:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write sends a message, after the ones before it.
func (h *half) Write(_ context.Context, m jsonrpc.Message) error {
	text, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	err = h.w.write(text)
	if answer, ok := m.(*jsonrpc.Response); ok {
		h.answered(answer.ID)
	}
	return err
}

// Close ends this half only; the stream belongs to both.
func (h *half) Close() error {
	h.end()
	return nil
}

func (h *half) end() { h.once.Do(func() { close(h.ended) }) }

func (h *half) deliver(m jsonrpc.Message) {
	if req, ok := m.(*jsonrpc.Request); ok && req.IsCall() {
		h.mu.Lock()
		h.open[req.ID] = true
		h.mu.Unlock()
	}
	select {
	case h.incoming <- m:
	case <-h.ended:
	}
}

func (h *half) answered(id jsonrpc.ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, asked := h.open[id]; !asked {
		return
	}
	if delete(h.open, id); h.draining && len(h.open) == 0 {
		close(h.drained)
	}
}

// settle waits until everything that was asked is answered. The library would
// cancel it as soon as reading ends. Nothing is delivered afterwards.
func (h *half) settle() {
	h.mu.Lock()
	h.draining = true
	idle := len(h.open) == 0
	h.mu.Unlock()
	if idle {
		return
	}
	select {
	case <-h.drained:
	case <-h.ended:
	}
}
