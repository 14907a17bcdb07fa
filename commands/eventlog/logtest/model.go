package logtest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"assent/commands"
	"assent/domain"
)

// reference is the smallest log there is: what the others have to agree with.
type reference struct {
	clock *Clock
	all   []domain.Record // positions are the log's own
	time  time.Time
}

func (m *reference) stream(s domain.Stream) []domain.Record {
	return slices.DeleteFunc(slices.Clone(m.all), func(r domain.Record) bool { return r.Stream != s })
}

func (m *reference) version(s domain.Stream) domain.Version {
	return domain.Version(len(m.stream(s)))
}

func (m *reference) conflict(writes []commands.Write) *commands.Conflict {
	for _, w := range writes {
		if v := m.version(w.Stream); v != w.Expect {
			return &commands.Conflict{Stream: w.Stream, Expected: w.Expect, Actual: v}
		}
	}
	return nil
}

// add appends, and gives the records that are new.
func (m *reference) add(writes []commands.Write) []domain.Record {
	now, from := m.clock.Now(), len(m.all)
	for _, w := range writes {
		for i, e := range w.Events {
			if now.After(m.time) {
				m.time = now
			}
			m.all = append(m.all, domain.Record{Fresh: e, Stream: w.Stream, Version: w.Expect + domain.Version(i) + 1, At: m.time})
		}
	}
	return m.all[from:]
}

// modelCases take a log and the reference the same random ways, and compare all
// that they say.
var modelCases = []Case{
	{"whatever is asked of it, it answers like the smallest log there is", func(l *Log) {
		n, failed := 0, false
		for range times(1) {
			most := n + walks
			rapid.Check(l.T, func(t *rapid.T) {
				if n == most && !failed { // afterwards, smaller ways to fail are looked for
					return
				}
				n++
				fails := true
				defer func() { failed = failed || fails }()
				newWalk(t, l, fmt.Sprintf("w%d", n)).take()
				fails = false
			})
		}
	}},
}

// walks is how many random ways are taken, of those that rapid would take.
const walks = 40

// walk is one random way, in a workspace of its own: so the log is opened only
// once for all.
type walk struct {
	reference
	t         *rapid.T
	log       *Log
	workspace string
	start     domain.Position
	made      int    // events, for their ids
	past      []past // appends that were taken
}

type past struct {
	writes  []commands.Write
	receipt commands.Receipt
}

func newWalk(t *rapid.T, l *Log, workspace string) *walk {
	head := l.End()
	return &walk{reference: reference{clock: l.Clock, time: head.At}, t: t, log: l, workspace: workspace, start: head.Position}
}

func (w *walk) take() {
	steps := map[string]func(*rapid.T){
		"append":      w.append,
		"repeat":      w.repeat,
		"begin again": w.shorter,
		"reuse":       w.reuse,
		"go on":       w.longer,
		"check":       w.check,
		"clock":       w.move,
		"stream":      w.read,
		"page":        w.page,
		"follow":      w.follow,
		"":            w.head,
	}
	if w.log.suite.again != nil {
		steps["reopen"] = w.anew
	}
	if w.log.suite.lose != nil {
		steps["lose"] = w.lost
	}
	w.t.Repeat(steps)
	w.same("the whole log", w.log.After(w.start, 1<<20), w.all)
}

// anew opens the log again, now and then: to a server that takes long.
func (w *walk) anew(t *rapid.T) {
	if rapid.IntRange(0, 3).Draw(t, "reopen") > 0 {
		t.Skip("not now")
	}
	w.log.reopen()
}

func (w *walk) article(name string) domain.Stream {
	return domain.Stream{Category: "article", Workspace: w.workspace, ID: name}
}

var articles = []string{"a", "b", "c", "d"}

