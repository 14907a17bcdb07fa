package main

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assent/commands"
	"assent/commands/eventlog/postgres/pgtest"
	"assent/httpapi"
)

// silent is the address of somebody who takes connections and says nothing.
func silent(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = conn.Close() })
		}
	}()
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

// nobody is an address where nobody listens.
func nobody(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// TestALogThatCannotBeOpened is told in one sentence at the start, soon, and
// without the password.
func TestALogThatCannotBeOpened(t *testing.T) {
	folder := t.TempDir()
	foreign := filepath.Join(folder, "notes")
	if err := os.WriteFile(foreign, []byte("not a log"), 0o600); err != nil {
		t.Fatal(err)
	}
	occupied, newer := pgtest.Database(t), pgtest.Database(t)
	pgtest.Exec(t, occupied, "CREATE TABLE events (what text)")
	if code, _, said := ends(t, "import", "demosite", "--data", t.TempDir(), "--log", newer); code != exitDone {
		t.Fatalf("import ended %d: %s", code, said)
	}
	pgtest.Exec(t, newer, "INSERT INTO log_versions (version_id, is_applied) VALUES (999, true)")

	const secret = "hunter2"
	for name, tt := range map[string]struct{ log, says string }{
		"another kind of database":          {"mysql://ana:" + secret + "@localhost/x", "begins with none of these"},
		"no scheme":                         {"localhost/" + secret, "begins with none of these"},
		"half a PostgreSQL URL":             {"postgres://ana:" + secret + "@[::1/x", "opening the log"},
		"a PostgreSQL that is not there":    {"postgres://ana:" + secret + "@" + nobody(t) + "/x", "opening the log"},
		"a PostgreSQL that does not answer": {"postgres://ana:" + secret + "@" + silent(t) + "/x", "opening the log"},
		"a PostgreSQL with other tables":    {occupied, "opening the log"},
		"a PostgreSQL with a newer log":     {newer, "newer version"},
		"an EventStoreDB's port too high":   {"esdb://ana:" + secret + "@localhost:67649?tls=false", "65535"},
		"half an EventStoreDB URL":          {"esdb://ana:" + secret + "@[::1", "opening the log"},
		"an EventStoreDB that is not there": {"esdb://ana:" + secret + "@" + nobody(t) + "?tls=false", "opening the log"},
		"an EventStoreDB that is silent":    {"esdb://ana:" + secret + "@" + silent(t) + "?tls=false", "opening the log"},
		"a file that is no log":             {"sqlite:" + foreign, foreign},
		"a folder":                          {"sqlite:" + folder, folder},
		"a file in no folder":               {"sqlite:" + filepath.Join(folder, "nowhere", "log.db"), "nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun := time.Now()
			code, out, said := ends(t, "serve", "--listen", "127.0.0.1:0", "--data", t.TempDir(), "--log", tt.log)
			if code != exitClosed || out != "" || !strings.Contains(said, tt.says) {
				t.Errorf("it ended %d, printed %q and said %s", code, out, said)
			}
			if strings.Contains(said, secret) {
				t.Errorf("the password is told: %s", said)
			}
			if strings.Count(strings.TrimSpace(said), "\n") > 0 {
				t.Errorf("more than a sentence: %s", said)
			}
			if took := time.Since(begun); took > 45*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// TestEveryCommandFindsTheLog where it is said to be, from another folder, too.
func TestEveryCommandFindsTheLog(t *testing.T) {
	for name, log := range map[string]func(*testing.T) string{
		"in another file": func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "another.db") },
		"on PostgreSQL":   func(t *testing.T) string { return pgtest.Database(t) },
		"on EventStoreDB": func(t *testing.T) string { return eventStoreDB(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at, dir := log(t), t.TempDir()
			if code, _, said := ends(t, "import", "demosite", "--data", dir, "--log", at); code != exitDone {
				t.Fatalf("import ended %d: %s", code, said)
			}
			if _, err := os.Stat(filepath.Join(dir, "log.db")); err == nil {
				t.Error("there is a log in the folder, too")
			}
			code, out, said := ends(t, "audit", "--data", secretFrom(t, dir), "--log", at)
			if code != exitDone || !strings.Contains(out, "article.create") {
				t.Errorf("audit ended %d: %s%s", code, out, said)
			}
		})
	}
}

// TestALogInAFileIsOneServersAlone: a second data folder on it is refused, as a
// second server of one folder is.
func TestALogInAFileIsOneServersAlone(t *testing.T) {
	at := "sqlite:" + filepath.Join(t.TempDir(), "shared.db")
	servingPlan(t, plan{dir: t.TempDir(), vault: cheap, at: at})
	code, _, said := ends(t, "audit", "--data", t.TempDir(), "--log", at)
	if code != exitClosed || !strings.Contains(said, "in use") {
		t.Errorf("it ended %d: %s", code, said)
	}
}

// TestACommandThatJoinsUsesTheServersLog, whatever it was told itself.
func TestACommandThatJoinsUsesTheServersLog(t *testing.T) {
	at := pgtest.Database(t)
	s := servingPlan(t, plan{dir: t.TempDir(), vault: cheap, at: at})
	p := inProcessOf(t, s)
	p.owner(t, "ana", "home")
	p.act(t, "ana", "article.create", map[string]any{"site": "main", "slug": "menu", "title": "Menu", "body": ""})
	for _, args := range [][]string{{"--log", at}, {"--log", "esdb://" + nobody(t)}} {
		code, out, said := ends(t, append([]string{"audit", "--data", s.dir}, args...)...)
		if code != exitDone || !strings.Contains(out, "article.create") {
			t.Errorf("%v ended %d: %s%s", args, code, out, said)
		}
	}
}

// TestTheInstanceSaysWhatKeepsTheLog.
func TestTheInstanceSaysWhatKeepsTheLog(t *testing.T) {
	for by, want := range map[string]struct {
		at     func(*testing.T) string
		atomic bool
	}{
		"sqlite":       {func(*testing.T) string { return "" }, true},
		"postgres":     {func(t *testing.T) string { return pgtest.Database(t) }, true},
		"eventstoredb": {func(t *testing.T) string { return eventStoreDB(t) }, false},
	} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			p := inProcessOf(t, servingPlan(t, plan{dir: t.TempDir(), vault: cheap, at: want.at(t)}))
			p.owner(t, "ana", "home")
			var told struct{ Log httpapi.Kept }
			p.must(t, "ana", "GET", "/instance", nil, &told)
			if told.Log != (httpapi.Kept{By: by, Atomic: want.atomic}) {
				t.Errorf("it says %+v", told.Log)
			}
		})
	}
}

