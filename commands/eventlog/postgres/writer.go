package postgres

import (
	"context"
	"crypto/sha256"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"assent/commands"
	"assent/commands/eventlog/chain"
	"assent/commands/eventlog/committer"
	"assent/commands/eventlog/internal/admit"
	"assent/domain"
)

const (
	// remembered is how many streams a writer knows by heart at most.
	remembered = 1 << 16
	// far is how many events a writer can be behind and still catch up on what
	// it remembers instead of forgetting it.
	far = 1 << 14
	// wary is for how many commits a writer takes the head row first once others
	// have written.
	wary = 16
)

// writer is the only one in this process that writes: the committer's backend.
type writer struct {
	config  *pgx.ConnConfig
	set     settings
	db      *pgx.Conn             // nil: to be opened before the next commit
	proven  bool                  // the connection has answered since it was opened
	last    time.Time             // when it did
	head    commands.Head         // committed, as far as this process knows
	streams map[string]streamHead // as of head, or later: then head is not the log's end
	holding bool                  // in a transaction that holds the head row
	crowded int                   // for how many more commits others are expected to write too
}

// streamHead is a stream as the tables know it.
type streamHead struct {
	id      int64 // 0: nobody wrote to it
	version domain.Version
}

var _ committer.Backend = (*writer)(nil)

// asking is the context of what is asked of the server in one step, which has
// to be answered in time: the connection's own deadline sees to that. A
// context's would take a goroutine and two switches a question.
func (w *writer) asking() (context.Context, error) {
	return context.Background(), w.db.PgConn().Conn().SetDeadline(time.Now().Add(w.set.answer))
}

// Begin connects where there is no connection, and learns of streams it does
// not know. While others write too it holds the head row from the start: a
// statement that misses would only cost time.
func (w *writer) Begin(streams []string) (commands.Head, error) {
	err := w.begin(streams)
	if err != nil && w.lapsed(err) {
		w.forget()
		err = w.begin(streams)
	}
	if err != nil {
		w.forget()
		return commands.Head{}, unwritten(err)
	}
	return w.head, nil
}

func (w *writer) begin(streams []string) error {
	if err := w.ready(); err != nil {
		return err
	}
	return w.prepare(streams)
}

// lapsed says that nothing was asked because the connection, which had been
// good, was gone: the server may have been started again since.
func (w *writer) lapsed(err error) bool { return w.proven && pgconn.SafeToRetry(err) }

func (w *writer) prepare(streams []string) error {
	ctx, err := w.asking()
	if err != nil {
		return err
	}
	if w.crowded > 0 && !w.holding {
		if err := w.hold(ctx, w.unknown(streams)); err != nil {
			return err
		}
	}
	names := w.unknown(streams)
	if names == nil {
		return nil
	}
	asked := new(pgx.Batch)
	w.learn(asked, names)
	return w.db.SendBatch(ctx, asked).Close()
}

// ready connects where there is no connection.
func (w *writer) ready() (err error) {
	if len(w.streams) > remembered {
		w.streams = nil
	}
	if w.db != nil && w.proven && time.Since(w.last) > w.set.trust {
		ctx, err := w.asking()
		if err != nil || w.db.Ping(ctx) != nil {
			w.forget() // the server ended it while nobody asked anything
		}
	}
	if w.db != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), w.set.answer)
	defer cancel()
	if w.db, err = connect(ctx, w.config); err != nil {
		return err
	}
	// What a writer asks has one good plan; looking for another each time would
	// take as long as writing.
	if _, err := w.db.Exec(ctx, "SET plan_cache_mode = force_generic_plan"); err != nil {
		return err
	}
	return w.catchUp(ctx, new(pgx.Batch), "", nil)
}

// unknown are those of streams of which the writer does not know where they
// are.
func (w *writer) unknown(streams []string) (names []string) {
	for _, name := range streams {
		if _, known := w.streams[name]; !known {
			names = append(names, name)
		}
	}
	return names
}

// learn asks where streams are.
func (w *writer) learn(asked *pgx.Batch, names []string) {
	digests := make([][]byte, len(names))
	for i, name := range names {
		sum := sha256.Sum256([]byte(name))
		digests[i] = sum[:]
	}
	asked.Queue(`SELECT name, id, (SELECT coalesce(max(version), 0) FROM events WHERE stream = streams.id)
		FROM streams WHERE sha256(name) = ANY ($1)`, digests).Query(func(rows pgx.Rows) error {
		if w.streams == nil {
			w.streams = make(map[string]streamHead)
		}
		for _, name := range names {
			w.streams[name] = streamHead{} // unless there is one
		}
		return collect(rows, w.streams)
	})
}

// collect reads where streams are.
func collect(rows pgx.Rows, streams map[string]streamHead) error {
	var name []byte
	var at streamHead
	_, err := pgx.ForEachRow(rows, []any{&name, &at.id, &at.version}, func() error {
		streams[string(name)] = at
		return nil
	})
	return err
}

