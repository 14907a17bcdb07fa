package reactions

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"assent/commands"
	"assent/domain"
	"assent/domain/delivery"
	"assent/domain/vocab"
	"assent/domain/webhook"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"
)

// Road is the one road: what is noted of deliveries is noted by it.
type Road interface {
	Do(ctx context.Context, call commands.Call) (commands.Outcome, error)
}

// Parts is what reactions are built of. All down to ProposalURL are needed.
type Parts struct {
	Log    commands.Log
	Words  *vocab.Vocabulary
	Road   Road
	Store  *Store
	Secret []byte // the server's own, which webhooks' secrets are derived from
	Clock  func() time.Time
	Logger *slog.Logger
	// ProposalURL is where people decide on a proposal.
	ProposalURL func(id string) string

	Brokers []Broker // told of everything; may be left out

	Loopback bool  // whether this machine itself may be called: for development
	Tempo    Tempo // what is zero is as in Usual
}

// Tempo is how fast reactions go, and how soon they give up.
type Tempo struct {
	Lanes   int           // how many messages are on their way to a new webhook at once
	Timeout time.Duration // of one try
	Tries   int           // in a row
	Soon    Backoff       // between tries in a row
	Later   Backoff       // until a held message is tried again
	Lease   time.Duration // how long another process waits for one that does not say that it lives
}

// Usual is the tempo of a server.
func Usual() Tempo {
	return Tempo{
		Lanes: 4, Timeout: 10 * time.Second, Tries: 4,
		Soon: Backoff{time.Second, 10 * time.Second}, Later: Backoff{10 * time.Second, 5 * time.Minute},
		Lease: 15 * time.Second,
	}
}

func (t Tempo) filled() Tempo {
	u := Usual()
	if t.Lanes == 0 {
		t.Lanes = u.Lanes
	}
	if t.Timeout == 0 {
		t.Timeout = u.Timeout
	}
	if t.Tries == 0 {
		t.Tries = u.Tries
	}
	if t.Soon == (Backoff{}) {
		t.Soon = u.Soon
	}
	if t.Later == (Backoff{}) {
		t.Later = u.Later
	}
	if t.Lease == 0 {
		t.Lease = u.Lease
	}
	return t
}

// Runner keeps webhooks told. Of several on one store one is at work, and another
// takes over when it is gone.
type Runner struct {
	Parts
	public    publicity
	client    *http.Client
	watermill watermill.LoggerAdapter
}

// New builds reactions. A store that is used for the first time is told where the
// log is: what came before is not told of any more.
func New(ctx context.Context, p Parts) (*Runner, error) {
	p.Tempo = p.Tempo.filled()
	r := &Runner{
		Parts:  p,
		public: publicity{p.Words, p.ProposalURL},
		client: caller(p.Loopback, p.Tempo.Timeout),
		// What it calls an error is tried again; what people must know is in the log.
		watermill: watermill.NewSlogLoggerWithLevelMapping(p.Logger, map[slog.Level]slog.Level{
			slog.LevelInfo: slog.LevelDebug, slog.LevelError: slog.LevelWarn,
		}),
	}
	head, err := p.Log.Head(ctx)
	if err != nil {
		return nil, err
	}
	at, err := r.point(ctx, head.Position)
	if err != nil {
		return nil, err
	}
	return r, p.Store.Begin(ctx, at)
}

// point is the event at a position that there is one at.
func (r *Runner) point(ctx context.Context, at domain.Position) (Point, error) {
	if at == 0 {
		return Point{}, nil
	}
	found, err := r.Log.ReadAll(ctx, at-1, 1)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("there is no event at position %d", at)
	}
	if err != nil {
		return Point{}, err
	}
	return Point{found[0].Position, found[0].ID}, nil
}

