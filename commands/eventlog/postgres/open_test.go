package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"assent/commands/eventlog/postgres/pgtest"
)

const secret = "pa55w0rd"

func TestWhatKeepsALogFromOpeningIsSaidInOneSentenceWithoutThePassword(t *testing.T) {
	c := pgtest.Shared(t)
	where := made(t)
	c.Exec(t, "CREATE ROLE stranger LOGIN PASSWORD '"+secret+"'; CREATE ROLE reader LOGIN PASSWORD '"+secret+"'; ALTER ROLE reader SET default_transaction_read_only = on")
	t.Cleanup(func() {
		pgtest.Exec(t, where, "DROP OWNED BY reader")
		c.Exec(t, "DROP ROLE stranger; DROP ROLE reader")
	})
	pgtest.Exec(t, where, "GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
	as := func(login string) string {
		return strings.Replace(where, "postgres://postgres@", "postgres://"+login+":"+secret+"@", 1)
	}
	for name, c := range map[string]struct {
		where string
		want  error
	}{
		"no URL":           {"postgres://u:" + secret + "@[", ErrURL},
		"a port of words":  {"postgres://u:" + secret + "@localhost:port/x", ErrURL},
		"a bad escape":     {"postgres://u:%" + secret + "@localhost/x", ErrURL},
		"a bad setting":    {"postgres://u:" + secret + "@localhost/x?connect_timeout=soon", ErrURL},
		"a bad keyword":    {"host=localhost password=" + secret + " port=x", ErrURL},
		"nobody there":     {"postgres://u:" + secret + "@127.0.0.1:1/x", ErrUnreachable},
		"no such socket":   {"postgres://u:" + secret + "@/x?host=/nowhere", ErrUnreachable},
		"no such login":    {as("nobody_we_know"), ErrLogin},
		"no such database": {strings.Replace(as("stranger"), "/assent_", "/nothing_", 1), ErrNoDatabase},
		"a stranger":       {as("stranger"), ErrPrivileges},
		"only reads":       {as("reader"), ErrReadOnly},
		"must not write":   {pgtest.With(t, as("reader"), "default_transaction_read_only", "off"), ErrPrivileges},
	} {
		t.Run(name, func(t *testing.T) {
			err := inTime(t, func() error {
				l, err := Open(t.Context(), c.where, time.Now)
				if err == nil {
					err = errors.Join(errors.New("it was opened"), l.Close())
				}
				return err
			})
			if !errors.Is(err, c.want) || strings.Contains(err.Error(), secret) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// TestALoginThatOwnsTheTablesIsWarnedAbout: what keeps events from being changed
// is then no more than what the owner can lift.
func TestALoginThatOwnsTheTablesIsWarnedAbout(t *testing.T) {
	c := pgtest.Start(t)
	where := c.Database(t)
	c.Exec(t, "CREATE ROLE plain LOGIN")
	pgtest.Exec(t, where, "GRANT ALL ON SCHEMA public TO plain")
	told := &bytes.Buffer{}
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(told, nil)))
	defer slog.SetDefault(before)
	openedBy := func(login string) string {
		told.Reset()
		l, err := Open(t.Context(), strings.Replace(where, "postgres://postgres@", "postgres://"+login+"@", 1), time.Now)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		return told.String()
	}
	// It cannot make roles, so there is none that could be granted.
	if text := openedBy("plain"); !strings.Contains(text, "owns the log's tables") || !strings.Contains(text, "README") || strings.Contains(text, "assent_log_writer") {
		t.Errorf("told: %s", text)
	}
	readme, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, recipe, _ := strings.Cut(string(readme), "```sql\n")
	recipe, _, found := strings.Cut(recipe, "```")
	u, err := url.Parse(where)
	if err != nil || !found {
		t.Fatal(found, err)
	}
	pgtest.Exec(t, where, strings.ReplaceAll(recipe, "ON DATABASE assent", "ON DATABASE "+strings.Trim(u.Path, "/")))
	if text := openedBy("plain"); !strings.Contains(text, "owns the log's tables") || !strings.Contains(text, "assent_log_writer") {
		t.Errorf("told once there is the role: %s", text)
	}
	if text := openedBy("assent"); text != "" {
		t.Errorf("told of one that can only append: %s", text)
	}
	if _, err := sqlAs(t, where, "assent", "DELETE FROM events"); err == nil {
		t.Error("what can only append removes")
	}
	if _, err := sqlAs(t, where, "assent", "CREATE SCHEMA IF NOT EXISTS assent_people"); err != nil {
		t.Errorf("it cannot keep people: %v", err)
	}
}

// sqlAs runs SQL as somebody else.
func sqlAs(t *testing.T, where, login, query string) (pgconn.CommandTag, error) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), strings.Replace(where, "postgres://postgres@", "postgres://"+login+"@", 1))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(t.Context()) }()
	return c.Exec(t.Context(), query)
}

// What the server says is never all that a person is told.
func TestWhatPostgreSQLSaysComesWithASentence(t *testing.T) {
	for code, want := range map[string]error{
		"57P01": ErrUnreachable, "57P02": ErrUnreachable, "57P03": ErrUnreachable, "53300": ErrCrowded, "53100": ErrRoom, "53200": ErrRoom,
		"42P01": ErrTables, "42703": ErrTables, "3F000": ErrNoSchema, "55P03": ErrHeld, "40P01": ErrHeld, "XX001": ErrAnswered, "22001": ErrAnswered,
	} {
		err := &pgconn.PgError{Severity: "ERROR", Code: code, Message: "what it says"}
		if got := sentence(sentence(fmt.Errorf("reading: %w", err))); !errors.Is(got, want) || !errors.Is(got, err) || strings.Count(got.Error(), want.Error()) != 1 {
			t.Errorf("%s: %v", code, got)
		}
	}
	for _, err := range []error{io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE, context.DeadlineExceeded} {
		if got := sentence(fmt.Errorf("reading: %w", err)); !errors.Is(got, ErrUnreachable) || !errors.Is(got, err) {
			t.Errorf("%v: %v", err, got)
		}
	}
	ours := fmt.Errorf("%w: so it is", ErrForeign)
	if got := sentence(ours); got != ours {
		t.Errorf("what is said already is said again: %v", got)
	}
}
