package postgres

import (
	"context"
	"errors"
	"fmt"

	"assent/commands/eventlog/chain"
	"assent/commands/eventlog/committer"
)

// Loader adds to a log what was another's, as it is: see Load. Whoever appends
// at the same time can make it fail, not go wrong.
type Loader struct {
	*Stored
	writer *writer
}

// OpenLoader opens the log that a URL names for loading, and makes its tables
// where there are none. Errors are as for Open.
func OpenLoader(ctx context.Context, url string) (*Loader, error) {
	set := defaults()
	config, err := configure(url, set)
	if err != nil {
		return nil, fmt.Errorf("opening the log: %w", err)
	}
	l := &Loader{writer: &writer{config: config.ConnConfig, set: set}}
	if err = prepare(ctx, config.ConnConfig, set); err == nil {
		l.Stored, err = openStored(ctx, config, set)
	}
	if err == nil {
		l.writer.head, err = l.Head(ctx)
	}
	if err != nil && l.Stored != nil {
		err = errors.Join(err, l.Stored.Close())
	}
	if err != nil {
		return nil, fmt.Errorf("opening the log in %s on %s: %w", config.ConnConfig.Database, config.ConnConfig.Host, sentence(err))
	}
	return l, nil
}

// Load appends rows with their positions, times and hashes, which must continue
// the log's end; all or none of them, on the disk when it returns. The error is
// committer.ErrApart if they do not, or as for Append.
func (l *Loader) Load(_ context.Context, rows []chain.Row) error {
	_, err := committer.Load(l.writer, rows)
	return err
}

// Close lets go of the database.
func (l *Loader) Close() error { return errors.Join(l.Stored.Close(), l.writer.Close()) }
