package projections

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"assent/domain"
)

// examples is how many rows a comparison names of each model, at most.
const examples = 10

// Comparison is how rows folded anew differ from the live ones at one position
// of the log.
type Comparison struct {
	Position domain.Position `json:"position,string"`
	Models   []Compared      `json:"models"`
}

// Same says that nothing differs.
func (c Comparison) Same() bool {
	return !slices.ContainsFunc(c.Models, func(m Compared) bool { return m.Changed+m.Missing+m.Extra > 0 })
}

// Compared is one model's part of a comparison, in rows.
type Compared struct {
	Model    string    `json:"model"`
	Rows     int64     `json:"rows"` // folded anew
	Changed  int64     `json:"changed"`
	Missing  int64     `json:"missing"` // the log leads to them and the live model does not have them
	Extra    int64     `json:"extra"`   // the live model has them and the log does not lead to them
	Examples []Example `json:"examples,omitempty"`
}

// Example names one row that differs, and never says what is in it: whoever
// may rebuild need not be somebody who may see that.
type Example struct {
	Key    string   `json:"key"`
	What   string   `json:"what"` // changed, missing or extra
	Fields []string `json:"fields,omitempty"`
}

func (m *Compared) note(count *int64, key, what string, fields []string) {
	*count++
	if len(m.Examples) < examples {
		m.Examples = append(m.Examples, Example{original(key), what, fields})
	}
}

// compare compares the live generation with a new one, each as it is when both
// are at the same position. Both go on meanwhile.
func (b *building) compare(ctx context.Context, to *generation, only []string) (*Comparison, error) {
	var live, anew *sql.Tx
	var at checkpoint
	s := b.store
	was, _ := s.here()
	b.say(Comparing)
	_, err := b.level(ctx, to, true, func() (err error) {
		if live, _, err = s.still(ctx, was); err == nil {
			anew, at, err = s.still(ctx, to)
		}
		return err
	})
	for _, tx := range []*sql.Tx{live, anew} {
		if tx != nil {
			defer func() { _ = tx.Rollback() }()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	c := &Comparison{Position: at.position, Models: []Compared{}}
	for _, t := range s.tables {
		if len(only) > 0 && !slices.Contains(only, t.name) {
			continue
		}
		m, err := compareTable(ctx, t, was, live, to, anew)
		if err != nil {
			return nil, fmt.Errorf("compare %s: %w", t.name, err)
		}
		c.Models = append(c.Models, m)
		b.say(Comparing)
	}
	return c, nil
}

// still is a transaction that goes on seeing a generation as it is now.
func (s *Store) still(ctx context.Context, g *generation) (*sql.Tx, checkpoint, error) {
	tx, err := g.reads.BeginTx(ctx, s.database.snapshot())
	if err != nil {
		return nil, checkpoint{}, err
	}
	list, err := checkpoints(ctx, tx, `WHERE generation = $1`, g.number) // the first statement is what fixes it
	if err == nil && len(list) == 0 {
		err = errNotLive
	}
	if err != nil {
		return nil, checkpoint{}, errors.Join(err, tx.Rollback())
	}
	return tx, list[0], nil
}

// walk is rows in the order of their keys.
type walk struct {
	rows *sql.Rows
	line []any // the present row's values; nil at the end
}

func (g *generation) walk(ctx context.Context, tx *sql.Tx, t table) (*walk, error) {
	text := "key, doc"
	for _, name := range t.fields()[3:] {
		text += ", " + name
	}
	rows, err := tx.QueryContext(ctx, g.sql(`SELECT `+text+` FROM {`+t.name+`} ORDER BY key`))
	if err != nil {
		return nil, err
	}
	w := &walk{rows, make([]any, len(t.fields())-1)}
	return w, w.next()
}

func (w *walk) next() error {
	if !w.rows.Next() {
		w.line = nil
		return w.rows.Err()
	}
	into := make([]any, len(w.line))
	for i := range w.line {
		into[i] = &w.line[i]
	}
	return w.rows.Scan(into...)
}

func (w *walk) key() string { return w.line[0].(string) }

func compareTable(ctx context.Context, t table, live *generation, liveTx *sql.Tx, to *generation, toTx *sql.Tx) (Compared, error) {
	m := Compared{Model: t.name}
	was, err := live.walk(ctx, liveTx, t)
	if err != nil {
		return m, err
	}
	defer func() { _ = was.rows.Close() }()
	is, err := to.walk(ctx, toTx, t)
	if err != nil {
		return m, err
	}
	defer func() { _ = is.rows.Close() }()
	for err == nil && (was.line != nil || is.line != nil) {
		order := 0
		switch {
		case was.line == nil:
			order = 1
		case is.line == nil:
			order = -1
		default:
			order = cmp.Compare(was.key(), is.key())
		}
		switch {
		case order < 0:
			m.note(&m.Extra, was.key(), "extra", nil)
			err = was.next()
		case order > 0:
			m.Rows++
			m.note(&m.Missing, is.key(), "missing", nil)
			err = is.next()
		default:
			m.Rows++
			if fields := t.differing(was.line, is.line); len(fields) > 0 {
				m.note(&m.Changed, is.key(), "changed", fields)
			}
			err = errors.Join(was.next(), is.next())
		}
	}
	return m, err
}

// differing names the fields of two lines that differ: columns, and the
// document's own fields.
func (t table) differing(was, is []any) (fields []string) {
	for i, name := range append([]string{"doc"}, t.fields()[3:]...) {
		switch a, b := was[i+1], is[i+1]; {
		case a == b:
		case name == "doc":
			fields = append(fields, differingIn(a, b)...)
		default:
			fields = append(fields, name)
		}
	}
	return fields
}

// differingIn names the fields that differ in two documents.
func differingIn(was, is any) (fields []string) {
	var a, b map[string]json.RawMessage
	was1, _ := was.(string)
	is1, _ := is.(string)
	if json.Unmarshal([]byte(was1), &a) != nil || json.Unmarshal([]byte(is1), &b) != nil {
		return []string{"doc"}
	}
	all := maps.Clone(a)
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	maps.Copy(all, b)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !bytes.Equal(a[name], b[name]) {
			fields = append(fields, name)
		}
	}
	if len(fields) == 0 {
		fields = []string{"doc"} // only its spelling
	}
	return fields
}
