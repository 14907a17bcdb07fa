package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

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
	if err := row.Scan(&head.Position, &at, &link); errors.Is(err, pgx.ErrNoRows) {
		return commands.Head{}, chain.NoHead("the head row is missing")
	} else if err != nil {
		return commands.Head{}, fmt.Errorf("the head row: %w", err)
	}
	if head.Position > 0 {
		head.At = chain.Time(at)
	}
	if head.Chain, err = hash(link); err != nil {
		return commands.Head{}, chain.NoHead("the head row holds " + err.Error())
	}
	return head, nil
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

// page is about how many rows are read at a time.
const page = 1000

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
func (l *Log) allRows(ctx context.Context, after domain.Position, limit int) ([]chain.Row, error) {
	rows, streams, err := rowsOf(ctx, l.reads, selectRows+"WHERE position > $1 ORDER BY position LIMIT $2", int64(after), int64(max(limit, 0)))
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	names, err := l.names.of(ctx, l.reads, streams)
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

// names are those of streams that were read before: an id stays its stream's.
type names struct {
	mu    sync.Mutex
	known map[int64]domain.Stream
}

// of are the names of streams, as far as there are any.
func (n *names) of(ctx context.Context, db asker, streams []int64) (map[int64]domain.Stream, error) {
	named := make(map[int64]domain.Stream)
	var missing []int64
	n.mu.Lock()
	for _, id := range streams {
		if _, twice := named[id]; twice {
			continue
		}
		name, known := n.known[id]
		if named[id] = name; !known {
			missing = append(missing, id)
		}
	}
	n.mu.Unlock()
	if missing == nil {
		return named, nil
	}
	found, err := db.Query(ctx, "SELECT id, name FROM streams WHERE id = ANY ($1)", missing)
	if err != nil {
		return nil, err
	}
	for _, id := range missing {
		delete(named, id)
	}
	var id int64
	var name []byte
	_, err = pgx.ForEachRow(found, []any{&id, &name}, func() (err error) {
		named[id], err = domain.ParseStream(string(name))
		return err
	})
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known == nil || len(n.known) > remembered {
		n.known = make(map[int64]domain.Stream)
	}
	for _, id := range missing {
		if name, there := named[id]; there {
			n.known[id] = name
		}
	}
	return named, nil
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
		if len(rows) == page/8 { // there will be a whole page: room for it at once, not by doubling
			rows, streams = slices.Grow(rows, page), slices.Grow(streams, page)
		}
		v := found.RawValues() // not to be kept
		if _, known := words[string(v[4])]; !known {
			words[string(v[4])] = string(v[4])
		}
		rows, streams = append(rows, chain.Row{}), append(streams, number(v[1]))
		r := &rows[len(rows)-1] // filled in place: a row is large
		r.Position, r.Version, r.At = domain.Position(number(v[0])), domain.Version(number(v[2])), chain.Time(number(v[6]))
		r.ID, r.Word, r.Revision = domain.ID(v[3]), words[string(v[4])], int(number(v[5]))
		text := len(v[7])
		kept := append(append(make([]byte, 0, text+len(v[8])), v[7]...), v[8]...)
		r.Text, r.Data = kept[:text:text], kept[text:]
		if r.Link, err = hash(v[9]); err != nil {
			return nil, nil, err
		}
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
