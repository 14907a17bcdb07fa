package sqlite

import (
	"time"

	"zombiezen.com/go/sqlite"

	"assent/commands"
	"assent/commands/eventlog/chain"
	"assent/commands/eventlog/internal/admit"
	"assent/domain"
)

// transaction is one commit under way. What it writes reaches what the writer
// believes only once it is committed.
type transaction struct {
	*writer
	head    commands.Head         // after what was written so far
	touched map[string]streamHead // streams as this transaction leaves them
	bytes   int                   // written, as the limits count
}

// run does everything but the COMMIT: it answers every request and writes what
// is to be written. An error is the database's: nothing may be committed then.
func (t *transaction) run(now time.Time, requests []*request) error {
	if err := t.db.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if err := t.catchUp(); err != nil {
		return err
	}
	for _, r := range requests {
		answer, err := r.append.Admit(t)
		if err != nil {
			return err
		}
		if answer != nil {
			r.receipt, r.err = answer.Receipt, answer.Err
			continue
		}
		if err := t.write(r.append, now); err != nil {
			return err
		}
		r.receipt = commands.Receipt{Position: t.head.Position, At: t.head.At}
	}
	if t.head == t.writer.head {
		return nil
	}
	return t.db.exec("UPDATE head SET position = ?, recorded_at = ?, chain = ?", func(s *sqlite.Stmt) {
		s.BindInt64(1, int64(t.head.Position))
		s.BindInt64(2, t.head.At.UnixNano())
		s.BindBytes(3, t.head.Chain[:])
	})
}

// catchUp reads where the log ends, now that nobody else can move it. If that
// is not where the writer left it, another process wrote, or a commit in doubt
// went through after all: what the writer remembers of streams is then out of
// date. What it knew to be committed must still stand.
func (t *transaction) catchUp() error {
	head, last, err := t.db.ends()
	if err != nil {
		return err
	}
	if head.Position != last {
		return apart(head, last)
	}
	if known := t.writer.head; head != known {
		link, err := t.db.link(known.Position)
		if err != nil {
			return err
		}
		if link != known.Chain {
			return &chain.Broken{Position: known.Position, What: "an event that was committed is no longer there"}
		}
		clear(t.streams)
		t.standing.forget()
		t.writer.head = head
	}
	t.head = head
	return nil
}

// write puts an append's events after the transaction's head.
func (t *transaction) write(a *admit.Append, now time.Time) error {
	t.head = a.Stamp(t.head, now)
	for _, w := range a.Writes {
		if len(w.Rows) == 0 {
			continue
		}
		head, err := t.stream(w.Name)
		if err != nil {
			return err
		}
		if head.id == 0 {
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

// stream is where a stream is, from memory or from the tables.
func (t *transaction) stream(name string) (streamHead, error) {
	if head, ok := t.touched[name]; ok {
		return head, nil
	}
	if head, ok := t.streams[name]; ok {
		return head, nil
	}
	var head streamHead
	err := t.db.query("SELECT id, (SELECT coalesce(max(version), 0) FROM events WHERE stream = streams.id) FROM streams WHERE name = ?", func(s *sqlite.Stmt) error {
		head = streamHead{s.ColumnInt64(0), domain.Version(s.ColumnInt64(1))}
		return nil
	}, func(s *sqlite.Stmt) { s.BindText(1, name) })
	if err == nil {
		t.streams[name] = head
	}
	return head, err
}

// Version is where a stream is, as admit.View wants to know.
func (t *transaction) Version(stream string) (domain.Version, error) {
	head, err := t.stream(stream)
	return head.version, err
}

// Rows are at most limit events of a stream after a version.
func (t *transaction) Rows(stream string, after domain.Version, limit int) ([]chain.Row, error) {
	return t.db.stream(stream, after, limit)
}
