package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"assent/commands"
	"assent/commands/eventlog/chain"
	"assent/commands/eventlog/internal/admit"
	"assent/commands/eventlog/internal/figures"
	"assent/commands/eventlog/internal/tail"
	"assent/commands/eventlog/postgres/pgtest"
	"assent/domain"
)

const crowd = 64 // writers at once

// BenchmarkLone is an append with nobody beside it, against what it cannot do
// without: one statement that writes the same event and the head's row.
func BenchmarkLone(b *testing.B) {
	g := readGoldens(b)
	figures.Pairs(b, "lone/raw", figures.AtMost(1.05, 1.1), func() float64 {
		l, c := openAt(b, made(b), time.Now), bare(b)
		rows := rowsOfGoldens(b, g, 4096)
		// One by one in turns, so that whatever else goes on slows both alike.
		var ours, raw []time.Duration
		for i := range 2000 {
			write := g.one(0, i)
			began := time.Now()
			if _, err := l.Append(b.Context(), write); err != nil {
				b.Fatal(err)
			}
			turn := time.Now()
			if err := c.write(b.Context(), rows, 1); err != nil {
				b.Fatal(err)
			}
			ours, raw = append(ours, turn.Sub(began)), append(raw, time.Since(turn))
		}
		b.Logf("lone p50 %v, raw two-row commit p50 %v", figures.Median(ours), figures.Median(raw))
		return float64(figures.Median(ours)) / float64(figures.Median(raw))
	})
}

// BenchmarkCrowd is 64 writers, each with streams of its own, against the same
// rows, as many a commit, unnested by one connection.
func BenchmarkCrowd(b *testing.B) {
	g := readGoldens(b)
	var tails []float64
	figures.Pairs(b, "crowd/raw", figures.AtLeast(0.80, 0.60), func() float64 {
		l, c := openAt(b, made(b), time.Now), bare(b)
		rows := rowsOfGoldens(b, g, 1<<16)
		var ours, raw float64
		var took []time.Duration
		for part := range 10 { // in turns, as above
			n, each := figures.Load(b, crowd, 100*time.Millisecond, func(w, i int) error { return appendOwn(b, l, g)(part*crowd+w, i) })
			ours, took = ours+n/10, append(took, each...)
			n, _ = figures.Load(b, 1, 100*time.Millisecond, func(int, int) error { return c.write(b.Context(), rows, crowd) })
			raw += n * crowd / 10
		}
		tails = append(tails, float64(figures.Quantile(took, 0.99))/float64(figures.Median(took)))
		b.Logf("64 writers %.0f/s (p50 %v, p99 %v), raw %.0f/s", ours, figures.Median(took), figures.Quantile(took, 0.99), raw)
		return ours / raw
	})
	figures.AtMost(3, 6).Report(b, "crowd-p99/p50", figures.Median(tails))
}

// BenchmarkHot is 64 writers who all want one stream, each taking the version
// that its conflict names, against the same writers with streams of their own.
func BenchmarkHot(b *testing.B) {
	g := readGoldens(b)
	figures.Pairs(b, "hot/spread", figures.AtLeast(0.8, 0.5), func() float64 {
		l := openAt(b, made(b), time.Now)
		spread, _ := figures.Load(b, crowd, time.Second, appendOwn(b, l, g))
		var conflicts atomic.Int64
		at := make([]domain.Version, crowd)
		hot, _ := figures.Load(b, crowd, time.Second, func(w, i int) error {
			write := g.one(w, i)
			write.Stream.ID = "hot"
			for {
				write.Expect = at[w]
				_, err := l.Append(b.Context(), write)
				lost, moved := errors.AsType[*commands.Conflict](err)
				if !moved {
					at[w]++
					return err
				}
				at[w] = lost.Actual
				conflicts.Add(1)
			}
		})
		b.Logf("64 streams %.0f/s, one stream %.0f/s, %d conflicts", spread, hot, conflicts.Load())
		return hot / spread
	})
}

