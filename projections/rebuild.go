package projections

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"assent/domain"
)

// Stages of a rebuild, in their order.
const (
	Folding   = "fold"
	Indexing  = "index"
	Following = "catch up"
	Comparing = "compare"
	Swapping  = "swap"
)

// Progress is how far a rebuild is.
type Progress struct {
	Stage  string        `json:"stage"`
	Events int64         `json:"events"`         // folded so far
	Of     int64         `json:"of,omitempty"`   // how many there are, about; 0: nobody has counted them
	Rate   float64       `json:"rate"`           // events a second
	Left   time.Duration `json:"left,omitempty"` // until all are folded, about; 0: not known
}

// RebuildOptions say how to rebuild.
type RebuildOptions struct {
	DryRun   bool           // stop before the swap, and drop what was folded
	Only     []string       // models to compare; empty: all
	Progress func(Progress) // hears from time to time how far it is, on one goroutine

	unasked bool // nobody waits for a comparison
}

// Rebuilt is what a rebuild did.
type Rebuilt struct {
	Generation int64           `json:"generation"` // the new one
	Replaces   int64           `json:"replaces"`
	Resumed    bool            `json:"resumed,omitempty"` // it was there, from a rebuild that was interrupted
	Position   domain.Position `json:"position,string"`
	Events     int64           `json:"events"`
	Took       time.Duration   `json:"took"`
	Swapped    bool            `json:"swapped"`
	Pause      time.Duration   `json:"pause,omitempty"` // how long the swap kept the live models from being folded
	Comparison *Comparison     `json:"comparison,omitempty"`
}

// Rebuild folds the whole log into a new generation while the live one serves
// and goes on being folded, compares the two row by row at one position, and
// lets the new one take over; all questions after that are answered from it.
// The log is read and never held. The generation before is kept for SwitchBack.
//
// Nothing of the live generation is touched until the swap, whatever fails and
// whoever is killed. What was interrupted once it was folded is taken up again
// by the next rebuild, and dropped before that. The error is a refusal (busy:
// somebody else rebuilds; not-found: no such model), a *Halt for an event that
// the live generation has passed and that cannot be folded, or a fault.
func (s *Store) Rebuild(ctx context.Context, log Source, o RebuildOptions) (Rebuilt, error) {
	if err := s.known(o.Only); err != nil {
		return Rebuilt{}, err
	}
	release, err := s.claim(ctx)
	if err != nil {
		return Rebuilt{}, err
	}
	defer release()
	defer s.turn(func() { s.rebuild = nil })
	b := building{store: s, log: log, skips: newSkips(log), tell: o.Progress, started: time.Now()}
	r, err := b.rebuild(ctx, o)
	r.Took = time.Since(b.started)
	if err != nil {
		return r, fmt.Errorf("rebuild the read models (those that are live are untouched): %w", err)
	}
	return r, nil
}

