package main

import (
	"context"
	"time"

	"assent/commands"
	"assent/domain"
	"assent/httpapi"
	"assent/projections"
)

// Usage is how people decided.
func (r reader) Usage(ctx context.Context, ws string, since time.Time) (httpapi.Usage, error) {
	r.catchUp(ctx)
	u, err := r.rows.Usage(ctx, ws, since)
	usage := httpapi.Usage{Since: since, People: figuresRows(u.People), Causes: figuresRows(u.Causes), Always: []httpapi.AlwaysYes{}}
	for _, a := range u.Always {
		usage.Always = append(usage.Always, httpapi.AlwaysYes{Advance: commands.Advance(a.Shape), Times: a.Times})
	}
	return usage, err
}

func figuresRows(list []projections.Figures) []httpapi.Figures {
	rows := make([]httpapi.Figures, len(list))
	for i, f := range list {
		rows[i] = httpapi.Figures{Of: f.Of, Approved: f.Approved, Declined: f.Declined, Quick: f.Quick, Seconds: f.Median.Seconds()}
	}
	return rows
}

// mostCovered is how many examples of what a yes would cover are given.
const mostCovered = 10

// Covered is what a yes in advance would have let through.
func (r reader) Covered(ctx context.Context, by domain.Person, a commands.Advance, since time.Time) (httpapi.Covered, error) {
	c := httpapi.Covered{Advance: a, Since: since, First: []commands.Simulated{}}
	who := commands.Call{Principal: domain.Principal{Kind: domain.KindPerson, ID: by.ID()}, Via: domain.Via{Session: by.Session()}}
	_, err := r.records.Simulate(ctx, who, commands.Simulation{Workspace: by.Workspace(), Agent: a.Agent, Since: since, Advance: &a}, func(s commands.Simulated) error {
		if s.Was != commands.Waiting || s.Would != commands.Done || s.Yes == nil {
			return nil
		}
		if c.Covers++; len(c.First) < mostCovered {
			c.First = append(c.First, s)
		}
		return nil
	})
	return c, err
}
