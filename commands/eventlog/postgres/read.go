package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"assent/commands"
	"assent/commands/eventlog/chain"
	"assent/domain"
)

// readFor is how long one read may take before the server counts as gone.
const readFor = 30 * time.Second

// ReadStream gives a stream's events after a version.
func (l *Log) ReadStream(ctx context.Context, stream domain.Stream, after domain.Version) ([]domain.Record, error) {
	return l.records(ctx, func(ctx context.Context) ([]chain.Row, error) {
		return streamRows(ctx, l.reads, stream.String(), after, -1)
	})
}

// ReadAll gives at most limit events after a position.
func (l *Log) ReadAll(ctx context.Context, after domain.Position, limit int) ([]domain.Record, error) {
	return l.records(ctx, func(ctx context.Context) ([]chain.Row, error) {
		return l.allRows(ctx, after, limit)
	})
}

func (l *Log) records(ctx context.Context, get func(context.Context) ([]chain.Row, error)) ([]domain.Record, error) {
	var rows []chain.Row
	err := l.read(ctx, func(ctx context.Context) (err error) {
		rows, err = get(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	return chain.Open(rows)
}

// Atomic is true: all of an append or nothing, and its checks hold as it is
// written.
func (l *Log) Atomic() bool { return true }

// Head is the last event's place, whichever process appended it.
func (l *Log) Head(ctx context.Context) (head commands.Head, err error) {
	err = l.read(ctx, func(ctx context.Context) (err error) {
		head, err = headOf(l.reads.QueryRow(ctx, selectHead))
		return err
	})
	if err == nil {
		l.advance(head)
	}
	return head, err
}

// read asks something that changes nothing.
func (l *Log) read(ctx context.Context, do func(context.Context) error) error {
	if err := l.alive(ctx); err != nil {
		return err
	}
	if l.writer != nil {
		if err := l.writer.Settle(ctx); err != nil {
			return err
		}
	}
	asking, cancel := context.WithTimeout(ctx, readFor)
	defer cancel()
	defer context.AfterFunc(l.life, cancel)()
	err := do(asking)
	if ended(err) { // the server took away a connection that stood ready: the others with it, or soon
		l.reads.Reset()
		err = do(asking)
	}
	if err == nil {
		return nil
	}
	// Ending the context or closing the log interrupts a read: that says what
	// happened, the driver's own words do not.
	if gone := l.alive(ctx); gone != nil {
		return gone
	}
	if broken, ok := errors.AsType[*chain.Broken](err); ok {
		return broken
	}
	return fmt.Errorf("reading the log: %w", sentence(err))
}

// Verify reads the whole log as it is now, in the bytes stored, and checks it
// as chain.Verify does. Progress, unless nil, hears from time to time how many
// events of how many are done.
func (l *Log) Verify(ctx context.Context, progress func(done, total domain.Position)) error {
	_, err := chain.Verify(ctx, l.Stored(), chain.Mark{}, progress)
	return err
}

// checkedHead reads the head row and, in the same glance, sees that the last
// event agrees with it.
func (l *Log) checkedHead(ctx context.Context) (head commands.Head, err error) {
	err = l.read(ctx, func(ctx context.Context) error {
		var last domain.Position
		var at, lastAt int64
		var link, stored []byte
		err := l.reads.QueryRow(ctx, `SELECT h.position, h.recorded_at, h.chain, coalesce(e.position, 0), coalesce(e.link, decode(repeat('00', 32), 'hex')), coalesce(e.recorded_at, 0)
			FROM head h LEFT JOIN (SELECT position, link, recorded_at FROM events ORDER BY position DESC LIMIT 1) e ON true`).
			Scan(&head.Position, &at, &link, &last, &stored, &lastAt)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return chain.NoHead("the head row is missing")
		case err != nil:
			return fmt.Errorf("the head row: %w", err)
		}
		if head.Position > 0 {
			head.At = chain.Time(at)
		}
		if head.Chain, err = hash(link); err != nil {
			return chain.NoHead("the head row holds " + err.Error())
		}
		if last != head.Position {
			return &chain.Broken{
				Position: min(last, head.Position) + 1,
				What:     fmt.Sprintf("the log's head is at %d, its last event at %d", head.Position, last),
			}
		}
		if kept, err := hash(stored); err != nil || kept != head.Chain {
			return errors.Join(err, &chain.Broken{Position: last, What: "the log's head holds another hash than its last event"})
		}
		// Log time never runs backwards, so a head of next year would be the time
		// of everything until then.
		if last > 0 && at != lastAt {
			return &chain.Broken{Position: last, What: "the log's head holds another time than its last event"}
		}
		return nil
	})
	return head, err
}
