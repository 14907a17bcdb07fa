package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"assent/commands"
	"assent/domain"
	"assent/domain/person"
	"assent/domain/site"
	"assent/httpapi"
	"assent/httpapi/clients"
	"assent/mcp"
)

// Where a server is found unless somebody says otherwise.
const (
	defaultListen = "127.0.0.1:7300"
	defaultURL    = "http://" + defaultListen
)

// setupLife is how long a set-up link works; every start makes a new one.
const setupLife = 30 * time.Minute

// serveCmd serves people and agents.
type serveCmd struct {
	Listen     string   `help:"Address to listen on." default:"127.0.0.1:7300" env:"ASSENT_LISTEN"`
	URL        string   `help:"Public address, such as https://assent.example.org." env:"ASSENT_URL" name:"url"`
	Hosts      []string `help:"Further host names this server answers to." env:"ASSENT_ALLOWED_HOSTS" name:"allowed-hosts"`
	Workspaces []string `help:"Workspaces; the first one's sites are at /sites." default:"home" env:"ASSENT_WORKSPACES"`

	stores
	reactionFlags
	headsFlags
	CallsPerMinute int `help:"How often each key may call in a minute, a sixth of it at once; 0: as often as it likes." default:"60000" env:"ASSENT_CALLS_PER_MINUTE"`

	HeadsEvery time.Duration `help:"How often to sign where the log ends." default:"1h" env:"ASSENT_HEADS_EVERY"`
}

// Run serves until it is told to stop.
func (c *serveCmd) Run(e *env) error {
	if c.HeadsEvery < time.Second {
		return ended{exitUsage, "--heads-every is at least 1s"}
	}
	s, err := c.open(e.ctx, plan{dir: e.Data, at: c.Log, people: c.People, read: c.Read, heads: c.Heads, every: c.HeadsEvery, reactionFlags: c.reactionFlags})
	if err != nil {
		return err
	}
	err = s.greet(e.ctx, e.out)
	if err == nil {
		err = s.serve(e.ctx)
	}
	return errors.Join(err, leave(s.Close))
}

// leaveAfter is how long closing may take: a database that is silent is not
// waited for. What was acknowledged is durable long before.
const leaveAfter = 7 * time.Second

// leave closes what is open, and goes when that takes too long.
func leave(close func() error) error {
	closed := make(chan error, 1)
	go func() { closed <- close() }()
	select {
	case err := <-closed:
		return err
	case <-time.After(leaveAfter):
		return ended{exitClosed, "left without closing everything: a database did not answer. Nothing that was acknowledged is lost."}
	}
}

// tuneMemory lets the collector run less often than Go would by itself: a call
// makes much short-lived garbage and little else. Whoever sets GOGC or
// GOMEMLIMIT knows better.
func tuneMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(1 << 30)
	}
}

// server is a house with its doors open.
type server struct {
	*house
	workspaces []string
	url        string
	listener   net.Listener
	socket     net.Listener
	http       *http.Server
	local      *http.Server
	door       *mcp.Door
	accounts   accounts
	operator   *operator
}

// open takes the folder and builds the doors, listening already: what is
// printed is true when it is printed.
func (c *serveCmd) open(ctx context.Context, p plan) (_ *server, err error) {
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen on %s (choose another with --listen): %w", c.Listen, err)
	}
	if len(c.Workspaces) == 0 { // the variable is there and empty
		c.Workspaces = []string{defaultWorkspace}
	}
	s := &server{listener: listener, url: strings.TrimSuffix(c.URL, "/"), workspaces: c.Workspaces}
	if s.url == "" {
		s.url = "http://" + listener.Addr().String()
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	p.url, p.outward = s.url, true
	if s.house, err = p.open(ctx); err != nil {
		if errors.Is(err, errServed) {
			err = fmt.Errorf("%s is served already; stop that server first: %w", p.dir, err)
		}
		return nil, err
	}
	if err := s.doors(c); err != nil {
		return nil, err
	}
	if s.socket, err = listenLocal(p.dir); err != nil {
		return nil, err
	}
	return s, s.prepare(ctx)
}

// doors ties road, desk and read models to HTTP and MCP.
func (s *server) doors(c *serveCmd) error {
	rows := s.reader()
	s.accounts, s.operator = rows.accounts, newOperator(s.house)
	var err error
	pace := httpapi.NewPace(c.CallsPerMinute, s.clock)
	s.door, err = mcp.New(mcp.Options{
		Road: s.road, Registry: s.registry, Keys: keyring{s.people}, Briefing: rows, Skills: s.skills,
		Watcher: watcher{s.log}, Secret: s.secret, Pace: pace,
		Version: version, URL: s.url, Hosts: c.Hosts, Logger: slog.Default(),
	})
	if err != nil {
		return err
	}
	var local clients.Server
	local.Program, local.Data = here(s.dir)
	pages, err := httpapi.New(httpapi.Config{
		Road: s.road, Desk: s.desk, Seater: s.house, Accounts: s.accounts, Queries: rows, Content: rows, Health: rows, Operator: s.operator, Webhooks: s.outside,
		Registry: s.registry, Signer: s.signer, Log: slog.Default(), Kept: s.kept, Local: local, Pace: pace,
		URL: s.url, Hosts: c.Hosts, Home: c.Workspaces[0], Version: version, Now: s.clock,
	})
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", s.door.Handler())
	mux.Handle("/", pages)
	s.http = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10, IdleTimeout: 2 * time.Minute}
	s.local = &http.Server{Handler: s.localHandler(), ReadHeaderTimeout: 10 * time.Second}
	return nil
}

