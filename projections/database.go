package projections

import (
	"context"
	"database/sql"
	"strings"

	"assent/domain"
)

// database is where generations are kept. What the two databases do alike is
// written once, in the SQL of this package; here is the rest.
type database interface {
	// prepare makes what is there before the first generation.
	prepare(ctx context.Context) error
	// there says whether there is anything to list.
	there(ctx context.Context) (bool, error)
	// list gives the checkpoint of every generation there is.
	list(ctx context.Context) ([]checkpoint, error)
	// open reaches a generation that is there.
	open(ctx context.Context, number int64) (db, reads *sql.DB, err error)
	// begin makes the home of a new generation. What was begun is no generation
	// yet.
	begin(ctx context.Context, number int64) (nest, error)
	// drop removes a generation, or what was begun, whatever is there of it.
	drop(ctx context.Context, number int64) error
	// abandoned removes what was begun and never finished. Only who has the
	// claim may.
	abandoned(ctx context.Context) error
	// claim gives one process at a time the right to rebuild and to swap; it
	// lapses with the process. When another has it the error is errClaimed,
	// unless the claim is to be waited for.
	claim(ctx context.Context, wait bool) (release func(), err error)
	// release lets go of what open gave.
	release(db *sql.DB) error
	close() error

	// patient is a context for what is soon done: where calling a statement
	// off costs more than most statements, it cannot be.
	patient(ctx context.Context) context.Context
	spelled(statement string) string // one whose values stand in the order of their numbers, as is fastest to bind
	textType() string                // a text, compared byte by byte
	locked() (try, wait string)      // the ends of a query that locks its row: only if it is free, or after whoever has it
	snapshot() *sql.TxOptions        // of a transaction that sees one moment
}

// nest is where a new generation is made, by one process. It can be used by
// several goroutines.
type nest interface {
	// exec runs a statement that makes something.
	exec(ctx context.Context, text string) error
	// load writes rows that are not there yet.
	load(ctx context.Context, g *generation, t table, lines [][]any) error
	// fetch reads rows that are there, once their keys have an index.
	fetch(ctx context.Context, g *generation, t table, keys []string, found func(key string, value any)) error
	// change writes rows over those that are there, and takes others away.
	change(ctx context.Context, g *generation, t table, lines [][]any, gone []any) error
	// finish makes it a generation, with its checkpoint: safe on the disk, and
	// there to be opened.
	finish(ctx context.Context, g *generation, at checkpoint) error
	// leave lets go of it, finished or not.
	leave() error
}

// errClaimed says that somebody else rebuilds.
var errClaimed = domain.Refuse("busy", "The read models are being rebuilt already, here or by another instance. Wait until that is done, or stop it.")

// openDatabase reads where read models are kept: sqlite:PATH or only a path,
// or postgres://….
func openDatabase(ctx context.Context, where string) (database, error) {
	if strings.HasPrefix(where, "postgres://") || strings.HasPrefix(where, "postgresql://") {
		return openSchema(ctx, where)
	}
	return openFiles(ctx, strings.TrimPrefix(where, "sqlite:"))
}
