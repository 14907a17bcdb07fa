package projections

import (
	"context"
	"strings"
	"time"

	"assent/domain"
	"assent/domain/containment"
)

// touchRow is one thing that somebody's doings changed: those of an agent, of a
// session, or of several calls that belong together.
type touchRow struct {
	Who   string    `json:"who"`
	Thing string    `json:"thing"` // article/art_1
	Last  time.Time `json:"last"`
}

// touched is who changed what, so that what somebody did can be found thing by
// thing, in one order, without looking through everything they did. Whether it
// still stands is the streams' to say.
var touched = Projection[touchRow]{
	Name: "touched", Version: 1,
	Keys: func(f Fact) []string {
		if !did(f) || f.Stream.Category == containment.Kind.Category {
			return nil
		}
		var keys []string
		for _, who := range touchers(f.Envelope) {
			keys = append(keys, key(f.Stream.Workspace, who+" "+f.Stream.Category+"/"+f.Stream.ID))
		}
		return keys
	},
	Fold: func(k string, r touchRow, f Fact) (touchRow, bool) {
		who, thing, _ := strings.Cut(k[len(f.Stream.Workspace)+1:], " ")
		r.Who, r.Thing = who, thing
		if f.At.After(r.Last) {
			r.Last = f.At
		}
		return r, true
	},
	Columns: []Column[touchRow]{
		text("who", func(r touchRow) string { return r.Who }),
		text("thing", func(r touchRow) string { return r.Thing }),
		number("last", func(r touchRow) int64 { return r.Last.UnixMicro() }),
	},
	Indexes: []string{"workspace, who, thing, last"},
}

// touchers are under which names what an event did is found.
func touchers(e domain.Envelope) (list []string) {
	if e.Principal.IsAgent() {
		list = append(list, "agent/"+e.Principal.ID)
	}
	if e.Via.Session != "" {
		list = append(list, "session/"+e.Via.Session)
	}
	if e.Correlation != "" {
		list = append(list, "batch/"+string(e.Correlation))
	}
	return list
}

// Touched are at most limit of the things that a scope's doings changed, once
// the read models have seen everything up to a position: the last name first, of
// those whose names (article/art_1) come before another, or of all when that is
// empty. Some may have been changed by the scope's agent through another key, or
// before its time: the streams say.
func (s *Store) Touched(ctx context.Context, workspace string, scope containment.Scope, before string, limit int, after domain.Position) ([]domain.Stream, error) {
	if err := s.Wait(ctx, after); err != nil {
		return nil, err
	}
	who := "batch/" + scope.Batch
	switch {
	case scope.Agent != "":
		who = "agent/" + scope.Agent
	case scope.Session != "":
		who = "session/" + scope.Session
	}
	f := query(`SELECT doc FROM {touched} WHERE workspace = ? AND who = ?`, workspace, who)
	if before != "" {
		f.add(` AND thing < ?`, before)
	}
	if !scope.Since.IsZero() {
		f.add(` AND last >= ?`, scope.Since.UnixMicro())
	}
	f.add(` ORDER BY thing DESC LIMIT ?`, limit)
	var list []domain.Stream
	err := s.glance(ctx, "what somebody changed", func(a asking) error {
		return docs(a, f, func(r touchRow) bool {
			category, id, _ := strings.Cut(r.Thing, "/")
			list = append(list, domain.Stream{Category: category, Workspace: workspace, ID: id})
			return true
		})
	})
	return list, err
}

// containmentRow is a containment as far as somebody must go on with it.
type containmentRow struct {
	ID      string `json:"id"`
	Settled bool   `json:"settled"`
}

// containments are those that were begun, and whether they are settled.
var containments = Projection[containmentRow]{
	Name: "containments", Version: 1,
	Keys: func(f Fact) []string {
		if _, ok := f.After.(containment.Containment); !ok {
			return nil
		}
		return []string{key(f.Stream.Workspace, f.Stream.ID)}
	},
	Fold: func(_ string, r containmentRow, f Fact) (containmentRow, bool) {
		r.ID, r.Settled = f.Stream.ID, f.After.(containment.Containment).Settled
		return r, true
	},
	Columns: []Column[containmentRow]{
		text("state", func(r containmentRow) string {
			if r.Settled {
				return "settled"
			}
			return "running"
		}),
	},
	Indexes: []string{"state WHERE state = 'running'"},
}

// Containing lists the containments of every workspace that are begun and not
// settled.
func (s *Store) Containing(ctx context.Context) ([]domain.Stream, error) {
	var list []domain.Stream
	err := s.ask(ctx, "what is being taken back", func(a asking) error {
		keys, err := rowsOf[string](a.ctx, a.tx, a.rows.sql(`SELECT key FROM {containments} WHERE state = 'running' ORDER BY key`))
		for _, k := range keys {
			ws := workspaceOf(k)
			list = append(list, domain.Stream{Category: containment.Kind.Category, Workspace: ws, ID: k[len(ws)+1:]})
		}
		return err
	})
	return list, err
}