// Run keeps webhooks told whenever no other process does, until the context ends,
// whose error it gives.
func (r *Runner) Run(ctx context.Context) error {
	every := time.NewTicker(max(r.Tempo.Lease/5, time.Millisecond))
	defer every.Stop()
	said := ""
	for {
		mine, err := r.Store.Take(ctx, r.Tempo.Lease)
		if mine {
			err = r.lead(ctx)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && err.Error() != said {
			said = err.Error()
			r.Logger.ErrorContext(ctx, "the reactions stopped and try again", "error", err)
		}
		select {
		case <-every.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// lead is the time that this process has the lease. All of its work has ended
// when it returns.
func (r *Runner) lead(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	var all sync.WaitGroup
	all.Go(func() { stop(r.renew(ctx)) })
	w := &watch{Runner: r, at: map[string]*working{}}
	err := w.run(ctx)
	stop(err)
	w.stop()
	all.Wait()
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	return errors.Join(context.Cause(ctx), r.Store.Release(leaving))
}

// renew says that this process lives, and returns when it did not get to say so
// for half of the lease: what it does must have ended before another begins.
func (r *Runner) renew(ctx context.Context) error {
	every := time.NewTicker(max(r.Tempo.Lease/5, time.Millisecond))
	defer every.Stop()
	for said := time.Now(); ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-every.C:
		}
		now := time.Now()
		asking, cancel := context.WithDeadline(ctx, said.Add(r.Tempo.Lease/2))
		mine, err := r.Store.Take(asking, r.Tempo.Lease)
		cancel()
		switch {
		case err == nil && !mine:
			return ErrNotMine
		case err == nil:
			said = now
		case time.Since(said) >= r.Tempo.Lease/2:
			return err
		}
	}
}

// watch looks through the log for webhooks, and has them work or rest.
type watch struct {
	*Runner
	at map[string]*working // by the reactor's name
}

// working is a reactor at work.
type working struct {
	reactor
	stop context.CancelFunc
	done chan struct{}
}

// reactor is a webhook or a broker.
type reactor interface {
	// run tells it of everything from its checkpoints on, until the context ends.
	run(ctx context.Context) error
	// poke has what is held sent at once.
	poke()
}

// nameOf is the name of a webhook's reactor.
func nameOf(s domain.Stream) string { return s.Workspace + "/" + s.ID }

// streamOf is the webhook that a reactor is for.
func streamOf(name string) (domain.Stream, bool) {
	workspace, id, ok := strings.Cut(name, "/")
	return domain.Stream{Category: webhook.Kind.Category, Workspace: workspace, ID: id}, ok
}

func (w *watch) run(ctx context.Context) error {
	born, watched, err := w.Store.Places(ctx)
	if err != nil {
		return err
	}
	for _, at := range []Point{born, watched} {
		if err := belongs(ctx, w.Log, at); err != nil {
			return err
		}
	}
	reactors, err := w.Store.Reactors(ctx)
	if err != nil {
		return err
	}
	for _, r := range reactors {
		if err := w.settle(ctx, r); err != nil {
			return err
		}
	}
	for _, b := range w.Brokers {
		r, err := w.enlist(ctx, b)
		if err != nil {
			return err
		}
		w.at[b.Name] = w.start(ctx, b.Name, &relay{w.Runner, b, pokes(r.Lanes)})
	}
	passed := 0
	for rec, err := range w.Log.Follow(ctx, watched.Position) {
		if err != nil {
			return err
		}
		concerned, err := w.meet(ctx, rec, born)
		if err != nil {
			return fmt.Errorf("at position %d: %w", rec.Position, err)
		}
		if passed++; !concerned && passed < seldom {
			continue
		}
		if err := w.Store.Watched(ctx, Point{rec.Position, rec.ID}); err != nil {
			return err
		}
		passed = 0
	}
	return ctx.Err()
}

// meet does what an event means for who is to be told of what, and says whether
// it meant anything.
func (w *watch) meet(ctx context.Context, rec domain.Record, born Point) (bool, error) {
	name := nameOf(rec.Stream)
	switch rec.Stream.Category {
	case webhook.Kind.Category:
		r := Reactor{Name: name, Lanes: w.Tempo.Lanes, Start: Point{rec.Position, rec.ID}}
		if born.Position > rec.Position {
			r.Start = born
		}
		if rec.Word == webhook.CreatedWord {
			if err := w.Store.Enlist(ctx, r); err != nil {
				return true, err
			}
		}
		return true, w.settle(ctx, r)
	case delivery.Kind.Category:
		d, err := w.delivery(ctx, rec.Stream)
		if err != nil {
			return true, err
		}
		switch rec.Word {
		case delivery.FailedWord:
			err = w.Store.Fails(ctx, rec.Stream.Workspace, rec.Stream.ID, d.What.Webhook)
		case delivery.ArrivedWord:
			err = w.Store.Arrives(ctx, rec.Stream.Workspace, rec.Stream.ID)
		case delivery.RetriedWord:
			if at := w.at[rec.Stream.Workspace+"/"+d.What.Webhook]; at != nil {
				at.poke()
			}
		}
		return true, err
	}
	return false, nil
}

// settle has a webhook work or rest, as the log says now.
func (w *watch) settle(ctx context.Context, r Reactor) error {
	stream, ok := streamOf(r.Name)
	if !ok {
		return nil
	}
	state, _, err := w.webhook(ctx, stream)
	if err != nil {
		return err
	}
	at, works := w.at[r.Name]
	switch wanted := state.Exists && !state.Paused; {
	case wanted && !works:
		w.at[r.Name] = w.start(ctx, r.Name, &hook{Runner: w.Runner, name: r.Name, stream: stream, pokes: pokes(r.Lanes)})
	case works && !wanted:
		at.end()
		delete(w.at, r.Name)
	}
	return nil
}

func (w *watch) start(ctx context.Context, name string, r reactor) *working {
	ctx, stop := context.WithCancel(ctx)
	at := &working{reactor: r, stop: stop, done: make(chan struct{})}
	go func() {
		defer close(at.done)
		for tries := 0; ctx.Err() == nil; tries++ {
			if err := r.run(ctx); err != nil && ctx.Err() == nil {
				w.Logger.ErrorContext(ctx, "a reactor stopped and tries again", "reactor", name, "error", err)
			}
			pause(ctx, w.Tempo.Later.after(tries))
		}
	}()
	return at
}

// pokes are channels to poke so many lanes by.
func pokes(lanes int) []chan struct{} {
	list := make([]chan struct{}, lanes)
	for i := range list {
		list[i] = make(chan struct{}, 1)
	}
	return list
}

// route has lanes of a reactor deal with what they are told, until the context
// ends: each message is tried a few times in a row, and then what is outermost
// decides what becomes of it.
func (r *Runner) route(ctx context.Context, name string, pokes []chan struct{}, tell Tell, do message.NoPublishHandlerFunc, outermost ...message.HandlerMiddleware) error {
	router, err := message.NewRouter(message.RouterConfig{CloseTimeout: 2 * r.Tempo.Timeout}, r.watermill)
	if err != nil {
		return err
	}
	again := middleware.Retry{
		MaxRetries: r.Tempo.Tries - 1, InitialInterval: r.Tempo.Soon.First, MaxInterval: r.Tempo.Soon.Most, Multiplier: 2, RandomizationFactor: 0.2,
		ShouldRetry:         func(p middleware.RetryParams) bool { return passing(p.Err) },
		ResetContextOnRetry: true, // else the time of the first try would be that of all
	}
	router.AddMiddleware(outermost...)
	router.AddMiddleware(middleware.CorrelationID, again.Middleware, middleware.Timeout(r.Tempo.Timeout), middleware.Recoverer)
	for lane, poke := range pokes {
		router.AddConsumerHandler(fmt.Sprintf("%s lane %d", name, lane), name, &LogSubscriber{
			Log: r.Log, Checkpoints: r.Store, Tell: tell, Lane: lane, Lanes: len(pokes),
			Again: r.Tempo.Later, Poke: poke, Logger: r.Logger,
		}, do)
	}
	return router.Run(ctx)
}

// end has a reactor rest, and returns when it does.
func (a *working) end() {
	a.stop()
	<-a.done
}

func (w *watch) stop() {
	for _, at := range w.at {
		at.stop()
	}
	for _, at := range w.at {
		<-at.done
	}
}

func pause(ctx context.Context, d time.Duration) {
	over := time.NewTimer(d)
	defer over.Stop()
	select {
	case <-over.C:
	case <-ctx.Done():
	}
}
