package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"assent/commands/eventlog/chain"
	"assent/domain"
)

// verifyCmd walks the log from the first event and checks that nothing was
// changed, removed, inserted, reordered or cut.
type verifyCmd struct{}

// Run checks and says what it found.
func (*verifyCmd) Run(e *env) error {
	at, err := enter(e.ctx, e.Data, false)
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
	if closed := at.Close(); err == nil {
		err = closed
	}
	if e.JSON {
		return e.result(err, events)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.out, "verify: ok, %d events in %s\n", events, time.Since(started).Round(time.Millisecond))
	return err
}

// result is what verify found, as one JSON value.
func (e *env) result(found error, events domain.Position) error {
	r := struct {
		OK     bool            `json:"ok"`
		Events domain.Position `json:"events"`
		Found  string          `json:"found,omitempty"`
	}{found == nil, events, ""}
	if found != nil {
		r.Found = found.Error()
	}
	return errors.Join(json.NewEncoder(e.out).Encode(r), found)
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
	if h.cut > 0 {
		return ended{exitFound, fmt.Sprintf("the log is broken: it once reached position %d and its end is missing", h.cut)}
	}
	err := v.Verify(ctx, progress)
	if broken, found := errors.AsType[*chain.Broken](err); found {
		return ended{exitFound, broken.Error()}
	}
	return err
}
