package sqlite

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assent/commands"
	"assent/domain"
)

// typical is the envelope that an import gives an article: question and
// verdict included, as every first event of an action has them.
const typical = `{"action":"act_06h2xtpy1sf8mgsasw30tr1prr","name":"article.create","principal":{"kind":"agent","id":"agent_06h2xtpxzxsf"},"person":"person_06h2xtpxzx","via":{"key":"key_06h2xtpy1sf8mg"},"mode":"edits","correlation":"act_06h2xtpxzxsfrb2yb3cywnvax8","question":{"now":"2026-12-01T00:04:33.934328638Z","principal":{"kind":"agent","id":"agent_06h2xtpxzxsf"},"action":"article.create","class":"content","scope":"content:write","permission":"content.edit","site":"main","mode":"edits","scopes":["site:read","site:write","content:read","content:write","preview:create","publish","rollback"],"role":"owner"},"verdict":{"answer":"act","rules":"rules-1","passed":["paused","person-only","scope","site","skill","permission","mode","bypass","hold-destructive","hold-skill","low-risk-publish","hold-manual"]},"args":"37fe02e39131e1c7f9fbdebb95f1a884"}`

// goldens are events as the product writes them: every word there is, in the
// spelling that is kept for ever, with a typical envelope.
type goldens struct{ events []domain.Fresh }

func readGoldens(t testing.TB) goldens {
	t.Helper()
	files, err := filepath.Glob("../../../domain/catalogue/testdata/events/*.1.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden events: %v", err)
	}
	var g goldens
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		e := domain.Fresh{Word: strings.TrimSuffix(filepath.Base(file), ".1.json"), Revision: 1, Data: json.RawMessage(strings.TrimSpace(string(data)))}
		if err := json.Unmarshal([]byte(typical), &e.Envelope); err != nil {
			t.Fatal(err)
		}
		g.events = append(g.events, e)
	}
	return g
}

// perStream is how long the streams of a benchmark become.
const perStream = 100

// one is a writer's append number i: one event, to a stream of its own.
func (g goldens) one(writer, i int) commands.Write {
	e := g.events[(writer+i)%len(g.events)]
	e.ID = domain.ID(fmt.Sprintf("ev_%06d%020d", writer, i))
	return commands.Write{
		Stream: domain.Stream{Category: "article", Workspace: "home", ID: fmt.Sprintf("art_%06d%020d", writer, i/perStream)},
		Expect: domain.Version(i % perStream),
		Events: []domain.Fresh{e},
	}
}

// size is what an event of these takes in the log, on average.
func (g goldens) size() int {
	n := 0
	for _, e := range g.events {
		n += len(typical) + len(e.Data) + len(e.Word) + 120 // ids, numbers and hashes
	}
	return n / len(g.events)
}

// pairs are writes of two events each to so many streams that were never
// written to, from a number on.
func (g goldens) pairs(from, n int) []commands.Write {
	writes := make([]commands.Write, n)
	for i := range writes {
		writes[i] = g.one(from+i, 0)
		writes[i].Events = append(writes[i].Events, g.one(from+i, 1).Events...)
	}
	return writes
}
