package vault

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"assent/migrations"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
)

// schema is where the tables are, whatever search_path says: the log may live
// in the same database.
const schema = "assent_people"

const (
	// connections is how many there are at once, or more if the URL says so
	// with pool_max_conns; others wait for their turn.
	connections = 8
	// dialFor is how long a server may take to answer a new connection unless
	// the URL says connect_timeout.
	dialFor = 5 * time.Second
	// renewed is how old a connection gets: the server behind a name changes.
	renewed = 30 * time.Minute
)

// openPostgres opens a vault in a PostgreSQL database.
func openPostgres(ctx context.Context, where string) (*store, error) {
	pool, err := pgxpool.ParseConfig(where)
	if err != nil {
		// Not why: a reason may quote a piece of the password.
		return nil, errors.New("the address of the PostgreSQL database cannot be read; write postgres://USER:PASSWORD@HOST/DATABASE, with % codes for what is neither a letter nor a digit in the password")
	}
	config := configure(pool.ConnConfig)
	preparing, cancel := context.WithTimeout(ctx, 3*answer)
	defer cancel()
	if err := preparePostgres(preparing, config); err != nil {
		return nil, plainly(config, err)
	}
	db := stdlib.OpenDB(*config, stdlib.OptionAfterConnect(settle))
	db.SetMaxOpenConns(max(connections, int(pool.MaxConns)))
	db.SetMaxIdleConns(connections)
	db.SetConnMaxLifetime(renewed)
	return &store{
		write: db, read: db,
		shared:   true,
		elements: "json_array_elements_text",
		wipe:     func(ctx context.Context) error { return wipePostgres(ctx, db) },
	}, nil
}

// configure adds what all connections have in common.
func configure(config *pgx.ConnConfig) *pgx.ConnConfig {
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = dialFor
	}
	params := config.RuntimeParams
	if params["application_name"] == "" {
		params["application_name"] = "assent"
	}
	params["search_path"] = schema
	params["default_transaction_isolation"] = "read committed" // of lone statements
	if params["lock_timeout"] == "" {
		params["lock_timeout"] = milliseconds(answer / 2)
	}
	params["idle_in_transaction_session_timeout"] = milliseconds(answer) // of an instance that is gone
	return config
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// settle sees that a new connection is what configure asked for, and that a
// commit that was answered is on the disk.
func settle(ctx context.Context, c *pgx.Conn) error {
	var here string
	err := c.QueryRow(ctx, `
		SELECT COALESCE(current_schema(), ''), set_config('synchronous_commit',
			CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, false)`).
		Scan(&here, nil)
	if err == nil && here != schema {
		err = fmt.Errorf("a new connection is in the schema %q and not in %s; connect to PostgreSQL itself and not to a pooler", here, schema)
	}
	return err
}

// making is the advisory lock of whoever makes or changes tables: "ASNV".
const making = 0x41534e56

// preparePostgres sees that the schema is ours before anything is changed in
// it, and brings its tables up to date. Of several processes one does, and the
// others wait for it.
func preparePostgres(ctx context.Context, config *pgx.ConnConfig) (err error) {
	c, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer func() {
		// A server that may be gone is not waited for long.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = c.Close(ctx)
	}()
	if done, err := current(ctx, c); done || err != nil {
		return err
	}
	if _, err := c.Exec(ctx, `SELECT pg_advisory_lock($1)`, int64(making)); err != nil {
		return fmt.Errorf("wait for whoever is changing the tables: %w", err)
	}
	if done, err := current(ctx, c); done || err != nil {
		return err
	}
	// Not IF NOT EXISTS, which needs the right to make one even when it is there.
	_, err = c.Exec(ctx, `DO $$ BEGIN IF to_regnamespace('`+schema+`') IS NULL THEN CREATE SCHEMA `+schema+`; END IF; END $$`)
	if err != nil {
		return err
	}
	db := stdlib.OpenDB(*config, stdlib.OptionAfterConnect(settle))
	return errors.Join(migrations.VaultPostgres().Apply(ctx, db), db.Close())
}

// current says whether the tables are up to date. The error is also why they
// cannot be.
func current(ctx context.Context, c *pgx.Conn) (bool, error) {
	latest, err := migrations.VaultPostgres().Latest()
	if err != nil {
		return false, err
	}
	version, err := schemaVersion(ctx, c)
	if err != nil {
		return false, err
	}
	return upToDate(version, latest)
}

// schemaVersion is the version of the schema's tables: 0 when there are none.
// What was interrupted before the first step has goose's table only.
func schemaVersion(ctx context.Context, c *pgx.Conn) (version int64, err error) {
	var marks, tables int
	err = c.QueryRow(ctx, `
		SELECT COUNT(*) FILTER (WHERE relname = $2 OR relname = 'vault' AND obj_description(oid, 'pg_class') = 'Assent vault'),
			COUNT(*) FILTER (WHERE relname <> $2)
		FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = to_regnamespace($1)`,
		schema, migrations.VaultTablePostgres).Scan(&marks, &tables)
	switch {
	case err != nil:
		return 0, err
	case tables == 0:
		return 0, nil
	case marks < 2:
		return 0, fmt.Errorf("schema %s: %w", schema, ErrForeign)
	}
	err = c.QueryRow(ctx, `SELECT COALESCE(MAX(version_id), 0) FROM `+migrations.VaultTablePostgres).Scan(&version)
	return version, err
}

// plainly says in one sentence why a database cannot be used. Who has to tell
// one cause from another still can.
func plainly(config *pgx.ConnConfig, err error) error {
	at := fmt.Sprintf("database %q on %s:%d", config.Database, config.Host, config.Port)
	if told, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch told.Code {
		case "42501": // insufficient_privilege
			return said{fmt.Sprintf(`the login %q may not make or use the vault's tables in the %s; let an administrator run: CREATE SCHEMA %s AUTHORIZATION %q`,
				config.User, at, schema, config.User), err}
		case "25006": // read_only_sql_transaction
			return said{fmt.Sprintf("the %s can only be read; name the server that is written to", at), err}
		case "28000", "28P01": // invalid_authorization_specification, invalid_password
			return said{fmt.Sprintf("the %s does not let the login %q in; check its name and password", at, config.User), err}
		case "3D000": // invalid_catalog_name
			return said{fmt.Sprintf("there is no %s; make it first", at), err}
		}
		return said{fmt.Sprintf("the %s says: %s", at, told.Message), err}
	}
	why := err
	if net, ok := errors.AsType[*net.OpError](err); ok {
		why = net.Err
	} else if errors.Is(err, context.DeadlineExceeded) {
		why = errors.New("it did not answer in time")
	} else if _, ok := errors.AsType[*pgconn.ConnectError](err); !ok {
		return err
	}
	return said{fmt.Sprintf("the %s cannot be reached (%v); is it running, and is the address right?", at, why), err}
}

// said is an error in words of our own.
type said struct {
	words string
	cause error
}

func (s said) Error() string { return s.words }
func (s said) Unwrap() error { return s.cause }

// clashed says that a transaction was undone because of another one, and will
// do when it is tried again.
func clashed(err error) bool {
	told, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (told.Code == "40001" || told.Code == "40P01") // serialization_failure, deadlock_detected
}

// unstorable says that an argument holds what a text in PostgreSQL cannot: the
// character 0, or bytes that are no text.
func unstorable(err error) bool {
	told, ok := errors.AsType[*pgconn.PgError](err)
	return ok && told.Code == "22021" // character_not_in_repertoire
}
