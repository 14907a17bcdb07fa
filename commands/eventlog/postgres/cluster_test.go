package postgres

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assent/commands/eventlog/postgres/pgtest"
)

var schemas atomic.Int64

// schema is the URL of an empty schema, which is dropped when the test ends.
func schema(t testing.TB) string {
	t.Helper()
	c, name := pgtest.Shared(t), fmt.Sprintf("log_%d", schemas.Add(1))
	c.Exec(t, "CREATE SCHEMA "+name)
	t.Cleanup(func() { c.Exec(t, "DROP SCHEMA "+name+" CASCADE") })
	return pgtest.With(t, c.URL(), "search_path", name)
}

// idle are databases with a log without events, which no test uses now.
var idle struct {
	sync.Mutex
	urls []string
}

// emptied makes a log as good as new, whatever a test did to its rows.
const emptied = `ALTER TABLE events DISABLE TRIGGER USER; ALTER TABLE streams DISABLE TRIGGER USER;
	TRUNCATE events, streams;
	UPDATE head SET position = 0, recorded_at = 0, chain = decode(repeat('00', 32), 'hex');
	ALTER TABLE events ENABLE TRIGGER USER; ALTER TABLE streams ENABLE TRIGGER USER`

// made is the URL of a log without events in a database that no other test
// uses. Tests take turns at a few: making tables takes far longer than
// emptying them.
func made(t testing.TB) string {
	t.Helper()
	idle.Lock()
	defer idle.Unlock()
	var where string
	if n := len(idle.urls); n > 0 {
		where, idle.urls = idle.urls[n-1], idle.urls[:n-1]
	} else {
		where = pgtest.Shared(t).Database(t)
		l, err := Open(context.Background(), where, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		pgtest.Exec(t, where, emptied)
		idle.Lock()
		defer idle.Unlock()
		idle.urls = append(idle.urls, where)
	})
	return where
}
