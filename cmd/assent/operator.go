package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"

	"assent/domain"
	"assent/httpapi"
	"assent/projections"
)

// operator looks after the read models of a served house, one rebuild at a time.
// A rebuild goes on when whoever asked for it is gone, and ends with the server.
type operator struct {
	*house
	ctx  context.Context // of all rebuilds
	stop context.CancelFunc

	mu      sync.Mutex
	running bool
	last    *httpapi.RebuildFinished
	all     sync.WaitGroup
}

func newOperator(h *house) *operator {
	o := &operator{house: h}
	o.ctx, o.stop = context.WithCancel(context.Background())
	return o
}

// Close ends a rebuild that is under way; what serves is left as it is.
func (o *operator) Close() {
	o.mu.Lock()
	o.stop()
	o.mu.Unlock()
	o.all.Wait()
}

// System says how everything is.
func (o *operator) System(ctx context.Context) (httpapi.System, error) {
	s, err := o.projectionsStatus(ctx)
	if err != nil {
		return httpapi.System{}, err
	}
	head, err := o.log.Head(ctx)
	if err != nil {
		return httpapi.System{}, err
	}
	found := httpapi.System{
		Log:        httpapi.LogState{Kind: o.kept.By, Position: head.Position, At: head.At},
		ReadModels: httpapi.ReadModels{Status: s.Status, Lag: s.Lag, Models: s.Models, Generations: s.Generations},
	}
	if s.Stuck != nil && s.Halt == nil {
		found.ReadModels.Held = s.Stuck.Error()
	}
	if err := o.reader().Writable(ctx); err != nil {
		found.Log.Wrong = err.Error()
	}
	if o.heads != nil {
		if err := o.heads.Failing(); err != nil {
			found.Log.Heads = err.Error()
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	found.Last = o.last
	return found, nil
}

// Rebuild begins one, unless one is under way here. That another instance has
// one under way comes out as how it ended.
func (o *operator) Rebuild(_ context.Context, asked httpapi.RebuildAsked) error {
	for _, name := range asked.Models {
		if !slices.ContainsFunc(o.rows.Models(), func(m projections.Model) bool { return m.Name == name }) {
			return domain.Refuse("not-found", "There is no read model %q. List them to see which there are.", name)
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.running {
		return domain.Refuse("busy", "The read models are being rebuilt already. Wait until that is done.")
	}
	if o.ctx.Err() != nil {
		return o.ctx.Err()
	}
	o.running = true
	o.all.Go(func() {
		r, err := o.rows.Rebuild(o.ctx, o.log, projections.RebuildOptions{DryRun: asked.DryRun, Only: asked.Models, Progress: func(projections.Progress) {}})
		ended := &httpapi.RebuildFinished{At: o.clock().UTC()}
		switch no, meant := errors.AsType[*domain.Refusal](err); {
		case err == nil:
			ended.Rebuilt = &r
		case meant:
			ended.Failed = no.Reason
		default:
			ended.Failed = err.Error()
			slog.ErrorContext(o.ctx, "a rebuild failed", "error", err)
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		o.running, o.last = false, ended
	})
	return nil
}

// SwitchBack lets the generation before the last swap take over again.
func (o *operator) SwitchBack(ctx context.Context) (projections.Rebuilt, error) {
	return o.rows.SwitchBack(ctx, o.log, func(projections.Progress) {})
}
