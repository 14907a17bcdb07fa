package fake

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/google/uuid"
)

// store is what the nodes of one cluster hold.
type store struct {
	mu      sync.RWMutex
	all     []*event // by position
	streams map[string]*stream
	end     uint64        // position of the next event
	more    chan struct{} // closed when there is another event
}

// event is never changed once it is in.
type event struct {
	stream   string
	revision int64
	position uint64
	message
	created time.Time
}

// message is an event as a client sends it.
type message struct {
	id                uuid.UUID
	word, contentType string
	data, meta        []byte
}

// size is what the server counts of a message.
func (m message) size() int { return len(m.data) + len(m.meta) + 2*len(m.word) }

type stream struct {
	events  []*event
	deleted bool // for ever
}

// rules are what a stream's metadata can say about which events are shown.
type rules struct {
	MaxCount *int64 `json:"$maxCount"`
	Before   *int64 `json:"$tb"`
}

// What a writer can expect of a stream besides the revision of its last event.
const (
	noStream     int64 = -1
	anything     int64 = -2
	streamExists int64 = -4
)

// gone is the truncation that a soft delete leaves: everything.
const gone = math.MaxInt64

func newStore() *store {
	return &store{streams: make(map[string]*stream), end: 1217, more: make(chan struct{})}
}

// answer is what became of an append.
type answer struct {
	wrong    bool
	deleted  bool
	current  int64 // the stream's last revision
	revision int64 // of the last event of the append
	position uint64
}

// append is the server's decision about an append, and the append.
func (st *store) append(name string, expected int64, messages []message) answer {
	st.mu.Lock()
	defer st.mu.Unlock()
	s := st.streams[name]
	if s == nil {
		s = new(stream)
	}
	current := int64(len(s.events)) - 1
	if s.deleted {
		return answer{deleted: true}
	}
	reborn := expected == noStream && current >= 0 && st.softDeleted(name)
	switch {
	case expected == anything, reborn:
	case expected == streamExists:
		if current < 0 || st.softDeleted(name) {
			return answer{wrong: true, current: current}
		}
	case expected > current:
		return answer{wrong: true, current: current}
	case expected < current:
		return s.again(expected, current, messages)
	}
	if len(messages) == 0 {
		return answer{current: current, revision: current}
	}
	if reborn {
		st.truncate(name, current+1)
	}
	var last *event
	for _, m := range messages {
		last = st.add(name, m)
	}
	st.wake()
	return answer{current: current, revision: last.revision, position: last.position}
}

// again is the answer to an append that expects a revision gone by: it was
// answered before if exactly its events are in exactly those places.
func (s *stream) again(expected, current int64, messages []message) answer {
	wrong := answer{wrong: true, current: current}
	at := expected
	for _, m := range messages {
		if at++; at > current || s.events[at].id != m.id {
			return wrong
		}
	}
	if at < 0 {
		return wrong
	}
	return answer{current: current, revision: at, position: s.events[at].position}
}

// add puts one event at the end. The caller holds the lock.
func (st *store) add(name string, m message) *event {
	s := st.streams[name]
	if s == nil {
		s = new(stream)
		st.streams[name] = s
	}
	m.data, m.meta = bytes.Clone(m.data), bytes.Clone(m.meta)
	e := &event{stream: name, revision: int64(len(s.events)), position: st.end, message: m, created: time.Now()}
	s.events = append(s.events, e)
	st.all = append(st.all, e)
	st.end += uint64(100 + len(name) + m.size())
	return e
}

// delete makes a stream invisible; hard is for ever.
func (st *store) delete(name string, expected int64, hard bool) answer {
	st.mu.Lock()
	defer st.mu.Unlock()
	current := int64(-1)
	if s := st.streams[name]; s != nil {
		if s.deleted {
			return answer{deleted: true}
		}
		current = int64(len(s.events)) - 1
	}
	if expected >= noStream && expected != current {
		return answer{wrong: true, current: current}
	}
	defer st.wake()
	if !hard {
		return answer{current: current, position: st.truncate(name, gone).position}
	}
	end := st.add(name, message{id: uuid.New(), word: "$streamDeleted"})
	end.revision = math.MaxInt64 // as the server numbers it
	st.streams[name].deleted = true
	return answer{current: current, position: end.position}
}

// truncate hides a stream's events before a revision. The caller holds the
// lock.
func (st *store) truncate(name string, before int64) *event {
	return st.add("$$"+name, message{id: uuid.New(), word: "$metadata", contentType: jsonType, data: fmt.Appendf(nil, `{"$tb":%d}`, before)})
}

// wake tells who waits for more. The caller holds the lock.
func (st *store) wake() {
	close(st.more)
	st.more = make(chan struct{})
}

// rulesOf reads a stream's metadata. The caller holds the lock.
func (st *store) rulesOf(name string) (r rules) {
	if m := st.streams["$$"+name]; m != nil && len(m.events) > 0 {
		_ = json.Unmarshal(m.events[len(m.events)-1].data, &r) // what is no metadata rules nothing
	}
	return r
}

func (st *store) softDeleted(name string) bool {
	before := st.rulesOf(name).Before
	return before != nil && *before == gone
}

// shown are the events of a stream that its metadata lets be seen. Not found:
// there is no such stream, or it is deleted.
func (st *store) shown(name string) (events []*event, found, deleted bool) {
	st.mu.RLock()
	defer st.mu.RUnlock()
	s := st.streams[name]
	if s == nil {
		return nil, false, false
	}
	if s.deleted {
		return nil, true, true
	}
	r, from := st.rulesOf(name), int64(0)
	if r.Before != nil {
		from = max(from, *r.Before)
	}
	if r.MaxCount != nil {
		from = max(from, int64(len(s.events))-*r.MaxCount)
	}
	if from == gone {
		return nil, false, false
	}
	return s.events[min(from, int64(len(s.events))):], true, false
}

// log is everything there is but the newest hidden events, and a channel that
// is closed when there is more.
func (st *store) log(hidden int) ([]*event, <-chan struct{}) {
	st.mu.RLock()
	defer st.mu.RUnlock()
	return st.all[:max(len(st.all)-hidden, 0)], st.more
}

// from is the place in the log of the first event at or after a position, and
// whether one can be read from there: an event starts there, or nothing does
// because the log ends before.
func from(all []*event, position uint64) (place int, sound bool) {
	place = sort.Search(len(all), func(i int) bool { return all[i].position >= position })
	return place, place == len(all) || position == 0 || all[place].position == position
}

// Write appends an event as any other user of the server might, wherever the
// stream is.
func (s *Server) Write(stream, word, data string) {
	s.store.append(stream, anything, []message{{id: uuid.New(), word: word, contentType: jsonType, data: []byte(data)}})
}

// Tamper changes the data of the event at a position, or takes it out where
// data is nil, as somebody could who has the server's files.
func (s *Server) Tamper(position uint64, data []byte) {
	st := s.store
	st.mu.Lock()
	defer st.mu.Unlock()
	place := slices.IndexFunc(st.all, func(e *event) bool { return e.position == position })
	if place < 0 {
		return
	}
	old := st.all[place]
	stream := st.streams[old.stream]
	if data == nil {
		st.all = slices.Delete(slices.Clone(st.all), place, place+1)
		return
	}
	changed := *old
	changed.data = data
	st.all = slices.Clone(st.all) // readers have the old one
	st.all[place] = &changed
	stream.events = slices.Clone(stream.events)
	stream.events[slices.Index(stream.events, old)] = &changed
}
