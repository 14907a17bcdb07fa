package projections_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // a driver to look with

	"assent/commands"
	"assent/commands/eventlog/postgres/pgtest"
	"assent/commands/eventlog/sqlite"
	"assent/domain"
	"assent/domain/catalogue"
	"assent/domain/vocab"
	"assent/projections"
)

// journal is a log in memory: all that a runner asks of one.
type journal struct {
	tb    testing.TB
	words *vocab.Vocabulary

	mu       sync.Mutex
	records  []domain.Record
	versions map[domain.Stream]domain.Version
	grown    chan struct{}
}

var start = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

func newJournal(tb testing.TB) *journal {
	tb.Helper()
	words, err := catalogue.Words()
	if err != nil {
		tb.Fatal(err)
	}
	return &journal{tb: tb, words: words, versions: map[domain.Stream]domain.Version{}, grown: make(chan struct{})}
}

// say appends events to a stream under an envelope.
func (j *journal) say(e domain.Envelope, stream domain.Stream, events ...any) domain.Position {
	j.tb.Helper()
	for i, event := range events {
		word, revision, data, err := j.words.Spell(event)
		if err != nil {
			j.tb.Fatal(err)
		}
		if i > 0 {
			e.Question, e.Verdict = nil, nil
		}
		j.write(domain.Fresh{Word: word, Revision: revision, Envelope: e, Data: data}, stream)
	}
	return j.head()
}

func (j *journal) write(f domain.Fresh, stream domain.Stream) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.versions[stream]++
	n := len(j.records) + 1
	f.ID = domain.Derive("evt", stream.String(), fmt.Sprint(j.versions[stream]), string(f.Data))
	j.records = append(j.records, domain.Record{
		Fresh: f, Stream: stream, Version: j.versions[stream], Position: domain.Position(n),
		At: start.Add(time.Duration(n) * time.Minute),
	})
	close(j.grown)
	j.grown = make(chan struct{})
}

func (j *journal) head() domain.Position {
	j.mu.Lock()
	defer j.mu.Unlock()
	return domain.Position(len(j.records))
}

// upTo is the log as it was at a position.
func (j *journal) upTo(p domain.Position) *journal {
	j.mu.Lock()
	defer j.mu.Unlock()
	return &journal{tb: j.tb, words: j.words, records: j.records[:p:p], versions: j.versions, grown: make(chan struct{})}
}

func (j *journal) ReadAll(ctx context.Context, after domain.Position, limit int) ([]domain.Record, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if int(after) >= len(j.records) {
		return nil, ctx.Err()
	}
	rest := j.records[after:]
	return rest[:min(limit, len(rest))], ctx.Err()
}

func (j *journal) ReadStream(ctx context.Context, stream domain.Stream, after domain.Version) (list []domain.Record, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, r := range j.records {
		if r.Stream == stream && r.Version > after {
			list = append(list, r)
		}
	}
	return list, ctx.Err()
}

func (j *journal) Follow(ctx context.Context, after domain.Position) iter.Seq2[domain.Record, error] {
	return func(yield func(domain.Record, error) bool) {
		for {
			j.mu.Lock()
			rest, grown := j.records[min(int(after), len(j.records)):], j.grown
			j.mu.Unlock()
			for _, r := range rest {
				if !yield(r, nil) {
					return
				}
				after = r.Position
			}
			select {
			case <-grown:
			case <-ctx.Done():
				yield(domain.Record{}, ctx.Err())
				return
			}
		}
	}
}

