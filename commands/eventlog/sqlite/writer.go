package sqlite

import (
	"maps"
	"time"

	"assent/commands"
	"assent/commands/eventlog/internal/admit"
	"assent/domain"
)

// remembered is how many streams a writer knows by heart at most.
const remembered = 1 << 16

// request is one append on its way through a commit, and then its answer.
type request struct {
	append  *admit.Append
	receipt commands.Receipt
	err     error
}

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

// commit takes requests in order, in one transaction: each is checked against
// what stands before it, those that cannot be are answered alone, and the rest
// is written together. Every request has its answer when it returns.
//
// An answer may rest on a request before it in the same commit, so all of them
// count only when the commit does.
func (w *writer) commit(now time.Time, requests []*request) {
	if err := w.ready(); err != nil {
		fail(requests, unwritten(err))
		return
	}
	t := &transaction{writer: w, touched: make(map[string]streamHead)}
	if err := t.run(now, requests); err != nil {
		w.rollback()
		fail(requests, unwritten(err))
		return
	}
	if t.head == w.head {
		w.rollback()
		return
	}
	if err := w.db.exec("COMMIT"); err != nil {
		// In doubt: what this connection believes is dropped, and the next
		// commit reads from the disk where the log ends.
		w.forget()
		fail(requests, uncertain(err))
		return
	}
	w.head = t.head
	maps.Copy(w.streams, t.touched)
	w.standing.learn(w.streams, requests)
	w.copier.grew(t.bytes)
}

// fail gives all requests the same error.
func fail(requests []*request, err error) {
	for _, r := range requests {
		r.receipt, r.err = commands.Receipt{}, err
	}
}

// ready opens the connection where there is none, and finishes what the copier
// has left over.
func (w *writer) ready() error {
	if w.db == nil {
		c, err := connect(w.path, w.set, "cache_size=-65536")
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

// rollback ends a transaction that leaves nothing. SQLite may have ended it
// already; a connection that cannot is given up.
func (w *writer) rollback() {
	if !w.db.AutocommitEnabled() && w.db.exec("ROLLBACK") != nil {
		w.forget()
	}
}

// forget gives the connection up, and all that it told. Why is being answered
// already; what closing says adds nothing.
func (w *writer) forget() {
	_ = w.close()
	w.streams = nil
	w.standing.forget()
}

func (w *writer) close() error {
	if w.db == nil {
		return nil
	}
	c := w.db
	w.db = nil
	return c.Close()
}
