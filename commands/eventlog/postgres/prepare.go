package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"assent/migrations"
)

// Why a schema is not opened.
var (
	// ErrForeign is a schema with tables that are no log of ours. It is left as
	// it is.
	ErrForeign = errors.New("this schema holds tables that are not an Assent log; name another database, or an empty schema with ?search_path=")
	// ErrNewer is a log that a newer program has written. It is left as it is.
	ErrNewer = errors.New("this log was written by a newer version of Assent; open it with that version or a later one")
	// ErrNoSchema is a search_path that names nothing that exists.
	ErrNoSchema = errors.New("the schema that search_path names does not exist; create it first")
)

// making is the advisory lock of whoever makes or changes tables: "ASNT".
const making = 0x41534e54

// prepare sees that the schema is ours and brings its tables up to date. Of
// several processes one does, and the others wait for it.
func prepare(ctx context.Context, config *pgx.ConnConfig, set settings) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 3*set.answer)
	defer cancel()
	c, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, hangUp(c)) }()
	if done, err := current(ctx, c); done || err != nil {
		return err
	}
	if _, err := c.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(making)); err != nil {
		return fmt.Errorf("waiting for whoever is changing the tables: %w", err)
	}
	if done, err := current(ctx, c); done || err != nil {
		return err
	}
	db := stdlib.OpenDB(*config)
	return errors.Join(migrations.LogPostgres().Apply(ctx, db), db.Close())
}

// current says whether the tables are up to date. The error is also why they
// cannot be.
func current(ctx context.Context, c *pgx.Conn) (bool, error) {
	latest, err := migrations.LogPostgres().Latest()
	if err != nil {
		return false, err
	}
	version, err := inspect(ctx, c)
	if err == nil && version > latest {
		err = fmt.Errorf("%w (its tables have version %d, this program knows %d)", ErrNewer, version, latest)
	}
	return version == latest, err
}

// inspect gives the version of a schema's tables: 0 for one that is still
// empty. What was interrupted before the first migration has goose's table
// only. What an extension brought along does not count.
func inspect(ctx context.Context, c *pgx.Conn) (version int64, err error) {
	var schema *string
	var ours bool
	var versions, others int
	err = c.QueryRow(ctx, `SELECT current_schema(),
		coalesce(bool_or(relname = 'head' AND obj_description(oid, 'pg_class') = 'Assent log'), false),
		count(*) FILTER (WHERE relname = $1), count(*) FILTER (WHERE relname <> $1)
		FROM pg_class WHERE relkind IN ('r', 'p')
		AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
		AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = pg_class.oid AND d.deptype = 'e')`,
		migrations.TablePostgres).Scan(&schema, &ours, &versions, &others)
	switch {
	case err != nil:
		return 0, err
	case schema == nil:
		return 0, ErrNoSchema
	case !ours && others > 0:
		return 0, ErrForeign
	case !ours || versions == 0:
		return 0, nil
	}
	err = c.QueryRow(ctx, "SELECT coalesce(max(version_id), 0) FROM "+migrations.TablePostgres).Scan(&version)
	return version, err
}
