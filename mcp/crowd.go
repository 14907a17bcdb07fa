package mcp

import (
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Limits of what one key can keep busy, so that a program that runs wild takes
// nobody else's room.
const (
	maxSessions = 128 // kept at once; the oldest makes room
	maxRequests = 256 // under way at once, open streams included
)

// crowd counts what each owner has under way.
type crowd struct {
	mu sync.Mutex
	n  map[string]int
}

// enter counts one more, unless the owner has too many.
func (c *crowd) enter(owner string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n[owner] >= maxRequests {
		return false
	}
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[owner]++
	return true
}

func (c *crowd) leave(owner string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n[owner]--; c.n[owner] <= 0 {
		delete(c.n, owner)
	}
}

// sessions are those of handshake clients, oldest first. A client that starts
// again and again without saying goodbye must not be locked out until its old
// sessions time out, so the oldest is ended instead; its client, should there
// still be one, starts a new one as the protocol asks.
type sessions struct {
	mu sync.Mutex
	of map[string][]*sdk.ServerSession
}

// The function is called when the session is over. One without a name, on a
// stream of its own, takes no room here.
func (s *sessions) admit(owner string, session *sdk.ServerSession, over func()) {
	if session.ID() == "" {
		go func() {
			_ = session.Wait()
			over()
		}()
		return
	}
	s.mu.Lock()
	if s.of == nil {
		s.of = map[string][]*sdk.ServerSession{}
	}
	list := append(s.of[owner], session)
	var oldest *sdk.ServerSession
	if len(list) > maxSessions {
		oldest, list = list[0], slices.Clone(list[1:])
	}
	s.of[owner] = list
	s.mu.Unlock()

	go func() { // lives as long as the session
		_ = session.Wait()
		over()
		s.leave(owner, session)
	}()
	if oldest != nil {
		go func() { _ = oldest.Close() }() // waits for what it has under way
	}
}

func (s *sessions) leave(owner string, session *sdk.ServerSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of[owner] = slices.DeleteFunc(s.of[owner], func(other *sdk.ServerSession) bool { return other == session })
	if len(s.of[owner]) == 0 {
		delete(s.of, owner)
	}
}

// underWay is requests that will be answered soon: all but streams that stay
// open.
type underWay struct {
	mu     sync.Mutex
	over   bool
	counts sync.WaitGroup
}

// begin counts a request until it is answered, unless the door is closing.
func (u *underWay) begin(r *http.Request) (answered func(), open bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.over:
		return nil, false
	case r.Method != http.MethodPost || r.Header.Get(methodHeader) == "subscriptions/listen":
		return func() {}, true
	}
	u.counts.Add(1)
	return u.counts.Done, true
}

// end lets nothing begin any more and waits for the answers, so long at most.
func (u *underWay) end(most time.Duration) {
	u.mu.Lock()
	u.over = true
	u.mu.Unlock()
	all := make(chan struct{})
	go func() {
		u.counts.Wait()
		close(all)
	}()
	select {
	case <-all:
	case <-time.After(most):
	}
}

// strangers counts those who were turned away and cannot be told apart: they
// have no place in the record, and one line a minute in the server's own log.
type strangers struct {
	logger *slog.Logger

	mu     sync.Mutex
	minute int64
	codes  map[string]int
}

func (s *strangers) count(code string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now().Unix() / 60; now != s.minute {
		s.report()
		s.minute = now
	}
	if s.codes == nil {
		s.codes = map[string]int{}
	}
	s.codes[code]++
}

// flush writes down what was counted so far.
func (s *strangers) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.report()
}

// report writes one line, if there is anything to say. The lock is held.
func (s *strangers) report() {
	if len(s.codes) == 0 {
		return
	}
	var counts []any
	for _, code := range slices.Sorted(maps.Keys(s.codes)) {
		counts = append(counts, code, s.codes[code])
	}
	s.logger.Warn("callers were turned away that nobody knows", counts...)
	s.codes = nil
}
