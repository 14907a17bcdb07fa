package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"assent/commands/vault"
)

// TestABackupOfAServedFolderIsServedElsewhere: eight agents write while a
// backup is made beside the server; a server on the restored folder shows what
// was there, and people sign in.
func TestABackupOfAServedFolderIsServedElsewhere(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir)
	p := &overHTTP{people: newPeople(s.url, links(s.printed))}
	p.owner(t, "ana", "home")
	p.agent(t, "bot", "ana", "edits", nil)
	p.act(t, "bot", "article.create", map[string]any{"site": "main", "slug": "menu", "title": "Winter menu", "body": "Kale."})
	before := len(p.audit(t, "ana"))

	stop, written := make(chan struct{}), make(chan struct{}, 16)
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			defer func() { written <- struct{}{} }() // it may have failed
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				p.act(t, "bot", "article.create", map[string]any{"site": "main", "slug": fmt.Sprintf("a-%d-%d", w, i), "title": "A", "body": "B"})
				if i == 0 {
					written <- struct{}{}
				}
			}
		})
	}
	for range 8 { // all are at it
		<-written
	}
	to := filepath.Join(t.TempDir(), "backup.db")
	out := runCommand(t, "backup", "--data", dir, "--to", to, "--people", "--json")
	close(stop)
	writers.Wait()
	var made backedUp
	if err := json.Unmarshal([]byte(out), &made); err != nil || made.File != to || made.People == "" || made.Events < 8 {
		t.Fatalf("%+v, %v", made, err)
	}

	again := filepath.Join(t.TempDir(), "restored")
	if err := os.Mkdir(again, 0o700); err != nil {
		t.Fatal(err)
	}
	copySecret(t, dir, again)
	if out := runCommand(t, "restore", to, "--data", again, "--people", made.People, "--erased-in", filepath.Join(dir, "people.db")); !strings.Contains(out, fmt.Sprintf("restore: ok, %d events", made.Events)) {
		t.Errorf("restore says %s", out)
	}
	if out := runCommand(t, "verify", "--data", again, "--from", made.Mark); !strings.Contains(out, "verify: ok") {
		t.Errorf("verify says %s", out)
	}
	p.url = start(t, again).url
	p.signIn(t, "ana")
	if rows := p.audit(t, "ana"); len(rows) < before {
		t.Errorf("the audit has %d rows, and had %d", len(rows), before)
	}
	p.act(t, "bot", "article.create", map[string]any{"site": "main", "slug": "after", "title": "After", "body": "It goes on."})
}

func copySecret(t *testing.T, from, to string) {
	t.Helper()
	secret, err := os.ReadFile(filepath.Join(from, "secret"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(to, "secret"), secret, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsNotBackedUpOrRestoredSaysWhy(t *testing.T) {
	good := t.TempDir()
	if code, _, said := ends(t, "import", "demosite", "--data", good); code != 0 {
		t.Fatalf("import ended %d: %s", code, said)
	}
	backup := filepath.Join(t.TempDir(), "backup.db")
	runCommand(t, "backup", "--data", good, "--to", backup, "--people")
	people := strings.TrimSuffix(backup, ".db") + ".people.db"
	text, err := os.ReadFile(backup)
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(t.TempDir(), "cut.db")
	if err := os.WriteFile(cut, text[:len(text)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	other := t.TempDir() // with a secret of its own
	if err := os.WriteFile(filepath.Join(other, "secret"), make([]byte, vault.SecretSize), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		args []string
		code int
		says string
	}{
		"a folder without a log":     {[]string{"backup", "--data", t.TempDir()}, exitClosed, "there is no data"},
		"a log on PostgreSQL":        {[]string{"backup", "--data", good, "--log", "postgres://nowhere/x"}, exitRefused, "pg_dump"},
		"over another file":          {[]string{"backup", "--data", good, "--to", backup}, exitUsage, "name another place"},
		"into a folder with a log":   {[]string{"restore", backup, "--data", good}, exitUsage, "empty folder"},
		"a backup that was cut":      {[]string{"restore", cut, "--data", t.TempDir()}, exitClosed, "no whole log"},
		"a backup that is not there": {[]string{"restore", cut + "x", "--data", t.TempDir()}, exitClosed, "no such file"},
		"people without a secret":    {[]string{"restore", backup, "--people", people, "--data", t.TempDir()}, exitClosed, "secret is not in"},
		"people with another secret": {[]string{"restore", backup, "--people", people, "--data", other}, exitClosed, "secret"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, said := ends(t, tt.args...)
			if code != tt.code || !strings.Contains(said, tt.says) || strings.Contains(said, "goroutine") {
				t.Errorf("ended %d, want %d\n%s\n%s", code, tt.code, out, said)
			}
		})
	}
	left, err := filepath.Glob(filepath.Join(other, "*"))
	if err != nil || len(left) != 2 { // secret and lock
		t.Errorf("%v is left, %v", left, err)
	}
}

// TestWhoWasErasedDoesNotComeBack: people are restored from a copy that is
// older than an erasure.
func TestWhoWasErasedDoesNotComeBack(t *testing.T) {
	dir := t.TempDir()
	if code, _, said := ends(t, "import", "demosite", "--data", dir); code != 0 {
		t.Fatalf("import ended %d: %s", code, said)
	}
	people := func(dir string, do func(*vault.Vault) error) {
		t.Helper()
		secret, err := os.ReadFile(filepath.Join(dir, "secret"))
		if err != nil {
			t.Fatal(err)
		}
		v, err := vault.Open(t.Context(), filepath.Join(dir, "people.db"), secret)
		if err != nil {
			t.Fatal(err)
		}
		if err := do(v); err != nil {
			t.Fatal(err)
		}
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
	}
	people(dir, func(v *vault.Vault) error {
		_, err := v.Seal(t.Context(), "home", "person_x", "a canary")
		return err
	})
	backup := filepath.Join(t.TempDir(), "backup.db")
	runCommand(t, "backup", "--data", dir, "--to", backup, "--people")
	people(dir, func(v *vault.Vault) error { return v.Erase(t.Context(), "home", "person_x") })

	again := t.TempDir()
	copySecret(t, dir, again)
	out := runCommand(t, "restore", backup, "--data", again, "--people", strings.TrimSuffix(backup, ".db")+".people.db", "--erased-in", filepath.Join(dir, "people.db"))
	if !strings.Contains(out, "Erased again: 1 ") {
		t.Errorf("restore says %s", out)
	}
	people(again, func(v *vault.Vault) error {
		if _, err := v.Seal(t.Context(), "home", "person_x", "again"); err == nil {
			t.Error("the erased person has a key again")
		}
		return nil
	})
}
