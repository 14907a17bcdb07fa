package mcp

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"assent/domain"
	"assent/domain/action"
)

// listTTL is for how long, in milliseconds, a client may keep a list or the
// instructions. Both are the caller's own and follow its limits, so not long.
const listTTL = 10_000

var kept = sdk.Cacheable{TTLMs: listTTL, CacheScope: "private"}

// newServer is a server of the protocol whose callers who tells apart. It has no
// tools of its own: it would read their schemas again on every call, and what
// there is depends on the caller. listed lists them and routed calls them.
func (d *Door) newServer(who func(sdk.Request) (Caller, bool)) (*sdk.Server, error) {
	// Said here so that no more is promised than is kept.
	hears := d.watcher != nil
	can := &sdk.ServerCapabilities{
		Tools:     &sdk.ToolCapabilities{ListChanged: hears},
		Prompts:   &sdk.PromptCapabilities{ListChanged: hears},
		Resources: &sdk.ResourceCapabilities{ListChanged: hears},
		Logging:   &sdk.LoggingCapabilities{}, //nolint:staticcheck // going out of the protocol, and spoken as long as clients do
	}
	if d.skills != nil {
		can.AddExtension(skillsExtension, nil)
	}
	s := sdk.NewServer(
		&sdk.Implementation{Name: "assent", Title: "Assent", Version: d.version, WebsiteURL: d.url},
		&sdk.ServerOptions{
			Capabilities:      can,
			CompletionHandler: d.complete,
			SetCacheable:      func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { *c = kept },
		})
	d.addResources(s)
	if err := d.addSkills(s); err != nil {
		return nil, err
	}
	s.AddReceivingMiddleware(d.recovered, identified(who), d.welcomed(s), d.listed, d.routed)
	s.AddSendingMiddleware(d.addressed)
	return s, nil
}

// recovered keeps a fault in one message from ending the process.
func (d *Door) recovered(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (res sdk.Result, err error) {
		defer func() {
			if v := recover(); v != nil {
				d.logger.ErrorContext(ctx, "a message went wrong", "method", method, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
				res, err = nil, errInternal
			}
		}()
		deepen()
		return next(ctx, method, req)
	}
}

// deepen makes the stack of a message's goroutine, which is new, as large as the
// way down to the database needs. Left to grow on that way it is copied several
// times, with more and more on it.
//
//go:noinline
func deepen() {
	var room [16 << 10]byte
	runtime.KeepAlive(&room[0])
}

var errInternal = &jsonrpc.Error{
	Code:    jsonrpc.CodeInternalError,
	Message: "Something went wrong; nothing is known to have changed. Ask again in a moment.",
	Data:    stable("busy"),
}

type whoKey struct{}

// identified puts the caller where handlers find it. Nothing is handled for
// nobody.
func identified(who func(sdk.Request) (Caller, bool)) sdk.Middleware {
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			c, ok := who(req)
			if !ok {
				return nil, errInternal
			}
			return next(context.WithValue(ctx, whoKey{}, c), method, req)
		}
	}
}

func callerOf(ctx context.Context) Caller { return ctx.Value(whoKey{}).(Caller) }

// welcomed mends the handshake and tells the caller what it works within.
func (d *Door) welcomed(server *sdk.Server) sdk.Middleware {
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			session, _ := req.GetSession().(*sdk.ServerSession)
			switch p := req.GetParams().(type) {
			case *sdk.InitializeParams:
				if p != nil && p.ProtocolVersion >= modern {
					// The library answers with a version that has a handshake but goes by
					// the one that was asked for, and then sends what the client cannot read.
					p.ProtocolVersion = lastHandshake
				}
			case *sdk.SubscriptionsListenParams: // as long as it listens
				defer d.audience.join(session, callerOf(ctx), server)()
			}
			res, err := next(ctx, method, req)
			if err != nil {
				return res, err
			}
			switch r := res.(type) {
			case *sdk.InitializeResult:
				r.Instructions = d.instructions(ctx)
				d.sessions.admit(callerOf(ctx).owner(), session, d.audience.join(session, callerOf(ctx), server))
			case *sdk.DiscoverResult:
				r.Instructions = d.instructions(ctx)
			}
			return res, nil
		}
	}
}

