package reactions

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"assent/domain"
)

// Why checkpoints are not to be had.
var (
	// ErrForeign: what is there is no store of ours.
	ErrForeign = errors.New("what is there does not hold Assent's reactions; name another place, or move it away")
	// ErrNewer: a newer program has written it.
	ErrNewer = errors.New("the reactions' checkpoints were written by a newer version of Assent; open them with that version or a later one")
	// ErrNotMine: another process is at work now.
	ErrNotMine = errors.New("another process does the reactions now")
)

// answer is how long the database may take for what is asked of it.
const answer = 10 * time.Second

// Point is a place in the log, and the event there: a position alone could be
// one of another log. The zero Point is before everything.
type Point struct {
	Position domain.Position
	Event    domain.ID
}

// Reactor is one receiver's own way through the log.
type Reactor struct {
	Name  string
	Lanes int   // how many subscribers share its streams; never changed
	Start Point // it is told of what comes after
}

// Store keeps how far reactors have got, in an SQLite file or in PostgreSQL. Its
// methods may be called at the same time.
type Store struct {
	db     *sql.DB
	clock  string // the database's clock in milliseconds, as SQL
	holder string // who this process is, for the lease
}

// OpenStore opens the store at a place and makes it if there is none. The place
// is the path of a file, or postgres://USER:PASSWORD@HOST/DATABASE: there it is
// the schema assent_reactions, and several processes share it.
func OpenStore(ctx context.Context, place string) (*Store, error) {
	s := &Store{holder: rand.Text()}
	var err error
	if scheme, _, ok := strings.Cut(place, "://"); ok && (scheme == "postgres" || scheme == "postgresql") {
		s.clock = `CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)`
		s.db, err = openPostgres(ctx, place)
	} else {
		s.clock = `CAST(unixepoch('subsec') * 1000 AS INTEGER)`
		s.db, err = openFile(ctx, strings.TrimPrefix(place, "sqlite:"))
	}
	if err != nil {
		return nil, fmt.Errorf("open the reactions' checkpoints: %w", err)
	}
	return s, nil
}

// Close lets go of the database.
func (s *Store) Close() error { return s.db.Close() }

// Begin says where the log is, the first time that it is called for good: what
// came before is not told of by a store that did not see it.
func (s *Store) Begin(ctx context.Context, head Point) error {
	return s.exec(ctx, "begin", `
		INSERT INTO reactions (one, born_position, born_event, watched_position, watched_event)
		VALUES (1, $1, $2, 0, '') ON CONFLICT DO NOTHING`, int64(head.Position), string(head.Event))
}

// Places are where the log was when the store was made, and how far it was
// searched for webhooks.
func (s *Store) Places(ctx context.Context) (born, watched Point, err error) {
	ctx, cancel := context.WithTimeout(ctx, answer)
	defer cancel()
	err = s.db.QueryRowContext(ctx, `SELECT born_position, born_event, watched_position, watched_event FROM reactions`).
		Scan(&born.Position, &born.Event, &watched.Position, &watched.Event)
	return born, watched, fault("read where they are", err)
}

// Enlist makes a reactor, unless there is one of that name: then that one stays
// as it is.
func (s *Store) Enlist(ctx context.Context, r Reactor) error {
	return s.exec(ctx, "enlist", `
		INSERT INTO reactor (name, lanes, start_position, start_event)
		VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`, r.Name, r.Lanes, int64(r.Start.Position), string(r.Start.Event))
}

// Reactors are all reactors, by name.
func (s *Store) Reactors(ctx context.Context) (list []Reactor, err error) {
	ctx, cancel := context.WithTimeout(ctx, answer)
	defer cancel()
	rows, err := s.db.QueryContext(ctx, `SELECT name, lanes, start_position, start_event FROM reactor ORDER BY name`)
	if err != nil {
		return nil, fault("list reactors", err)
	}
	defer func() { _ = rows.Close() }() // Err tells
	for rows.Next() {
		var r Reactor
		if err := rows.Scan(&r.Name, &r.Lanes, &r.Start.Position, &r.Start.Event); err != nil {
			return nil, fault("list reactors", err)
		}
		list = append(list, r)
	}
	return list, fault("list reactors", rows.Err())
}

