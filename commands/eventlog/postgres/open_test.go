package postgres

import (
	"errors"
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
