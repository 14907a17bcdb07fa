package eventstoredb

import (
	"context"
	"fmt"
	"hash/maphash"
	"time"

	"assent/commands"
	"assent/commands/eventlog/chain"
	"assent/commands/eventlog/committer"
	"assent/commands/eventlog/internal/admit"
	"assent/domain"
)

// Numbered is the log as logs in tables keep theirs: its positions are counted
// from 1 without gaps, and every event has its hash, as a copy of it would.
// Neither is kept on the server. Both are worked out by reading from the first
// event, and again from there whenever a place further back is asked for; so
// the hashes fit by themselves, and what was changed shows only against a hash
// that was kept elsewhere. One goroutine at a time may use it.
type Numbered struct {
	log  *Log
	read counter // how far Rows has come
	end  counter // how far Head has come
}

var _ chain.Reader = (*Numbered)(nil)

// counter is a place in the log, by both countings.
type counter struct {
	walk // by the server's positions
	head commands.Head
}

func fromTheStart() counter {
	return counter{walk: walk{seed: maphash.MakeSeed(), versions: make(map[uint64]domain.Version)}}
}

// OpenNumbered opens the log that a URL leads to for copying it, or into it.
// Errors are as for Open.
func OpenNumbered(ctx context.Context, url string, options ...Option) (*Numbered, error) {
	l, err := Open(ctx, url, time.Now, options...)
	if err != nil {
		return nil, err
	}
	return &Numbered{l, fromTheStart(), fromTheStart()}, nil
}

// Stored is the same log by its own count: a *Numbered, which ends with the
// log.
func (l *Log) Stored() chain.Reader { return &Numbered{l, fromTheStart(), fromTheStart()} }

// Close lets go of the server.
func (n *Numbered) Close() error { return n.log.Close() }

// Head is where the log ends, by its own count.
func (n *Numbered) Head(ctx context.Context) (commands.Head, error) {
	err := n.end.on(ctx, n.log, func(chain.Kept) bool { return true })
	return n.end.head, err
}

// Rows are at most limit rows after a position.
func (n *Numbered) Rows(ctx context.Context, after domain.Position, limit int) (rows []chain.Kept, err error) {
	if after < n.read.head.Position {
		n.read = fromTheStart()
	}
	if limit <= 0 {
		return nil, nil
	}
	bytes := 0
	err = n.read.on(ctx, n.log, func(r chain.Kept) bool {
		if r.Position <= after {
			return true
		}
		rows = append(rows, r)
		bytes += len(r.Text) + len(r.Data)
		return len(rows) < limit && bytes < chain.PageBytes
	})
	return rows, err
}

// on counts on, handing out every row, until do wants no more or the log ends.
func (c *counter) on(ctx context.Context, l *Log, do func(chain.Kept) bool) error {
	return l.scan(ctx, c.at, func(r chain.Row) bool {
		stream := maphash.String(c.seed, r.Stream.String())
		before := c.versions[stream]
		c.versions[stream], c.at = r.Version, r.Position
		r.Position = c.head.Position + 1
		r.Link = chain.Link(c.head.Chain, r.Record, r.Text)
		c.head = commands.Head{Position: r.Position, At: r.At, Chain: r.Link}
		return do(chain.Kept{Row: r, Before: before})
	})
}

// Intact sees that the log is still what was followed: by this process, and
// by whoever kept its bookmark.
func (n *Numbered) Intact(ctx context.Context) error { return n.log.Verify(ctx, nil) }

// loadBytes is how much of one stream is loaded at once.
const loadBytes = 512 << 10

// Load appends rows with their times, which must continue the log by its own
// count, one stream after another in the order of the rows. What was written
// before a failure stays, and is the log's end then. Nobody else may write
// meanwhile: the server keeps no order between streams that could be fenced.
// The error is committer.ErrApart, or as for Append.
func (n *Numbered) Load(ctx context.Context, rows []chain.Row) error {
	head, err := n.Head(ctx)
	if err != nil {
		return err
	}
	w := chain.WalkFrom(chain.MarkOf(head))
	for _, r := range rows {
		if err := w.Next(chain.Kept{Row: r, Before: r.Version - 1}); err != nil { // the server compares versions
			return fmt.Errorf("%w: %w", committer.ErrApart, err)
		}
	}
	for len(rows) > 0 {
		run := together(rows)
		_, amiss, err := n.log.put(context.WithoutCancel(ctx), run, run.Rows[0].At)
		switch {
		case err != nil:
			return err
		case amiss != nil:
			return fmt.Errorf("%w: %w", committer.ErrApart, amiss)
		}
		rows = rows[len(run.Rows):]
	}
	return ctx.Err()
}

// together is what can be written at once of rows: the first ones, of one
// stream and one time.
func together(rows []chain.Row) admit.Write {
	first, bytes, n := rows[0], 0, 0
	for _, r := range rows {
		bytes += len(r.Text) + len(r.Data)
		if n > 0 && (r.Stream != first.Stream || !r.At.Equal(first.At) || bytes > loadBytes) {
			break
		}
		n++
	}
	return admit.Write{Stream: first.Stream, Name: first.Stream.String(), Expect: first.Version - 1, Rows: rows[:n]}
}
