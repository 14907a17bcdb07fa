package commands

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/agent"
	"assent/domain/policy"
)

// Log is the one append-only log. What it promises, on every adapter: a total
// order; positions without gaps where it is Atomic; nothing at or below a head
// it returned ever changes; an append repeated with the same event ids is
// answered as the first time and not repeated; recorded-at never runs backwards
// within one process. commands/eventlog/logtest holds adapters to it.
type Log interface {
	// Append writes all of it or nothing, if the log is Atomic. Elsewhere it
	// looks at every expectation first, then writes one stream after another in
	// the order given, and stops at the first that fails: each stream's events
	// are all there or not at all, and what was written before stays. A write
	// without events is a check that a stream is still at the version it
	// expects. The error is a *Conflict (nothing was written), ErrPartly,
	// ErrBusy, ErrUnavailable, ErrUnknown, ErrReused, or a *domain.Refusal with
	// the code limit for what is too large.
	Append(ctx context.Context, writes ...Write) (Receipt, error)
	// Atomic says whether an append to several streams is all or nothing, and
	// whether its checks hold at the very moment of writing.
	Atomic() bool
	// ReadStream gives a stream's events after a version, oldest first; none
	// for a stream nobody wrote to.
	ReadStream(ctx context.Context, stream domain.Stream, after domain.Version) ([]domain.Record, error)
	// ReadAll gives at most limit events after a position, in order.
	ReadAll(ctx context.Context, after domain.Position, limit int) ([]domain.Record, error)
	// Follow gives every event after a position, in order and once each, and
	// waits for more until the context ends; its last pair then holds the
	// context's error.
	Follow(ctx context.Context, after domain.Position) iter.Seq2[domain.Record, error]
	// Head is the last event's place.
	Head(ctx context.Context) (Head, error)
	// Close lets go of the log; appends under way are answered first.
	Close() error
}

// Limits of what the log takes, on every adapter, in bytes as stored.
const (
	MaxState  = 200 << 10 // an item's whole state
	MaxEvent  = 256 << 10
	MaxAppend = 900 << 10
)

// Write is what one append does to one stream.
type Write struct {
	Stream domain.Stream
	Expect domain.Version // the version it must be at; 0: must not exist
	Events []domain.Fresh // none: only check
}

// Receipt is where an append ended up.
type Receipt struct {
	Position domain.Position // of its last event
	At       time.Time
}

// Head is the end of the log. The zero Head is an empty log.
type Head struct {
	Position domain.Position
	At       time.Time // recorded-at of the last event
	Chain    [32]byte  // SHA-256 over everything up to here
}

// Conflict says that a stream is not where an append expected it. Nothing was
// written. Actual may be that of an append that is only just being made, and in
// the end is not: reading again tells.
type Conflict struct {
	Stream           domain.Stream
	Expected, Actual domain.Version
}

// Error names the stream and both versions.
func (c *Conflict) Error() string {
	return fmt.Sprintf("%s is at version %d, not %d", c.Stream, c.Actual, c.Expected)
}

// What else can come of an append. ErrBusy and ErrUnavailable: nothing was
// written and asking again is safe. ErrUnknown: it may have been written; ask
// again under the same ids to find out.
var (
	ErrBusy        = errors.New("the log is busy")
	ErrUnavailable = errors.New("the log cannot be written")
	ErrUnknown     = errors.New("whether the log took it is not known")
	// ErrPartly comes only of a log that is not Atomic: the first stream was
	// written and a later one was not, because it had moved on. Read again and
	// ask again under the same ids: what is there stays, and is not repeated.
	ErrPartly = errors.New("the log took only a part of it")
	// ErrReused: events of these ids are there already and say something else.
	// Nothing was written now; whoever wrote them asked for the same thing
	// first, so reading again gives the answer.
	ErrReused = errors.New("event ids are used again for something else")
)

// Sealer keeps personal free text readable only while its person's key lives.
type Sealer interface {
	Seal(ctx context.Context, workspace, person, text string) (*domain.Sealed, error)
}

// Pending is what a publish without a list means. It answers from a read model
// that has seen everything up to a position.
type Pending interface {
	Pending(ctx context.Context, workspace, site string, after domain.Position) ([]action.Named, error)
}

// Traces finds what an action did: every event it appended, as far as a read
// model that has seen everything up to a position knows.
type Traces interface {
	Trace(ctx context.Context, workspace string, act domain.ID, after domain.Position) ([]Trace, error)
	// Unfinished lists proposals that were approved and not settled, and
	// waiting ones whose time is over.
	Unfinished(ctx context.Context, now time.Time) ([]domain.Stream, error)
}

// Skills knows the ways of working that a call may declare. Of one that there
// is, it says everything but whether it has changed since an owner looked at it.
type Skills interface {
	Skill(ctx context.Context, workspace, name string) (policy.Skill, error)
}

// Trace is one event of an action.
type Trace struct {
	Stream  domain.Stream
	Version domain.Version
}

// Asker is who a read is answered for.
type Asker struct {
	Workspace string
	Principal domain.Principal
	Person    string // behind an agent, or the person itself
	Agent     *Limits
	Head      domain.Position // the answer has seen at least this much
}

// Limits are what an agent works within, for whoever tells it so.
type Limits struct {
	Mode   string   `json:"mode"`
	Scopes []string `json:"scopes"`
	Site   string   `json:"site,omitempty"`
	Paused bool     `json:"paused,omitempty"`

	Collection string   `json:"collection,omitempty"`
	Key        *KeyEnds `json:"key,omitempty"` // of a key that has an end
}

// KeyEnds is when the key in use stops working.
type KeyEnds struct {
	ID   string    `json:"id"`
	Ends time.Time `json:"ends"`
	Soon bool      `json:"soon,omitempty"` // within the week, and none is in its place yet
	Next string    `json:"next,omitempty"` // the key that took its place
}

// Notice tells whoever uses the key when it ends, and what to do about it.
func (k KeyEnds) Notice() string {
	at := k.Ends.UTC().Format("2006-01-02 15:04 UTC")
	switch {
	case k.Next != "":
		return "Another key has taken the place of yours, which ends at " + at + ". Ask your owner for the new one, unless you have it."
	case k.Soon:
		return "Your key ends at " + at + ". Tell your owner now: they make the next one in the console, and yours works beside it for a while."
	}
	return "Your key ends at " + at + "."
}

// EndsOf is when an agent's key ends; nil when it does not.
func EndsOf(id string, k agent.Key, now time.Time) *KeyEnds {
	if k.Expires.IsZero() {
		return nil
	}
	return &KeyEnds{ID: id, Ends: k.Expires, Soon: k.EndsSoon(now), Next: k.Next}
}

// Answers binds read actions to whoever can answer them.
type Answers map[*action.Action]func(context.Context, Asker, any) (Answer, error)

// Bind lets f answer a question.
func Bind[A any](answers Answers, q action.Question[A], f func(context.Context, Asker, A) (Answer, error)) {
	answers[q.Action] = func(ctx context.Context, who Asker, args any) (Answer, error) {
		return f(ctx, who, args.(A))
	}
}
