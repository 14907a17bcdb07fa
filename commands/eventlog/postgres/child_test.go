package postgres

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assent/commands"
	"assent/domain"
)

// asInstance makes this test program an instance of the server: the log's URL,
// and what to do.
const asInstance = "ASSENT_TEST_INSTANCE"

func TestMain(m *testing.M) {
	where, job, told := strings.Cut(os.Getenv(asInstance), "\n")
	if !told {
		os.Exit(m.Run())
	}
	if err := instance(where, job); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// instance says when it is ready, starts when its input ends, and says how many
// appends it made.
func instance(where, job string) error {
	ctx := context.Background()
	l, err := Open(ctx, where, time.Now)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	var n int
	switch what, arg, _ := strings.Cut(job, " "); what {
	case "storm":
		n, err = 0, contend(ctx, l, strconv.Itoa(os.Getpid()))
	case "write":
		err = writeAll(ctx, l, arg)
	default:
		n, err = busy(ctx, l, what, arg)
	}
	if err := errors.Join(err, l.Close()); err != nil {
		return err
	}
	fmt.Println(n)
	return nil
}

// busy appends for a second from so many writers, to streams of their own or
// all to one.
func busy(ctx context.Context, l commands.Log, streams, writers string) (int, error) {
	debug.SetGCPercent(400) // as the program runs
	many, err := strconv.Atoi(writers)
	if err != nil {
		return 0, err
	}
	var g goldens
	if err := g.read(); err != nil {
		return 0, err
	}
	var n atomic.Int64
	errs := make([]error, many)
	var wg sync.WaitGroup
	for w := range many {
		wg.Go(func() {
			hot := domain.Version(0)
			for i, began := 0, time.Now(); time.Since(began) < time.Second; {
				write := g.one(os.Getpid()*100+w, i)
				if streams == "hot" {
					write.Stream.ID, write.Expect = "hot", hot
				}
				_, err := l.Append(ctx, write)
				if lost, moved := errors.AsType[*commands.Conflict](err); moved {
					hot = lost.Actual
					continue
				}
				if errs[w] = err; err != nil {
					return
				}
				i++
				hot++
				n.Add(1)
			}
		})
	}
	wg.Wait()
	return int(n.Load()), errors.Join(errs...)
}

// child is another process that is an instance.
type child struct {
	cmd   *exec.Cmd
	start func(testing.TB)
	said  *bufio.Reader
}

// spawn starts an instance, and returns once it is ready.
func spawn(t testing.TB, where, job string) *child {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), asInstance+"="+where+"\n"+job), os.Stderr
	hold, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	said, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{cmd, func(t testing.TB) {
		t.Helper()
		if err := hold.Close(); err != nil {
			t.Error(err)
		}
	}, bufio.NewReader(said)}
	if _, err := c.said.ReadString('\n'); err != nil {
		t.Fatalf("the instance did not get ready: %v", errors.Join(err, cmd.Wait()))
	}
	return c
}

// counted is how many appends an instance made once it is through.
func (c *child) counted(t testing.TB) int {
	t.Helper()
	line, said := c.said.ReadString('\n')
	if err := errors.Join(said, c.cmd.Wait()); err != nil {
		t.Error(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Errorf("the instance said %q", line)
	}
	return n
}
