package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"assent/commands"
	"assent/commands/eventlog/chain"
	"assent/domain"
)

// Stored is a log as its tables hold it, sound or not. It only reads, and may
// do so beside the processes that write.
type Stored struct {
	db    asker
	read  func(ctx context.Context, do func(context.Context) error) error
	close func()
}

var _ chain.Reader = (*Stored)(nil)

// OpenStored opens the log that a URL names to be read as it is: one that Open
// refuses as broken too. Where there are no tables it holds no events, and none
// are made. Errors are as for Open.
func OpenStored(ctx context.Context, url string) (*Stored, error) {
	set := defaults()
	config, err := configure(url, set)
	if err != nil {
		return nil, fmt.Errorf("opening the log: %w", err)
	}
	s, err := openStored(ctx, config, set)
	if err != nil {
		return nil, fmt.Errorf("opening the log in %s on %s: %w", config.ConnConfig.Database, config.ConnConfig.Host, sentence(err))
	}
	return s, nil
}

func openStored(ctx context.Context, config *pgxpool.Config, set settings) (*Stored, error) {
	made, err := there(ctx, config.ConnConfig, set)
	if err != nil {
		return nil, err
	}
	if !made {
		return &Stored{
			read:  func(context.Context, func(context.Context) error) error { return nil },
			close: func() {},
		}, nil
	}
	reads, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	life, end := context.WithCancel(context.Background())
	l := &Log{reads: reads, life: life}
	return &Stored{reads, l.read, func() {
		end()
		reads.Close()
	}}, nil
}

// there says whether the tables are there, which are then ours and not newer.
func there(ctx context.Context, config *pgx.ConnConfig, set settings) (_ bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, set.answer)
	defer cancel()
	c, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, hangUp(c)) }()
	if _, err := current(ctx, c); err != nil {
		return false, err
	}
	version, err := inspect(ctx, c)
	return version > 0, err
}

// Stored is the same log as its tables hold it. It ends with the log.
func (l *Log) Stored() chain.Reader { return &Stored{l.reads, l.read, func() {}} }

// Close lets go of the database.
func (s *Stored) Close() error {
	s.close()
	return nil
}

// Head is what the head row says.
func (s *Stored) Head(ctx context.Context) (head commands.Head, err error) {
	err = s.read(ctx, func(ctx context.Context) (err error) {
		head, err = headOf(s.db.QueryRow(ctx, selectHead))
		return err
	})
	return head, err
}

// selectStored finds the events of streams that have no name, too.
const selectStored = `SELECT e.position, s.name, e.version, e.id, e.word, e.revision, e.recorded_at, e.envelope, e.data, e.link,
	coalesce((SELECT b.version FROM events b WHERE b.stream = e.stream AND b.version <= e.version AND b.position < e.position ORDER BY b.version DESC LIMIT 1), 0)
	FROM events e LEFT JOIN streams s ON s.id = e.stream WHERE e.position > $1 ORDER BY e.position LIMIT $2`

// Rows are at most limit rows after a position.
func (s *Stored) Rows(ctx context.Context, after domain.Position, limit int) (rows []chain.Kept, err error) {
	err = s.read(ctx, func(ctx context.Context) error {
		rows = nil
		found, err := s.db.Query(ctx, selectStored, int64(after), int64(max(limit, 0)))
		if err != nil {
			return err
		}
		defer found.Close()
		for bytes := 0; bytes < chain.PageBytes && found.Next(); {
			r, err := kept(found)
			if err != nil {
				return err
			}
			rows = append(rows, r)
			bytes += len(r.Text) + len(r.Data)
		}
		found.Close()
		return found.Err()
	})
	return rows, err
}

func kept(row pgx.Rows) (r chain.Kept, err error) {
	var at int64
	var name, id, link pgtype.DriverBytes // not kept
	if err := row.Scan(&r.Position, &name, &r.Version, &id, &r.Word, &r.Revision, &at, &r.Text, &r.Data, &link, &r.Before); err != nil {
		return r, err
	}
	r.Stream, _ = domain.ParseStream(string(name)) // what is no name fits no hash
	r.Link, _ = hash(link)
	r.ID, r.At = domain.ID(id), chain.Time(at)
	return r, nil
}

const (
	// selectApart says whether the database itself still keeps streams' names, and
	// versions of a stream, from being there twice. An index that was taken away
	// cannot be made again over what is.
	selectApart = `SELECT coalesce(bool_or(indrelid = to_regclass('streams') AND pg_get_indexdef(indexrelid) LIKE '% (sha256(name))'), false),
		coalesce(bool_or(indrelid = to_regclass('events') AND pg_get_indexdef(indexrelid) LIKE '% (stream, version)'), false)
		FROM pg_index WHERE indrelid IN (to_regclass('streams'), to_regclass('events')) AND indisunique AND indisvalid AND indpred IS NULL`
	// selectEmptied is how far some streams go, and the first of them without
	// events, by two indexes.
	selectEmptied = `WITH slice AS (SELECT id, name FROM streams WHERE id > $1 ORDER BY id LIMIT 10000)
		SELECT (SELECT max(id) FROM slice), (SELECT name FROM slice WHERE NOT EXISTS (SELECT FROM events e WHERE e.stream = slice.id) ORDER BY id LIMIT 1)`
)

// Intact sees that no stream's name and no version of a stream can be there
// twice, and that every stream that has a name has events; memory does not grow
// with the log. For the rest it takes PostgreSQL's word: it checks its tables as
// it reads them, where its checksums are on.
func (s *Stored) Intact(ctx context.Context) error {
	apart, once := true, true // where there are no tables, too
	err := s.read(ctx, func(ctx context.Context) error { return s.db.QueryRow(ctx, selectApart).Scan(&apart, &once) })
	switch {
	case err != nil:
		return err
	case !apart:
		return &chain.Broken{Kind: chain.Damaged, What: "the index that keeps two streams from having one name was taken away"}
	case !once:
		return &chain.Broken{Kind: chain.Damaged, What: "the index that keeps a stream from having a version twice was taken away"}
	}
	for last := new(int64(math.MinInt64)); last != nil; {
		from, emptied := *last, []byte(nil)
		last = nil
		err := s.read(ctx, func(ctx context.Context) error { return s.db.QueryRow(ctx, selectEmptied, from).Scan(&last, &emptied) })
		if err != nil {
			return err
		}
		if emptied != nil {
			return chain.Emptied(string(emptied))
		}
	}
	return nil
}