// Load is how far a lane of a reactor has got: its start when it has done
// nothing yet. The error is sql.ErrNoRows for a reactor that nobody enlisted.
func (s *Store) Load(ctx context.Context, reactor string, lane int) (at Point, err error) {
	ctx, cancel := context.WithTimeout(ctx, answer)
	defer cancel()
	err = s.db.QueryRowContext(ctx, `
		SELECT COALESCE(c.position, r.start_position), COALESCE(c.event, r.start_event)
		FROM reactor r LEFT JOIN checkpoint c ON c.reactor = r.name AND c.lane = $2 WHERE r.name = $1`,
		reactor, lane).Scan(&at.Position, &at.Event)
	return at, fault("read a checkpoint", err)
}

// Save says that a lane has dealt with everything up to a point. It never goes
// back. ErrNotMine: only the process that has the lease may say so.
func (s *Store) Save(ctx context.Context, reactor string, lane int, at Point) error {
	return s.mine(ctx, "save a checkpoint", `
		INSERT INTO checkpoint (reactor, lane, position, event)
		SELECT $1, CAST($2 AS INTEGER), CAST($3 AS BIGINT), $4 FROM lease WHERE holder = $5
		ON CONFLICT (reactor, lane) DO UPDATE SET position = excluded.position, event = excluded.event
		WHERE checkpoint.position <= excluded.position`, reactor, lane, int64(at.Position), string(at.Event), s.holder)
}

// Watched says how far the log was searched for webhooks.
func (s *Store) Watched(ctx context.Context, at Point) error {
	return s.exec(ctx, "note how far the log was searched", `
		UPDATE reactions SET watched_position = $1, watched_event = $2 WHERE watched_position < $1`, int64(at.Position), string(at.Event))
}

// Fails notes that a delivery failed; Arrives that it arrived after all.
func (s *Store) Fails(ctx context.Context, workspace, id, webhook string) error {
	return s.exec(ctx, "note a failure", `
		INSERT INTO failure (workspace, id, webhook) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`, workspace, id, webhook)
}

// Arrives forgets a failure.
func (s *Store) Arrives(ctx context.Context, workspace, id string) error {
	return s.exec(ctx, "forget a failure", `DELETE FROM failure WHERE workspace = $1 AND id = $2`, workspace, id)
}

// Failing are the ids of deliveries to a webhook that have not arrived, at most
// so many.
func (s *Store) Failing(ctx context.Context, workspace, webhook string, limit int) (ids []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, answer)
	defer cancel()
	rows, err := s.db.QueryContext(ctx, `
		SELECT id FROM failure WHERE workspace = $1 AND webhook = $2 ORDER BY id LIMIT $3`, workspace, webhook, limit)
	if err != nil {
		return nil, fault("list failures", err)
	}
	defer func() { _ = rows.Close() }() // Err tells
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, fault("list failures", err)
		}
		ids = append(ids, id)
	}
	return ids, fault("list failures", rows.Err())
}

// Take has the lease for this process, for so long from now on by the database's
// clock. It is false while another process has it.
func (s *Store) Take(ctx context.Context, long time.Duration) (bool, error) {
	err := s.mine(ctx, "take the lease", `
		UPDATE lease SET holder = $1, until = `+s.clock+` + $2 WHERE holder = $1 OR until <= `+s.clock, s.holder, long.Milliseconds())
	if errors.Is(err, ErrNotMine) {
		return false, nil
	}
	return err == nil, err
}

// Release lets another process have the lease at once.
func (s *Store) Release(ctx context.Context) error {
	return s.exec(ctx, "release the lease", `UPDATE lease SET holder = '', until = 0 WHERE holder = $1`, s.holder)
}

func (s *Store) exec(ctx context.Context, doing, query string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, answer)
	defer cancel()
	_, err := s.db.ExecContext(ctx, query, args...)
	return fault(doing, err)
}

// mine is exec for what only who has the lease does: it then touches a row.
func (s *Store) mine(ctx context.Context, doing, query string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, answer)
	defer cancel()
	done, err := s.db.ExecContext(ctx, query, args...)
	if err != nil {
		return fault(doing, err)
	}
	if n, err := done.RowsAffected(); err != nil || n > 0 {
		return fault(doing, err)
	}
	return fault(doing, ErrNotMine)
}

func fault(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("reactions: %s: %w", doing, err)
}
