package projections

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"assent/domain"
)

// What benchmarks measure against: the same rows, ready, on the same way into
// the same database.

// ready is rows as they are written, by the places of their tables.
type ready struct {
	lines [][][]any
	gone  [][]any
}

// Measured is how long each way took.
type Measured struct{ Folding, Writing time.Duration }

// MeasureBuild folds and loads the whole log into a new generation, and loads
// the same rows, ready, into another. Neither becomes live.
func MeasureBuild(ctx context.Context, s *Store, log Source) (m Measured, err error) {
	began := time.Now()
	b := building{store: s, log: log, skips: newSkips(log), started: began}
	g, _, err := b.build(ctx)
	if err != nil {
		return m, err
	}
	m.Folding = time.Since(began)
	rows, err := s.readyOf(ctx, g)
	if err != nil {
		return m, err
	}
	if err := s.drop(ctx, g.number); err != nil {
		return m, err
	}
	began = time.Now()
	list, err := s.database.list(ctx)
	if err != nil {
		return m, err
	}
	to, in, err := s.begin(ctx, list)
	if err != nil {
		return m, err
	}
	for i, t := range s.tables {
		for lines := rows.lines[i]; len(lines) > 0; {
			n := min(len(lines), batchLines)
			if err := in.load(ctx, to, t, lines[:n]); err != nil {
				return m, err
			}
			lines = lines[n:]
		}
	}
	if err := s.index(ctx, to, in, false, func() {}); err != nil {
		return m, err
	}
	if err := in.finish(ctx, to, checkpoint{generation: to.number, fingerprint: s.fingerprint, position: 1}); err != nil {
		return m, err
	}
	m.Writing = time.Since(began)
	return m, s.drop(ctx, to.number)
}

func (s *Store) readyOf(ctx context.Context, g *generation) (r ready, err error) {
	for _, t := range s.tables {
		rows, err := g.reads.QueryContext(ctx, g.sql(`SELECT * FROM {`+t.name+`}`))
		if err != nil {
			return r, err
		}
		var lines [][]any
		for rows.Next() {
			line, into := make([]any, len(t.fields())), make([]any, len(t.fields()))
			for i := range line {
				into[i] = &line[i]
			}
			if err := rows.Scan(into...); err != nil {
				return r, err
			}
			lines = append(lines, line)
		}
		if err := rows.Close(); err != nil {
			return r, err
		}
		r.lines = append(r.lines, lines)
	}
	return r, nil
}

// MeasureLive folds the log into the live generation, each events at a time in
// a transaction of their own, and writes the same rows, ready, in the same
// portions into those of other: by turns, so that whatever else the machine does
// slows both.
func MeasureLive(ctx context.Context, s *Store, log Source, each int, other *Store) (m Measured, err error) {
	for {
		g, at := s.here()
		records, err := log.ReadAll(ctx, at.position, each)
		if err != nil || len(records) == 0 {
			return m, err
		}
		rows, err := s.preview(ctx, g, records)
		if err != nil {
			return m, err
		}
		began := time.Now()
		now, err := s.apply(ctx, g, at, records, newSkips(log), true)
		if err != nil {
			return m, err
		}
		m.Folding += time.Since(began)
		s.passed(g, now)
		began = time.Now()
		if err := other.writeReady(ctx, rows); err != nil {
			return m, err
		}
		m.Writing += time.Since(began)
	}
}

// MeasureApart folds a log into the live generation as a projector does that
// knows nothing of portions: event after event, and each row that one touches
// in a transaction of its own, with the place it came to.
func MeasureApart(ctx context.Context, s *Store, log Source) (took time.Duration, err error) {
	g, at := s.here()
	records, err := log.ReadAll(ctx, 0, 1<<20)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	for i := range records {
		rows, err := s.preview(ctx, g, records[i:i+1])
		if err != nil {
			return 0, err
		}
		for t, table := range s.tables {
			for _, line := range rows.lines[t] {
				if err := s.apart(ctx, g, at, func(tx *sql.Tx) error { return g.save(ctx, tx, table, [][]any{line}) }); err != nil {
					return 0, err
				}
			}
			for _, key := range rows.gone[t] {
				if err := s.apart(ctx, g, at, func(tx *sql.Tx) error { return g.remove(ctx, tx, table, []any{key}) }); err != nil {
					return 0, err
				}
			}
		}
	}
	return time.Since(began), nil
}

func (s *Store) apart(ctx context.Context, g *generation, at checkpoint, do func(*sql.Tx) error) error {
	tx, err := g.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if err := do(tx); err != nil {
		return err
	}
	if err := at.put(ctx, tx); err != nil {
		return err
	}
	return tx.Commit()
}

func (s *Store) writeReady(ctx context.Context, rows ready) error {
	g, at := s.here()
	tx, err := g.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	for i, t := range s.tables {
		if err := g.save(ctx, tx, t, rows.lines[i]); err != nil {
			return err
		}
		if err := g.remove(ctx, tx, t, rows.gone[i]); err != nil {
			return err
		}
	}
	if err := at.put(ctx, tx); err != nil {
		return err
	}
	return tx.Commit()
}

// preview is the rows that records lead to.
func (s *Store) preview(ctx context.Context, g *generation, records []domain.Record) (r ready, err error) {
	tx, err := g.db.BeginTx(ctx, nil)
	if err != nil {
		return r, err
	}
	defer func() { _ = tx.Rollback() }()
	f := s.newFolder(newSkips(nil), 1)
	if _, err := f.take(ctx, records, func(ctx context.Context, t table, keys []string, found func(string, any)) error {
		return g.load(ctx, tx, t, keys, found)
	}); err != nil {
		return r, err
	}
	for i := range s.tables {
		lines, gone, err := f.changes(i)
		if err != nil {
			return r, fmt.Errorf("%s: %w", s.tables[i].name, err)
		}
		r.lines, r.gone = append(r.lines, lines), append(r.gone, gone)
	}
	return r, nil
}
