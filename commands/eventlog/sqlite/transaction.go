package sqlite

import (
	"zombiezen.com/go/sqlite"

	"assent/commands"
	"assent/commands/eventlog/chain"
	"assent/commands/eventlog/internal/admit"
	"assent/domain"
)

// transaction is what one commit writes. It reaches what the writer believes
// only once it is committed.
type transaction struct {
	*writer
	touched map[string]streamHead // streams as this transaction leaves them
	bytes   int                   // written, as the limits count
}

// write puts appends into the tables and moves the head row.
func (t *transaction) write(appends []*admit.Append, head commands.Head) error {
	for _, a := range appends {
		for _, w := range a.Writes {
			if err := t.extend(w); err != nil {
				return err
			}
		}
	}
	return t.db.exec("UPDATE head SET position = ?, recorded_at = ?, chain = ?", func(s *sqlite.Stmt) {
		s.BindInt64(1, int64(head.Position))
		s.BindInt64(2, head.At.UnixNano())
		s.BindBytes(3, head.Chain[:])
	})
}

// extend adds events to a stream.
func (t *transaction) extend(w admit.Write) error {
	if len(w.Rows) == 0 {
		return nil
	}
	head, ok := t.touched[w.Name]
	if !ok {
		var err error
		if head, err = t.stream(w.Name); err != nil {
			return err
		}
	}
	if head.id == 0 {
		var err error
		if head.id, err = t.name(w.Name); err != nil {
			return err
		}
	}
	for _, r := range w.Rows {
		if err := t.insert(head.id, r); err != nil {
			return err
		}
		head.version = r.Version
		t.bytes += len(r.Text) + len(r.Data)
	}
	t.touched[w.Name] = head
	return nil
}

// catchUp reads where the log ends, now that nobody else can move it. If that
// is not where the writer left it, another process wrote, or a commit in doubt
// went through after all: what the writer remembers of streams is then out of
// date. What it knew to be committed must still stand.
func (w *writer) catchUp() error {
	head, last, err := w.db.ends()
	if err != nil {
		return err
	}
	if head.Position != last {
		return apart(head, last)
	}
	if known := w.head; head != known {
		link, err := w.db.link(known.Position)
		if err != nil {
			return err
		}
		if link != known.Chain {
			return &chain.Broken{Position: known.Position, What: "an event that was committed is no longer there"}
		}
		clear(w.streams)
		w.standing.forget()
		w.head = head
	}
	return nil
}

// name gives a new stream its number.
func (t *transaction) name(stream string) (int64, error) {
	err := t.db.exec("INSERT INTO streams (name) VALUES (?)", func(s *sqlite.Stmt) { s.BindText(1, stream) })
	return t.db.LastInsertRowID(), err
}

func (t *transaction) insert(stream int64, r chain.Row) error {
	return t.db.exec("INSERT INTO events (position, stream, version, id, word, revision, recorded_at, envelope, data, link) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", func(s *sqlite.Stmt) {
		s.BindInt64(1, int64(r.Position))
		s.BindInt64(2, stream)
		s.BindInt64(3, int64(r.Version))
		s.BindText(4, string(r.ID))
		s.BindText(5, r.Word)
		s.BindInt64(6, int64(r.Revision))
		s.BindInt64(7, r.At.UnixNano())
		s.BindText(8, string(r.Text))
		s.BindText(9, string(r.Data))
		s.BindBytes(10, r.Link[:])
	})
}

// stream is where a stream was when the transaction began, from memory or from
// the tables.
func (w *writer) stream(name string) (streamHead, error) {
	if head, ok := w.streams[name]; ok {
		return head, nil
	}
	var head streamHead
	err := w.db.query("SELECT id, (SELECT coalesce(max(version), 0) FROM events WHERE stream = streams.id) FROM streams WHERE name = ?", func(s *sqlite.Stmt) error {
		head = streamHead{s.ColumnInt64(0), domain.Version(s.ColumnInt64(1))}
		return nil
	}, func(s *sqlite.Stmt) { s.BindText(1, name) })
	if err == nil {
		w.streams[name] = head
	}
	return head, err
}

// Version is where a stream is.
func (w *writer) Version(stream string) (domain.Version, error) {
	head, err := w.stream(stream)
	if err != nil {
		return 0, unwritten(err)
	}
	return head.version, nil
}

// Rows are at most limit events of a stream after a version.
func (w *writer) Rows(stream string, after domain.Version, limit int) ([]chain.Row, error) {
	rows, err := w.db.stream(stream, after, limit)
	if err != nil {
		return nil, unwritten(err)
	}
	return rows, nil
}
