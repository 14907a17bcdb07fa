package memory

import (
	"assent/commands"
	"assent/commands/eventlog/chain"
	"assent/commands/eventlog/internal/admit"
)

// appendWeakly looks at every expectation, then writes stream by stream.
func (l *Log) appendWeakly(a *admit.Append) (commands.Receipt, error) {
	left, last, answer, err := l.left(a)
	if err != nil {
		return commands.Receipt{}, err
	}
	if answer != nil {
		return answer.Receipt, answer.Err
	}
	if a.Events == 0 {
		head := l.tail.Head()
		return commands.Receipt{Position: head.Position, At: head.At}, nil
	}
	for i, w := range left {
		if err := l.pause(a, i); err != nil {
			return commands.Receipt{}, err
		}
		row, amiss, err := l.appendOne(w)
		switch {
		case err != nil:
			return commands.Receipt{}, err
		case amiss != nil && last.Position > 0:
			return commands.Receipt{}, admit.Partly(amiss)
		case amiss != nil:
			return commands.Receipt{}, amiss
		case row.Position > last.Position:
			last = row
		}
	}
	if err := l.pause(a, len(left)); err != nil {
		return commands.Receipt{}, err
	}
	return commands.Receipt{Position: last.Position, At: last.At}, nil
}

func (l *Log) left(a *admit.Append) ([]admit.Write, chain.Row, *admit.Answer, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return a.Weakly(view{l})
}

// appendOne writes one stream unless that has moved on since the expectations
// were looked at; somebody else may have written this very thing.
func (l *Log) appendOne(w admit.Write) (last chain.Row, amiss, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	there, amiss, err := w.Stands(view{l})
	if err != nil || amiss != nil || there.Position > 0 {
		return there, amiss, err
	}
	l.write(&admit.Append{Writes: []admit.Write{w}, Events: len(w.Rows)})
	return l.rows[len(l.rows)-1], nil, nil
}
