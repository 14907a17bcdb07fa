package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"assent/commands"
	"assent/domain"
	"assent/domain/action"
	"assent/domain/agent"
	"assent/httpapi"
	"assent/httpapi/clients"
)

// The command line lists agents and keys and takes away from them. It gives
// nothing: an agent with a shell must not be able to. So there is no command
// that lets a paused agent go on; that is for a signed-in person.
type (
	agentsCmd struct {
		List    agentsListCmd    `cmd:"" help:"Which agents there are, how freely they work and what they reach."`
		Pause   agentsPauseCmd   `cmd:"" help:"Stop an agent at its next call. A person lets it go on in the console."`
		Narrow  agentsNarrowCmd  `cmd:"" help:"Give an agent a stricter mode, fewer things to reach or one place to work in; never more."`
		Connect agentsConnectCmd `cmd:"" help:"What to paste into a client so that it works as this agent."`
	}
	keysCmd struct {
		List   keysListCmd   `cmd:"" help:"Which keys there are: how each begins, when it was last used and when it ends."`
		Revoke keysRevokeCmd `cmd:"" help:"End a key at once and for ever."`
	}
)

// rosterQuery is whose agents.
type rosterQuery struct {
	Workspace string `help:"The workspace." default:"home" json:"workspace"`
}

// roster is every agent of a workspace, and where agents call.
type roster struct {
	URL   string          `json:"url"`
	Items []httpapi.Agent `json:"items"`
}

// Agents are all agents, with their names and what is known of their keys.
func (h *house) Agents(ctx context.Context, q rosterQuery) (roster, error) {
	if err := h.there(ctx, q.Workspace); err != nil {
		return roster{}, err
	}
	all, err := h.reader().Agents(ctx, q.Workspace)
	if err != nil {
		return roster{}, err
	}
	var ids []string
	for _, a := range all {
		ids = append(ids, a.ID, a.Person)
	}
	names, err := h.people.Names(ctx, q.Workspace, ids...)
	for i := range all {
		all[i].Name, all[i].Behind = names[all[i].ID], names[all[i].Person]
	}
	if all == nil {
		all = []httpapi.Agent{}
	}
	return roster{URL: h.url + "/mcp", Items: all}, err
}

