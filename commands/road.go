package commands

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/policy"
	"assent/domain/vocab"
)

// Parts is what a road is built of.
type Parts struct {
	Log      Log
	Words    *vocab.Vocabulary
	Kinds    map[string]action.Kind
	Registry *action.Registry
	Sealer   Sealer
	Pending  Pending
	Traces   Traces
	Answers  Answers
	Clock    func() time.Time
	// ProposalURL is where people decide on a proposal.
	ProposalURL func(id string) string
}

// Road is the one road. It is safe for any number of callers.
type Road struct {
	Parts
	things  *things
	conduct *ledger
	trouble atomic.Pointer[trouble]
}

// NewRoad builds the road.
func NewRoad(p Parts) *Road {
	r := &Road{Parts: p, things: newThings(p)}
	r.conduct = newLedger(r)
	return r
}

// attempts is how often a call is taken down the road again because what it
// read changed under it, before the caller is told that the log is busy.
const attempts = 50

// Do takes one call down the road. There is no second road. The error is a
// fault (ErrBusy, ErrUnavailable, or worse); a meant no is an outcome.
func (r *Road) Do(ctx context.Context, call Call) (Outcome, error) {
	return r.take(ctx, &trip{errand: errand{road: r, call: call}})
}

func (r *Road) take(ctx context.Context, t *trip) (Outcome, error) {
	t.ctx = ctx
	for range attempts {
		t.start()
		t.step(t.identify) // the key still lives, its person still holds a seat
		t.step(t.find)     // the registry knows the action
		t.step(t.read)     // the arguments fit its schema, and nothing is left over
		t.step(t.look)     // the person behind may open the target
		t.step(t.rehearse) // the events it would append, as things stand
		t.step(t.ask)      // act, propose or refuse
		out, err := t.settle()
		if !again(err) {
			return out, err
		}
	}
	return Outcome{}, ErrBusy
}

// again says that what was read is no longer so, and taking the road once more
// will tell: a stream moved on, or somebody else did this very thing first.
func again(err error) bool {
	_, moved := errors.AsType[*Conflict](err)
	return moved || errors.Is(err, ErrReused)
}

// append writes to the log, and remembers whether it could be written.
func (r *Road) append(ctx context.Context, writes ...Write) (Receipt, error) {
	receipt, err := r.Log.Append(ctx, writes...)
	switch {
	case errors.Is(err, ErrUnavailable):
		r.trouble.Store(&trouble{r.Clock(), err})
	case err == nil && slices.ContainsFunc(writes, func(w Write) bool { return len(w.Events) > 0 }):
		r.trouble.Store(nil) // a check alone proves nothing
	}
	return receipt, err
}

// trouble is the last time that the log could not be written.
type trouble struct {
	at  time.Time
	err error
}

// recent is how long a failed write makes the log count as not writable, when
// nobody has tried since.
const recent = 30 * time.Second

// Writable is nil when the log takes appends, as far as asking tells: a check
// goes through, and the last write did.
func (r *Road) Writable(ctx context.Context) error {
	if t := r.trouble.Load(); t != nil && r.Clock().Sub(t.at) < recent {
		return t.err
	}
	_, err := r.Log.Append(ctx, Write{Stream: domain.Stream{Category: "workspace", Workspace: "ready", ID: "check"}})
	return err
}

// errand is a call and what stays the same however often it takes the road.
type errand struct {
	road *Road
	ctx  context.Context
	call Call

	id     domain.ID
	target string // of a new thing: made up once, or as it was filed
	filing string // the id of the proposal it becomes if it is held

	// Set by the desk when a proposal is carried out.
	derived  bool // the id follows from a proposal: whoever carries it out must meet what another did
	yes      *policy.Yes
	proposal string
	digest   string         // of the card that was approved
	reason   *domain.Sealed // that was given when it was filed

	desk bool // stands for a person's decision, where conduct is written
}

// trip is one errand on its way down the road.
type trip struct {
	errand

	commanded bool // the caller gave an id of their own: asking again must find the first answer
	fresh     bool // the target's id was only just made up

	now       time.Time
	authority authority
	action    *action.Action
	cmd       action.Command
	stream    domain.Stream
	thing     thing
	known     action.Known
	checks    map[domain.Stream]domain.Version
	events    []any
	claims    []claim
	after     domain.State
	changes   []domain.Change
	question  policy.Question
	verdict   domain.Verdict

	err    error    // a *domain.Refusal, or a fault
	answer *Outcome // given early: a read, or the first answer again
}

// authority is what the caller works within, read from the log.
type authority struct {
	person       string
	role         policy.Role
	mode         policy.Mode
	scopes       []string
	site         string
	pausedAgents bool
	pausedAgent  bool
	limit        int
}

func (t *trip) start() {
	now := t.road.Clock().UTC()
	if head, err := t.road.Log.Head(t.ctx); err == nil && head.At.After(now) {
		now = head.At // log time never runs backwards, and neither does ours
	}
	*t = trip{errand: t.errand}
	t.now = now
	t.checks = map[domain.Stream]domain.Version{}
}

// step takes one more step unless an earlier one already answered.
func (t *trip) step(do func() error) {
	if t.err == nil && t.answer == nil {
		t.err = do()
	}
}

// refusal is the meant no a trip ended with, if it did.
func (t *trip) refusal() *domain.Refusal {
	r, _ := errors.AsType[*domain.Refusal](t.err)
	return r
}

func (t *trip) streamOf(ref action.Ref) domain.Stream {
	return domain.Stream{Category: ref.Category, Workspace: t.call.Workspace, ID: ref.ID}
}
