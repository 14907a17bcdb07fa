package sqlite

import (
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"assent/domain"
)

// What the process keeps in memory depends on what it remembers at most, not on
// how long the log is.
func TestMemoryStaysFlatHoweverLongTheLog(t *testing.T) {
	events, warm := 40_000, 20_000
	if soaking() {
		events, warm = 10_000_000, 2_000_000
	}
	g := readGoldens(t)
	l := openAt(t, filepath.Join(t.TempDir(), "log.db"), time.Now)
	// Streams of two, so that there are many more than are remembered.
	const each, batch = 2, 500
	stream := 0
	grow := func(upTo int) uint64 {
		for at := int(head(t, l).Position); at < upTo; at += each * batch {
			writes := g.pairs(stream, batch)
			stream += batch
			for part := 0; part < batch; part += 100 { // within what one append may hold
				if _, err := l.Append(t.Context(), writes[part:part+100]...); err != nil {
					t.Fatal(err)
				}
			}
		}
		for at := domain.Position(0); ; { // readers, too
			recs, err := l.ReadAll(t.Context(), at, 1000)
			if err != nil {
				t.Fatal(err)
			}
			if len(recs) == 0 || at > 50_000 {
				break
			}
			at = recs[len(recs)-1].Position
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, after := grow(warm), grow(events)
	t.Logf("%d MiB at %d events, %d MiB at %d", before>>20, warm, after>>20, events)
	// What is remembered of streams is forgotten at once when it is too much:
	// the two may differ by all of it.
	if after > before+24<<20 {
		t.Errorf("memory grew from %d to %d MiB", before>>20, after>>20)
	}
}
