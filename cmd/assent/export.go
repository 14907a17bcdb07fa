package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"assent/commands"
	"assent/domain"
	"assent/httpapi"
	"assent/projections"
)

// exportCmd takes the whole audit away, oldest first, in a form that others
// read. That it was taken is recorded first.
type exportCmd struct {
	Format string `help:"csv, jsonl, cloudevents or ocsf." enum:"csv,jsonl,cloudevents,ocsf" required:""`
	Out    string `help:"Into this file, which must not be there yet; standard output when left out." type:"path"`
	exportQuery
	stores
}

// exportQuery is what of the audit to take, as it goes through the socket.
type exportQuery struct {
	Form string `kong:"-" json:"form"`
	auditFilter
}

// exportedLine is a line of an export on its way: what it is of comes first.
type exportedLine struct {
	Of    *httpapi.Exported `json:"of,omitempty"`
	Row   *httpapi.AuditRow `json:"row,omitempty"`
	Names map[string]string `json:"names,omitempty"` // of who is in the row
}

// Run writes the export as it comes. What is left of one that failed is
// removed, so that nobody takes the part for the whole.
func (c *exportCmd) Run(e *env) error {
	q := c.exportQuery
	q.Form = c.Format
	at, err := enter(e.ctx, e.Data, c.stores, false)
	if err != nil {
		return err
	}
	out := io.Writer(e.out)
	var file *os.File
	if c.Out != "" {
		if file, err = os.OpenFile(c.Out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
			return errors.Join(err, at.Close())
		}
		out = file
	}
	lines, err := writeExport(e.ctx, at, q, out)
	err = errors.Join(err, at.Close())
	if file != nil {
		if err = errors.Join(err, file.Close()); err != nil {
			return errors.Join(err, os.Remove(c.Out))
		}
	}
	if err == nil && terminal(e.err) {
		fmt.Fprintf(e.err, "%d lines\n", lines)
	}
	return err
}

// writeExport writes what a folder's audit gives, and says how many lines.
func writeExport(ctx context.Context, at local, q exportQuery, out io.Writer) (lines int, err error) {
	var export *httpapi.Export
	err = at.Export(ctx, q, func(l exportedLine) (err error) {
		if l.Of != nil {
			export, err = httpapi.NewExport(q.Form, out, *l.Of)
			return err
		}
		lines++
		return export.Row(*l.Row, l.Names)
	})
	if err == nil {
		err = export.End()
	}
	return lines, err
}

// Export calls each with what the export is of, and then with every line of the
// audit that fits, its words unsealed.
func (h *house) Export(ctx context.Context, q exportQuery, each func(exportedLine) error) error {
	who, err := h.caller(ctx, localCaller{Workspace: q.Workspace}, false)
	if err != nil {
		return err
	}
	r := h.reader()
	call := commands.Call{Principal: who.Principal, Person: who.Person, Via: who.Via}
	first := true
	var portion []httpapi.AuditRow
	send := func() error {
		if first {
			first = false
			if err := each(exportedLine{Of: &httpapi.Exported{Source: h.url, Workspace: q.Workspace, Version: version}}); err != nil {
				return err
			}
		}
		err := r.sendPortion(ctx, q.Workspace, portion, each)
		portion = portion[:0]
		return err
	}
	err = r.export(ctx, call, q.Workspace, q.filter(), q.Form, func(row httpapi.AuditRow) error {
		if portion = append(portion, row); len(portion) < exportPortion {
			return nil
		}
		return send()
	})
	if err == nil {
		err = send()
	}
	return err
}

// exportPortion is how many lines are named at once.
const exportPortion = 200

// sendPortion names who is in some rows, unseals their words, and hands them on.
func (r reader) sendPortion(ctx context.Context, ws string, rows []httpapi.AuditRow, each func(exportedLine) error) error {
	var ids []string
	for _, row := range rows {
		ids = append(ids, row.Mentions()...)
	}
	names, err := r.people.Names(ctx, ws, ids...)
	if err != nil {
		return err
	}
	for i := range rows {
		rows[i].Reason = r.words(ctx, ws, rows[i].Sealed)
		some := map[string]string{}
		for _, id := range rows[i].Mentions() {
			if name := names[id]; name != "" {
				some[id] = name
			}
		}
		if err := each(exportedLine{Row: &rows[i], Names: some}); err != nil {
			return err
		}
	}
	return nil
}

// Export records that a signed-in person takes the audit away, and gives it.
func (r reader) Export(ctx context.Context, by domain.Person, f httpapi.AuditFilter, form string, each func(httpapi.AuditRow) error) error {
	who := commands.Call{Principal: domain.Principal{Kind: domain.KindPerson, ID: by.ID()}, Person: by.ID(), Via: domain.Via{Session: by.Session()}}
	return r.export(ctx, who, by.Workspace(), f, form, each)
}

func (r reader) export(ctx context.Context, who commands.Call, ws string, f httpapi.AuditFilter, form string, each func(httpapi.AuditRow) error) error {
	upTo, err := r.records.Export(ctx, who, ws, f.About(form)...)
	if err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := r.rows.Wait(waiting, upTo); err != nil {
		if waiting.Err() != nil && ctx.Err() == nil {
			return domain.Refuse("busy", "The audit is not up to date yet, so it would be taken away with a piece missing. Ask again in a moment.")
		}
		return err
	}
	return r.rows.EachAudit(ctx, ws, auditArgs(f), upTo, func(e projections.Entry) error {
		row := r.auditRow(e)
		row.Title = r.title(ctx, ws, e.Target)
		return each(row)
	})
}
