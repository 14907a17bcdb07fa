package sqlite

import (
	"sync/atomic"

	"zombiezen.com/go/sqlite"
)

const (
	// full is the length of the WAL, in pages of 4 KiB, from which on it is
	// copied back into the file: 32 MiB. Copying holds the disk for a few
	// commits; at 8 MiB that was so often that it was one append in a hundred,
	// from 64 MiB on a WAL that is read costs more than it saves.
	full = 8192
	// The copier looks at the length after so many commits, or bytes.
	lookCommits = 32
	lookBytes   = 1 << 20
)

// copier copies the WAL back into the file on a connection of its own, so that
// appends need not wait for it. It blocks nobody (a PASSIVE checkpoint) and
// never shortens the WAL file, which costs less to write again than to grow.
type copier struct {
	wake chan struct{}
	quit chan struct{}
	done chan error
	rest atomic.Bool // copied; the writer is to finish what came meanwhile

	commits, bytes int // since it was last woken; the writer's
}

func startCopier(path string, set settings) (*copier, error) {
	db, err := connect(path, set)
	if err != nil {
		return nil, err
	}
	c := &copier{wake: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan error, 1)}
	go c.run(&conn{db})
	return c, nil
}

func (c *copier) run(db *conn) {
	for {
		select {
		case <-c.quit:
			c.done <- db.Close()
			return
		case <-c.wake:
			c.copy(db)
		}
	}
}

// copy copies back what there is once the WAL is full. A failure loses
// nothing, since the WAL keeps what was not copied: the next wake tries again,
// and a disk that stays broken is told to whoever appends.
func (c *copier) copy(db *conn) {
	if pages, err := checkpoint(db, "NOOP"); err != nil || pages < full {
		return
	}
	if _, err := checkpoint(db, "PASSIVE"); err == nil {
		c.rest.Store(true)
	}
}

// checkpoint does one, and returns the length of the WAL in pages.
func checkpoint(db *conn, mode string) (pages int, err error) {
	err = db.query("PRAGMA wal_checkpoint("+mode+")", func(s *sqlite.Stmt) error {
		pages = s.ColumnInt(1)
		return nil
	})
	return pages, err
}

// grew tells the copier that a commit wrote so many bytes. It is called by the
// writer only.
func (c *copier) grew(bytes int) {
	c.commits++
	c.bytes += bytes
	if c.commits < lookCommits && c.bytes < lookBytes {
		return
	}
	c.commits, c.bytes = 0, 0
	select {
	case c.wake <- struct{}{}:
	default: // it is about to look anyway
	}
}

// finish copies, on the writer's connection and between its commits, the few
// pages that were written while the copier was at work: only a WAL copied to
// its end starts over. As for copy, a failure loses nothing.
func (c *copier) finish(db *conn) {
	if c.rest.CompareAndSwap(true, false) {
		_, _ = checkpoint(db, "PASSIVE")
	}
}

func (c *copier) stop() error {
	close(c.quit)
	return <-c.done
}
