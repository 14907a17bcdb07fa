package commands

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/conduct"
)

// ledger writes conduct: what changed nothing. Refusals and idle calls are
// written one by one before they are answered, until a minute has seen many
// alike; then the rest of that minute becomes one line with a count, so that
// nobody can fill the log by asking. Reads are only ever counted.
type ledger struct {
	road *Road

	mu       sync.Mutex
	tallies  map[tallyKey]*tally
	versions map[domain.Stream]domain.Version // where each conduct stream probably is
}

// alike is how many lines of one kind a minute keeps singly; targets is how
// many things a summary of reads names.
const (
	alike   = 20
	targets = 5
)

type tallyKey struct {
	workspace string
	principal domain.Principal
	key       string // that it came through
	what      string // refused | idle | read
	action    string
	code      string
	minute    int64
}

type tally struct {
	count    int // all of them
	single   int // those that have a line of their own
	targets  []string
	envelope domain.Envelope
	last     time.Time
}

func newLedger(r *Road) *ledger {
	return &ledger{road: r, tallies: map[tallyKey]*tally{}, versions: map[domain.Stream]domain.Version{}}
}

// refused keeps what was asked for and the code of the no. Its sentence is kept
// only where it is all ours: others quote what the caller sent, and a caller's
// words have no place in the log.
func (l *ledger) refused(t *trip, no *domain.Refusal) error {
	why := ""
	if t.verdict.Answer == domain.Reject {
		why = t.verdict.Reason
	}
	asked := t.asked()
	if no.Code == "slow-down" { // whoever asks too fast must not write the log full
		l.mu.Lock()
		defer l.mu.Unlock()
		l.tally(t, "refused", asked, no.Code)
		return nil
	}
	return l.single(t, "refused", asked, no.Code, func(n int) any {
		return conduct.Refused{Action: asked, Target: t.aim(), Code: no.Code, Why: why, Count: n}
	})
}

// asked is the name of what was asked for, as far as we know such a name.
func (t *trip) asked() string {
	switch {
	case t.action != nil:
		return t.action.Name
	case action.NeverListed(t.call.Action), t.desk:
		return t.call.Action
	}
	return "unknown"
}

func (l *ledger) idle(t *trip) error {
	return l.single(t, "idle", t.action.Name, "", func(n int) any {
		return conduct.Idle{Action: t.action.Name, Target: t.aim(), Count: n}
	})
}

// read counts a read or a dry run; flush writes the minute down.
func (l *ledger) read(t *trip) {
	l.mu.Lock()
	defer l.mu.Unlock()
	tl := l.tally(t, "read", t.action.Name, "")
	if aim := t.aim(); aim != "" && len(tl.targets) < targets && !slices.Contains(tl.targets, aim) {
		tl.targets = append(tl.targets, aim)
	}
}

// aim is the thing a call was about: one that there is, or at least an id such
// as we make them. Anything else is the caller's own words.
func (t *trip) aim() string {
	if t.stream.ID != "" && (t.thing.version > 0 || ourID.MatchString(t.stream.ID)) {
		return t.stream.Category + "/" + t.stream.ID
	}
	if t.action != nil && t.cmd.Args != nil {
		return ourID.FindString(t.action.Target(t.cmd.Args))
	}
	return ""
}

var ourID = regexp.MustCompile(`^[a-z]{2,8}_[0-9a-z]{26}$`)

// tally counts one more. The lock is held.
func (l *ledger) tally(t *trip, what, action, code string) *tally {
	k := tallyKey{t.call.Workspace, t.call.Principal, t.call.Via.Key, what, action, code, t.now.Unix() / 60}
	tl := l.tallies[k]
	if tl == nil {
		tl = &tally{envelope: t.envelope()}
		l.tallies[k] = tl
	}
	tl.count++
	tl.last = t.now
	return tl
}

// single writes a line at once while the minute has few alike.
func (l *ledger) single(t *trip, what, action, code string, event func(count int) any) error {
	l.mu.Lock()
	tl := l.tally(t, what, action, code)
	fold := tl.count > alike
	if !fold {
		tl.single++
	}
	l.mu.Unlock()
	if fold {
		return nil
	}
	if t.id == "" {
		t.id = domain.NewAction(t.now)
	}
	envelopes, err := t.envelopes(1)
	if err != nil {
		return err
	}
	if t.verdict.Rules == "" { // turned away before policy was asked
		envelopes[0].Question, envelopes[0].Verdict = nil, nil
	}
	envelopes[0].Name = action
	return l.write(t.ctx, t.call.Workspace, envelopes[0], t.now, event(1))
}

// write appends one line to a principal's stream of the day.
func (l *ledger) write(ctx context.Context, workspace string, e domain.Envelope, now time.Time, event any) error {
	stream := conduct.Of(workspace, e.Principal, now)
	word, revision, data, err := l.road.Words.Spell(event)
	if err != nil {
		return err
	}
	for range attempts {
		l.mu.Lock()
		at := l.versions[stream]
		l.mu.Unlock()
		_, err = l.road.append(ctx, Write{stream, at, []domain.Fresh{{
			ID:       domain.Derive("evt", string(e.Action), "conduct", strconv.FormatInt(now.UnixNano(), 36)),
			Word:     word,
			Revision: revision,
			Envelope: e,
			Data:     data,
		}}})
		moved, conflict := errors.AsType[*Conflict](err)
		l.mu.Lock()
		switch {
		case err == nil:
			l.versions[stream] = at + 1
		case conflict:
			l.versions[stream] = moved.Actual
		}
		l.mu.Unlock()
		if !conflict {
			return err
		}
	}
	return ErrBusy
}

// flush writes the summaries of minutes that are over; of all minutes when the
// road is closing. What cannot be written is kept for the next time.
func (l *ledger) flush(ctx context.Context, now time.Time, all bool) error {
	due := map[tallyKey]*tally{}
	l.mu.Lock()
	for k, tl := range l.tallies {
		if all || k.minute < now.Unix()/60 {
			due[k] = tl
			delete(l.tallies, k)
		}
	}
	l.mu.Unlock()
	var failed error
	for k, tl := range due {
		event := k.summary(tl)
		if event == nil {
			continue
		}
		e := tl.envelope
		e.Action, e.Name = domain.NewAction(tl.last), k.action
		if err := l.write(ctx, k.workspace, e, tl.last, event); err != nil {
			failed = err
			l.mu.Lock()
			if l.tallies[k] == nil {
				l.tallies[k] = tl
			}
			l.mu.Unlock()
		}
	}
	return failed
}

func (k tallyKey) summary(tl *tally) any {
	rest := tl.count - tl.single
	if rest == 0 {
		return nil
	}
	switch k.what {
	case "refused":
		return conduct.Refused{Action: k.action, Code: k.code, Count: rest}
	case "idle":
		return conduct.Idle{Action: k.action, Count: rest}
	}
	return conduct.Read{Action: k.action, Count: rest, Targets: tl.targets, Minute: time.Unix(k.minute*60, 0).UTC()}
}
