package projections

import (
	"context"
	"fmt"
	"sync"

	"assent/domain"
	"assent/domain/readmodel"
)

// skips are the events that are passed over: those that cannot be folded and
// that somebody decided to go on without. The log itself says who did, so that
// every rebuild passes over the same; a program that can fold one does.
type skips struct {
	log Source

	mu     sync.Mutex
	passed map[domain.ID]bool // found so far
}

func newSkips(log Source) *skips { return &skips{log: log, passed: map[domain.ID]bool{}} }

// have says whether an event is known to be passed over.
func (s *skips) have(id domain.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.passed[id]
}

// over asks the log whether the event that cannot be folded is to be passed
// over.
func (s *skips) over(ctx context.Context, h *Halt) (bool, error) {
	records, err := s.log.ReadStream(ctx, readmodel.Of(h.workspace, h.Event), 0)
	if err != nil {
		return false, fmt.Errorf("read whether %s is skipped: %w", h.Event, err)
	}
	if len(records) == 0 {
		return false, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.passed[h.Event] = true
	return true, nil
}
