package projections

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"assent/domain"
)

const (
	// pageEvents is how many events a rebuild reads at once.
	pageEvents = 2000
	// batchLines is how many lines are loaded at once.
	batchLines = 500
	// eventRoom is what an event takes in memory beside its data.
	eventRoom = 1 << 10
)

// building is one rebuild.
type building struct {
	store *Store
	log   Source
	skips *skips
	tell  func(Progress)

	started time.Time
	events  int64 // folded so far
	of      int64 // how many the live generation has folded
	halt    *Halt // where folding ended, if it could not go on

	to      *generation
	in      nest
	folder  *folder
	keyed   bool // the new tables have their index of keys, as they need once rows are read back
	batches chan batch
}

// batch is lines on their way into a table. One without lines asks to be told
// when everything before it is there.
type batch struct {
	table  table
	lines  [][]any
	loaded chan<- struct{}
}

// begin makes the tables of a new generation, without indexes.
func (s *Store) begin(ctx context.Context, list []checkpoint) (*generation, nest, error) {
	number := int64(1)
	for _, c := range list {
		number = max(number, c.generation+1)
	}
	in, err := s.database.begin(ctx, number)
	if err != nil {
		return nil, nil, fmt.Errorf("begin generation %d: %w", number, err)
	}
	g := s.newGeneration(number, s.fingerprint, nil, nil)
	for _, t := range s.tables {
		if err := in.exec(ctx, g.sql(t.create(s.database.textType()))); err != nil {
			return nil, nil, errors.Join(fmt.Errorf("make %s: %w", t.name, err), in.leave(), s.database.drop(ctx, number))
		}
	}
	return g, in, nil
}

// index makes the indexes of new tables.
func (s *Store) index(ctx context.Context, g *generation, in nest, skipKeys bool, each func()) error {
	for _, t := range s.tables {
		list := t.createIndexes()
		if !skipKeys {
			list = append(list, t.createKey())
		}
		for _, ddl := range list {
			if err := in.exec(ctx, g.sql(ddl)); err != nil {
				return fmt.Errorf("index %s: %w", t.name, err)
			}
			each()
		}
	}
	return nil
}

// build folds the whole log into a new generation. When an event cannot be
// folded, it is folded up to that, or again without it.
func (b *building) build(ctx context.Context) (*generation, checkpoint, error) {
	for {
		g, at, err := b.buildBefore(ctx, nil)
		halt, halted := errors.AsType[*Halt](err)
		if !halted {
			return g, at, err
		}
		if over, err := b.skips.over(ctx, halt); err != nil {
			return nil, at, err
		} else if !over {
			return b.buildBefore(ctx, halt)
		}
	}
}

func (b *building) buildBefore(ctx context.Context, halt *Halt) (*generation, checkpoint, error) {
	s := b.store
	list, err := s.database.list(ctx)
	if err != nil {
		return nil, checkpoint{}, err
	}
	if b.to, b.in, err = s.begin(ctx, list); err != nil {
		return nil, checkpoint{}, err
	}
	b.halt, b.events, b.keyed = halt, 0, false
	at := checkpoint{generation: b.to.number, fingerprint: s.fingerprint}
	if at, err = b.fill(ctx, at); err == nil {
		err = s.index(ctx, b.to, b.in, b.keyed, func() { b.say(Indexing) })
	}
	b.to.forget()
	if err == nil {
		err = b.in.finish(ctx, b.to, at)
	}
	if err != nil && ctx.Err() != nil {
		err = ctx.Err() // whatever else it broke
	}
	if err = errors.Join(err, b.in.leave()); err != nil {
		return nil, at, errors.Join(err, s.database.drop(context.WithoutCancel(ctx), b.to.number))
	}
	g, err := s.generation(ctx, at)
	return g, at, err
}

// fill reads, folds and loads at the same time.
func (b *building) fill(ctx context.Context, at checkpoint) (checkpoint, error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	b.folder = b.store.newFolder(b.skips, runtime.GOMAXPROCS(0))
	b.batches = make(chan batch, 4)
	pages := make(chan []domain.Record, 1)
	var others sync.WaitGroup
	others.Go(func() {
		defer close(pages)
		if err := b.read(ctx, pages); err != nil {
			fail(err)
		}
	})
	others.Go(func() {
		if err := b.loadAll(ctx); err != nil {
			fail(err)
		}
	})
	at, err := b.foldAll(ctx, pages, at)
	if err != nil {
		fail(err)
	}
	close(b.batches)
	others.Wait()
	if cause := context.Cause(ctx); cause != nil {
		err = cause // what failed first
	}
	b.folder = nil
	return at, err
}

// read gives the log page by page, up to where it cannot be folded.
func (b *building) read(ctx context.Context, pages chan<- []domain.Record) error {
	for last := domain.Position(0); ; {
		records, err := b.log.ReadAll(ctx, last, pageEvents)
		if err != nil {
			return fmt.Errorf("read the log: %w", err)
		}
		if b.halt != nil && len(records) > 0 && records[len(records)-1].Position >= b.halt.Position {
			for i, r := range records {
				if r.Position >= b.halt.Position {
					records = records[:i]
					break
				}
			}
		}
		if len(records) == 0 {
			return nil
		}
		last = records[len(records)-1].Position
		select {
		case pages <- records:
		case <-ctx.Done():
			return nil
		}
	}
}

