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

// find gives at most limit rows of a stream after a version, which is behind at,
// if all of them up to there are remembered. What was committed stays as it is,
// whoever has written since.
func (m *recent) find(stream string, after, at domain.Version, limit int) ([]chain.Row, bool) {
	last := min(after+domain.Version(limit), at)
	if last <= after {
		return nil, true
	}
	part := m.holding(stream, after+1)
	if part == nil {
		return nil, false
	}
	rows := part[:min(int(last-after), len(part))]
	for at := after + domain.Version(len(rows)); at < last; at = after + domain.Version(len(rows)) {
		if part = m.holding(stream, at+1); part == nil {
			return nil, false
		}
		rows = append(slices.Clip(rows), part[:min(int(last-at), len(part))]...)
	}
	return rows, true
}

// holding are rows of a stream from a version on; none if it is not remembered.
func (m *recent) holding(stream string, version domain.Version) []chain.Row {
	for _, w := range slices.Backward(m.writes) {
		if w.stream == stream && w.rows[0].Version <= version && version <= w.rows[len(w.rows)-1].Version {
			return w.rows[version-w.rows[0].Version:]
		}
	}
	return nil
}