// BenchmarkHotRead is 64 writers who all want one stream, each reading where it
// is before it tries again, as a decision does. What is read is durable, so at
// most one append a commit gets through, and the others read once more: the
// limit is a 64th of what the same 64 can read of a stream nobody writes to.
func BenchmarkHotRead(b *testing.B) {
	g := readGoldens(b)
	figures.Pairs(b, "hot-read/reads", figures.AtLeast(0.6, 0.3), func() float64 {
		l := openAt(b, made(b), time.Now)
		still := g.one(0, 0)
		if _, err := l.Append(b.Context(), still); err != nil {
			b.Fatal(err)
		}
		reads, _ := figures.Load(b, crowd, time.Second, func(int, int) error {
			_, err := l.ReadStream(b.Context(), still.Stream, 0)
			return err
		})
		at := make([]domain.Version, crowd)
		hot, _ := figures.Load(b, crowd, time.Second, func(w, i int) error {
			write := g.one(w, i)
			write.Stream.ID = "hot"
			for {
				recs, err := l.ReadStream(b.Context(), write.Stream, at[w])
				if err != nil {
					return err
				}
				if n := len(recs); n > 0 {
					at[w] = recs[n-1].Version
				}
				write.Expect = at[w]
				if _, err = l.Append(b.Context(), write); err == nil {
					return nil
				}
				if _, moved := errors.AsType[*commands.Conflict](err); !moved {
					return err
				}
			}
		})
		b.Logf("reads %.0f/s, one stream read and written by 64 writers %.0f/s", reads, hot)
		return hot * crowd / reads
	})
}

// BenchmarkInstances is two busy processes against one, each with 64 writers;
// the same where all of them want one stream; and, for what it says of a load
// that does not grow, the 64 writers of one shared by two.
func BenchmarkInstances(b *testing.B) {
	var storms, shares []float64
	figures.Pairs(b, "two/one", figures.AtLeast(0.8, 0.6), func() float64 {
		one, two := instances(b, 1, crowd, "own"), instances(b, 2, crowd, "own")
		stormOne, stormTwo := instances(b, 1, crowd, "hot"), instances(b, 2, crowd, "hot")
		shared := instances(b, 2, crowd/2, "own")
		storms, shares = append(storms, stormTwo/stormOne), append(shares, shared/one)
		b.Logf("one process %.0f/s, two %.0f/s; in a storm %.0f/s, %.0f/s; one's writers shared by two %.0f/s", one, two, stormOne, stormTwo, shared)
		return two / one
	})
	figures.AtLeast(0.4, 0.08).Report(b, "storm-two/one", figures.Median(storms)) // all 128 lose to somebody they cannot know of
	figures.AtLeast(0.6, 0.4).Report(b, "shared-two/one", figures.Median(shares))
}

// BenchmarkSlowDisk is 64 writers against one, with a millisecond more for
// every time that the server writes to its disk.
func BenchmarkSlowDisk(b *testing.B) {
	g := readGoldens(b)
	lib := slowsync(b)
	figures.Pairs(b, "slow-64/1", figures.AtLeast(35, 18), func() float64 {
		b.Setenv("LD_PRELOAD", lib)
		cluster := pgtest.Start(b)
		if err := os.Unsetenv("LD_PRELOAD"); err != nil {
			b.Fatal(err)
		}
		l := openAt(b, cluster.Database(b), time.Now)
		one, _ := figures.Load(b, 1, time.Second, appendOwn(b, l, g))
		many, took := figures.Load(b, crowd, time.Second, func(w, i int) error { return appendOwn(b, l, g)(w+1, i) })
		b.Logf("one writer %.0f/s, 64 writers %.0f/s (p50 %v)", one, many, figures.Median(took))
		return many / one
	})
}

// BenchmarkScan reads a whole log, in the bytes stored, against COPY.
func BenchmarkScan(b *testing.B) {
	const events = 100_000
	g := readGoldens(b)
	l := filled(b, g, events)
	c, err := pgx.ConnectConfig(b.Context(), l.config)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close(context.Background())
	for rows := range tail.Pages(b.Context(), 0, 1000, l.allRows, func(r chain.Row) domain.Position { return r.Position }) {
		_ = rows // both sides find the tables in memory
	}
	figures.Pairs(b, "scan/COPY", figures.AtLeast(0.90, 0.70), func() float64 {
		began := time.Now()
		n := 0
		for rows, err := range tail.Pages(b.Context(), 0, 1000, l.allRows, func(r chain.Row) domain.Position { return r.Position }) {
			if err != nil {
				b.Fatal(err)
			}
			n += len(rows)
		}
		if n != events {
			b.Fatalf("%d events", n)
		}
		ours := events / time.Since(began).Seconds()
		began = time.Now()
		if _, err := c.PgConn().CopyTo(b.Context(), io.Discard, "COPY events TO STDOUT (FORMAT binary)"); err != nil {
			b.Fatal(err)
		}
		bare := events / time.Since(began).Seconds()
		b.Logf("scan %.0f/s, COPY %.0f/s", ours, bare)
		return ours / bare
	})
}