// catchUp reads where the log ends, and all streams that moved since it ended
// where this writer knew, and learns of others. What it knew to be committed
// must still stand. All of it is one trip, with what was asked before: each
// question sees what is there when its turn comes.
func (w *writer) catchUp(ctx context.Context, asked *pgx.Batch, lock string, names []string) error {
	known, head, link := w.head, commands.Head{}, [32]byte{}
	moved := make(map[string]streamHead)
	asked.Queue(selectHead + lock).QueryRow(func(row pgx.Row) (err error) {
		head, err = headOf(row)
		return err
	})
	asked.Queue(selectLink, int64(known.Position)).Query(func(rows pgx.Rows) (err error) {
		link, err = linkOf(rows)
		return err
	})
	asked.Queue(`SELECT s.name, s.id, e.version FROM streams s JOIN
		(SELECT stream, max(version) AS version FROM events WHERE position > $1 AND position <= $2 GROUP BY stream) e ON e.stream = s.id`,
		int64(known.Position), int64(known.Position+far)).Query(func(rows pgx.Rows) error { return collect(rows, moved) })
	if names != nil {
		w.learn(asked, names)
	}
	err := w.db.SendBatch(ctx, asked).Close()
	switch {
	case err != nil:
		return err
	case link != known.Chain:
		return &chain.Broken{Position: max(known.Position, 1), What: "an event that was committed is no longer there"}
	case head.Position-known.Position > far:
		w.streams = nil
	case w.streams != nil:
		maps.Copy(w.streams, moved)
	}
	if head != known {
		w.crowded = wary
	}
	w.head = head
	return nil
}

// Version is where a stream is.
func (w *writer) Version(stream string) (domain.Version, error) {
	return w.streams[stream].version, nil
}

// Rows are at most limit events of a stream after a version.
func (w *writer) Rows(stream string, after domain.Version, limit int) ([]chain.Row, error) {
	ctx, err := w.asking()
	if err != nil {
		return nil, unwritten(err)
	}
	rows, err := streamRows(ctx, w.db, stream, after, limit)
	if err != nil {
		return nil, unwritten(err)
	}
	return rows, nil
}

// Commit writes appends and moves the head row from where the writer knows it
// to be. If it is elsewhere, nothing is written, and the writer holds it from
// there on and has caught up.
func (w *writer) Commit(appends []*admit.Append, head commands.Head) error {
	hit := false
	ctx, err := w.asking()
	if err == nil {
		hit, err = w.put(ctx, appends, head)
	}
	switch {
	case err != nil && w.lapsed(err):
		w.forget()
		w.crowded = 1 // so that the next Begin holds the head row
		return committer.ErrMoved
	case err != nil:
		err = uncertain(err)
	case !hit:
		if err = w.hold(ctx, nil); err == nil {
			return committer.ErrMoved
		}
		err = unwritten(err)
	}
	if err != nil {
		w.forget()
		return err
	}
	w.last = time.Now()
	w.proven, w.holding, w.head, w.crowded = true, false, head, max(w.crowded-1, 0)
	w.wrote(appends)
	return nil
}

// put is the one statement that writes, or, with nothing to write, asks whether
// the head row is where the writer knows it to be. A transaction that holds the
// row ends with it, in the same trip.
func (w *writer) put(ctx context.Context, appends []*admit.Append, head commands.Head) (hit bool, err error) {
	if len(appends) == 0 {
		return w.stands(ctx)
	}
	query, args := w.columns(appends).statement(w.head, head)
	if !w.holding {
		tag, err := w.db.Exec(ctx, query, args...)
		return tag.RowsAffected() > 0, err
	}
	asked := new(pgx.Batch)
	asked.Queue(query, args...).Exec(func(tag pgconn.CommandTag) error {
		hit = tag.RowsAffected() > 0
		return nil
	})
	asked.Queue("COMMIT")
	err = w.db.SendBatch(ctx, asked).Close()
	return hit, err
}

// stands says whether the head row is where the writer knows it to be. A
// transaction that holds it ends.
func (w *writer) stands(ctx context.Context) (stands bool, err error) {
	asked := new(pgx.Batch)
	asked.Queue("SELECT position = $1 AND chain = $2 FROM head", int64(w.head.Position), w.head.Chain[:]).
		QueryRow(func(row pgx.Row) error { return row.Scan(&stands) })
	if w.holding {
		asked.Queue("COMMIT")
	}
	err = w.db.SendBatch(ctx, asked).Close()
	return stands, err
}

// hold takes the head row for this writer alone, catches up with it and learns
// of streams.
func (w *writer) hold(ctx context.Context, names []string) error {
	if w.holding {
		return &chain.Broken{Position: w.head.Position, What: "the log's end moved while it was held"}
	}
	w.holding = true
	asked := new(pgx.Batch)
	asked.Queue("BEGIN")
	return w.catchUp(ctx, asked, " FOR UPDATE", names)
}

// wrote takes over where the streams of committed appends are now.
func (w *writer) wrote(appends []*admit.Append) {
	for _, a := range appends {
		for _, write := range a.Writes {
			if n := len(write.Rows); n > 0 {
				at := w.streams[write.Name]
				if at.id == 0 {
					at.id = int64(write.Rows[0].Position)
				}
				at.version = write.Rows[n-1].Version
				w.streams[write.Name] = at
			}
		}
	}
}

// Abandon ends what Begin has begun.
func (w *writer) Abandon() { w.forget() }

// forget gives the connection up, and all that it told but what is committed:
// the next Begin reads where the log ends. Why is being answered already; what
// closing says adds nothing.
func (w *writer) forget() {
	_ = w.Close()
	w.streams, w.proven, w.holding, w.crowded = nil, false, false, 0
}

// Close lets go of the connection.
func (w *writer) Close() error {
	if w.db == nil {
		return nil
	}
	c := w.db
	w.db = nil
	return hangUp(c)
}
