package sqlite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"assent/commands"
	"assent/domain"
)

// The tests of faults run this test binary again as a process that writes, so
// that it can be killed, or its system calls made to fail.

// What a child is told by its environment.
const (
	childPath    = "ASSENT_TEST_LOG"     // the log to write to: makes it a child
	childWriters = "ASSENT_TEST_WRITERS" // how many write at once
	childAppends = "ASSENT_TEST_APPENDS" // how many appends each; 0: for ever
	childPragma  = "ASSENT_TEST_PRAGMA"  // set on the connection that writes
)

func TestMain(m *testing.M) {
	if path := os.Getenv(childPath); path != "" {
		beWriter(path)
		return
	}
	os.Exit(m.Run())
}

// soaking says whether the long sweeps were asked for.
func soaking() bool { return os.Getenv("ASSENT_SOAK") != "" }

// childCommand is a child that writes to the log at path.
func childCommand(ctx context.Context, path string, writers, appends int, before ...string) *exec.Cmd {
	args := append(before, os.Args[0])
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), childPath+"="+path, childWriters+"="+strconv.Itoa(writers), childAppends+"="+strconv.Itoa(appends))
	return cmd
}

// beWriter appends and says on standard output, a line each and at once, what
// it asks for and what came of it: "ask ID", then "ack ID", "no ID" or
// "unknown ID". What is unknown is asked for again, under the same id, until it
// is known. "closed WHY" is a log that does not open.
func beWriter(path string) {
	var out sync.Mutex
	say := func(format string, args ...any) {
		out.Lock()
		defer out.Unlock()
		fmt.Fprintf(os.Stdout, format+"\n", args...)
	}
	l, err := Open(context.Background(), path, time.Now)
	if err != nil {
		say("closed %v", err)
		return
	}
	if p := os.Getenv(childPragma); p != "" {
		if err := l.writer.ready(); err != nil {
			panic(err)
		}
		if err := l.writer.db.exec("PRAGMA " + p); err != nil {
			panic(err)
		}
	}
	say("open")
	writers, _ := strconv.Atoi(os.Getenv(childWriters))
	appends, _ := strconv.Atoi(os.Getenv(childAppends))
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() { write(l, w, appends, say) })
	}
	all.Wait()
	say("end")
	_ = l.Close() // what it says after a fault is not of interest
}

func write(l *Log, writer, appends int, say func(string, ...any)) {
	stream := childStream(writer)
	ledger := domain.Stream{Category: "ledger", Workspace: stream.Workspace, ID: stream.ID}
	var there []domain.Record
	for { // a fault may hit this, too
		var err error
		if there, err = l.ReadStream(context.Background(), stream, 0); err == nil {
			break
		}
	}
	at := domain.Version(len(there))
	for i := 0; appends == 0 || i < appends; i++ {
		id := fmt.Sprintf("%d-%d-%d-%d", writer, at+1, os.Getpid(), i)
		say("ask %s", id)
		for range 20 {
			_, err := l.Append(context.Background(), childWrite(stream, at, "a"+id), childWrite(ledger, at, "b"+id))
			if err == nil {
				say("ack %s", id)
				at++
				break
			}
			if !errors.Is(err, commands.ErrUnknown) {
				say("no %s %v", id, err)
				break
			}
			say("unknown %s %v", id, err)
		}
	}
}

func childStream(writer int) domain.Stream {
	return domain.Stream{Category: "article", Workspace: "home", ID: "w" + strconv.Itoa(writer)}
}

func childWrite(s domain.Stream, at domain.Version, id string) commands.Write {
	return commands.Write{Stream: s, Expect: at, Events: []domain.Fresh{{
		ID: domain.ID("ev_" + id), Word: "article.updated", Revision: 1,
		Envelope: domain.Envelope{Action: domain.ID("act_" + id), Name: "article.update", Principal: domain.Principal{Kind: domain.KindAgent, ID: "agent_1"}},
		Data:     []byte(`{"title":"` + strings.Repeat("x", 300) + `"}`),
	}}}
}

// story is what children said: the ids of their appends.
type story struct {
	asked, acked, refused []string
	unknown               map[string]bool // and not known since
	opened, ended         bool
	closed                string
	said                  string // by those whose append was not taken at once
}

// hear reads what a child says until it ends.
func (s *story) hear(r io.Reader, each func(line string)) {
	if s.unknown == nil {
		s.unknown = map[string]bool{}
	}
	for lines := bufio.NewScanner(r); lines.Scan(); {
		line := lines.Text()
		word, rest, _ := strings.Cut(line, " ")
		id, _, _ := strings.Cut(rest, " ")
		switch word {
		case "open":
			s.opened = true
		case "end":
			s.ended = true
		case "closed":
			s.closed = rest
		case "ask":
			s.asked = append(s.asked, id)
		case "unknown":
			s.unknown[id] = true
			s.said += line + "\n"
		case "ack":
			s.acked = append(s.acked, id)
			delete(s.unknown, id)
		case "no":
			s.refused = append(s.refused, id)
			s.said += line + "\n"
			delete(s.unknown, id)
		}
		if each != nil {
			each(line)
		}
	}
}

// check opens the log, undisturbed, and compares it with the story: what was
// acknowledged is there once, what was refused is not there, nothing is there
// that nobody asked for, both halves of an append are there or none, and the
// chain is sound.
func (s *story) check(t *testing.T, path string) {
	t.Helper()
	l := openAt(t, path, time.Now)
	defer l.Close()
	if err := l.Verify(t.Context(), nil); err != nil {
		t.Error(err)
	}
	recs, err := l.ReadAll(t.Context(), 0, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	asked, found := map[string]bool{}, map[string]int{}
	for _, id := range s.asked {
		asked[id] = true
	}
	for _, r := range recs {
		found[strings.TrimPrefix(string(r.ID), "ev_")]++
	}
	for _, id := range s.acked {
		if found["a"+id] != 1 || found["b"+id] != 1 {
			t.Errorf("%s was acknowledged and is there %d and %d times", id, found["a"+id], found["b"+id])
		}
	}
	for _, id := range s.refused {
		if found["a"+id]+found["b"+id] != 0 {
			t.Errorf("%s was refused and is there", id)
		}
	}
	for half := range found {
		if id := half[1:]; found["a"+id] != found["b"+id] {
			t.Errorf("half of %s is there", id)
		} else if !asked[id] {
			t.Errorf("%s is there and nobody asked for it", id)
		}
	}
}
