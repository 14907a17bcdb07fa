// Package fake is an EventStoreDB server in the process that uses it: the
// client's own protocol over TCP, the server's rules for expected revisions,
// repeated appends, filters, checkpoints and deletes, and a set of faults to
// ask for. It keeps everything in memory, speaks without TLS, and knows no
// users.
//
// What it does follows the server's published source. It is not the server:
// there is no disk, no replication and no scavenging.
package fake

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/gossip"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/serverfeatures"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
)

// Server is one node. Its methods may be called at any time, by anybody.
type Server struct {
	streams.UnimplementedStreamsServer
	serverfeatures.UnimplementedServerFeaturesServer

	store    *store
	leader   *Server // of which this node is a follower
	version  string
	maximum  int  // bytes of one append
	caughtUp bool // whether subscribers are told

	address string
	mu      sync.Mutex // of what follows
	node    *grpc.Server
	conns   map[net.Conn]struct{}
	serving sync.WaitGroup

	faults faults
	delay  atomic.Int64 // nanoseconds before each answer
	kill   atomic.Int64 // events after which a subscription is cut; 0: never
	repeat atomic.Bool  // whether subscriptions begin with the event they are to begin after
	lag    atomic.Int64 // how many of the newest events reads do not show yet
	open   atomic.Int64 // reads and subscriptions being answered
	calls  [kinds]atomic.Int64
}

// Option is a setting of New.
type Option func(*Server)

// Version is what the server says its version is; 24.10.5 unless said.
func Version(v string) Option { return func(s *Server) { s.version = v } }

// MaxAppend is how many bytes one append may have; 1 MiB unless said.
func MaxAppend(bytes int) Option { return func(s *Server) { s.maximum = bytes } }

// NeverCaughtUp makes a server as they were before 23.10, which do not tell a
// subscriber that it has seen everything.
func NeverCaughtUp() Option { return func(s *Server) { s.caughtUp = false } }

// FollowerOf makes a node that has the same events as another, and refers
// every append to it.
func FollowerOf(leader *Server) Option {
	return func(s *Server) { s.store, s.leader = leader.store, leader }
}

// New starts a server on a free port of this machine. It holds a few events of
// its own, as every server does.
func New(options ...Option) (*Server, error) {
	s := &Server{
		store:    newStore(),
		version:  "24.10.5",
		maximum:  1 << 20,
		caughtUp: true,
		address:  "127.0.0.1:0",
		conns:    make(map[net.Conn]struct{}),
	}
	for _, o := range options {
		o(s)
	}
	if s.leader == nil {
		s.Write("$users", "$UserCreated", `{"loginName": "admin"}`)
		s.Write("$settings", "settings", `{}`)
	}
	if err := s.Up(); err != nil {
		return nil, err
	}
	return s, nil
}

// Addr is where it listens, as host:port; the same when it comes up again.
func (s *Server) Addr() string { return s.address }

// URL is what a client connects with.
func (s *Server) URL() string { return "esdb://" + s.address + "?tls=false" }

// Up starts it where it listened before, with what it held.
func (s *Server) Up() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.node != nil {
		return nil
	}
	l, err := listen(s.address)
	if err != nil {
		return fmt.Errorf("the fake server: %w", err)
	}
	s.address = l.Addr().String()
	node := grpc.NewServer(
		grpc.MaxRecvMsgSize(17<<20),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Second, PermitWithoutStream: true}),
	)
	streams.RegisterStreamsServer(node, s)
	gossip.RegisterGossipServer(node, gossiping{s: s})
	serverfeatures.RegisterServerFeaturesServer(node, s)
	s.node = node
	s.serving.Go(func() { _ = node.Serve(&counted{l, s}) })
	return nil
}

// listen waits a moment for a port that this process has only just left.
func listen(address string) (l net.Listener, err error) {
	for range 50 {
		if l, err = net.Listen("tcp", address); err == nil {
			return l, nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return nil, err
}

// Down stops it at once and breaks every connection. What it holds stays.
func (s *Server) Down() {
	s.mu.Lock()
	node := s.node
	s.node = nil
	s.mu.Unlock()
	if node != nil {
		node.Stop()
		s.serving.Wait()
	}
}

// Close is Down for good.
func (s *Server) Close() { s.Down() }

// Cut breaks every connection; the server goes on.
func (s *Server) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		_ = c.Close()
	}
}

// counted is a listener whose connections the server can break.
type counted struct {
	net.Listener
	s *Server
}

// Accept waits for the next connection.
func (c *counted) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.s.conns[conn] = struct{}{}
	return &breakable{conn, c.s}, nil
}

type breakable struct {
	net.Conn
	s *Server
}

// Close ends the connection and forgets it.
func (b *breakable) Close() error {
	b.s.mu.Lock()
	delete(b.s.conns, b.Conn)
	b.s.mu.Unlock()
	err := b.Conn.Close()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