// listed gives lists of what the caller may use.
func (d *Door) listed(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		switch p := req.GetParams().(type) {
		case *sdk.ListToolsParams:
			if p != nil && p.Cursor != "" { // there is one page
				return nil, noPage
			}
			return d.listTools(ctx)
		case *sdk.ListResourcesParams:
			return d.listResources(ctx, p, req.(*sdk.ListResourcesRequest).ClientInfo())
		case *sdk.ListPromptsParams:
			if p != nil && p.Cursor != "" {
				return nil, noPage
			}
			return d.listPrompts(ctx)
		case *sdk.GetPromptParams:
			return d.getPrompt(ctx, p)
		case *sdk.ListResourceTemplatesParams:
			res, err := next(ctx, method, req)
			if list, ok := res.(*sdk.ListResourceTemplatesResult); ok && err == nil {
				return d.ownTemplates(ctx, list)
			}
			return res, err
		}
		return next(ctx, method, req)
	}
}

var noPage = &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "There is no such page. List from the beginning.", Data: stable("invalid")}

// routed takes calls down the road, those of tools that are not there as well,
// so that nothing that was asked goes unrecorded.
func (d *Door) routed(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		call, ok := req.(*sdk.CallToolRequest)
		if !ok || call.Params == nil {
			return next(ctx, method, req)
		}
		name := call.Params.Name
		a, found := d.registry.Find(name)
		switch {
		case found && a.Class != action.People && a.Tool() == name:
			res, err := d.call(ctx, a, call)
			if err != nil {
				return nil, err
			}
			return complete(res, call), nil
		case found && a.Class != action.People: // by a name that is not a tool's
			return nil, noTool(name)
		}
		c := callerOf(ctx).call()
		c.Action, c.Args, c.Client = clip(name, 100), call.Params.Arguments, clientOf(call)
		out, err := d.do(ctx, c)
		if err != nil {
			d.logFault(ctx, c, err)
		} else if no := out.Refusal; no != nil && no.Code != "unknown-action" {
			if !found {
				a = &action.Action{Facts: action.Facts{Name: c.Action, Class: action.People}} // on the never-list
			}
			return complete(d.result(ctx, a, c, out), call), nil
		}
		return nil, noTool(name)
	}
}

// complete says of a result that nothing more will come, where the protocol that
// a request is of wants it said.
func complete(res *toolResult, req *sdk.CallToolRequest) *toolResult {
	version, ok := req.Params.Meta[sdk.MetaKeyProtocolVersion].(string)
	if ok && version >= modern && res.ResultType == "" {
		res.ResultType = "complete"
	}
	return res
}

// noTool answers for what does not exist. What a caller may not use is refused
// by the road like anything else, with the code that says why: a client whose
// list is old should hear what has changed.
func noTool(name string) error {
	return &jsonrpc.Error{
		Code:    jsonrpc.CodeInvalidParams,
		Message: fmt.Sprintf("There is no tool %q here for you. List the tools for what you can use; your owner can allow more.", clip(name, 100)),
		Data:    stable("unknown-action"),
	}
}

// refusedMessage is a meant no where the protocol has room for an error only.
func refusedMessage(no *domain.Refusal) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: no.Reason, Data: stable(no.Code)}
}

// brief asks what the caller works within. A meant no is told as one.
func (d *Door) brief(ctx context.Context) (Brief, error) {
	b, err := d.briefing.Brief(ctx, callerOf(ctx))
	if err == nil {
		return b, nil
	}
	if no, meant := errors.AsType[*domain.Refusal](err); meant {
		return Brief{}, refusedMessage(no)
	}
	d.logger.ErrorContext(ctx, "a caller's limits could not be read", "principal", callerOf(ctx).Principal.String(), "err", err)
	return Brief{}, errInternal
}
