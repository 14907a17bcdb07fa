package postgres

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"assent/commands"
	"assent/commands/eventlog/chain"
	"assent/domain"
)

// asker is a connection, or a pool of them.
type asker interface {
	Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, query string, args ...any) pgx.Row
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

const selectLink = "SELECT link FROM events WHERE position = $1"

// linkOf is the hash stored at a position; zero where there is no event.
func linkOf(rows pgx.Rows) (link [32]byte, err error) {
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
