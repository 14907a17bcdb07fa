package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"unicode"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"assent/commands"
	"assent/domain"
	"assent/domain/action"
	"assent/domain/policy"
)

// tool is an action as agents see it.
type tool struct {
	action *action.Action
	def    sdk.Tool
}

// toolsOf is every action that a program may ask for, in the registry's order.
// What only people do is not among them.
func toolsOf(registry *action.Registry) []tool {
	var tools []tool
	for _, a := range registry.All() {
		if a.Class != action.People {
			tools = append(tools, tool{a, definition(a)})
		}
	}
	return tools
}

// definition is the tool, derived from the declaration. Hints are set one by
// one: what is left out counts as the worst.
func definition(a *action.Action) sdk.Tool {
	def := sdk.Tool{
		Name:         a.Tool(),
		Title:        a.Title,
		Description:  a.About,
		InputSchema:  a.Schema(),
		OutputSchema: json.RawMessage(readSchema),
		Annotations: &sdk.ToolAnnotations{
			Title:           a.Title,
			ReadOnlyHint:    !a.Writes(),
			DestructiveHint: new(a.Class == action.Destructive),
			// Asking for the same again finds it already so, unless it makes a new thing.
			IdempotentHint: !a.Writes() || a.Target(a.Example) != "",
			OpenWorldHint:  new(false),
		},
	}
	if a.Writes() {
		def.OutputSchema = json.RawMessage(writeSchema)
	}
	return def
}

// listTools gives the full definitions of what the caller may use. What its
// mode refuses or holds stays in the list with a note, since a mode can change
// in the middle of a conversation and a client may list only once.
func (d *Door) listTools(ctx context.Context) (*sdk.ListToolsResult, error) {
	b, err := d.brief(ctx)
	if err != nil {
		return nil, err
	}
	res := &sdk.ListToolsResult{
		Tools:     []*sdk.Tool{},
		Cacheable: sdk.Cacheable{TTLMs: listTTL, CacheScope: "private"},
	}
	for _, t := range d.tools {
		if !b.reaches(t.action) {
			continue
		}
		def := t.def
		if note := b.note(callerOf(ctx), t.action); note != "" {
			def.Description += " " + note
		}
		res.Tools = append(res.Tools, &def)
	}
	return res, nil
}

// reaches says that the caller has what an action needs; nothing else is shown.
func (b Brief) reaches(a *action.Action) bool {
	return a.Scope == "any" || policy.Reaches(b.Scopes, a.Scope, true) && (b.Collection == "" || !policy.Wide(a.Name))
}

// skillKey is where a call declares the way it works.
const skillKey = "assent/skill"

// call takes one tool call down the road and tells what came of it.
func (d *Door) call(ctx context.Context, a *action.Action, req *sdk.CallToolRequest) (*toolResult, error) {
	c := callerOf(ctx).call()
	c.Action, c.Args, c.Client = a.Name, req.Params.Arguments, clientOf(req)
	if declared, given := req.Params.Meta[skillKey]; given {
		name, text := declared.(string)
		if !text || name == "" || len(name) > 200 {
			c.Refusal = domain.Refuse("invalid", "`%s` must be the name of a skill.", skillKey)
		}
		c.Skill = clip(name, 200)
	}
	if req.Params.RequestState != "" && c.Refusal == nil {
		return d.resume(ctx, a, req, c)
	}
	out, err := d.do(ctx, c)
	if err != nil {
		d.logFault(ctx, c, err)
		return d.fault(ctx, a, c, err), nil
	}
	d.tellLog(ctx, req, a, out)
	return d.waiting(ctx, a, req, c, out), nil
}

// turnedAway records a no that was given at the door, to somebody who is known.
func (d *Door) turnedAway(ctx context.Context, c commands.Call, no *domain.Refusal) {
	c.Refusal = no
	if _, err := d.do(ctx, c); err != nil {
		d.logFault(ctx, c, err)
	}
}

// tellLog sends a line to a client that asked for lines of this weight: what
// waits and what was refused stand out from what simply happened.
func (d *Door) tellLog(ctx context.Context, req *sdk.CallToolRequest, a *action.Action, out commands.Outcome) {
	var level sdk.LoggingLevel //nolint:staticcheck // going out of the protocol, and spoken as long as clients do
	switch out.Outcome {
	case commands.Refused:
		level = "warning"
	case commands.Waiting:
		level = "notice"
	case commands.Unknown:
		level = "error"
	default:
		level = "info"
		if !a.Writes() {
			level = "debug"
		}
	}
	line := map[string]any{"tool": a.Tool(), "outcome": out.Outcome}
	if out.Action != "" {
		line["action"] = out.Action
	}
	if out.Refusal != nil {
		line["code"] = out.Refusal.Code
	}
	// A client that is gone does not mind.
	_ = req.Session.Log(ctx, &sdk.LoggingMessageParams{Level: level, Logger: "assent", Data: line}) //nolint:staticcheck // going out of the protocol, and spoken as long as clients do
}

// do is the road. A fault on it must not end the process.
func (d *Door) do(ctx context.Context, c commands.Call) (out commands.Outcome, err error) {
	defer func() {
		if v := recover(); v != nil {
			out, err = commands.Outcome{}, fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	return d.road.Do(ctx, c)
}

func (d *Door) logFault(ctx context.Context, c commands.Call, err error) {
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return // the client left; nobody waits for this answer
	}
	d.logger.ErrorContext(ctx, "a call went wrong", "action", c.Action, "principal", c.Principal.String(), "err", err)
}

// clientOf is what the program calls itself. It is kept, never believed. What is
// in the request itself the library would take apart anew.
func clientOf(req *sdk.CallToolRequest) domain.Client {
	if own, ok := req.Params.Meta[sdk.MetaKeyClientInfo].(map[string]any); ok {
		name, _ := own["name"].(string)
		version, _ := own["version"].(string)
		return client(name, version)
	}
	return clientFrom(req.ClientInfo())
}

func clientFrom(info *sdk.Implementation) domain.Client {
	if info == nil {
		return domain.Client{}
	}
	return client(info.Name, info.Version)
}

func client(name, version string) domain.Client {
	return domain.Client{Name: clip(name, 100), Version: clip(version, 100)}
}

// clip is text of a stranger, fit for a log line: at most so many bytes, and
// nothing that moves a cursor.
func clip(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "")
}
