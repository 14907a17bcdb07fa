package postgres

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// existing names a database for the tests instead of a cluster of their own.
const existing = "ASSENT_TEST_POSTGRES"

// server is where the tests' logs live, each in a schema of its own. TestMain
// sets it.
var server string

func TestMain(m *testing.M) { os.Exit(within(m)) }

func within(m *testing.M) int {
	if where := os.Getenv(asInstance); where != "" {
		return instance(where)
	}
	if server = os.Getenv(existing); server != "" {
		return m.Run()
	}
	stop, err := startCluster()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// supervise starts a cluster in the folder $0 with the binaries in $1 and the
// settings $2, says so, and removes it all once its input ends: also when the
// tests were killed.
const supervise = `set -e
"$1/initdb" -D "$0/data" -U postgres -A trust -E UTF8 --no-sync >"$0/log" 2>&1
"$1/pg_ctl" -D "$0/data" -w -l "$0/log" -o "$2 -c listen_addresses= -k '$0'" start >/dev/null
echo started
cat >/dev/null
"$1/pg_ctl" -D "$0/data" -m immediate -w stop >/dev/null
cd /
rm -rf "$0"`

// startCluster starts a PostgreSQL of the tests' own, on a socket in its
// folder. It writes to the disk before it answers only if benchmarks run:
// tests kill no machine.
func startCluster() (stop func() error, err error) {
	binaries, err := findBinaries()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "assent-pg") // short: a socket's path has to fit in 100 bytes
	if err != nil {
		return nil, err
	}
	fsync := "-c fsync=off"
	for _, a := range os.Args {
		if strings.HasPrefix(a, "-test.bench=") && a != "-test.bench=" {
			fsync = "-c fsync=on"
		}
	}
	cmd := exec.Command("sh", "-c", supervise, dir, binaries, fsync)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	if os.Getuid() == 0 { // PostgreSQL does not run as root
		if err := lend(cmd, dir); err != nil {
			return nil, err
		}
	}
	hold, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	said, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if line, err := bufio.NewReader(said).ReadString('\n'); err != nil {
		told, _ := os.ReadFile(filepath.Join(dir, "log"))
		return nil, errors.Join(fmt.Errorf("PostgreSQL did not start: %q %w\n%s", line, err, told), cmd.Wait(), os.RemoveAll(dir))
	}
	server = "postgres://postgres@/postgres?host=" + url.QueryEscape(dir)
	return func() error { return errors.Join(hold.Close(), cmd.Wait(), os.RemoveAll(dir)) }, nil
}

func findBinaries() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err == nil && len(found) > 0 {
		return filepath.Dir(found[len(found)-1]), nil
	}
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		dir := strings.TrimSpace(string(out))
		if _, err := os.Stat(filepath.Join(dir, "initdb")); err == nil {
			return dir, nil
		}
	}
	return "", fmt.Errorf("these tests need PostgreSQL's server programs (initdb, pg_ctl): install them, or name a database with %s", existing)
}

// lend lets a command run as somebody who may run PostgreSQL, in their folder.
func lend(cmd *exec.Cmd, dir string) error {
	who, err := user.Lookup("postgres")
	if err != nil {
		if who, err = user.Lookup("nobody"); err != nil {
			return err
		}
	}
	uid, err := strconv.Atoi(who.Uid)
	if err != nil {
		return err
	}
	gid, err := strconv.Atoi(who.Gid)
	if err != nil {
		return err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	return os.Chown(dir, uid, gid)
}

var schemas atomic.Int64

// schema is the URL of an empty schema, which is dropped when the test ends.
func schema(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("log_%d_%d", os.Getpid(), schemas.Add(1))
	script(t, server, "CREATE SCHEMA "+name)
	t.Cleanup(func() { script(t, server, "DROP SCHEMA "+name+" CASCADE") })
	return with(t, server, "search_path", name)
}

// with is a URL with one parameter more.
func with(t testing.TB, where, key, value string) string {
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

// script runs SQL as the owner, on a connection that knows nothing of the log.
func script(t testing.TB, where, sql string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
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

// asInstance makes this test program an instance of the server: it says when
// it is ready, starts when its input ends, and appends.
const asInstance = "ASSENT_TEST_INSTANCE"

func instance(where string) int {
	if err := storm(where); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func storm(where string) error {
	l, err := Open(context.Background(), where, time.Now)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	return errors.Join(contend(context.Background(), l, strconv.Itoa(os.Getpid())), l.Close())
}
