package logtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"assent/commands"
	"assent/commands/eventlog/logtest"
	"assent/commands/eventlog/memory"
	"assent/domain"
)

// broken are logs that break one promise each, and a group of cases that has
// to find it.
var broken = []struct {
	name, group string
	weak        bool
	log         func(l *memory.Log) commands.Log
}{
	{"does not look at expectations", "expect", false, func(l *memory.Log) commands.Log { return careless{l} }},
	{"does not look at expectations under load", "order", false, func(l *memory.Log) commands.Log { return careless{l} }},
	{"does not look at checks", "expect", false, func(l *memory.Log) commands.Log { return unchecking{l} }},
	{"forgets appends that it took", "many", false, func(l *memory.Log) commands.Log { return &forgetful{Log: l} }},
	{"forgets appends that it took, among others", "history", false, func(l *memory.Log) commands.Log { return &forgetful{Log: l} }},
	{"reads what was", "history", false, func(l *memory.Log) commands.Log { return &stale{Log: l} }},
	{"reads what was, of its own", "read", false, func(l *memory.Log) commands.Log { return &stale{Log: l} }},
	{"answers walks wrongly", "model", false, func(l *memory.Log) commands.Log { return &stale{Log: l} }},
	{"says that it is atomic", "atomic", true, func(l *memory.Log) commands.Log { return claiming{l} }},
	{"calls a part of it a conflict", "weak", true, func(l *memory.Log) commands.Log { return conflicting{l} }},
	{"gives some events twice", "follow", false, func(l *memory.Log) commands.Log { return stuttering{l} }},
	{"has a head that runs ahead", "head", false, func(l *memory.Log) commands.Log { return hasty{l} }},
	{"spells data anew", "keep", false, func(l *memory.Log) commands.Log { return tidy{l} }},
	{"cuts times to milliseconds", "time", false, func(l *memory.Log) commands.Log { return coarse{l} }},
	{"goes on after it was closed", "close", false, func(l *memory.Log) commands.Log { return undying{l} }},
	{"does not look at its callers' contexts", "context", false, func(l *memory.Log) commands.Log { return deaf{l} }},
	{"answers what is asked again with the head", "replay", false, func(l *memory.Log) commands.Log { return forward{l} }},
	{"takes appends of any size", "limit", false, func(l *memory.Log) commands.Log { return large{l} }},
}

// chosen names the broken log that a test process runs the suite on.
const chosen = "LOGTEST_BROKEN"

func TestTheSuiteFindsEveryBrokenLog(t *testing.T) {
	if os.Getenv(chosen) != "" {
		t.Skip("this process runs the suite on a broken log")
	}
	for _, b := range broken {
		t.Run(b.name, func(t *testing.T) {
			run := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestABrokenLog$/^"+b.group+"$", "-test.failfast", "-test.timeout=60s", "-rapid.nofailfile")
			run.Env = append(os.Environ(), chosen+"="+b.name)
			out, err := run.CombinedOutput()
			if _, failed := errors.AsType[*exec.ExitError](err); !failed || !strings.Contains(string(out), "--- FAIL: TestABrokenLog/"+b.group+"/") {
				t.Errorf("the group %s finds nothing (%v):\n%s", b.group, err, out)
			}
		})
	}
}

func TestABrokenLog(t *testing.T) {
	for _, b := range broken {
		if b.name != os.Getenv(chosen) {
			continue
		}
		logtest.Run(t, func(t *testing.T, clock func() time.Time) commands.Log {
			var options []memory.Option
			if b.weak {
				options = append(options, memory.Weak())
			}
			l := memory.New(clock, options...)
			t.Cleanup(func() { l.Close() })
			return b.log(l)
		})
		return
	}
	t.Skip("TestTheSuiteFindsEveryBrokenLog runs it in a process of its own")
}

type careless struct{ *memory.Log }

func (l careless) Append(ctx context.Context, writes ...commands.Write) (commands.Receipt, error) {
	writes = slices.Clone(writes)
	for {
		r, err := l.Log.Append(ctx, writes...)
		c, conflict := errors.AsType[*commands.Conflict](err)
		if !conflict {
			return r, err
		}
		for i := range writes {
			if writes[i].Stream == c.Stream {
				writes[i].Expect = c.Actual
			}
		}
	}
}

