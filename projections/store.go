package projections

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/vocab"
)

// Store is the read models of one database: one writer at a time, which is
// Run, and any number of readers. Its methods are safe to call at the same
// time, and other instances may have the same PostgreSQL database open.
type Store struct {
	database    database
	words       *vocab.Vocabulary
	kinds       map[string]action.Kind
	clock       func() time.Time
	tables      []table // the first is states
	fingerprint string  // of the tables
	options

	live atomic.Pointer[generation] // what questions are asked of
	kept atomic.Pointer[keptFolder] // nil while somebody folds

	mu      sync.Mutex
	opened  map[int64]*generation
	mark    checkpoint // of the live generation, as far as this process knows
	folded  time.Time
	halt    *Halt
	strange bool          // not yet known to be of the log that Run follows
	stuck   error         // what ended Run last, until it gets on
	moved   chan struct{} // closed when any of these change
	wanted  chan struct{} // holds one when somebody waits
	rebuild *Progress     // of the one under way here
}

type options struct {
	grace  time.Duration
	memory int64
}

// Option changes how a store works.
type Option func(*options)

// WithGrace says how long a generation that is no longer live is kept, so that
// SwitchBack finds it: a day unless said otherwise.
func WithGrace(d time.Duration) Option { return func(o *options) { o.grace = d } }

// WithMemory says how many bytes of events a rebuild may hold in memory at
// once, roughly: 128 MiB unless said otherwise. It takes three to four times
// that for the rows they lead to.
func WithMemory(bytes int64) Option { return func(o *options) { o.memory = bytes } }

// Open opens or makes the read models kept at where: a file (sqlite:PATH or
// only the path), or a PostgreSQL database (postgres://…), in its schema
// assent_read. When none are of this program's projections, those that are
// there answer until Run has folded the log again. Words and kinds are those
// the log is written with; clock says when, for people only.
func Open(ctx context.Context, where string, words *vocab.Vocabulary, kinds map[string]action.Kind, clock func() time.Time, more ...Option) (*Store, error) {
	s := &Store{
		words: words, kinds: kinds, clock: clock, tables: append([]table{states(kinds)}, tables()...),
		options: options{grace: 24 * time.Hour, memory: 128 << 20},
		opened:  map[int64]*generation{}, moved: make(chan struct{}), wanted: make(chan struct{}, 1),
	}
	for _, o := range more {
		o(&s.options)
	}
	s.fingerprint = fingerprint(s.tables)
	var err error
	if s.database, err = openDatabase(ctx, where); err != nil {
		return nil, err
	}
	if err := s.first(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open the read models: %w", err), s.Close())
	}
	s.strange = s.mark.position > 0
	return s, nil
}

// Close lets go of the database. End Run first.
func (s *Store) Close() error {
	var errs []error
	for _, g := range s.opened {
		errs = append(errs, s.release(g))
	}
	return errors.Join(append(errs, s.database.close())...)
}

func (s *Store) release(g *generation) error {
	g.forget()
	err := s.database.release(g.db)
	if g.reads != g.db {
		err = errors.Join(err, s.database.release(g.reads))
	}
	return err
}

// first takes the generation that is there, or makes one.
func (s *Store) first(ctx context.Context) error {
	if err := s.database.prepare(ctx); err != nil {
		return err
	}
	if there, err := s.look(ctx); there || err != nil {
		return err
	}
	release, err := s.database.claim(ctx, true)
	if err != nil {
		return err
	}
	defer release()
	if there, err := s.look(ctx); there || err != nil {
		return err // another instance was faster
	}
	if err := s.database.abandoned(ctx); err != nil {
		return err
	}
	return s.anew(ctx)
}

// anew makes an empty generation and lets it take over.
func (s *Store) anew(ctx context.Context) error {
	list, err := s.database.list(ctx)
	if err != nil {
		return err
	}
	g, in, err := s.begin(ctx, list)
	if err != nil {
		return err
	}
	now := checkpoint{generation: g.number, fingerprint: s.fingerprint, swapped: lastSwap(list) + 1, moved: s.clock().UnixNano()}
	if err = s.index(ctx, g, in, false, func() {}); err == nil {
		err = in.finish(ctx, g, now)
	}
	if err = errors.Join(err, in.leave()); err != nil {
		return err
	}
	return s.use(ctx, now)
}

func lastSwap(list []checkpoint) (last int64) {
	for _, c := range list {
		last = max(last, c.swapped)
	}
	return last
}

// look finds the generation that is live by now, and uses it: the last that
// took over of those with this program's tables, or of all when there are
// none. It says whether there is one.
func (s *Store) look(ctx context.Context) (bool, error) {
	list, err := s.database.list(ctx)
	if err != nil {
		return false, err
	}
	live, there := liveOf(list, s.fingerprint)
	if !there {
		return false, nil
	}
	return true, s.use(ctx, live)
}

// liveOf is the generation that questions are asked of by who has these tables.
func liveOf(list []checkpoint, fingerprint string) (live checkpoint, there bool) {
	for _, c := range list {
		ours, better := c.fingerprint == fingerprint, live.fingerprint == fingerprint
		if c.swapped > 0 && (!there || ours && !better || ours == better && c.swapped > live.swapped) {
			live, there = c, true
		}
	}
	return live, there
}

// Seen says how far the read models kept at where have come, without making
// any: 0 when there are none.
func Seen(ctx context.Context, where string) (domain.Position, error) {
	var seen domain.Position
	err := listed(ctx, where, func(_ database, list []checkpoint) error {
		for _, c := range list {
			if c.swapped > 0 {
				seen = max(seen, c.position)
			}
		}
		return nil
	})
	return seen, err
}

