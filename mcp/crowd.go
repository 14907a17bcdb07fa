package mcp

import (
	"slices"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Limits of what one key can keep busy, so that a program that runs wild takes
// nobody else's room.
const (
	maxSessions = 32 // kept at once; the oldest makes room
	maxRequests = 64 // under way at once, open streams included
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

func (s *sessions) admit(owner string, session *sdk.ServerSession) {
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
