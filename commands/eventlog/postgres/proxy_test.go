package postgres

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"testing"

	"assent/commands/eventlog/postgres/pgtest"
)

// road is a way to the server that can be broken: a socket whose bytes are
// handed on both ways.
type road struct {
	t      *testing.T
	server string // the server's own socket

	mu       sync.Mutex
	closed   bool // turns new connections away
	silent   bool // takes new connections and says nothing
	swallow  string
	travels  []net.Conn
	listener net.Listener
}

// newRoad is a road to a log's URL, and the URL that takes it.
func newRoad(t *testing.T, where string) (*road, string) {
	t.Helper()
	u, err := url.Parse(where)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &road{t: t, server: filepath.Join(u.Query().Get("host"), ".s.PGSQL.5432"), listener: l}
	t.Cleanup(func() {
		l.Close()
		r.cut()
	})
	go r.serve()
	host, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return r, pgtest.With(t, pgtest.With(t, pgtest.With(t, where, "host", host), "port", port), "sslmode", "disable")
}

func (r *road) serve() {
	for {
		here, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.mu.Lock()
		closed, silent := r.closed, r.silent
		r.travels = append(r.travels, here)
		r.mu.Unlock()
		switch {
		case closed:
			here.Close()
		case !silent:
			go r.travel(here)
		}
	}
}

func (r *road) travel(here net.Conn) {
	defer here.Close()
	there, err := net.Dial("unix", r.server)
	if err != nil {
		return
	}
	defer there.Close()
	go func() {
		defer here.Close()
		_, _ = io.Copy(here, &toll{there, r})
	}()
	_, _ = io.Copy(there, here)
}

// toll reads answers of the server, and cuts the road instead of handing on
// one that holds what is to be swallowed.
type toll struct {
	io.Reader
	road *road
}

func (t *toll) Read(b []byte) (int, error) {
	n, err := t.Reader.Read(b)
	t.road.mu.Lock()
	what := t.road.swallow
	t.road.mu.Unlock()
	if what != "" && bytes.Contains(b[:n], []byte(what)) {
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}

// set changes what the road does from now on.
func (r *road) set(change func(*road)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(r)
}

// cut ends all travels under way.
func (r *road) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.travels {
		c.Close()
	}
	r.travels = nil
}
