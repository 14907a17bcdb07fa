package projections

import (
	"context"
	"database/sql"
	"encoding/json"
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
	// ReadAll gives at most limit events after a position, in order.
	ReadAll(ctx context.Context, after domain.Position, limit int) ([]domain.Record, error)
	// Follow gives every event after a position and waits for more until the
	// context ends.
	Follow(ctx context.Context, after domain.Position) iter.Seq2[domain.Record, error]
}

// portion is how many events one transaction takes at most.
const portion = 500

// Halt says at which event the read models stand still, and why. They stay
// readable, as of the event before.
type Halt struct {
	Position domain.Position `json:"position,string"`
	Stream   string          `json:"stream"`
	Word     string          `json:"word"`
	Why      string          `json:"why"`
	At       time.Time       `json:"at"`
}

// Error says it in a sentence.
func (h *Halt) Error() string {
	return fmt.Sprintf("the read models stand still before position %d (%s in %s): %s", h.Position, h.Word, h.Stream, h.Why)
}

// Status is how far the read models are.
type Status struct {
	Generation int64           `json:"generation"`
	Position   domain.Position `json:"position,string"`
	FoldedAt   time.Time       `json:"foldedAt,omitzero"` // when this process last folded something
	Halt       *Halt           `json:"halt,omitempty"`
	Stuck      error           `json:"-"` // what keeps them from getting on; nil while nothing does
}

// Status says how far the read models are, and where they stand still if they do.
func (s *Store) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Status{s.generation, s.seen, s.folded, s.halt, s.stuck}
}

// Wait returns when the read models have seen a position. The error is the
// context's, or what keeps them from getting there: a *Halt, or the fault that
// ended Run last.
func (s *Store) Wait(ctx context.Context, position domain.Position) error {
	for {
		s.mu.Lock()
		seen, halt, stuck, moved := s.seen, s.halt, s.stuck, s.moved
		if s.strange {
			seen = -1 // it may be of another log
		}
		s.mu.Unlock()
		switch {
		case seen >= position:
			return nil
		case halt != nil:
			return halt
		case stuck != nil:
			return stuck
		}
		select {
		case s.wanted <- struct{}{}: // somebody is waiting: do not gather any longer
		default:
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return fmt.Errorf("wait for position %d: %w", position, ctx.Err())
		}
	}
}

// Run folds the log into the read models, from where they are, until the
// context ends; it then returns the context's error. An event that cannot be
// folded ends it with a *Halt. Anything else that ends it is a fault of the
// log or the database: nothing is half written, and Run can be called again.
// Call it once at a time.
//
// Read models that are ahead of the log, or that end with another event than
// the log has there, are of another log: they are emptied and folded again.
func (s *Store) Run(ctx context.Context, log Source) error {
	s.turn(func() { s.halt = nil })
	err := s.run(ctx, log)
	if ctx.Err() == nil {
		s.turn(func() { s.stuck = err })
	}
	return err
}

func (s *Store) run(ctx context.Context, log Source) error {
	if err := s.recognise(ctx, log); err != nil {
		return err
	}
	for {
		n, err := s.advance(ctx, log)
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
		if err := more(ctx, log, s.Status().Position); err != nil {
			return fmt.Errorf("follow the log: %w", err)
		}
		s.gather(ctx)
	}
}

// gathering is how long events may gather before they are folded together, as
// long as nobody waits for them: one transaction then serves many.
const gathering = 25 * time.Millisecond

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

// recognise makes sure that the checkpoint is a place of this log.
func (s *Store) recognise(ctx context.Context, log Source) error {
	if s.seen == 0 {
		return nil
	}
	last, err := log.ReadAll(ctx, s.seen-1, 1)
	if err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	if len(last) == 1 && last[0].Position == s.seen && last[0].ID == s.event {
		s.turn(func() { s.strange = false })
		return nil
	}
	return s.empty(ctx)
}

