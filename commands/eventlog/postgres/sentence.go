package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5/pgconn"
)

// Why a log cannot be opened, and what to do about it.
var (
	ErrURL         = errors.New("this is not the URL of a PostgreSQL database; write it like postgres://login:password@host:5432/database, with special characters in the password as %XX")
	ErrUnreachable = errors.New("PostgreSQL cannot be reached; see that it runs, and that the URL names its address")
	ErrLogin       = errors.New("PostgreSQL does not let this login in; check its name and password in the URL, and the server's pg_hba.conf")
	ErrNoDatabase  = errors.New("this database does not exist; create it first (createdb), or name another")
	ErrPrivileges  = errors.New("this login may not do what the log needs; let it own the schema, or let an administrator run the server once there with a login that does and then grant this one the role assent_log_writer")
	ErrReadOnly    = errors.New("this server or login can only read (a standby, or default_transaction_read_only); name the primary, and a login that may write")
)

// sentence puts what a person can do before what the server says.
func sentence(err error) error {
	if told, ok := errors.AsType[*pgconn.PgError](err); ok {
		why, known := map[string]error{
			"28P01": ErrLogin, "28000": ErrLogin,
			"3D000": ErrNoDatabase,
			"42501": ErrPrivileges,
			"25006": ErrReadOnly,
			"57P03": ErrUnreachable, // starting up, or shutting down
		}[told.Code]
		if known {
			return fmt.Errorf("%w (%w)", why, err)
		}
		return err
	}
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	if connecting || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w (%w)", ErrUnreachable, err)
	}
	return err
}

// writable sees that the log's connections may append.
func (l *Log) writable(ctx context.Context) error {
	var only, may, more bool
	err := l.reads.QueryRow(ctx, `SELECT current_setting('transaction_read_only') = 'on',
		has_table_privilege('head', 'SELECT') AND has_table_privilege('head', 'UPDATE') AND has_table_privilege('events', 'SELECT') AND has_table_privilege('events', 'INSERT')
		AND has_table_privilege('streams', 'SELECT') AND has_table_privilege('streams', 'INSERT'),
		has_table_privilege('events', 'DELETE') OR has_table_privilege('events', 'UPDATE')`).Scan(&only, &may, &more)
	switch {
	case err != nil:
		return err
	case only:
		return ErrReadOnly
	case !may:
		return ErrPrivileges
	case more:
		slog.WarnContext(ctx, "the login that appends owns the log's tables, and could lift what keeps events from being changed: give the server a login of its own that is granted assent_log_writer and owns nothing")
	}
	return nil
}
