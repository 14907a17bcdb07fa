package reactions

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"assent/migrations"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// schema is where the tables are, whatever search_path says: log and people may
// live in the same database.
const schema = "assent_reactions"

// making is the advisory lock of whoever makes or changes tables: "ASNR".
const making = 0x41534e52

// openPostgres opens the tables in a PostgreSQL database. Its errors hold no
// password.
func openPostgres(ctx context.Context, where string) (_ *sql.DB, err error) {
	config, err := pgx.ParseConfig(where)
	if err != nil {
		// Not why: a reason may quote a piece of the password.
		return nil, errors.New("the address of the PostgreSQL database cannot be read; write postgres://USER:PASSWORD@HOST/DATABASE")
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 5 * time.Second
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "assent"
	}
	config.RuntimeParams["search_path"] = schema
	config.RuntimeParams["lock_timeout"] = fmt.Sprint((answer / 2).Milliseconds())
	config.RuntimeParams["idle_in_transaction_session_timeout"] = fmt.Sprint(answer.Milliseconds())
	preparing, cancel := context.WithTimeout(ctx, 3*answer)
	defer cancel()
	if err := prepare(preparing, config); err != nil {
		if told, ok := errors.AsType[*pgconn.PgError](err); ok && told.Code == "42501" { // insufficient_privilege
			return nil, fmt.Errorf("the login %q may not make or use the schema %s; let an administrator run: CREATE SCHEMA %s AUTHORIZATION %q", config.User, schema, schema, config.User)
		}
		return nil, err
	}
	db := stdlib.OpenDB(*config)
	db.SetMaxOpenConns(8)
	db.SetMaxIdleConns(4)
	db.SetConnMaxLifetime(30 * time.Minute)
	return db, nil
}

// prepare makes schema and tables, or brings them up to date. Of several
// processes one does, and the others wait for it.
func prepare(ctx context.Context, config *pgx.ConnConfig) (err error) {
	c, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = c.Close(closing) // a server that may be gone is not waited for
	}()
	if _, err := c.Exec(ctx, `SELECT pg_advisory_lock($1)`, int64(making)); err != nil {
		return fmt.Errorf("wait for whoever is changing the tables: %w", err)
	}
	version, err := schemaVersion(ctx, c)
	if err != nil {
		return err
	}
	// Not IF NOT EXISTS, which needs the right to make one even when it is there.
	_, err = c.Exec(ctx, `DO $$ BEGIN IF to_regnamespace('`+schema+`') IS NULL THEN CREATE SCHEMA `+schema+`; END IF; END $$`)
	if err != nil {
		return err
	}
	db := stdlib.OpenDB(*config)
	return errors.Join(upToDate(ctx, db, migrations.ReactionsPostgres(), version), db.Close())
}

// schemaVersion is the version of the schema's tables: 0 when there are none.
func schemaVersion(ctx context.Context, c *pgx.Conn) (version int64, err error) {
	var marks, tables int
	err = c.QueryRow(ctx, `
		SELECT COUNT(*) FILTER (WHERE relname IN ($2, 'reactions')), COUNT(*) FILTER (WHERE relname <> $2)
		FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = to_regnamespace($1)`,
		schema, migrations.ReactionsTablePostgres).Scan(&marks, &tables)
	switch {
	case err != nil || tables == 0:
		return 0, err
	case marks < 2:
		return 0, fmt.Errorf("schema %s: %w", schema, ErrForeign)
	}
	err = c.QueryRow(ctx, `SELECT COALESCE(MAX(version_id), 0) FROM `+migrations.ReactionsTablePostgres).Scan(&version)
	return version, err
}
