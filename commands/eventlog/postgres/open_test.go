package postgres

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

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
	if text := openedBy("plain"); !strings.Contains(text, "owns the log's tables") {
		t.Errorf("told: %s", text)
	}
	c.Exec(t, "CREATE ROLE assent_log_writer NOLOGIN; CREATE ROLE narrow LOGIN; GRANT assent_log_writer TO narrow")
	pgtest.Exec(t, where, "GRANT USAGE ON SCHEMA public TO assent_log_writer; GRANT SELECT, INSERT ON streams, events TO assent_log_writer; GRANT SELECT, UPDATE ON head TO assent_log_writer; GRANT SELECT ON history, log_versions TO assent_log_writer")
	if text := openedBy("narrow"); text != "" {
		t.Errorf("told of one that can only append: %s", text)
	}
}
