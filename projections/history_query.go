package projections

import (
	"context"
	"fmt"
	"slices"
	"time"

	"assent/domain"
	"assent/domain/action"
)

// Step is one line of an item's history: a version of it was made, or a publish
// showed one of its versions to the public or took it off.
type Step struct {
	Position  domain.Position  `json:"position,string"`
	At        time.Time        `json:"at"`
	Step      string           `json:"step"`              // made, edited, removed, restored, published or taken-off
	Version   domain.Version   `json:"version,omitempty"` // that was made or shown; none when it was taken off
	Publish   string           `json:"publish,omitempty"` // p12, of what showed it or took it off
	Address   string           `json:"address,omitempty"`
	ID        domain.ID        `json:"id"`     // of the action that did it
	Action    string           `json:"action"` // its name
	Principal domain.Principal `json:"principal"`
	Person    string           `json:"person,omitempty"` // behind an agent
	Skill     string           `json:"skill,omitempty"`
	Reason    string           `json:"reason,omitempty"` // for the caller to open from Sealed
	Sealed    *domain.Sealed   `json:"-"`
}

// History lists everything that happened to an item, newest first: each version
// and each publish that moved it. Of what nobody ever made it is refused,
// not-found.
func (s *Store) History(ctx context.Context, workspace, id string, p action.Page) (list []Step, next string, err error) {
	c, err := cursorOf(workspace, "history/"+id, p)
	if err != nil {
		return []Step{}, "", err
	}
	err = s.ask(ctx, "a history", func(a asking) error {
		now, err := a.thing(workspace, id)
		if err != nil {
			return err
		}
		made, err := a.made(workspace, id, c, p.Size()+1)
		if err != nil {
			return err
		}
		shown, err := a.shown(workspace, now.Site, id, c, p.Size()+1)
		if err != nil {
			return err
		}
		list = append(made, shown...)
		slices.SortFunc(list, func(a, b Step) int { return int(b.Position - a.Position) })
		if len(list) > p.Size() {
			list = list[:p.Size()]
			next = c.next(int64(list[len(list)-1].Position))
		}
		return nil
	})
	return some(list), next, err
}

func (w author) step(at domain.Position, step string) Step {
	return Step{Position: at, At: w.At, Step: step, ID: w.ID, Action: w.Action, Principal: w.Principal, Person: w.Person, Skill: w.Skill, Sealed: w.Reason}
}

// made are an item's versions behind a cursor. One more is read than is given:
// what a version did is seen against the one before it.
func (a asking) made(workspace, id string, c cursor, limit int) (list []Step, err error) {
	f := query(`SELECT doc FROM {versions} WHERE workspace = ? AND item = ?`, workspace, id)
	if c.given {
		f.add(` AND position < ?`, c.after)
	}
	f.add(` ORDER BY version DESC LIMIT ?`, limit+1)
	var rows []versionRow
	if err := docs(a, f, func(r versionRow) bool { rows = append(rows, r); return true }); err != nil {
		return nil, err
	}
	for i, r := range rows[:min(limit, len(rows))] {
		step := "made"
		if i+1 < len(rows) {
			was := rows[i+1].Exists
			switch {
			case was && r.Exists:
				step = "edited"
			case was:
				step = "removed"
			case r.Exists && r.Version > 1:
				step = "restored"
			}
		}
		v := r.Author.step(r.Made.Position, step)
		v.Version, v.Address = r.Version, r.Address
		list = append(list, v)
	}
	return list, nil
}

// shown are the publishes behind a cursor that moved an item.
func (a asking) shown(workspace, on, id string, c cursor, limit int) (list []Step, err error) {
	f := query(`SELECT doc FROM {pointers} WHERE workspace = ? AND site = ? AND item = ?`, workspace, on, id)
	if c.given {
		f.add(` AND position < ?`, c.after)
	}
	f.add(` ORDER BY publish DESC LIMIT ?`, limit)
	var rows []pointerRow
	if err := docs(a, f, func(r pointerRow) bool { rows = append(rows, r); return true }); err != nil {
		return nil, err
	}
	for _, r := range rows {
		by, _, err := byKey[publishRow](a, publishes.Name, workspace, fmt.Sprintf("%s/p%d", on, r.Publish))
		if err != nil {
			return nil, err
		}
		step := "published"
		if r.Version == 0 {
			step = "taken-off"
		}
		v := by.Author.step(r.Made.Position, step)
		v.Version, v.Publish, v.Address = r.Version, publishName(r.Publish), r.Address
		list = append(list, v)
	}
	return list, nil
}
