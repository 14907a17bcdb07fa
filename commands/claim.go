package commands

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/address"
	"assent/domain/live"
)

// claim is one address taken or let go, in the same append as the change, or
// only checked to be where it was read.
type claim struct {
	stream  domain.Stream
	version domain.Version
	event   any // nil: a check
}

// settling is how long an address is its holder's on the holder's word alone,
// in log time: so long a change may be under way, on a log that writes the
// address first and the change after it.
const settling = time.Minute

// claim works out which addresses a change takes and frees. A path that
// somebody else holds refuses the change.
//
// A claim is only as good as its holder. On a log that is not Atomic, and in a
// copy of one, an address can be held by what was never made or has moved
// away, because somebody stopped in the middle. Such a claim is taken over
// once it has had its time to settle.
func (r *Road) claim(ctx context.Context, now time.Time, holder domain.Stream, before, after domain.State) ([]claim, error) {
	was, is := place(before), place(after)
	if was == is {
		return nil, nil
	}
	me := nameOf(holder)
	var claims []claim
	if is != (spot{}) {
		at, err := r.things.load(ctx, address.Of(holder.Workspace, is.site, is.path))
		if err != nil {
			return nil, err
		}
		switch held := at.state.(address.Address).Holder; held {
		case me: // an earlier try took it, or did not get to free it: it must still be mine
			claims = append(claims, claim{at.stream, at.version, nil})
		case "":
			claims = append(claims, claim{at.stream, at.version, address.Taken{Holder: me}})
		default:
			other, err := r.abandoned(ctx, now, at, held, is)
			if err != nil {
				return nil, err
			}
			claims = append(claims, claim{at.stream, at.version, address.Taken{Holder: me}}, other)
		}
	}
	if was != (spot{}) {
		at, err := r.things.load(ctx, address.Of(holder.Workspace, was.site, was.path))
		if err != nil {
			return nil, err
		}
		if at.state.(address.Address).Holder == me {
			claims = append(claims, claim{at.stream, at.version, address.Freed{}})
		}
	}
	return claims, nil
}

// abandoned is the check that whoever holds an address still does not use it,
// or the refusal to take it over.
func (r *Road) abandoned(ctx context.Context, now time.Time, at thing, held string, is spot) (claim, error) {
	taken := domain.Refuse("taken", "%s already stands at %s on this site. Choose another address, or move that one first.", held, is.path)
	category, id, _ := strings.Cut(held, "/")
	if _, known := r.Kinds[category]; !known {
		return claim{}, taken // by what only a newer version can judge
	}
	other, err := r.things.load(ctx, at.stream.In(category, id))
	if err != nil {
		return claim{}, err
	}
	if place(other.state) == is {
		return claim{}, taken
	}
	last, err := r.Log.ReadStream(ctx, at.stream, at.version-1)
	if err != nil {
		return claim{}, err
	}
	if len(last) == 0 || now.Sub(last[0].At) <= settling {
		return claim{}, domain.Refuse("taken", "%s is being taken or left by %s at this moment. Try again in a minute, or choose another address.", is.path, held)
	}
	return claim{other.stream, other.version, nil}, nil
}

// lost tells of an address that a change took and that was taken over before
// the change was there: only on a log that is not Atomic, and only if more than
// settling went by in the middle of its append. The address stream alone says
// who is found at an address, so this one is found by its id until it is
// moved, and cannot go live where it is.
func (r *Road) lost(ctx context.Context, holder domain.Stream, claims []claim) []domain.Line {
	if r.Log.Atomic() || len(claims) == 0 {
		return nil
	}
	is, held, err := r.whereabouts(ctx, holder)
	if err != nil { // what is done is done, whether or not this can be told
		slog.WarnContext(ctx, "an address was not read again after it was taken", "by", holder.String(), "error", err)
	}
	if err != nil || is == (spot{}) || held == nameOf(holder) {
		return nil
	}
	return []domain.Line{{Field: "address", Before: is.path, After: "taken over by " + held + ": move this one before it goes live"}}
}

// whereabouts is where a thing says that it is, and who is found there.
func (r *Road) whereabouts(ctx context.Context, s domain.Stream) (is spot, held string, err error) {
	now, err := r.things.load(ctx, s)
	if err != nil {
		return spot{}, "", err
	}
	if is = place(now.state); is == (spot{}) {
		return is, "", nil
	}
	at, err := r.things.load(ctx, address.Of(s.Workspace, is.site, is.path))
	if err != nil {
		return spot{}, "", err
	}
	return is, at.state.(address.Address).Holder, nil
}

// housed refuses to publish what names an address that it does not hold. Where
// the log is Atomic, whatever names an address holds it.
func (t *trip) housed() error {
	if t.road.Log.Atomic() {
		return nil
	}
	for _, e := range t.events {
		published, ok := e.(live.Published)
		if !ok {
			continue
		}
		for _, it := range published.Items {
			if err := t.housedAt(action.Ref{Category: live.KindOf(it.ID), ID: it.ID}, it.Address); err != nil {
				return err
			}
		}
	}
	return nil
}

// housedAt looks at one item that is to go live. An older version may name an
// address the item has left: then it is the other public things that must not
// be there, and the decision has seen to that.
func (t *trip) housedAt(item action.Ref, path string) error {
	is, held, err := t.road.whereabouts(t.ctx, t.streamOf(item))
	switch {
	case err != nil || is == (spot{}) || is.path != path || held == nameOf(t.streamOf(item)):
		return err
	case held == "":
		return domain.Refuse("taken", "%s does not hold its address %s. Move it to another address, and back if that is where it belongs.", item.ID, is.path)
	default:
		return domain.Refuse("taken", "%s already stands at %s, so %s cannot go live there. Move one of them first.", held, is.path, item.ID)
	}
}

// nameOf is a thing as claims name it.
func nameOf(s domain.Stream) string { return s.Category + "/" + s.ID }

// spot is a path of a site.
type spot struct{ site, path string }

func place(s domain.State) spot {
	if placed, ok := s.(action.Placed); ok {
		site, path := placed.Place()
		return spot{site, path}
	}
	return spot{}
}
