package proposal

import (
	"slices"

	"assent/domain"
)

// Keep works out which parts of a proposal are carried out when a person chooses
// some: those whose needs are all among them, in order. The others they chose
// fall with what they left. Choosing none of several stands for all. What is
// not a part is refused as invalid.
func (p Proposal) Keep(chosen []int) (keep []Called, fall []int, err error) {
	if len(chosen) == 0 {
		return p.Calls, nil, nil
	}
	for _, n := range chosen {
		if !slices.ContainsFunc(p.Calls, func(c Called) bool { return c.Part == n }) {
			return nil, nil, domain.Refuse("invalid", "There is no part %d here. The parts are numbered on the card.", n)
		}
	}
	for _, c := range p.Calls { // in order: a part needs only earlier ones
		switch {
		case !slices.Contains(chosen, c.Part):
		case slices.ContainsFunc(c.Needs, func(n int) bool { return !slices.ContainsFunc(keep, func(k Called) bool { return k.Part == n }) }):
			fall = append(fall, c.Part)
		default:
			keep = append(keep, c)
		}
	}
	if len(keep) == 0 {
		return nil, nil, domain.Refuse("invalid", "Nothing of what you chose can happen without the parts you left out. Choose them as well, or decline.")
	}
	return keep, fall, nil
}
