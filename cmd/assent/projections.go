package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"assent/domain"
	"assent/projections"
)

// projectionsCmd looks after the read models.
type projectionsCmd struct {
	List       projectionsListCmd       `cmd:"" help:"Which read models there are."`
	Status     projectionsStatusCmd     `cmd:"" help:"How far they are, and which generations are kept."`
	Rebuild    projectionsRebuildCmd    `cmd:"" help:"Fold the log into a new generation beside the live one, compare, and swap."`
	Compare    projectionsCompareCmd    `cmd:"" help:"Fold the log anew and compare the live rows with that; exit 1 when they differ."`
	SwitchBack projectionsSwitchBackCmd `cmd:"" name:"switch-back" help:"Let the generation before the last swap take over again."`
}

type (
	projectionsListCmd       struct{ stores }
	projectionsStatusCmd     struct{ stores }
	projectionsSwitchBackCmd struct{ stores }
	projectionsCompareCmd    struct {
		Models []string `arg:"" optional:"" help:"Only compare these."`
		stores
	}
	projectionsRebuildCmd struct {
		Models []string `arg:"" optional:"" help:"Only compare these. All are folded: they share one checkpoint."`
		DryRun bool     `help:"Stop before the swap." name:"dry-run"`
		stores
	}
)

// projectionsQuery is what is asked of the read models.
type projectionsQuery struct {
	Verb   string   `json:"verb"` // list, status, rebuild, compare or switch-back
	Models []string `json:"models,omitempty"`
	DryRun bool     `json:"dryRun,omitempty"`
}

// Run lists the models.
func (c *projectionsListCmd) Run(e *env) error {
	return askProjections(e, c.stores, projectionsQuery{Verb: "list"}, func(w io.Writer, list []projections.Model) {
		fmt.Fprintln(w, "MODEL\tVERSION")
		for _, m := range list {
			fmt.Fprintf(w, "%s\t%d\n", m.Name, m.Version)
		}
	})
}

// Run says how far they are.
func (c *projectionsStatusCmd) Run(e *env) error {
	return askProjections(e, c.stores, projectionsQuery{Verb: "status"}, func(w io.Writer, s projectionsStatus) {
		switch {
		case s.Halt != nil:
			fmt.Fprintln(w, s.Halt.Error())
		case s.Rebuild != nil:
			fmt.Fprintln(w, progressLine(*s.Rebuild))
		}
		fmt.Fprintf(w, "at position %d, %s behind the log\n\n", s.Position, s.Lag.Round(time.Millisecond))
		fmt.Fprintln(w, "GENERATION\tSTATE\tPOSITION\tEVENTS\tLAST FOLDED")
		for _, g := range s.Generations {
			fmt.Fprintf(w, "%d\t%s\t%d\t%d\t%s\n", g.Number, g.State, g.Position, g.Events, g.Moved.Format(time.DateTime))
		}
		if slices.ContainsFunc(s.Generations, func(g projections.Generation) bool { return g.State == "ready" }) {
			fmt.Fprintln(w, "\nOne was folded by a rebuild that was interrupted: the next one takes it up, compares it and lets it take over.")
		}
	})
}

// Run rebuilds.
func (c *projectionsRebuildCmd) Run(e *env) error {
	return askProjections(e, c.stores, projectionsQuery{"rebuild", c.Models, c.DryRun}, func(w io.Writer, r projections.Rebuilt) { rebuiltTable(w, r) })
}

// Run compares.
func (c *projectionsCompareCmd) Run(e *env) error {
	return askProjections(e, c.stores, projectionsQuery{Verb: "compare", Models: c.Models}, func(w io.Writer, r projections.Rebuilt) { rebuiltTable(w, r) })
}

// Run switches back.
func (c *projectionsSwitchBackCmd) Run(e *env) error {
	return askProjections(e, c.stores, projectionsQuery{Verb: "switch-back"}, func(w io.Writer, r projections.Rebuilt) { rebuiltTable(w, r) })
}

// askProjections asks the house of a folder or the server that has it, draws
// progress for a person, and prints the answer.
func askProjections[A any](e *env, in stores, q projectionsQuery, table func(io.Writer, A)) error {
	at, err := enter(e.ctx, e.Data, in, false)
	if err != nil {
		return err
	}
	draw, drawn := func(projections.Progress) {}, 0
	if terminal(e.err) {
		draw = func(p projections.Progress) {
			line := progressLine(p)
			fmt.Fprintf(e.err, "\r%-*s", drawn, line)
			drawn = len(line)
		}
	}
	raw, err := at.Projections(e.ctx, q, draw)
	if drawn > 0 {
		fmt.Fprintln(e.err)
	}
	found, differs := errors.AsType[ended](err) // there is an answer all the same
	if closed := at.Close(); err == nil || differs {
		if closed != nil {
			return closed
		}
	}
	if err != nil && !differs {
		return err
	}
	if e.JSON {
		fmt.Fprintf(e.out, "%s\n", raw)
	} else {
		var answer A
		if err := json.Unmarshal(raw, &answer); err != nil {
			return err
		}
		w := tabwriter.NewWriter(e.out, 0, 4, 2, ' ', 0)
		table(w, answer)
		if err := w.Flush(); err != nil {
			return err
		}
	}
	if differs {
		return found
	}
	return nil
}

