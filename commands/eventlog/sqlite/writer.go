package sqlite

import (
	"maps"

	"zombiezen.com/go/sqlite"

	"assent/commands"
	"assent/commands/eventlog/committer"
	"assent/commands/eventlog/internal/admit"
	"assent/domain"
)

const (
	// remembered is how many streams a writer knows by heart at most.
	remembered = 1 << 16
	// cache is for the pages that the next commits touch again, which are few:
	// the ends of the tables. A larger one is filled with pages that are not,
	// and memory that is new costs more than memory that is used again.
	cache = "cache_size=-4096"
)

// writer is the only one in this process that writes. It is used by one
// goroutine at a time.
type writer struct {
	path    string
	set     settings
	copier  *copier
	db      *conn                 // nil: to be opened before the next commit
	head    commands.Head         // committed
	streams map[string]streamHead // as of head

	standing *standing // what of it readers may look at
}

// streamHead is a stream as the tables know it.
type streamHead struct {
	id      int64 // 0: nobody wrote to it
	version domain.Version
}

var _ committer.Backend = (*writer)(nil)

// Begin takes the file for this writer alone, and reads where the log ends.
func (w *writer) Begin([]string) (commands.Head, error) {
	err := w.ready()
	if err == nil {
		err = w.db.exec("BEGIN IMMEDIATE")
	}
	if err == nil {
		err = w.catchUp()
	}
	if err != nil {
		w.drop(err)
		return commands.Head{}, unwritten(err)
	}
	return w.head, nil
}

// Commit writes appends and moves the head row, in the transaction that Begin
// has begun.
func (w *writer) Commit(appends []*admit.Append, head commands.Head) error {
	if len(appends) == 0 {
		w.Abandon()
		return nil
	}
	t := &transaction{writer: w, touched: make(map[string]streamHead)}
	if err := t.write(appends, head); err != nil {
		w.drop(err)
		return unwritten(err)
	}
	if err := w.db.exec("COMMIT"); err != nil {
		// In doubt: what this connection believes is dropped, and the next
		// commit reads from the disk where the log ends.
		w.forget()
		return uncertain(err)
	}
	w.head = head
	maps.Copy(w.streams, t.touched)
	w.standing.learn(w.streams, appends)
	w.copier.grew(t.bytes)
	return nil
}

// ready opens the connection where there is none, and finishes what the copier
// has left over.
func (w *writer) ready() error {
	if w.db == nil {
		c, err := connect(w.path, w.set, cache)
		if err != nil {
			return err
		}
		w.db = &conn{c}
	}
	if w.streams == nil || len(w.streams) > remembered {
		w.streams = make(map[string]streamHead)
		w.standing.forget()
	}
	w.copier.finish(w.db)
	return nil
}

// Abandon ends a transaction that leaves nothing. SQLite may have ended it
// already; a connection that cannot is given up.
func (w *writer) Abandon() {
	if w.db != nil && !w.db.AutocommitEnabled() && w.db.exec("ROLLBACK") != nil {
		w.forget()
	}
}

// drop ends a transaction that failed. A connection that fails for a reason of
// its own is given up: one that SQLite could only open for reading, say, stays
// like that for ever, and the next may not.
func (w *writer) drop(err error) {
	switch code(err) {
	case sqlite.ResultBusy, sqlite.ResultLocked, sqlite.ResultFull, sqlite.ResultTooBig, sqlite.ResultConstraint:
		w.Abandon()
	default:
		w.forget()
	}
}

// forget gives the connection up, and all that it told. Why is being answered
// already; what closing says adds nothing.
func (w *writer) forget() {
	_ = w.hangUp()
	w.streams = nil
	w.standing.forget()
}

// Close lets go of the file.
func (w *writer) Close() error { return joined(w.copier.stop(), w.hangUp()) }

func (w *writer) hangUp() error {
	if w.db == nil {
		return nil
	}
	c := w.db
	w.db = nil
	return c.Close()
}
