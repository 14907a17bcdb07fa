package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"time"

	"assent/commands"
	"assent/domain"
	"assent/domain/action"
	"assent/domain/place"
	"assent/domain/policy"
	"assent/mcp"
	"assent/projections"
)

// defaultWorkspace is the one that is there from the start.
const defaultWorkspace = "home"

// local is what a process of this machine's own user may do with a data
// folder: in a house of its own, or through the server that owns the folder.
// It takes the one road like everybody; nothing here decides.
type local interface {
	// Do asks for one action.
	Do(ctx context.Context, who localCaller, a *action.Action, args any) (commands.Outcome, error)
	// Audit lists what was done; the answer is the page as JSON.
	Audit(ctx context.Context, q auditQuery) (json.RawMessage, error)
	// Export records that the audit is taken away, and calls each with what it is
	// of and then with every line.
	Export(ctx context.Context, q exportQuery, each func(exportedLine) error) error
	// Projections looks after the read models; the answer is JSON, and err
	// says how the command ends.
	Projections(ctx context.Context, q projectionsQuery, progress func(projections.Progress)) (json.RawMessage, error)
	// Why asks an action's recorded questions again.
	Why(ctx context.Context, q whyQuery) (commands.Why, error)
	// Simulate tries other rules on what was asked, and calls each with what would
	// have come out differently.
	Simulate(ctx context.Context, q simulateQuery, each func(commands.Simulated) error) (commands.Totals, error)
	// Agents are all agents and their keys, and where agents call.
	Agents(ctx context.Context, q rosterQuery) (roster, error)
	// Speak serves one agent on a stream until it ends.
	Speak(ctx context.Context, who localCaller, in io.ReadCloser, out io.WriteCloser) error
	Close() error
}

// localCaller says how a local process wants to work.
type localCaller struct {
	Workspace string      `json:"workspace"`
	As        string      `json:"as,omitempty"`    // a person's email; the owner when empty
	Agent     string      `json:"agent,omitempty"` // an agent's id; only where a program works
	Program   bool        `json:"program,omitempty"`
	Mode      policy.Mode `json:"mode,omitempty"`
	Scopes    []string    `json:"scopes,omitempty"`
	Site      string      `json:"site,omitempty"`
	Group     domain.ID   `json:"group,omitempty"` // what several calls belong to
}

// turns is how long a command waits for another one that has the folder.
const turns = 10 * time.Second

// enter takes a data folder with its stores, or joins the server that has it,
// with the server's stores. A command that only looks does not make a folder.
func enter(ctx context.Context, dir string, in stores, anew bool) (local, error) {
	kind, path, err := splitLog(in.Log, dir)
	if err != nil {
		return nil, err
	}
	if kind != inSQLite {
		path = dir
	}
	if _, err := os.Stat(path); err != nil && !anew {
		return nil, fmt.Errorf("there is no data in %s: %w", dir, err)
	}
	retry := time.NewTicker(50 * time.Millisecond)
	defer retry.Stop()
	for until := time.Now().Add(turns); ; {
		h, err := plan{dir: dir, at: in.Log, people: in.People, read: in.Read, url: defaultURL}.open(ctx)
		if err == nil {
			return &alone{house: h}, nil
		}
		if !errors.Is(err, errServed) {
			return nil, err
		}
		j, err := join(ctx, dir)
		if err == nil || time.Now().After(until) {
			return j, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-retry.C: // another command, not a server: it will be done soon
		}
	}
}

// alone is a local process in a house of its own.
type alone struct{ *house }

func (a *alone) Do(ctx context.Context, who localCaller, act *action.Action, args any) (commands.Outcome, error) {
	return a.doLocal(ctx, who, false, act.Name, args)
}

func (a *alone) Speak(ctx context.Context, who localCaller, in io.ReadCloser, out io.WriteCloser) error {
	return a.speakLocal(ctx, who, false, in, out)
}

// doLocal is a local caller's call down the road.
func (h *house) doLocal(ctx context.Context, who localCaller, joined bool, name string, args any) (commands.Outcome, error) {
	caller, err := h.caller(ctx, who, joined)
	if err != nil {
		return commands.Outcome{}, err
	}
	raw, err := argsOf(args)
	if err != nil {
		return commands.Outcome{}, err
	}
	return h.road.Do(ctx, commands.Call{
		Workspace: caller.Workspace, Action: name, Args: raw, Principal: caller.Principal, Person: caller.Person,
		Via: caller.Via, Mode: caller.Mode, Scopes: caller.Scopes, Site: caller.Site, Joined: joined, Correlation: who.Group,
	})
}

// caller says who a local process is: the person it names, or an agent that
// works for the owner. Before set-up there is nobody behind it.
func (h *house) caller(ctx context.Context, who localCaller, joined bool) (mcp.Caller, error) {
	u, err := user.Current()
	if err != nil {
		return mcp.Caller{}, fmt.Errorf("find out who runs this: %w", err)
	}
	if who.Workspace == "" {
		who.Workspace = defaultWorkspace
	}
	if err := h.there(ctx, who.Workspace); err != nil {
		return mcp.Caller{}, err
	}
	person, err := h.personBehind(ctx, who)
	if err != nil {
		return mcp.Caller{}, err
	}
	c := mcp.Caller{
		Workspace: who.Workspace, Person: person, Via: domain.Via{Local: u.Username},
		Mode: who.Mode, Scopes: who.Scopes, Site: who.Site, Joined: joined,
		Principal: domain.Principal{Kind: domain.KindPerson, ID: person},
	}
	if c.Principal.ID == "" {
		c.Principal.ID = "local:" + u.Username
	}
	if who.Program {
		c.Principal = domain.Principal{Kind: domain.KindAgent, ID: "local:" + u.Username}
	}
	if who.Agent != "" {
		c.Principal.ID, err = h.agentCalled(ctx, who.Workspace, who.Agent)
	}
	return c, err
}

// agentCalled is the id of an agent that is named by it, or by its name.
func (h *house) agentCalled(ctx context.Context, ws, name string) (string, error) {
	agents, err := h.reader().Agents(ctx, ws)
	if err != nil {
		return "", err
	}
	var ids []string
	for _, a := range agents {
		if a.ID == name {
			return name, nil
		}
		ids = append(ids, a.ID)
	}
	names, err := h.people.Names(ctx, ws, ids...)
	if err != nil {
		return "", err
	}
	for _, id := range ids {
		if names[id] == name {
			return id, nil
		}
	}
	return "", domain.Refuse("not-found", "There is no such agent here. Make it in the console, or leave --agent out.")
}

// there refuses a workspace that nobody set up: whoever names one would work
// there as its owner.
func (h *house) there(ctx context.Context, ws string) error {
	if ws == defaultWorkspace {
		return nil
	}
	missing := domain.Refuse("not-found", "There is no such workspace here.")
	if !place.IsHandle(ws) {
		return missing
	}
	settings, err := h.rowsNow(ctx, ws)
	if err == nil && settings.Founder == "" {
		return missing
	}
	return err
}

// personBehind is the person named by email, or the first owner.
func (h *house) personBehind(ctx context.Context, who localCaller) (string, error) {
	if who.As == "" {
		settings, err := h.rows.Workspace(ctx, who.Workspace)
		return settings.Founder, err
	}
	p, err := h.people.PersonByEmail(ctx, who.Workspace, who.As)
	return p.ID, err
}

func argsOf(args any) (json.RawMessage, error) {
	if raw, ok := args.(json.RawMessage); ok {
		return raw, nil
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return nil, fmt.Errorf("spell the arguments: %w", err)
	}
	return raw, nil
}