// Remove removes the read models kept at where, every generation: they are
// folded again from the log. Nobody may have them open.
func Remove(ctx context.Context, where string) error {
	return listed(ctx, where, func(d database, list []checkpoint) (err error) {
		for _, c := range list {
			err = errors.Join(err, d.drop(ctx, c.generation))
		}
		return err
	})
}

// listed looks at what is kept at where without a store.
func listed(ctx context.Context, where string, do func(database, []checkpoint) error) error {
	d, err := openDatabase(ctx, where)
	if err != nil {
		return err
	}
	var list []checkpoint
	there, err := d.there(ctx)
	if err == nil && there {
		list, err = d.list(ctx)
	}
	if err == nil {
		err = do(d, list)
	}
	return errors.Join(err, d.close())
}

// generation gives one that is there, opened.
func (s *Store) generation(ctx context.Context, c checkpoint) (*generation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, ok := s.opened[c.generation]
	if !ok {
		db, reads, err := s.database.open(ctx, c.generation)
		if err != nil {
			return nil, fmt.Errorf("open generation %d: %w", c.generation, err)
		}
		g = s.newGeneration(c.generation, c.fingerprint, db, reads)
		s.opened[c.generation] = g
	}
	if g.fingerprint != s.fingerprint {
		return g, nil // another version's: only read
	}
	return g, g.prepare(ctx, s.tables, s.database.spelled)
}

// use lets questions be asked of a generation from now on.
func (s *Store) use(ctx context.Context, c checkpoint) error {
	g, err := s.generation(ctx, c)
	if err == nil {
		s.turn(func() {
			if c.fingerprint == s.mark.fingerprint && c.swapped < s.mark.swapped {
				return // another took over while this one was looked up
			}
			s.mark = c
			s.live.Store(g)
		})
	}
	return err
}

// passed notes where a generation is by now.
func (s *Store) passed(g *generation, c checkpoint) {
	s.turn(func() {
		if s.live.Load() == g && c.position > s.mark.position {
			s.mark, s.folded, s.stuck = c, s.clock(), nil
		}
	})
}

// turn changes what Status and Wait see, and wakes who waits.
func (s *Store) turn(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	close(s.moved)
	s.moved = make(chan struct{})
}

// here is the live generation, and where it is.
func (s *Store) here() (*generation, checkpoint) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live.Load(), s.mark
}

// Status is how far the read models are.
type Status struct {
	Generation int64           `json:"generation"`
	Position   domain.Position `json:"position,string"`
	At         time.Time       `json:"at,omitzero"`       // log time of the last event folded
	Events     int64           `json:"events"`            // how many were folded
	FoldedAt   time.Time       `json:"foldedAt,omitzero"` // when this process last folded something
	Current    bool            `json:"current"`           // false: another version's rows, until a rebuild is done
	Halt       *Halt           `json:"halt,omitempty"`
	Rebuild    *Progress       `json:"rebuild,omitempty"` // of the one under way in this process
	Stuck      error           `json:"-"`                 // what keeps them from getting on; nil while nothing does
}

// Status says how far the read models are, and where they stand still if they do.
func (s *Store) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := Status{
		Generation: s.mark.generation, Position: s.mark.position, Events: s.mark.events, FoldedAt: s.folded,
		Current: s.mark.fingerprint == s.fingerprint, Halt: s.halt, Rebuild: s.rebuild, Stuck: s.stuck,
	}
	if s.mark.at > 0 {
		status.At = time.Unix(0, s.mark.at).UTC()
	}
	return status
}

// Model is one read model: a table of every generation.
type Model struct {
	Name    string `json:"name"`
	Version int    `json:"version"`
}

// Models are all read models. They share one checkpoint, so that any question
// about several is answered as of one position.
func (s *Store) Models() []Model {
	var list []Model
	for _, t := range s.tables {
		list = append(list, Model{t.name, t.version})
	}
	return list
}

// Generation is one set of tables that is kept.
type Generation struct {
	Number   int64           `json:"number"`
	State    string          `json:"state"` // live, ready (rebuilt and not yet live), previous, or other (of another version of this program)
	Position domain.Position `json:"position,string"`
	Events   int64           `json:"events"`
	Moved    time.Time       `json:"moved"` // when something was last folded into it
}

// Generations lists what is kept, oldest first.
func (s *Store) Generations(ctx context.Context) ([]Generation, error) {
	list, err := s.database.list(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the generations: %w", err)
	}
	slices.SortFunc(list, func(a, b checkpoint) int { return cmp.Compare(a.generation, b.generation) })
	live := s.Status().Generation
	found := make([]Generation, len(list))
	for i, c := range list {
		state := "previous"
		switch {
		case c.generation == live:
			state = "live"
		case c.fingerprint != s.fingerprint:
			state = "other"
		case c.swapped == 0:
			state = "ready"
		}
		found[i] = Generation{c.generation, state, c.position, c.events, time.Unix(0, c.moved).UTC()}
	}
	return found, nil
}

// Wait returns when the read models have seen a position. The error is the
// context's, or what keeps them from getting there: a *Halt, or the fault that
// ended Run last.
func (s *Store) Wait(ctx context.Context, position domain.Position) error {
	for {
		s.mu.Lock()
		seen, halt, stuck, moved := s.mark.position, s.halt, s.stuck, s.moved
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

// rowsOf is the single column of a query.
func rowsOf[T any](ctx context.Context, q queryer, query string, args ...any) ([]T, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var list []T
	for rows.Next() {
		var v T
		if err := rows.Scan(&v); err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, rows.Err()
}
