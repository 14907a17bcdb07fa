package pgtest

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Cluster is a PostgreSQL server and its files.
type Cluster struct {
	url string

	dir, binaries, options string
	as                     *syscall.SysProcAttr // who runs it
	watch                  *exec.Cmd
	hold                   io.Closer // ends the watch

	mu    sync.Mutex
	admin *pgx.Conn
}

// watch makes and starts a cluster in the folder $0 with the binaries in $1 and
// the options $2, says so, and stops and removes it once its input ends: also
// when the tests were killed.
const watch = `set -e
exec 2>>"$0/log"
"$1/initdb" -D "$0/data" -U postgres -A trust -E UTF8 --locale=C --no-sync >>"$0/log"
"$1/pg_ctl" -D "$0/data" -w -l "$0/log" -o "$2" start >>"$0/log"
echo started
cat >/dev/null
"$1/pg_ctl" -D "$0/data" -m immediate -w stop >>"$0/log" || :
cd /
rm -rf "$0" || :`

func start(settings []string) (*Cluster, error) {
	binaries, err := findBinaries()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "assent-pg") // short: a socket's path has to fit in 100 bytes
	if err != nil {
		return nil, err
	}
	c := &Cluster{url: "postgres://postgres@/postgres?host=" + url.QueryEscape(dir), dir: dir, binaries: binaries, options: options(dir, settings)}
	if err := c.run(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return c, nil
}

// options are the server's: only sockets, and only as durable as need be.
func options(dir string, settings []string) string {
	all := []string{"listen_addresses=", "unix_socket_directories=" + dir, "max_connections=200"}
	if bench := flag.Lookup("test.bench"); bench == nil || bench.Value.String() == "" {
		all = append(all, "fsync=off")
	}
	var b strings.Builder
	for _, s := range append(all, settings...) {
		fmt.Fprintf(&b, " -c '%s'", s)
	}
	return b.String()
}

func (c *Cluster) run() error {
	if os.Getuid() == 0 { // PostgreSQL does not run as root
		if err := c.lend(); err != nil {
			return err
		}
	}
	c.watch = c.command("sh", "-c", watch, c.dir, c.binaries, c.options)
	hold, err := c.watch.StdinPipe()
	if err != nil {
		return err
	}
	said, err := c.watch.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.watch.Start(); err != nil {
		return err
	}
	c.hold = hold
	if line, err := bufio.NewReader(said).ReadString('\n'); err != nil {
		return errors.Join(c.failed(fmt.Errorf("it said %q: %w", line, err)), c.watch.Wait())
	}
	return nil
}

// failed adds the server's own words to an error.
func (c *Cluster) failed(err error) error {
	told, _ := os.ReadFile(filepath.Join(c.dir, "log"))
	return fmt.Errorf("PostgreSQL in %s: %w\n%s", c.dir, err, told[max(0, len(told)-4096):])
}

// command is a program run by whoever runs the server.
func (c *Cluster) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.SysProcAttr = c.dir, c.as
	return cmd
}

// lend hands the folder to somebody who may run PostgreSQL.
func (c *Cluster) lend() error {
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
	c.as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	return os.Chown(c.dir, uid, gid)
}

// Kill stops a cluster of Start as a crash would: nothing is finished, and
// nothing is tidied up.
func (c *Cluster) Kill(t testing.TB) {
	t.Helper()
	c.control(t, "-m", "immediate", "-w", "stop")
}

// Again starts a cluster that was stopped, and returns once it answers.
func (c *Cluster) Again(t testing.TB) {
	t.Helper()
	c.control(t, "-w", "-l", filepath.Join(c.dir, "log"), "-o", c.options, "start")
}

// Freeze stops every process of a cluster of Start where it stands: whoever asks
// it something gets no answer, and no error either, until it is thawed.
func (c *Cluster) Freeze(t testing.TB) (thaw func()) {
	t.Helper()
	pids := c.pids(t)
	signal := func(s syscall.Signal) {
		for _, pid := range pids {
			_ = syscall.Kill(pid, s) // one of them may have ended
		}
	}
	signal(syscall.SIGSTOP)
	return func() { signal(syscall.SIGCONT) }
}

// pids are the server's first process and those that it made.
func (c *Cluster) pids(t testing.TB) []int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pids := []int{}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it ended
		}
		_, rest, _ := strings.Cut(string(stat), ") ") // a name may hold anything
		fields := strings.Fields(rest)
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil && len(fields) > 1 && (fields[1] == first || strconv.Itoa(pid) == first) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (c *Cluster) control(t testing.TB, args ...string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget()
	if out, err := c.command(filepath.Join(c.binaries, "pg_ctl"), append([]string{"-D", filepath.Join(c.dir, "data")}, args...)...).CombinedOutput(); err != nil {
		t.Fatal(c.failed(fmt.Errorf("pg_ctl %v: %w %s", args, err, out)))
	}
}

// forget ends the tests' own connection, whose server may be gone.
func (c *Cluster) forget() {
	if c.admin != nil {
		_ = c.admin.Close(context.Background())
		c.admin = nil
	}
}

// remove stops a cluster and leaves nothing of it.
func (c *Cluster) remove() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget()
	return errors.Join(c.hold.Close(), c.watch.Wait(), os.RemoveAll(c.dir))
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
	return "", errors.New("these tests need PostgreSQL's server programs (initdb, pg_ctl): install PostgreSQL")
}
