package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"

	"assent/domain"
	"assent/domain/policy"
	"assent/mcp"
)

// mcpCmd serves one local agent on standard input and output. It is the only
// door where bypass exists.
type mcpCmd struct {
	Agent     string   `help:"Work as this agent (its name or id)."`
	Mode      string   `help:"How freely: plan, manual, edits, auto or bypass." default:"edits" enum:"plan,manual,edits,auto,bypass"`
	Scopes    []string `help:"What it may reach; everything when left out."`
	Site      string   `help:"Only this site."`
	Workspace string   `help:"The workspace." default:"home"`
	stores
}

// Run speaks until the client closes its end.
func (c *mcpCmd) Run(e *env) error {
	for _, s := range c.Scopes {
		if !slices.Contains(policy.Scopes, s) {
			return domain.Refuse("invalid", "There is no `%s` to be given.", s)
		}
	}
	at, err := enter(e.ctx, e.Data, c.stores, true)
	if err != nil {
		return err
	}
	err = at.Speak(e.ctx, localCaller{
		Workspace: c.Workspace, Agent: c.Agent, Program: true,
		Mode: policy.Mode(c.Mode), Scopes: c.Scopes, Site: c.Site,
	}, e.in, e.out)
	return errors.Join(err, at.Close())
}

// speakLocal serves one local agent.
func (h *house) speakLocal(ctx context.Context, who localCaller, joined bool, in io.ReadCloser, out io.WriteCloser) error {
	caller, err := h.caller(ctx, who, joined)
	if err != nil {
		return err
	}
	door, err := h.localDoor()
	if err != nil {
		return err
	}
	defer door.Close()
	return door.Stdio(ctx, in, out, caller)
}

// localDoor is a door that needs no keys.
func (h *house) localDoor() (*mcp.Door, error) {
	return mcp.New(mcp.Options{Road: h.road, Registry: h.registry, Briefing: h.reader(), Version: version, Logger: slog.Default()})
}
