package policy

import "assent/domain"

// RulesChange sets the rules it names and leaves the others.
type RulesChange struct {
	Paused           *bool       `json:"paused,omitempty" jsonschema:"no agent acts while this is so"`
	AutoPublishLimit *int        `json:"autoPublishLimit,omitempty" jsonschema:"most changes of a publish that goes live by itself, 1 to 200"`
	Pace             *int        `json:"pace,omitempty" jsonschema:"most different things an agent changes within 10 minutes before it waits; 0 for no limit"`
	Waits            *[]string   `json:"waits,omitempty" jsonschema:"actions that always wait for a person when an agent asks, such as page.update"`
	Freezes          *[]Freeze   `json:"freezes,omitempty" jsonschema:"times in which nothing goes live; replaces the list"`
	Stages           *[]Stage    `json:"stages,omitempty" jsonschema:"who decides, step by step; replaces the list"`
	Separation       *Separation `json:"separation,omitempty" jsonschema:"on when the person behind an agent may not decide on what it asks; off or empty when they may" enum:",on,off"`
}

// To are some rules with the change made.
func (c RulesChange) To(r Rules) Rules {
	domain.Set(&r.Paused, c.Paused)
	domain.Set(&r.AutoPublishLimit, c.AutoPublishLimit)
	domain.Set(&r.Pace, c.Pace)
	domain.Set(&r.Waits, c.Waits)
	domain.Set(&r.Freezes, c.Freezes)
	domain.Set(&r.Stages, c.Stages)
	domain.Set(&r.Separation, c.Separation)
	return r
}

// Back is the change that sets the same rules to what they were.
func (c RulesChange) Back(before Rules) RulesChange {
	return RulesChange{
		Paused:           domain.Was(c.Paused, before.Paused),
		AutoPublishLimit: domain.Was(c.AutoPublishLimit, before.AutoPublishLimit),
		Pace:             domain.Was(c.Pace, before.Pace),
		Waits:            domain.Was(c.Waits, before.Waits),
		Freezes:          domain.Was(c.Freezes, before.Freezes),
		Stages:           domain.Was(c.Stages, before.Stages),
		Separation:       domain.Was(c.Separation, before.Separation),
	}
}

// Of is as much of a wanted change as would change some rules. The default
// limit, where none is set, is one already.
func (c RulesChange) Of(r Rules) RulesChange {
	return RulesChange{
		Paused:           domain.Changed(r.Paused, c.Paused),
		AutoPublishLimit: domain.Changed(r.Limit(), c.AutoPublishLimit),
		Pace:             domain.Changed(r.Pace, c.Pace),
		Waits:            domain.Changed(r.Waits, c.Waits),
		Freezes:          domain.Changed(r.Freezes, c.Freezes),
		Stages:           domain.Changed(r.Stages, c.Stages),
		Separation:       domain.Changed(r.Separation, c.Separation),
	}
}

// Fields are the rules as people know them.
func (r Rules) Fields() []domain.Field {
	return []domain.Field{
		{Name: "paused", Value: r.Paused},
		{Name: "autoPublishLimit", Value: r.Limit()},
		{Name: "pace", Value: r.Pace},
		{Name: "waits", Value: r.Waits},
		{Name: "freezes", Value: r.Freezes},
		{Name: "stages", Value: r.Stages},
		{Name: "separation", Value: string(r.Separation)},
	}
}
