package sqlite

import (
	"errors"
	"fmt"
	"slices"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"assent/commands"
	"assent/commands/eventlog/chain"
	"assent/commands/eventlog/committer"
	"assent/domain"
)

// connect opens a connection with the pragmas all have in common. The path is
// a path, never a URI.
func connect(path string, set settings, pragmas ...string) (*sqlite.Conn, error) {
	c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		return nil, err
	}
	if err := tune(c, set, pragmas...); err != nil {
		return nil, joined(err, c.Close())
	}
	return c, nil
}

func tune(c *sqlite.Conn, set settings, pragmas ...string) error {
	c.SetBusyTimeout(set.busy)
	for _, p := range append([]string{"synchronous=FULL", "wal_autocheckpoint=0", "temp_store=MEMORY", "trusted_schema=OFF"}, pragmas...) {
		if err := sqlitex.ExecuteTransient(c, "PRAGMA "+p, nil); err != nil {
			return fmt.Errorf("PRAGMA %s: %w", p, err)
		}
	}
	return nil
}

// conn asks the questions of the log on one connection.
type conn struct{ *sqlite.Conn }

// exec runs a statement that gives no rows.
func (c conn) exec(query string, bind ...func(*sqlite.Stmt)) error {
	return c.query(query, func(*sqlite.Stmt) error { return nil }, bind...)
}

// query gives every row to each. Statements are kept by their text.
func (c conn) query(query string, each func(*sqlite.Stmt) error, bind ...func(*sqlite.Stmt)) (err error) {
	s, err := c.Prepare(query)
	if err != nil {
		return err
	}
	// Reset tells once more what Step told; only what is new is of interest.
	defer func() { err = first(err, s.Reset()) }()
	for _, b := range bind {
		b(s)
	}
	for {
		more, err := s.Step()
		if err != nil || !more {
			return err
		}
		if err := each(s); err != nil {
			return err
		}
	}
}

// ends reads the head row and, in the same glance, the last position in use.
func (c conn) ends() (head commands.Head, last domain.Position, err error) {
	found := false
	err = c.query("SELECT position, recorded_at, chain, (SELECT coalesce(max(position), 0) FROM events) FROM head", func(s *sqlite.Stmt) error {
		found = true
		last = domain.Position(s.ColumnInt64(3))
		head.Position = domain.Position(s.ColumnInt64(0))
		if head.Position > 0 {
			head.At = chain.Time(s.ColumnInt64(1))
		}
		if head.Chain, err = hash(s, 2); err != nil {
			return chain.NoHead("the head row holds " + err.Error())
		}
		return nil
	})
	if err == nil && !found {
		err = chain.NoHead("the head row is missing")
	}
	return head, last, err
}

// link is the hash stored at a position; zero where there is no event.
func (c conn) link(at domain.Position) (link [32]byte, err error) {
	err = c.query("SELECT link FROM events WHERE position = ?", func(s *sqlite.Stmt) error {
		link, err = hash(s, 0)
		return err
	}, ints(int64(at)))
	return link, err
}

const columns = "e.position, s.name, e.version, e.id, e.word, e.revision, e.recorded_at, e.envelope, e.data, e.link, e.stream"

const (
	// A bare LIMIT ? makes the planner look at the value, and SQLite then
	// prepares the statement anew each time it is bound: half of what a short
	// read costs.
	selectStream = "SELECT " + columns + " FROM streams s JOIN events e ON e.stream = s.id WHERE s.name = ? AND e.version > ? ORDER BY e.version LIMIT ? + 0"
	selectAll    = "SELECT " + columns + " FROM events e JOIN streams s ON s.id = e.stream WHERE e.position > ? ORDER BY e.position LIMIT ? + 0"
)

// stream reads at most limit rows of a stream after a version; all of them
// when limit is negative.
func (c conn) stream(name string, after domain.Version, limit int) ([]chain.Row, error) {
	return c.rows(selectStream, limit, func(s *sqlite.Stmt) {
		s.BindText(1, name)
		s.BindInt64(2, int64(after))
		s.BindInt64(3, int64(limit))
	})
}

// all reads at most limit rows after a position.
func (c conn) all(after domain.Position, limit int) ([]chain.Row, error) {
	limit = max(limit, 0)
	return c.rows(selectAll, limit, ints(int64(after), int64(limit)))
}

// Few rows are most answers; whoever gets more is likely to get many, or as
// many as were asked for.
const few, many = 64, 1000

