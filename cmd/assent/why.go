package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"assent/commands"
	"assent/domain"
)

// whyCmd asks an action's recorded question again, under the rules of the moment
// it was asked, and says whether they say what was recorded.
type whyCmd struct {
	whyQuery
	stores
}

// whyQuery is which action.
type whyQuery struct {
	Action    domain.ID `arg:"" help:"The action's id, from the audit (act_…)." json:"action"`
	Workspace string    `help:"The workspace." default:"home" json:"workspace"`
}

// Run prints the answer; a record that is not what the rules say ends with 1.
func (c *whyCmd) Run(e *env) error {
	at, err := enter(e.ctx, e.Data, c.stores, false)
	if err != nil {
		return err
	}
	why, err := at.Why(e.ctx, c.whyQuery)
	if err = errors.Join(err, at.Close()); err != nil {
		return err
	}
	if e.JSON {
		if err := json.NewEncoder(e.out).Encode(why); err != nil {
			return err
		}
	} else if err := tellWhy(e.out, why); err != nil {
		return err
	}
	return mismatched(why)
}

// mismatched names what is not as recorded, if anything is.
func mismatched(why commands.Why) error {
	for _, a := range why.Asked {
		if !a.Checked || a.Matches {
			continue
		}
		var names []string
		for _, d := range a.Differs {
			names = append(names, d.Field)
		}
		return ended{exitFound, fmt.Sprintf("the record of %s at position %d is not what the rules of that moment say: %s", a.Action, a.Position, strings.Join(names, ", "))}
	}
	return nil
}

// tellWhy is the answer for a person.
func tellWhy(out io.Writer, why commands.Why) error {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	for i, a := range why.Asked {
		if i > 0 {
			fmt.Fprintln(w)
		}
		tellAsked(w, a)
	}
	return w.Flush()
}

func tellAsked(w io.Writer, a commands.Asked) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%s\t%s\n", name, printable(fmt.Sprintf(format, args...)))
	}
	line("action", "%s  %s", a.Action, a.Name)
	line("at", "%s, position %d", a.At.UTC().Format("2006-01-02 15:04:05 UTC"), a.Position)
	who := a.Principal.String()
	if a.Person != "" {
		who += " for " + a.Person
	}
	line("who", "%s", who)
	if q := a.Question; q != nil && q.Mode != "" {
		line("mode", "%s", q.Mode)
	}
	if l := a.Lent; l != nil {
		line("lent", "%s by %s until %s (%s)", l.Mode, l.By, l.Until.UTC().Format("2006-01-02 15:04 UTC"), l.ID)
	}
	if q := a.Question; q != nil && q.Yes != nil {
		line("yes", "%s", strings.TrimSpace(fmt.Sprintf("%s by %s %s", q.Yes.Kind, q.Yes.By, q.Yes.ID)))
	}
	line("outcome", "%s", strings.TrimSpace(a.Outcome+" "+a.Code))
	if v := a.Again; v != nil {
		line("rules", "%s", v.Rules)
		line("answer", "%s", strings.TrimSpace(fmt.Sprintf("%s  %s", v.Answer, reasonOf(*v))))
		for _, f := range v.Findings {
			line("  "+f.Rule, "%s %s: %s", f.Answer, f.Code, f.Reason)
		}
		if c := v.AutoCheck; c != nil {
			line("  "+c.Rule, "%s, %d of at most %d changes", c.Code, c.Changes, c.Limit)
		}
		line("  found nothing", "%s", strings.Join(a.Passed, ", "))
	}
	if a.Note != "" {
		line("note", "%s", a.Note)
	}
	for _, d := range a.Differs {
		line("differs", "%s: recorded %s, the rules say %s", d.Field, orNothing(d.Before), orNothing(d.After))
	}
	if a.Checked && a.Matches {
		line("record", "matches")
	} else if a.Checked {
		line("record", "DOES NOT MATCH")
	}
}

func reasonOf(v domain.Verdict) string {
	if v.Lifted != "" {
		return "lifted by " + v.Lifted + ": " + v.Reason
	}
	return v.Reason
}

func orNothing(v any) string {
	if v == nil || v == "" {
		return "nothing"
	}
	return fmt.Sprintf("%q", fmt.Sprint(v))
}

// Why asks an action's recorded questions again.
func (h *house) Why(ctx context.Context, q whyQuery) (commands.Why, error) {
	return h.records.Why(ctx, q.Workspace, q.Action)
}
