// Package migrations holds the schemas of what cannot be rebuilt, one folder a
// store and database, as numbered goose files. Read models are not among them:
// they are generated and rebuilt. Files that have been released never change.
package migrations

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

//go:embed log/sqlite/*.sql log/postgres/*.sql vault/sqlite/*.sql vault/postgres/*.sql reactions/sqlite/*.sql reactions/postgres/*.sql
var files embed.FS

// Set is the migrations of one store on one database.
type Set struct {
	dialect goose.Dialect
	folder  string
	table   string
}

// LogSQLite is the event log on SQLite.
func LogSQLite() Set { return Set{goose.DialectSQLite3, "log/sqlite", Table} }

// LogPostgres is the event log on PostgreSQL, in the connection's schema.
func LogPostgres() Set { return Set{goose.DialectPostgres, "log/postgres", TablePostgres} }

// VaultSQLite is the vault on SQLite.
func VaultSQLite() Set { return Set{goose.DialectSQLite3, "vault/sqlite", Table} }

// VaultPostgres is the vault on PostgreSQL, in the connection's schema.
func VaultPostgres() Set { return Set{goose.DialectPostgres, "vault/postgres", VaultTablePostgres} }

// ReactionsSQLite is how far reactions have got, on SQLite.
func ReactionsSQLite() Set { return Set{goose.DialectSQLite3, "reactions/sqlite", Table} }

// ReactionsPostgres is how far reactions have got, on PostgreSQL, in the
// connection's schema.
func ReactionsPostgres() Set {
	return Set{goose.DialectPostgres, "reactions/postgres", ReactionsTablePostgres}
}

// Where goose keeps the versions that have been applied. On PostgreSQL stores
// may live beside one another, so each one's table says whose it is.
const (
	Table                  = goose.DefaultTablename
	TablePostgres          = "log_versions"
	VaultTablePostgres     = "vault_versions"
	ReactionsTablePostgres = "reactions_versions"
)

// Latest is the version that a store has once all of the set was applied.
func (s Set) Latest() (int64, error) {
	entries, err := fs.ReadDir(files, s.folder)
	if err != nil {
		return 0, fmt.Errorf("migrations of %s: %w", s.folder, err)
	}
	var latest int64
	for _, e := range entries {
		n, err := goose.NumericComponent(e.Name())
		if err != nil {
			return 0, fmt.Errorf("migrations of %s: %w", s.folder, err)
		}
		latest = max(latest, n)
	}
	return latest, nil
}

// Apply brings a database to the latest version, each migration in a
// transaction of its own.
func (s Set) Apply(ctx context.Context, db *sql.DB) error {
	folder, err := fs.Sub(files, s.folder)
	if err != nil {
		return fmt.Errorf("migrations of %s: %w", s.folder, err)
	}
	p, err := goose.NewProvider(s.dialect, db, folder, goose.WithDisableGlobalRegistry(true), goose.WithTableName(s.table))
	if err != nil {
		return fmt.Errorf("migrations of %s: %w", s.folder, err)
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrations of %s: %w", s.folder, err)
	}
	return nil
}
