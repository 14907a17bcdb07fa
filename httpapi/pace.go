package httpapi

import (
	"context"
	"errors"
	"time"

	"assent/commands"
	"assent/domain"
)

// Pace is how fast each key may ask, at every door that takes keys. Each key has
// a measure of its own: neither people nor other keys from the same address use
// any of it up. It is safe for any number of callers.
type Pace struct {
	each *limiter
	now  func() time.Time
}

// burstOf is how much of a minute's calls may come at once.
const burstOf = 6

// NewPace lets each key ask so often a minute, a sixth of it at once; 0 or less
// is no limit.
func NewPace(perMinute int, now func() time.Time) *Pace {
	if perMinute <= 0 {
		return nil
	}
	return &Pace{newLimiter(max(perMinute/burstOf, 1), time.Minute/time.Duration(perMinute)), now}
}

// Wait uses up one call of a key, or says how long to wait for the next one. The
// name is the key's own, such as its id with its workspace.
func (p *Pace) Wait(key string) time.Duration {
	if p == nil {
		return 0
	}
	slow, _ := errors.AsType[tooSoon](p.each.take(key, p.now()))
	return slow.wait
}

// tooFast is what who asks faster than that is told.
var tooFast = domain.Refuse("slow-down", "This key asks faster than it may. Wait as long as the answer says, then go on.")

// paced lets a key's call through, or has it counted and says how long to wait.
func (s *Server) paced(ctx context.Context, k Keyed) error {
	wait := s.pace.Wait(k.Workspace + "/" + k.Key)
	if wait <= 0 {
		return nil
	}
	_, err := s.road.Do(ctx, commands.Call{
		Workspace: k.Workspace, Principal: domain.Principal{Kind: domain.KindAgent, ID: k.Agent}, Person: k.Person,
		Via: domain.Via{Key: k.Key}, Refusal: tooFast,
	})
	if err != nil {
		s.log.ErrorContext(ctx, "a call that came too fast could not be counted", "error", err)
	}
	p := newProblem(tooFast.Code, tooFast.Reason)
	p.retry = max(wait, time.Second)
	return p
}