type unchecking struct{ *memory.Log }

func (l unchecking) Append(ctx context.Context, writes ...commands.Write) (commands.Receipt, error) {
	var some []commands.Write
	for _, w := range writes {
		if len(w.Events) > 0 {
			some = append(some, w)
		}
	}
	return l.Log.Append(ctx, some...)
}

// forgetful answers every tenth append and does not write it.
type forgetful struct {
	*memory.Log
	appends atomic.Int64
}

func (l *forgetful) Append(ctx context.Context, writes ...commands.Write) (commands.Receipt, error) {
	if l.appends.Add(1)%10 == 0 {
		head, err := l.Head(ctx)
		return commands.Receipt{Position: head.Position + 1, At: head.At}, err
	}
	return l.Log.Append(ctx, writes...)
}

// stale leaves the last event out of every fifth stream it reads.
type stale struct {
	*memory.Log
	reads atomic.Int64
}

func (l *stale) ReadStream(ctx context.Context, s domain.Stream, after domain.Version) ([]domain.Record, error) {
	recs, err := l.Log.ReadStream(ctx, s, after)
	if len(recs) > 0 && l.reads.Add(1)%5 == 0 {
		recs = recs[:len(recs)-1]
	}
	return recs, err
}

type claiming struct{ *memory.Log }

func (l claiming) Atomic() bool { return true }

type conflicting struct{ *memory.Log }

func (l conflicting) Append(ctx context.Context, writes ...commands.Write) (commands.Receipt, error) {
	r, err := l.Log.Append(ctx, writes...)
	if errors.Is(err, commands.ErrPartly) {
		err = &commands.Conflict{Stream: writes[0].Stream}
	}
	return r, err
}

type stuttering struct{ *memory.Log }

func (l stuttering) Follow(ctx context.Context, after domain.Position) iter.Seq2[domain.Record, error] {
	return func(yield func(domain.Record, error) bool) {
		for r, err := range l.Log.Follow(ctx, after) {
			if !yield(r, err) || err == nil && r.Position%50 == 49 && !yield(r, err) {
				return
			}
		}
	}
}

type hasty struct{ *memory.Log }

func (l hasty) Head(ctx context.Context) (commands.Head, error) {
	head, err := l.Log.Head(ctx)
	if head.Position > 5 {
		head.Position++
	}
	return head, err
}

type tidy struct{ *memory.Log }

func (l tidy) ReadAll(ctx context.Context, after domain.Position, limit int) ([]domain.Record, error) {
	recs, err := l.Log.ReadAll(ctx, after, limit)
	for i, r := range recs {
		var text bytes.Buffer
		if json.Compact(&text, r.Data) == nil {
			recs[i].Data = text.Bytes()
		}
	}
	return recs, err
}

type coarse struct{ *memory.Log }

func (l coarse) ReadAll(ctx context.Context, after domain.Position, limit int) ([]domain.Record, error) {
	recs, err := l.Log.ReadAll(ctx, after, limit)
	for i := range recs {
		recs[i].At = recs[i].At.Truncate(time.Millisecond)
	}
	return recs, err
}

type undying struct{ *memory.Log }

func (l undying) Close() error { return nil }

type deaf struct{ *memory.Log }

func (l deaf) Append(ctx context.Context, writes ...commands.Write) (commands.Receipt, error) {
	return l.Log.Append(context.WithoutCancel(ctx), writes...)
}

type forward struct{ *memory.Log }

func (l forward) Append(ctx context.Context, writes ...commands.Write) (commands.Receipt, error) {
	_, err := l.Log.Append(ctx, writes...)
	if err != nil {
		return commands.Receipt{}, err
	}
	head, err := l.Head(ctx)
	return commands.Receipt{Position: head.Position, At: head.At}, err
}

// large takes what is too large, though it keeps nothing of it.
type large struct{ *memory.Log }

func (l large) Append(ctx context.Context, writes ...commands.Write) (commands.Receipt, error) {
	r, err := l.Log.Append(ctx, writes...)
	if _, refused := errors.AsType[*domain.Refusal](err); refused {
		err = nil
	}
	return r, err
}
