package policy

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"assent/domain"
)

// Rules are what a workspace or one of its sites adds to the house's rules. The
// zero value adds nothing.
type Rules struct {
	Paused           bool                `json:"paused,omitempty"`           // no agent acts
	AutoPublishLimit int                 `json:"autoPublishLimit,omitempty"` // most changes of a low-risk publish; 0: the default
	Pace             int                 `json:"pace,omitempty"`             // most different things an agent changes in PaceWindow before it waits; 0: no limit
	Waits            []string            `json:"waits,omitempty"`            // actions that always wait when an agent asks
	Freezes          []Freeze            `json:"freezes,omitempty"`          // when nothing goes live
	Deciders         map[string]Deciders `json:"deciders,omitempty"`         // who decides, by the class of the action
	Separation       Separation          `json:"separation,omitempty"`       // whether the person behind an agent may decide on what it asks
}

// PaceWindow is the time in which an agent's pace is measured.
const PaceWindow = 10 * time.Minute

// Freeze is a time in which nothing goes live.
type Freeze struct {
	From  time.Time `json:"from"`
	Until time.Time `json:"until"`
	Why   string    `json:"why,omitempty"`
}

// Separation says whether the person behind an agent counts among those who
// decide on what it asks.
type Separation string

// Where nothing is said, separation is on for what goes live and what takes
// away, as soon as there is somebody else who could decide.
const (
	SeparateAuto Separation = ""
	SeparateOn   Separation = "on"
	SeparateOff  Separation = "off"
)

// Limit is the most changes a publish may have and still be low risk.
func (r Rules) Limit() int { return cmp.Or(r.AutoPublishLimit, DefaultPublishLimit) }

// Frozen is the freeze in force at a time, if there is one.
func (r Rules) Frozen(now time.Time) (Freeze, bool) {
	i := slices.IndexFunc(r.Freezes, func(f Freeze) bool { return !now.Before(f.From) && now.Before(f.Until) })
	if i < 0 {
		return Freeze{}, false
	}
	return r.Freezes[i], true
}

// With are the rules where two hold at once, such as a workspace's and its
// site's: of everything the stricter.
func (r Rules) With(o Rules) Rules {
	return Rules{
		Paused:           r.Paused || o.Paused,
		AutoPublishLimit: stricterLimit(r, o),
		Pace:             stricterPace(r.Pace, o.Pace),
		Waits:            union(r.Waits, o.Waits),
		Freezes:          slices.Concat(r.Freezes, o.Freezes),
		Deciders:         bothDecide(r.Deciders, o.Deciders),
		Separation:       stricterSeparation(r.Separation, o.Separation),
	}
}

func stricterLimit(r, o Rules) int {
	if r.AutoPublishLimit == 0 && o.AutoPublishLimit == 0 {
		return 0
	}
	if o.AutoPublishLimit == 0 {
		return r.AutoPublishLimit // what says nothing takes nothing away
	}
	if r.AutoPublishLimit == 0 {
		return o.AutoPublishLimit
	}
	return min(r.AutoPublishLimit, o.AutoPublishLimit)
}

