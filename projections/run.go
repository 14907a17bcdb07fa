package projections

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"assent/domain"
)

// Source is the log as a runner needs it: positions rise, and nothing at or
// below a position it gave ever changes.
type Source interface {
	// ReadAll gives at most limit events after a position that it gave before,
	// in order; after zero from the first.
	ReadAll(ctx context.Context, after domain.Position, limit int) ([]domain.Record, error)
	// Follow gives every event after a position and waits for more until the
	// context ends.
	Follow(ctx context.Context, after domain.Position) iter.Seq2[domain.Record, error]
	// ReadStream gives a stream's events after a version, oldest first; none
	// for a stream nobody wrote to.
	ReadStream(ctx context.Context, stream domain.Stream, after domain.Version) ([]domain.Record, error)
}

const (
	// portion is how many events one transaction takes at most.
	portion = 500
	// gathering is how long events may gather before they are folded together,
	// as long as nobody waits for them: one transaction then serves many.
	gathering = 25 * time.Millisecond
	// rounds is how often a runner without anything to do looks after the
	// generations: whether another instance swapped, and whether one is old
	// enough to go.
	rounds = time.Minute
)

// Run folds the log into the read models, from where they are, until the
// context ends; it then returns the context's error. An event that cannot be
// folded ends it with a *Halt. Anything else that ends it is a fault of the
// log or the database: nothing is half written, and Run can be called again.
// Call it once at a time in a process; instances that share a database take
// turns.
//
// Read models of another version of this program are folded again, beside
// those that are there, which answer meanwhile. So are those that are ahead of
// the log, or end with another event than the log has there: they are of
// another log, and are emptied first.
func (s *Store) Run(ctx context.Context, log Source) error {
	s.turn(func() { s.halt = nil })
	err := s.run(ctx, log)
	if ctx.Err() == nil {
		s.turn(func() { s.stuck = err })
	}
	return err
}

func (s *Store) run(ctx context.Context, log Source) error {
	if err := s.begun(ctx, log); err != nil {
		return err
	}
	skips := newSkips(log)
	for {
		n, err := s.advance(ctx, log, skips)
		if ctx.Err() != nil {
			return ctx.Err() // whatever else it broke
		}
		if err != nil {
			return err
		}
		if n > 0 {
			continue
		}
		if s.Status().Stuck != nil {
			s.turn(func() { s.stuck = nil }) // it got on after all
		}
		if err := s.idle(ctx, log); err != nil {
			return err
		}
	}
}

// idle returns when there is more in the log, or it was time for a round.
func (s *Store) idle(ctx context.Context, log Source) error {
	_, at := s.here()
	waiting, cancel := context.WithTimeout(ctx, rounds)
	defer cancel()
	err := more(waiting, log, at.position)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case waiting.Err() != nil:
		return s.round(ctx)
	case err != nil:
		return fmt.Errorf("follow the log: %w", err)
	}
	s.gather(ctx)
	return nil
}

// round looks which generation is live, and removes what is no longer needed.
func (s *Store) round(ctx context.Context) error {
	if _, err := s.look(ctx); err != nil {
		return err
	}
	return s.tidy(ctx)
}

// gather returns when somebody waits, or after a moment.
func (s *Store) gather(ctx context.Context) {
	moment := time.NewTimer(gathering)
	defer moment.Stop()
	select {
	case <-s.wanted:
	case <-moment.C:
	case <-ctx.Done():
	}
}

// more returns when there is something after a position. A log that can wait
// without reading is spared reading the first event twice.
func more(ctx context.Context, log Source, after domain.Position) error {
	if w, ok := log.(interface {
		Wait(context.Context, domain.Position) error
	}); ok {
		return w.Wait(ctx, after)
	}
	for _, err := range log.Follow(ctx, after) {
		return err
	}
	return ctx.Err()
}

