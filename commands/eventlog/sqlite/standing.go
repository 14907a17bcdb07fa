package sqlite

import (
	"sync"

	"assent/commands/eventlog/internal/admit"
	"assent/domain"
)

// standing is where streams are, for readers: what the writer knew for certain
// when it committed last. It only ever runs behind a commit that nobody was
// told of yet.
type standing struct {
	mu       sync.RWMutex
	versions map[string]domain.Version
}

func (s *standing) at(stream string) (domain.Version, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	v, known := s.versions[stream]
	return v, known
}

// learn takes over where the streams of committed appends are now.
func (s *standing) learn(streams map[string]streamHead, appends []*admit.Append) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.versions == nil {
		s.versions = make(map[string]domain.Version)
	}
	for _, a := range appends {
		for _, w := range a.Writes {
			if head, known := streams[w.Name]; known {
				s.versions[w.Name] = head.version
			}
		}
	}
}

func (s *standing) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.versions)
}
