package projections

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/vocab"
)

// folder folds records into rows in memory. The rows are shared out by their
// keys, so that several goroutines can fold at once: what happens to one row
// happens in the order of the log, whoever does it.
type folder struct {
	words  *vocab.Vocabulary
	kinds  map[string]action.Kind
	tables []table // the first is states
	skips  *skips

	seed   maphash.Seed
	shards []shard
	before []shard // what the database holds, as far as portions before touched it
	kept   int     // how many rows that is
}

// mostKept is how many rows are kept from one portion to the next.
const mostKept = 8000

// shard is some of the rows of every table, by the tables' places.
type shard []map[string]row

// row is a row in memory.
type row struct {
	value  any             // nil: there is no such row
	dirty  bool            // the database does not have it like this
	stored bool            // the database has a row of this key
	born   domain.Position // of the fact that made it, as far as this memory reaches back
}

// with is the row after a fact at a position.
func (r row) with(value any, dirty bool, at domain.Position) row {
	return row{value, dirty, r.stored, cmp.Or(r.born, at)}
}

// loading brings rows that are in the database. One that is not there is not
// found. A nil loading finds nothing: everything there is, is in memory.
type loading func(ctx context.Context, t table, keys []string, found func(key string, value any)) error

// newFolder makes a folder for that many goroutines.
func (s *Store) newFolder(skips *skips, goroutines int) *folder {
	f := &folder{words: s.words, kinds: s.kinds, tables: s.tables, skips: skips, seed: maphash.MakeSeed(), shards: make([]shard, goroutines)}
	f.forget()
	return f
}

// forget empties the memory.
func (f *folder) forget() { f.shards = f.empty() }

func (f *folder) empty() []shard {
	shards := make([]shard, len(f.shards))
	for i := range shards {
		shards[i] = make(shard, len(f.tables))
		for t := range f.tables {
			shards[i][t] = map[string]row{}
		}
	}
	return shards
}

// settle says that the database holds everything by now. What was touched is
// kept for the next portions: most of what those touch is the same.
func (f *folder) settle() {
	if f.before == nil || f.kept > mostKept {
		f.before, f.kept = f.empty(), 0
	}
	for w, rows := range f.shards {
		for i, t := range f.tables {
			if t.once {
				continue // never read back
			}
			for k, r := range rows[i] {
				if r.dirty {
					r = row{value: r.value, stored: r.value != nil}
				}
				f.before[w][i][k] = r
			}
			f.kept += len(rows[i])
		}
	}
	f.forget()
}

// known says whether a row is in memory, or is kept from a portion before.
func (f *folder) known(shard, table int, key string) bool {
	rows := f.shards[shard][table]
	if _, known := rows[key]; known || f.before == nil {
		return known
	}
	r, known := f.before[shard][table][key]
	if known {
		rows[key] = r
	}
	return known
}

// home is the shard of a key.
func (f *folder) home(key string) int {
	if len(f.shards) == 1 {
		return 0
	}
	return int(maphash.String(f.seed, key) % uint64(len(f.shards)))
}

// telling is a record on its way to the rows.
type telling struct {
	record  domain.Record
	stream  string // the key of its stream's standing; empty when nobody is shown that
	by      int    // the shard that reads it
	fact    Fact
	touches []touch
}

// touch is a row that a fact touches.
type touch struct {
	table int
	key   string
	home  int
}

// take folds records, and says how many it could. When it is not all of them
// the error is a *Halt, or a fault, and what is in memory is of no use.
func (f *folder) take(ctx context.Context, records []domain.Record, load loading) (int, error) {
	all := make([]telling, len(records))
	for i, r := range records {
		all[i] = telling{record: r, by: i % len(f.shards)}
		if _, known := f.kinds[r.Stream.Category]; known && shown(r.Stream.Category) {
			all[i].stream = standingKey(r.Stream)
			all[i].by = f.home(all[i].stream)
		}
	}
	if err := f.loadStandings(ctx, all, load); err != nil {
		return 0, err
	}
	n, read := f.together(len(all), func(w int, i int) error {
		if all[i].by != w {
			return nil
		}
		return f.read(ctx, f.shards[w], &all[i])
	})
	if err := f.loadRows(ctx, all[:n], load); err != nil {
		return 0, err
	}
	n, folded := f.together(n, func(w int, i int) error { return f.fold(f.shards[w], w, all[i]) })
	if folded != nil {
		return n, folded
	}
	return n, read
}

// together lets every shard go through n records, each in order. It gives the
// first record that one of them failed at, with its error, or n.
func (f *folder) together(n int, do func(shard, record int) error) (int, error) {
	stops, errs := make([]int, len(f.shards)), make([]error, len(f.shards))
	walk := func(w int) {
		for i := range n {
			if errs[w] = do(w, i); errs[w] != nil {
				stops[w] = i
				return
			}
		}
		stops[w] = n
	}
	var others sync.WaitGroup
	for w := 1; w < len(f.shards); w++ {
		others.Go(func() { walk(w) })
	}
	walk(0)
	others.Wait()
	first := slices.Index(stops, slices.Min(stops))
	return stops[first], errs[first]
}

// read tells a record to the state of its stream, and finds the rows that it
// touches. One that cannot be read and is to be passed over changes nothing.
func (f *folder) read(ctx context.Context, rows shard, t *telling) error {
	skip, before := f.skips.have(t.record.ID), rows[0][t.stream]
	err := f.readWhole(rows, t, skip)
	halt, halted := errors.AsType[*Halt](err)
	if !halted || skip {
		return err
	}
	if over, asked := f.skips.over(ctx, halt); asked != nil || !over {
		return cmp.Or(asked, err)
	}
	t.touches = nil
	if t.stream != "" {
		rows[0][t.stream] = before
	}
	return f.readWhole(rows, t, true)
}