// empty takes everything back to before the first event.
func (s *Store) empty(ctx context.Context) error {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("empty the read models: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	for _, t := range s.all() {
		if _, err := tx.ExecContext(ctx, s.sql(`DELETE FROM {`+t.name+`}`)); err != nil {
			return fmt.Errorf("empty %s: %w", t.name, err)
		}
	}
	if _, err := tx.ExecContext(ctx, `UPDATE checkpoint SET position = 0, event = '' WHERE one = 1`); err != nil {
		return fmt.Errorf("empty the read models: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("empty the read models: %w", err)
	}
	s.turn(func() { s.seen, s.event, s.strange = 0, "", false })
	return nil
}

// turn changes what Status and Wait see, and wakes who waits.
func (s *Store) turn(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	close(s.moved)
	s.moved = make(chan struct{})
}

// advance folds the next portion, and says how many events that were.
func (s *Store) advance(ctx context.Context, log Source) (int, error) {
	records, err := log.ReadAll(ctx, s.seen, portion)
	if err != nil {
		return 0, fmt.Errorf("read the log: %w", err)
	}
	if len(records) == 0 {
		return 0, nil
	}
	return len(records), s.apply(ctx, records)
}

// apply folds records and writes what they touched, with the checkpoint, in
// one transaction. When one cannot be folded, those before it are written and
// the error is a *Halt.
func (s *Store) apply(ctx context.Context, records []domain.Record) error {
	// A portion is soon done, and a statement that can be called off costs a
	// goroutine that watches.
	ctx = context.WithoutCancel(ctx)
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("write the read models: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	b := batch{store: s, tx: tx, rows: map[string]map[string]row{}}
	if err := b.alone(ctx); err != nil {
		return fmt.Errorf("write the read models: %w", err)
	}
	var halt *Halt
	for _, r := range records {
		if err := b.take(ctx, r); errors.As(err, &halt) {
			halt.At = s.clock()
			break
		} else if err != nil {
			return fmt.Errorf("fold position %d: %w", r.Position, err)
		}
		b.last = r
	}
	if b.last.Position > 0 {
		if err := b.save(ctx); err != nil {
			return fmt.Errorf("write the read models: %w", err)
		}
		if err := tx.Commit(); err != nil {
			return fmt.Errorf("write the read models: %w", err)
		}
	}
	s.turn(func() {
		if b.last.Position > 0 {
			s.seen, s.event, s.folded = b.last.Position, b.last.ID, s.clock()
		}
		s.halt = halt
	})
	if halt != nil {
		return halt
	}
	return nil
}

// batch is what one transaction has touched so far: rows by table and key.
type batch struct {
	store *Store
	tx    *sql.Tx
	rows  map[string]map[string]row
	last  domain.Record
}

// row is a row in memory; a nil value is one that does not exist.
type row struct {
	value any
	dirty bool
}

// change is what one event does to one row.
type change struct {
	table string
	key   string
	row   row
}

// take folds one event into every table, or into none when it cannot be folded.
func (b *batch) take(ctx context.Context, r domain.Record) error {
	changes, err := b.fold(ctx, r)
	if err != nil {
		return err
	}
	for _, c := range changes {
		b.rows[c.table][c.key] = c.row
	}
	return nil
}

func (b *batch) fold(ctx context.Context, r domain.Record) (changes []change, err error) {
	f, stands, err := b.fact(ctx, r)
	if err != nil {
		return nil, err
	}
	if f.After != nil && !versioned(r.Stream.Category) {
		changes = append(changes, change{b.store.states.name, standingKey(r.Stream), row{stands, true}})
	}
	for _, t := range b.store.tables {
		keys, err := guard(r, func() []string { return t.keys(f) })
		if err != nil {
			return nil, err
		}
		slices.Sort(keys)
		for _, k := range slices.Compact(keys) {
			before, err := b.load(ctx, t, k)
			if err != nil {
				return nil, err
			}
			after, err := guard(r, func() row {
				if v, keep := t.fold(k, before.value, f); keep {
					return row{v, true}
				}
				return row{nil, before.value != nil || before.dirty}
			})
			if err != nil {
				return nil, err
			}
			changes = append(changes, change{t.name, k, after})
		}
	}
	return changes, nil
}

// fact reads a record and folds it into the state of its stream.
func (b *batch) fact(ctx context.Context, r domain.Record) (Fact, standing, error) {
	recorded, err := b.store.words.Read(r)
	if err != nil {
		return Fact{}, standing{}, halted(r, err)
	}
	f := Fact{Recorded: recorded}
	kind, known := b.store.kinds[r.Stream.Category]
	if !known || !shown(r.Stream.Category) {
		return f, standing{}, nil
	}
	was, err := b.before(ctx, r, kind)
	if err != nil {
		return Fact{}, standing{}, err
	}
	if r.Version != was.Version+1 {
		return Fact{}, standing{}, halted(r, fmt.Errorf("it is version %d of its stream, after version %d", r.Version, was.Version))
	}
	f.Before = was.State
	f.After, err = guarded(r, func() (domain.State, error) { return kind.Evolve(was.State, recorded.Event) })
	return f, standing{r.Version, f.After}, err
}

// guard turns a panic in a pure function into a *Halt at the record.
func guard[T any](r domain.Record, f func() T) (T, error) {
	return guarded(r, func() (T, error) { return f(), nil })
}

func guarded[T any](r domain.Record, f func() (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = halted(r, fmt.Errorf("%v", p))
		}
	}()
	if v, err = f(); err != nil {
		err = halted(r, err)
	}
	return v, err
}

func halted(r domain.Record, why error) error {
	return &Halt{Position: r.Position, Stream: r.Stream.String(), Word: r.Word, Why: why.Error()}
}

// load is a row as this batch has left it so far.
func (b *batch) load(ctx context.Context, t table, key string) (row, error) {
	if b.rows[t.name] == nil {
		b.rows[t.name] = map[string]row{}
	}
	if r, ok := b.rows[t.name][key]; ok || t.once {
		return r, nil
	}
	var doc []byte
	err := b.tx.StmtContext(ctx, b.store.statements[t.name].load).QueryRowContext(ctx, key).Scan(&doc)
	if errors.Is(err, sql.ErrNoRows) {
		b.rows[t.name][key] = row{}
		return row{}, nil
	}
	if err != nil {
		return row{}, fmt.Errorf("load %s %s: %w", t.name, key, err)
	}
	value, err := t.decode(key, doc)
	if err != nil {
		return row{}, fmt.Errorf("load %s %s: %w", t.name, key, err)
	}
	b.rows[t.name][key] = row{value: value}
	return row{value: value}, nil
}

// save writes the touched rows, keys in order so that two writers of one
// database could never lock each other, and moves the checkpoint.
func (b *batch) save(ctx context.Context) error {
	for _, t := range b.store.all() {
		for _, k := range slices.Sorted(maps.Keys(b.rows[t.name])) {
			if err := b.saveRow(ctx, t, k, b.rows[t.name][k]); err != nil {
				return fmt.Errorf("%s %s: %w", t.name, k, err)
			}
		}
	}
	return b.checkpoint(ctx)
}

func (b *batch) saveRow(ctx context.Context, t table, key string, r row) error {
	st := b.store.statements[t.name]
	if !r.dirty {
		return nil
	}
	if r.value == nil {
		_, err := b.tx.StmtContext(ctx, st.drop).ExecContext(ctx, key)
		return err
	}
	doc, err := json.Marshal(r.value)
	if err != nil {
		return err
	}
	values := append([]any{key, workspaceOf(key), string(doc)}, t.values(r.value)...)
	_, err = b.tx.StmtContext(ctx, st.save).ExecContext(ctx, values...)
	return err
}

// checkpoint is where the next portion begins.
func (b *batch) checkpoint(ctx context.Context) error {
	_, err := b.tx.StmtContext(ctx, b.store.move).ExecContext(ctx, int64(b.last.Position), string(b.last.ID))
	return err
}

// alone makes sure that the tables are where this store left them: whoever
// comes second on the same database fails here, before folding anything twice.
func (b *batch) alone(ctx context.Context) error {
	var at domain.Position
	err := b.tx.StmtContext(ctx, b.store.here).QueryRowContext(ctx, b.store.generation).Scan(&at)
	if errors.Is(err, sql.ErrNoRows) || err == nil && at != b.store.seen {
		return errors.New("somebody else folds into the same read models")
	}
	return err
}
