package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"assent/commands"
	"assent/domain/policy"
)

// simulateCmd lists which past actions would have waited, been refused or gone
// through, had the mode or the rules been others. It changes nothing.
type simulateCmd struct {
	Mode  string `help:"As if every agent had worked in this mode." enum:",plan,manual,edits,auto" default:""`
	Rules string `help:"As if the rules had been changed so: a file like {\"waits\":[\"page.update\"]}, - for standard input."`
	JSONL bool   `help:"One JSON value a line; the last holds the totals." name:"jsonl"`
	simulateQuery
	stores
}

// simulateQuery is what is asked, as it goes through the socket.
type simulateQuery struct {
	Workspace string        `help:"The workspace." default:"home" json:"workspace"`
	Agent     string        `help:"Only what this agent asked (its id)." json:"agent,omitempty"`
	Since     time.Time     `help:"From then on (RFC 3339)." json:"since,omitzero"`
	Until     time.Time     `help:"Before then (RFC 3339)." json:"until,omitzero"`
	Review    bool          `help:"Only what was done, still stands, and would wait or be refused now: something to look through." json:"review,omitempty"`
	If        policy.WhatIf `kong:"-" json:"if"`
}

// Run prints what would have come out differently, as it is found.
func (c *simulateCmd) Run(e *env) error {
	q := c.simulateQuery
	q.If.Mode = policy.Mode(c.Mode)
	if c.Rules != "" {
		var err error
		if q.If.Rules, err = rulesFrom(c.Rules, e.in); err != nil {
			return ended{exitUsage, "--rules: " + err.Error()}
		}
	}
	at, err := enter(e.ctx, e.Data, c.stores, false)
	if err != nil {
		return err
	}
	out := c.printer(e)
	totals, err := at.Simulate(e.ctx, q, out.each)
	if err = errors.Join(err, at.Close()); err != nil {
		return err
	}
	return out.end(totals)
}

// mostRules is how long a file of rules may be, in bytes.
const mostRules = 1 << 20

// rulesFrom reads a change of the rules. A name that is none is an error: a
// simulation of something else than was meant is worse than none.
func rulesFrom(file string, in io.Reader) (c policy.RulesChange, err error) {
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return c, err
		}
		defer func() { _ = f.Close() }() // only read
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, mostRules+1))
	if err != nil {
		return c, err
	}
	if len(text) > mostRules {
		return c, fmt.Errorf("the file is longer than %d bytes", mostRules)
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&c); err != nil {
		return c, err
	}
	if dec.More() {
		return c, errors.New("there is something behind the rules")
	}
	return c, nil
}

// simulationPrinter writes what it hears at once and keeps none of it.
type simulationPrinter interface {
	each(commands.Simulated) error
	end(commands.Totals) error
}

func (c *simulateCmd) printer(e *env) simulationPrinter {
	switch {
	case c.JSONL:
		return &simulationLines{json.NewEncoder(e.out)}
	case e.JSON:
		return &simulationValue{out: e.out}
	}
	return &simulationTable{out: e.out}
}

// simulationLines are one JSON value a line.
type simulationLines struct{ enc *json.Encoder }

func (p *simulationLines) each(s commands.Simulated) error { return p.enc.Encode(s) }
func (p *simulationLines) end(t commands.Totals) error {
	return p.enc.Encode(map[string]commands.Totals{"totals": t})
}

// simulationValue is one JSON value, written as it grows.
type simulationValue struct {
	out  io.Writer
	some bool
}

func (p *simulationValue) each(s commands.Simulated) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	before := `{"items":[`
	if p.some {
		before = ","
	}
	p.some = true
	_, err = fmt.Fprintf(p.out, "%s%s", before, text)
	return err
}

func (p *simulationValue) end(t commands.Totals) error {
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	before := "]"
	if !p.some {
		before = `{"items":[]`
	}
	_, err = fmt.Fprintf(p.out, "%s,\"totals\":%s}\n", before, text)
	return err
}

// simulationTable is for people. Its columns are as wide as such values are: to
// measure them first, all would have to be kept.
type simulationTable struct {
	out  io.Writer
	some bool
}

const simulationRow = "%-10s %-19s %-17s %-8s %-8s %-15s %-30s %s\n"

func (p *simulationTable) each(s commands.Simulated) error {
	if !p.some {
		p.some = true
		fmt.Fprintf(p.out, simulationRow, "POSITION", "TIME", "ACTION", "WAS", "WOULD", "WHY", "TARGET", "ID")
	}
	target, why := "", s.Cause
	if s.Target != nil {
		target = s.Target.ID
	}
	if s.Yes != nil {
		why = s.Yes.Kind
	}
	_, err := fmt.Fprintf(p.out, simulationRow, fmt.Sprint(s.Position), s.At.UTC().Format(time.DateTime), printable(s.Name), s.Was, s.Would, why, printable(target), s.Action)
	return err
}

func (p *simulationTable) end(t commands.Totals) error {
	w := tabwriter.NewWriter(p.out, 0, 4, 2, ' ', 0)
	if p.some {
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w, "WAS\tWOULD\tACTIONS")
	for _, was := range slices.Sorted(maps.Keys(t.Came)) {
		for _, would := range slices.Sorted(maps.Keys(t.Came[was])) {
			fmt.Fprintf(w, "%s\t%s\t%d\n", was, would, t.Came[was][would])
		}
	}
	fmt.Fprintf(w, "\n%d asked again, %d would have come out differently\n", t.Asked, t.Differ)
	if t.Unknown > 0 {
		fmt.Fprintf(w, "%d publishes were never measured: nobody knows whether they were low risk\n", t.Unknown)
	}
	if t.Carried > 0 {
		fmt.Fprintf(w, "%d more were carried out after a person's yes, which stays a yes\n", t.Carried)
	}
	if t.SummedUp > 0 {
		fmt.Fprintf(w, "%d refused or idle calls were only counted when they were made, and cannot be asked again\n", t.SummedUp)
	}
	return w.Flush()
}

// Simulate tries other rules on what was asked.
func (h *house) Simulate(ctx context.Context, q simulateQuery, each func(commands.Simulated) error) (commands.Totals, error) {
	who, err := h.caller(ctx, localCaller{Workspace: q.Workspace}, false)
	if err != nil {
		return commands.Totals{}, err
	}
	return h.records.Simulate(ctx, commands.Call{Principal: who.Principal, Person: who.Person, Via: who.Via}, commands.Simulation{
		Workspace: q.Workspace, If: q.If, Agent: q.Agent, Since: q.Since, Until: q.Until, Review: q.Review,
	}, each)
}
