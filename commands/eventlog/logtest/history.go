package logtest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"assent/commands"
	"assent/domain"
)

// historyCases record what several clients asked at the same time and were
// answered, and look for an order in which one after another could have been
// answered just so. Where answers can be lost, some are.
var (
	historyCases = []Case{
		{"what the clients of a few streams were answered fits one order in each stream", func(l *Log) {
			for seed := range times(6) {
				l.fits(streamOrder, l.record(seed, (*client).askStream))
			}
		}},
	}
	// orderCases are for logs that are Atomic; elsewhere only within each stream
	// is there an order that all answers fit.
	orderCases = []Case{
		{"what the clients of a whole log were answered fits one order", func(l *Log) {
			l.fits(logOrder, l.record(0, (*client).askLog))
			for seed := 1; seed < times(6); seed++ {
				l.T.Run(strconv.Itoa(seed), func(t *testing.T) { // which closes its log before the next is opened
					next := l.suite.log(t) // positions are counted from an empty log on
					next.fits(logOrder, next.record(seed, (*client).askLog))
				})
			}
		}},
	}
)

// fits says that there is an order for a history.
func (l *Log) fits(m porcupine.Model, history []porcupine.Operation) {
	l.T.Helper()
	switch porcupine.CheckOperationsTimeout(m, history, 20*time.Second) {
	case porcupine.Ok:
	case porcupine.Unknown:
		l.T.Errorf("whether %d answers fit one order could not be found out in time", len(history))
	default:
		l.T.Errorf("no order fits these answers:\n%s", describe(history))
	}
}

// asked is what a client wants: to append writes, or to read a stream, the log,
// or its head.
type asked struct {
	writes []commands.Write
	read   string
}

// What a client reads that is no stream.
const (
	readLog  = "the log"
	readHead = "the head"
)

// told is its answer.
type told struct {
	what     string // taken, unknown, reused, conflict, or what was read
	conflict commands.Conflict
	at       domain.Position // of a receipt or a head
}

// What an append is told besides what it reads.
const (
	taken      = "taken"
	conflicted = "conflict"
	unknown    = "unknown"
	reusedIDs  = "reused"
)

// order is a log that does one thing after another. Its state is a text, the
// events in order; lost answers fit whatever became of the append. The parts of
// a history know nothing of positions.
func order(partition func([]porcupine.Operation) [][]porcupine.Operation) porcupine.Model {
	return porcupine.Model{
		Partition: partition,
		Init:      func() any { return "" },
		Step: func(state, input, output any) (bool, any) {
			answer, next := answers(state.(string), input.(asked))
			got := output.(told)
			if partition != nil {
				got.at, answer.at = 0, 0
			}
			return got.what == unknown || got == answer, next
		},
	}
}

var (
	logOrder    = order(nil)
	streamOrder = order(func(history []porcupine.Operation) [][]porcupine.Operation {
		of := make(map[string][]porcupine.Operation)
		for _, o := range history {
			name := o.Input.(asked).stream()
			of[name] = append(of[name], o)
		}
		var parts [][]porcupine.Operation
		for _, part := range of {
			parts = append(parts, part)
		}
		return parts
	})
)

func (a asked) stream() string {
	if len(a.writes) > 0 {
		return a.writes[0].Stream.ID
	}
	return a.read
}

// answers is what a log in a state has to answer, and its state afterwards.
func answers(state string, a asked) (told, string) {
	events := strings.Fields(state)
	switch {
	case a.read == readLog:
		return told{what: state}, state
	case a.read == readHead:
		return told{what: readHead, at: domain.Position(len(events))}, state
	case a.read != "":
		return told{what: strings.Join(inStream(events, a.read), " ")}, state
	}
	var conflict *commands.Conflict
	there, last := 0, 0
	var all []string
	for _, w := range a.writes {
		held := inStream(events, w.Stream.ID)
		if v := domain.Version(len(held)); v != w.Expect && conflict == nil {
			conflict = &commands.Conflict{Stream: w.Stream, Expected: w.Expect, Actual: v}
		}
		for i, e := range w.Events {
			name := w.Stream.ID + "/" + string(e.ID)
			all = append(all, name)
			if slot := int(w.Expect) + i; slot < len(held) && held[slot] == name {
				there++
				last = max(last, slices.Index(events, name)+1)
			}
		}
	}
	switch {
	case conflict == nil:
		events = append(events, all...)
		return told{what: taken, at: domain.Position(len(events))}, strings.Join(events, " ")
	case there == 0:
		return told{what: conflicted, conflict: *conflict}, state
	case there < len(all):
		return told{what: reusedIDs}, state
	}
	return told{what: taken, at: domain.Position(last)}, state
}

func inStream(events []string, name string) (in []string) {
	for _, e := range events {
		if strings.HasPrefix(e, name+"/") {
			in = append(in, e)
		}
	}
	return in
}

// client is one of several that ask at the same time.
type client struct {
	log   *Log
	rand  *rand.Rand
	name  string
	made  int
	names [2]string                 // of the streams
	seen  map[string]domain.Version // where it believes the streams to be
	last  []commands.Write
}