// TestAnEmptySharedLogBesidePeople is not served: the next comer would become
// the owner.
func TestAnEmptySharedLogBesidePeople(t *testing.T) {
	at, dir := pgtest.Database(t), t.TempDir()
	s, err := (&serveCmd{Listen: "127.0.0.1:0", Workspaces: []string{"home"}}).open(t.Context(), plan{dir: dir, vault: cheap, at: at})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.serve(t.Context()) }()
	p := inProcessOf(t, s)
	p.owner(t, "ana", "home")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for name, in := range map[string][]string{
		"the log's tables were put away": {"--log", at},
		"another log":                    {"--log", "sqlite:" + filepath.Join(t.TempDir(), "log.db"), "--people", at},
	} {
		if in[1] == at {
			pgtest.Exec(t, at, "ALTER TABLE events RENAME TO put_away; ALTER TABLE head RENAME TO head_away; ALTER TABLE log_versions RENAME TO versions_away")
		}
		code, _, said := ends(t, append([]string{"serve", "--listen", "127.0.0.1:0", "--data", secretFrom(t, dir)}, in...)...)
		if code == exitDone {
			t.Errorf("%s is served: %s", name, said)
		}
	}
}

// TestReadyFollowsTheDatabase: a server is not ready while its database is
// away, says so soon, and is ready again soon after it came back.
func TestReadyFollowsTheDatabase(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Start(t)
	s := servingPlan(t, plan{dir: t.TempDir(), vault: cheap, at: cluster.Database(t)})
	p := inProcessOf(t, s)
	p.owner(t, "ana", "home")
	made := p.act(t, "ana", "article.create", map[string]any{"site": "main", "slug": "menu", "title": "Menu", "body": ""})
	ready := func() int {
		begun := time.Now()
		status, text := request(t, http.DefaultClient, "GET", s.url+"/readyz", nil, nil)
		var told struct{ Ready bool }
		if err := json.Unmarshal(text, &told); err != nil || told.Ready != (status == http.StatusOK) {
			t.Errorf("%d %s: %v", status, text, err)
		}
		if took := time.Since(begun); took > 20*time.Second {
			t.Errorf("it took %s to say %d", took, status)
		}
		return status
	}
	waitUntil(t, "it is ready", func() bool { return ready() == http.StatusOK })
	cluster.Kill(t)
	waitUntil(t, "it is not ready", func() bool { return ready() == http.StatusServiceUnavailable })
	call := p.calls["ana"]
	call.Action, call.Args = "article.update", json.RawMessage(`{"article":"`+made.Target.ID+`","title":"Lost"}`)
	if out, err := s.road.Do(t.Context(), call); err == nil && out.Outcome == commands.Done {
		t.Errorf("without a database: %+v", out)
	}
	cluster.Again(t)
	back := time.Now()
	waitUntil(t, "it is ready again", func() bool { return ready() == http.StatusOK })
	if took := time.Since(back); took > 25*time.Second {
		t.Errorf("it was ready again after %s", took)
	}
	if out := p.act(t, "ana", "article.update", map[string]any{"article": made.Target.ID, "title": "Spring"}); out.Outcome != commands.Done || out.Target.Version != 2 {
		t.Errorf("afterwards: %+v", out)
	}
}

func TestALogOfAServedFolderIsNobodyElses(t *testing.T) {
	p := newInProcess(t).(*inProcess)
	p.owner(t, "ana", "home")
	served := filepath.Join(p.server.dir, "log.db")
	link := filepath.Join(t.TempDir(), "linked.db")
	if err := os.Symlink(served, link); err != nil {
		t.Fatal(err)
	}
	for name, at := range map[string]string{"by its path": served, "by a link": link} {
		if code, _, said := ends(t, "import", "demosite", "--data", t.TempDir(), "--log", "sqlite:"+at); code != exitClosed || !strings.Contains(said, "in use by a process with another data folder") {
			t.Errorf("%s: %d %s", name, code, said)
		}
	}
	second := filepath.Join(t.TempDir(), "second.db")
	if err := os.Link(served, second); err != nil {
		t.Fatal(err)
	}
	if code, _, said := ends(t, "import", "demosite", "--data", t.TempDir(), "--log", "sqlite:"+second); code != exitClosed || !strings.Contains(said, "second name") {
		t.Errorf("by a second name: %d %s", code, said)
	}
}