func stricterPace(a, b int) int {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

var separations = []Separation{SeparateOff, SeparateAuto, SeparateOn}

func stricterSeparation(a, b Separation) Separation {
	if a == SeparateAuto || b == SeparateAuto { // who says nothing leaves it to the other
		return cmp.Or(a, b)
	}
	return separations[max(slices.Index(separations, a), slices.Index(separations, b))]
}

func union(a, b []string) []string {
	if len(a)+len(b) == 0 {
		return nil
	}
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// bothDecide makes a decision pass the stages of both.
func bothDecide(a, b map[string]Deciders) map[string]Deciders {
	if len(a) == 0 {
		return b
	}
	all := maps.Clone(a)
	for class, d := range b {
		all[class] = Deciders{Stages: slices.Concat(all[class].Stages, d.Stages)}
	}
	return all
}

// Tighter says that r forbids or holds something that before let through. What
// was agreed under looser rules ends with them.
func (r Rules) Tighter(before Rules) bool {
	looser := func(f Freeze) bool { return !slices.Contains(before.Freezes, f) }
	return r.Paused && !before.Paused ||
		r.Limit() < before.Limit() ||
		r.Pace != before.Pace && stricterPace(r.Pace, before.Pace) == r.Pace ||
		slices.ContainsFunc(r.Waits, func(a string) bool { return !slices.Contains(before.Waits, a) }) ||
		slices.ContainsFunc(r.Freezes, looser) ||
		slices.Index(separations, r.Separation) > slices.Index(separations, before.Separation) ||
		!maps.EqualFunc(r.Deciders, before.Deciders, Deciders.equal)
}

// Deciders are who decides on one class of actions: one stage after another,
// and in each as many different people as it needs. None: whoever may do it
// themselves, alone.
type Deciders struct {
	Stages []Stage `json:"stages,omitempty"`
}

// Stage is one step of a decision.
type Stage struct {
	Roles  []Role   `json:"roles,omitempty"`  // whoever has one of these roles,
	People []string `json:"people,omitempty"` // and these
	Need   int      `json:"need"`             // how many of them say yes, at least 1
}

func (d Deciders) equal(o Deciders) bool {
	return slices.EqualFunc(d.Stages, o.Stages, func(a, b Stage) bool {
		return a.Need == b.Need && slices.Equal(a.Roles, b.Roles) && slices.Equal(a.People, b.People)
	})
}

// Need is how many different people a decision takes.
func (d Deciders) Need() int {
	n := 0
	for _, s := range d.Stages {
		n += s.Need
	}
	return max(n, 1)
}

// Decider is somebody who would say yes: as themselves, or for who asked them
// to stand in.
type Decider struct {
	ID   string
	Role Role
	For  string // who asked them to, if they stand in
	As   Role   // the role of that person
}

// among says that somebody belongs to a stage: themselves, or who they stand
// in for.
func (s Stage) among(d Decider) bool {
	return slices.Contains(s.People, d.ID) || slices.Contains(s.Roles, d.Role) ||
		d.For != "" && (slices.Contains(s.People, d.For) || slices.Contains(s.Roles, d.As))
}

// Yesses are the people who said yes so far, in order.
type Yesses []string

// Next says whether one more yes completes a decision. It is refused for who
// has said yes before, who stands for somebody who has, or whose turn it is
// not. No stages: one yes of anybody is enough.
func (d Deciders) Next(so Yesses, by Decider) (complete bool, err error) {
	if slices.Contains(so, by.ID) || by.For != "" && slices.Contains(so, by.For) {
		return false, domain.Refuse("already-decided", "You have said yes already. It waits for somebody else.")
	}
	if len(d.Stages) == 0 {
		return true, nil
	}
	given := len(so)
	for i, s := range d.Stages {
		if given >= s.Need {
			given -= s.Need
			continue
		}
		if !s.among(by) {
			return false, domain.Refuse("permission", "Step %d of %d of this decision is not yours to take.", i+1, len(d.Stages))
		}
		return i == len(d.Stages)-1 && given+1 == s.Need, nil
	}
	return true, nil // rules were loosened since: everybody needed has said yes
}

// Sound refuses rules that mean nothing.
func (r Rules) Sound() error {
	if n := r.AutoPublishLimit; n < 0 || n > 200 {
		return domain.Refuse("invalid", "The limit must be between 1 and 200 changes.")
	}
	if r.Pace < 0 || r.Pace > 1000 {
		return domain.Refuse("invalid", "An agent's pace must be between 1 and 1,000 things in 10 minutes, or 0 for no limit.")
	}
	for _, f := range r.Freezes {
		if !f.From.Before(f.Until) {
			return domain.Refuse("invalid", "A freeze must end after it begins.")
		}
	}
	if !slices.Contains(separations, r.Separation) {
		return domain.Refuse("invalid", "Separation is on, off, or left out.")
	}
	for _, class := range slices.Sorted(maps.Keys(r.Deciders)) {
		if err := r.Deciders[class].sound(class); err != nil {
			return err
		}
	}
	return nil
}

var decidable = []string{"content", "publish", "destructive"}

func (d Deciders) sound(class string) error {
	if !slices.Contains(decidable, class) {
		return domain.Refuse("invalid", "People decide on content, publish or destructive, not on %q.", class)
	}
	for i, s := range d.Stages {
		switch {
		case s.Need < 1:
			return domain.Refuse("invalid", "Step %d needs at least one yes.", i+1)
		case len(s.Roles) == 0 && len(s.People) < s.Need:
			return domain.Refuse("invalid", "Step %d needs %d people and names %d: nobody could ever say yes.", i+1, s.Need, len(s.People))
		}
	}
	return nil
}
