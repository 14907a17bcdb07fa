package transfer_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"assent/commands"
	"assent/commands/eventlog/chain"
	"assent/commands/eventlog/committer"
	"assent/commands/eventlog/eventstoredb"
	"assent/commands/eventlog/eventstoredb/fake"
	"assent/commands/eventlog/postgres"
	"assent/commands/eventlog/postgres/pgtest"
	"assent/commands/eventlog/sqlite"
	"assent/commands/eventlog/transfer"
	"assent/domain"
)

// target is a log that is loaded, and let go of.
type target interface {
	transfer.Target
	io.Closer
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func file(t testing.TB) string { return filepath.Join(t.TempDir(), "log.db") }

func inFile(t testing.TB, path string) target {
	t.Helper()
	l := must(sqlite.OpenLoader(t.Context(), path))(t)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func inPostgres(t testing.TB, url string) target {
	t.Helper()
	l := must(postgres.OpenLoader(t.Context(), url))(t)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func onServer(t testing.TB) target {
	t.Helper()
	server := must(fake.New())(t)
	t.Cleanup(server.Close)
	l := must(eventstoredb.OpenNumbered(t.Context(), server.URL()))(t)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// written is a log in a file with what is hard to copy: names and bytes of all
// kinds, several events in an append, streams that take turns, times that stand
// still.
func written(t testing.TB, appends int) string {
	t.Helper()
	path := file(t)
	now := time.Date(2026, 3, 14, 12, 0, 0, 987654321, time.UTC)
	l := must(sqlite.Open(t.Context(), path, func() time.Time { return now }))(t)
	names := []string{"a", "ö/∞", "a b", "z\x00z", "'; DROP TABLE events; --"}
	versions := make(map[string]domain.Version)
	for i := range appends {
		var writes []commands.Write
		for j := range 1 + i%3 {
			name := names[(i+j)%len(names)]
			w := commands.Write{Stream: domain.Stream{Category: "article", Workspace: "home", ID: name}, Expect: versions[name]}
			for k := range 1 + (i+j)%2 {
				w.Events = append(w.Events, domain.Fresh{
					ID: domain.ID(fmt.Sprintf("ev_%d_%d_%d", i, j, k)), Word: "article.updated", Revision: 1 + k,
					Data: fmt.Appendf(nil, "{ \"n\" :%d,\"text\":\"\\u0000 <é>\" }", i),
				})
				versions[name]++
			}
			writes = append(writes, w)
		}
		if i%4 > 0 {
			now = now.Add(time.Duration(i) * time.Nanosecond)
		}
		if _, err := l.Append(t.Context(), writes...); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func stored(t testing.TB, path string) *sqlite.Stored {
	t.Helper()
	s := must(sqlite.OpenStored(path))(t)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// same sees that two logs hold the same rows.
func same(t *testing.T, a, b chain.Reader) {
	t.Helper()
	next, stop := pull(t.Context(), b)
	defer stop()
	n := 0
	for want, err := range chain.All(t.Context(), a, 0) {
		if err != nil {
			t.Fatal(err)
		}
		got, ok := next()
		if !ok || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
			t.Fatalf("position %d is\n%+v, and was\n%+v", want.Position, got, want)
		}
		n++
	}
	if _, more := next(); more || n == 0 {
		t.Errorf("%d events, and more: %v", n, more)
	}
}

func pull(ctx context.Context, r chain.Reader) (func() (chain.Kept, bool), func()) {
	rows := make(chan chain.Kept)
	ctx, stop := context.WithCancel(ctx)
	go func() {
		defer close(rows)
		for r, err := range chain.All(ctx, r, 0) {
			if err != nil {
				return
			}
			select {
			case rows <- r:
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() (chain.Kept, bool) { r, ok := <-rows; return r, ok }, stop
}

// TestACopyIsTheSameThereAndBack: from SQLite to PostgreSQL to EventStoreDB (the
// fake) to SQLite; and takes appends afterwards.
func TestACopyIsTheSameThereAndBack(t *testing.T) {
	from := stored(t, written(t, 40))
	url, back := pgtest.Database(t), file(t)
	head := must(from.Head(t.Context()))(t)
	there, server := inPostgres(t, url), onServer(t)
	for _, hop := range []struct {
		from chain.Reader
		to   target
	}{{from, there}, {there, server}, {server, inFile(t, back)}} {
		var told domain.Position
		r, err := transfer.Copy(t.Context(), hop.from, hop.to, transfer.Progress{Copied: func(done, total domain.Position) {
			if done < told || total != head.Position {
				t.Errorf("%d of %d after %d", done, total, told)
			}
			told = done
		}})
		if err != nil || r.Mark != chain.MarkOf(head) || r.Before != 0 || told != head.Position {
			t.Fatalf("%+v, %v", r, err)
		}
		same(t, from, hop.to)
	}
	for _, l := range []commands.Log{must(postgres.Open(t.Context(), url, time.Now))(t), must(sqlite.Open(t.Context(), back, time.Now))(t)} {
		next := commands.Write{Stream: domain.Stream{Category: "article", Workspace: "home", ID: "new"}, Events: []domain.Fresh{{ID: "n", Word: "w", Revision: 1, Data: []byte("{}")}}}
		if r, err := l.Append(t.Context(), next); err != nil || r.Position != head.Position+1 {
			t.Errorf("%+v, %v", r, err)
		}
		old := domain.Stream{Category: "article", Workspace: "home", ID: "a"}
		events, err := l.ReadStream(t.Context(), old, 0)
		if err != nil || len(events) == 0 || events[len(events)-1].Version != domain.Version(len(events)) {
			t.Errorf("%d events, %v", len(events), err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestACopyGoesOnWhereItWas(t *testing.T) {
	from := stored(t, long(t, 1200))
	for name, to := range map[string]target{"SQLite": inFile(t, file(t)), "PostgreSQL": inPostgres(t, pgtest.Database(t)), "EventStoreDB": onServer(t)} {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := transfer.Copy(ctx, from, to, transfer.Progress{Copied: func(domain.Position, domain.Position) { cancel() }})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("%s: %v", name, err)
		}
		for _, before := range []bool{true, false} { // the second time there is nothing to do
			r, err := transfer.Copy(t.Context(), from, to, transfer.Progress{})
			if err != nil || r.Before == 0 || (r.Before < r.Position) != before {
				t.Fatalf("%s: %+v, %v", name, r, err)
			}
		}
		same(t, from, to)
	}
}

// TestTwoCopiesIntoOneTargetAreTold: one is finished, and the other says that
// somebody else wrote there.
func TestTwoCopiesIntoOneTargetAreTold(t *testing.T) {
	from := stored(t, long(t, 2200))
	path, url := file(t), pgtest.Database(t)
	for name, open := range map[string]func() target{
		"SQLite":     func() target { return inFile(t, path) },
		"PostgreSQL": func() target { return inPostgres(t, url) },
	} {
		one, other := open(), open()
		done := false
		_, err := transfer.Copy(t.Context(), from, one, transfer.Progress{Copied: func(domain.Position, domain.Position) {
			if done {
				return
			}
			done = true
			if _, err := transfer.Copy(t.Context(), from, other, transfer.Progress{}); err != nil {
				t.Fatalf("%s: the other one: %v", name, err)
			}
		}})
		if !errors.Is(err, transfer.ErrMoved) {
			t.Errorf("%s: %v", name, err)
		}
		same(t, from, one)
		if r, err := transfer.Copy(t.Context(), from, one, transfer.Progress{}); err != nil || r.Before != r.Position {
			t.Errorf("%s, again: %+v, %v", name, r, err)
		}
	}
}

// TestACopyFollowsWhatCameSince: the log that is copied may be written to.
func TestACopyFollowsWhatCameSince(t *testing.T) {
	path := written(t, 30)
	l := must(sqlite.Open(t.Context(), path, time.Now))(t)
	defer func() { _ = l.Close() }()
	to := inFile(t, file(t))
	for i := range 3 {
		if _, err := transfer.Copy(t.Context(), l.Stored(), to, transfer.Progress{}); err != nil {
			t.Fatal(err)
		}
		same(t, l.Stored(), to)
		w := commands.Write{Stream: domain.Stream{Category: "article", Workspace: "home", ID: "live"}, Expect: domain.Version(i), Events: []domain.Fresh{{ID: domain.ID(fmt.Sprint("l", i)), Word: "w", Revision: 1, Data: []byte("{}")}}}
		if _, err := l.Append(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
}

// TestATargetThatHoldsSomethingElseIsLeftAlone: and the first difference named.
func TestATargetThatHoldsSomethingElseIsLeftAlone(t *testing.T) {
	path := written(t, 40)
	from := stored(t, path)
	head := must(from.Head(t.Context()))(t)
	// The same events up to 20, then others.
	forked := func(n domain.Position, more int) string {
		other := file(t)
		l := inFile(t, other)
		var rows []chain.Row
		for r, err := range chain.All(t.Context(), from, 0) {
			if err != nil {
				t.Fatal(err)
			}
			if r.Position <= n {
				rows = append(rows, r.Row)
			}
		}
		if len(rows) > 0 {
			if err := l.Load(t.Context(), rows); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		open := must(sqlite.Open(t.Context(), other, time.Now))(t)
		for i := range more {
			w := commands.Write{Stream: domain.Stream{Category: "page", Workspace: "home", ID: "x"}, Expect: domain.Version(i), Events: []domain.Fresh{{ID: domain.ID(fmt.Sprint("x", i)), Word: "w", Revision: 1, Data: []byte("{}")}}}
			if _, err := open.Append(t.Context(), w); err != nil {
				t.Fatal(err)
			}
		}
		if err := open.Close(); err != nil {
			t.Fatal(err)
		}
		return other
	}
	for name, c := range map[string]struct {
		shared domain.Position
		more   int
	}{
		"another log":            {0, 5},
		"others from 21 on":      {20, 7},
		"others, and more":       {20, 200},
		"one more than there is": {head.Position, 1},
	} {
		to := inFile(t, forked(c.shared, c.more))
		was := must(to.Head(t.Context()))(t)
		_, err := transfer.Copy(t.Context(), from, to, transfer.Progress{})
		differs, ok := errors.AsType[*transfer.Differs](err)
		if !ok || differs.Position != c.shared+1 {
			t.Errorf("%s: %v, want position %d", name, err, c.shared+1)
		}
		if now := must(to.Head(t.Context()))(t); now != was {
			t.Errorf("%s: the target was changed", name)
		}
	}
}

func TestABrokenLogIsCopiedUpToWhereItBreaks(t *testing.T) {
	path := long(t, 3000)
	db := must(sql.Open("sqlite", path))(t)
	for _, q := range []string{"DROP TRIGGER events_stay", "UPDATE events SET data = '{}' WHERE position = 2345"} {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	to := inFile(t, file(t))
	_, err := transfer.Copy(t.Context(), stored(t, path), to, transfer.Progress{})
	if broken, _ := chain.IsBroken(err); broken == nil || broken.Position != 2345 {
		t.Fatalf("%v", err)
	}
	if head := must(to.Head(t.Context()))(t); head.Position >= 2345 {
		t.Errorf("the target holds %d events", head.Position)
	}
}

// TestRowsAreLoadedOnlyBehindTheEnd: whatever does not continue the log is
// refused, and so is whoever comes second.
func TestRowsAreLoadedOnlyBehindTheEnd(t *testing.T) {
	from := stored(t, written(t, 40))
	var rows []chain.Row
	for r, err := range chain.All(t.Context(), from, 0) {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r.Row)
	}
	path, url := file(t), pgtest.Database(t)
	for name, open := range map[string]func() target{
		"SQLite":     func() target { return inFile(t, path) },
		"PostgreSQL": func() target { return inPostgres(t, url) },
	} {
		a, b := open(), open()
		if err := a.Load(t.Context(), rows[:10]); err != nil {
			t.Fatal(err)
		}
		changed := rows[10]
		changed.Data = []byte(`{}`)
		for what, load := range map[string][]chain.Row{
			"again": rows[:10], "a gap": rows[11:15], "turned round": {rows[11], rows[10]}, "changed": {changed, rows[11]},
		} {
			if err := a.Load(t.Context(), load); !errors.Is(err, committer.ErrApart) {
				t.Errorf("%s: %s: %v", name, what, err)
			}
		}
		if err := b.Load(t.Context(), rows[:5]); !errors.Is(err, committer.ErrApart) {
			t.Errorf("%s: a second loader: %v", name, err)
		}
		if err := b.Load(t.Context(), rows[10:20]); err != nil {
			t.Errorf("%s: a second loader that has looked: %v", name, err)
		}
		if err := a.Load(t.Context(), rows[20:]); err != nil {
			t.Errorf("%s: the first one, after the second: %v", name, err)
		}
		same(t, from, a)
	}
}

// made is a log of n rows that are made as they are read, of very many
// streams.
type made struct {
	n    int
	page []chain.Kept // the last one, for who asks again
	at   commands.Head
}

func (m *made) Head(context.Context) (commands.Head, error) {
	head := commands.Head{}
	for i := range m.n {
		r := row(head, i)
		head = commands.Head{Position: r.Position, At: r.At, Chain: r.Link}
	}
	return head, nil
}

func row(head commands.Head, i int) chain.Kept {
	r := chain.Kept{Before: domain.Version(i % 2), Row: chain.Row{
		Record: domain.Record{
			Fresh:  domain.Fresh{ID: domain.ID(fmt.Sprintf("ev_%024d", i)), Word: "article.updated", Revision: 1, Data: fmt.Appendf(nil, `{"title":"Number %d","body":"%0200d"}`, i, i)},
			Stream: domain.Stream{Category: "article", Workspace: "home", ID: fmt.Sprintf("art_%024d", i/2)}, Version: domain.Version(i%2 + 1),
			Position: head.Position + 1, At: time.Unix(0, 1e18+int64(i)).UTC(),
		},
		Text: fmt.Appendf(nil, `{"action":"act_%024d","principal":{"kind":"agent","id":"agent_%024d"}}`, i, i%10),
	}}
	r.Link = chain.Link(head.Chain, r.Record, r.Text)
	return r
}

func (m *made) Rows(_ context.Context, after domain.Position, limit int) ([]chain.Kept, error) {
	if after != m.at.Position {
		return nil, fmt.Errorf("read at %d, not %d", after, m.at.Position)
	}
	m.page = m.page[:0]
	for i := int(after); i < m.n && len(m.page) < limit; i++ {
		r := row(m.at, i)
		m.page = append(m.page, r)
		m.at = commands.Head{Position: r.Position, At: r.At, Chain: r.Link}
	}
	return m.page, nil
}

// long is a log of n such rows in a file.
func long(t testing.TB, n int) string {
	t.Helper()
	path := file(t)
	to := inFile(t, path)
	if _, err := transfer.Copy(t.Context(), &made{n: n}, to, transfer.Progress{}); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func (m *made) Intact(context.Context) error { return nil }

// TestLargeRowsComeInSmallPages: a page is bounded by what is in it.
func TestLargeRowsComeInSmallPages(t *testing.T) {
	head, rows := commands.Head{}, []chain.Row(nil)
	for i := range 25 {
		r := row(head, i).Row
		r.Data = fmt.Appendf(nil, `{"text":"%0240000d"}`, i)
		r.Link = chain.Link(head.Chain, r.Record, r.Text)
		head = commands.Head{Position: r.Position, At: r.At, Chain: r.Link}
		rows = append(rows, r)
	}
	for name, to := range map[string]target{"SQLite": inFile(t, file(t)), "PostgreSQL": inPostgres(t, pgtest.Database(t))} {
		if err := to.Load(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
		page := must(to.Rows(t.Context(), 0, 1000))(t)
		if n := len(page) * 240_000; n < chain.PageBytes || n > chain.PageBytes+commands.MaxEvent {
			t.Errorf("%s: a page of %d rows", name, len(page))
		}
		if _, err := chain.Verify(t.Context(), to, chain.Mark{}, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMemoryDoesNotGrowWithTheLog: neither of a copy nor of the walk that reads
// it back, on half as many streams as events.
func TestMemoryDoesNotGrowWithTheLog(t *testing.T) {
	n := 10_000
	if soak() {
		n = 1_000_000
	}
	var most, least uint64
	look := func(done, total domain.Position) {
		if done < total/10 || done%2000 != 0 {
			return
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		most = max(most, m.HeapAlloc)
		if least == 0 || m.HeapAlloc < least {
			least = m.HeapAlloc
		}
	}
	to := inFile(t, file(t))
	start := time.Now()
	var copied time.Duration
	r, err := transfer.Copy(t.Context(), &made{n: n}, to, transfer.Progress{Copied: func(done, total domain.Position) {
		look(done, total)
		copied = time.Since(start)
	}, Checked: look})
	if err != nil || int(r.Position) != n {
		t.Fatalf("%+v, %v", r, err)
	}
	t.Logf("%d events: copied in %v, read back in %v; the heap was between %d and %d KiB", n, copied, time.Since(start)-copied, least>>10, most>>10)
	if most > least+32<<20 {
		t.Errorf("the heap grew from %d to %d MiB", least>>20, most>>20)
	}
}