// BenchmarkVerify checks a whole log, hashes included.
func BenchmarkVerify(b *testing.B) {
	const events = 20_000
	l := filled(b, readGoldens(b), events)
	for b.Loop() {
		if err := l.Verify(b.Context(), nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(events*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// appendOwn appends to streams of the writer's own.
func appendOwn(b testing.TB, l commands.Log, g goldens) func(writer, i int) error {
	return func(w, i int) error {
		_, err := l.Append(b.Context(), g.one(w, i))
		return err
	}
}

// filled is a log of so many events, in streams of 100.
func filled(b *testing.B, g goldens, events int) *Log {
	b.Helper()
	l := openAt(b, made(b), time.Now)
	for i := 0; i < events; i += perStream {
		w := g.one(0, i)
		for j := 1; j < perStream; j++ {
			w.Events = append(w.Events, g.one(0, i+j).Events...)
		}
		if _, err := l.Append(b.Context(), w); err != nil {
			b.Fatal(err)
		}
	}
	return l
}

// raw writes the rows of a log without asking anything: nothing is checked,
// and nothing hashed.
type raw struct {
	*pgx.Conn
	at int64
}

func bare(b *testing.B) *raw {
	b.Helper()
	where := made(b)
	openAt(b, where, time.Now)
	c, err := pgx.Connect(b.Context(), where)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close(context.Background()) })
	if _, err := c.Exec(b.Context(), "SET plan_cache_mode = force_generic_plan"); err != nil {
		b.Fatal(err)
	}
	return &raw{Conn: c}
}

// write commits the next n of the rows and the head's row with one statement.
func (c *raw) write(ctx context.Context, rows []chain.Row, n int) error {
	head := c.at + int64(n)
	if n == 1 {
		r := &rows[c.at%int64(len(rows))]
		c.at++
		_, err := c.Exec(ctx, `WITH head AS (UPDATE head SET position = $1, recorded_at = $7, chain = $10)
			INSERT INTO events VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
			c.at, c.at/perStream, c.at%perStream, []byte(r.ID), r.Word, int64(r.Revision), time.Now().UnixNano(), r.Text, []byte(r.Data), r.Link[:])
		return err
	}
	cols := new(columns)
	for range n { // to as many streams in turn as writers have
		turn := c.at / int64(n)
		stream := c.at%int64(n) + turn/perStream*int64(n)
		r := rows[c.at%int64(len(rows))]
		c.at++
		r.Position, r.Version = domain.Position(c.at), domain.Version(turn%perStream)
		cols.add(stream, &r)
	}
	_, err := c.Exec(ctx, `WITH head AS (UPDATE head SET position = $1)
		INSERT INTO events SELECT * FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[], $6::text[], $7::bigint[], $8::bigint[], $9::bytea[], $10::bytea[], $11::bytea[])`,
		head, cols.position, cols.stream, cols.version, cols.id, cols.word, cols.revision, cols.recorded, cols.envelope, cols.data, cols.link)
	return err
}

// rowsOfGoldens are n rows in the bytes that a log keeps.
func rowsOfGoldens(b *testing.B, g goldens, n int) []chain.Row {
	b.Helper()
	rows := make([]chain.Row, 0, n)
	for i := range n {
		a, err := admit.Encode([]commands.Write{g.one(0, i)})
		if err != nil {
			b.Fatal(err)
		}
		rows = append(rows, a.Writes[0].Rows...)
	}
	return rows
}

// slowsync makes every fsync of whoever it is preloaded to take a millisecond
// longer.
func slowsync(b *testing.B) string {
	b.Helper()
	dir, err := os.MkdirTemp("", "slowsync") // b.TempDir is for this user only, and the server is another's
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	lib := filepath.Join(dir, "slowsync.so")
	if out, err := exec.CommandContext(b.Context(), "cc", "-O2", "-shared", "-fPIC", "testdata/slowsync.c", "-o", lib, "-ldl").CombinedOutput(); err != nil {
		b.Skipf("needs a C compiler: %v %s", err, out)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		b.Fatal(err)
	}
	return lib
}

// instances is how much so many processes append to a new log together, each
// with so many writers.
func instances(b *testing.B, n, writers int, streams string) (perSecond float64) {
	b.Helper()
	where := made(b)
	var all []*child
	for range n {
		all = append(all, spawn(b, where, fmt.Sprintf("%s %d", streams, writers)))
	}
	began := time.Now()
	appended := 0
	for _, c := range all {
		c.start(b)
	}
	for _, c := range all {
		appended += c.counted(b)
	}
	return float64(appended) / time.Since(began).Seconds()
}
