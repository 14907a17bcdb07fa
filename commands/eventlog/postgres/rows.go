package postgres

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"assent/commands"
	"assent/commands/eventlog/chain"
	"assent/commands/eventlog/internal/admit"
	"assent/domain"
)

// asker is a connection, or a pool of them.
type asker interface {
	Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, query string, args ...any) pgx.Row
}

// insert writes events if the head row is where it is expected, and then moves
// it: one statement, one trip, one transaction. It affects no rows otherwise.
const insert = `WITH fence AS (
	UPDATE head SET position = $3, recorded_at = $4, chain = $5 WHERE position = $1 AND chain = $2 RETURNING 1
), named AS (
	INSERT INTO streams (id, name)
	SELECT * FROM unnest($6::bigint[], $7::bytea[]) WHERE EXISTS (SELECT FROM fence)
)
INSERT INTO events (position, stream, version, id, word, revision, recorded_at, envelope, data, link)
SELECT * FROM unnest($8::bigint[], $9::bigint[], $10::bigint[], $11::bytea[], $12::text[], $13::bigint[], $14::bigint[], $15::bytea[], $16::bytea[], $17::bytea[])
WHERE EXISTS (SELECT FROM fence)`

// columns are rows as insert takes them.
type columns struct {
	newID   []int64
	newName [][]byte

	position, stream, version []int64
	id                        [][]byte
	word                      []string
	revision, recorded        []int64
	envelope, data, link      [][]byte
}

// columns spells appends out. A stream nobody wrote to has the position of its
// first event as its id.
func (w *writer) columns(appends []*admit.Append) *columns {
	c := new(columns)
	fresh := make(map[string]int64)
	for _, a := range appends {
		for _, write := range a.Writes {
			if len(write.Rows) == 0 {
				continue
			}
			id := w.streams[write.Name].id
			if id == 0 {
				id = fresh[write.Name]
			}
			if id == 0 {
				id = int64(write.Rows[0].Position)
				fresh[write.Name] = id
				c.newID, c.newName = append(c.newID, id), append(c.newName, []byte(write.Name))
			}
			for i := range write.Rows {
				c.add(id, &write.Rows[i])
			}
		}
	}
	return c
}

func (c *columns) add(stream int64, r *chain.Row) {
	c.position = append(c.position, int64(r.Position))
	c.stream = append(c.stream, stream)
	c.version = append(c.version, int64(r.Version))
	c.id = append(c.id, []byte(r.ID))
	c.word = append(c.word, r.Word)
	c.revision = append(c.revision, int64(r.Revision))
	c.recorded = append(c.recorded, r.At.UnixNano())
	c.envelope = append(c.envelope, r.Text)
	c.data = append(c.data, r.Data)
	c.link = append(c.link, r.Link[:])
}

const selectHead = "SELECT position, recorded_at, chain FROM head"

// headOf reads the head row.
func headOf(row pgx.Row) (head commands.Head, err error) {
	var at int64
	var link []byte
	if err := row.Scan(&head.Position, &at, &link); err != nil {
		return commands.Head{}, fmt.Errorf("the head row: %w", err)
	}
	if head.Position > 0 {
		head.At = chain.Time(at)
	}
	head.Chain, err = hash(link)
	return head, err
}

// linkAt is the hash stored at a position; zero where there is no event.
func linkAt(ctx context.Context, db asker, at domain.Position) (link [32]byte, err error) {
	rows, err := db.Query(ctx, "SELECT link FROM events WHERE position = $1", int64(at))
	if err != nil {
		return link, err
	}
	var stored []byte
	_, err = pgx.ForEachRow(rows, []any{&stored}, func() error {
		link, err = hash(stored)
		return err
	})
	return link, err
}

const selectRows = `SELECT e.position, e.stream, s.name, e.version, e.id, e.word, e.revision, e.recorded_at, e.envelope, e.data, e.link
FROM events e JOIN streams s ON s.id = e.stream `

// streamRows reads at most limit rows of a stream after a version; all of them
// when limit is negative.
func streamRows(ctx context.Context, db asker, name string, after domain.Version, limit int) ([]chain.Row, error) {
	var most *int64
	if limit >= 0 {
		n := int64(limit)
		most = &n
	}
	digest := sha256.Sum256([]byte(name))
	return rowsOf(ctx, db, selectRows+"WHERE sha256(s.name) = $1 AND e.version > $2 ORDER BY e.version LIMIT $3", digest[:], int64(after), most)
}

// allRows reads at most limit rows after a position.
func allRows(ctx context.Context, db asker, after domain.Position, limit int) ([]chain.Row, error) {
	return rowsOf(ctx, db, selectRows+"WHERE e.position > $1 ORDER BY e.position LIMIT $2", int64(after), int64(max(limit, 0)))
}

func rowsOf(ctx context.Context, db asker, query string, args ...any) ([]chain.Row, error) {
	found, err := db.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	var rows []chain.Row
	names := make(map[int64]domain.Stream) // one name is parsed, and kept, once
	for found.Next() {
		var stream, at int64
		var name, id, link pgtype.DriverBytes // not kept
		var r chain.Row
		if err := found.Scan(&r.Position, &stream, &name, &r.Version, &id, &r.Word, &r.Revision, &at, &r.Text, &r.Data, &link); err != nil {
			return nil, err
		}
		if _, known := names[stream]; !known {
			if names[stream], err = domain.ParseStream(string(name)); err != nil {
				return nil, err
			}
		}
		if r.Link, err = hash(link); err != nil {
			return nil, err
		}
		r.Stream, r.ID, r.At = names[stream], domain.ID(id), chain.Time(at)
		rows = append(rows, r)
	}
	return rows, found.Err()
}

func hash(b []byte) (h [32]byte, err error) {
	if len(b) != len(h) {
		return h, fmt.Errorf("a hash of %d bytes", len(b))
	}
	copy(h[:], b)
	return h, nil
}
