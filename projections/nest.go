package projections

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// fileNest is a generation being made in a file of its own, on one connection
// and in one transaction: nothing is read back that was not spilled, and what
// is half made when it ends is thrown away. It speaks to SQLite without
// database/sql, which takes as long again for each value.
type fileNest struct {
	files
	number int64

	mu       sync.Mutex // one connection
	conn     *sqlite.Conn
	prepares map[statement]*sqlite.Stmt
}

// statement is what is done to how many rows of a table.
type statement struct {
	table string
	do    doing
	rows  int
}

type doing int

const (
	inserting doing = iota
	upserting
	deleting
	selecting
)

// inNest are a nest's settings. What is thrown away needs neither a journal
// nor to be safe on the disk; who is alone need not look whether they are.
var inNest = []string{"journal_mode=OFF", "synchronous=OFF", "locking_mode=EXCLUSIVE", "cache_size=-8192", "temp_store=MEMORY"}

func (f files) begin(ctx context.Context, number int64) (nest, error) {
	path := f.path(number, making)
	if err := private(path); err != nil {
		return nil, err
	}
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		return nil, err
	}
	n := &fileNest{files: f, number: number, conn: conn, prepares: map[statement]*sqlite.Stmt{}}
	for _, p := range inNest {
		if err := sqlitex.ExecuteTransient(conn, "PRAGMA "+p, nil); err != nil {
			return nil, errors.Join(fmt.Errorf("PRAGMA %s: %w", p, err), n.leave())
		}
	}
	conn.SetInterrupt(ctx.Done())
	for _, text := range []string{`BEGIN IMMEDIATE`, checkpointTable} {
		if err := n.exec(ctx, text); err != nil {
			return nil, errors.Join(err, n.leave())
		}
	}
	return n, nil
}

func (n *fileNest) exec(_ context.Context, text string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return sqlitex.ExecuteTransient(n.conn, text, nil)
}

// nestLines is how many lines one statement takes: what a statement costs
// beside its lines is then little.
const nestLines = 32

func (n *fileNest) load(_ context.Context, g *generation, t table, lines [][]any) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, each := range []int{nestLines, 1} {
		for ; len(lines) >= each; lines = lines[each:] {
			if err := n.run(g, t, inserting, lines[:each]...); err != nil {
				return err
			}
		}
	}
	return nil
}

func (n *fileNest) change(_ context.Context, g *generation, t table, lines [][]any, gone []any) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, line := range lines {
		if err := n.run(g, t, upserting, line); err != nil {
			return err
		}
	}
	for _, key := range gone {
		if err := n.run(g, t, deleting, []any{key}); err != nil {
			return err
		}
	}
	return nil
}

func (n *fileNest) fetch(_ context.Context, g *generation, t table, keys []string, found func(key string, value any)) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	s, err := n.prepared(g, t, selecting, 1)
	if err != nil {
		return err
	}
	for _, k := range keys {
		s.BindText(1, storable(k))
		there, err := s.Step()
		if err == nil && there {
			var value any
			if value, err = t.decode(k, []byte(s.ColumnText(1)), original(s.ColumnText(2))); err == nil {
				found(k, value)
			}
		}
		if err = errors.Join(err, s.Reset()); err != nil {
			return fmt.Errorf("%s: %w", k, err)
		}
	}
	return nil
}

// run runs a statement that gives no rows.
func (n *fileNest) run(g *generation, t table, do doing, lines ...[]any) error {
	s, err := n.prepared(g, t, do, len(lines))
	if err != nil {
		return err
	}
	i := 0
	for _, line := range lines {
		for _, value := range line {
			i++
			switch v := value.(type) {
			case string:
				s.BindText(i, v)
			case int64:
				s.BindInt64(i, v)
			default:
				return fmt.Errorf("%T is no value of a column", v)
			}
		}
	}
	_, err = s.Step()
	return errors.Join(err, s.Reset())
}

func (n *fileNest) prepared(g *generation, t table, do doing, rows int) (*sqlite.Stmt, error) {
	which := statement{t.name, do, rows}
	if s, ok := n.prepares[which]; ok {
		return s, nil
	}
	text := t.insert
	switch do {
	case upserting:
		text = t.upsert
	case deleting:
		text = t.deleteKeys
	case selecting:
		text = t.selectKeys
	}
	s, err := n.conn.Prepare(g.sql(positional(text(rows))))
	if err == nil {
		n.prepares[which] = s
	}
	return s, err
}

func (n *fileNest) finish(ctx context.Context, _ *generation, at checkpoint) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := sqlitex.Execute(n.conn, positional(putCheckpoint), &sqlitex.ExecOptions{Args: at.values()}); err != nil {
		return err
	}
	if err := sqlitex.ExecuteTransient(n.conn, `COMMIT`, nil); err != nil {
		return err
	}
	if err := n.close(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	path := n.path(n.number, making)
	made, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(made.Sync(), made.Close()); err != nil {
		return err
	}
	return os.Rename(path, n.path(n.number, whole))
}

func (n *fileNest) leave() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.close()
}

func (n *fileNest) close() (err error) {
	if n.conn != nil {
		err = n.conn.Close()
		n.conn = nil
	}
	return err
}
