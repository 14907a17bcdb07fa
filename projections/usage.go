package projections

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"assent/domain"
	"assent/domain/proposal"
)

// decisionRow is one proposal as far as how people decide is concerned.
type decisionRow struct {
	Shape
	Cause   string    `json:"cause"`
	Filed   time.Time `json:"filed"`
	By      string    `json:"by,omitempty"`
	Decided time.Time `json:"decided,omitzero"` // by a person
	Yes     bool      `json:"yes,omitempty"`
}

// decisions is how people decided, apart from what they decided about.
var decisions = Projection[decisionRow]{
	Name: "decisions", Version: 1,
	Keys: func(f Fact) []string {
		if _, ok := f.After.(proposal.Proposal); !ok {
			return nil
		}
		return []string{key(f.Stream.Workspace, f.Stream.ID)}
	},
	Fold: func(_ string, r decisionRow, f Fact) (decisionRow, bool) {
		before, after := f.Before.(proposal.Proposal), f.After.(proposal.Proposal)
		if before.Status == "" {
			r.Filed, r.Cause = f.At, after.Card.Cause
			r.Shape = shapeOf(f.Envelope)
		}
		if before.Status == proposal.Waiting && (after.Status == proposal.IsApproved || after.Status == proposal.IsDeclined) {
			r.Decided, r.By, r.Yes = f.At, after.By, after.Status == proposal.IsApproved
		}
		return r, true
	},
	Columns: []Column[decisionRow]{
		number("decided", func(r decisionRow) int64 {
			if r.Decided.IsZero() {
				return 0
			}
			return r.Decided.UnixMicro()
		}),
	},
	Indexes: []string{"workspace, decided"},
}

// shapeOf is what kind of asking an event is, by its envelope.
func shapeOf(e domain.Envelope) Shape {
	s := Shape{Action: e.Name, Key: e.Via.Key}
	if e.Principal.IsAgent() {
		s.Agent = e.Principal.ID
	}
	var q struct {
		Site string `json:"site"`
	}
	if err := json.Unmarshal(e.Question, &q); err == nil {
		s.Site = q.Site
	}
	return s
}

// Quick is the time under which a decision was hardly one.
const Quick = 3 * time.Second

// Shape is a kind of asking: one agent, through one key, for one action on one
// site.
type Shape struct {
	Agent  string `json:"agent,omitempty"`
	Key    string `json:"key,omitempty"`
	Action string `json:"action"`
	Site   string `json:"site,omitempty"`
}

// Figures are how somebody decided, or how what one rule held was decided.
type Figures struct {
	Of       string        // the person's id, or the cause
	Approved int           // how often yes was said
	Declined int           // how often no
	Quick    int           // decided in less than Quick after it was asked
	Median   time.Duration // from asking to deciding
}

// AlwaysYes is a kind of asking to which nobody ever said no.
type AlwaysYes struct {
	Shape
	Times int // how often yes was said
}

// Usage is how people decide: by person and by rule, busiest first, and what
// is always answered with yes, most often first.
type Usage struct {
	People, Causes []Figures
	Always         []AlwaysYes
}

// habit is how often yes is said, and never no, before it counts as always.
const habit = 3

// Usage says how people decided from a time on.
func (s *Store) Usage(ctx context.Context, workspace string, since time.Time) (Usage, error) {
	people, causes := map[string]*tally{}, map[string]*tally{}
	shapes := map[Shape]*tally{}
	err := s.ask(ctx, "how people decide", func(a asking) error {
		from := int64(1) // what nobody decided is at 0
		if !since.IsZero() {
			from = max(from, since.UnixMicro())
		}
		return docs(a, query(`SELECT doc FROM {decisions} WHERE workspace = ? AND decided >= ?`, workspace, from), func(r decisionRow) bool {
			count(people, r.By, r)
			count(causes, r.Cause, r)
			count(shapes, r.Shape, r)
			return true
		})
	})
	if err != nil {
		return Usage{}, err
	}
	u := Usage{People: figures(people), Causes: figures(causes)}
	for shape, t := range shapes {
		if t.no == 0 && t.yes >= habit && shape.Agent != "" {
			u.Always = append(u.Always, AlwaysYes{shape, t.yes})
		}
	}
	slices.SortFunc(u.Always, func(a, b AlwaysYes) int {
		return cmp.Or(cmp.Compare(b.Times, a.Times), strings.Compare(a.Agent, b.Agent), strings.Compare(a.Action, b.Action), strings.Compare(a.Site, b.Site), strings.Compare(a.Key, b.Key))
	})
	return u, nil
}

// tally is decisions being counted.
type tally struct {
	yes, no int
	took    []time.Duration
}

func count[K comparable](tallies map[K]*tally, k K, r decisionRow) {
	t := tallies[k]
	if t == nil {
		t = &tally{}
		tallies[k] = t
	}
	if r.Yes {
		t.yes++
	} else {
		t.no++
	}
	t.took = append(t.took, r.Decided.Sub(r.Filed))
}

func figures(tallies map[string]*tally) []Figures {
	list := []Figures{}
	for _, of := range slices.Sorted(maps.Keys(tallies)) {
		t := tallies[of]
		slices.Sort(t.took)
		quick, _ := slices.BinarySearch(t.took, Quick)
		list = append(list, Figures{Of: of, Approved: t.yes, Declined: t.no, Quick: quick, Median: t.took[len(t.took)/2]})
	}
	slices.SortStableFunc(list, func(a, b Figures) int { return cmp.Compare(b.Approved+b.Declined, a.Approved+a.Declined) })
	return list
}
