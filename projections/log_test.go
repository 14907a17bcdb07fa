package projections_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

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
func open(tb testing.TB, path string) *projections.Store {
	tb.Helper()
	words, err := catalogue.Words()
	if err != nil {
		tb.Fatal(err)
	}
	s, err := projections.Open(tb.Context(), path, words, catalogue.Kinds(), func() time.Time { return start })
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

func fresh(tb testing.TB) string { return filepath.Join(tb.TempDir(), "read.db") }

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

// digest is every row of every table of a generation, in one value.
func digest(tb testing.TB, path string) string {
	tb.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	h := sha256.New()
	for _, name := range column(tb, db, `SELECT name FROM generations ORDER BY name`) {
		table := name[:strings.LastIndex(name, "_")]
		names := column(tb, db, `SELECT name FROM pragma_table_info('`+name+`') ORDER BY name`)
		for _, row := range column(tb, db, `SELECT `+strings.Join(names, ` || '|' || `)+` FROM `+name+` ORDER BY key`) {
			fmt.Fprintln(h, table, row)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

func column(tb testing.TB, db *sql.DB, query string) []string {
	tb.Helper()
	rows, err := db.Query(query)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var list []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			tb.Fatal(err)
		}
		list = append(list, s)
	}
	if err := rows.Err(); err != nil {
		tb.Fatal(err)
	}
	return list
}
