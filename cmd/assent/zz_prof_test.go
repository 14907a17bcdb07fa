package main

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func init() {
	name := os.Getenv("ZZ_PROF")
	if name == "" || os.Getenv("ASSENT_TEST_MAIN") == "" {
		return
	}
	if os.Getenv("ZZ_MEM") != "" {
		runtime.MemProfileRate = 4096
	}
	name += "." + strings.Fields(os.Getenv("ASSENT_TEST_MAIN"))[0]
	go func() {
		ch := make(chan os.Signal, 4)
		signal.Notify(ch, syscall.SIGUSR1)
		for n := 0; ; n++ {
			<-ch
			f, _ := os.Create(fmt.Sprintf("%s.%d.cpu", name, n))
			runtime.SetCPUProfileRate(250)
			pprof.StartCPUProfile(f)
			var a, b runtime.MemStats
			runtime.ReadMemStats(&a)
			m0, _ := os.Create(fmt.Sprintf("%s.%d.mem0", name, n))
			runtime.GC()
			runtime.GC()
			pprof.Lookup("allocs").WriteTo(m0, 0)
			m0.Close()
			<-ch
			pprof.StopCPUProfile()
			f.Close()
			runtime.ReadMemStats(&b)
			m1, _ := os.Create(fmt.Sprintf("%s.%d.mem1", name, n))
			runtime.GC()
			runtime.GC()
			pprof.Lookup("allocs").WriteTo(m1, 0)
			m1.Close()
			fmt.Fprintf(os.Stderr, "%s %d: mallocs %d bytes %d gcs %d\n", name, n, b.Mallocs-a.Mallocs, b.TotalAlloc-a.TotalAlloc, b.NumGC-a.NumGC)
		}
	}()
}

func BenchmarkProf(b *testing.B) {
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
	site := side{ours.Process.Pid, session, "site_get", func(int) map[string]any { return map[string]any{"site": "main"} }}
	write := side{ours.Process.Pid, session, "article_update", func(i int) map[string]any {
		return map[string]any{"article": made.Target.ID, "title": "Menu " + strconv.Itoa(i)}
	}}
	for _, s := range []side{echo, read, site, write} {
		s.round(b, -calls)
	}
	n := 10
	for k, s := range []side{echo, read, write, site} {
		syscall.Kill(s.pid, syscall.SIGUSR1)
		time.Sleep(300 * time.Millisecond)
		for i := range n {
			m := s.round(b, (k*n+i+1)*calls)
			b.Logf("%s %v", s.tool, m)
		}
		syscall.Kill(s.pid, syscall.SIGUSR1)
		time.Sleep(500 * time.Millisecond)
	}
}
