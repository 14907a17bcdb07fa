// Package mcp is the door agents come through. An action becomes a tool, an
// outcome becomes a result that says the same in a sentence, a key becomes a
// principal; what is asked goes down the one road, where policy answers.
// Nothing is decided here, and nothing here can approve.
//
// One address serves both ages of the protocol: clients that open with a
// handshake and keep a session, and those that carry everything in each
// request. On standard input both can even share one stream.
package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"assent/commands"
	"assent/domain"
	"assent/domain/action"
	"assent/domain/policy"
	"assent/mcp/skills"
)

// Road is where every call goes. The error is a fault; a meant no is an
// outcome. commands.Road is one.
type Road interface {
	Do(ctx context.Context, call commands.Call) (commands.Outcome, error)
}

// Keys knows whose a key is. It is asked on every request. A *domain.Refusal
// means that the key opens nothing (slow-down: not now); any other error is a
// fault.
type Keys interface {
	Key(ctx context.Context, secret string) (KeyHolder, error)
}

// KeyHolder is whom a key belongs to.
type KeyHolder struct {
	Workspace string
	Agent     string // its id
	Key       string // the key's id, never its secret
}

// Briefing knows what to tell a caller about itself. What it says is shown,
// never trusted: the road reads the log again on every call.
type Briefing interface {
	Brief(ctx context.Context, who Caller) (Brief, error)
}

// Brief is what a caller works within, as it is told.
type Brief struct {
	commands.Limits
	Agent        string      // what people call it; empty when it has no name
	Person       string      // the name of the person behind; empty when there is none
	Role         policy.Role // of that person; empty hides nothing
	Waiting      int         // how many of its own proposals wait for a person
	PublishLimit int         // how many changes may go live by themselves in auto mode
}

// Caller is who calls, as the door verified it or the process that owns the
// terminal says. Mode, Scopes, Site and Joined are of local callers only.
type Caller struct {
	Workspace string
	Principal domain.Principal
	Person    string
	Via       domain.Via
	Mode      policy.Mode
	Scopes    []string
	Site      string
	Joined    bool // through a server that owns the data folder

	gone <-chan struct{} // closed when nobody is there any more to wait for an answer; nil where the context tells
}

// owner is under which name sessions and requests of a caller are counted.
func (c Caller) owner() string {
	return c.Workspace + "/" + c.Principal.String() + "/" + c.Via.Key
}

// call is what a caller asks for, before it says what exactly.
func (c Caller) call() commands.Call {
	return commands.Call{
		Workspace: c.Workspace,
		Principal: c.Principal,
		Person:    c.Person,
		Via:       c.Via,
		Mode:      c.Mode,
		Scopes:    c.Scopes,
		Site:      c.Site,
		Joined:    c.Joined,
	}
}

// Options is what a door is built of.
type Options struct {
	Road     Road
	Registry *action.Registry
	Keys     Keys // may be left out where only local callers come
	Briefing Briefing
	Watcher  Watcher         // left out: clients are not told of changed lists, and who waits for a person looks only now and then
	Secret   []byte          // shared by all instances, for what clients carry between them; one of its own when left out
	Skills   *skills.Library // may be left out: then there are none
	Pace     Pace            // may be left out: then keys may ask as fast as they like
	Version  string          // of this program
	URL      string          // the public address, without a path: https://assent.example
	Hosts    []string        // host names accepted beside loopback and that of URL
	Origins  []string        // web origins accepted beside the server's own
	Logger   *slog.Logger
}

// Door serves agents. It is safe for any number of callers.
type Door struct {
	road     Road
	registry *action.Registry
	keys     Keys
	briefing Briefing
	skills   *skills.Library
	version  string
	url      string
	hosts    []string
	origins  []string
	logger   *slog.Logger

	states   states
	watcher  Watcher
	patience patience
	pace     Pace
	now      func() time.Time

	tools     []tool
	prompts   []prompt
	server    *sdk.Server // of everyone who comes with a key
	handler   http.Handler
	sessions  sessions
	requests  crowd
	strangers strangers
	bells     bells
	audience  audience
	underWay  underWay

	closing context.Context
	close   context.CancelFunc
	locals  sync.WaitGroup
}

// New builds a door. It fails when it cannot be built safely: without a road, a
// registry or a briefing, or with an address that cannot be read.
func New(o Options) (*Door, error) {
	if o.Road == nil || o.Registry == nil || o.Briefing == nil {
		return nil, errors.New("a door needs a road, a registry and a briefing")
	}
	public, err := url.Parse(o.URL)
	if err != nil || o.URL != "" && public.Host == "" {
		return nil, fmt.Errorf("the public address %q cannot be read: write it like https://assent.example", o.URL)
	}
	d := &Door{
		road:     o.Road,
		registry: o.Registry,
		keys:     o.Keys,
		briefing: o.Briefing,
		skills:   o.Skills,
		version:  o.Version,
		url:      strings.TrimRight(o.URL, "/"),
		hosts:    slices.Clone(o.Hosts),
		origins:  slices.Clone(o.Origins),
		logger:   o.Logger,
		watcher:  o.Watcher,
		pace:     o.Pace,
		patience: usualPatience,
		now:      time.Now,
		tools:    toolsOf(o.Registry),
		prompts:  promptsOf(o.Registry),
	}
	if d.states, err = newStates(o.Secret); err != nil {
		return nil, err
	}
	if d.logger == nil {
		d.logger = slog.New(slog.DiscardHandler)
	}
	if public.Host != "" {
		d.hosts = append(d.hosts, public.Hostname())
		d.origins = append(d.origins, public.Scheme+"://"+public.Host)
	}
	d.strangers.logger = d.logger
	d.closing, d.close = context.WithCancel(context.Background())
	if d.server, err = d.newServer(keyHolder); err != nil {
		return nil, err
	}
	if d.handler, err = d.newHandler(); err != nil {
		return nil, err
	}
	if d.watcher != nil {
		d.locals.Go(d.watch)
	}
	return d, nil
}

// watch hears of what is appended until the door closes. Without that, callers
// only learn later what they would learn at once.
func (d *Door) watch() {
	if err := d.watcher.Watch(d.closing, d.seen); err != nil && d.closing.Err() == nil {
		d.logger.ErrorContext(d.closing, "what is appended is not heard of any more", "err", err)
	}
}

// Handler serves POST, GET and DELETE of one address, whatever path it is
// mounted at. Every request needs a key; cookies are never read.
func (d *Door) Handler() http.Handler { return d.handler }

// closeGrace is how long a closing door waits for answers. What waits for a
// person stops waiting at once; nothing else takes as long.
const closeGrace = 1500 * time.Millisecond

// Close lets nobody in any more, answers what is under way, and ends sessions,
// streams and local callers. An http.Server that is shut down waits for open
// streams: close the door first.
func (d *Door) Close() {
	d.close()
	d.underWay.end(closeGrace) // first: a session that is closed says nothing more
	d.strangers.flush()
	var ending sync.WaitGroup
	for s := range d.server.Sessions() {
		ending.Go(func() { _ = s.Close() })
	}
	ending.Wait()
	d.locals.Wait()
}
