package httpapi

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"assent/domain"
)

// Exported is what an export is of, as its lines say it.
type Exported struct {
	Source    string `json:"source"` // the public address of the server
	Workspace string `json:"workspace"`
	Version   string `json:"version"` // of the program
}

// ExportForms are the forms that an audit can be taken away in.
var ExportForms = []string{"csv", "jsonl", "cloudevents", "ocsf"}

// Export writes an audit line by line in a form that others read. It keeps
// nothing but a buffer.
type Export struct {
	Type string // its media type
	Name string // for a file of it

	buffered *bufio.Writer
	form     exportForm
}

// exportForm is how one form spells lines.
type exportForm interface {
	begin(io.Writer) error
	row(io.Writer, exportedRow) error
	end(io.Writer) error
}

// exportedRow is a line with the names of who is in it. Whoever was erased is
// called (erased).
type exportedRow struct {
	AuditRow
	Names map[string]string `json:"names,omitempty"`
}

// NewExport begins an export in one of ExportForms; another is refused as
// invalid.
func NewExport(form string, out io.Writer, of Exported) (*Export, error) {
	e := &Export{buffered: bufio.NewWriterSize(out, 64<<10), Name: "audit-" + of.Workspace}
	switch form {
	case "csv":
		e.Type, e.Name, e.form = "text/csv; charset=utf-8; header=present", e.Name+".csv", &csvForm{}
	case "jsonl":
		e.Type, e.Name, e.form = "application/x-ndjson", e.Name+".jsonl", linesForm{}
	case "cloudevents":
		e.Type, e.Name, e.form = "application/cloudevents-batch+json", e.Name+".cloudevents.json", &eventsForm{of: of}
	case "ocsf":
		e.Type, e.Name, e.form = "application/x-ndjson", e.Name+".ocsf.jsonl", ocsfForm{of: of}
	default:
		return nil, domain.Refuse("invalid", "`format` is one of: %s.", strings.Join(ExportForms, ", "))
	}
	return e, e.form.begin(e.buffered)
}

// Row writes one line. Names are of the ids in it, where there are any: a
// person who has none any more is shown as erased.
func (e *Export) Row(row AuditRow, names map[string]string) error {
	line := exportedRow{row, map[string]string{}}
	for _, id := range row.Mentions() {
		if name := names[id]; name != "" {
			line.Names[id] = name
		} else if domain.ID(id).Kind() == "person" {
			line.Names[id] = "(erased)"
		}
	}
	return e.form.row(e.buffered, line)
}

// Flush hands on what was written so far.
func (e *Export) Flush() error { return e.buffered.Flush() }

// End writes what comes after the last line.
func (e *Export) End() error {
	return errors.Join(e.form.end(e.buffered), e.buffered.Flush())
}

// Mentions are the ids in a row that may have a name.
func (row AuditRow) Mentions() []string {
	ids := []string{row.Principal.ID, row.Person, row.DecidedBy}
	if row.Target != nil && (row.Target.Kind == "agent" || row.Target.Kind == "person") {
		ids = append(ids, row.Target.ID)
	}
	if row.Yes != nil {
		ids = append(ids, row.Yes.By)
	}
	return slices.DeleteFunc(ids, func(id string) bool { return id == "" })
}

// named is an id's name; empty when it has none.
func (row exportedRow) named(id string) string { return row.Names[id] }

var ourID = regexp.MustCompile(`^[a-z]{2,8}_[0-9a-z]{26}$`)

// About says what an export holds, for the record of it: its form, and what
// narrowed it. Of what was asked it repeats ids and times only: other words
// are the asker's own, and those are not for the log.
func (f AuditFilter) About(form string) []string {
	about := []string{"audit/" + form}
	texts := f.texts()
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		switch value := *texts[name]; {
		case ourID.MatchString(value):
			about = append(about, name+"/"+value)
		case value != "":
			about = append(about, name)
		}
	}
	for name, at := range map[string]time.Time{"since": f.Since, "until": f.Until} {
		if !at.IsZero() {
			about = append(about, name+"/"+at.UTC().Format(time.RFC3339))
		}
	}
	slices.Sort(about[1:])
	return about
}

// exportOf reads what is to be exported, in which form.
func exportOf(q url.Values) (f AuditFilter, form string, err error) {
	rest := maps.Clone(q)
	form = q.Get("format")
	delete(rest, "format")
	if len(q["format"]) > 1 {
		return f, form, domain.Refuse("invalid", "`format` is given twice.")
	}
	if q.Has("cursor") || q.Has("limit") {
		return f, form, domain.Refuse("invalid", "An export is whole: leave `cursor` and `limit` out. Narrow it with `since` and `until`.")
	}
	f, err = filterOf(rest)
	return f, form, err
}

// exportPortion is how many lines are dressed and sent at once.
const exportPortion = 200

// stalled is how long a reader may leave a portion lying.
const stalled = 2 * time.Minute

// exporting is one export on its way to a reader.
type exporting struct {
	*Server
	w       http.ResponseWriter
	r       *http.Request
	who     caller
	export  *Export
	portion []AuditRow
	sent    bool
}

// getExport sends the whole audit, oldest first, as it is read: nothing of it
// is kept here. Whoever loses their session or their seat meanwhile gets no
// more of it. An export that cannot be ended breaks off, so that nobody takes
// the part for the whole.
func (s *Server) getExport(w http.ResponseWriter, r *http.Request, who caller) error {
	f, form, err := exportOf(r.URL.Query())
	if err != nil {
		return err
	}
	x := &exporting{Server: s, w: w, r: r, who: who}
	if x.export, err = NewExport(form, w, Exported{Source: s.public.String(), Workspace: who.workspace, Version: s.version}); err != nil {
		return err
	}
	if r.Method == http.MethodHead {
		x.head()
		return nil
	}
	ctx := r.Context()
	err = s.queries.Export(ctx, who.person, f, form, func(row AuditRow) error {
		x.portion = append(x.portion, row)
		if len(x.portion) < exportPortion {
			return nil
		}
		return x.send(ctx)
	})
	if err == nil {
		err = x.send(ctx)
	}
	if err == nil {
		err = x.export.End()
	}
	if err != nil && x.sent {
		s.log.LogAttrs(ctx, slog.LevelWarn, "an export broke off", slog.String("error", err.Error()))
		panic(http.ErrAbortHandler) // the only way left to say that this is not all
	}
	return err
}

func (x *exporting) head() {
	h := x.w.Header()
	h.Set("Content-Type", x.export.Type)
	h.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="%s"`, x.export.Name))
	h.Set("Cache-Control", "no-store")
}

// send dresses what has gathered and sends it.
func (x *exporting) send(ctx context.Context) error {
	if x.sent { // the first portion was asked about at the door
		who, err := x.identify(x.r, session)
		if err == nil {
			err = x.permit(ctx, who, "audit.read")
		}
		if err != nil {
			return err
		}
	}
	names, err := x.dress(ctx, x.who.workspace, x.portion)
	if err != nil {
		return err
	}
	if !x.sent {
		x.head()
		x.sent = true
	}
	control := http.NewResponseController(x.w)
	if err := control.SetWriteDeadline(x.now().Add(stalled)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	for _, row := range x.portion {
		if err := x.export.Row(row, names); err != nil {
			return err
		}
	}
	x.portion = x.portion[:0]
	if err := x.export.Flush(); err != nil {
		return err
	}
	if err := control.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}
