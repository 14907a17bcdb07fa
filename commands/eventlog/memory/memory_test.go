package memory_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"assent/commands"
	"assent/commands/eventlog/logtest"
	"assent/commands/eventlog/memory"
)

func TestTheMemoryLogKeepsEveryPromise(t *testing.T) {
	logtest.Run(t, opener(), logtest.Doubting(lose))
}

func TestAWeakMemoryLogKeepsTheWeakerPromise(t *testing.T) {
	logtest.Run(t, opener(memory.Weak()), logtest.Doubting(lose))
}

func TestASparseMemoryLogKeepsTheWeakerPromise(t *testing.T) {
	logtest.Run(t, opener(memory.Weak(), memory.Sparse()), logtest.Doubting(lose))
}

// doubtful is a log that loses answers when told to.
type doubtful struct {
	*memory.Log
	losses atomic.Int64
	stop   atomic.Int64 // 1 + after how many streams the next append ends; 0: it does not
}

func opener(options ...memory.Option) logtest.Open {
	return func(t *testing.T, clock func() time.Time) commands.Log {
		d := new(doubtful)
		d.Log = memory.New(clock, append(options, memory.Between(d.between))...)
		t.Cleanup(func() { d.Close() })
		return d
	}
}

// lose ends one append before its first stream, the next after one, and so on.
func lose(_ *testing.T, log commands.Log) {
	d := log.(*doubtful)
	d.stop.Store(1 + d.losses.Add(1)%4)
}

func (d *doubtful) between(i int) error {
	if stop := d.stop.Load(); stop > 0 && i >= int(stop-1) && d.stop.CompareAndSwap(stop, 0) {
		return errors.New("the answer is lost")
	}
	return nil
}

// Append loses its answer at the latest when all is written.
func (d *doubtful) Append(ctx context.Context, writes ...commands.Write) (commands.Receipt, error) {
	r, err := d.Log.Append(ctx, writes...)
	if stop := d.stop.Load(); err == nil && stop > 0 && d.stop.CompareAndSwap(stop, 0) {
		return commands.Receipt{}, commands.ErrUnknown
	}
	return r, err
}
