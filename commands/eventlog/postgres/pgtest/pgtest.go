// Package pgtest gives tests a PostgreSQL of their own: a cluster that a test
// process starts when it first asks for one, and that is gone with the process,
// however that ends.
package pgtest

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// shared is the one cluster of this process, started once.
var shared = sync.OnceValues(func() (*Cluster, error) { return start(nil) })

// Database is the URL of a new empty database, which is dropped when the test
// ends. All of a process are on one cluster. It writes to the disk before it
// answers only in a run of benchmarks: tests kill no machine.
func Database(t testing.TB) string {
	t.Helper()
	return Copy(t, template0)
}

// Copy is the URL of a new database with what another one of Shared holds, to
// which nobody may be connected. It is dropped when the test ends.
func Copy(t testing.TB, of string) string {
	t.Helper()
	c := Shared(t)
	where, name := c.copied(t, of)
	t.Cleanup(func() { c.Exec(t, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)") })
	return where
}

// Shared is the cluster of Database and Copy. Leave it as it is: tests that
// stop or change a server start their own.
func Shared(t testing.TB) *Cluster {
	t.Helper()
	c, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Start starts a cluster for one test alone, which may stop it and change it.
// Settings are PostgreSQL's, spelt name=value.
func Start(t testing.TB, settings ...string) *Cluster {
	t.Helper()
	c, err := start(settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.remove(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// template0 is PostgreSQL's own empty database.
const template0 = "postgres:///template0"

// databases numbers the databases of this process.
var databases atomic.Int64

// Database is the URL of a new empty database, which goes with its cluster.
func (c *Cluster) Database(t testing.TB) string {
	t.Helper()
	where, _ := c.copied(t, template0)
	return where
}

func (c *Cluster) copied(t testing.TB, of string) (where, name string) {
	t.Helper()
	from, err := url.Parse(of)
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(c.url)
	if err != nil {
		t.Fatal(err)
	}
	name = fmt.Sprintf("assent_%d", databases.Add(1))
	c.Exec(t, "CREATE DATABASE "+name+" TEMPLATE "+strings.Trim(from.Path, "/"))
	to.Path = "/" + name
	return to.String(), name
}

// URL is the cluster's own database, with a login that may do anything.
func (c *Cluster) URL() string { return c.url }

// Exec runs SQL in the cluster's own database. One connection serves all tests
// of a process in turn.
func (c *Cluster) Exec(t testing.TB, sql string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if c.admin == nil || c.admin.IsClosed() {
		admin, err := pgx.Connect(ctx, c.url)
		if err != nil {
			t.Fatal(err)
		}
		c.admin = admin
	}
	if _, err := c.admin.PgConn().Exec(ctx, sql).ReadAll(); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// Exec runs SQL in the database that a URL names.
func Exec(t testing.TB, where, sql string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, where)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	if _, err := c.PgConn().Exec(ctx, sql).ReadAll(); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// With is a URL with one parameter more.
func With(t testing.TB, where, key, value string) string {
	t.Helper()
	u, err := url.Parse(where)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set(key, value)
	u.RawQuery = q.Encode()
	return u.String()
}
