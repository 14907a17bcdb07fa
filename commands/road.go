package commands

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/address"
	"assent/domain/agent"
	"assent/domain/command"
	"assent/domain/pace"
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
	Skills   Skills  // may be left out: then there are none
	Touched  Touched // may be left out: then nothing is taken back together
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
		t.step(t.admit)    // its door did not turn it away
		t.step(t.find)     // the registry knows the action
		t.step(t.read)     // the arguments fit its schema, and nothing is left over
		t.step(t.several)  // of what holds other calls, each takes the road
		t.step(t.look)     // the person behind may open the target
		t.step(t.rehearse) // the events it would append, as things stand
		t.step(t.ask)      // act, propose or refuse
		out, err := t.settle()
		if !again(err) {
			return out, err
		}
		t.partly = t.partly || !nothingWritten(err)
	}
	if t.partly {
		return Outcome{Outcome: Unknown, Action: t.id}, nil
	}
	return Outcome{}, ErrBusy
}

// again says that what was read is no longer so, and taking the road once more
// will tell: a stream moved on, somebody else did this very thing first, or a
// log that is not Atomic stopped in the middle because a stream had moved on.
func again(err error) bool {
	return nothingWritten(err) || errors.Is(err, ErrReused) || errors.Is(err, ErrPartly)
}

// nothingWritten says that a stream had moved on before anything was written.
func nothingWritten(err error) bool {
	_, moved := errors.AsType[*Conflict](err)
	return moved
}

// append writes to the log, and remembers whether it could be written.
func (r *Road) append(ctx context.Context, writes ...Write) (Receipt, error) {
	if !r.Log.Atomic() {
		writes = inOrder(writes)
	}
	receipt, err := r.Log.Append(ctx, writes...)
	switch {
	case errors.Is(err, ErrUnavailable):
		r.trouble.Store(&trouble{at: r.Clock(), err: err})
	case err == nil && slices.ContainsFunc(writes, func(w Write) bool { return len(w.Events) > 0 }):
		r.trouble.Store(nil) // a check alone proves nothing
	}
	return receipt, err
}

// inOrder is how a log that is not Atomic, which may stop after any of these
// writes, is to make them. The command's id comes first: whoever asks again
// goes on with the very things it names. Then the addresses that are taken,
// which are only as good as their holder, and the agent's pace, which may count
// what never came but not the other way round. Then the thing itself, and this is
// the action: it is done once its events are there, and not before. Last the
// addresses that are let go; left behind, they are anybody's after a minute.
// Checks are looked at before anything is written, wherever they stand.
func inOrder(writes []Write) []Write {
	turn := func(w Write) int {
		switch {
		case w.Stream.Category == command.Kind.Category:
			return 0
		case w.Stream.Category == pace.Kind.Category:
			return 1
		case w.Stream.Category != address.Kind.Category:
			return 2
		case len(w.Events) > 0 && address.Frees(w.Events[0].Word):
			return 3
		}
		return 1
	}
	ordered := slices.Clone(writes)
	slices.SortStableFunc(ordered, func(a, b Write) int { return cmp.Compare(turn(a), turn(b)) })
	return ordered
}

// trouble is the last time that the log could not be written.
type trouble struct {
	at   time.Time
	err  error
	seen bool // by a check, too
}

// recent is how long a failed write makes the log count as not writable, when
// nobody has tried since.
const recent = 30 * time.Second

// Writable is nil when the log takes appends, as far as asking tells: a check
// goes through, and the last write did. A database that was away fails checks
// as well, so one that goes through says that it is back; a full disk does not.
func (r *Road) Writable(ctx context.Context) error {
	_, err := r.Log.Append(ctx, Write{Stream: domain.Stream{Category: "workspace", Workspace: "ready", ID: "check"}})
	switch t := r.trouble.Load(); {
	case err != nil:
		r.trouble.Store(&trouble{at: r.Clock(), err: err, seen: true})
		return err
	case t != nil && !t.seen && r.Clock().Sub(t.at) < recent:
		return t.err
	}
	return nil
}

// errand is a call and what stays the same however often it takes the road.
type errand struct {
	road *Road
	ctx  context.Context
	call Call

	id     domain.ID
	target string // of a new thing: made up once, or as it was filed
	filing string // the id of the proposal it becomes if it is held
	partly bool   // some of it may be in the log: whoever goes on must meet it

	// Set by the desk when a proposal is carried out.
	derived  bool // the id follows from a proposal: whoever carries it out must meet what another did
	yes      *policy.Yes
	proposal string
	digest   string         // of the card that was approved
	reason   *domain.Sealed // that was given when it was filed

	aside bool // one of several, on a draft: what would be held is rehearsed, and no conduct is written

	desk bool // stands for a person's decision, where conduct is written
}

// trip is one errand on its way down the road.
type trip struct {
	errand

	commanded bool            // the caller gave an id of their own: asking again must find the first answer
	begun     domain.Position // where that id was given to this very call before; 0 if it was not
	fresh     bool            // the target's id was only just made up

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
	parts     []Outcome // of several calls that were refused as one
	first     *trip     // of several calls, the first that was done
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
	collection   string
	pausedAgents bool
	pausedAgent  bool
	agent        agent.Agent   // as it is, with what it was lent
	rules        policy.Rules  // of the workspace
	undo         time.Duration // how long what is done can be taken back
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
