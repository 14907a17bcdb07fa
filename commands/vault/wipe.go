package vault

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// rewriting is how long writing the tables anew may take.
const rewriting = 2 * time.Minute

// wipePostgres writes the tables that hold what is personal into new files and
// drops the old ones. Deleted rows that some transaction may still see would
// come along, so those transactions have to end first.
//
// It cannot reach what is outside these tables' files: the server's
// write-ahead log until it was reused, and what was copied from it or from the
// files before.
func wipePostgres(ctx context.Context, db *sql.DB) error {
	ctx, cancel := context.WithTimeout(ctx, rewriting)
	defer cancel()
	if err := untilUnseen(ctx, db); err != nil {
		return fmt.Errorf("wait for those who may still see the erased: %w", err)
	}
	before, err := filesOf(ctx, db)
	if err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, `VACUUM (FULL) person, name, sealing_key`); err != nil {
		if told, ok := errors.AsType[*pgconn.PgError](err); ok && told.Code == "55P03" { // lock_not_available
			err = errStillRead // a long backup, say
		}
		return fmt.Errorf("write the vault anew: %w", err)
	}
	after, err := filesOf(ctx, db)
	if err != nil {
		return err
	}
	// PostgreSQL only warns of tables that the login may not write anew.
	maps.DeleteFunc(after, func(table string, file int64) bool { return before[table] != file })
	if len(after) > 0 {
		return errNotOwner
	}
	return nil
}

// untilUnseen waits until nobody can see those who were erased any more.
func untilUnseen(ctx context.Context, db *sql.DB) error {
	ctx, cancel := within(ctx)
	defer cancel()
	held := false
	for {
		seen, err := stillSeen(ctx, db)
		if err == nil && seen {
			err = pause(ctx, 100*time.Millisecond)
			held = true
		}
		switch {
		case err != nil && held && ctx.Err() != nil: // the time ran out while it was asked, or between
			return fmt.Errorf("%w (%w)", errStillRead, err)
		case err != nil || !seen:
			return err
		}
	}
}

// stillSeen says whether a transaction is open that may see rows of those who
// were erased and not wiped yet. Once all that began before an erasure and
// wrote something are over, no new one can see it: so that is asked first, and
// then who has been reading since before.
func stillSeen(ctx context.Context, db *sql.DB) (seen bool, err error) {
	for _, question := range []string{
		`SELECT EXISTS (SELECT 1 FROM erased WHERE wiped = 0 AND gone >= pg_snapshot_xmin(pg_current_snapshot()))`,
		// Replicas read too. Age is how many transactions ago something was.
		`SELECT EXISTS (
			SELECT 1 FROM erased JOIN (
				SELECT backend_xmin AS since FROM pg_stat_activity WHERE datname IS NULL OR datname = current_database()
				UNION ALL SELECT xmin FROM pg_replication_slots
			) AS reader ON age(since) >= age(gone::xid) WHERE wiped = 0)`,
	} {
		err = db.QueryRowContext(ctx, question).Scan(&seen)
		if err != nil || seen {
			return seen, err
		}
	}
	return false, nil
}

// filesOf is which file each table is in that holds what is personal.
func filesOf(ctx context.Context, db *sql.DB) (map[string]int64, error) {
	rows, err := db.QueryContext(ctx, `
		SELECT relname, pg_relation_filenode(oid)::bigint FROM pg_class
		WHERE relnamespace = to_regnamespace($1) AND relname IN ('person', 'name', 'sealing_key')`, schema)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	files := map[string]int64{}
	for rows.Next() {
		var table string
		var file int64
		if err := rows.Scan(&table, &file); err != nil {
			return nil, err
		}
		files[table] = file
	}
	return files, rows.Err()
}
