package policy

import (
	"cmp"
	"slices"
	"time"

	"assent/domain"
)

// Rules are what a workspace or one of its sites adds to the house's rules. The
// zero value adds nothing.
type Rules struct {
	Paused           bool       `json:"paused,omitempty"`           // no agent acts
	AutoPublishLimit int        `json:"autoPublishLimit,omitempty"` // most changes of a low-risk publish; 0: the default
	Pace             int        `json:"pace,omitempty"`             // most different things an agent changes in PaceWindow before it waits; 0: no limit
	Waits            []string   `json:"waits,omitempty"`            // actions that always wait when an agent asks
	Freezes          []Freeze   `json:"freezes,omitempty"`          // when nothing goes live
	Stages           []Stage    `json:"stages,omitempty"`           // who decides, step by step
	Separation       Separation `json:"separation,omitempty"`       // whether the person behind an agent may decide on what it asks
}

// PaceWindow is the time in which an agent's pace is measured.
const PaceWindow = 10 * time.Minute

// Freeze is a time in which nothing goes live.
type Freeze struct {
	From  time.Time `json:"from" jsonschema:"when it begins, as in 2026-12-24T00:00:00Z"`
	Until time.Time `json:"until" jsonschema:"when it ends"`
	Why   string    `json:"why,omitempty" jsonschema:"what to tell who is held up" chars:"200"`
}

// Separation says whether the person behind an agent counts among those who
// decide on what it asks.
type Separation string

// Where nothing is said, it is off: a house of one must be able to decide.
const (
	SeparateUnsaid Separation = ""
	SeparateOn     Separation = "on"
	SeparateOff    Separation = "off"
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
		Stages:           slices.Concat(r.Stages, o.Stages),
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

var separations = []Separation{SeparateOff, SeparateUnsaid, SeparateOn}

func stricterSeparation(a, b Separation) Separation {
	if a == SeparateUnsaid || b == SeparateUnsaid { // who says nothing leaves it to the other
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

// Tighter says that r forbids or holds something that before let through. What
// was agreed under looser rules ends with them.
func (r Rules) Tighter(before Rules) bool {
	news := func(f Freeze) bool {
		return !slices.ContainsFunc(before.Freezes, func(b Freeze) bool { return b.From.Equal(f.From) && b.Until.Equal(f.Until) })
	}
	return r.Paused && !before.Paused ||
		r.Limit() < before.Limit() ||
		r.Pace != before.Pace && stricterPace(r.Pace, before.Pace) == r.Pace ||
		slices.ContainsFunc(r.Waits, func(a string) bool { return !slices.Contains(before.Waits, a) }) ||
		slices.ContainsFunc(r.Freezes, news) ||
		slices.Index(separations, r.Separation) > slices.Index(separations, before.Separation) ||
		!slices.EqualFunc(r.Stages, before.Stages, Stage.equal)
}

// Stage is one step of deciding on a class of actions: as many different people
// say yes as it needs. Stages of a class are taken in order. Without any, one yes
// of whoever may do it themselves is enough.
type Stage struct {
	Of     string   `json:"of" jsonschema:"the class of actions: content, publish or destructive" enum:"content,publish,destructive"`
	Roles  []Role   `json:"roles,omitempty" jsonschema:"whoever has one of these roles decides"`
	People []string `json:"people,omitempty" jsonschema:"and these people do"`
	Need   int      `json:"need" jsonschema:"how many of them say yes, at least 1"`
}

func (s Stage) equal(o Stage) bool {
	return s.Of == o.Of && s.Need == o.Need && slices.Equal(s.Roles, o.Roles) && slices.Equal(s.People, o.People)
}

// Deciders are the stages of a decision on one class of actions.
type Deciders []Stage

// Deciders are who decides on a class of actions.
func (r Rules) Deciders(class string) (d Deciders) {
	for _, s := range r.Stages {
		if s.Of == class {
			d = append(d, s)
		}
	}
	return d
}

// Need is how many different people a decision takes.
func (d Deciders) Need() int {
	n := 0
	for _, s := range d {
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
	if len(so) >= d.Need() {
		return true, nil // the rules were loosened since: everybody needed has said yes
	}
	if slices.Contains(so, by.ID) || by.For != "" && slices.Contains(so, by.For) {
		return false, domain.Refuse("already-decided", "You have said yes already. It waits for somebody else.")
	}
	if len(d) == 0 {
		return true, nil
	}
	given := len(so)
	for i, s := range d {
		if given >= s.Need {
			given -= s.Need
			continue
		}
		if !s.among(by) {
			return false, domain.Refuse("permission", "Step %d of %d of this decision is not yours to take.", i+1, len(d))
		}
		return i == len(d)-1 && given+1 == s.Need, nil
	}
	return true, nil
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
	for _, st := range r.Stages {
		if err := st.sound(); err != nil {
			return err
		}
	}
	return nil
}

var decidable = []string{"content", "publish", "destructive"}

func (s Stage) sound() error {
	switch {
	case !slices.Contains(decidable, s.Of):
		return domain.Refuse("invalid", "People decide on content, publish or destructive, not on %q.", s.Of)
	case s.Need < 1:
		return domain.Refuse("invalid", "Each step of a decision needs at least one yes.")
	case len(s.Roles) == 0 && len(s.People) < s.Need:
		return domain.Refuse("invalid", "A step that needs %d people names %d: nobody could ever complete it.", s.Need, len(s.People))
	}
	return nil
}
