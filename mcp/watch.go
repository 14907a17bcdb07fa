package mcp

import (
	"context"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"assent/domain"
	"assent/domain/agent"
	"assent/domain/person"
	"assent/domain/proposal"
	"assent/domain/site"
	"assent/domain/workspace"
)

// Watcher tells of what is appended to the log, from when it is asked on until
// the context ends, each stream in turn. It may leave out what happened while it
// could not look; whoever waits looks again after a while anyway.
type Watcher interface {
	Watch(ctx context.Context, seen func(domain.Stream)) error
}

// bells wake those who wait for one stream.
type bells struct {
	mu sync.Mutex
	of map[domain.Stream]map[chan struct{}]bool
}

// listen gives a channel that something is sent on after the stream was
// appended to. The function ends it.
func (b *bells) listen(s domain.Stream) (<-chan struct{}, func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.of == nil {
		b.of = map[domain.Stream]map[chan struct{}]bool{}
	}
	if b.of[s] == nil {
		b.of[s] = map[chan struct{}]bool{}
	}
	rung := make(chan struct{}, 1)
	b.of[s][rung] = true
	return rung, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if delete(b.of[s], rung); len(b.of[s]) == 0 {
			delete(b.of, s)
		}
	}
}

func (b *bells) ring(s domain.Stream) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for rung := range b.of[s] {
		select {
		case rung <- struct{}{}:
		default: // it was rung and nobody has looked yet
		}
	}
}

// seen is told of every stream that was appended to.
func (d *Door) seen(s domain.Stream) {
	here := func(c Caller) bool { return c.Workspace == s.Workspace }
	switch s.Category {
	case proposal.Kind.Category:
		d.bells.ring(s)
	case agent.Kind.Category:
		d.audience.changed(func(c Caller) bool { return here(c) && c.Principal.ID == s.ID }, toolsChanged, promptsChanged)
	case person.Kind.Category, workspace.Kind.Category: // whose they are the log alone knows
		d.audience.changed(here, toolsChanged, promptsChanged)
	case site.Kind.Category:
		d.audience.changed(here, resourcesChanged)
	}
}

// The notices that a list is no longer what it was.
const (
	toolsChanged     = "notifications/tools/list_changed"
	promptsChanged   = "notifications/prompts/list_changed"
	resourcesChanged = "notifications/resources/list_changed"
)

// audience is who hears that its lists have changed: clients that shook hands,
// and those of the new age that keep a stream open for it. The library tells
// everybody of a change or nobody, so who it concerns is kept here, and addressed
// holds back what is not meant for a session.
type audience struct {
	mu sync.Mutex
	of map[*sdk.ServerSession]*listener
}

type listener struct {
	who    Caller
	server *sdk.Server
	due    map[string]bool // notices that it has yet to get
}

// join lets a session hear of changes. The function ends it.
func (a *audience) join(session *sdk.ServerSession, who Caller, server *sdk.Server) (leave func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of == nil {
		a.of = map[*sdk.ServerSession]*listener{}
	}
	a.of[session] = &listener{who, server, map[string]bool{}}
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.of, session)
	}
}

// changed has those told whom it concerns.
func (a *audience) changed(concerns func(Caller) bool, notices ...string) {
	servers := map[*sdk.Server]bool{}
	a.mu.Lock()
	for _, l := range a.of {
		if !concerns(l.who) {
			continue
		}
		servers[l.server] = true
		for _, n := range notices {
			l.due[n] = true
		}
	}
	a.mu.Unlock()
	for s := range servers { // without the lock: the library sends on a goroutine of its own
		for _, n := range notices {
			nudge(s, n)
		}
	}
}

// take says that a session is to get a notice now, once.
func (a *audience) take(session *sdk.ServerSession, notice string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.of[session]
	if l == nil || !l.due[notice] {
		return false
	}
	delete(l.due, notice)
	return true
}

// nudge makes the library tell of a changed list: it does so only when a thing
// of its own came or went. What it has is never listed; the door lists.
func nudge(s *sdk.Server, notice string) {
	const name = "changed"
	switch notice {
	case toolsChanged:
		s.AddTool(&sdk.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}, nil)
		s.RemoveTools(name)
	case promptsChanged:
		s.AddPrompt(&sdk.Prompt{Name: name}, nil)
		s.RemovePrompts(name)
	case resourcesChanged:
		s.AddResource(&sdk.Resource{Name: name, URI: "changed:"}, func(_ context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return nil, sdk.ResourceNotFoundError(req.Params.URI)
		})
		s.RemoveResources("changed:")
	}
}

// addressed sends notices of changes to those they are for.
func (d *Door) addressed(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		switch method {
		case toolsChanged, promptsChanged, resourcesChanged:
			if session, ok := req.GetSession().(*sdk.ServerSession); !ok || !d.audience.take(session, method) {
				return nil, nil
			}
		}
		return next(ctx, method, req)
	}
}
