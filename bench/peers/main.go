// Command peers lets the log and other Go event stores do the same work, one
// after the other in each round, and prints medians and ratios: 64 writers, each
// with streams of its own, who say the version they expect.
//
// It is a module of its own, so that what it compares with is no dependency of
// the product.
//
// Of the stores that keep expected versions only looplab/eventhorizon is served
// by the module proxy, and of its back ends only the one in memory runs without
// a server: it keeps nothing, and has no order over all streams. The log is
// durable when it answers. Ratios against stores on a disk need their modules:
// add a maker below.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	eh "github.com/looplab/eventhorizon"
	ehmemory "github.com/looplab/eventhorizon/eventstore/memory"
	ehuuid "github.com/looplab/eventhorizon/uuid"

	"assent/commands"
	"assent/commands/eventlog/sqlite"
	"assent/domain"
)

// perStream is how long a stream becomes.
const perStream = 100

// peer is a store under test. Append adds one event to a writer's stream that
// has so many.
type peer interface {
	Append(ctx context.Context, writer, stream, version int) error
	Close() error
}

// maker opens a new store in a folder.
type maker struct {
	name string
	open func(ctx context.Context, dir string) (peer, error)
}

func main() {
	dir := flag.String("dir", os.TempDir(), "a folder on the disk to measure")
	lasts := flag.Duration("d", time.Second, "how long each store works in a round")
	rounds := flag.Int("rounds", 5, "how many rounds")
	writers := flag.Int("writers", 64, "how many write at once")
	flag.Parse()
	eh.RegisterEventData("article.updated", func() eh.EventData { return new(change) }) // it copies what it keeps
	if err := run(context.Background(), *dir, *writers, *rounds, *lasts); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir string, writers, rounds int, lasts time.Duration) error {
	makers := []maker{
		{"assent, SQLite, durable", openLog},
		{"looplab/eventhorizon, memory, not durable", openHorizon},
	}
	rates := make([][]float64, len(makers))
	var ratios []float64
	for range rounds {
		for i, m := range makers {
			rate, err := measure(ctx, m, dir, writers, lasts)
			if err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
			rates[i] = append(rates[i], rate)
		}
		ratios = append(ratios, rates[0][len(rates[0])-1]/rates[1][len(rates[1])-1])
	}
	for i, m := range makers {
		fmt.Printf("%-45s %8.0f appends/s (%.0f to %.0f)\n", m.name, median(rates[i]), slices.Min(rates[i]), slices.Max(rates[i]))
	}
	fmt.Printf("ratio of the first to the second, the median of %d rounds with %d writers: %.2f\n", rounds, writers, median(ratios))
	return nil
}

func median(list []float64) float64 { return slices.Sorted(slices.Values(list))[len(list)/2] }

// measure gives appends a second.
func measure(ctx context.Context, m maker, dir string, writers int, lasts time.Duration) (rate float64, err error) {
	own, err := os.MkdirTemp(dir, "peers")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(own)) }()
	p, err := m.open(ctx, own)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	var done atomic.Int64
	failed := make(chan error, writers)
	var all sync.WaitGroup
	began := time.Now()
	for w := range writers {
		all.Go(func() {
			for i := 0; time.Since(began) < lasts; i++ {
				if err := p.Append(ctx, w, i/perStream, i%perStream); err != nil {
					failed <- err
					return
				}
				done.Add(1)
			}
		})
	}
	all.Wait()
	rate = float64(done.Load()) / time.Since(began).Seconds()
	select {
	case err = <-failed:
	default:
	}
	return rate, err
}

// change is what an event says, for all alike.
type change struct {
	Collection string   `json:"collection"`
	Slug       string   `json:"slug"`
	Title      string   `json:"title"`
	Body       string   `json:"body"`
	Tags       []string `json:"tags"`
}

const changeText = `{"collection":"notes","slug":"spring","title":"Spring menu","body":"Peas, and what else the garden gives.","tags":["menu","spring"]}`

// ours is the log.
type ours struct{ *sqlite.Log }

func openLog(ctx context.Context, dir string) (peer, error) {
	l, err := sqlite.Open(ctx, filepath.Join(dir, "log.db"), time.Now)
	return ours{l}, err
}

func (o ours) Append(ctx context.Context, writer, stream, version int) error {
	id := fmt.Sprintf("%06d%010d%06d", writer, stream, version)
	_, err := o.Log.Append(ctx, commands.Write{
		Stream: domain.Stream{Category: "article", Workspace: "home", ID: fmt.Sprintf("art_%06d%010d", writer, stream)},
		Expect: domain.Version(version),
		Events: []domain.Fresh{{
			ID: domain.ID("ev_" + id), Word: "article.updated", Revision: 1, Data: []byte(changeText),
			Envelope: domain.Envelope{Action: domain.ID("act_" + id), Name: "article.update", Principal: domain.Principal{Kind: domain.KindAgent, ID: "agent_1"}, Person: "person_1"},
		}},
	})
	return err
}

// horizon is looplab/eventhorizon.
type horizon struct{ eh.EventStore }

func openHorizon(context.Context, string) (peer, error) {
	s, err := ehmemory.NewEventStore()
	return horizon{s}, err
}

func (h horizon) Append(ctx context.Context, writer, stream, version int) error {
	id, err := ehuuid.Parse(fmt.Sprintf("00000000-0000-7000-8000-%06d%06d", writer, stream))
	if err != nil {
		return err
	}
	data := change{Collection: "notes", Slug: "spring", Title: "Spring menu", Body: "Peas, and what else the garden gives.", Tags: []string{"menu", "spring"}}
	e := eh.NewEvent("article.updated", &data, time.Now(), eh.ForAggregate("article", id, version+1),
		eh.WithMetadata(map[string]any{"action": fmt.Sprintf("act_%d_%d_%d", writer, stream, version), "name": "article.update", "agent": "agent_1", "person": "person_1"}))
	return h.Save(ctx, []eh.Event{e}, version)
}
