package sqlite

import (
	"context"
	"fmt"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"assent/commands"
	"assent/commands/eventlog/chain"
	"assent/domain"
)

// readers is how many reads go on at once; more wait for their turn.
const readers = 4

func readPool(path string, set settings) (*sqlitex.Pool, error) {
	return sqlitex.NewPool(path, sqlitex.PoolOptions{
		Flags:    sqlite.OpenReadWrite, // as WAL needs; query_only keeps them from writing
		PoolSize: readers,
		PrepareConn: func(c *sqlite.Conn) error {
			return tune(c, set, "query_only=ON", "cache_size=-4096")
		},
	})
}

// ReadStream gives a stream's events after a version.
func (l *Log) ReadStream(ctx context.Context, stream domain.Stream, after domain.Version) ([]domain.Record, error) {
	return l.rows(ctx, func(c *conn) ([]chain.Row, error) { return c.stream(stream.String(), after, -1) })
}

// ReadAll gives at most limit events after a position.
func (l *Log) ReadAll(ctx context.Context, after domain.Position, limit int) ([]domain.Record, error) {
	return l.rows(ctx, func(c *conn) ([]chain.Row, error) { return c.all(after, limit) })
}

func (l *Log) rows(ctx context.Context, get func(*conn) ([]chain.Row, error)) ([]domain.Record, error) {
	var rows []chain.Row
	err := l.read(ctx, func(c *conn) (err error) {
		rows, err = get(c)
		return err
	})
	if err != nil {
		return nil, err
	}
	return chain.Open(rows)
}

// read lends a connection that only reads.
func (l *Log) read(ctx context.Context, do func(*conn) error) error {
	if err := l.alive(ctx); err != nil {
		return err
	}
	if l.writes != nil { // what a conflict was about is there to be read
		if err := l.writes.Settle(ctx); err != nil {
			return err
		}
	}
	c, err := l.reads.Take(ctx)
	if err == nil {
		err = do(&conn{c})
		l.reads.Put(c)
	}
	if err == nil {
		return nil
	}
	// Ending the context or closing the log interrupts a read: that says what
	// happened, SQLite's own words do not.
	if gone := l.alive(ctx); gone != nil {
		return gone
	}
	return fmt.Errorf("reading the log: %w", explained(err))
}

// Verify reads the whole log as it is now, in the bytes stored, and checks it
// as chain.Verify does. Progress, unless nil, hears from time to time how many
// events of how many are done.
func (l *Log) Verify(ctx context.Context, progress func(done, total domain.Position)) error {
	_, err := chain.Verify(ctx, l.Stored(), chain.Mark{}, progress)
	return err
}

// selectEmptied finds one stream without events by walking two indexes.
const selectEmptied = "SELECT name FROM streams s WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.stream = s.id) ORDER BY id LIMIT 1"

// intact asks SQLite whether the file's own structures agree: decisions find
// streams by an index that the chain does not cover. That no two streams have
// one name, and no stream a version twice, is part of that. Then it sees that
// every stream that has a name has events.
func (c *conn) intact() error {
	err := c.query("PRAGMA integrity_check(1)", func(s *sqlite.Stmt) error {
		if says := s.ColumnText(0); says != "ok" {
			return &chain.Broken{Kind: chain.Damaged, What: "the file itself is damaged: " + says}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.query(selectEmptied, func(s *sqlite.Stmt) error { return chain.Emptied(s.ColumnText(0)) })
}

// checkedHead reads the head row and sees that the last event agrees with it.
func (l *Log) checkedHead(ctx context.Context) (head commands.Head, err error) {
	err = l.read(ctx, func(c *conn) error {
		var last domain.Position
		if head, last, err = c.ends(); err != nil {
			return err
		}
		if last != head.Position {
			return apart(head, last)
		}
		if link, err := c.link(last); err != nil || link != head.Chain {
			return first(err, &chain.Broken{Position: last, What: "the log's head holds another hash than its last event"})
		}
		// Log time never runs backwards, so a head of next year would be the time
		// of everything until then.
		return c.query("SELECT recorded_at FROM events WHERE position = ?", func(s *sqlite.Stmt) error {
			if !chain.Time(s.ColumnInt64(0)).Equal(head.At) {
				return &chain.Broken{Position: last, What: "the log's head holds another time than its last event"}
			}
			return nil
		}, ints(int64(last)))
	})
	return head, err
}

// apart says that the head row is not at the last event.
func apart(head commands.Head, last domain.Position) error {
	return &chain.Broken{
		Position: min(last, head.Position) + 1,
		What:     fmt.Sprintf("the log's head is at %d, its last event at %d", head.Position, last),
	}
}