// prepare makes what is there from the start, the site main, and finishes a
// set-up that was interrupted. It looks first: a start leaves no trace when
// there is nothing to do, and seats nobody who has had a seat before.
func (s *server) prepare(ctx context.Context) error {
	for _, ws := range s.workspaces {
		settings, err := s.rowsNow(ctx, ws)
		if err != nil {
			return err
		}
		if id := settings.Founder; id != "" {
			seat := domain.Stream{Category: person.Kind.Category, Workspace: ws, ID: id}
			err := s.unlessThere(ctx, seat, func() error {
				_, err := s.Seat(ctx, ws, id)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	main := domain.Stream{Category: site.Kind.Category, Workspace: defaultWorkspace, ID: "main"}
	return s.unlessThere(ctx, main, func() error {
		call := commands.Call{Workspace: main.Workspace, Principal: domain.Principal{Kind: domain.KindSystem, ID: "setup"}}
		_, err := s.must(ctx, call, site.Create, site.CreateArgs{Which: site.Which{Site: main.ID}, Title: "Main"})
		return err
	})
}

// unlessThere makes a thing unless there has been one. Another server that
// starts on the same log may be making it at this moment, and that will do.
func (s *server) unlessThere(ctx context.Context, at domain.Stream, do func() error) error {
	made, err := s.log.ReadStream(ctx, at, 0)
	if err != nil || len(made) > 0 {
		return err
	}
	failed := do()
	if _, refused := errors.AsType[*domain.Refusal](failed); refused {
		if made, err := s.log.ReadStream(ctx, at, 0); err == nil && len(made) > 0 {
			return nil
		}
	}
	return failed
}

// greet says where everything is, with a set-up link for each workspace that
// has no owner.
func (s *server) greet(ctx context.Context, out io.Writer) error {
	fmt.Fprintf(out, "assent %s\n\nConsole %s\nAgents  %s/mcp\nSite    %s/sites/main/\n", version, s.url, s.url, s.url)
	for _, ws := range s.workspaces {
		settings, err := s.rowsNow(ctx, ws)
		if err != nil {
			return err
		}
		if settings.Founder != "" {
			if err := s.missed(ctx, out, ws); err != nil {
				return err
			}
			continue
		}
		if err := s.people.DropLinks(ctx, ws, string(httpapi.ForSetup)); err != nil {
			return err
		}
		token, err := s.accounts.MintLink(ctx, httpapi.Link{Purpose: httpapi.ForSetup, Seat: httpapi.Seat{Workspace: ws}}, s.clock().Add(setupLife))
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "Set up  %s/setup?t=%s\n        (the workspace %q has no owner yet; the link works once, within 30 minutes)\n", s.url, token, ws)
	}
	_, err := fmt.Fprintf(out, "\nFor an agent's client, with a key made in the console:\n\n%s\n", clientEntry(s.url))
	return err
}

// clientEntry is what people paste into most clients' settings.
func clientEntry(url string) string {
	return "  " + strings.ReplaceAll(clients.Server{URL: url + "/mcp"}.Entries()[0].Text, "\n", "\n  ")
}

// serve answers until the context ends.
func (s *server) serve(ctx context.Context) error {
	failed := make(chan error, 2)
	go func() { failed <- s.http.Serve(s.listener) }()
	go func() { failed <- s.local.Serve(s.socket) }()
	select {
	case <-ctx.Done():
		return nil
	case err := <-failed:
		return err
	}
}

// Close lets nobody in any more, answers what is under way, and lets go of
// everything. Streams are ended first: a server waits for them otherwise.
func (s *server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var errs []error
	if s.door != nil {
		s.door.Close()
	}
	for _, srv := range []*http.Server{s.http, s.local} {
		if srv != nil && srv.Shutdown(ctx) != nil {
			errs = append(errs, srv.Close())
		}
	}
	for _, l := range []net.Listener{s.listener, s.socket} {
		if l != nil {
			_ = l.Close() // closed by its server unless that never ran
		}
	}
	if s.operator != nil {
		s.operator.Close()
	}
	if s.house != nil {
		errs = append(errs, s.house.Close())
	}
	return errors.Join(errs...)
}
