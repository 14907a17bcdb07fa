package eventstoredb

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"

	"assent/commands"
	"assent/commands/eventlog/internal/tail"
	"assent/domain"
)

// ErrDamaged is that a stream of the log is deleted, or has metadata under
// which the server drops events.
var ErrDamaged = errors.New("a stream of the log is not whole")

// mirror is what one goroutine knows from following the log: its end, its
// chain, and which streams are not whole.
type mirror struct {
	path  string // of the bookmark; may be empty
	tail  *tail.Tail
	ready chan struct{} // closed when it has been at the end
	ended chan struct{} // closed when it goes no further
	why   error         // of that; set before
	count int           // events followed; of the one goroutine

	mu    sync.Mutex // of what follows
	seen  esdb.Position
	good  bookmark          // the last place without any damage before it
	saved bookmark          // what is in the file
	bad   map[string]string // streams that are not whole, and why
}

// bookmark is a place up to which the log was followed.
type bookmark struct {
	Prefix  string          `json:"prefix"`
	Commit  uint64          `json:"commit"` // looked at up to here
	Prepare uint64          `json:"prepare"`
	Last    domain.Position `json:"position"` // of the last event of the log
	At      time.Time       `json:"at"`
	Chain   []byte          `json:"chain"`
}

// from is where to go on.
func (m *mirror) from() esdb.AllPosition {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.seen == (esdb.Position{}) {
		return esdb.Start{}
	}
	return m.seen
}

// reached notes how far it is.
func (m *mirror) reached(head commands.Head, seen esdb.Position) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if seen.Commit > m.seen.Commit {
		m.seen = seen
	}
	if len(m.bad) > 0 {
		return
	}
	m.good.Commit, m.good.Prepare = m.seen.Commit, m.seen.Prepare
	m.good.Last, m.good.At, m.good.Chain = head.Position, head.At, head.Chain[:]
}

func (m *mirror) caughtUp() {
	select {
	case <-m.ready:
	default:
		close(m.ready)
	}
}

// mark notes that a stream was deleted or that its metadata changed.
func (m *mirror) mark(name string, kind kind, data []byte) {
	why := "it was deleted for ever (tombstone)"
	if kind == rules {
		why = limits(data)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case why == "":
		delete(m.bad, name)
	case m.bad == nil:
		m.bad = map[string]string{name: why}
	default:
		m.bad[name] = why
	}
}

// limits says why a stream with such metadata is not whole; empty if it is.
func limits(data []byte) string {
	var set struct {
		MaxAge   *json.Number `json:"$maxAge"`
		MaxCount *json.Number `json:"$maxCount"`
		Before   *json.Number `json:"$tb"`
	}
	if json.Unmarshal(data, &set) != nil {
		return "" // what cannot be read the server leaves alone, too
	}
	switch {
	case set.MaxAge != nil:
		return "its metadata has $maxAge"
	case set.MaxCount != nil:
		return "its metadata has $maxCount"
	case set.Before != nil && *set.Before != "0":
		return "it was deleted or truncated ($tb in its metadata)"
	}
	return ""
}

// refuses says why a stream is neither read nor written, if so.
func (m *mirror) refuses(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if why, ok := m.bad[name]; ok {
		return fmt.Errorf("%w: %w: %s: %s", commands.ErrUnavailable, ErrDamaged, name, why)
	}
	return nil
}

// damage names the streams that are not whole.
func (m *mirror) damage() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.bad) == 0 {
		return nil
	}
	var names []string
	for name, why := range m.bad {
		names = append(names, name+": "+why)
	}
	slices.Sort(names)
	more := ""
	if n := len(names); n > 5 {
		names, more = names[:5], fmt.Sprintf(" and %d more", n-5)
	}
	return fmt.Errorf("%w (%q%s); take $maxAge, $maxCount and $tb out of its metadata before the server's next scavenge, or open the log as damaged to save the rest", ErrDamaged, names, more)
}

// halted is why the mirror goes no further; nil while it does.
func (m *mirror) halted() error {
	select {
	case <-m.ended:
		return m.told(errClosed)
	default:
		return nil
	}
}

// told is the error for who waited in vain.
func (m *mirror) told(err error) error {
	if err != nil && errors.Is(err, errClosed) && m.why != nil && !errors.Is(m.why, errClosed) {
		return fmt.Errorf("%w: %w", commands.ErrUnavailable, m.why)
	}
	return err
}

// load reads the bookmark; false where there is none that can be read.
func (m *mirror) load() (b bookmark, ok bool) {
	if m.path == "" {
		return b, false
	}
	text, err := os.ReadFile(m.path)
	if err != nil || json.Unmarshal(text, &b) != nil || len(b.Chain) != 32 {
		return b, false
	}
	return b, true
}

// keep writes the bookmark.
func (m *mirror) keep() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.path == "" || len(m.good.Chain) == 0 || m.good.Commit == m.saved.Commit {
		return nil
	}
	text, err := json.Marshal(m.good)
	if err == nil {
		err = replace(m.path, append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("keeping the bookmark of the log: %w", err)
	}
	m.saved = m.good
	return nil
}

// replace writes a file so that it is the old one or the new one whatever
// happens.
func replace(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
