package sqlite

import (
	"context"
	"fmt"
	"sync"

	"assent/commands/eventlog/chain"
	"assent/commands/eventlog/committer"
)

// Loader adds to a log what was another's, as it is: see Load. Whoever appends
// to the file at the same time can make it fail, not go wrong.
type Loader struct {
	*Stored
	writer *writer
	close  func() error
}

// OpenLoader opens the log in the file at path for loading, and makes it where
// there is none. Errors are as for Open.
func OpenLoader(ctx context.Context, path string) (*Loader, error) {
	l, err := openLoader(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("opening the log %s: %w", path, explained(err))
	}
	return l, nil
}

func openLoader(ctx context.Context, path string) (*Loader, error) {
	set := defaults()
	if err := prepare(ctx, path, set); err != nil {
		return nil, err
	}
	s, err := openStored(path, set)
	if err != nil {
		return nil, err
	}
	head, err := s.Head(ctx)
	var c *copier
	if err == nil {
		c, err = startCopier(path, set)
	}
	if err != nil {
		return nil, joined(err, s.Close())
	}
	w := &writer{path: path, set: set, head: head, copier: c, standing: new(standing)}
	return &Loader{s, w, sync.OnceValue(func() error { return joined(s.Close(), w.Close()) })}, nil
}

// Load appends rows with their positions, times and hashes, which must continue
// the log's end; all or none of them, on the disk when it returns. The error is
// committer.ErrApart if they do not, or as for Append.
func (l *Loader) Load(_ context.Context, rows []chain.Row) error {
	_, err := committer.Load(l.writer, rows)
	return err
}

// Close lets go of the file.
func (l *Loader) Close() error { return l.close() }
