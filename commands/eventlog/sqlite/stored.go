package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"zombiezen.com/go/sqlite"

	"assent/commands"
	"assent/commands/eventlog/chain"
	"assent/domain"
)

// Stored is a log as its file holds it, sound or not. It only reads, and may
// do so beside the process that writes.
type Stored struct {
	read  func(ctx context.Context, do func(*conn) error) error
	close func() error
}

var _ chain.Reader = (*Stored)(nil)

// OpenStored opens the file at path, which must be there, to be read as it is:
// a log that Open refuses as broken too. Errors are as for Open.
func OpenStored(path string) (*Stored, error) {
	set := defaults()
	s, err := openStored(path, set)
	if err != nil {
		return nil, fmt.Errorf("opening the log %s: %w", path, explained(err))
	}
	return s, nil
}

func openStored(path string, set settings) (*Stored, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	version, err := inspect(path, set)
	if err != nil {
		return nil, err
	}
	if version == 0 { // a file without tables holds no events
		return &Stored{
			read:  func(context.Context, func(*conn) error) error { return nil },
			close: func() error { return nil },
		}, nil
	}
	l := &Log{closed: make(chan struct{})}
	if l.reads, err = readPool(path, set); err != nil {
		return nil, err
	}
	return &Stored{l.read, sync.OnceValue(l.reads.Close)}, nil
}

// Stored is the same log as its file holds it. It ends with the log.
func (l *Log) Stored() chain.Reader {
	return &Stored{l.read, func() error { return nil }}
}

// Close lets go of the file.
func (s *Stored) Close() error { return s.close() }

// Head is what the head row says.
func (s *Stored) Head(ctx context.Context) (head commands.Head, err error) {
	err = s.look(ctx, 1, func(c *conn) error {
		head, _, err = c.ends()
		return err
	})
	return head, err
}

// selectStored finds the events of streams that have no name, too.
const selectStored = "SELECT e.position, s.name, e.version, e.id, e.word, e.revision, e.recorded_at, e.envelope, e.data, e.link, " +
	"(SELECT b.version FROM events b WHERE b.stream = e.stream AND b.version <= e.version AND b.position < e.position ORDER BY b.version DESC LIMIT 1) " +
	"FROM events e LEFT JOIN streams s ON s.id = e.stream WHERE e.position > ? ORDER BY e.position LIMIT ? + 0"

// errEnough ends a page.
var errEnough = errors.New("enough")

// Rows are at most limit rows after a position.
func (s *Stored) Rows(ctx context.Context, after domain.Position, limit int) (rows []chain.Kept, err error) {
	err = s.look(ctx, after+1, func(c *conn) error {
		bytes := 0
		err := c.query(selectStored, func(s *sqlite.Stmt) error {
			r := kept(s)
			rows = append(rows, r)
			if bytes += len(r.Text) + len(r.Data); bytes >= chain.PageBytes {
				return errEnough
			}
			return nil
		}, ints(int64(after), int64(max(limit, 0))))
		if errors.Is(err, errEnough) {
			return nil
		}
		return err
	})
	return rows, err
}

func kept(s *sqlite.Stmt) chain.Kept {
	stream, _ := domain.ParseStream(s.ColumnText(1)) // what is no name fits no hash
	link, _ := hash(s, 9)
	return chain.Kept{
		Row: chain.Row{
			Record: domain.Record{
				Fresh: domain.Fresh{
					ID:       domain.ID(s.ColumnText(3)),
					Word:     s.ColumnText(4),
					Revision: s.ColumnInt(5),
					Data:     content(s, 8),
				},
				Stream:   stream,
				Version:  domain.Version(s.ColumnInt64(2)),
				Position: domain.Position(s.ColumnInt64(0)),
				At:       chain.Time(s.ColumnInt64(6)),
			},
			Text: content(s, 7),
			Link: link,
		},
		Before: domain.Version(s.ColumnInt64(10)),
	}
}

// Intact asks SQLite whether the file's own structures agree: decisions find
// streams by an index that the chain does not cover.
func (s *Stored) Intact(ctx context.Context) error { return s.look(ctx, 0, (*conn).intact) }

// look reads; a file that SQLite finds damaged is a broken log.
func (s *Stored) look(ctx context.Context, at domain.Position, do func(*conn) error) error {
	err := s.read(ctx, do)
	if broken, ok := chain.IsBroken(err); ok {
		return broken
	}
	if code(err) == sqlite.ResultCorrupt {
		return &chain.Broken{Position: at, Kind: chain.Damaged, What: err.Error()}
	}
	return err
}
