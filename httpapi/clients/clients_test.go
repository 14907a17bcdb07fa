package clients_test

import (
	"context"
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assent/httpapi/clients"
)

// odd is a server whose names try what shells and programs make of them.
var odd = clients.Server{
	URL:     "https://assent.example:8443/mcp",
	Program: "/opt/it's here/$(touch x)/assent",
	Data:    `/srv/"data" \ ${ASSENT_KEY}x & more`,
	Agent:   "agent_06g0example000000000000000",
}

func TestEveryClientHasAnEntryForBothWays(t *testing.T) {
	var got []string
	for _, e := range odd.Entries() {
		got = append(got, e.Client+" "+e.Over)
		if e.Title == "" || e.Where == "" {
			t.Errorf("%s does not say where it goes", e.Client)
		}
	}
	var want []string
	for _, over := range []string{clients.HTTP, clients.Stdio} {
		for _, name := range clients.Names {
			want = append(want, name+" "+over)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	remote := clients.Server{URL: odd.URL}.Entries()
	if slices.ContainsFunc(remote, func(e clients.Entry) bool { return e.Over == clients.Stdio }) || len(remote) != len(clients.Names) {
		t.Errorf("from afar there are %d entries", len(remote))
	}
}

// An entry is a file that any reader of it reads as it is meant.
func TestEntriesAreReadAsTheyAreMeant(t *testing.T) {
	type server struct {
		Type, URL, Command string
		Headers, Env       map[string]string
		Args               []string
	}
	for _, e := range odd.Entries() {
		if !strings.HasPrefix(e.Text, "{") {
			continue
		}
		var file struct {
			Inputs              []struct{ Type, ID string }
			McpServers, Servers map[string]server
		}
		if err := json.Unmarshal([]byte(e.Text), &file); err != nil || len(file.McpServers)+len(file.Servers) != 1 {
			t.Fatalf("%s: %v\n%s", e.Client, err, e.Text)
		}
		s := file.McpServers["assent"]
		if e.Client == "editor" {
			s = file.Servers["assent"]
		}
		local := e.Over == clients.Stdio
		switch {
		case local && (s.Command != odd.Program || !slices.Equal(s.Args, []string{"mcp", "--data", odd.Data, "--agent", odd.Agent})):
			t.Errorf("%s starts %q %q", e.Client, s.Command, s.Args)
		case local:
		case e.Client == "desktop":
			if !slices.Contains(s.Args, odd.URL) || s.Env["ASSENT_HEADER"] != "Bearer "+clients.Placeholder {
				t.Errorf("%s starts %q with %v", e.Client, s.Args, s.Env)
			}
		case e.Client == "editor":
			if s.URL != odd.URL || s.Type != "http" || s.Headers["Authorization"] != "Bearer ${input:"+file.Inputs[0].ID+"}" {
				t.Errorf("%s calls %+v", e.Client, s)
			}
		case s.URL != odd.URL || s.Type != "http" || s.Headers["Authorization"] != "Bearer "+clients.Placeholder:
			t.Errorf("%s calls %+v", e.Client, s)
		}
	}
}

// A line is taken apart by a real shell: each word is one word, and nothing but
// the key is put in.
func TestLinesMeanTheSameToAShell(t *testing.T) {
	odd.Data = strings.ReplaceAll(odd.Data, clients.Placeholder, "$ASSENT_KEY")
	for _, e := range odd.Entries() {
		if strings.HasPrefix(e.Text, "{") {
			continue
		}
		_, rest, _ := strings.Cut(e.Text, " ")
		cmd := exec.CommandContext(context.Background(), "sh", "-c", `printf '%s\n' `+rest)
		cmd.Env = []string{"ASSENT_KEY=the key", "PATH=/usr/bin:/bin"}
		cmd.Dir = t.TempDir()
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", e.Client, err, e.Text)
		}
		words := strings.Split(strings.TrimSpace(string(out)), "\n")
		want := []string{"Authorization: Bearer the key", odd.URL}
		if e.Over == clients.Stdio {
			want = []string{odd.Program, odd.Data, odd.Agent}
		}
		for _, w := range want {
			if !slices.Contains(words, w) {
				t.Errorf("%s (%s): no %q among %q", e.Client, e.Over, w, words)
			}
		}
	}
}
