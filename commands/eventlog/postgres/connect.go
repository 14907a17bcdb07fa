package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"assent/commands"
	"assent/commands/eventlog/committer"
)

const (
	// readers is how many reads go on at once, or more if the URL says so with
	// pool_max_conns; others wait for their turn.
	readers = 8
	// dialFor is how long a server may take to answer a new connection unless
	// the URL says connect_timeout.
	dialFor = 5 * time.Second
)

// configure reads the URL and adds what all connections have in common.
func configure(where string, set settings) (*pgxpool.Config, error) {
	if strings.Contains(where, "://") {
		if _, err := url.Parse(where); err != nil {
			return nil, ErrURL // what is wrong may be in the password: it is not repeated
		}
	}
	config, err := pgxpool.ParseConfig(where)
	if err != nil {
		return nil, fmt.Errorf("%w (%w)", ErrURL, err)
	}
	if config.MaxConns < readers {
		config.MaxConns = readers
	}
	c := config.ConnConfig
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = min(dialFor, set.answer)
	}
	params := c.RuntimeParams
	if params["application_name"] == "" {
		params["application_name"] = "assent"
	}
	// What is read under the head's lock must be what is there now, not what
	// was there when the transaction began.
	params["default_transaction_isolation"] = "read committed"
	params["lock_timeout"] = milliseconds(set.lock)
	params["idle_in_transaction_session_timeout"] = milliseconds(set.answer)
	config.AfterConnect = restrict
	return config, nil
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(max(d.Milliseconds(), 1), 10) }

// restrict gives up what the log does not need, where the login may, and sees
// to it that a commit that was answered is on the disk. The schema stays the
// one that it is: a search_path may name it after the role.
func restrict(ctx context.Context, c *pgx.Conn) error {
	_, err := c.Exec(ctx, `DO $$
		BEGIN
			IF current_setting('synchronous_commit') = 'off' THEN
				PERFORM set_config('synchronous_commit', 'on', false);
			END IF;
			IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'assent_log_writer' AND pg_has_role(oid, 'MEMBER'))
				AND to_regclass('head') IS NOT NULL AND has_table_privilege('assent_log_writer', 'head', 'UPDATE') THEN
				PERFORM set_config('search_path', quote_ident(current_schema()), false);
				PERFORM set_config('role', 'assent_log_writer', false);
			END IF;
		EXCEPTION
			WHEN insufficient_privilege THEN NULL;
		END $$`)
	return err
}

// connect opens a connection of the log's own.
func connect(ctx context.Context, config *pgx.ConnConfig) (*pgx.Conn, error) {
	c, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	if err := restrict(ctx, c); err != nil {
		return nil, errors.Join(err, hangUp(c))
	}
	return c, nil
}

// hangUp closes a connection, and does not wait long for a server that may be
// gone.
func hangUp(c *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return c.Close(ctx)
}

// unwritten is the answer to appends of which nothing was written because
// PostgreSQL would not, or was not there.
func unwritten(err error) error {
	if told, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch told.Code {
		case "55P03", "40001", "40P01", "53300", "57014": // locked, serialization, deadlock, connections, cancelled
			return fmt.Errorf("%w: %w", commands.ErrBusy, err)
		}
		switch told.Code[:min(2, len(told.Code))] {
		case "22", "23", "53", "54": // data, constraints, resources, limits
			return fmt.Errorf("%w: %w", committer.ErrRefused, err)
		}
	}
	return fmt.Errorf("%w: %w", commands.ErrUnavailable, err)
}

// uncertain is the answer to appends whose commit failed. A statement that
// never left, or that the server says it undid, wrote nothing. Where the
// connection was lost, or the server ended it, only asking again tells.
func uncertain(err error) error {
	if pgconn.SafeToRetry(err) {
		return unwritten(err)
	}
	if told, ok := errors.AsType[*pgconn.PgError](err); ok && told.SeverityUnlocalized == "ERROR" {
		return unwritten(err)
	}
	return fmt.Errorf("%w: %w", commands.ErrUnknown, err)
}

// ended says that the server ended the connection, as it does when it restarts.
// What only reads can be asked again on another.
func ended(err error) bool {
	told, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (told.Code == "57P01" || told.Code == "57P02") || pgconn.SafeToRetry(err)
}