// claim takes the right to rebuild. Who only tidies up has it for a moment, and
// nobody is refused for that.
func (s *Store) claim(ctx context.Context) (release func(), err error) {
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for until := time.Now().Add(time.Second); ; {
		release, err := s.database.claim(ctx, false)
		if !errors.Is(err, errClaimed) || time.Now().After(until) {
			return release, err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// known refuses names that no model has.
func (s *Store) known(names []string) error {
	for _, name := range names {
		if !slices.ContainsFunc(s.tables, func(t table) bool { return t.name == name }) {
			return domain.Refuse("not-found", "There is no read model %q. List them to see which there are.", name)
		}
	}
	return nil
}

func (b *building) rebuild(ctx context.Context, o RebuildOptions) (r Rebuilt, err error) {
	s := b.store
	if err := s.database.abandoned(ctx); err != nil {
		return r, err
	}
	live, was := s.here()
	b.of, r.Replaces = was.events, live.number
	to, at, err := s.resume(ctx, b.log)
	if r.Resumed = to != nil; err == nil && !r.Resumed {
		to, at, err = b.build(ctx)
	}
	if err != nil {
		return r, err
	}
	r.Generation = to.number
	if at, err = b.catchUp(ctx, to, at); err != nil {
		return r, err
	}
	if !o.unasked && live.fingerprint == s.fingerprint {
		if r.Comparison, err = b.compare(ctx, to, o.Only); err != nil {
			return r, err
		}
	}
	if o.DryRun {
		at, err = s.where(ctx, to)
		r.Position, r.Events = at.position, at.events
		return r, errors.Join(err, s.drop(ctx, to.number))
	}
	if r.Pause, err = b.swap(ctx, to); err != nil {
		return r, err
	}
	_, at = s.here()
	r.Swapped, r.Position, r.Events = true, at.position, at.events
	return r, s.tidyClaimed(ctx)
}

// resume finds a generation of this program's tables that was folded and never
// swapped in, and is of this log.
func (s *Store) resume(ctx context.Context, log Source) (*generation, checkpoint, error) {
	list, err := s.database.list(ctx)
	if err != nil {
		return nil, checkpoint{}, err
	}
	for _, c := range list {
		if c.swapped > 0 || c.fingerprint != s.fingerprint {
			continue
		}
		if ours, err := recognised(ctx, log, c); err != nil || ours {
			g, err := s.opening(ctx, c, err)
			return g, c, err
		}
		if err := s.drop(ctx, c.generation); err != nil {
			return nil, c, err
		}
	}
	return nil, checkpoint{}, nil
}

func (s *Store) opening(ctx context.Context, c checkpoint, err error) (*generation, error) {
	if err != nil {
		return nil, err
	}
	return s.generation(ctx, c)
}

// where is where a generation is by now.
func (s *Store) where(ctx context.Context, g *generation) (checkpoint, error) {
	list, err := checkpoints(ctx, g.reads, `WHERE generation = $1`, g.number)
	if err != nil {
		return checkpoint{}, fmt.Errorf("read the checkpoint of generation %d: %w", g.number, err)
	}
	if len(list) == 0 {
		return checkpoint{}, errNotLive
	}
	return list[0], nil
}

// catchUp folds what came meanwhile. It ends at the end of the log, or before
// an event that cannot be folded.
func (b *building) catchUp(ctx context.Context, g *generation, at checkpoint) (checkpoint, error) {
	for {
		if err := ctx.Err(); err != nil {
			return at, err
		}
		records, err := b.log.ReadAll(ctx, at.position, portion)
		if err != nil {
			return at, fmt.Errorf("read the log: %w", err)
		}
		if len(records) == 0 {
			return at, nil
		}
		at, err = b.store.apply(ctx, g, at, records, b.skips, false)
		if halt, halted := errors.AsType[*Halt](err); halted {
			b.halt = halt
			return at, nil
		}
		if err != nil {
			return at, err
		}
		b.events = at.events
		b.say(Following)
	}
}

// level brings a generation up to the live one, holds that still, and calls
// then. Where they are to be exactly level, the live one is brought up if it is
// behind. It gives how long nothing was folded.
func (b *building) level(ctx context.Context, to *generation, exactly bool, then func() error) (time.Duration, error) {
	s := b.store
	for {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		live, _ := s.here()
		tx, held, err := s.hold(ctx, live)
		if err != nil {
			return 0, err
		}
		if tx == nil {
			continue // another instance was folding, and is done
		}
		began := time.Now()
		done, err := func() (bool, error) {
			defer func() { _ = tx.Rollback() }()
			at, err := s.where(ctx, to)
			if err != nil {
				return false, err
			}
			if exactly && at.position > held.position {
				now, err := b.between(ctx, held, at.position, func(records []domain.Record) (checkpoint, error) {
					return s.foldInto(ctx, tx, live, held, records, b.skips)
				})
				if err == nil {
					s.passed(live, now)
				}
				return false, err
			}
			for at.position < held.position {
				if at, err = b.between(ctx, at, held.position, func(records []domain.Record) (checkpoint, error) {
					return s.apply(ctx, to, at, records, b.skips, false)
				}); err != nil {
					return false, err
				}
			}
			return true, then()
		}()
		if done || err != nil {
			return time.Since(began), err
		}
	}
}

// between folds the next records after a checkpoint, up to a position that is
// in the log.
func (b *building) between(ctx context.Context, at checkpoint, last domain.Position, fold func([]domain.Record) (checkpoint, error)) (checkpoint, error) {
	records, err := b.log.ReadAll(ctx, at.position, portion)
	if err != nil {
		return at, fmt.Errorf("read the log: %w", err)
	}
	records = records[:len(records)-after(records, last)]
	if len(records) == 0 {
		return at, fmt.Errorf("the log does not have position %d, which was folded from it", last)
	}
	return fold(records)
}

// after counts the records behind a position.
func after(records []domain.Record, last domain.Position) int {
	i, _ := slices.BinarySearchFunc(records, last, func(r domain.Record, p domain.Position) int { return cmp.Compare(r.Position, p) })
	for i < len(records) && records[i].Position <= last {
		i++
	}
	return len(records) - i
}

// swap lets a generation take over from the live one.
func (b *building) swap(ctx context.Context, to *generation) (time.Duration, error) {
	s := b.store
	b.say(Swapping)
	list, err := s.database.list(ctx) // nobody else swaps meanwhile: this process has the claim
	if err != nil {
		return 0, err
	}
	return b.level(ctx, to, false, func() error {
		tx, now, err := s.hold(ctx, to)
		if err != nil {
			return err
		}
		if tx == nil {
			return errClaimed
		}
		defer func() { _ = tx.Rollback() }()
		now.swapped, now.moved = lastSwap(list)+1, s.clock().UnixNano()
		if err := now.put(ctx, tx); err != nil {
			return err
		}
		if err := tx.Commit(); err != nil {
			return err
		}
		return s.use(ctx, now)
	})
}

// SwitchBack lets the generation that was live before take over again, once it
// has caught up with the log. It is refused not-found when none is kept, or
// none that this version of the program can fold, and busy while somebody
// rebuilds.
func (s *Store) SwitchBack(ctx context.Context, log Source, tell func(Progress)) (r Rebuilt, err error) {
	release, err := s.claim(ctx)
	if err != nil {
		return r, err
	}
	defer release()
	defer s.turn(func() { s.rebuild = nil })
	list, err := s.database.list(ctx)
	if err != nil {
		return r, err
	}
	_, was := s.here()
	list = slices.DeleteFunc(list, func(c checkpoint) bool {
		return c.fingerprint != s.fingerprint || c.swapped == 0 || c.swapped >= was.swapped
	})
	if len(list) == 0 {
		return r, domain.Refuse("not-found", "No generation is kept that could be switched back to. Rebuild instead.")
	}
	back := slices.MaxFunc(list, func(a, b checkpoint) int { return cmp.Compare(a.swapped, b.swapped) })
	if ours, err := recognised(ctx, log, back); err != nil || !ours {
		return r, errors.Join(err, domain.Refuse("not-found", "The generation that is kept is of another log. Rebuild instead."))
	}
	b := building{store: s, log: log, skips: newSkips(log), tell: tell, started: time.Now(), of: was.events}
	r = Rebuilt{Generation: back.generation, Replaces: was.generation}
	to, err := s.generation(ctx, back)
	if err != nil {
		return r, err
	}
	if _, err = b.catchUp(ctx, to, back); err != nil {
		return r, err
	}
	if r.Pause, err = b.swap(ctx, to); err != nil {
		return r, fmt.Errorf("switch back: %w", err)
	}
	_, now := s.here()
	r.Swapped, r.Position, r.Events, r.Took = true, now.position, now.events, time.Since(b.started)
	return r, nil
}

// tidy removes what is no longer needed, unless somebody is at it.
func (s *Store) tidy(ctx context.Context) error {
	release, err := s.database.claim(ctx, false)
	if errors.Is(err, errClaimed) {
		return nil
	}
	if err != nil {
		return err
	}
	defer release()
	return s.tidyClaimed(ctx)
}

func (s *Store) tidyClaimed(ctx context.Context) error {
	if err := s.database.abandoned(ctx); err != nil {
		return fmt.Errorf("remove what is left of a rebuild: %w", err)
	}
	list, err := s.database.list(ctx)
	if err != nil {
		return err
	}
	live, was := s.here()
	kept := false // one to switch back to is enough
	slices.SortFunc(list, func(a, b checkpoint) int { return cmp.Compare(b.swapped, a.swapped) })
	for _, c := range list {
		if c.generation == live.number {
			continue
		}
		old := s.clock().UnixNano()-c.moved >= s.grace.Nanoseconds()
		if c.fingerprint == s.fingerprint && c.swapped > 0 && c.swapped < was.swapped {
			old, kept = old || kept, true
		}
		if !old {
			continue
		}
		if err := s.drop(ctx, c.generation); err != nil {
			return fmt.Errorf("remove generation %d: %w", c.generation, err)
		}
	}
	return nil
}

// drop removes a generation.
func (s *Store) drop(ctx context.Context, number int64) error {
	s.mu.Lock()
	g := s.opened[number]
	delete(s.opened, number)
	s.mu.Unlock()
	var err error
	if g != nil {
		err = s.release(g)
	}
	return errors.Join(err, s.database.drop(ctx, number))
}
