package memory_test

import (
	"testing"
	"time"

	"assent/commands"
	"assent/commands/eventlog/logtest"
	"assent/commands/eventlog/memory"
)

func TestTheMemoryLogKeepsEveryPromise(t *testing.T) {
	logtest.Run(t, func(t *testing.T, clock func() time.Time) commands.Log {
		l := memory.New(clock)
		t.Cleanup(func() { l.Close() })
		return l
	})
}