// progressLine is how far a rebuild is, for a person.
func progressLine(p projections.Progress) string {
	line := fmt.Sprintf("%s: %d events", p.Stage, p.Events)
	if p.Of > 0 {
		line += fmt.Sprintf(" of about %d", p.Of)
	}
	line += fmt.Sprintf(", %.0f/s", p.Rate)
	if p.Stage == projections.Folding && p.Left > 0 {
		line += fmt.Sprintf(", %s left", p.Left.Round(time.Second))
	}
	return line
}

func rebuiltTable(w io.Writer, r projections.Rebuilt) {
	if r.Comparison != nil {
		fmt.Fprintln(w, "MODEL\tROWS\tCHANGED\tMISSING\tEXTRA")
		for _, m := range r.Comparison.Models {
			fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\n", m.Model, m.Rows, m.Changed, m.Missing, m.Extra)
		}
		for _, m := range r.Comparison.Models {
			for _, x := range m.Examples {
				fmt.Fprintf(w, "%s %s\t%s\t%s\n", x.What, m.Model, printable(x.Key), printable(strings.Join(x.Fields, ", ")))
			}
		}
		fmt.Fprintln(w)
	}
	if r.Resumed {
		fmt.Fprintf(w, "generation %d had been folded by a rebuild that was interrupted, and was taken up\n", r.Generation)
	}
	fmt.Fprintf(w, "%d events up to position %d in %s\n", r.Events, r.Position, r.Took.Round(time.Millisecond))
	if r.Swapped {
		fmt.Fprintf(w, "generation %d is live instead of %d (swapped in %s)\n", r.Generation, r.Replaces, r.Pause.Round(time.Microsecond))
	}
}

// projectionsStatus is how far the read models are.
type projectionsStatus struct {
	projections.Status
	Lag         time.Duration            `json:"lag"` // log time between the log's end and theirs
	Models      []projections.Model      `json:"models"`
	Generations []projections.Generation `json:"generations"`
}

// soonEnough is how long the databases may take to say where they are before
// something long is begun on them.
const soonEnough = 8 * time.Second

// awake sees that the databases of the log and of the read models answer: one
// that stands still gives no error, and a rebuild would wait for it for ever.
func (h *house) awake(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, soonEnough)
	defer cancel()
	_, err := h.log.Head(ctx)
	if err == nil {
		_, err = h.rows.Generations(ctx)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return domain.Refuse("busy", "A database does not answer, so nothing was begun. See that it runs, and ask again.")
	}
	return err
}

// Projections looks after the read models of a house.
func (h *house) Projections(ctx context.Context, q projectionsQuery, progress func(projections.Progress)) (json.RawMessage, error) {
	var answer any
	var err error
	if q.Verb != "list" {
		if err := h.awake(ctx); err != nil {
			return nil, err
		}
	}
	switch q.Verb {
	case "list":
		answer = h.rows.Models()
	case "status":
		answer, err = h.projectionsStatus(ctx)
	case "rebuild", "compare":
		var r projections.Rebuilt
		r, err = h.rows.Rebuild(ctx, h.log, projections.RebuildOptions{DryRun: q.DryRun || q.Verb == "compare", Only: q.Models, Progress: progress})
		if answer = r; err == nil && q.Verb == "compare" && r.Comparison != nil && !r.Comparison.Same() {
			err = ended{exitFound, "the live read models are not what the log leads to; rebuild them"}
		}
	case "switch-back":
		answer, err = h.rows.SwitchBack(ctx, h.log, progress)
	default:
		err = domain.Refuse("invalid", "The read models cannot be asked to %q.", q.Verb)
	}
	if _, found := errors.AsType[ended](err); err != nil && !found {
		return nil, err
	}
	raw, spelled := json.Marshal(answer)
	return raw, errors.Join(err, spelled)
}

func (h *house) projectionsStatus(ctx context.Context) (s projectionsStatus, err error) {
	head, err := h.log.Head(ctx)
	if err != nil {
		return s, err
	}
	s.Status, s.Models = h.rows.Status(), h.rows.Models()
	if head.Position > s.Position && !s.At.IsZero() {
		s.Lag = head.At.Sub(s.At)
	}
	s.Generations, err = h.rows.Generations(ctx)
	return s, err
}
