package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"assent/commands/eventlog/chain"
	"assent/commands/eventlog/postgres/pgtest"
	"assent/commands/eventlog/sqlite"
	"assent/commands/eventlog/transfer"
	"assent/domain"
)

// imported is a data folder with a little history, and no server.
func imported(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if code, _, said := ends(t, "import", "demosite", "--data", dir); code != 0 {
		t.Fatalf("import ended %d: %s", code, said)
	}
	return dir
}

// grown lets the log of a folder go on.
func grown(t *testing.T, dir string) {
	t.Helper()
	files := t.TempDir()
	if err := os.WriteFile(filepath.Join(files, "pears.md"), []byte("# Pears\nRipe."), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, said := ends(t, "import", files, "--data", dir); code != 0 {
		t.Fatalf("import ended %d: %s", code, said)
	}
}

// spoilt changes a log's file by hand.
func spoilt(t *testing.T, path string, queries ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for _, q := range append([]string{"DROP TRIGGER events_stay", "DROP TRIGGER events_remain"}, queries...) {
		if _, err := db.Exec(q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
}

// verifiedAs runs verify and gives what it found.
func verifiedAs(t *testing.T, want int, args ...string) (v verified) {
	t.Helper()
	code, out, said := ends(t, append([]string{"verify", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(out), &v); err != nil || code != want || v.OK != (code == exitDone) {
		t.Fatalf("verify %q ended %d, want %d: %v\n%s\n%s", args, code, want, err, out, said)
	}
	return v
}

// headed prints a signed head.
func headed(t *testing.T, args ...string) (h signedHead) {
	t.Helper()
	code, out, said := ends(t, append([]string{"log", "head", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(out), &h); err != nil || code != exitDone {
		t.Fatalf("log head ended %d: %v\n%s\n%s", code, err, out, said)
	}
	return h
}

const cutTail = "DELETE FROM events WHERE position > 20"

// moved makes the head row fit what is left.
const moved = "UPDATE head SET (position, recorded_at, chain) = (SELECT position, recorded_at, link FROM events ORDER BY position DESC LIMIT 1)"

func TestVerifySaysWhatHappened(t *testing.T) {
	good := imported(t)
	last := verifiedAs(t, exitDone, "--data", good).Events
	for name, c := range map[string]struct {
		queries []string
		kind    chain.Kind
		at      domain.Position // everything in front of it is right
	}{
		"edited":           {[]string{"UPDATE events SET data = '{}' WHERE position = 7"}, chain.Edited, 7},
		"a version edited": {[]string{"UPDATE events SET version = 99 WHERE position = 7"}, chain.Edited, 7},
		"closed up, with the head's row": {[]string{"DELETE FROM streams WHERE id = (SELECT stream FROM events WHERE position = 7)", "DELETE FROM events WHERE position = 7",
			"UPDATE events SET position = -position WHERE position > 7", "UPDATE events SET position = -position - 1 WHERE position < 0", moved}, chain.Deleted, 7},
		"a row behind the head":    {[]string{"INSERT INTO events SELECT position + 5, stream, version + 50, id, word, revision, recorded_at, envelope, data, link FROM events ORDER BY position DESC LIMIT 1"}, chain.Reordered, last + 1},
		"the head's time":          {[]string{"UPDATE head SET recorded_at = recorded_at + 1"}, chain.Edited, last},
		"the head emptied":         {[]string{"UPDATE head SET position = 0, recorded_at = 0, chain = zeroblob(32)"}, chain.Edited, 1},
		"deleted":                  {[]string{"DELETE FROM events WHERE position IN (7, 8)"}, chain.Deleted, 7},
		"reordered":                {[]string{"UPDATE events SET position = -1 WHERE position = 7", "UPDATE events SET position = 7 WHERE position = 8", "UPDATE events SET position = 8 WHERE position = -1"}, chain.Reordered, 7},
		"cut":                      {[]string{cutTail}, chain.Cut, 21},
		"cut, with the head's row": {[]string{cutTail, moved}, chain.Cut, 21},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(good)); err != nil {
				t.Fatal(err)
			}
			spoilt(t, filepath.Join(dir, "log.db"), c.queries...)
			if v := verifiedAs(t, exitFound, "--data", dir); v.Kind != c.kind || v.Position != c.at || v.Events != c.at-1 && c.at != last {
				t.Errorf("%+v, want %s at %d", v, c.kind, c.at)
			}
			code, out, said := ends(t, "verify", "--data", dir)
			if code != exitFound || out != "" || !strings.Contains(said, fmt.Sprintf("broken at position %d (%s)", c.at, c.kind)) {
				t.Errorf("ended %d\n%s\n%s", code, out, said)
			}
		})
	}
	if v := verifiedAs(t, exitDone, "--data", good); v.Events == 0 || v.Heads == 0 || v.Newest != v.Events {
		t.Errorf("%+v", v)
	}
}

// TestWhatReadModelsHaveSeenIsMissed: also where nothing was signed behind the
// place where the log was cut.
func TestWhatReadModelsHaveSeenIsMissed(t *testing.T) {
	dir := imported(t)
	if code, _, said := ends(t, "audit", "--data", dir); code != exitDone { // which sees all of the log
		t.Fatalf("audit ended %d: %s", code, said)
	}
	spoilt(t, filepath.Join(dir, "log.db"), cutTail, moved)
	if err := os.Remove(headsOf(dir)); err != nil {
		t.Fatal(err)
	}
	if v := verifiedAs(t, exitFound, "--data", dir); v.Kind != chain.Cut && !strings.Contains(v.Found, "its end is missing") {
		t.Errorf("%+v", v)
	}
	if code, _, said := ends(t, "audit", "--data", dir); code != exitFound || !strings.Contains(said, "assent log accept") {
		t.Errorf("audit ended %d: %s", code, said)
	}
}

// TestNothingGoesOnFromAnOlderCopy: neither a server nor a command, until
// somebody says that it is meant; and that is remembered.
func TestNothingGoesOnFromAnOlderCopy(t *testing.T) {
	dir := imported(t)
	older, err := os.ReadFile(filepath.Join(dir, "log.db"))
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, dir)
	if code, _, said := ends(t, "log", "accept", "--data", dir); code != exitClosed || !strings.Contains(said, "stop the server") {
		t.Errorf("on a served folder accept ended %d: %s", code, said)
	}
	p.stop(t)
	grown(t, dir)
	before := headed(t, "--data", dir)
	remove(t, dir, "log.db")
	if err := os.WriteFile(filepath.Join(dir, "log.db"), older, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"serve", "--listen", "127.0.0.1:0"}, {"audit"}, {"import", "demosite"}, {"log", "head"},
	} {
		code, _, said := ends(t, append(args, "--data", dir)...)
		if code != exitFound || !strings.Contains(said, "an older copy was put back") || !strings.Contains(said, "assent log accept") {
			t.Errorf("%q ended %d: %s", args, code, said)
		}
	}
	if v := verifiedAs(t, exitFound, "--data", dir); v.Kind != chain.Cut {
		t.Errorf("%+v", v)
	}
	if code, out, said := ends(t, "log", "accept", "--data", dir); code != exitDone || !strings.Contains(out, fmt.Sprintf("up to position %d", before.Position)) {
		t.Fatalf("accept ended %d: %s%s", code, out, said)
	}
	start(t, dir).stop(t)
	if v := verifiedAs(t, exitDone, "--data", dir); v.GivenUp == 0 {
		t.Errorf("verify has forgotten: %+v", v)
	}
	if code, _, said := ends(t, "log", "accept", "--data", dir); code != exitRefused || !strings.Contains(said, "nothing-to-accept") {
		t.Errorf("a second time it ended %d: %s", code, said)
	}
}

// TestHeadsElsewhereTellWhenTheWholeFolderIsOlder: log, head row, read models
// and the folder's own list put back alike.
func TestHeadsElsewhereTellWhenTheWholeFolderIsOlder(t *testing.T) {
	dir, older, elsewhere := imported(t), t.TempDir(), filepath.Join(t.TempDir(), "heads")
	if err := os.CopyFS(older, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	grown(t, dir)
	h := headed(t, "--data", dir, "--heads", elsewhere)
	if v := verifiedAs(t, exitDone, "--data", dir, "--heads", elsewhere); v.Newest != h.Position {
		t.Errorf("%+v, the head is at %d", v, h.Position)
	}
	if v := verifiedAs(t, exitDone, "--data", older); v.Events == 0 {
		t.Errorf("by itself it is whole: %+v", v)
	}
	if v := verifiedAs(t, exitFound, "--data", older, "--heads", elsewhere); v.Kind != chain.Cut {
		t.Errorf("%+v", v)
	}
	code, _, said := ends(t, "serve", "--data", older, "--listen", "127.0.0.1:0", "--heads", elsewhere)
	if code != exitFound || !strings.Contains(said, "an older copy was put back") {
		t.Errorf("serve ended %d: %s", code, said)
	}
	// Another folder's log, checked from far away with the verifier key alone.
	other := imported(t)
	far := []string{"--data", t.TempDir(), "--heads", elsewhere, "--key", h.Key, "--log"}
	verifiedAs(t, exitDone, append(far, "sqlite:"+filepath.Join(dir, "log.db"))...)
	if v := verifiedAs(t, exitFound, append(far, "sqlite:"+filepath.Join(other, "log.db"))...); v.Kind != chain.Replaced && v.Kind != chain.Cut {
		t.Errorf("another log: %+v", v)
	}
	code, _, said = ends(t, "serve", "--data", other, "--listen", "127.0.0.1:0", "--heads", elsewhere)
	if code != exitFound || !strings.Contains(said, "heads of another log") {
		t.Errorf("another log's list: serve ended %d: %s", code, said)
	}
}

func TestAKeyThatWasPutAwayIsMissed(t *testing.T) {
	dir := imported(t)
	if err := os.Remove(headKeyOf(dir)); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"audit"}, {"verify"}, {"log", "head"}} {
		if code, _, said := ends(t, append(args, "--data", dir)...); code != exitClosed || !strings.Contains(said, "log.key") {
			t.Errorf("%q ended %d: %s", args, code, said)
		}
	}
}

// long is the file of a log with n events.
func long(t *testing.T, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "long.db")
	l, err := sqlite.OpenLoader(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	var link [32]byte
	var rows []chain.Row
	for i := 1; i <= n; i++ {
		r := chain.Row{Record: domain.Record{
			Fresh:  domain.Fresh{ID: domain.ID(fmt.Sprintf("ev_%d", i)), Word: "note.kept", Revision: 1, Data: fmt.Appendf(nil, `{"n":%d,"text":"%0300d"}`, i, i)},
			Stream: domain.Stream{Category: "note", Workspace: "home", ID: fmt.Sprint(i % 9)}, Version: domain.Version((i-1)/9 + 1),
			Position: domain.Position(i), At: time.Unix(int64(i), 0).UTC(),
		}, Text: []byte(`{"action":"act_1"}`)}
		if i%9 > 0 { // streams 1 to 8 begin before stream 0
			r.Version = domain.Version(i/9 + 1)
		} else {
			r.Version = domain.Version(i / 9)
		}
		r.Link = chain.Link(link, r.Record, r.Text)
		link = r.Link
		if rows = append(rows, r); len(rows) == 1000 || i == n {
			if err := l.Load(t.Context(), rows); err != nil {
				t.Fatal(err)
			}
			rows = rows[:0]
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// patient is a context that ends when it has been asked so many times.
type patient struct {
	context.Context
	left int
}

func (p *patient) Err() error {
	if p.left--; p.left < 0 {
		return context.Canceled
	}
	return nil
}

// written is where a command writes in a test.
type written struct{ bytes.Buffer }

func (*written) Close() error { return nil }

// TestVerifyStoppedSaysHowToGoOn: and what it says works.
func TestVerifyStoppedSaysHowToGoOn(t *testing.T) {
	path := long(t, 5000)
	var out written
	var said bytes.Buffer
	args := []string{"verify", "--data", t.TempDir(), "--log", "sqlite:" + path}
	code := run(&patient{t.Context(), 6}, args, stdio{io.NopCloser(strings.NewReader("")), &out, &said})
	from := regexp.MustCompile(`--from (\d+:\S+)`).FindStringSubmatch(said.String())
	if code != exitUnknown || from == nil || out.Len() > 0 {
		t.Fatalf("ended %d\n%s\n%s", code, out.String(), said.String())
	}
	v := verifiedAs(t, exitDone, append(args[1:], "--from", from[1])...)
	if v.Events != 5000 || v.From != from[1] {
		t.Errorf("%+v", v)
	}
	code, text, notes := ends(t, append(args, "--from", from[1])...)
	if code != exitDone || !strings.Contains(notes, "relied upon") || !strings.Contains(text, "5000 events") {
		t.Errorf("ended %d\n%s\n%s", code, text, notes)
	}
	if code, _, said := ends(t, append(args, "--from", "nonsense")...); code != exitUsage {
		t.Errorf("ended %d: %s", code, said)
	}
}

// TestACopyThatWasKilledGoesOn: with the same command, to the same hash.
func TestACopyThatWasKilledGoesOn(t *testing.T) {
	const events = 12_000
	from := long(t, events)
	to := filepath.Join(t.TempDir(), "copy.db")
	args := []string{"log", "copy", "sqlite:" + from, "sqlite:" + to, "--json"}
	cmd := command(t.Context(), args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "the copy has begun", func() bool { return endOf(t, to) > 0 })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it says that it was killed
	had := endOf(t, to)
	code, out, said := ends(t, args...)
	var done copied
	if err := json.Unmarshal([]byte(out), &done); err != nil || code != exitDone {
		t.Fatalf("ended %d: %v\n%s\n%s", code, err, out, said)
	}
	if done.Events != events || done.Before != had || had == 0 || had == events {
		t.Errorf("%+v; it was killed at %d", done, had)
	}
	if a, b := verifiedAs(t, exitDone, "--log", "sqlite:"+from), verifiedAs(t, exitDone, "--log", "sqlite:"+to); a.Chain != b.Chain || a.Chain != done.Chain {
		t.Errorf("%s, %s, %s", a.Chain, b.Chain, done.Chain)
	}
}

// endOf is where a log ends that another process may be making.
func endOf(t *testing.T, path string) domain.Position {
	s, err := sqlite.OpenStored(path)
	if err != nil {
		return 0
	}
	defer func() { _ = s.Close() }()
	head, err := s.Head(t.Context())
	if err != nil {
		return 0
	}
	return head.Position
}

// TestAStoryIsTheSameAfterItsLogWasCopied: to PostgreSQL and back, into a
// folder of its own, which goes on from there.
func TestAStoryIsTheSameAfterItsLogWasCopied(t *testing.T) {
	dir, again := imported(t), t.TempDir()
	s := start(t, dir)
	p := &overHTTP{people: newPeople(s.url, links(s.printed))}
	p.owner(t, "ana", "home")
	p.agent(t, "bot", "ana", "edits", nil)
	p.act(t, "bot", "article.create", map[string]any{"site": "main", "slug": "pears", "title": "Pears", "body": "Ripe."})
	p.act(t, "bot", "site.publish", map[string]any{"site": "main"}) // waits for ana
	s.stop(t)

	url := pgtest.Database(t)
	var sums []string
	for _, hop := range [][]string{
		{"sqlite:" + filepath.Join(dir, "log.db"), url},
		{url, "sqlite:" + filepath.Join(again, "log.db")},
	} {
		code, out, said := ends(t, "log", "copy", hop[0], hop[1])
		if code != exitDone {
			t.Fatalf("ended %d: %s", code, said)
		}
		sums = append(sums, out[strings.LastIndex(out, " ")+1:])
	}
	if sums[0] != sums[1] {
		t.Errorf("%q", sums)
	}
	for _, name := range []string{"people.db", "secret"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(again, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	one, two := runCommand(t, "audit", "--json", "--limit", "100", "--data", dir), runCommand(t, "audit", "--json", "--limit", "100", "--data", again)
	if one != two || !strings.Contains(one, "ana") {
		t.Errorf("the audit was\n%.2000s\nand is\n%.2000s", one, two)
	}
	start(t, again)
	// What is served is no target.
	if code, _, said := ends(t, "log", "copy", url, "sqlite:"+filepath.Join(again, "log.db")); code != exitClosed || !strings.Contains(said, "stop the server") {
		t.Errorf("a copy into a served log ended %d: %s", code, said)
	}
	// What goes its own way is none either.
	if code, _, said := ends(t, "log", "copy", "sqlite:"+long(t, 10), url); code != exitFound || !strings.Contains(said, "from position 1 on") {
		t.Errorf("a copy into another log ended %d: %s", code, said)
	}
}

// TestACopySaysWhatItCopied: and what it did not, for being there already.
func TestACopySaysWhatItCopied(t *testing.T) {
	from, to := long(t, 30), "sqlite:"+filepath.Join(t.TempDir(), "copy.db")
	for _, want := range []string{"copied: 30 events in", "nothing to copy: all 30 events were there already"} {
		if code, out, said := ends(t, "log", "copy", "sqlite:"+from, to); code != exitDone || !strings.HasPrefix(out, want) || !strings.Contains(out, "both logs hold 30 events") {
			t.Errorf("ended %d: %s%s, want %s", code, out, said, want)
		}
	}
	if line := copiedLine(transfer.Result{Mark: chain.Mark{Position: 30}, Before: 10}); line != "copied: 20 events, behind 10 that were there already," {
		t.Error(line)
	}
}

// TestACopyOfNothingMakesNothing: what is named wrongly is said, and no file is
// left behind.
func TestACopyOfNothingMakesNothing(t *testing.T) {
	to := filepath.Join(t.TempDir(), "copy.db")
	for _, from := range []string{"sqlite:" + filepath.Join(t.TempDir(), "none.db"), "mysql://user:hidden@localhost/x", "postgres://user:hidden@127.0.0.1:1/x?connect_timeout=1"} {
		code, _, said := ends(t, "log", "copy", from, "sqlite:"+to)
		if code != exitClosed || strings.Contains(said, "hidden") || strings.Contains(said, "goroutine") {
			t.Errorf("%s ended %d: %s", from, code, said)
		}
	}
	if _, err := os.Stat(to); err == nil {
		t.Error("a file was made")
	}
}

// TestAWebhookThatIsGoneHoldsNothingUp: the server works, says so, and signs
// into its own list.
func TestAWebhookThatIsGoneHoldsNothingUp(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("ASSENT_HEADS", "http://127.0.0.1:1/heads?token=hidden")
	p := start(t, dir)
	p.stop(t)
	if said := p.errors.String(); !strings.Contains(said, "did not reach http://127.0.0.1:1") || strings.Contains(said, "hidden") {
		t.Errorf("it said %s", said)
	}
	if v := verifiedAs(t, exitDone, "--data", dir); v.Heads == 0 || v.Newest != v.Events {
		t.Errorf("%+v", v)
	}
}