// draw makes an append to some streams, whose expectations are mostly right.
func (w *walk) draw(t *rapid.T, offs ...int) (writes []commands.Write, events int) {
	for _, name := range rapid.Permutation(articles).Draw(t, "streams")[:rapid.IntRange(0, 3).Draw(t, "writes")] {
		off := rapid.SampledFrom(append([]int{0, 0, 0, 0, 0, 0}, offs...)).Draw(t, "off")
		write := commands.Write{Stream: w.article(name), Expect: max(w.version(w.article(name))+domain.Version(off), 0)}
		for range rapid.IntRange(0, 3).Draw(t, "events") {
			w.made++
			events++
			write.Events = append(write.Events, Event(fmt.Sprintf("%s-%d", w.workspace, w.made)))
		}
		writes = append(writes, write)
	}
	return writes, events
}

func (w *walk) append(t *rapid.T) {
	writes, events := w.draw(t, -1, 1)
	conflict := w.conflict(writes)
	got, err := w.log.Append(w.log.T.Context(), writes...)
	told, _ := isConflict(err)
	switch {
	case conflict != nil && (told == nil || *told != *conflict):
		t.Fatalf("the error is %v; it should be %v", err, conflict)
	case conflict != nil:
	case err != nil:
		t.Fatalf("append: %v", err)
	default:
		w.took(t, writes, events, got)
	}
}

// took notes an append that was taken, once what the log holds is what it was
// given.
func (w *walk) took(t *rapid.T, writes []commands.Write, events int, receipt commands.Receipt) {
	last := w.end()
	want := w.add(writes)
	got := w.log.After(last, events+1)
	if len(got) == events {
		for i := range want {
			if got[i].Position <= last || w.log.Atomic() && got[i].Position != last+1 {
				t.Fatalf("position %d comes after %d", got[i].Position, last)
			}
			last = got[i].Position
			want[i].Position = last
		}
	}
	w.same("what was appended", got, want)
	w.same("the receipt", receipt, commands.Receipt{Position: last, At: w.log.End().At})
	if events > 0 {
		w.past = append(w.past, past{writes, receipt})
	}
}

func (w *walk) end() domain.Position {
	if len(w.all) == 0 {
		return w.start
	}
	return w.all[len(w.all)-1].Position
}

// lost is an append whose answer is lost; it is asked for until it is answered.
func (w *walk) lost(t *rapid.T) {
	writes, events := w.draw(t)
	if events == 0 {
		t.Skip("nothing to lose")
	}
	w.log.doubt(writes...)
	if w.log.suite.again != nil && rapid.IntRange(0, 7).Draw(t, "reopen") == 0 {
		w.log.reopen()
	}
	w.took(t, writes, events, w.log.resolve(writes...))
}

func (w *walk) before(t *rapid.T) past {
	if len(w.past) == 0 {
		t.Skip("nothing was appended yet")
	}
	p := rapid.SampledFrom(w.past).Draw(t, "append")
	return past{slices.Clone(p.writes), p.receipt}
}

func (w *walk) repeat(t *rapid.T) {
	p := w.before(t)
	got, err := w.log.Append(w.log.T.Context(), p.writes...)
	if err != nil {
		t.Fatalf("the repeated append: %v", err)
	}
	w.same("the repeated append", got, p.receipt)
}

// shorter repeats the beginning of one stream of an append.
func (w *walk) shorter(t *rapid.T) {
	write := w.written(t, w.before(t).writes)
	write.Events = write.Events[:rapid.IntRange(1, len(write.Events)).Draw(t, "events")]
	got, err := w.log.Append(w.log.T.Context(), write)
	if err != nil {
		t.Fatalf("the beginning of an append: %v", err)
	}
	last := w.stream(write.Stream)[int(write.Expect)+len(write.Events)-1]
	w.same("the beginning of an append", got, commands.Receipt{Position: last.Position, At: last.At})
}

// written draws one write that has events.
func (w *walk) written(t *rapid.T, writes []commands.Write) commands.Write {
	return rapid.SampledFrom(slices.DeleteFunc(writes, func(w commands.Write) bool { return len(w.Events) == 0 })).Draw(t, "write")
}

