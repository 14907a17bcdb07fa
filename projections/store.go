package projections

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/vocab"

	_ "modernc.org/sqlite" // the driver
)

// Store is the read models of one database: one writer, which is Run, and any
// number of readers. Its methods are safe to call at the same time.
type Store struct {
	write *sql.DB // one connection, used by Run
	read  *sql.DB
	names *strings.Replacer // {items} becomes items_1
	words *vocab.Vocabulary
	kinds map[string]action.Kind
	clock func() time.Time

	generation int64
	states     table
	tables     []table
	statements map[string]statements
	body       *sql.Stmt // a version with its body
	here, move *sql.Stmt // where the checkpoint is, and putting it elsewhere

	asked sync.Map // text of a question → its *sql.Stmt

	mu      sync.Mutex
	seen    domain.Position
	event   domain.ID // at seen
	folded  time.Time
	halt    *Halt
	strange bool          // not yet known to be of the log that Run follows
	stuck   error         // what ended Run last, until it gets on
	moved   chan struct{} // closed when seen or halt change
	wanted  chan struct{} // holds one when somebody waits
}

// statements are how a table is read and written, one row at a time.
type statements struct{ load, save, drop *sql.Stmt }

// Open opens or makes the read models in the file at path. Tables of another
// schema, or of another version of any projection, are dropped; Run then folds
// everything again. Words and kinds are those the log is written with; clock
// says when, for Status only.
func Open(ctx context.Context, path string, words *vocab.Vocabulary, kinds map[string]action.Kind, clock func() time.Time) (*Store, error) {
	s := &Store{words: words, kinds: kinds, clock: clock, states: states(kinds), tables: tables(), moved: make(chan struct{}), wanted: make(chan struct{}, 1)}
	var err error
	if s.write, err = sql.Open("sqlite", source(path, "_txlock=immediate&_pragma=cache_size(-32768)&_pragma=wal_autocheckpoint(4000)")); err != nil {
		return nil, fmt.Errorf("open the read models: %w", err)
	}
	s.write.SetMaxOpenConns(1)
	if s.read, err = sql.Open("sqlite", source(path, "_pragma=query_only(1)")); err != nil {
		return nil, errors.Join(fmt.Errorf("open the read models: %w", err), s.Close())
	}
	s.read.SetMaxOpenConns(8)
	s.read.SetMaxIdleConns(8)
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open the read models at %s (they can be deleted, and are folded again from the log): %w", path, err), s.Close())
	}
	return s, nil
}

func source(path, more string) string {
	return "file:" + url.PathEscape(path) + "?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&" + more
}

// Close lets go of the database. End Run first.
func (s *Store) Close() error {
	if s.read == nil {
		return s.write.Close()
	}
	return errors.Join(s.read.Close(), s.write.Close())
}