// open opens read models that are closed with the test.
func open(tb testing.TB, where string, more ...projections.Option) *projections.Store {
	tb.Helper()
	s, err := openStore(tb.Context(), where, more...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

func openStore(ctx context.Context, where string, more ...projections.Option) (*projections.Store, error) {
	words, err := catalogue.Words()
	if err != nil {
		return nil, err
	}
	return projections.Open(ctx, where, words, catalogue.Kinds(), func() time.Time { return start }, more...)
}

// copyLog writes a journal into a log in a file, as other processes can read it.
func copyLog(tb testing.TB, j *journal, file string) {
	tb.Helper()
	log, err := sqlite.Open(tb.Context(), file, time.Now)
	if err != nil {
		tb.Fatal(err)
	}
	for _, r := range j.records {
		if _, err := log.Append(tb.Context(), commands.Write{Stream: r.Stream, Expect: r.Version - 1, Events: []domain.Fresh{r.Fresh}}); err != nil {
			tb.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		tb.Fatal(err)
	}
}

// onPostgres says that read models are kept in PostgreSQL: the tests do not
// know where they are kept, and run on both.
const onPostgres = "ASSENT_TEST_READ_ON_POSTGRES"

// fresh is where read models can be kept that are not there yet.
func fresh(tb testing.TB) string {
	tb.Helper()
	if os.Getenv(onPostgres) != "" {
		return pgtest.Database(tb)
	}
	return filepath.Join(tb.TempDir(), "read.db")
}

// TestAllTheSameOnPostgreSQL runs every other test of this package again.
func TestAllTheSameOnPostgreSQL(t *testing.T) {
	if os.Getenv(onPostgres) != "" || os.Getenv(asChild) != "" {
		t.Skip("it is being run")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.count=1", "-test.timeout=10m", fmt.Sprint("-test.short=", testing.Short()))
	cmd.Env = append(os.Environ(), onPostgres+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// run runs the store over the log until the returned function is called; that
// gives what Run ended with.
func run(tb testing.TB, s *projections.Store, log projections.Source) (stop func() error) {
	ctx, cancel := context.WithCancel(tb.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, log) }()
	var once sync.Once
	var err error
	stop = func() error {
		once.Do(func() {
			cancel()
			err = <-ended
		})
		return err
	}
	tb.Cleanup(func() { _ = stop() })
	return stop
}

// folded is a store that has seen the whole log and goes on.
func folded(tb testing.TB, j *journal) *projections.Store {
	tb.Helper()
	s := open(tb, fresh(tb))
	run(tb, s, j)
	see(tb, s, j.head())
	return s
}

func see(tb testing.TB, s *projections.Store, p domain.Position) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), time.Minute)
	defer cancel()
	if err := s.Wait(ctx, p); err != nil {
		tb.Fatal(err)
	}
}

// raw is a connection of its own to a generation's tables.
func raw(tb testing.TB, where string, generation int64) *sql.DB {
	tb.Helper()
	driver := "pgx"
	if !strings.HasPrefix(where, "postgres:") {
		driver, where = "sqlite", fmt.Sprintf("%s-%d.db", strings.TrimSuffix(where, ".db"), generation)
	} else {
		where = pgtest.With(tb, where, "search_path", "assent_read")
	}
	db, err := sql.Open(driver, where)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = db.Close() })
	return db
}

// script changes the live generation behind the store's back.
func script(tb testing.TB, s *projections.Store, where, text string) {
	tb.Helper()
	g := s.Status().Generation
	if _, err := raw(tb, where, g).Exec(strings.ReplaceAll(text, "_N", fmt.Sprint("_", g))); err != nil {
		tb.Fatal(err)
	}
}

// digest is every row of every table of the live generation, in one value.
func digest(tb testing.TB, s *projections.Store, where string) string {
	tb.Helper()
	g := s.Status().Generation
	db := raw(tb, where, g)
	h := sha256.New()
	for _, m := range s.Models() {
		rows, err := db.Query(fmt.Sprintf(`SELECT * FROM %s_%d ORDER BY key`, m.Name, g))
		if err != nil {
			tb.Fatal(err)
		}
		names, err := rows.Columns()
		if err != nil {
			tb.Fatal(err)
		}
		line, into := make([]any, len(names)), make([]any, len(names))
		for i := range line {
			into[i] = &line[i]
		}
		for rows.Next() {
			if err := rows.Scan(into...); err != nil {
				tb.Fatal(err)
			}
			fmt.Fprintf(h, "%s %q\n", m.Name, line)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			tb.Fatal(err)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}