// record lets clients ask in parallel and writes down what they are told.
func (l *Log) record(seed int, next func(*client) asked) []porcupine.Operation {
	const clients, questions = 5, 12
	var mu sync.Mutex
	var history []porcupine.Operation
	var wg sync.WaitGroup
	start := time.Now()
	for n := range clients {
		wg.Go(func() {
			c := &client{
				log: l, rand: rand.New(rand.NewPCG(uint64(seed), uint64(n))), name: fmt.Sprintf("%d-%d", seed, n),
				names: [2]string{fmt.Sprintf("a%d", seed), fmt.Sprintf("b%d", seed)}, seen: make(map[string]domain.Version),
			}
			for range questions {
				a := next(c)
				call := time.Since(start)
				answer := c.ask(a)
				back := int64(time.Since(start))
				if answer.what == unknown {
					back = math.MaxInt64 // it may be written at any time from now on
				}
				mu.Lock()
				history = append(history, porcupine.Operation{ClientId: n, Input: a, Call: int64(call), Output: answer, Return: back})
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return history
}

// askStream thinks of something to ask of one stream.
func (c *client) askStream() asked {
	name := c.names[c.rand.IntN(2)]
	switch n := c.rand.IntN(20); {
	case n < 6:
		return asked{read: name}
	case n < 9 && c.last != nil:
		return asked{writes: c.last}
	}
	return asked{writes: []commands.Write{c.write(name)}}
}

// askLog thinks of something to ask of several streams.
func (c *client) askLog() asked {
	one := c.rand.IntN(2)
	switch n := c.rand.IntN(20); {
	case n < 3:
		return asked{read: readLog}
	case n < 5:
		return asked{read: readHead}
	case n < 8:
		return asked{read: c.names[one]}
	case n < 11 && c.last != nil:
		return asked{writes: c.last}
	case n < 14:
		return asked{writes: []commands.Write{c.write(c.names[one]), {Stream: Article(c.names[1-one]), Expect: c.seen[c.names[1-one]]}}}
	case n < 17:
		return asked{writes: []commands.Write{c.write(c.names[one]), c.write(c.names[1-one])}}
	}
	return asked{writes: []commands.Write{c.write(c.names[one])}}
}

func (c *client) write(name string) commands.Write {
	w := commands.Write{Stream: Article(name), Expect: c.seen[name]}
	if c.rand.IntN(8) == 0 {
		w.Expect = max(w.Expect-1, 0)
	}
	for range 1 + c.rand.IntN(2) {
		c.made++
		w.Events = append(w.Events, Event(fmt.Sprintf("%s-%d", c.name, c.made)))
	}
	return w
}

func (c *client) ask(a asked) told {
	if a.writes == nil {
		return c.read(a.read)
	}
	c.last = a.writes
	if c.log.suite != nil && c.log.suite.lose != nil && c.rand.IntN(6) == 0 {
		c.log.lose()
	}
	r, err := c.log.Append(c.log.T.Context(), a.writes...)
	conflict, moved := isConflict(err)
	switch {
	case err == nil:
		for _, w := range a.writes {
			c.seen[w.Stream.ID] = w.Expect + domain.Version(len(w.Events))
		}
		return told{what: taken, at: r.Position}
	case moved:
		c.seen[conflict.Stream.ID] = conflict.Actual
		return told{what: conflicted, conflict: *conflict}
	case errors.Is(err, commands.ErrReused):
		return told{what: reusedIDs}
	case !errors.Is(err, commands.ErrUnknown):
		c.log.T.Errorf("append: %v", err)
	}
	return told{what: unknown}
}

func (c *client) read(what string) told {
	var recs []domain.Record
	var head commands.Head
	var err error
	switch what {
	case readHead:
		head, err = c.log.Head(c.log.T.Context())
	case readLog:
		recs, err = c.log.ReadAll(c.log.T.Context(), 0, 1<<20)
	default:
		recs, err = c.log.ReadStream(c.log.T.Context(), Article(what), 0)
		c.seen[what] = domain.Version(len(recs))
	}
	if err != nil {
		c.log.T.Errorf("reading %s: %v", what, err)
	}
	if what == readHead {
		return told{what: readHead, at: head.Position}
	}
	var events []string
	for _, r := range recs {
		events = append(events, r.Stream.ID+"/"+string(r.ID))
	}
	return told{what: strings.Join(events, " ")}
}

// describe tells a history in the order in which things were asked.
func describe(history []porcupine.Operation) string {
	slices.SortFunc(history, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	var text strings.Builder
	for _, o := range history {
		a, answer := o.Input.(asked), o.Output.(told)
		fmt.Fprintf(&text, "%d..%d client %d: ", o.Call, o.Return, o.ClientId)
		if a.read != "" {
			fmt.Fprintf(&text, "read %s", a.read)
		}
		for _, w := range a.writes {
			fmt.Fprintf(&text, "%s@%d", w.Stream.ID, w.Expect)
			for _, e := range w.Events {
				fmt.Fprintf(&text, "+%s", e.ID)
			}
			text.WriteByte(' ')
		}
		fmt.Fprintf(&text, " -> %s", answer.what)
		if answer.what == conflicted {
			fmt.Fprintf(&text, " (%v)", &answer.conflict)
		}
		if answer.at > 0 {
			fmt.Fprintf(&text, " at %d", answer.at)
		}
		text.WriteByte('\n')
	}
	return text.String()
}
