package httpapi

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// csvForm is RFC 4180 with a line of names first.
type csvForm struct{ lines *csv.Writer }

// csvColumns are the columns, by name.
var csvColumns = []struct {
	name string
	of   func(exportedRow) string
}{
	{"position", func(r exportedRow) string { return strconv.FormatInt(int64(r.Position), 10) }},
	{"time", func(r exportedRow) string { return r.At.UTC().Format(time.RFC3339Nano) }},
	{"action_id", func(r exportedRow) string { return string(r.ID) }},
	{"action", func(r exportedRow) string { return r.Action }},
	{"outcome", func(r exportedRow) string { return r.Outcome }},
	{"count", func(r exportedRow) string { return strconv.Itoa(max(r.Count, 1)) }},
	{"principal_kind", func(r exportedRow) string { return string(r.Principal.Kind) }},
	{"principal_id", func(r exportedRow) string { return r.Principal.ID }},
	{"principal_name", func(r exportedRow) string { return r.named(r.Principal.ID) }},
	{"person_id", func(r exportedRow) string { return r.Person }},
	{"person_name", func(r exportedRow) string { return r.named(r.Person) }},
	{"mode", func(r exportedRow) string { return r.Mode }},
	{"skill", func(r exportedRow) string { return r.Skill }},
	{"key", func(r exportedRow) string { return r.Via.Key }},
	{"session", func(r exportedRow) string { return r.Via.Session }},
	{"local", func(r exportedRow) string { return r.Via.Local }},
	{"client", func(r exportedRow) string { return strings.TrimSpace(r.Client.Name + " " + r.Client.Version) }},
	{"target_kind", func(r exportedRow) string { return r.target().Kind }},
	{"target_id", func(r exportedRow) string { return r.target().ID }},
	{"target_version", func(r exportedRow) string { return counted(int64(r.target().Version)) }},
	{"target_title", func(r exportedRow) string { return r.Title }},
	{"answer", func(r exportedRow) string {
		if r.Verdict == nil {
			return ""
		}
		return r.Verdict.Answer.String()
	}},
	{"cause", func(r exportedRow) string {
		if r.Verdict == nil {
			return ""
		}
		return r.Verdict.Cause
	}},
	{"rule_set", func(r exportedRow) string {
		if r.Verdict == nil {
			return ""
		}
		return r.Verdict.Rules
	}},
	{"code", func(r exportedRow) string { return r.code() }},
	{"why", func(r exportedRow) string { return r.why() }},
	{"yes_kind", func(r exportedRow) string { return r.yes().Kind }},
	{"yes_by", func(r exportedRow) string { return r.yes().By }},
	{"yes_id", func(r exportedRow) string { return r.yes().ID }},
	{"proposal", func(r exportedRow) string { return r.Proposal }},
	{"decided_by", func(r exportedRow) string { return r.DecidedBy }},
	{"decided_by_name", func(r exportedRow) string { return r.named(r.DecidedBy) }},
	{"undoes", func(r exportedRow) string { return string(r.Undoes) }},
	{"undone_by", func(r exportedRow) string { return string(r.Undone) }},
	{"undo_until", func(r exportedRow) string {
		if r.Undo == nil {
			return ""
		}
		return r.Undo.Until.UTC().Format(time.RFC3339)
	}},
	{"reason", func(r exportedRow) string { return r.Reason }},
	{"changes", func(r exportedRow) string {
		if len(r.Changes) == 0 {
			return ""
		}
		text, err := json.Marshal(r.Changes)
		if err != nil {
			return "(cannot be spelled)"
		}
		return string(text)
	}},
	{"changes_clipped", func(r exportedRow) string { return strconv.FormatBool(r.Clipped) }},
}

func (f *csvForm) begin(w io.Writer) error {
	f.lines = csv.NewWriter(struct{ io.Writer }{w}) // its own buffer: it would empty ours after each line
	f.lines.UseCRLF = true
	names := make([]string, len(csvColumns))
	for i, c := range csvColumns {
		names[i] = c.name
	}
	return f.line(names)
}

func (f *csvForm) row(_ io.Writer, r exportedRow) error {
	cells := make([]string, len(csvColumns))
	for i, c := range csvColumns {
		cells[i] = inertCell(c.of(r))
	}
	return f.line(cells)
}

func (*csvForm) end(io.Writer) error { return nil }

func (f *csvForm) line(cells []string) error {
	if err := f.lines.Write(cells); err != nil {
		return err
	}
	f.lines.Flush()
	return f.lines.Error()
}

// inertCell is a cell that no spreadsheet takes for a formula: one that would be
// gets an apostrophe in front, whatever blanks it begins with. So does one
// that begins with an apostrophe, so that the first can be taken off again.
// Zero bytes, which end a cell for some programs, are shown instead.
func inertCell(cell string) string {
	cell = strings.ReplaceAll(cell, "\x00", "\uFFFD")
	bare := strings.TrimLeft(cell, " \t\r\n\u00a0\u3000\ufeff")
	if bare == "" && bare == cell {
		return cell
	}
	if bare == "" || strings.ContainsAny(firstRune(bare), "=+-@|%'＝＋－＠") || cell[0] == '\t' || cell[0] == '\r' || cell[0] == '\n' {
		return "'" + cell
	}
	return cell
}

func firstRune(s string) string {
	for _, r := range s {
		return string(r)
	}
	return ""
}

// linesForm is one JSON value a line: a row as GET audit/{action} gives it.
type linesForm struct{}

func (linesForm) begin(io.Writer) error                { return nil }
func (linesForm) row(w io.Writer, r exportedRow) error { return json.NewEncoder(w).Encode(r) }
func (linesForm) end(io.Writer) error                  { return nil }

// eventsForm is CloudEvents 1.0 in JSON, as one batch.
type eventsForm struct {
	of   Exported
	some bool
}

// cloudEvent is an event with the attributes that CloudEvents 1.0 names, and
// its extension sequence, which sorts as text.
type cloudEvent struct {
	SpecVersion string      `json:"specversion"`
	ID          string      `json:"id"`
	Source      string      `json:"source"`
	Type        string      `json:"type"`
	Subject     string      `json:"subject,omitempty"`
	Time        string      `json:"time"`
	ContentType string      `json:"datacontenttype"`
	Sequence    string      `json:"sequence"`
	Data        exportedRow `json:"data"`
}

func (f *eventsForm) begin(w io.Writer) error {
	_, err := io.WriteString(w, "[")
	return err
}

func (f *eventsForm) row(w io.Writer, r exportedRow) error {
	before := "\n"
	if f.some {
		before = ",\n"
	}
	f.some = true
	text, err := json.Marshal(cloudEvent{
		SpecVersion: "1.0", ID: r.uid(), Source: f.of.Source + "/w/" + f.of.Workspace, Type: "assent.action." + r.Outcome,
		Subject: r.subject(), Time: r.At.UTC().Format(time.RFC3339Nano), ContentType: "application/json",
		Sequence: fmt.Sprintf("%019d", int64(r.Position)), Data: r,
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s", before, text)
	return err
}

func (f *eventsForm) end(w io.Writer) error {
	_, err := io.WriteString(w, "\n]\n")
	return err
}
