package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// channel is where instances tell one another that the log has moved on.
	// It belongs to the whole database: logs in other schemas wake each other in
	// vain, which costs them a look.
	channel = "assent_log"
	// look is how often an instance looks by itself: a message can be lost with
	// the process that was to send it.
	look = time.Second
	// quiet is how long an instance says nothing after it has spoken: the next
	// word stands for all that came meanwhile. It is not part of an append,
	// since PostgreSQL commits transactions that notify one after another.
	quiet = 10 * time.Millisecond
	// ears is the advisory lock that all who listen share.
	ears = making + 1
	// listening takes it, and says who did.
	listening = "SELECT pg_backend_pid() FROM pg_advisory_lock_shared($1)"
	// speak says a word if another than $3 listens. It is a transaction of its
	// own, which need not be on the disk before it is heard: appends would wait
	// for their turn there.
	speak = `SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, '')
		WHERE EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND classid = 0 AND objid = $2 AND objsubid = 1 AND pid <> $3
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`
)

// listen keeps the tail where the log ends, until Close, once somebody waits
// for it to move.
func (l *Log) listen() {
	select {
	case <-l.attended:
	case <-l.life.Done():
	}
	for l.life.Err() == nil {
		l.hear()
		l.pause(look)
	}
}

// hear listens on one connection until it is lost. Followers that wait need
// nothing but to be woken, so a server that is away is not told to them: who
// reads or appends hears of it.
func (l *Log) hear() {
	c, err := connect(l.life, l.config)
	if err != nil {
		return
	}
	defer func() { _ = hangUp(c) }()
	// Whoever appends before this is heard of need not speak: what was written
	// is there to be seen by then.
	var pid int32
	if err := c.QueryRow(l.life, listening, int64(ears)).Scan(&pid); err != nil {
		return
	}
	if _, err := c.Exec(l.life, "LISTEN "+channel); err != nil {
		return
	}
	l.ear.Store(pid)
	defer l.ear.Store(0)
	for {
		if err := l.look(c); err != nil {
			return
		}
		waiting, cancel := context.WithTimeout(l.life, look)
		_, err := c.WaitForNotification(waiting)
		late := waiting.Err() != nil
		cancel()
		if err != nil && !late || c.IsClosed() || l.life.Err() != nil {
			return
		}
	}
}

// look moves the tail to where the log ends now.
func (l *Log) look(c *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(l.life, readFor)
	defer cancel()
	head, err := headOf(c.QueryRow(ctx, selectHead))
	if err == nil {
		l.advance(head)
	}
	return err
}

// notify tells other instances of commits, until Close, where there are any.
// What fails is made up for by their looking.
func (l *Log) notify() {
	for {
		select {
		case <-l.wrote:
		case <-l.life.Done():
			return
		}
		_, _ = l.reads.Exec(l.life, speak, channel, uint32(ears), l.ear.Load())
		l.pause(quiet)
	}
}

// pause returns after a while, or when the log is closed.
func (l *Log) pause(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-l.life.Done():
	}
}
