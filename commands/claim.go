package commands

import (
	"context"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/address"
)

// claim is one address taken or let go, in the same append as the change.
type claim struct {
	stream  domain.Stream
	version domain.Version
	event   any
}

// claim works out which addresses a change takes and frees. A path that
// somebody else holds refuses the change.
func (r *Road) claim(ctx context.Context, holder domain.Stream, before, after domain.State) ([]claim, error) {
	was, is := place(before), place(after)
	if was == is {
		return nil, nil
	}
	me := holder.Category + "/" + holder.ID
	var claims []claim
	if is != (spot{}) {
		at, err := r.things.load(ctx, address.Of(holder.Workspace, is.site, is.path))
		if err != nil {
			return nil, err
		}
		switch held := at.state.(address.Address).Holder; held {
		case me:
		case "":
			claims = append(claims, claim{at.stream, at.version, address.Taken{Holder: me}})
		default:
			return nil, domain.Refuse("taken", "%s already stands at %s on this site. Choose another address, or move that one first.", held, is.path)
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

// spot is a path of a site.
type spot struct{ site, path string }

func place(s domain.State) spot {
	if placed, ok := s.(action.Placed); ok {
		site, path := placed.Place()
		return spot{site, path}
	}
	return spot{}
}
