package chain_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"assent/commands"
	"assent/commands/eventlog/chain"
	"assent/domain"
)

var at = time.Date(2026, 3, 14, 12, 0, 0, 123456789, time.UTC)

func record(version domain.Version, position domain.Position) domain.Record {
	return domain.Record{
		Fresh:    domain.Fresh{ID: domain.ID(fmt.Sprintf("ev_%d", position)), Word: "article.updated", Revision: 1, Data: []byte(`{"title": "A"}`)},
		Stream:   domain.Stream{Category: "article", Workspace: "home", ID: "a"},
		Version:  version,
		Position: position,
		At:       at,
	}
}

// Logs live longer than programs: what a link is made of can never change.
func TestALinkIsTheSameForEver(t *testing.T) {
	link := chain.Link([32]byte{1, 2, 3}, record(1, 1), []byte(`{"action":"act_1"}`))
	if got, want := hex.EncodeToString(link[:]), "149b332439bde606afe7c50207ca215af036625ca48819ca9d001e68109ad23a"; got != want {
		t.Errorf("the link is %s, and was %s", got, want)
	}
}

func TestALinkCoversEverythingButThePosition(t *testing.T) {
	envelope := []byte(`{"action":"act_1"}`)
	want := chain.Link([32]byte{}, record(1, 1), envelope)
	for name, change := range map[string]func(*domain.Record, *[]byte, *[32]byte){
		"before":      func(_ *domain.Record, _ *[]byte, prev *[32]byte) { prev[31]++ },
		"id":          func(r *domain.Record, _ *[]byte, _ *[32]byte) { r.ID += "x" },
		"stream":      func(r *domain.Record, _ *[]byte, _ *[32]byte) { r.Stream.ID += "x" },
		"workspace":   func(r *domain.Record, _ *[]byte, _ *[32]byte) { r.Stream.Workspace += "x" },
		"version":     func(r *domain.Record, _ *[]byte, _ *[32]byte) { r.Version++ },
		"word":        func(r *domain.Record, _ *[]byte, _ *[32]byte) { r.Word += "x" },
		"revision":    func(r *domain.Record, _ *[]byte, _ *[32]byte) { r.Revision++ },
		"recorded-at": func(r *domain.Record, _ *[]byte, _ *[32]byte) { r.At = r.At.Add(1) },
		"envelope":    func(_ *domain.Record, e *[]byte, _ *[32]byte) { *e = append(*e, ' ') },
		"data":        func(r *domain.Record, _ *[]byte, _ *[32]byte) { r.Data = append(r.Data, ' ') },
		"what belongs to which": func(r *domain.Record, e *[]byte, _ *[32]byte) {
			*e = append(*e, r.Data[0])
			r.Data = r.Data[1:]
		},
	} {
		r, e, prev := record(1, 1), slices.Clone(envelope), [32]byte{}
		change(&r, &e, &prev)
		if chain.Link(prev, r, e) == want {
			t.Errorf("another %s gives the same link", name)
		}
	}
	r := record(1, 1)
	r.Position = 9
	r.At = r.At.In(time.FixedZone("far", 3600))
	if chain.Link([32]byte{}, r, envelope) != want {
		t.Error("a copy at another position, read in another zone, gives another link")
	}
}

// rows is a sound log of n events of one stream, and its head.
func rows(n int) ([]chain.Row, commands.Head) {
	var log []chain.Row
	var head commands.Head
	for i := range n {
		r := chain.Row{Record: record(domain.Version(i+1), domain.Position(i+1)), Text: []byte(`{}`)}
		r.Link = chain.Link(head.Chain, r.Record, r.Text)
		log = append(log, r)
		head = commands.Head{Position: r.Position, At: r.At, Chain: r.Link}
	}
	return log, head
}

func each(rows []chain.Row) iter.Seq2[chain.Row, error] {
	return func(yield func(chain.Row, error) bool) {
		for _, r := range rows {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func TestASoundLogVerifies(t *testing.T) {
	for _, n := range []int{0, 1, 5} {
		log, head := rows(n)
		if err := chain.Verify(each(log), head); err != nil {
			t.Errorf("%d events: %v", n, err)
		}
	}
}

func TestABrokenLogNamesTheFirstWrongPosition(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func([]chain.Row, *commands.Head) []chain.Row
		want  domain.Position
	}{
		"other data": {func(log []chain.Row, _ *commands.Head) []chain.Row {
			log[2].Data = []byte(`{"title": "B"}`)
			return log
		}, 3},
		"other data under a hash that fits it": {func(log []chain.Row, _ *commands.Head) []chain.Row {
			log[2].Data = []byte(`{"title": "B"}`)
			log[2].Link = chain.Link(log[1].Link, log[2].Record, log[2].Text)
			return log
		}, 4},
		"an event missing": {func(log []chain.Row, _ *commands.Head) []chain.Row {
			return slices.Delete(log, 2, 3)
		}, 3},
		"the first event missing": {func(log []chain.Row, _ *commands.Head) []chain.Row {
			return log[1:]
		}, 1},
		"two events changed places": {func(log []chain.Row, _ *commands.Head) []chain.Row {
			log[1], log[2] = log[2], log[1]
			log[1].Position, log[2].Position = 2, 3
			return log
		}, 2},
		"a version left out": {func(log []chain.Row, _ *commands.Head) []chain.Row {
			log[3].Version = 9
			log[3].Link = chain.Link(log[2].Link, log[3].Record, log[3].Text)
			return log
		}, 4},
		"time running backwards": {func(log []chain.Row, _ *commands.Head) []chain.Row {
			log[4].At = at.Add(-1)
			log[4].Link = chain.Link(log[3].Link, log[4].Record, log[4].Text)
			return log
		}, 5},
		"the end missing": {func(log []chain.Row, _ *commands.Head) []chain.Row { return log[:3] }, 4},
		"a head that is behind": {func(log []chain.Row, head *commands.Head) []chain.Row {
			head.Position = 3
			return log
		}, 4},
		"a head of another hash": {func(log []chain.Row, head *commands.Head) []chain.Row {
			head.Chain[0]++
			return log
		}, 5},
		"a head of another time": {func(log []chain.Row, head *commands.Head) []chain.Row {
			head.At = head.At.Add(1)
			return log
		}, 5},
	} {
		log, head := rows(5)
		log = c.spoil(log, &head)
		var broken *chain.Broken
		if err := chain.Verify(each(log), head); !errors.As(err, &broken) || broken.Position != c.want {
			t.Errorf("%s: %v; it is position %d", name, err, c.want)
		}
	}
}

func TestWhatKeepsRowsFromBeingReadIsTold(t *testing.T) {
	gone := errors.New("gone")
	err := chain.Verify(func(yield func(chain.Row, error) bool) { yield(chain.Row{}, gone) }, commands.Head{})
	if !errors.Is(err, gone) {
		t.Errorf("the error is %v", err)
	}
}
