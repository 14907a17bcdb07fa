package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

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

// selectRows leaves the names out: the server is several times faster where it
// need not join them to every event.
const selectRows = "SELECT position, stream, version, id, word, revision, recorded_at, envelope, data, link FROM events "

// streamRows reads at most limit rows of a stream after a version; all of them
// when limit is negative.
func streamRows(ctx context.Context, db asker, name string, after domain.Version, limit int) ([]chain.Row, error) {
	var most *int64
	if limit >= 0 {
		n := int64(limit)
		most = &n
	}
	digest := sha256.Sum256([]byte(name))
	rows, _, err := rowsOf(ctx, db, selectRows+`WHERE stream = (SELECT id FROM streams WHERE sha256(name) = $1) AND version > $2
		ORDER BY version LIMIT $3`, digest[:], int64(after), most)
	if err != nil || len(rows) == 0 {
		return nil, err // no stream's name may be none
	}
	stream, err := domain.ParseStream(name)
	for i := range rows {
		rows[i].Stream = stream
	}
	return rows, err
}

// allRows reads at most limit rows after a position.
func allRows(ctx context.Context, db asker, after domain.Position, limit int) ([]chain.Row, error) {
	rows, streams, err := rowsOf(ctx, db, selectRows+"WHERE position > $1 ORDER BY position LIMIT $2", int64(after), int64(max(limit, 0)))
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	names, err := namesOf(ctx, db, streams)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		known := false
		if rows[i].Stream, known = names[streams[i]]; !known {
			return nil, &chain.Broken{Position: rows[i].Position, What: "its stream has no name"}
		}
	}
	return rows, nil
}

// namesOf reads the names of streams.
func namesOf(ctx context.Context, db asker, streams []int64) (map[int64]domain.Stream, error) {
	ids := slices.Compact(slices.Sorted(slices.Values(streams)))
	found, err := db.Query(ctx, "SELECT id, name FROM streams WHERE id = ANY ($1)", ids)
	if err != nil {
		return nil, err
	}
	names := make(map[int64]domain.Stream, len(ids))
	var id int64
	var name []byte
	_, err = pgx.ForEachRow(found, []any{&id, &name}, func() (err error) {
		names[id], err = domain.ParseStream(string(name))
		return err
	})
	return names, err
}

// rowsOf reads rows, but for their streams' names, in the bytes that the server
// sends; and the streams' ids.
func rowsOf(ctx context.Context, db asker, query string, args ...any) (rows []chain.Row, streams []int64, err error) {
	found, err := db.Query(ctx, query, args...)
	if err != nil {
		return nil, nil, err
	}
	defer found.Close()
	words := make(map[string]string) // one word is kept once
	for found.Next() {
		v := found.RawValues() // not to be kept
		if _, known := words[string(v[4])]; !known {
			words[string(v[4])] = string(v[4])
		}
		r := chain.Row{Record: domain.Record{
			Position: domain.Position(number(v[0])),
			Version:  domain.Version(number(v[2])),
			At:       chain.Time(number(v[6])),
			Fresh:    domain.Fresh{ID: domain.ID(v[3]), Word: words[string(v[4])], Revision: int(number(v[5]))},
		}}
		text := len(v[7])
		kept := append(append(make([]byte, 0, text+len(v[8])), v[7]...), v[8]...)
		r.Text, r.Data = kept[:text:text], kept[text:]
		if r.Link, err = hash(v[9]); err != nil {
			return nil, nil, err
		}
		rows, streams = append(rows, r), append(streams, number(v[1]))
	}
	return rows, streams, found.Err()
}

// number is a bigint as the server sends it.
func number(b []byte) int64 {
	if len(b) != 8 {
		return 0 // NULL, which no column allows
	}
	return int64(binary.BigEndian.Uint64(b))
}

func hash(b []byte) (h [32]byte, err error) {
	if len(b) != len(h) {
		return h, fmt.Errorf("a hash of %d bytes", len(b))
	}
	copy(h[:], b)
	return h, nil
}