// prepare brings the schema up to date and reads the checkpoint.
func (s *Store) prepare(ctx context.Context) error {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if err := s.migrate(ctx, tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	s.strange = s.seen > 0
	s.statements = map[string]statements{}
	for _, t := range s.all() {
		st, err := s.statementsOf(ctx, t)
		if err != nil {
			return err
		}
		s.statements[t.name] = st
	}
	for _, p := range []struct {
		into  **sql.Stmt
		query string
	}{
		{&s.body, `SELECT doc, body FROM {versions} WHERE key = $1`},
		{&s.here, `SELECT position FROM checkpoint WHERE one = 1 AND generation = $1`},
		{&s.move, `UPDATE checkpoint SET position = $1, event = $2 WHERE one = 1`},
	} {
		if *p.into, err = s.write.PrepareContext(ctx, s.sql(p.query)); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) all() []table { return append([]table{s.states}, s.tables...) }

// migrate keeps the tables when they are of this very schema, and replaces
// them by the next generation when they are not.
func (s *Store) migrate(ctx context.Context, tx *sql.Tx) error {
	for _, ddl := range []string{
		`CREATE TABLE IF NOT EXISTS checkpoint (one BIGINT PRIMARY KEY, generation BIGINT NOT NULL, fingerprint TEXT NOT NULL, position BIGINT NOT NULL, event TEXT NOT NULL)`,
		`CREATE TABLE IF NOT EXISTS generations (name TEXT PRIMARY KEY)`, // every table that this package made
	} {
		if _, err := tx.ExecContext(ctx, ddl); err != nil {
			return err
		}
	}
	var fingerprint string
	err := tx.QueryRowContext(ctx, `SELECT generation, fingerprint, position, event FROM checkpoint WHERE one = 1`).Scan(&s.generation, &fingerprint, &s.seen, &s.event)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if err == nil && fingerprint == s.fingerprint() {
		s.name()
		return nil
	}
	s.seen, s.event = 0, ""
	s.generation++
	s.name()
	if err := s.dropAll(ctx, tx); err != nil {
		return err
	}
	for _, t := range s.all() {
		if err := s.create(ctx, tx, t); err != nil {
			return fmt.Errorf("make %s: %w", t.name, err)
		}
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO checkpoint (one, generation, fingerprint, position, event) VALUES (1, $1, $2, 0, '')
		ON CONFLICT (one) DO UPDATE SET generation = EXCLUDED.generation, fingerprint = EXCLUDED.fingerprint, position = 0, event = ''`,
		s.generation, s.fingerprint())
	return err
}

// name fixes the names of this generation's tables for every query.
func (s *Store) name() {
	var pairs []string
	for _, t := range s.all() {
		pairs = append(pairs, "{"+t.name+"}", t.name+"_"+strconv.FormatInt(s.generation, 10))
	}
	s.names = strings.NewReplacer(pairs...)
}

// sql is a query with its tables named.
func (s *Store) sql(query string) string { return s.names.Replace(query) }

func (s *Store) dropAll(ctx context.Context, tx *sql.Tx) error {
	names, err := rowsOf[string](ctx, tx, `SELECT name FROM generations`)
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, err := tx.ExecContext(ctx, `DROP TABLE IF EXISTS `+name); err != nil {
			return err
		}
	}
	_, err = tx.ExecContext(ctx, `DELETE FROM generations`)
	return err
}

func (s *Store) create(ctx context.Context, tx *sql.Tx, t table) error {
	for _, ddl := range t.ddl() {
		if _, err := tx.ExecContext(ctx, s.sql(ddl)); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO generations (name) VALUES ($1)`, s.sql("{"+t.name+"}"))
	return err
}

func (t table) ddl() []string {
	var columns strings.Builder
	for _, c := range t.columns {
		columns.WriteString(", " + c + " NOT NULL")
	}
	list := []string{
		`DROP TABLE IF EXISTS {` + t.name + `}`, // one of that name that nobody remembers making
		`CREATE TABLE {` + t.name + `} (key TEXT PRIMARY KEY, workspace TEXT NOT NULL, doc TEXT NOT NULL` + columns.String() + `)`,
	}
	for i, on := range t.indexes {
		list = append(list, fmt.Sprintf(`CREATE INDEX {%s}_by_%d ON {%s} (%s)`, t.name, i+1, t.name, on))
	}
	return list
}

// fingerprint is what must be the same for tables to be kept.
func (s *Store) fingerprint() string {
	h := sha256.New()
	for _, t := range s.all() {
		fmt.Fprintf(h, "%s %d %q\n", t.name, t.version, t.ddl())
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (s *Store) statementsOf(ctx context.Context, t table) (st statements, err error) {
	names, marks, sets := "key, workspace, doc", "$1, $2, $3", "doc = EXCLUDED.doc"
	for i, c := range t.columns {
		name, _, _ := strings.Cut(c, " ")
		names += ", " + name
		marks += ", $" + strconv.Itoa(i+4)
		sets += ", " + name + " = EXCLUDED." + name
	}
	for _, p := range []struct {
		into  **sql.Stmt
		query string
	}{
		{&st.load, `SELECT doc FROM {` + t.name + `} WHERE key = $1`},
		{&st.save, `INSERT INTO {` + t.name + `} (` + names + `) VALUES (` + marks + `) ON CONFLICT (key) DO UPDATE SET ` + sets},
		{&st.drop, `DELETE FROM {` + t.name + `} WHERE key = $1`},
	} {
		if *p.into, err = s.write.PrepareContext(ctx, s.sql(p.query)); err != nil {
			return st, fmt.Errorf("prepare %s: %w", t.name, err)
		}
	}
	return st, nil
}

// querier is a database or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// rowsOf is the single column of a query.
func rowsOf[T any](ctx context.Context, q querier, query string, args ...any) ([]T, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var list []T
	for rows.Next() {
		var v T
		if err := rows.Scan(&v); err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, rows.Err()
}
