package commands

import (
	"slices"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/live"
	"assent/domain/page"
	"assent/domain/policy"
)

// What a caller's limits say about a call is found out here and nowhere else:
// whether it goes beyond the collection the caller is for, and whether all it is
// about is the caller's own. The policy refuses; reads by id are looked at in the
// log before anybody answers them, and lists are narrowed.

// collected is what is in one collection of articles: an article, or arguments
// that name a collection.
type collected interface{ InCollection() string }

// within are arguments that can be narrowed to a collection.
type within interface{ Within(collection string) any }

// naming are arguments about items by their ids. The second is true where they
// are about more than those: a whole site as it stands.
type naming interface {
	Naming() (ids []string, more bool)
}

// reach adds to a question what the caller's limits say about it.
func (t *trip) reach(q *policy.Question) (err error) {
	q.OnlyCollection, q.Tightens = t.authority.collection, t.action.Tightens
	if q.OnlyCollection != "" {
		if q.Stray, err = t.strays(q.OnlyCollection); err != nil {
			return err
		}
	}
	if policy.OwnOnly(q.Scopes, q.Scope) || q.Skill != nil && policy.OwnOnly(q.Skill.Scopes, q.Scope) {
		q.Own, err = t.owns()
	}
	return err
}

// strays says that a call is about something outside a collection.
func (t *trip) strays(collection string) (bool, error) {
	if policy.Wide(t.action.Name) {
		return true, nil
	}
	outside := func(about any) bool {
		c, ok := about.(collected)
		return ok && c.InCollection() != "" && c.InCollection() != collection
	}
	if outside(t.thing.state) || outside(t.after) || outside(t.cmd.Args) {
		return true, nil
	}
	items, beyond, err := t.items()
	return beyond || slices.ContainsFunc(items, func(s domain.State) bool {
		_, article := s.(collected)
		return !article || outside(s)
	}), err
}

// unseen says that what strays from a collection is something by its id that
// the caller never saw: told why not, it would know that there is such a thing.
func (t *trip) unseen() bool {
	if n, ok := t.cmd.Args.(naming); ok {
		ids, _ := n.Naming()
		return len(ids) > 0
	}
	if c, ok := t.thing.state.(collected); ok && t.thing.version > 0 {
		return c.InCollection() != t.authority.collection
	}
	return t.thing.version > 0 && t.thing.stream.Category == page.Kind.Category
}

// items are the states of what a call names beside its target: as they are, and
// as they were at a version it names. The second is true where it is about more
// than what it names.
func (t *trip) items() (states []domain.State, beyond bool, err error) {
	n, ok := t.cmd.Args.(naming)
	if !ok {
		return nil, false, nil
	}
	ids, beyond := n.Naming()
	for _, id := range ids {
		th, err := t.item(id)
		if err != nil {
			return nil, false, err
		}
		states = append(states, th.state)
	}
	if p, ok := t.cmd.Args.(live.PublishArgs); ok {
		for _, w := range p.Items {
			known, asked := t.known[action.Ref{Category: live.KindOf(w.ID), ID: w.ID}]
			if !asked || w.Version == 0 {
				continue
			}
			if was, err := known.At(domain.Version(w.Version)); err == nil { // the decision says that there is no such version
				states = append(states, was)
			}
		}
	}
	return states, beyond, nil
}

// item is one thing by its id, as it is in the log.
func (t *trip) item(id string) (thing, error) {
	ref := action.Ref{Category: live.KindOf(id), ID: id}
	if !plainID.MatchString(id) {
		return thing{}, nothing
	}
	return t.road.things.load(t.ctx, t.streamOf(ref))
}

// owns says that everything a call is about was made by its caller, or by the
// person behind it in person.
func (t *trip) owns() (bool, error) {
	var about []domain.Stream
	if n, ok := t.cmd.Args.(naming); ok {
		ids, beyond := n.Naming()
		if beyond {
			return false, nil
		}
		for _, id := range ids {
			about = append(about, t.streamOf(action.Ref{Category: live.KindOf(id), ID: id}))
		}
	} else if t.thing.version > 0 {
		about = append(about, t.stream)
	}
	for _, s := range about {
		mine, err := t.made(s)
		if err != nil || !mine {
			return false, err
		}
	}
	return true, nil
}

// made says that the caller, or the person behind it, made a thing.
func (t *trip) made(s domain.Stream) (bool, error) {
	by, err := t.road.things.maker(t.ctx, s)
	return by == t.call.Principal || by.Kind == domain.KindPerson && by.ID != "" && by.ID == t.authority.person, err
}

// bounded is a read by id of a caller who is for one place: the thing is looked
// at first, so that what is elsewhere is as good as not there.
func (t *trip) bounded() error {
	id := t.action.Target(t.cmd.Args)
	if n, ok := t.cmd.Args.(naming); ok {
		if ids, _ := n.Naming(); len(ids) == 1 {
			id = ids[0]
		}
	}
	if t.authority.site == "" && t.authority.collection == "" || !slices.Contains(itemPrefixes, domain.ID(id).Kind()) {
		return nil
	}
	th, err := t.item(id)
	if err == nil && th.version > 0 {
		t.thing = th
	}
	return err
}

// itemPrefixes begin the ids of what is on a site.
var itemPrefixes = []string{"art", "page"}

// narrowed keeps a list to the collection its caller is for.
func (t *trip) narrowed() {
	if w, ok := t.cmd.Args.(within); ok && t.authority.collection != "" {
		t.cmd.Args = w.Within(t.authority.collection)
	}
}

// reachable is what of the pending the caller may publish: who leaves the list
// out means all of that.
func (t *trip) reachable(pending []action.Named) ([]action.Named, error) {
	own := policy.OwnOnly(t.authority.scopes, t.action.Scope)
	if t.authority.collection == "" && !own {
		return pending, nil
	}
	kept := []action.Named{}
	for _, n := range pending {
		th, err := t.item(n.ID)
		if err != nil {
			return nil, err
		}
		c, article := th.state.(collected)
		in := t.authority.collection == "" || article && c.InCollection() == t.authority.collection
		if in && own {
			if in, err = t.made(th.stream); err != nil {
				return nil, err
			}
		}
		if in {
			kept = append(kept, n)
		}
	}
	return kept, nil
}

// keyEnds is when the caller's key stops working.
func (t *trip) keyEnds() *KeyEnds {
	k, ok := t.authority.agent.Keys[t.call.Via.Key]
	if !ok {
		return nil
	}
	return EndsOf(t.call.Via.Key, k, t.now)
}
