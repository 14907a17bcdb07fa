package committer

import (
	"slices"

	"assent/commands/eventlog/chain"
	"assent/domain"
)

// How much a committer remembers of what it wrote last.
const (
	recentWrites = 4096
	recentBytes  = 4 << 20
	// recentMissed is how many events that others wrote to a stream are read
	// at once.
	recentMissed = 128
)

// recent is what was committed last, oldest first. Many who want one stream ask
// for the same few rows again and again: whether theirs are among them. Those
// who do not, which is nearly all, pay for keeping and not for looking.
type recent struct {
	writes []written
	bytes  int
}

// written is what one write added to a stream: one version after the other.
type written struct {
	stream string
	rows   []chain.Row
	bytes  int
}

// add remembers rows that are in the log now, and forgets the oldest.
func (m *recent) add(stream string, rows []chain.Row) {
	if len(rows) == 0 {
		return
	}
	w := written{stream: stream, rows: rows}
	for i := range rows {
		w.bytes += len(rows[i].Text) + len(rows[i].Data)
	}
	m.writes = append(m.writes, w)
	m.bytes += w.bytes
	for len(m.writes) > recentWrites || m.bytes > recentBytes {
		m.bytes -= m.writes[0].bytes
		m.writes[0] = written{}
		m.writes = m.writes[1:]
	}
}

// find gives at most limit rows of a stream after a version, if all from there
// up to where it is are remembered.
func (m *recent) find(stream string, after, at domain.Version, limit int) ([]chain.Row, bool) {
	for i, w := range slices.Backward(m.writes) {
		if w.stream != stream {
			continue
		}
		if w.rows[len(w.rows)-1].Version != at {
			return nil, false // others wrote to it meanwhile
		}
		first := w.rows[0].Version
		if first > after+1 {
			at = first - 1
			continue
		}
		rows := slices.Clip(w.rows[after+1-first:])
		for _, later := range m.writes[i+1:] {
			if len(rows) >= limit {
				break
			}
			if later.stream == stream {
				rows = append(rows, later.rows...)
			}
		}
		return rows[:min(len(rows), limit)], true
	}
	return nil, false
}
