package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"assent/commands"
	"assent/domain/containment"
)

// BenchmarkContain plans to take back 1,000 and 10,000 actions of an agent, each
// on a thing of its own, and then takes the 10,000 back. It fails when the plan
// of ten times as many holds noticeably more in memory.
func BenchmarkContain(b *testing.B) {
	for range b.N {
		p := inProcessOf(b, servingPlan(b, plan{dir: b.TempDir(), vault: cheap}))
		p.owner(b, "ana", "home")
		bot := p.agent(b, "bot", "ana", "edits", nil)
		wish := commands.Containing{Scope: containment.Scope{Agent: bot, Since: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)}}
		made := 0
		var held [2]int64 // the most that a plan held, above what was there before it
		for i, n := range []int{1000, 10000} {
			p.write(b, made, n)
			made = n
			began, lines, before := time.Now(), 0, heap()
			err := p.server.desk.Plan(b.Context(), p.seats["ana"], wish, func(commands.PlanLine) error {
				if lines++; lines%500 == 0 {
					held[i] = max(held[i], heap()-before)
				}
				return nil
			})
			if err != nil || lines != n {
				b.Fatalf("%d lines of %d, %v", lines, n, err)
			}
			b.ReportMetric(float64(held[i])/(1<<20), fmt.Sprintf("MB-planning-%d", n))
			b.ReportMetric(time.Since(began).Seconds(), fmt.Sprintf("s-planning-%d", n))
		}
		if held[1] > held[0]+4<<20 {
			b.Errorf("the plan of 10,000 holds %d bytes, that of 1,000 %d", held[1], held[0])
		}
		began := time.Now()
		out, err := p.server.desk.Contain(b.Context(), p.seats["ana"], wish)
		for err == nil && out.Contained.State != "settled" {
			time.Sleep(100 * time.Millisecond) // it goes on by itself
			*out.Contained, err = p.server.desk.Contained(b.Context(), p.seats["ana"], out.Contained.ID)
		}
		if err != nil || out.Contained.Taken != made {
			b.Fatalf("%+v, %v", out.Contained, err)
		}
		b.ReportMetric(time.Since(began).Seconds(), "s-taking-back-10000")
	}
}

// heap is how much is in use, in bytes.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// write has the bot make articles, many at once.
func (p *inProcess) write(b *testing.B, from, to int) {
	b.Helper()
	next := make(chan int)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for i := range next {
				call := p.calls["bot"]
				call.Action, call.Args = "article.create", json.RawMessage(fmt.Sprintf(`{"site":"main","slug":"a%d","title":"Article %d","body":"Spam."}`, i, i))
				if out, err := p.server.road.Do(b.Context(), call); err != nil || out.Outcome != commands.Done {
					b.Errorf("%+v, %v", out, err)
				}
			}
		})
	}
	for i := range to - from {
		next <- from + i
	}
	close(next)
	all.Wait()
}
