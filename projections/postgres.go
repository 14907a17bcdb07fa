package projections

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// schema is the generations in one schema of a PostgreSQL database, for any
// number of instances.
type schema struct{ db *sql.DB }

// schemaName is where read models live. Nothing else should.
const schemaName = "assent_read"

// claimKey is the advisory lock of who rebuilds.
const claimKey = 0x61737365_6e740001

func openSchema(ctx context.Context, where string) (database, error) {
	config, err := pgx.ParseConfig(where)
	if err != nil {
		return nil, errors.New("open the read models: the address is not one of a PostgreSQL database, such as postgres://user@host/name") // what the driver says may hold the password
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 5 * time.Second
	}
	for name, value := range map[string]string{
		"search_path":                         schemaName,
		"application_name":                    "assent",
		"default_transaction_isolation":       "read committed",
		"synchronous_commit":                  "off", // what is lost with the server is folded again
		"idle_in_transaction_session_timeout": "600000",
	} {
		config.RuntimeParams[name] = value
	}
	s := schema{stdlib.OpenDB(*config)}
	s.db.SetMaxOpenConns(16)
	s.db.SetMaxIdleConns(16)
	if err := s.db.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("reach the read models in PostgreSQL: %w", err), s.db.Close())
	}
	return s, nil
}

// prepare makes the schema, one instance after another.
func (s schema) prepare(ctx context.Context) error {
	release, err := s.claimOn(ctx, "pg_advisory_lock", claimKey+1)
	if err != nil {
		return err
	}
	defer release()
	for _, ddl := range []string{`CREATE SCHEMA IF NOT EXISTS ` + schemaName, checkpointTable} {
		if _, err := s.db.ExecContext(ctx, ddl); err != nil {
			return fmt.Errorf("make the schema %s (the login must be allowed to): %w", schemaName, err)
		}
	}
	return nil
}

func (s schema) there(ctx context.Context) (bool, error) {
	names, err := rowsOf[string](ctx, s.db, `SELECT tablename FROM pg_tables WHERE schemaname = $1 AND tablename = 'checkpoint'`, schemaName)
	return len(names) > 0, err
}

func (s schema) list(ctx context.Context) ([]checkpoint, error) {
	return checkpoints(ctx, s.db, `WHERE position > 0 OR swapped > 0`)
}

func (s schema) open(context.Context, int64) (db, reads *sql.DB, err error) { return s.db, s.db, nil }

// begin takes the number: its row is there before its tables are.
func (s schema) begin(ctx context.Context, number int64) (nest, error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if err := (checkpoint{generation: number}).put(ctx, conn); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &schemaNest{schema: s, conn: conn}, nil
}

// schemaNest is a generation being made beside the others. Its tables have
// numbers of their own, and are no generation before their checkpoint says so.
// They are made on one connection: a server that goes down may lose what it
// took last, and whoever goes on after that on another would not notice.
type schemaNest struct {
	schema

	mu   sync.Mutex
	conn *sql.Conn
}

func (s *schemaNest) exec(ctx context.Context, text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.conn.ExecContext(ctx, text)
	return err
}

// load copies lines in.
func (s *schemaNest) load(ctx context.Context, g *generation, t table, lines [][]any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn.Raw(func(driver any) error {
		_, err := driver.(*stdlib.Conn).Conn().CopyFrom(ctx, pgx.Identifier{tableName(t.name, g.number)}, t.fields(), pgx.CopyFromRows(lines))
		return err
	})
}

func (s *schemaNest) fetch(ctx context.Context, g *generation, t table, keys []string, found func(string, any)) error {
	return s.within(ctx, g, func(tx *sql.Tx) error { return g.load(ctx, tx, t, keys, found) })
}

func (s *schemaNest) change(ctx context.Context, g *generation, t table, lines [][]any, gone []any) error {
	return s.within(ctx, g, func(tx *sql.Tx) error {
		return errors.Join(g.save(ctx, tx, t, lines), g.remove(ctx, tx, t, gone))
	})
}

func (s *schemaNest) within(ctx context.Context, g *generation, do func(*sql.Tx) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g.db == nil {
		g.db = s.db
		if err := g.prepare(ctx, g.tables, s.spelled); err != nil {
			return err
		}
	}
	tx, err := s.conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if err := do(tx); err != nil {
		return err
	}
	return tx.Commit()
}

func (s *schemaNest) finish(ctx context.Context, g *generation, at checkpoint) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range g.tables {
		if _, err := s.conn.ExecContext(ctx, `ANALYZE `+tableName(t.name, g.number)); err != nil {
			return err
		}
	}
	tx, err := s.conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(ctx, `DELETE FROM checkpoint WHERE generation = $1`, g.number); err != nil {
		return err
	}
	if err := at.put(ctx, tx); err != nil {
		return err
	}
	return tx.Commit()
}

func (s *schemaNest) leave() error {
	if err := s.conn.Close(); !errors.Is(err, sql.ErrConnDone) { // it may have ended with the server
		return err
	}
	return nil
}

func (s schema) drop(ctx context.Context, number int64) error {
	names, err := rowsOf[string](ctx, s.db, `SELECT tablename FROM pg_tables WHERE schemaname = $1 AND tablename ~ $2`, schemaName, fmt.Sprintf(`^[a-z]+_%d$`, number))
	if err != nil {
		return err
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	ddl := []string{`SET LOCAL lock_timeout = '2s'`} // somebody may still read it: then the next time
	if len(names) > 0 {
		ddl = append(ddl, `DROP TABLE `+strings.Join(names, ", "))
	}
	for _, text := range append(ddl, fmt.Sprintf(`DELETE FROM checkpoint WHERE generation = %d`, number)) {
		if _, err := tx.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func (s schema) abandoned(ctx context.Context) error {
	list, err := checkpoints(ctx, s.db, `WHERE position = 0 AND swapped = 0`)
	for _, c := range list {
		err = errors.Join(err, s.drop(ctx, c.generation))
	}
	return err
}

func (s schema) claim(ctx context.Context, wait bool) (func(), error) {
	if wait {
		return s.claimOn(ctx, "pg_advisory_lock", claimKey)
	}
	return s.claimOn(ctx, "pg_try_advisory_lock", claimKey)
}

// claimOn holds a lock on a connection of its own, and ends with it.
func (s schema) claimOn(ctx context.Context, how string, key int64) (func(), error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	var got string // true, or nothing where the lock was waited for
	if err := conn.QueryRowContext(ctx, `SELECT `+how+`($1)::text`, key).Scan(&got); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	if got == "false" {
		return nil, errors.Join(errClaimed, conn.Close())
	}
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_, err := conn.ExecContext(ctx, `SELECT pg_advisory_unlock($1)`, key)
		if err != nil { // a connection that keeps it must not be lent again
			_ = conn.Raw(func(driver any) error { return driver.(*stdlib.Conn).Conn().Close(ctx) })
		}
		_ = conn.Close()
	}, nil
}

func (schema) release(*sql.DB) error { return nil } // there is one for all
func (s schema) close() error        { return s.db.Close() }

func (schema) patient(ctx context.Context) context.Context { return ctx }

func (schema) spelled(text string) string { return text }
func (schema) textType() string           { return `TEXT COLLATE "C"` }
func (schema) locked() (string, string)   { return " FOR UPDATE SKIP LOCKED", " FOR SHARE" }
func (schema) snapshot() *sql.TxOptions {
	return &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
}
