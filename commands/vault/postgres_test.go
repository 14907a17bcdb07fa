package vault_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"assent/commands/eventlog/postgres/pgtest"
	"assent/commands/vault"

	"github.com/google/go-cmp/cmp"
)

// hidden is a password that no error may show any of.
const hidden = "hush%2Fhush"

func TestWhyADatabaseIsNotOpened(t *testing.T) {
	as := func(login string) func(*testing.T) string { // a login that may nothing
		return func(t *testing.T) string {
			where := pgtest.Database(t)
			pgtest.Exec(t, where, "CREATE ROLE "+login+" LOGIN")
			t.Cleanup(func() { pgtest.Exec(t, pgtest.Shared(t).URL(), "DROP ROLE "+login) })
			return user(t, where, login)
		}
	}
	after := func(sql string) func(*testing.T) string {
		return func(t *testing.T) string {
			where := pgtest.Database(t)
			pgtest.Exec(t, where, sql)
			return where
		}
	}
	for name, c := range map[string]struct {
		place func(*testing.T) string
		is    error
		says  string
	}{
		"a URL that cannot be read": {place: is("postgres://me:" + strings.ReplaceAll(hidden, "%2F", "/") + "@host/db"), says: "cannot be read"},
		"a port that is none":       {place: is("postgres://me:" + hidden + "@host:port/db"), says: "cannot be read"},
		"another kind of database":  {place: is("mysql://me:" + hidden + "@host/db"), says: "mysql:// is no place for a vault"},
		"a file named like a host":  {place: is("sqlite://people.db"), says: "sqlite:PATH"},
		"no place":                  {place: is(""), says: "no place for the vault is named"},
		"no file":                   {place: is("sqlite:"), says: "no place for the vault is named"},
		"a server that is not there": {
			place: is("postgres://me:" + hidden + "@127.0.0.1:1/db"), says: "cannot be reached (connect: connection refused)",
		},
		"a server that never answers": {place: silent, says: "cannot be reached (it did not answer in time)"},
		"a database that is not there": {
			place: func(t *testing.T) string {
				u, err := url.Parse(pgtest.Database(t))
				must(t, err)
				u.Path = "/nowhere"
				return u.String()
			},
			says: `there is no database "nowhere"`,
		},
		"a login that is not there": {
			place: func(t *testing.T) string { return user(t, pgtest.Database(t), "stranger") },
			says:  `does not let the login "stranger" in`,
		},
		"a login that may nothing": {place: as("guest"), says: `CREATE SCHEMA assent_people AUTHORIZATION "guest"`},
		"a server that is only read": {
			place: func(t *testing.T) string {
				return pgtest.With(t, pgtest.Database(t), "default_transaction_read_only", "on")
			},
			says: "can only be read",
		},
		"somebody else's schema": {place: after("CREATE SCHEMA assent_people; CREATE TABLE assent_people.vault (id int)"), is: vault.ErrForeign},
		"a newer vault": {
			place: func(t *testing.T) string {
				where := pgtest.Database(t)
				must(t, open(t, where).Close())
				pgtest.Exec(t, where, "INSERT INTO assent_people.vault_versions (version_id, is_applied) VALUES (99, true)")
				return where
			},
			is: vault.ErrNewer,
		},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := vault.Open(t.Context(), c.place(t), secret)
			if err == nil {
				must(t, v.Close())
				t.Fatal("it was opened")
			}
			if c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("got %v; want %v", err, c.is)
			}
			if got := err.Error(); !strings.Contains(got, c.says) || strings.Contains(got, "hush") || strings.Contains(got, "\n") {
				t.Errorf("it says %q; want one line with %q and no password", got, c.says)
			}
		})
	}
}

// is always is one place.
func is(place string) func(*testing.T) string { return func(*testing.T) string { return place } }

// silent takes connections and says nothing.
func silent(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { must(t, l.Close()) })
	return fmt.Sprintf("postgres://me:%s@%s/db?connect_timeout=1&sslmode=disable", hidden, l.Addr())
}

// user is a URL with another login.
func user(t *testing.T, where, login string) string {
	t.Helper()
	u, err := url.Parse(where)
	must(t, err)
	u.User = url.User(login)
	return u.String()
}

func TestTheVaultIsInASchemaOfItsOwn(t *testing.T) {
	where := pgtest.Database(t)
	pgtest.Exec(t, where, "CREATE TABLE person (here int)") // the log's, say
	for _, where := range []string{where, strings.Replace(where, "postgres://", "postgresql://", 1), pgtest.With(t, where, "search_path", "public"), pgtest.With(t, where, "pool_max_conns", "3")} {
		v := open(t, where)
		if _, err := v.Person(t.Context(), "home", ada.ID); err != nil {
			must(t, v.AddPerson(t.Context(), ada))
		}
	}
	var n int
	must(t, onServer.tables(t, where).QueryRowContext(t.Context(), `SELECT COUNT(*) FROM assent_people.person`).Scan(&n))
	if n != 1 {
		t.Errorf("the schema has %d people; want 1", n)
	}
}

func TestASchemaThatAnAdministratorMadeIsEnough(t *testing.T) {
	where := pgtest.Database(t)
	pgtest.Exec(t, where, "CREATE ROLE keeper LOGIN; CREATE SCHEMA assent_people AUTHORIZATION keeper")
	t.Cleanup(func() {
		pgtest.Exec(t, where, "DROP OWNED BY keeper")
		pgtest.Exec(t, where, "DROP ROLE keeper")
	})
	v := open(t, user(t, where, "keeper"))
	must(t, v.AddPerson(t.Context(), ada))
	must(t, v.Erase(t.Context(), "home", ada.ID))
}