// reuse appends something else under ids that are there.
func (w *walk) reuse(t *rapid.T) {
	write := w.written(t, w.before(t).writes)
	write.Events = slices.Clone(write.Events)
	e := &rapid.SampledFrom(at(write.Events)).Draw(t, "event").Data
	*e = append(slices.Clone(*e), ' ')
	w.refused(t, write)
}

func at(events []domain.Fresh) (each []*domain.Fresh) {
	for i := range events {
		each = append(each, &events[i])
	}
	return each
}

// longer repeats one stream of an append with an event more, which is not what
// was appended after it.
func (w *walk) longer(t *rapid.T) {
	write := w.written(t, w.before(t).writes)
	w.made++
	write.Events = append(slices.Clone(write.Events), Event(fmt.Sprintf("%s-%d", w.workspace, w.made)))
	w.refused(t, write)
}

func (w *walk) refused(t *rapid.T, write commands.Write) {
	if _, err := w.log.Append(w.log.T.Context(), write); !errors.Is(err, commands.ErrReused) {
		t.Fatalf("the error is %v; it should be ErrReused", err)
	}
}

func (w *walk) check(t *rapid.T) {
	s := w.article(rapid.SampledFrom(articles).Draw(t, "stream"))
	expect := max(w.version(s)+domain.Version(rapid.IntRange(-1, 1).Draw(t, "off")), 0)
	_, err := w.log.Append(w.log.T.Context(), commands.Write{Stream: s, Expect: expect})
	if _, conflict := isConflict(err); conflict != (expect != w.version(s)) || !conflict && err != nil {
		t.Fatalf("a check for %d at %d: %v", expect, w.version(s), err)
	}
}

func (w *walk) move(t *rapid.T) {
	w.clock.Move(time.Duration(rapid.IntRange(-5, 10).Draw(t, "seconds")) * time.Second)
}

func (w *walk) read(t *rapid.T) {
	s := w.article(rapid.SampledFrom(articles).Draw(t, "stream"))
	after := domain.Version(rapid.IntRange(0, 5).Draw(t, "after"))
	want := w.stream(s)
	got, err := w.log.ReadStream(w.log.T.Context(), s, after)
	if err != nil {
		t.Fatalf("reading %s: %v", s, err)
	}
	w.same("the stream", got, want[min(int(after), len(want)):])
}

// place draws a place in the log, as an index and a position.
func (w *walk) place(t *rapid.T) (int, domain.Position) {
	i := rapid.IntRange(0, len(w.all)).Draw(t, "after")
	if i == 0 {
		return 0, w.start
	}
	return i, w.all[i-1].Position
}

func (w *walk) page(t *rapid.T) {
	from, after := w.place(t)
	limit := rapid.IntRange(1, 5).Draw(t, "limit")
	w.same("the page", w.log.After(after, limit), w.all[from:min(from+limit, len(w.all))])
}

func (w *walk) follow(t *rapid.T) {
	from, after := w.place(t)
	if from == len(w.all) {
		t.Skip("a follower would wait")
	}
	w.same("followed", w.log.collect(after, len(w.all)-from), w.all[from:])
}

func (w *walk) head(t *rapid.T) {
	head := w.log.End()
	want := commands.Head{Position: w.end(), At: head.At, Chain: head.Chain}
	if n := len(w.all); n > 0 {
		want.At = w.all[n-1].At
	}
	w.same("the head", head, want)
}

func (w *walk) same(what string, got, want any) {
	w.t.Helper()
	if recs, ok := got.([]domain.Record); ok && len(recs) == 0 {
		got = []domain.Record(nil) // none is none
	}
	if recs, ok := want.([]domain.Record); ok && len(recs) == 0 {
		want = []domain.Record(nil)
	}
	if d := diff(want, got); d != "" {
		w.t.Fatalf("%s (-want +got):\n%s", what, d)
	}
}
