package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"

	"github.com/jackc/pgx/v5/pgconn"
)

// Why a log cannot be opened, and what to do about it.
var (
	ErrURL         = errors.New("this is not the URL of a PostgreSQL database; write it like postgres://login:password@host:5432/database, with special characters in the password as %XX")
	ErrUnreachable = errors.New("PostgreSQL cannot be reached; see that it runs, and that the URL names its address")
	ErrLogin       = errors.New("PostgreSQL does not let this login in; check its name and password in the URL, and the server's pg_hba.conf")
	ErrNoDatabase  = errors.New("this database does not exist; create it first (createdb), or name another")
	ErrPrivileges  = errors.New("this login may not do what the log needs; let it own the schema, or make it one that can only append, as the README says")
	ErrReadOnly    = errors.New("this server or login can only read (a standby, or default_transaction_read_only); name the primary, and a login that may write")
	ErrTables      = errors.New("the log's tables, or columns of them, are not there any more; look whether search_path leads to another schema, or put a backup in their place")
	ErrCrowded     = errors.New("PostgreSQL has no connection to spare; raise its max_connections, or stop what holds them")
	ErrRoom        = errors.New("PostgreSQL has run out of disk or memory; make room there")
	ErrHeld        = errors.New("another process holds what is needed; try again in a moment")
	ErrAnswered    = errors.New("PostgreSQL would not; its own log tells more")
)

// sentences are by the server's codes: whole ones first, then their class.
var sentences = map[string]error{
	"28P01": ErrLogin, "28000": ErrLogin,
	"3D000": ErrNoDatabase, "3F000": ErrNoSchema,
	"42501": ErrPrivileges,
	"42P01": ErrTables, "42703": ErrTables,
	"25006": ErrReadOnly,
	"53300": ErrCrowded, "53": ErrRoom,
	"55P03": ErrHeld, "40": ErrHeld,
	"57": ErrUnreachable, "08": ErrUnreachable, // starting up, shutting down, or gone
}

// sentence puts what a person can do before what the server says, once.
func sentence(err error) error {
	if errors.Is(err, ErrAnswered) {
		return err
	}
	for _, why := range sentences {
		if errors.Is(err, why) {
			return err
		}
	}
	if told, ok := errors.AsType[*pgconn.PgError](err); ok {
		why := sentences[told.Code]
		if why == nil {
			why = sentences[told.Code[:min(2, len(told.Code))]]
		}
		return fmt.Errorf("%w (%w)", cmp.Or(why, ErrAnswered), err)
	}
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	_, lost := errors.AsType[net.Error](err)
	if connecting || lost || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("%w (%w)", ErrUnreachable, err)
	}
	return err
}

// writable sees that the log's connections may append.
func (l *Log) writable(ctx context.Context) error {
	var only, may, more, role bool
	err := l.reads.QueryRow(ctx, `SELECT current_setting('transaction_read_only') = 'on',
		has_table_privilege('head', 'SELECT') AND has_table_privilege('head', 'UPDATE') AND has_table_privilege('events', 'SELECT') AND has_table_privilege('events', 'INSERT')
		AND has_table_privilege('streams', 'SELECT') AND has_table_privilege('streams', 'INSERT'),
		has_table_privilege('events', 'DELETE') OR has_table_privilege('events', 'UPDATE'),
		EXISTS (SELECT FROM pg_roles WHERE rolname = 'assent_log_writer')`).Scan(&only, &may, &more, &role)
	switch {
	case err != nil:
		return err
	case only:
		return ErrReadOnly
	case !may:
		return ErrPrivileges
	case more:
		how := "make the server a login of its own that can only append, as the README says"
		if role {
			how = "let the server use a login of its own that is granted assent_log_writer and owns nothing, as the README says"
		}
		slog.WarnContext(ctx, "the login that appends owns the log's tables, and could lift what keeps events from being changed: "+how)
	}
	return nil
}
