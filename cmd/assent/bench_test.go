package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Whole-system figures, as ratios against bare references in the same run:
// `make bench`. Each is the median of five paired rounds, and the benchmark
// fails when one is past its floor. Servers are processes of their own, so
// that their processor time is theirs alone.

// rounds is how often a pair is measured, calls how often a round calls.
const (
	rounds = 5
	calls  = 300
)

// beBare serves the SDK's own trivial tool and nothing else.
func beBare() {
	tuneMemory()
	s := sdk.NewServer(&sdk.Implementation{Name: "bare", Version: "1"}, nil)
	type in struct {
		Text string `json:"text"`
	}
	sdk.AddTool(s, &sdk.Tool{Name: "echo"}, func(_ context.Context, _ *sdk.CallToolRequest, a in) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: a.Text}}}, nil, nil
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Printf("Console  http://%s\nASSENT_KEY\n", l.Addr())
	h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{Stateless: true})
	panic(http.Serve(l, h)) //nolint:gosec // a reference to measure against
}

// side is one server of a pair and what is asked of it.
type side struct {
	pid     int
	session *sdk.ClientSession
	tool    string
	args    func(i int) map[string]any
}

// measured is one round: processor time and usual wall time of a call.
type measured struct{ cpu, wall time.Duration }

func (s side) round(b *testing.B, from int) measured {
	b.Helper()
	walls := make([]time.Duration, calls)
	before := cpuOf(b, s.pid)
	for i := range calls {
		began := time.Now()
		res, err := s.session.CallTool(b.Context(), &sdk.CallToolParams{Name: s.tool, Arguments: s.args(from + i)})
		if err != nil || res.IsError {
			b.Fatalf("%s: %v %+v", s.tool, err, res)
		}
		walls[i] = time.Since(began)
	}
	return measured{(cpuOf(b, s.pid) - before) / calls, median(walls)}
}

// cpuOf is the processor time a process has used, children excluded.
func cpuOf(b *testing.B, pid int) time.Duration {
	b.Helper()
	var total time.Duration
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(tasks) == 0 {
		b.Fatalf("read the processor time of %d: %v", pid, err)
	}
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if err != nil {
			continue // a thread that ended
		}
		ns, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		total += time.Duration(ns)
	}
	return total
}

func median[T int | int64 | float64 | time.Duration](list []T) T {
	s := slices.Sorted(slices.Values(list))
	return s[len(s)/2]
}

// fsyncs is what one durable write of an event's size costs on this disk now.
func fsyncs(b *testing.B) time.Duration {
	b.Helper()
	f, err := os.Create(filepath.Join(b.TempDir(), "f"))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	text := make([]byte, 750)
	walls := make([]time.Duration, 100)
	for i := range walls {
		began := time.Now()
		if _, err := f.Write(text); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
		walls[i] = time.Since(began)
	}
	return median(walls)
}

// client opens a real client of a server.
func client(b *testing.B, url, key string) *sdk.ClientSession {
	b.Helper()
	s, err := sdk.NewClient(&sdk.Implementation{Name: "bench", Version: "1"}, nil).Connect(b.Context(),
		&sdk.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: bearer{key}}}, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return s
}

// BenchmarkCalls is what a governed call costs beside the SDK's bare one: a
// read at most 1.5 times its processor time, a write at most three times, and
// one fsync.
func BenchmarkCalls(b *testing.B) {
	bare := startAs(b, "bare", b.TempDir())
	defer bare.kill(b)
	ours := start(b, b.TempDir())
	p := newPeople(ours.url, links(ours.printed))
	p.owner(b, "ana", "home")
	p.agent(b, "bot", "ana", "edits", nil)
	session := client(b, ours.url+"/mcp", p.keys["bot"])
	made := callTool(b, session, "article.create", map[string]any{"site": "main", "slug": "menu", "title": "Menu", "body": strings.Repeat("Kale. ", 200)})

	echo := side{bare.Process.Pid, client(b, bare.url, ""), "echo", func(i int) map[string]any { return map[string]any{"text": "hello"} }}
	read := side{ours.Process.Pid, session, "article_get", func(int) map[string]any { return map[string]any{"article": made.Target.ID} }}
	write := side{ours.Process.Pid, session, "article_update", func(i int) map[string]any {
		return map[string]any{"article": made.Target.ID, "title": "Menu " + strconv.Itoa(i)}
	}}
	for _, s := range []side{echo, read, write} {
		s.round(b, -calls) // warm
	}
	for b.Loop() {
		var reads, writes, walls []float64
		for i := range rounds {
			e, r, w, f := echo.round(b, i*calls), read.round(b, i*calls), write.round(b, i*calls), fsyncs(b)
			reads = append(reads, ratio(r.cpu, e.cpu))
			writes = append(writes, ratio(w.cpu, e.cpu))
			walls = append(walls, ratio(w.wall, e.wall+f))
			b.Logf("bare %v cpu %v wall; read %v cpu %v wall; write %v cpu %v wall; fsync %v", e.cpu, e.wall, r.cpu, r.wall, w.cpu, w.wall, f)
		}
		atMost(b, "read-cpu/bare", median(reads), 1.5, 1.8)
		atMost(b, "write-cpu/bare", median(writes), 3, 3.5)
		atMost(b, "write-wall/(bare+fsync)", median(walls), 3, 3.5)
	}
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

// atMost reports a figure with what it aims at, and fails when it is past its
// floor: as far as it may come on a busy machine.
func atMost(b *testing.B, what string, is, aim, floor float64) {
	b.Helper()
	b.ReportMetric(is, what)
	b.Logf("%s: %.2f (aim %.2f, floor %.2f)", what, is, aim, floor)
	if is > floor {
		b.Errorf("%s is %.2f, past its floor of %.2f", what, is, floor)
	}
}

// BenchmarkSite is a real site of some 550 files: how fast it is taken in, how
// soon a server on it is ready, and how much memory that takes.
func BenchmarkSite(b *testing.B) {
	files := content(b)
	for b.Loop() {
		var rates, readies, sizes []float64
		for range rounds {
			dir := b.TempDir()
			began := time.Now()
			out, err := command(b.Context(), "import", files, "--data", dir, "--json").Output()
			if err != nil {
				b.Fatalf("%v: %s", err, out)
			}
			took := time.Since(began)
			var r report
			if err := json.Unmarshal(out, &r); err != nil {
				b.Fatal(err)
			}
			rates = append(rates, float64(r.Articles+r.Pages+len(r.Skipped))/took.Seconds())

			began = time.Now()
			s := start(b, dir)
			readies = append(readies, time.Since(began).Seconds())
			sizes = append(sizes, rss(b, s.Process.Pid))
			s.stop(b)
		}
		atLeast(b, "files/s", median(rates), 500, 250)
		atMost(b, "ready-s", median(readies), 1, 1.5)
		b.ReportMetric(median(sizes), "RSS-MiB")
	}
}

func atLeast(b *testing.B, what string, is, aim, floor float64) {
	b.Helper()
	b.ReportMetric(is, what)
	b.Logf("%s: %.0f (aim %.0f, floor %.0f)", what, is, aim, floor)
	if is < floor {
		b.Errorf("%s is %.0f, under its floor of %.0f", what, is, floor)
	}
}

// rss is the memory of a process in MiB.
func rss(b *testing.B, pid int) float64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "VmRSS:")
	kb, err := strconv.ParseFloat(strings.Fields(after)[0], 64)
	if err != nil {
		b.Fatal(err)
	}
	return kb / 1024
}
