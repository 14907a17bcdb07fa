package projections

import (
	"context"
	"sort"
	"time"

	"assent/domain"
)

// Lines finds the events behind each line of the audit under an action's id,
// oldest line first, once the read models have seen everything up to a
// position. Most actions are one line; one that was refused and asked for again
// under its id is several.
func (s *Store) Lines(ctx context.Context, workspace string, act domain.ID, after domain.Position) ([][]Trace, error) {
	if err := s.Wait(ctx, after); err != nil {
		return nil, err
	}
	var lines [][]Trace
	err := s.glance(ctx, "what was asked", func(a asking) error {
		return docs(a, query(`SELECT doc FROM {audit} WHERE workspace = ? AND id = ? ORDER BY position`, workspace, string(act)), func(r auditRow) bool {
			lines = append(lines, r.Traces)
			return true
		})
	})
	return lines, err
}

// Before is a position of the log that everything a workspace saw from a time on
// lies behind: that of its last action before. 0 when there was none. The read
// models must have seen everything up to a position first.
func (s *Store) Before(ctx context.Context, workspace string, at time.Time, after domain.Position) (domain.Position, error) {
	if err := s.Wait(ctx, after); err != nil {
		return 0, err
	}
	var found domain.Position
	err := s.ask(ctx, "what was there by then", func(a asking) error {
		var failed error
		// Log time never runs backwards along positions, so it can be searched for.
		sort.Search(int(after), func(n int) bool {
			r, some, err := one[auditRow](a, query(`SELECT doc FROM {audit} WHERE workspace = ? AND position <= ? ORDER BY position DESC LIMIT 1`, workspace, int64(n+1)))
			if err != nil {
				failed = err
				return true
			}
			if some && !r.At.Before(at) {
				return true
			}
			if some {
				found = max(found, r.Position)
			}
			return false
		})
		return failed
	})
	return found, err
}

// TakenBack are those of some actions, a few hundred at most, that were taken
// back and whose undo stands, once the read models have seen everything up to a
// position.
func (s *Store) TakenBack(ctx context.Context, workspace string, acts []domain.ID, after domain.Position) (map[domain.ID]bool, error) {
	gone := map[domain.ID]bool{}
	if len(acts) == 0 {
		return gone, nil
	}
	if err := s.Wait(ctx, after); err != nil {
		return nil, err
	}
	f := query(`SELECT doc FROM {audit} WHERE workspace = ? AND undone <> '' AND id IN (?`, workspace, string(acts[0]))
	for n := 1; n < len(acts) || n&(n-1) != 0; n++ { // up to a power of two: few texts, so few prepared statements
		f.add(`, ?`, string(acts[min(n, len(acts)-1)]))
	}
	f.add(`)`)
	err := s.ask(ctx, "what was taken back", func(a asking) error {
		var undone []domain.ID
		err := docs(a, f, func(r auditRow) bool {
			undone = append(undone, r.ID)
			return true
		})
		if err != nil {
			return err
		}
		for _, act := range undone {
			stands, err := a.stands(workspace, act)
			if err != nil {
				return err
			}
			gone[act] = !stands
		}
		return nil
	})
	return gone, err
}
