package sqlite

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"assent/commands"
	"assent/commands/eventlog/chain"
	"assent/commands/eventlog/internal/admit"
	"assent/commands/eventlog/internal/figures"
)

// What the log is held against: the disk, the driver and the C library, each
// with the log's own work and without its checks.

// fdatasyncs is how long it takes to write so many bytes in place and have
// them on the disk: what no durable append can do without. It is a median.
func fdatasyncs(b *testing.B, size, times int) time.Duration {
	b.Helper()
	f, err := os.Create(filepath.Join(b.TempDir(), "bare"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	bytes := make([]byte, size)
	const places = 512
	if _, err := f.Write(make([]byte, places*size)); err != nil {
		b.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		b.Fatal(err)
	}
	took := make([]time.Duration, times)
	for i := range took {
		began := time.Now()
		if _, err := f.WriteAt(bytes, int64(i%places*size)); err != nil {
			b.Fatal(err)
		}
		if err := syscall.Fdatasync(int(f.Fd())); err != nil {
			b.Fatal(err)
		}
		took[i] = time.Since(began)
	}
	return figures.Median(took)
}

// bareInserts commits events, so many at once, with the log's own statements
// through the log's own driver: nothing is checked, hashed or handed over.
// It gives events a second.
func bareInserts(b *testing.B, g goldens, per, events int) float64 {
	b.Helper()
	l := benchLog(b)
	w := l.writer
	began := time.Now()
	for i := 0; i < events; i += per {
		head, err := w.Begin(nil)
		if err != nil {
			b.Fatal(err)
		}
		var appends []*admit.Append
		for k := range per {
			one := g.one(k, i/per)
			row := admit.Write{Name: one.Stream.String(), Expect: one.Expect}
			row.Rows = append(row.Rows, bareRow(one))
			head.Position++
			row.Rows[0].Position = head.Position
			appends = append(appends, &admit.Append{Writes: []admit.Write{row}, Events: 1})
		}
		if err := w.Commit(appends, head); err != nil {
			b.Fatal(err)
		}
	}
	return float64(events) / time.Since(began).Seconds()
}

func bareRow(w commands.Write) (r chain.Row) {
	r.Fresh = w.Events[0]
	r.Stream, r.Version, r.Text = w.Stream, w.Expect+1, []byte(typical)
	return r
}

// inC is the program in testdata that does the log's work through the C
// library.
type inC string

// compiled builds it, where there are a compiler and SQLite's header.
func compiled(b *testing.B) inC {
	b.Helper()
	program := filepath.Join(b.TempDir(), "raw")
	if out, err := exec.Command("cc", "-O2", "testdata/raw.c", "-lsqlite3", "-o", program).CombinedOutput(); err != nil {
		b.Skipf("the reference in C needs a compiler and SQLite's header (apt-get install gcc libsqlite3-dev): %v\n%s", err, out)
	}
	return inC(program)
}

// inserts is how many events a second it commits, so many at once.
func (c inC) inserts(b *testing.B, g goldens, per, events int) float64 {
	b.Helper()
	l := benchLog(b) // for its tables
	path := pathOf(l)
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	rows := filepath.Join(b.TempDir(), "rows")
	f, err := os.Create(rows)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	out := bufio.NewWriter(f)
	for _, e := range g.events {
		fmt.Fprintf(out, "%s\n%s\n%s\n", e.Word, typical, e.Data)
	}
	if err := out.Flush(); err != nil {
		b.Fatal(err)
	}
	return c.run(b, "insert", path, rows, strconv.Itoa(per), strconv.Itoa(events))
}

// scans is how many events a second it reads.
func (c inC) scans(b *testing.B, path string) float64 {
	b.Helper()
	return c.run(b, "scan", path)
}

func (c inC) run(b *testing.B, args ...string) float64 {
	b.Helper()
	out, err := exec.CommandContext(b.Context(), string(c), args...).Output()
	if err != nil {
		b.Fatalf("the reference in C: %v", err)
	}
	rate, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	if err != nil {
		b.Fatal(err)
	}
	return rate
}
