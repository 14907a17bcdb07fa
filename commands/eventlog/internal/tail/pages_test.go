package tail_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"assent/commands/eventlog/internal/tail"
	"assent/domain"
)

// counted is a log of n numbers, which fails at a page that begins after bad.
func counted(n int, bad domain.Position) func(context.Context, domain.Position, int) ([]domain.Position, error) {
	return func(_ context.Context, after domain.Position, limit int) (page []domain.Position, err error) {
		if bad > 0 && after == bad {
			return nil, errGone
		}
		for p := after + 1; p <= domain.Position(n) && len(page) < limit; p++ {
			page = append(page, p)
		}
		return page, nil
	}
}

var errGone = errors.New("gone")

func itself(p domain.Position) domain.Position { return p }

func TestPagesAreEverythingInOrder(t *testing.T) {
	for _, n := range []int{0, 1, 9, 10, 11, 20, 25} {
		var got []domain.Position
		pages := 0
		for page, err := range tail.Pages(t.Context(), 0, 10, counted(n, 0), itself) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, page...)
			pages++
		}
		if len(got) != n || !slices.IsSorted(got) || pages != n/10+1 {
			t.Errorf("%d numbers came as %v in %d pages", n, got, pages)
		}
	}
}

func TestAPageThatCannotBeReadComesAfterThoseBeforeIt(t *testing.T) {
	var got []domain.Position
	var failed error
	for page, err := range tail.Pages(t.Context(), 0, 10, counted(30, 20), itself) {
		if err != nil {
			failed = err
		}
		got = append(got, page...)
	}
	if len(got) != 20 || !errors.Is(failed, errGone) {
		t.Errorf("%d numbers, then %v", len(got), failed)
	}
}

func TestWhoStopsLookingStopsTheReading(t *testing.T) {
	stopped := make(chan struct{})
	read := func(ctx context.Context, after domain.Position, limit int) ([]domain.Position, error) {
		if after == 0 {
			return counted(10, 0)(ctx, after, limit)
		}
		<-ctx.Done()
		close(stopped)
		return nil, ctx.Err()
	}
	for range tail.Pages(t.Context(), 0, 10, read, itself) {
		break
	}
	<-stopped
}
