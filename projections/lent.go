package projections

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"assent/domain/agent"
)

// Lending is what a person lent an agent for a while: a freer mode, or a yes in
// advance to one kind of change with one key on one site.
type Lending struct {
	ID     string    `json:"id"`
	Mode   string    `json:"mode,omitempty"`   // of a freer mode
	Action string    `json:"action,omitempty"` // of a yes in advance, with Key and Site
	Key    string    `json:"key,omitempty"`
	Site   string    `json:"site,omitempty"`
	By     string    `json:"by"`
	Until  time.Time `json:"until"`
	Ended  bool      `json:"ended,omitempty"` // by a person, before its time
}

// lendings are what an agent was lent, oldest first.
func lendings(l agent.Lent) (list []Lending) {
	for id, e := range l.Elevations {
		list = append(list, Lending{ID: id, Mode: string(e.Mode), By: e.By, Until: e.Until, Ended: e.Ended})
	}
	for _, id := range slices.Sorted(maps.Keys(l.Standings)) {
		s := l.Standings[id]
		list = append(list, Lending{ID: id, Action: s.Action, Key: s.Key, Site: s.Site, By: s.By, Until: s.Until, Ended: s.Ended})
	}
	slices.SortFunc(list, func(a, b Lending) int { return cmp.Compare(a.ID, b.ID) }) // ids are in order of time
	return list
}
