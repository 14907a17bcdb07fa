package reactions

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"log/slog"
	"sync"
	"time"

	"assent/domain"

	"github.com/ThreeDotsLabs/watermill/message"
)

// Log is as much of commands.Log as reactors need: they read it.
type Log interface {
	ReadStream(ctx context.Context, stream domain.Stream, after domain.Version) ([]domain.Record, error)
	ReadAll(ctx context.Context, after domain.Position, limit int) ([]domain.Record, error)
	Follow(ctx context.Context, after domain.Position) iter.Seq2[domain.Record, error]
}

// Checkpoints keep how far a lane has got: a Store.
type Checkpoints interface {
	Load(ctx context.Context, reactor string, lane int) (Point, error)
	Save(ctx context.Context, reactor string, lane int, at Point) error
}

// Told is what a reactor is told of one event.
type Told struct {
	Order   string // what has the same is told in the order of the log: a stream's name
	Message *message.Message
}

// Tell makes a message of an event, or nil for one that a reactor has nothing to
// do with. An error is a fault: it is tried again until it works.
type Tell func(context.Context, domain.Record) (*Told, error)

// LogSubscriber is one lane of a reactor: a Watermill subscriber to the log. It
// hands out one message at a time, in the order of the log. A message that is
// acknowledged moves the checkpoint, and nothing else does; one that is not is
// handed out again, under the same id, after a while. So it holds one message
// however long its receiver is away: the log keeps the rest.
type LogSubscriber struct {
	Log         Log
	Checkpoints Checkpoints
	Tell        Tell
	Lane, Lanes int             // which of how many this is, from 0
	Again       Backoff         // how long until a message is handed out again
	Poke        <-chan struct{} // hands it out at once; nil: nobody does
	Logger      *slog.Logger

	once   sync.Once
	closed chan struct{}
	open   sync.WaitGroup
}

var _ message.Subscriber = (*LogSubscriber)(nil)

// Backoff is how long to wait: First, then twice as long each time, at most Most.
type Backoff struct{ First, Most time.Duration }

func (b Backoff) after(tries int) time.Duration {
	wait := b.First
	for range tries {
		if wait *= 2; wait >= b.Most {
			return b.Most
		}
	}
	return min(wait, b.Most)
}

// seldom is after how many events that were of no concern a checkpoint is saved
// all the same, so that a start does not read them all again.
const seldom = 1000

// Subscribe hands out the messages of the reactor that topic names, which must
// have been enlisted, until the context ends or Close.
func (s *LogSubscriber) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	s.once.Do(func() { s.closed = make(chan struct{}) })
	out := make(chan *message.Message)
	ctx, stop := context.WithCancel(ctx)
	s.open.Go(func() {
		defer close(out)
		defer stop()
		go func() {
			select {
			case <-s.closed:
				stop()
			case <-ctx.Done():
			}
		}()
		s.run(ctx, topic, out)
	})
	return out, nil
}

// Close ends every subscription, and returns when they have ended.
func (s *LogSubscriber) Close() error {
	s.once.Do(func() { s.closed = make(chan struct{}) })
	select {
	case <-s.closed:
	default:
		close(s.closed)
	}
	s.open.Wait()
	return nil
}

// run walks through the log from the checkpoint on, and after a fault begins
// there again, until the context ends.
func (s *LogSubscriber) run(ctx context.Context, topic string, out chan<- *message.Message) {
	said := ""
	for tries := 0; ctx.Err() == nil; tries++ {
		err := s.walk(ctx, topic, out)
		if ctx.Err() != nil {
			return
		}
		if err != nil && err.Error() != said {
			said = err.Error()
			s.Logger.ErrorContext(ctx, "a reactor stopped and tries again", "reactor", topic, "lane", s.Lane, "error", err)
		}
		s.wait(ctx, tries)
	}
}

func (s *LogSubscriber) walk(ctx context.Context, topic string, out chan<- *message.Message) error {
	at, err := s.Checkpoints.Load(ctx, topic, s.Lane)
	if err != nil {
		return err
	}
	if err := belongs(ctx, s.Log, at); err != nil {
		return err
	}
	passed := 0
	for r, err := range s.Log.Follow(ctx, at.Position) {
		if err != nil {
			return err
		}
		told, err := s.Tell(ctx, r)
		if err != nil {
			return fmt.Errorf("at position %d: %w", r.Position, err)
		}
		if passed++; told == nil || laneOf(told.Order, s.Lanes) != s.Lane {
			if passed < seldom {
				continue
			}
		} else if err := s.hand(ctx, told.Message, out); err != nil {
			return err
		}
		if err := s.Checkpoints.Save(ctx, topic, s.Lane, Point{r.Position, r.ID}); err != nil {
			return err
		}
		passed = 0
	}
	return ctx.Err()
}

// hand hands a message out until it is acknowledged.
func (s *LogSubscriber) hand(ctx context.Context, m *message.Message, out chan<- *message.Message) error {
	for tries := 0; ; tries++ {
		acked, err := handOnce(ctx, m.Copy(), out) // what was refused once cannot be acknowledged
		if acked || err != nil {
			return err
		}
		s.wait(ctx, tries)
	}
}

func handOnce(ctx context.Context, m *message.Message, out chan<- *message.Message) (bool, error) {
	its, done := context.WithCancel(ctx)
	defer done()
	m.SetContext(its)
	select {
	case out <- m:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	select {
	case <-m.Acked():
		return true, nil
	case <-m.Nacked():
		return false, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

func (s *LogSubscriber) wait(ctx context.Context, tries int) {
	over := time.NewTimer(s.Again.after(tries))
	defer over.Stop()
	select {
	case <-over.C:
	case <-s.Poke:
	case <-ctx.Done():
	}
}

// laneOf is the one lane that things of an order go to.
func laneOf(order string, lanes int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(order)) // never fails
	return int(h.Sum32() % uint32(lanes))
}

// errElsewhere says that checkpoints and log are not of one piece.
var errElsewhere = errors.New("the checkpoints are of another log, or of a longer one: put the log and the reactions' checkpoints back that belong together, or move the checkpoints away to tell only of what comes from now on")

// belongs is nil when a point is one of the log. A log that was cut or put back
// from a copy must not be gone on with as if it were the one before.
func belongs(ctx context.Context, log Log, at Point) error {
	if at.Position == 0 {
		return nil
	}
	found, err := log.ReadAll(ctx, at.Position-1, 1)
	if err != nil {
		return err
	}
	if len(found) == 0 || found[0].Position != at.Position || found[0].ID != at.Event {
		return errElsewhere
	}
	return nil
}
