package fake

import (
	"context"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Kind is a kind of call that a client makes.
type Kind int

// The kinds of calls. A subscription is no read.
const (
	Appends Kind = iota
	Reads
	Subscriptions
	Features // which methods and version the server has; the first call of a client
	Gossips

	kinds
)

// Fault is what goes wrong with a call.
type Fault int

// The faults. Those with Committed happen after the events were written, the
// others instead of it.
const (
	None              Fault = iota // nothing: a call that is to go well before others fail
	NotLeader                      // refers to the leader
	NotReady                       // answers that it is starting
	TooBusy                        // answers that it has too much to do
	Denied                         // answers that the user may not
	Early                          // refuses before the events have arrived
	TimedOut                       // answers that the cluster did not agree in time
	Broken                         // breaks the connection
	Silent                         // never answers
	CommittedTimedOut              // writes, then answers like TimedOut
	CommittedBroken                // writes, then breaks the connection
	CommittedSilent                // writes, then never answers
	Strange                        // answers a read with content that the client does not know
	Dateless                       // answers a read with events whose date cannot be read
)

// committed is the fault that comes after writing, without its writing.
func (f Fault) committed() (after Fault, writes bool) {
	switch f {
	case CommittedTimedOut:
		return TimedOut, true
	case CommittedBroken:
		return Broken, true
	case CommittedSilent:
		return Silent, true
	}
	return f, false
}

// faults are those asked for and not yet met.
type faults struct {
	mu   sync.Mutex
	next [kinds][]Fault
}

// Fail lets the next n calls of a kind end in a fault, after those that are
// already to fail.
func (s *Server) Fail(kind Kind, n int, fault Fault) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	for range n {
		s.faults.next[kind] = append(s.faults.next[kind], fault)
	}
}

// Heal takes back every fault that was not met yet.
func (s *Server) Heal() {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.next = [kinds][]Fault{}
}

// Delay lets every answer wait.
func (s *Server) Delay(d time.Duration) { s.delay.Store(int64(d)) }

// KillSubscriptions cuts every subscription after so many events of it; 0 cuts
// none.
func (s *Server) KillSubscriptions(events int) { s.kill.Store(int64(events)) }

// Repeat lets every subscription begin with the event that it is to begin
// after: a subscriber that comes back may be sent an event again.
func (s *Server) Repeat() { s.repeat.Store(true) }

// Lag keeps the newest events from reads and new subscriptions, as a follower
// does that is behind.
func (s *Server) Lag(events int) { s.lag.Store(int64(events)) }

// Open is how many reads and subscriptions are being answered.
func (s *Server) Open() int { return int(s.open.Load()) }

// Calls is how many calls of a kind there were.
func (s *Server) Calls(kind Kind) int { return int(s.calls[kind].Load()) }

// called counts a call and says what goes wrong with it.
func (s *Server) called(ctx context.Context, kind Kind) Fault {
	s.calls[kind].Add(1)
	if d := time.Duration(s.delay.Load()); d > 0 {
		select {
		case <-time.After(d):
		case <-ctx.Done():
		}
	}
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	if next := s.faults.next[kind]; len(next) > 0 {
		s.faults.next[kind] = next[1:]
		return next[0]
	}
	if s.leader != nil && kind == Appends {
		return NotLeader
	}
	return None
}

// meet is how a call ends that meets a fault.
func (s *Server) meet(ctx context.Context, fault Fault) error {
	switch fault {
	case NotLeader:
		leader := s
		if s.leader != nil {
			leader = s.leader
		}
		host, port := split(leader.address)
		return told(ctx, codes.NotFound, "Leader info available", "not-leader",
			"leader-endpoint-host", host, "leader-endpoint-port", strconv.Itoa(int(port)))
	case NotReady:
		return status.Error(codes.Unavailable, "Server Is Not Ready")
	case TooBusy:
		return status.Error(codes.Unavailable, "Server Is Too Busy")
	case Denied:
		return told(ctx, codes.PermissionDenied, "Access Denied", "access-denied")
	case Early:
		return s.tooLarge(ctx)
	case TimedOut:
		return status.Error(codes.Aborted, "Operation timed out: Commit phase timeout.")
	case Broken:
		s.Cut()
		return status.Error(codes.Unavailable, "the connection is gone")
	case Silent:
		<-ctx.Done()
		return status.FromContextError(ctx.Err()).Err()
	}
	return nil
}

// told is an error as the server spells them: its name and details are in the
// trailer.
func told(ctx context.Context, code codes.Code, text, exception string, details ...string) error {
	_ = grpc.SetTrailer(ctx, metadata.Pairs(append([]string{"exception", exception}, details...)...))
	return status.Error(code, text)
}