// foldAll folds every page. What is final goes out at once, the rest when the
// memory is used up and at the end.
func (b *building) foldAll(ctx context.Context, pages <-chan []domain.Record, at checkpoint) (checkpoint, error) {
	var held int64
	for records := range pages {
		var load loading
		if b.keyed {
			load = b.reload
		}
		if _, err := b.folder.take(ctx, records, load); err != nil {
			return at, err
		}
		at = at.next(records, b.store.clock())
		if err := b.send(ctx, func(t table) bool { return t.once }); err != nil {
			return at, err
		}
		for _, r := range records {
			held += int64(len(r.Data)) + eventRoom
		}
		if held > b.store.memory {
			if err := b.spill(ctx); err != nil {
				return at, err
			}
			held = 0
		}
		b.events = at.events
		b.say(Folding)
	}
	if err := ctx.Err(); err != nil {
		return at, err
	}
	return at, b.send(ctx, func(table) bool { return true })
}

// spill makes room: everything goes to the tables, to be read back when it is
// touched again.
func (b *building) spill(ctx context.Context) error {
	if err := b.send(ctx, func(table) bool { return true }); err != nil {
		return err
	}
	loaded := make(chan struct{})
	select {
	case b.batches <- batch{loaded: loaded}:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-loaded:
	case <-ctx.Done():
		return ctx.Err()
	}
	b.folder.forget()
	if b.keyed {
		return nil
	}
	for _, t := range b.store.tables {
		if err := b.in.exec(ctx, b.to.sql(t.createKey())); err != nil {
			return fmt.Errorf("index %s: %w", t.name, err)
		}
	}
	b.keyed = true
	return nil
}

// reload reads back rows that were spilled.
func (b *building) reload(ctx context.Context, t table, keys []string, found func(string, any)) error {
	return b.in.fetch(ctx, b.to, t, keys, found)
}

// send lets the rows of some tables out of memory: new ones to be loaded,
// those that were read back written over what is there. Every shard spells its
// own.
func (b *building) send(ctx context.Context, which func(table) bool) error {
	var shards sync.WaitGroup
	errs := make([]error, len(b.folder.shards))
	for w, rows := range b.folder.shards {
		shards.Go(func() {
			for i, t := range b.store.tables {
				if errs[w] == nil && which(t) {
					errs[w] = b.sendTable(ctx, t, rows[i])
					rows[i] = map[string]row{}
				}
			}
		})
	}
	shards.Wait()
	return errors.Join(errs...)
}

// sendTable sends a table's rows in the order they were made in: that is the
// order of most of its indexes, and of most questions.
func (b *building) sendTable(ctx context.Context, t table, rows map[string]row) error {
	var fresh, changed [][]any
	var gone []any
	out := func(least int) error {
		if len(fresh) <= least {
			return nil
		}
		select {
		case b.batches <- batch{table: t, lines: fresh}:
		case <-ctx.Done():
			return ctx.Err()
		}
		fresh = nil
		return nil
	}
	type keyed struct {
		key string
		row
	}
	leaving := make([]keyed, 0, len(rows))
	for k, r := range rows {
		if r.dirty {
			leaving = append(leaving, keyed{k, r})
		}
	}
	slices.SortFunc(leaving, func(a, b keyed) int { return cmp.Or(cmp.Compare(a.born, b.born), cmp.Compare(a.key, b.key)) })
	for _, r := range leaving {
		if r.value == nil {
			if r.stored {
				gone = append(gone, storable(r.key))
			}
			continue
		}
		line, err := t.line(r.key, r.value)
		if err != nil {
			return err
		}
		if r.stored {
			changed = append(changed, line)
			continue
		}
		fresh = append(fresh, line)
		if err := out(batchLines); err != nil {
			return err
		}
	}
	if err := out(0); err != nil || len(changed)+len(gone) == 0 {
		return err
	}
	return b.in.change(ctx, b.to, t, changed, gone)
}

// loadAll loads what is sent until there is no more.
func (b *building) loadAll(ctx context.Context) error {
	for batch := range b.batches {
		if batch.loaded != nil {
			close(batch.loaded)
			continue
		}
		if err := b.in.load(ctx, b.to, batch.table, batch.lines); err != nil {
			return fmt.Errorf("load %s: %w", batch.table.name, err)
		}
	}
	return nil
}

// say tells how far it is.
func (b *building) say(stage string) {
	p := Progress{Stage: stage, Events: b.events}
	if took := time.Since(b.started).Seconds(); took > 0 {
		p.Rate = float64(b.events) / took
	}
	if b.of > 0 {
		p.Of = max(b.of, b.events)
	}
	if p.Rate > 0 && p.Of > 0 {
		p.Left = time.Duration(float64(p.Of-p.Events) / p.Rate * float64(time.Second))
	}
	b.store.mu.Lock()
	b.store.rebuild = &p
	b.store.mu.Unlock()
	if b.tell != nil {
		b.tell(p)
	}
}