func (c conn) rows(query string, limit int, bind func(*sqlite.Stmt)) ([]chain.Row, error) {
	var rows []chain.Row
	var seen spellings
	err := c.query(query, func(s *sqlite.Stmt) error {
		stream, err := seen.stream(s, 10, 1)
		if err != nil {
			return err
		}
		link, err := hash(s, 9)
		text, data := both(s, 7, 8)
		if len(rows) == few && limit > few {
			rows = slices.Grow(rows, min(limit, many)-few) // rows are large: once is enough
		}
		rows = append(rows, chain.Row{})
		r := &rows[len(rows)-1] // filled in place: a row is large
		r.ID, r.Word, r.Revision, r.Data = domain.ID(s.ColumnText(3)), seen.word(s, 4), s.ColumnInt(5), data
		r.Stream, r.Version, r.Position = stream, domain.Version(s.ColumnInt64(2)), domain.Position(s.ColumnInt64(0))
		r.At, r.Text, r.Link = chain.Time(s.ColumnInt64(6)), text, link
		return err
	}, bind)
	return rows, err
}

// spellings keep what many rows of one answer have in common: it is parsed, and
// kept, once.
type spellings struct {
	streams map[int64]domain.Stream
	words   map[string]string
}

func (k *spellings) stream(s *sqlite.Stmt, id, name int) (domain.Stream, error) {
	number := s.ColumnInt64(id)
	if stream, known := k.streams[number]; known {
		return stream, nil
	}
	stream, err := domain.ParseStream(s.ColumnText(name))
	if k.streams == nil {
		k.streams = make(map[int64]domain.Stream)
	}
	k.streams[number] = stream
	return stream, err
}

func (k *spellings) word(s *sqlite.Stmt, column int) string {
	var room [64]byte
	if n := s.ColumnLen(column); n <= len(room) {
		s.ColumnBytes(column, room[:])
		if word, known := k.words[string(room[:n])]; known { // without a copy
			return word
		}
	}
	word := s.ColumnText(column)
	if k.words == nil {
		k.words = make(map[string]string)
	}
	k.words[word] = word
	return word
}

func ints(values ...int64) func(*sqlite.Stmt) {
	return func(s *sqlite.Stmt) {
		for i, v := range values {
			s.BindInt64(i+1, v)
		}
	}
}

// both are two columns' contents, in one piece of memory.
func both(s *sqlite.Stmt, one, other int) (a, b []byte) {
	n, m := s.ColumnLen(one), s.ColumnLen(other)
	all := make([]byte, n+m)
	s.ColumnBytes(one, all[:n])
	s.ColumnBytes(other, all[n:])
	return all[:n:n], all[n:]
}

func content(s *sqlite.Stmt, column int) []byte {
	b := make([]byte, s.ColumnLen(column))
	s.ColumnBytes(column, b)
	return b
}

func hash(s *sqlite.Stmt, column int) (h [32]byte, err error) {
	if n := s.ColumnLen(column); n != len(h) {
		return h, fmt.Errorf("a hash of %d bytes", n)
	}
	s.ColumnBytes(column, h[:])
	return h, nil
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// joined is errors.Join, and one error alone stays as it is.
func joined(errs ...error) error {
	var some []error
	for _, err := range errs {
		if err != nil {
			some = append(some, err)
		}
	}
	if len(some) == 1 {
		return some[0]
	}
	return errors.Join(some...)
}

// code is SQLite's own word for what went wrong, without its details.
func code(err error) sqlite.ResultCode { return sqlite.ErrCode(err).ToPrimary() }

// unwritten is the answer to an append of which nothing was written because
// SQLite would not.
func unwritten(err error) error {
	switch code(err) {
	case sqlite.ResultBusy, sqlite.ResultLocked:
		return fmt.Errorf("%w: %w", commands.ErrBusy, explained(err))
	case sqlite.ResultFull, sqlite.ResultTooBig, sqlite.ResultConstraint:
		return fmt.Errorf("%w: %w", committer.ErrRefused, explained(err))
	}
	return fmt.Errorf("%w: %w", commands.ErrUnavailable, explained(err))
}

// uncertain is the answer to an append whose COMMIT failed. A full disk shows
// when pages go into the WAL, the one that makes them count last; stuck locks
// show before any: then, as when the file was busy, it is certain that nothing
// was written. Any other failure may come after that page, and only asking
// again tells.
func uncertain(err error) error {
	switch code(err) {
	case sqlite.ResultBusy, sqlite.ResultLocked, sqlite.ResultFull, sqlite.ResultProtocol:
		return unwritten(err)
	}
	return fmt.Errorf("%w: %w", commands.ErrUnknown, explained(err))
}
