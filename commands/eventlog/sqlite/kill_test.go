package sqlite

import (
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A child that writes is killed again and again, at moments all over an append,
// and the next one goes on with the same file.
func TestKilledAtAnyMomentWhatWasAcknowledgedIsThereOnce(t *testing.T) {
	kills := 12
	if soaking() {
		kills = 1000
	}
	path := filepath.Join(t.TempDir(), "log.db")
	var s story
	for range kills {
		cmd := childCommand(t.Context(), path, 4, 0)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		left, moment := rand.IntN(150), time.Duration(rand.IntN(2000))*time.Microsecond
		s.hear(out, func(line string) {
			if strings.HasPrefix(line, "ack") {
				left--
			}
			if left < 0 && moment >= 0 {
				time.AfterFunc(moment, func() { _ = cmd.Process.Kill() }) // it may be over by then
				moment = -1
			}
		})
		_ = cmd.Wait() // it was killed
		if s.closed != "" || s.ended {
			t.Fatalf("the child ended by itself: %s", s.closed)
		}
	}
	if len(s.acked) < 50*kills {
		t.Errorf("only %d appends were acknowledged: that proves little", len(s.acked))
	}
	s.check(t, path)
	t.Logf("%d kills, %d asked for, %d acknowledged", kills, len(s.asked), len(s.acked))
}
