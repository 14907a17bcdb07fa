package catalogue_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assent/domain"
	"assent/domain/catalogue"
	"assent/domain/domaintest"
	"assent/domain/vocab"
)

var update = flag.Bool("update", false, "write goldens of events that have none; those that stand are never touched")

const goldens = "testdata/events"

func words(t *testing.T) *vocab.Vocabulary {
	t.Helper()
	v, err := catalogue.Words()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestEveryEventKeepsTheLaws(t *testing.T) {
	kinds := catalogue.Kinds()
	for category, history := range histories {
		t.Run(category, func(t *testing.T) { domaintest.Laws(t, kinds[category], history) })
	}
}

func TestEveryKindHasALife(t *testing.T) {
	want := slices.Sorted(maps.Keys(catalogue.Kinds()))
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(histories))); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
}

// TestEveryWordIsSpeltAsItWas: what this program writes today is what its
// golden says. A change of spelling needs an upcast, and so a new revision
// with a golden of its own.
func TestEveryWordIsSpeltAsItWas(t *testing.T) {
	v := words(t)
	examples := map[string]any{}
	for category, history := range histories {
		for _, event := range history {
			word, revision, data, err := v.Spell(event)
			if err != nil {
				t.Fatal(err)
			}
			if kind, _, _ := strings.Cut(word, "."); kind != category {
				t.Errorf("%s is a word of %s", word, category)
			}
			if examples[word] != nil {
				continue
			}
			examples[word] = event
			golden(t, fmt.Sprintf("%s.%d.json", word, revision), data)
		}
	}
	for _, w := range v.Words() {
		if examples[w.Name] == nil {
			t.Errorf("%s has no example: add one to the histories", w.Name)
		}
	}
}

func golden(t *testing.T, name string, data json.RawMessage) {
	t.Helper()
	file := filepath.Join(goldens, name)
	want, err := os.ReadFile(file)
	if os.IsNotExist(err) && *update {
		if err := os.MkdirAll(goldens, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, append(data, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err != nil {
		t.Errorf("%s has no golden; write it with -update: %v", name, err)
		return
	}
	if got := append(slices.Clone(data), '\n'); !bytes.Equal(got, want) {
		t.Errorf("%s is spelt\n%sand was spelt\n%s", name, got, want)
	}
}

// TestEveryGoldenStillReads: every spelling of every event ever written is
// read, and no revision of any word lacks its golden.
func TestEveryGoldenStillReads(t *testing.T) {
	files, err := os.ReadDir(goldens)
	if err != nil {
		t.Fatal(err)
	}
	v := words(t)
	revisions := map[string]map[int]bool{}
	for _, f := range files {
		word, revision := parse(t, f.Name())
		data, err := os.ReadFile(filepath.Join(goldens, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		got, err := v.Read(domain.Record{Fresh: domain.Fresh{Word: word, Revision: revision, Data: data}})
		if err != nil {
			t.Errorf("%s: %v", f.Name(), err)
			continue
		}
		if _, unknown := got.Event.(vocab.Unknown); unknown {
			t.Errorf("%s is not known any more", f.Name())
		}
		if revisions[word] == nil {
			revisions[word] = map[int]bool{}
		}
		revisions[word][revision] = true
	}
	for _, w := range v.Words() {
		for r := 1; r <= w.Revision; r++ {
			if !revisions[w.Name][r] {
				t.Errorf("%s has no golden of revision %d", w.Name, r)
			}
		}
	}
}

func parse(t *testing.T, file string) (word string, revision int) {
	t.Helper()
	name, ok := strings.CutSuffix(file, ".json")
	i := strings.LastIndexByte(name, '.')
	if ok && i > 0 {
		if n, err := strconv.Atoi(name[i+1:]); err == nil {
			return name[:i], n
		}
	}
	t.Fatalf("%s is not named <word>.<revision>.json", file)
	return "", 0
}
