package chain_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
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

// kept is a log in memory, as a Reader gives it.
type kept struct {
	rows   []chain.Row
	head   commands.Head
	broken error // why it cannot be read
}

// sound is a log of n events of one stream.
func sound(n int) *kept {
	k := new(kept)
	for i := range n {
		r := chain.Row{Record: record(domain.Version(i+1), domain.Position(i+1)), Text: []byte(`{}`)}
		r.Link = chain.Link(k.head.Chain, r.Record, r.Text)
		k.rows = append(k.rows, r)
		k.head = commands.Head{Position: r.Position, At: r.At, Chain: r.Link}
	}
	return k
}

func (k *kept) Head(context.Context) (commands.Head, error) { return k.head, nil }

func (k *kept) Intact(context.Context) error { return nil }

func (k *kept) Rows(_ context.Context, after domain.Position, limit int) (rows []chain.Kept, err error) {
	if k.broken != nil {
		return nil, k.broken
	}
	var before domain.Version
	for _, r := range k.rows {
		if r.Position > after && len(rows) < limit {
			rows = append(rows, chain.Kept{Row: r, Before: before})
		}
		before = max(before, r.Version)
	}
	return rows, nil
}

func verify(t *testing.T, k *kept) error {
	t.Helper()
	_, err := chain.Verify(t.Context(), k, chain.Mark{}, nil)
	return err
}

func TestASoundLogVerifies(t *testing.T) {
	for _, n := range []int{0, 1, 5, 2500} {
		k := sound(n)
		var told []domain.Position
		reached, err := chain.Verify(t.Context(), k, chain.Mark{}, func(done, total domain.Position) {
			if total != domain.Position(n) {
				t.Errorf("%d of %d", done, total)
			}
			told = append(told, done)
		})
		if err != nil || reached != chain.MarkOf(k.head) {
			t.Errorf("%d events: %v, %v", n, reached, err)
		}
		if !slices.IsSorted(told) || n > 0 && told[len(told)-1] != domain.Position(n) {
			t.Errorf("%d events: the progress was %v", n, told)
		}
	}
}

// What happened is told by more than one event: see the tests of checkpoint,
// on real databases.
func TestABrokenLogNamesTheFirstWrongPosition(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*kept)
		want  domain.Position
	}{
		"other data": {func(k *kept) { k.rows[2].Data = []byte(`{"title": "B"}`) }, 3},
		"other data under a hash that fits it": {func(k *kept) {
			k.rows[2].Data = []byte(`{"title": "B"}`)
			k.rows[2].Link = chain.Link(k.rows[1].Link, k.rows[2].Record, k.rows[2].Text)
		}, 4},
		"an event missing":        {func(k *kept) { k.rows = slices.Delete(k.rows, 2, 3) }, 3},
		"the first event missing": {func(k *kept) { k.rows = k.rows[1:] }, 1},
		"two events changed places": {func(k *kept) {
			k.rows[1], k.rows[2] = k.rows[2], k.rows[1]
			k.rows[1].Position, k.rows[2].Position = 2, 3
		}, 2},
		"a version left out": {func(k *kept) {
			k.rows[3].Version = 9
			k.rows[3].Link = chain.Link(k.rows[2].Link, k.rows[3].Record, k.rows[3].Text)
		}, 4},
		"time running backwards": {func(k *kept) {
			k.rows[4].At = at.Add(-1)
			k.rows[4].Link = chain.Link(k.rows[3].Link, k.rows[4].Record, k.rows[4].Text)
		}, 5},
		"the end missing":        {func(k *kept) { k.rows = k.rows[:3] }, 4},
		"a head that is behind":  {func(k *kept) { k.head.Position, k.head.Chain = 3, k.rows[2].Link }, 4},
		"a head of another hash": {func(k *kept) { k.head.Chain[0]++ }, 5},
		"a head of another time": {func(k *kept) { k.head.At = k.head.At.Add(1) }, 5},
	} {
		k := sound(5)
		c.spoil(k)
		if broken, ok := chain.IsBroken(verify(t, k)); !ok || broken.Position != c.want || broken.Kind == "" {
			t.Errorf("%s: %v; it is position %d", name, broken, c.want)
		}
	}
}

func TestWhatKeepsRowsFromBeingReadIsTold(t *testing.T) {
	k := sound(5)
	k.broken = errors.New("gone")
	if err := verify(t, k); !errors.Is(err, k.broken) {
		t.Errorf("the error is %v", err)
	}
}

func TestAMarkIsReadBackAsItWasWritten(t *testing.T) {
	m := chain.Mark{Position: 12, Chain: [32]byte{1, 2, 255}}
	if got, err := chain.ParseMark(m.String()); err != nil || got != m {
		t.Errorf("%v, %v", got, err)
	}
	for _, text := range []string{"", "12", ":", "12:", "0:" + m.String()[3:], "-1:" + m.String()[3:], "x:" + m.String()[3:], m.String() + "x", "12:AQ=="} {
		if m, err := chain.ParseMark(text); err == nil {
			t.Errorf("%q is %v", text, m)
		}
	}
}
