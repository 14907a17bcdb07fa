package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"assent/domain"
)

// verifyCmd walks the log from the first event and checks that nothing was
// changed, removed, inserted, reordered or cut.
type verifyCmd struct{}

// Run checks and says what it found.
func (*verifyCmd) Run(e *env) error {
	at, err := enter(e.ctx, e.Data)
	if err != nil {
		return err
	}
	started := time.Now()
	var events domain.Position
	draw := progressOn(e.err, "verified")
	err = at.Verify(e.ctx, func(done, total domain.Position) {
		events = total
		draw(int(done), int(total))
	})
	if err = errors.Join(err, at.Close()); err != nil {
		return err
	}
	if e.JSON {
		_, err = fmt.Fprintf(e.out, "{\"ok\":true,\"events\":%d}\n", events)
	} else {
		_, err = fmt.Fprintf(e.out, "verify: ok, %d events in %s\n", events, time.Since(started).Round(time.Millisecond))
	}
	return err
}

// verifier is a log that can check its own chain.
type verifier interface {
	Verify(ctx context.Context, progress func(done, total domain.Position)) error
}

// Verify walks the log's chain and compares it with its head.
func (h *house) Verify(ctx context.Context, progress func(done, total domain.Position)) error {
	v, ok := h.log.(verifier)
	if !ok {
		return domain.Refuse("unsupported", "This log keeps no chain of its own.")
	}
	return v.Verify(ctx, progress)
}
