package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"time"

	"assent/commands"
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
	return mcp.New(mcp.Options{
		Road: h.road, Registry: h.registry, Briefing: h.reader(), Skills: h.skills, Watcher: watcher{h.log}, Secret: h.secret,
		Version: version, Logger: slog.Default(),
	})
}

// watcher tells a door what is appended to the log, by whichever instance.
type watcher struct{ log commands.Log }

// Watch begins where the log ends now. When the log cannot be followed it goes
// on where it was once it can.
func (w watcher) Watch(ctx context.Context, seen func(domain.Stream)) error {
	head, err := w.log.Head(ctx)
	if err != nil {
		return err
	}
	after := head.Position
	again := time.NewTicker(time.Second)
	defer again.Stop()
	for {
		for r, err := range w.log.Follow(ctx, after) {
			if err != nil {
				break
			}
			after = r.Position
			seen(r.Stream)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-again.C:
		}
	}
}
