package commands

import (
	"context"
	"time"

	"assent/domain"
	"assent/domain/conduct"
)

// Exporting is the name under which conduct keeps who took the audit away.
const Exporting = "audit.export"

// Export records that somebody takes the audit of a workspace away, at once and
// with what of it: first the form, as audit/csv, then what narrowed it, as
// agent/agent_…, in words of ours and ids only. It gives where the log then
// ends: an export reaches up to there, and its last line is about itself. When
// it cannot be recorded there is an error, and nothing may be given out.
func (r *Records) Export(ctx context.Context, who Call, workspace string, about ...string) (domain.Position, error) {
	who.Workspace, who.Action = workspace, Exporting
	t := &trip{errand: errand{road: r.road, ctx: ctx, call: who}, now: r.road.now(ctx)}
	t.authority.person = who.Person
	e := t.envelope()
	e.Action, e.Name = domain.NewAction(t.now), Exporting
	err := r.road.conduct.write(ctx, workspace, e, t.now, conduct.Read{Action: Exporting, Count: 1, Targets: about, Minute: t.now.UTC().Truncate(time.Minute)})
	if err != nil {
		return 0, err
	}
	head, err := r.road.Log.Head(ctx)
	return head.Position, err
}
