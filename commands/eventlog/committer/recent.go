package committer

import (
	"assent/commands/eventlog/chain"
	"assent/domain"
)

// How much a committer remembers of what it wrote last.
const (
	recentRows  = 4096
	recentBytes = 4 << 20
	// recentMissed is how many events that others wrote to a stream are read
	// at once.
	recentMissed = 128
)

// recent is what was committed last. Many who want one stream ask for the same
// few rows again and again: whether theirs are among them.
type recent struct {
	streams map[string][]chain.Row // one version after the other, without gaps
	order   []string               // whose rows came, oldest first
	bytes   int
}

// add remembers rows that are in the log now, and forgets the oldest.
func (m *recent) add(stream string, rows []chain.Row) {
	if m.streams == nil {
		m.streams = make(map[string][]chain.Row)
	}
	for _, r := range rows {
		if had := m.streams[stream]; len(had) > 0 && had[len(had)-1].Version+1 != r.Version {
			m.forget(stream, len(had)) // others wrote to it meanwhile
		}
		m.streams[stream] = append(m.streams[stream], r)
		m.order = append(m.order, stream)
		m.bytes += len(r.Text) + len(r.Data)
	}
	for len(m.order) > recentRows || m.bytes > recentBytes {
		m.forget(m.order[0], 1)
		m.order = m.order[1:]
	}
}

// forget drops a stream's oldest rows, as far as they are remembered.
func (m *recent) forget(stream string, n int) {
	rows := m.streams[stream]
	n = min(n, len(rows))
	for _, r := range rows[:n] {
		m.bytes -= len(r.Text) + len(r.Data)
	}
	if n == len(rows) {
		delete(m.streams, stream)
		return
	}
	clear(rows[:n])
	m.streams[stream] = rows[n:]
}

// find gives the rows of a stream after a version up to where it is, if all of
// them are remembered.
func (m *recent) find(stream string, after, at domain.Version) ([]chain.Row, bool) {
	rows := m.streams[stream]
	if len(rows) == 0 || rows[0].Version > after+1 || rows[len(rows)-1].Version != at {
		return nil, false
	}
	return rows[after+1-rows[0].Version:], true
}