func (f *folder) readWhole(rows shard, t *telling, skip bool) (err error) {
	if t.fact, err = f.factOf(rows, t, skip); err != nil {
		return err
	}
	for i, table := range f.tables[1:] {
		keys, err := guard(t.record, func() []string { return table.keys(t.fact) })
		if err != nil && skip {
			continue
		}
		if err != nil {
			return err
		}
		slices.Sort(keys)
		for _, k := range slices.Compact(keys) {
			t.touches = append(t.touches, touch{i + 1, k, f.home(k)})
		}
	}
	return nil
}

// factOf is what projections are told of a record. One that is skipped is told
// as one that this program cannot read and that changed nothing.
func (f *folder) factOf(rows shard, t *telling, skip bool) (Fact, error) {
	r := t.record
	recorded, err := f.words.Read(r)
	if err != nil || skip {
		recorded = domain.Recorded{Record: r, Event: vocab.Unknown{Word: r.Word, Revision: r.Revision}}
	}
	if err != nil && !skip {
		return Fact{}, halted(r, err)
	}
	fact := Fact{Recorded: recorded}
	if t.stream == "" {
		return fact, nil
	}
	kind, before := f.kinds[r.Stream.Category], rows[0][t.stream]
	was, _ := before.value.(standing)
	if was.State == nil {
		if was.State, err = kind.Fold(nil); err != nil {
			return Fact{}, err
		}
	}
	fact.Before, fact.After = was.State, was.State
	if !skip {
		if r.Version != was.Version+1 {
			return Fact{}, halted(r, fmt.Errorf("it is version %d of its stream, after version %d", r.Version, was.Version))
		}
		fact.After, err = guarded(r, func() (domain.State, error) { return kind.Evolve(was.State, recorded.Event) })
		if err != nil {
			return Fact{}, err
		}
	}
	rows[0][t.stream] = before.with(standing{r.Version, fact.After}, !versioned(r.Stream.Category), r.Position)
	return fact, nil
}

// fold says a fact to those of its rows that are in a shard.
func (f *folder) fold(rows shard, home int, t telling) error {
	for _, at := range t.touches {
		if at.home != home {
			continue
		}
		before := rows[at.table][at.key]
		after, err := guard(t.record, func() row {
			if v, keep := f.tables[at.table].fold(at.key, before.value, t.fact); keep {
				return before.with(v, true, t.record.Position)
			}
			return before.with(nil, before.value != nil || before.dirty, t.record.Position)
		})
		if err != nil && f.skips.have(t.record.ID) {
			continue
		}
		if err != nil {
			return err
		}
		rows[at.table][at.key] = after
	}
	return nil
}

// loadStandings brings what the streams of records add up to before them. That
// of content is among its versions.
func (f *folder) loadStandings(ctx context.Context, all []telling, load loading) error {
	if load == nil {
		return nil
	}
	var inStates, inVersions []string
	streams := map[string]string{} // by the key of a version
	for _, t := range all {
		if t.stream == "" {
			continue
		}
		if f.known(t.by, 0, t.stream) {
			continue
		}
		f.shards[t.by][0][t.stream] = row{}
		if s := t.record.Stream; versioned(s.Category) {
			at := versionKey(s.Workspace, s.ID, t.record.Version-1)
			streams[at] = t.stream
			inVersions = append(inVersions, at)
		} else {
			inStates = append(inStates, t.stream)
		}
	}
	err := load(ctx, f.tables[0], inStates, func(key string, value any) {
		f.shards[f.home(key)][0][key] = row{value: value, stored: true}
	})
	if err != nil {
		return err
	}
	place := slices.IndexFunc(f.tables, func(t table) bool { return t.name == versions.Name })
	return load(ctx, f.tables[place], inVersions, func(key string, value any) {
		stream := streams[key]
		f.shards[f.home(stream)][0][stream] = row{value: value.(versionRow).standing()}
	})
}

// loadRows brings the rows that facts touch.
func (f *folder) loadRows(ctx context.Context, all []telling, load loading) error {
	if load == nil {
		return nil
	}
	missing := make([][]string, len(f.tables))
	for _, t := range all {
		for _, at := range t.touches {
			if f.tables[at.table].once || f.known(at.home, at.table, at.key) {
				continue
			}
			f.shards[at.home][at.table][at.key] = row{}
			missing[at.table] = append(missing[at.table], at.key)
		}
	}
	for i, keys := range missing {
		err := load(ctx, f.tables[i], keys, func(key string, value any) {
			f.shards[f.home(key)][i][key] = row{value: value, stored: true}
		})
		if err != nil {
			return err
		}
	}
	return nil
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

// Halt says at which event the read models stand still, and why. They stay
// readable, as of the event before.
type Halt struct {
	Position domain.Position `json:"position,string"`
	Event    domain.ID       `json:"event"`
	Stream   string          `json:"stream"`
	Word     string          `json:"word"`
	Why      string          `json:"why"`

	workspace string
}

// Error says it in a sentence, and what to do.
func (h *Halt) Error() string {
	return fmt.Sprintf("the read models stand still before position %d (%s in %s): %s; upgrade if a newer version wrote it, else let somebody who manages the workspace go on without it (`readmodel.skip` with the event %s)", h.Position, h.Word, h.Stream, h.Why, h.Event)
}

func halted(r domain.Record, why error) error {
	if h := (*Halt)(nil); errors.As(why, &h) {
		return h
	}
	return &Halt{Position: r.Position, Event: r.ID, Stream: r.Stream.String(), Word: r.Word, Why: why.Error(), workspace: r.Stream.Workspace}
}
