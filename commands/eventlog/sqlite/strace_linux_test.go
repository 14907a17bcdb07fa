package sqlite

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// straced runs a child under strace, on one thread as far as Go allows, and
// gives what it said and what strace wrote.
func straced(t *testing.T, path string, appends int, env []string, options ...string) (*story, []byte) {
	t.Helper()
	trace := filepath.Join(t.TempDir(), "trace")
	before := append([]string{"strace", "-f", "-y", "-o", trace}, options...)
	cmd := childCommand(t.Context(), path, 1, appends, before...)
	cmd.Env = append(append(cmd.Env, "GOMAXPROCS=1"), env...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the child ended badly: %v\n%s", err, out)
	}
	var s story
	s.hear(bytes.NewReader(out), nil)
	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	return &s, text
}

// needStrace skips where system calls cannot be watched.
func needStrace(t *testing.T) {
	t.Helper()
	if out, err := exec.Command("strace", "-f", "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		t.Skipf("strace cannot be used here (apt-get install strace; a container needs SYS_PTRACE): %v %s", err, out)
	}
}

// Every call to the file system that opening the log and appending to it makes
// is failed once.
func TestWhicheverSystemCallFailsNoAnswerIsWrong(t *testing.T) {
	needStrace(t)
	faults := map[string][]string{"pwrite64": {"EIO"}, "fsync": {"EIO"}}
	if soaking() {
		faults = map[string][]string{
			"pwrite64": {"EIO", "ENOSPC"}, "fsync": {"EIO", "ENOSPC"}, "pread64": {"EIO"}, "fcntl": {"EIO", "ENOLCK"},
			"open": {"EIO", "EMFILE", "EACCES"}, "ftruncate": {"EIO", "ENOSPC"}, "mmap": {"ENOMEM"}, "newfstatat": {"EIO"}, "fstat": {"EIO"}, "unlink": {"EIO"},
		}
	}
	for call, codes := range faults {
		for _, code := range codes {
			t.Run(call+" "+code, func(t *testing.T) {
				t.Parallel()
				failed := 0
				for n := 1; ; n++ {
					if !failedOnce(t, call, code, n) {
						break
					}
					failed++
				}
				t.Logf("%d calls failed, one at a time", failed)
			})
		}
	}
}

// failedOnce lets the nth call of every thread fail (there is hardly more than
// one), and says whether there was one.
func failedOnce(t *testing.T, call, code string, n int) bool {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log.db")
	if err := openAt(t, path, clockNow).Close(); err != nil {
		t.Fatal(err)
	}
	const appends = 3
	s, trace := straced(t, path, appends, nil,
		"-P", path, "-P", path+"-wal", "-P", path+"-shm",
		"-e", "trace="+call, "-e", fmt.Sprintf("inject=%s:error=%s:when=%d", call, code, n))
	failed := bytes.Count(trace, []byte("INJECTED")) // strace counts each thread's calls by themselves
	if failed == 0 {
		if len(s.acked) != appends {
			t.Errorf("nothing failed, and %d of %d were acknowledged", len(s.acked), appends)
		}
		return false
	}
	switch {
	case s.opened && !s.ended:
		t.Errorf("%s %d: the writer did not come to its end", call, n)
	case s.opened && len(s.unknown) > 0:
		t.Errorf("%s %d: what became of %v was never known", call, n, s.unknown)
	case s.opened && len(s.acked) < appends-failed && strings.Count(s.said, "start again") < appends-failed-len(s.acked):
		t.Errorf("%s %d: %d calls failed, and only %d of %d appends were taken:\n%s", call, n, failed, len(s.acked), appends, s.said)
	case !s.opened && s.closed == "":
		t.Errorf("%s %d: it did not open and did not say why", call, n)
	}
	s.check(t, path)
	return true
}

// What is acknowledged was on the disk first: between the last write to the
// WAL and the answer, an fsync of it has returned.
func TestNothingIsAcknowledgedBeforeItIsSynced(t *testing.T) {
	needStrace(t)
	const appends = 20
	for pragma, ordered := range map[string]bool{"": true, "synchronous=NORMAL": false} {
		path := filepath.Join(t.TempDir(), "log.db")
		if err := openAt(t, path, clockNow).Close(); err != nil {
			t.Fatal(err)
		}
		s, trace := straced(t, path, appends, []string{childPragma + "=" + pragma}, "-e", "trace=write,pwrite64,fsync,fdatasync")
		if len(s.acked) != appends {
			t.Fatalf("%d were acknowledged", len(s.acked))
		}
		early, acks := tooEarly(string(trace))
		if acks != appends {
			t.Fatalf("strace saw %d answers", acks)
		}
		if ordered && early > 0 {
			t.Errorf("%d of %d were acknowledged before they were synced", early, acks)
		}
		if !ordered && early == 0 {
			t.Error("the check does not find a log that does not sync")
		}
	}
}

var (
	traceLine = regexp.MustCompile(`^(\d+)\s+(.*)$`)
	toWAL     = regexp.MustCompile(`^(pwrite64|fsync|fdatasync)\(\d+<[^>]*-wal>`)
	answered  = regexp.MustCompile(`^write\(1<[^>]*>, "ack `)
)

// tooEarly counts the answers that came before a sync of what was written had
// returned.
func tooEarly(trace string) (early, acks int) {
	dirty, wrote := false, false
	syncing := map[string]bool{} // threads in a sync of the WAL
	for lines := bufio.NewScanner(strings.NewReader(trace)); lines.Scan(); {
		m := traceLine.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		thread, call := m[1], m[2]
		switch w := toWAL.FindStringSubmatch(call); {
		case w != nil && w[1] == "pwrite64":
			dirty, wrote = true, true
		case w != nil && strings.HasSuffix(call, "= 0"):
			dirty = false
		case w != nil && strings.Contains(call, "unfinished"):
			syncing[thread] = true
		case syncing[thread] && strings.Contains(call, "sync resumed"):
			delete(syncing, thread)
			dirty = dirty && !strings.HasSuffix(call, "= 0")
		case answered.MatchString(call):
			acks++
			if dirty || !wrote {
				early++
			}
			wrote = false
		}
	}
	return early, acks
}
