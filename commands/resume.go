package commands

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"assent/domain"
	"assent/domain/agent"
	"assent/domain/proposal"
)

// Tend finishes what was left: approved proposals that were not carried out,
// waiting ones whose time is over, summaries of minutes that have passed. It
// does so at once and then every few seconds, until the context ends, and each
// minute brings up what still waits and soon will not.
//
// This is the only process manager there is. It decides nothing: it carries
// out what a person approved, under ids that make doing it twice harmless.
func (r *Road) Tend(ctx context.Context, every time.Duration) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	var reminded time.Time
	for {
		err := r.TendOnce(ctx)
		if now := r.Clock(); now.Sub(reminded) >= time.Minute {
			reminded = now
			err = errors.Join(err, r.RemindOnce(ctx), r.RemindOfKeys(ctx))
		}
		if err != nil && ctx.Err() == nil {
			slog.ErrorContext(ctx, "finishing what was left", "error", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// TendOnce does all that is due now.
func (r *Road) TendOnce(ctx context.Context) error {
	now := r.now(ctx)
	failed := errors.Join(r.conduct.flush(ctx, now, false), r.resume(ctx))
	streams, err := r.Traces.Unfinished(ctx, now)
	if err != nil {
		return errors.Join(failed, err)
	}
	for _, s := range streams {
		if err := r.tend(ctx, s, now); err != nil {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

func (r *Road) tend(ctx context.Context, s domain.Stream, now time.Time) error {
	at, err := r.things.load(ctx, s)
	if err != nil {
		return err
	}
	p := at.state.(proposal.Proposal)
	if p.Status == proposal.IsApproved {
		_, err := r.finish(ctx, s)
		return err
	}
	events, err := proposal.Expire(p, now)
	if err != nil || len(events) == 0 {
		return err
	}
	return r.tick(ctx, at, "expire", events[0])
}

// RemindOnce looks at all proposals that wait: those whose cause is gone it
// withdraws, and those whose time is nearly over it brings up, once each.
func (r *Road) RemindOnce(ctx context.Context) error {
	now := r.now(ctx)
	streams, err := r.Traces.Unfinished(ctx, now.Add(proposal.Lifetime)) // all that wait
	if err != nil {
		return err
	}
	var failed error
	for _, s := range streams {
		at, err := r.things.load(ctx, s)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		if gone, err := r.release(ctx, at); gone || err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		events, err := proposal.Remind(at.state.(proposal.Proposal), now)
		if err == nil && len(events) > 0 {
			err = r.tick(ctx, at, "remind", events[0])
		}
		failed = errors.Join(failed, err)
	}
	return failed
}

// release withdraws a proposal that there is nothing left to decide about.
func (r *Road) release(ctx context.Context, at thing) (bool, error) {
	p := at.state.(proposal.Proposal)
	if p.Status != proposal.Waiting {
		return false, nil
	}
	history, err := r.things.history(ctx, at.stream)
	if err != nil {
		return false, err
	}
	card, err := r.rehearseAgain(ctx, p, history, at.stream)
	gone := ""
	switch no, meant := errors.AsType[*domain.Refusal](err); {
	case meant && no.Code == nothing.Code:
		gone = "target"
	case meant && no.Code == "revoked":
		gone = "key"
	case meant: // another no may be over again before somebody decides
		return false, nil
	case err != nil:
		return false, err
	case len(card.changes) == 0:
		gone = "done"
	}
	events, err := proposal.Release(p, gone)
	if err != nil || len(events) == 0 {
		return false, err
	}
	return true, r.tick(ctx, at, "release", events[0])
}

// Endings finds agents that have a key whose end is to be brought up.
type Endings interface {
	EndingKeys(ctx context.Context, now time.Time) ([]domain.Stream, error)
}

// RemindOfKeys brings up each key that ends within the week, once, so that its
// owner makes another in time.
func (r *Road) RemindOfKeys(ctx context.Context) error {
	finds, ok := r.Traces.(Endings)
	if !ok {
		return nil
	}
	now := r.now(ctx)
	streams, err := finds.EndingKeys(ctx, now)
	for _, s := range streams {
		at, failed := r.things.load(ctx, s)
		if failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		if events := agent.Remind(at.state.(agent.Agent), now); len(events) > 0 {
			id := domain.Derive("cmd", s.ID, "remind", strconv.FormatInt(int64(at.version), 10))
			err = errors.Join(err, r.clock(ctx, at, domain.Envelope{Action: id, Name: "key.remind"}, anyOf(events)))
		}
	}
	return err
}

func anyOf[E any](events []E) []any {
	list := make([]any, len(events))
	for i, e := range events {
		list[i] = e
	}
	return list
}

// tick appends what only time does to a proposal, once, whoever is first.
func (r *Road) tick(ctx context.Context, at thing, verb string, event proposal.Event) error {
	return r.clock(ctx, at, domain.Envelope{Action: domain.Derive("cmd", at.stream.ID, verb), Name: "proposal." + verb, Proposal: at.stream.ID}, []any{event})
}

// clock appends what only time does to a thing.
func (r *Road) clock(ctx context.Context, at thing, e domain.Envelope, events []any) error {
	e.Principal = domain.Principal{Kind: domain.KindSystem, ID: "clock"}
	fresh, err := r.spell(e.Action, 0, []domain.Envelope{e}, events)
	if err != nil {
		return err
	}
	_, err = r.append(ctx, Write{at.stream, at.version, fresh})
	if again(err) {
		return nil // somebody was faster, and there may be nothing left to say
	}
	return err
}

// Close writes down what was only counted so far.
func (r *Road) Close(ctx context.Context) error {
	return r.conduct.flush(ctx, r.now(ctx), true)
}