// called is the one agent of an id or a name.
func (r roster) called(name string) (httpapi.Agent, error) {
	var found []httpapi.Agent
	for _, a := range r.Items {
		if a.ID == name {
			return a, nil
		}
		if a.Name == name {
			found = append(found, a)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return httpapi.Agent{}, domain.Refuse("not-found", "There is no such agent here. `assent agents list` shows which there are.")
	}
	return httpapi.Agent{}, domain.Refuse("invalid", "%d agents have that name. Say which one by its id; `assent agents list` shows them.", len(found))
}

// asking is where the command asks, and about which workspace.
type asking struct {
	rosterQuery
	stores
}

// meet gives the agents there are, and the place to ask for more.
func (a asking) meet(e *env) (local, roster, error) {
	at, err := enter(e.ctx, e.Data, a.stores, false)
	if err != nil {
		return nil, roster{}, err
	}
	all, err := at.Agents(e.ctx, a.rosterQuery)
	if err != nil {
		return nil, roster{}, errors.Join(err, at.Close())
	}
	return at, all, nil
}

// roll is only the agents.
func (a asking) roll(e *env) (roster, error) {
	at, all, err := a.meet(e)
	if err != nil {
		return roster{}, err
	}
	return all, at.Close()
}

// take asks for one action and says what came of it.
func (a asking) take(e *env, at local, act *action.Action, args any, done string) error {
	out, err := at.Do(e.ctx, localCaller{Workspace: a.Workspace}, act, args)
	if err = errors.Join(err, at.Close()); err != nil {
		return err
	}
	if e.JSON {
		if err := json.NewEncoder(e.out).Encode(out); err != nil {
			return err
		}
		return ended{code: outcomeCode(out)}.unlessDone()
	}
	switch {
	case out.Refusal != nil:
		return out.Refusal
	case out.Outcome == commands.Idle:
		done = "it is so already"
	case out.Outcome != commands.Done:
		return ended{outcomeCode(out), "it ended as " + out.Outcome}
	}
	_, err = fmt.Fprintln(e.out, done)
	return err
}

// unlessDone is nil for a command that did what it was told.
func (e ended) unlessDone() error {
	if e.code == exitDone {
		return nil
	}
	return e
}

type agentsListCmd struct {
	asking
	JSONL bool `help:"One JSON value a line." name:"jsonl"`
}

// Run lists them, oldest first.
func (c *agentsListCmd) Run(e *env) error {
	all, err := c.roll(e)
	if err != nil {
		return err
	}
	if e.JSON || c.JSONL {
		return printed(e.out, e.JSON, all.Items)
	}
	w := tabwriter.NewWriter(e.out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "AGENT\tNAME\tFOR\tMODE\tSTATE\tKEYS\tLAST CALL\tWHERE\tREACHES")
	for _, a := range all.Items {
		state, living := "works", 0
		if a.Paused {
			state = "paused"
		}
		for _, k := range a.Keys {
			if keyState(k, time.Now()) == "works" {
				living++
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\n", a.ID, printable(a.Name), printable(a.Behind), a.Mode, state, living, when(a.Last), whereabouts(a.Site, a.Collection), strings.Join(a.Scopes, " "))
	}
	return w.Flush()
}

type agentsPauseCmd struct {
	Agent string `arg:"" help:"Its name or id."`
	asking
}

// Run pauses one.
func (c *agentsPauseCmd) Run(e *env) error {
	at, all, err := c.meet(e)
	if err != nil {
		return err
	}
	a, err := all.called(c.Agent)
	if err != nil {
		return errors.Join(err, at.Close())
	}
	return c.take(e, at, agent.Pause, agent.Which{Agent: a.ID}, a.ID+" is paused")
}

type agentsNarrowCmd struct {
	Agent      string   `arg:"" help:"Its name or id."`
	Mode       string   `help:"A stricter mode: plan, manual, edits or auto." enum:",plan,manual,edits,auto" default:""`
	Scopes     []string `help:"What it keeps, such as content:read,content:write:own; none for nothing."`
	Site       string   `help:"The one site it works on."`
	Collection string   `help:"The one collection of articles it works on."`
	asking
}

// Run narrows one.
func (c *agentsNarrowCmd) Run(e *env) error {
	args := agent.NarrowArgs{Site: c.Site, Collection: c.Collection}
	if c.Mode != "" {
		args.Mode = &c.Mode
	}
	if len(c.Scopes) > 0 {
		args.Scopes = &c.Scopes
	}
	if slices.Equal(c.Scopes, []string{"none"}) {
		args.Scopes = &[]string{}
	}
	if c.Mode == "" && len(c.Scopes) == 0 && c.Site == "" && c.Collection == "" {
		return ended{exitUsage, "say what to narrow: --mode, --scopes, --site or --collection"}
	}
	at, all, err := c.meet(e)
	if err != nil {
		return err
	}
	a, err := all.called(c.Agent)
	if err != nil {
		return errors.Join(err, at.Close())
	}
	args.Agent = a.ID
	return c.take(e, at, agent.Narrow, args, a.ID+" is narrowed")
}

type agentsConnectCmd struct {
	Agent  string `arg:"" help:"Its name or id."`
	Client string `help:"generic, desktop, editor, cli or inspector; all of them when left out." enum:",generic,desktop,editor,cli,inspector" default:""`
	Over   string `help:"http or stdio; both when left out." enum:",http,stdio" default:""`
	JSONL  bool   `help:"One JSON value a line." name:"jsonl"`
	asking
}

// Run prints the entries. No key is in them: the server does not know any.
func (c *agentsConnectCmd) Run(e *env) error {
	all, err := c.roll(e)
	if err != nil {
		return err
	}
	a, err := all.called(c.Agent)
	if err != nil {
		return err
	}
	program, data := here(e.Data)
	entries := clients.Server{URL: all.URL, Program: program, Data: data, Agent: a.ID}.Entries()
	entries = slices.DeleteFunc(entries, func(x clients.Entry) bool {
		return c.Client != "" && x.Client != c.Client || c.Over != "" && x.Over != c.Over
	})
	if e.JSON || c.JSONL {
		return printed(e.out, e.JSON, entries)
	}
	if len(entries) == 1 { // to be sent on into a file
		_, err := fmt.Fprintln(e.out, entries[0].Text)
		return err
	}
	for i, x := range entries {
		if i > 0 {
			fmt.Fprintln(e.out)
		}
		fmt.Fprintf(e.out, "# %s (%s, %s): %s\n%s\n", x.Title, x.Client, x.Over, x.Where, x.Text)
	}
	return nil
}

// here is this program and a data folder, as somebody elsewhere on this machine
// would name them.
func here(data string) (program, folder string) {
	folder, err := filepath.Abs(data)
	if err != nil {
		folder = data
	}
	if program, err = os.Executable(); err != nil {
		program = "assent"
	}
	return program, folder
}

type keysListCmd struct {
	Agent string `arg:"" optional:"" help:"Only this agent's (its name or id)."`
	JSONL bool   `help:"One JSON value a line." name:"jsonl"`
	asking
}

// keyLine is a key with whose it is.
type keyLine struct {
	Agent string `json:"agent"`
	Name  string `json:"name,omitempty"`
	State string `json:"state"` // works, revoked or over
	httpapi.Key
}

// Run lists them.
func (c *keysListCmd) Run(e *env) error {
	all, err := c.roll(e)
	if err != nil {
		return err
	}
	if c.Agent != "" {
		a, err := all.called(c.Agent)
		if err != nil {
			return err
		}
		all.Items = []httpapi.Agent{a}
	}
	lines := []keyLine{}
	for _, a := range all.Items {
		for _, k := range a.Keys {
			lines = append(lines, keyLine{a.ID, a.Name, keyState(k, time.Now()), k})
		}
	}
	if e.JSON || c.JSONL {
		return printed(e.out, e.JSON, lines)
	}
	w := tabwriter.NewWriter(e.out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "KEY\tBEGINS\tAGENT\tSTATE\tMADE\tLAST USED\tENDS\tWHERE")
	for _, k := range lines {
		begins, ends := k.Prefix, when(k.Expires)
		if begins != "" {
			begins += "…"
		}
		if k.EndsSoon {
			ends += " (soon)"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", k.ID, begins, printable(k.Name), k.State, when(k.Made), when(k.LastUsed), ends, whereabouts(k.Site, k.Collection))
	}
	return w.Flush()
}

type keysRevokeCmd struct {
	Key string `arg:"" help:"Its id (key_…)."`
	asking
}

// Run ends one.
func (c *keysRevokeCmd) Run(e *env) error {
	at, all, err := c.meet(e)
	if err != nil {
		return err
	}
	for _, a := range all.Items {
		if slices.ContainsFunc(a.Keys, func(k httpapi.Key) bool { return k.ID == c.Key }) {
			return c.take(e, at, agent.Revoke, agent.RevokeArgs{Which: agent.Which{Agent: a.ID}, Key: c.Key}, c.Key+" is revoked")
		}
	}
	return errors.Join(domain.Refuse("not-found", "There is no such key. `assent keys list` shows which there are."), at.Close())
}

// keyState is how a key stands at a time.
func keyState(k httpapi.Key, now time.Time) string {
	switch {
	case k.Revoked:
		return "revoked"
	case !k.Expires.IsZero() && !now.Before(k.Expires):
		return "over"
	}
	return "works"
}

// when is a time as lists show it.
func when(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04")
}

// whereabouts is where something works, as lists show it.
func whereabouts(site, collection string) string {
	where := strings.Trim(site+"/"+collection, "/")
	if where == "" {
		return "everywhere"
	}
	if site == "" {
		return "*/" + collection
	}
	return where
}

// printed is a list as one JSON value, or one a line.
func printed[T any](out io.Writer, whole bool, list []T) error {
	enc := json.NewEncoder(out)
	if whole {
		return enc.Encode(list)
	}
	for _, v := range list {
		if err := enc.Encode(v); err != nil {
			return err
		}
	}
	return nil
}
