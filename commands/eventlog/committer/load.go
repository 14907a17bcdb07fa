package committer

import (
	"errors"
	"fmt"

	"assent/commands"
	"assent/commands/eventlog/chain"
	"assent/commands/eventlog/internal/admit"
	"assent/domain"
)

// ErrApart is what Load answers when rows do not continue the log as it is: it
// has moved, or is another. Nothing was written.
var ErrApart = errors.New("these events do not continue the log")

// Load appends rows as they are, with their positions, times and hashes, right
// behind the log's end, all or none of them. The error is ErrApart, or one of
// the Backend's.
func Load(b Backend, rows []chain.Row) (commands.Head, error) {
	head, err := load(b, rows)
	if errors.Is(err, ErrMoved) {
		head, err = load(b, rows) // now the backend holds the log's end
	}
	return head, err
}

func load(b Backend, rows []chain.Row) (commands.Head, error) {
	var names []string
	for _, r := range rows {
		names = append(names, r.Stream.String())
	}
	head, err := b.Begin(names)
	if err != nil {
		return head, err
	}
	a, next, err := follow(b, head, rows)
	if err != nil {
		b.Abandon()
		return head, err
	}
	if err := b.Commit([]*admit.Append{a}, next); err != nil {
		return head, err
	}
	return next, nil
}

// follow sees that rows continue a head, each in its stream, and makes one
// append of them.
func follow(v admit.View, head commands.Head, rows []chain.Row) (*admit.Append, commands.Head, error) {
	w := chain.WalkFrom(chain.MarkOf(head))
	a := &admit.Append{Events: len(rows)}
	versions := make(map[string]domain.Version)
	for _, r := range rows {
		name := r.Stream.String()
		before, known := versions[name]
		if !known {
			var err error
			if before, err = v.Version(name); err != nil {
				return nil, head, err
			}
		}
		if err := w.Next(chain.Kept{Row: r, Before: before}); err != nil {
			return nil, head, fmt.Errorf("%w: %w", ErrApart, err)
		}
		versions[name] = r.Version
		a.Writes = append(a.Writes, admit.Write{Stream: r.Stream, Name: name, Expect: before, Rows: []chain.Row{r}})
	}
	return a, w.Head(), nil
}
