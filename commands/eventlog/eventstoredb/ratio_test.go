package eventstoredb

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/google/uuid"

	"assent/commands/eventlog/internal/figures"
)

// BenchmarkRatios is the adapter against the bare client on the same fake
// server: what our guard, our limits and our reading back cost.
func BenchmarkRatios(b *testing.B) {
	b.Run("lone", func(b *testing.B) {
		figures.Pairs(b, "lone/client", figures.AtMost(2, 4), func() float64 {
			ours, bare := ourLoad(b, 1), bareLoad(b, 1)
			return bare / ours
		})
	})
	b.Run("crowd", func(b *testing.B) {
		figures.Pairs(b, "crowd/client", figures.AtLeast(0.5, 0.25), func() float64 {
			ours, bare := ourLoad(b, 64), bareLoad(b, 64)
			return ours / bare
		})
	})
	b.Run("scan", func(b *testing.B) {
		l := filled(b, 10_000)
		client := clientOf(b, "esdb://"+l.guard.conf.Address+"?tls=false")
		figures.Pairs(b, "scan/client", figures.AtLeast(0.7, 0.4), func() float64 {
			begun := time.Now()
			if n := scanned(b, l); n != 10_000 {
				b.Fatalf("%d events", n)
			}
			ours := time.Since(begun)
			begun = time.Now()
			if n := bareScan(b, client); n < 10_000 {
				b.Fatalf("%d events", n)
			}
			return float64(time.Since(begun)) / float64(ours)
		})
	})
}

// lasts is how long each side of a round appends.
const lasts = 500 * time.Millisecond

func ourLoad(b *testing.B, writers int) float64 {
	b.Helper()
	l := openAt(b, serve(b).URL(), time.Now)
	perSecond, _ := figures.Load(b, writers, lasts, func(w, i int) error {
		_, err := l.Append(b.Context(), one(w*1_000_000+i))
		return err
	})
	return perSecond
}

// bareLoad appends the same bytes through the client alone.
func bareLoad(b *testing.B, writers int) float64 {
	b.Helper()
	client := clientOf(b, serve(b).URL())
	perSecond, _ := figures.Load(b, writers, lasts, func(w, i int) error {
		e := one(w*1_000_000 + i)
		var expect esdb.ExpectedRevision = esdb.NoStream{}
		if e.Expect > 0 {
			expect = esdb.Revision(uint64(e.Expect - 1))
		}
		envelope := make([]byte, 280)
		_, err := client.AppendToStream(b.Context(), "assent."+e.Stream.String(), esdb.AppendToStreamOptions{ExpectedRevision: expect}, esdb.EventData{
			EventID: uuid.NewSHA1(uuid.NameSpaceOID, []byte(e.Events[0].ID)), EventType: e.Events[0].Word, ContentType: esdb.ContentTypeBinary, Data: payload, Metadata: envelope,
		})
		return err
	})
	return perSecond
}

func clientOf(b *testing.B, url string) *esdb.Client {
	b.Helper()
	config, err := esdb.ParseConnectionString(url)
	if err != nil {
		b.Fatal(err)
	}
	config.Logger = esdb.NoopLogging()
	client, err := esdb.NewClient(config)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = client.Close() })
	return client
}

// bareScan reads as many events of $all through the client alone, in the same
// pages.
func bareScan(b *testing.B, client *esdb.Client) (events int) {
	b.Helper()
	var from esdb.AllPosition = esdb.Start{}
	for {
		stream, err := client.ReadAll(b.Context(), esdb.ReadAllOptions{From: from, Direction: esdb.Forwards}, 1000)
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for {
			e, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
			from = e.Event.Position
			n++
		}
		stream.Close()
		if events += n; n < 1000 {
			return events
		}
	}
}