// begun sees to it that the live generation is of this log, and of this
// version of the program.
func (s *Store) begun(ctx context.Context, log Source) error {
	if _, err := s.look(ctx); err != nil {
		return err
	}
	_, at := s.here()
	ours, err := recognised(ctx, log, at)
	if err != nil {
		return err
	}
	if !ours {
		if err := s.startOver(ctx, log); err != nil {
			return err
		}
	}
	s.turn(func() { s.strange = false })
	g, at := s.here()
	if g.fingerprint == s.fingerprint && at.position > 0 {
		return s.tidy(ctx)
	}
	if at.position == 0 && g.fingerprint == s.fingerprint {
		first, err := log.ReadAll(ctx, 0, portion)
		if err != nil {
			return fmt.Errorf("read the log: %w", err)
		}
		if len(first) < portion {
			return nil // soon done without
		}
	}
	return s.renew(ctx, log)
}

// recognised says whether a checkpoint is a place of this log.
func recognised(ctx context.Context, log Source, at checkpoint) (bool, error) {
	if at.position == 0 {
		return true, nil
	}
	last, err := log.ReadAll(ctx, at.before, 1)
	if err != nil {
		return false, fmt.Errorf("read the log: %w", err)
	}
	return len(last) == 1 && last[0].Position == at.position && last[0].ID == at.event, nil
}

// startOver replaces generations that are of another log by an empty one.
func (s *Store) startOver(ctx context.Context, log Source) error {
	release, err := s.database.claim(ctx, true)
	if err != nil {
		return err
	}
	defer release()
	if _, err := s.look(ctx); err != nil {
		return err
	}
	if _, at := s.here(); at.position > 0 {
		if ours, err := recognised(ctx, log, at); err != nil || ours {
			return err // another instance did
		}
	}
	others, err := s.database.list(ctx)
	if err != nil {
		return err
	}
	if err := s.anew(ctx); err != nil {
		return fmt.Errorf("begin again: %w", err)
	}
	for _, c := range others { // never to be switched back to
		if err := s.drop(ctx, c.generation); err != nil {
			return err
		}
	}
	return nil
}

// renew rebuilds what another version left or nobody has folded yet, or waits
// for the instance that does.
func (s *Store) renew(ctx context.Context, log Source) error {
	again := time.NewTicker(time.Second)
	defer again.Stop()
	for {
		_, err := s.Rebuild(ctx, log, RebuildOptions{unasked: true})
		if !errors.Is(err, errClaimed) {
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		if _, err := s.look(ctx); err != nil {
			return err
		}
		if g, at := s.here(); g.fingerprint == s.fingerprint && at.position > 0 {
			return nil
		}
	}
}

// advance folds the next portion into the live generation, and says how many
// events it looked at.
func (s *Store) advance(ctx context.Context, log Source, skips *skips) (int, error) {
	g, at := s.here()
	records, err := log.ReadAll(ctx, at.position, portion)
	if err != nil {
		return 0, fmt.Errorf("read the log: %w", err)
	}
	if len(records) == 0 {
		return 0, nil
	}
	now, err := s.apply(ctx, g, at, records, skips, true)
	halt, halted := errors.AsType[*Halt](err)
	if errors.Is(err, errNotLive) {
		_, err := s.look(ctx)
		return len(records), err
	}
	if err == nil && now.position < at.position { // the database went down, and lost what it took last
		return len(records), s.use(ctx, now)
	}
	if err == nil || halted {
		s.passed(g, now)
	}
	if halted {
		s.turn(func() { s.halt = halt })
	}
	return len(records), err
}

// errNotLive says that a generation is gone, or that another took over.
var errNotLive = errors.New("another generation took over")

// apply folds records into a generation that is at a checkpoint, in one
// transaction, and gives where it is then: elsewhere when somebody else was
// faster. When one record cannot be folded, those before it are, and the error
// is a *Halt. One that should be live is left alone when it no longer is.
func (s *Store) apply(ctx context.Context, g *generation, at checkpoint, records []domain.Record, skips *skips, live bool) (checkpoint, error) {
	ctx = s.database.patient(ctx)
	tx, now, err := s.hold(ctx, g)
	if err != nil || tx == nil {
		return now, err
	}
	defer func() { _ = tx.Rollback() }()
	if live {
		later, err := rowsOf[int64](ctx, tx, `SELECT swapped FROM checkpoint WHERE fingerprint = $1 AND swapped > $2`, s.fingerprint, now.swapped)
		if err != nil || len(later) > 0 || s.live.Load() != g {
			return now, errors.Join(errNotLive, err)
		}
	}
	if now.position != at.position {
		return now, nil
	}
	return s.foldInto(ctx, tx, g, now, records, skips)
}

// hold locks a generation's checkpoint. When another instance has it there is
// no transaction, but where the generation is once that instance is done.
func (s *Store) hold(ctx context.Context, g *generation) (*sql.Tx, checkpoint, error) {
	tx, err := g.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, checkpoint{}, fmt.Errorf("write the read models: %w", err)
	}
	try, wait := s.database.locked()
	now, err := checkpoints(ctx, tx, `WHERE generation = $1`+try, g.number)
	if err == nil && len(now) == 1 {
		return tx, now[0], nil
	}
	_ = tx.Rollback()
	if err == nil {
		now, err = checkpoints(ctx, g.db, `WHERE generation = $1`+wait, g.number)
	}
	switch {
	case err != nil:
		return nil, checkpoint{}, fmt.Errorf("lock the checkpoint: %w", err)
	case len(now) == 0:
		return nil, checkpoint{}, errNotLive
	}
	return nil, now[0], nil
}

