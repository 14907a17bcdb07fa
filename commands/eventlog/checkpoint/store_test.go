package checkpoint_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // driver "pgx"

	"assent/commands"
	"assent/commands/eventlog/chain"
	"assent/commands/eventlog/postgres"
	"assent/commands/eventlog/postgres/pgtest"
	"assent/commands/eventlog/sqlite"
	"assent/domain"
)

// database is a log's tables in the hands of somebody who may do anything.
type database struct {
	t        *testing.T
	db       *sql.DB
	postgres bool
}

func (d database) exec(query string, args ...any) {
	d.t.Helper()
	if _, err := d.db.Exec(d.spelt(query), d.bound(args)...); err != nil {
		d.t.Fatalf("%s: %v", query, err)
	}
}

func (d database) spelt(query string) string {
	for n := 1; d.postgres && strings.Contains(query, "?"); n++ {
		query = strings.Replace(query, "?", fmt.Sprintf("$%d", n), 1)
	}
	return query
}

// bound makes texts what the columns hold.
func (d database) bound(args []any) []any {
	args = slices.Clone(args)
	for i, a := range args {
		if text, ok := a.(string); ok && d.postgres {
			args[i] = []byte(text)
		}
	}
	return args
}

func (d database) number(query string) (n int64) {
	d.t.Helper()
	if err := d.db.QueryRow(query).Scan(&n); err != nil {
		d.t.Fatalf("%s: %v", query, err)
	}
	return n
}

// shift gives every event behind a position another one.
func (d database) shift(behind, by int) {
	d.exec("UPDATE events SET position = position + 1000000000 WHERE position > ?", behind)
	d.exec("UPDATE events SET position = position - 1000000000 + ? WHERE position > 1000000000", by)
}

func (d database) remove(position int) { d.exec("DELETE FROM events WHERE position = ?", position) }

func (d database) swap(a, b int) {
	d.exec("UPDATE events SET position = 1000000000 WHERE position = ?", a)
	d.exec("UPDATE events SET position = ? WHERE position = ?", a, b)
	d.exec("UPDATE events SET position = ? WHERE position = 1000000000", b)
}

// relink computes the hash of an event anew, or of all from there on and the
// head row.
func (d database) relink(stored chain.Reader, from int, all bool) {
	d.t.Helper()
	var head commands.Head
	var changed []chain.Kept
	for r, err := range chain.All(d.t.Context(), stored, 0) {
		if err != nil {
			d.t.Fatal(err)
		}
		if int(r.Position) == from || all && int(r.Position) > from {
			r.Link = chain.Link(head.Chain, r.Record, r.Text)
			changed = append(changed, r)
		}
		head = commands.Head{Position: r.Position, At: r.At, Chain: r.Link}
	}
	for _, r := range changed {
		d.exec("UPDATE events SET link = ? WHERE position = ?", r.Link[:], int64(r.Position))
	}
	if all {
		d.head(head)
	}
}

func (d database) head(h commands.Head) {
	d.exec("UPDATE head SET position = ?, recorded_at = ?, chain = ?", int64(h.Position), h.At.UnixNano(), h.Chain[:])
}

// setBack makes the head row what it was at an earlier position.
func (d database) setBack(stored chain.Reader, to domain.Position) {
	d.t.Helper()
	rows, err := stored.Rows(d.t.Context(), to-1, 1)
	if err != nil || len(rows) == 0 {
		d.t.Fatal(len(rows), err)
	}
	d.head(commands.Head{Position: to, At: rows[0].At, Chain: rows[0].Link})
}

// refit makes the head row fit the last event.
func (d database) refit(stored chain.Reader) {
	d.t.Helper()
	var head commands.Head
	for r, err := range chain.All(d.t.Context(), stored, 0) {
		if err != nil {
			d.t.Fatal(err)
		}
		head = commands.Head{Position: r.Position, At: r.At, Chain: r.Link}
	}
	d.head(head)
}

// store is where a log of these tests is kept.
type store struct {
	name   string
	open   func(t *testing.T, url string, clock func() time.Time) commands.Log
	stored func(t *testing.T, url string) chain.Reader
	where  func(t *testing.T) string
	hands  func(t *testing.T, url string) database
}

var stores = []store{
	{
		"SQLite",
		func(t *testing.T, path string, clock func() time.Time) commands.Log {
			return must(sqlite.Open(t.Context(), path, clock))(t)
		},
		func(t *testing.T, path string) chain.Reader {
			s := must(sqlite.OpenStored(path))(t)
			t.Cleanup(func() { _ = s.Close() })
			return s
		},
		func(t *testing.T) string { return filepath.Join(t.TempDir(), "log.db") },
		func(t *testing.T, path string) database {
			d := database{t, must(sql.Open("sqlite", path))(t), false}
			d.db.SetMaxOpenConns(1)
			d.exec("DROP TRIGGER events_stay")
			d.exec("DROP TRIGGER events_remain")
			return d
		},
	},
	{
		"PostgreSQL",
		func(t *testing.T, url string, clock func() time.Time) commands.Log {
			return must(postgres.Open(t.Context(), url, clock))(t)
		},
		func(t *testing.T, url string) chain.Reader {
			s := must(postgres.OpenStored(t.Context(), url))(t)
			t.Cleanup(func() { _ = s.Close() })
			return s
		},
		func(t *testing.T) string { return pgtest.Database(t) },
		func(t *testing.T, url string) database {
			d := database{t, must(sql.Open("pgx", url))(t), true}
			d.db.SetMaxOpenConns(1)
			d.exec("SET session_replication_role = replica") // triggers sleep
			return d
		},
	},
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// write appends events to streams, one append each, at times a second apart.
func write(t *testing.T, l commands.Log, versions map[string]domain.Version, streams ...string) {
	t.Helper()
	for _, s := range streams {
		head, err := l.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		n := head.Position + 1
		_, err = l.Append(t.Context(), commands.Write{
			Stream: domain.Stream{Category: "article", Workspace: "home", ID: s}, Expect: versions[s],
			Events: []domain.Fresh{{ID: domain.ID(fmt.Sprintf("ev_%s_%d", s, n)), Word: "article.updated", Revision: 1, Data: fmt.Appendf(nil, `{"title":"T%d"}`, n)}},
		})
		if err != nil {
			t.Fatal(err)
		}
		versions[s]++
	}
}

// ticking is a clock that is a second further each time it is asked.
func ticking() func() time.Time {
	at := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	return func() time.Time {
		at = at.Add(time.Second)
		return at
	}
}

// A row before the first event would be no part of the chain, and would still be
// read as a part of its stream.
func TestNothingIsPutBeforeTheFirstEvent(t *testing.T) {
	for _, s := range stores {
		t.Run(s.name, func(t *testing.T) {
			url := s.where(t)
			l := s.open(t, url, time.Now)
			if _, err := l.Append(t.Context(), commands.Write{Stream: domain.Stream{Category: "agent", Workspace: "home", ID: "a"}, Events: []domain.Fresh{{
				ID: "evt_1", Word: "agent.created", Revision: 1, Data: []byte(`{}`), Envelope: domain.Envelope{Action: "act_1"},
			}}}); err != nil {
				t.Fatal(err)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			d := s.hands(t, url)
			for _, position := range []int{0, -1} {
				_, err := d.db.Exec(d.spelt(`INSERT INTO events (position, stream, version, id, word, revision, recorded_at, envelope, data, link)
					SELECT ?, stream, 2, id, word, revision, recorded_at, envelope, data, link FROM events WHERE position = 1`), position)
				if err == nil {
					t.Errorf("there is an event at %d", position)
				}
			}
		})
	}
}
