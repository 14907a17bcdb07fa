package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"assent/httpapi"
)

// auditCmd says who did what, for whom, under which rule.
type auditCmd struct {
	List   auditListCmd `cmd:"" default:"withargs" help:"List it, newest first."`
	Export exportCmd    `cmd:"" help:"Take it away, oldest first: as CSV, JSON lines, CloudEvents or OCSF. That it was taken is recorded."`
}

// auditListCmd lists a page of the audit.
type auditListCmd struct {
	auditQuery
	JSONL bool `help:"One JSON value a line." name:"jsonl"`
	stores
}

// auditFilter narrows the audit.
type auditFilter struct {
	Workspace string    `help:"The workspace." default:"home" json:"workspace"`
	Agent     string    `help:"By this agent (its id)." json:"agent,omitempty"`
	Person    string    `help:"By this person and their agents (their id)." json:"person,omitempty"`
	Key       string    `help:"Through this key (its id)." json:"key,omitempty"`
	Session   string    `help:"Through this signed-in session (its id)." json:"session,omitempty"`
	Action    string    `help:"Only this action, such as article.update." json:"action,omitempty"`
	Target    string    `help:"Only about this thing (its id)." json:"target,omitempty"`
	Outcome   string    `help:"done, waiting, refused, idle or read." enum:",done,waiting,refused,idle,read" default:"" json:"outcome,omitempty"`
	Cause     string    `help:"Only what waited for this cause." json:"cause,omitempty"`
	Skill     string    `help:"Only what was asked under this skill." json:"skill,omitempty"`
	Proposal  string    `help:"Only what became this proposal, decided it, or carried it out (its id)." json:"proposal,omitempty"`
	Since     time.Time `help:"From then on (RFC 3339)." json:"since,omitzero"`
	Until     time.Time `help:"Before then (RFC 3339)." json:"until,omitzero"`
}

func (f auditFilter) filter() httpapi.AuditFilter {
	return httpapi.AuditFilter{
		Agent: f.Agent, Person: f.Person, Key: f.Key, Session: f.Session, Action: f.Action, Target: f.Target, Outcome: f.Outcome,
		Cause: f.Cause, Skill: f.Skill, Proposal: f.Proposal, Since: f.Since, Until: f.Until,
	}
}

// auditQuery is what to list, newest first.
type auditQuery struct {
	auditFilter
	Cursor string `help:"Where the page before ended." json:"cursor,omitempty"`
	Limit  int    `help:"How many, 100 at most." default:"50" json:"limit,omitempty"`
}

// Run prints the list.
func (c *auditListCmd) Run(e *env) error {
	at, err := enter(e.ctx, e.Data, c.stores, false)
	if err != nil {
		return err
	}
	raw, err := at.Audit(e.ctx, c.auditQuery)
	if err = errors.Join(err, at.Close()); err != nil {
		return err
	}
	if e.JSON {
		_, err = fmt.Fprintf(e.out, "%s\n", raw)
		return err
	}
	var page httpapi.AuditPage
	if err := json.Unmarshal(raw, &page); err != nil {
		return err
	}
	if c.JSONL {
		enc := json.NewEncoder(e.out)
		for _, row := range page.Items {
			if err := enc.Encode(row); err != nil {
				return err
			}
		}
		return nil
	}
	return auditTable(e, page)
}

func auditTable(e *env, page httpapi.AuditPage) error {
	w := tabwriter.NewWriter(e.out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "POSITION\tTIME\tWHO\tMODE\tACTION\tOUTCOME\tTARGET\tWHY")
	for _, r := range page.Items {
		target := ""
		if r.Target != nil {
			target = r.Target.ID
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Position, r.At.Format(time.DateTime), who(page.Names, r), r.Mode, r.Action, r.Outcome, target, whyOf(r))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if page.Next != "" {
		fmt.Fprintf(e.err, "more: --cursor %s\n", page.Next)
	}
	return nil
}

func who(names map[string]string, r httpapi.AuditRow) string {
	name := r.Principal.ID
	if n := names[name]; n != "" {
		name = n
	}
	return printable(name)
}

// whyOf is the cause, the refusal or the yes, in a word or two.
func whyOf(r httpapi.AuditRow) string {
	v := r.Verdict
	switch {
	case r.Refusal != nil:
		return r.Refusal.Code
	case v == nil:
		return ""
	case v.Lifted != "":
		return v.Cause + ", " + v.Lifted
	case v.Cause != "":
		return v.Cause
	}
	return v.Code
}

// printable keeps what people chose from steering a terminal.
func printable(s string) string {
	safe := []rune(s)
	for i, r := range safe {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			safe[i] = '\uFFFD'
		}
	}
	return string(safe)
}

// Audit lists actions as JSON, with names and the words that were sealed.
func (h *house) Audit(ctx context.Context, q auditQuery) (json.RawMessage, error) {
	head, err := h.log.Head(ctx)
	if err != nil {
		return nil, err
	}
	if err := h.rows.Wait(ctx, head.Position); err != nil {
		return nil, err
	}
	r := h.reader()
	f := q.filter()
	f.Cursor, f.Limit = q.Cursor, q.Limit
	page, err := r.Audit(ctx, q.Workspace, f)
	if err != nil {
		return nil, err
	}
	var ids []string
	for i, row := range page.Items {
		page.Items[i].Reason = r.words(ctx, q.Workspace, row.Sealed)
		ids = append(ids, row.Mentions()...)
	}
	if page.Names, err = h.people.Names(ctx, q.Workspace, ids...); err != nil {
		return nil, err
	}
	return json.Marshal(page)
}