// foldInto folds records in a transaction that holds the checkpoint.
func (s *Store) foldInto(ctx context.Context, tx *sql.Tx, g *generation, now checkpoint, records []domain.Record, skips *skips) (checkpoint, error) {
	load := func(ctx context.Context, t table, keys []string, found func(string, any)) error {
		return g.load(ctx, tx, t, keys, found)
	}
	f := s.folderAt(g, now, skips)
	n, stopped := f.take(ctx, records, load)
	halt, halted := errors.AsType[*Halt](stopped)
	for halted {
		if over, err := skips.over(ctx, halt); err != nil || !over {
			stopped = cmp.Or(err, stopped)
			break
		}
		f.forget()
		n, stopped = f.take(ctx, records, load)
		halt, halted = errors.AsType[*Halt](stopped)
	}
	if stopped != nil && !halted {
		return now, fmt.Errorf("fold after position %d: %w", now.position, stopped)
	}
	if halted && n > 0 { // only those before it
		f.forget()
		if _, err := f.take(ctx, records[:n], load); err != nil {
			return now, fmt.Errorf("fold before position %d: %w", halt.Position, err)
		}
	}
	if n > 0 {
		next := now.next(records[:n], s.clock())
		err := f.write(ctx, tx, g)
		if err == nil {
			err = next.put(ctx, tx)
		}
		if err == nil {
			err = tx.Commit()
		}
		if err != nil {
			return now, fmt.Errorf("write the read models: %w", err)
		}
		now = next
		f.settle()
		s.kept.Store(&keptFolder{g, now.position, f})
	}
	if halted {
		return now, halt
	}
	return now, nil
}

// keptFolder is rows that a generation's last portions touched.
type keptFolder struct {
	of     *generation
	at     domain.Position
	folder *folder
}

// folderAt is a folder for what comes after a checkpoint, which is held. It
// knows what the portions before touched, if nobody else folded since.
func (s *Store) folderAt(g *generation, now checkpoint, skips *skips) *folder {
	if kept := s.kept.Swap(nil); kept != nil && kept.of == g && kept.at == now.position {
		kept.folder.skips = skips
		return kept.folder
	}
	return s.newFolder(skips, 1)
}

// write writes the touched rows.
func (f *folder) write(ctx context.Context, tx *sql.Tx, g *generation) error {
	for i, t := range f.tables {
		lines, gone, err := f.changes(i)
		if err == nil {
			err = errors.Join(g.save(ctx, tx, t, lines), g.remove(ctx, tx, t, gone))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	return nil
}

// changes are the touched rows of a table, and the keys of those that are gone:
// in order, so that two writers of one database could never lock each other.
func (f *folder) changes(table int) (lines [][]any, gone []any, err error) {
	for _, rows := range f.shards {
		for _, k := range slices.Sorted(maps.Keys(rows[table])) {
			switch r := rows[table][k]; {
			case !r.dirty:
			case r.value == nil:
				gone = append(gone, storable(k))
			default:
				line, err := f.tables[table].line(k, r.value)
				if err != nil {
					return nil, nil, err
				}
				lines = append(lines, line)
			}
		}
	}
	return lines, gone, nil
}
