package tail

import (
	"context"
	"iter"

	"assent/domain"
)

// Pages reads what is after a position page by page, each while the one before
// it is looked at, and ends with the first that is not full. place is where an
// element is. An error of read ends it.
func Pages[T any](
	ctx context.Context,
	after domain.Position,
	size int,
	read func(ctx context.Context, after domain.Position, limit int) ([]T, error),
	place func(T) domain.Position,
) iter.Seq2[[]T, error] {
	type page struct {
		rows []T
		err  error
	}
	return func(yield func([]T, error) bool) {
		reading, stop := context.WithCancel(ctx)
		defer stop()
		ask := func(after domain.Position) <-chan page {
			answer := make(chan page, 1) // whoever stops looking leaves it there
			go func() {
				rows, err := read(reading, after, size)
				answer <- page{rows, err}
			}()
			return answer
		}
		rows, err := read(ctx, after, size) // few ever want a second page
		for {
			full := err == nil && len(rows) >= size
			var next <-chan page
			if full {
				next = ask(place(rows[len(rows)-1]))
			}
			if !yield(rows, err) || !full {
				return
			}
			p := <-next
			rows, err = p.rows, p.err
		}
	}
}