func TestErasingNeedsTheTablesOwner(t *testing.T) {
	where := pgtest.Database(t)
	owners := open(t, where)
	pgtest.Exec(t, where, `CREATE ROLE helper LOGIN; GRANT USAGE ON SCHEMA assent_people TO helper;
		GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA assent_people TO helper`)
	t.Cleanup(func() {
		pgtest.Exec(t, where, "DROP OWNED BY helper")
		pgtest.Exec(t, where, "DROP ROLE helper")
	})
	v := open(t, user(t, where, "helper"))
	must(t, v.AddPerson(t.Context(), ada))
	if err := v.Erase(t.Context(), "home", ada.ID); err == nil || !strings.Contains(err.Error(), "let their owner open the vault") {
		t.Errorf("erasing says %v", err)
	}
	_, err := v.Person(t.Context(), "home", ada.ID)
	refused(t, err, "not-found")
	open(t, user(t, where, "helper")) // which goes on working
	must(t, owners.Erase(t.Context(), "home", ada.ID))
}

func TestNoFileOfTheDatabaseHoldsTheErased(t *testing.T) {
	where := pgtest.Database(t)
	v := open(t, where)
	for i := range 50 {
		p, oldName := canary(i)
		now := p.Name
		p.Name = oldName
		must(t, v.AddPerson(t.Context(), p))
		must(t, v.SetName(t.Context(), "home", p.ID, now))
	}
	files := filesOfServer(t, where)
	for i := range 50 {
		if c := fmt.Appendf(nil, "Canary-N%04d-", i); !bytes.Contains(files, c) {
			t.Fatalf("%s is not in the files; the test shows nothing", c)
		}
	}
	for i := 25; i < 50; i++ { // the newest: the bytes of others are overwritten sooner
		p, _ := canary(i)
		must(t, v.Erase(t.Context(), "home", p.ID))
	}
	files = filesOfServer(t, where)
	for i := 25; i < 50; i++ {
		noTrace(t, files, i)
	}
	for i := range 25 {
		p, _ := canary(i)
		if got, err := v.Person(t.Context(), "home", p.ID); err != nil || got != p {
			t.Fatalf("another is now %v, %v; want %v", got, err, p)
		}
	}
}

func TestStatisticsHoldNothingPersonal(t *testing.T) {
	where := pgtest.Database(t)
	v := open(t, where)
	for i := range 10 {
		p, _ := canary(i)
		must(t, v.AddPerson(t.Context(), p))
		seal(t, v, "home", p.ID, "x")
	}
	pgtest.Exec(t, where, "ANALYZE")
	rows, err := onServer.tables(t, where).QueryContext(t.Context(), `
		SELECT DISTINCT attname FROM pg_stats
		WHERE schemaname = 'assent_people' AND tablename IN ('person', 'name', 'sealing_key') ORDER BY attname`)
	must(t, err)
	defer rows.Close()
	var columns []string
	for rows.Next() {
		var c string
		must(t, rows.Scan(&c))
		columns = append(columns, c)
	}
	must(t, rows.Err())
	if diff := cmp.Diff([]string{"id", "person", "workspace"}, columns); diff != "" {
		t.Errorf("there are samples of other columns:\n%s", diff)
	}
}

func TestAnErasureTellsThatItIsHeldUp(t *testing.T) {
	for name, c := range map[string]struct {
		isolation sql.IsolationLevel
		reads     string
	}{
		"by who holds a table":                {sql.LevelReadCommitted, `LOCK TABLE person IN ACCESS SHARE MODE`},
		"by who may still see what there was": {sql.LevelRepeatableRead, `SELECT COUNT(*) FROM pg_class`},
	} {
		t.Run(name, func(t *testing.T) {
			where := pgtest.With(t, pgtest.Database(t), "lock_timeout", "50")
			v := open(t, where)
			must(t, v.AddPerson(t.Context(), ada))
			tx, err := onServer.tables(t, where).BeginTx(t.Context(), &sql.TxOptions{Isolation: c.isolation})
			must(t, err)
			_, err = tx.ExecContext(t.Context(), c.reads)
			must(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			if err := v.Erase(ctx, "home", ada.ID); err == nil || !strings.Contains(err.Error(), "still reading") {
				t.Errorf("it says %v", err)
			}
			if c.isolation == sql.LevelReadCommitted { // the other takes seconds
				must(t, open(t, where).AddPerson(t.Context(), bob))
			}
			must(t, tx.Rollback())
			must(t, v.Erase(t.Context(), "home", ada.ID))
		})
	}
}

func TestAServerThatComesBackIsUsedAgain(t *testing.T) {
	c := pgtest.Start(t)
	v := open(t, c.Database(t))
	must(t, v.AddPerson(t.Context(), ada))
	key := newKey(t, v, "home", "agt_1", "key_1")
	must(t, v.DropKey(t.Context(), "home", "key_1"))
	c.Kill(t)
	_, err := v.Key(t.Context(), key)
	if err == nil || isRefusal(err) {
		t.Errorf("without a server a key gives %v; want a fault", err)
	}
	if _, err := v.Person(t.Context(), "home", ada.ID); err == nil || isRefusal(err) {
		t.Errorf("without a server a person gives %v; want a fault", err)
	}
	c.Again(t)
	if p, err := v.Person(t.Context(), "home", ada.ID); err != nil || p != ada {
		t.Errorf("afterwards she is %v, %v", p, err)
	}
	_, err = v.Key(t.Context(), key)
	refused(t, err, "unauthorised")
	must(t, v.SetName(t.Context(), "home", ada.ID, "Ada"))
}

func TestOpeningCanBeCalledOff(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := vault.Open(ctx, silent(t), secret); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v; want context.DeadlineExceeded", err)
	}
}
